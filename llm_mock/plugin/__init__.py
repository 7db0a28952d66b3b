"""The pytest plugin; the only package that imports pytest.

The names here are the keys under which its modules share values in the stashes of pytest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypedDict

import pytest

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSONObject


class CassetteUse(TypedDict):
    """The use of a cassette by a test that passed; JSON, for workers of pytest-xdist."""

    calls: int
    """The number of calls that were recorded or replayed."""
    empty: str | None
    """Why nothing was recorded; None if something was, or nothing was to be."""
    left_alone: dict[str, str]
    """The requests to models that the mock left alone, each with what to change."""


class CallVerification(TypedDict):
    """The differences between a recorded call and the same call now; JSON, as above."""

    call: str
    differences: list[tuple[str, str]]
    """Each a severity and a text."""


class MisspeltModel(NamedTuple):
    """The name of a model for which a test configured a reply, near to that of a called model."""

    configured: str
    called: str
    place: str
    """The file and line of the reply."""


WRONG_MARKERS = pytest.StashKey[dict[str, str]]()
"""In the configuration: the message for each test that must fail for its markers."""
CASSETTE_CLAIMS = pytest.StashKey[dict[str, str]]()
"""In the configuration: the message for each test whose cassette another test names, too."""
UNUSED_RECORDINGS = pytest.StashKey[list[str]]()
"""In the configuration: messages about recorded calls that were not replayed."""
RECORDINGS = pytest.StashKey[dict[str, int]]()
"""In the configuration: the number of recorded calls of each cassette that was written."""
CASSETTE_USE = pytest.StashKey[dict[str, CassetteUse]]()
"""In the configuration: the use of each cassette, by test."""
MISSPELT_MODELS = pytest.StashKey[dict[str, MisspeltModel]]()
"""In the configuration: a misspelt model of each passed test that has one, by its node id."""
MUTATIONS: pytest.StashKey[JSONObject] = pytest.StashKey()
"""In the configuration: the document of `--llm-mock-mutate`, for the report."""
VERIFY = "verify"
"""The value of `--llm-mock-record` that repeats recorded calls and compares the answers."""
VERIFIED = pytest.StashKey[dict[str, "list[CallVerification]"]]()
"""In the configuration: the verdict on each call that was verified, by test."""
PASS_RATE = "pass_rate"
"""The user property of a repeated test with its pass rate, as text."""
NOT_CHECKED = "not_checked"
"""The user property of a test that passed, with what it did not check, as text."""
IS_OURS = "llm_mock_is_ours"
"""The attribute of the report of a failure that the plugin or the mock raised."""
