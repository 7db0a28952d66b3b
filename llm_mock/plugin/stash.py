"""What the parts of the plugin keep in the stashes of pytest for each other."""

from __future__ import annotations

from typing import Any

import pytest

CASSETTE = pytest.StashKey[Any]()
"""Of a test: its `ItemCassette`."""
CASSETTE_CLAIMS = pytest.StashKey[dict[str, str]]()
"""Of the configuration: tests that name a cassette that another names too, with what to say."""
UNUSED_RECORDINGS = pytest.StashKey[list[str]]()
"""Of the configuration: what to say of recorded calls that were not asked for."""
RECORDINGS = pytest.StashKey[dict[str, int]]()
"""Of the configuration: the cassettes that were written, with how many calls were recorded in each."""
PASS_RATE = "pass_rate"
"""Of a test, among its properties: how often a repeated one passed, as text."""
