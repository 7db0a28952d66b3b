"""The pytest plugin; the only package that imports pytest.

The names here are the keys under which its modules share values in the stashes of pytest.
"""

from __future__ import annotations

import pytest

WRONG_MARKERS = pytest.StashKey[dict[str, str]]()
"""In the configuration: the message for each test that must fail for its markers."""
CASSETTE_CLAIMS = pytest.StashKey[dict[str, str]]()
"""In the configuration: the message for each test whose cassette another test names, too."""
UNUSED_RECORDINGS = pytest.StashKey[list[str]]()
"""In the configuration: messages about recorded calls that were not replayed."""
RECORDINGS = pytest.StashKey[dict[str, int]]()
"""In the configuration: the number of recorded calls of each cassette that was written."""
PASS_RATE = "pass_rate"
"""The user property of a repeated test with its pass rate, as text."""
IS_OURS = "llm_mock_is_ours"
"""The attribute of the report of a failure that the plugin or the mock raised."""
