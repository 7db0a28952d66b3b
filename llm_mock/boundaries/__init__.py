"""The boundaries at which the mock intercepts calls: the `llm` library, and HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping

OWN_VARIABLE = "LLM_MOCK"
"""The environment variable with which a user enables the mock in a process."""
TESTING_VARIABLE = "PFLOW_TESTING"
"""The variable that a test run sets in the processes that it starts."""
TESTING_VARIABLES = (OWN_VARIABLE, TESTING_VARIABLE)
FOLDER_VARIABLE = "LLM_MOCK_FOLDER"
"""The variable with the folder that a test shares with the processes that it starts."""
HOSTS_VARIABLE = "LLM_MOCK_HOSTS"
"""The variable that lists additional hosts of model APIs, separated by spaces."""
OFFLINE_VARIABLE = "LLM_MOCK_OFFLINE"
"""The variable that forbids connections to other machines; a dry run sets it."""
PLACEHOLDER_KEY = "no-key-needed-by-llm-mock"
"""The API key that SDKs get if no real key is set."""
TRUE_VALUES = frozenset({"1", "true", "yes", "on"})
FALSE_VALUES = frozenset({"0", "false", "no", "off"})


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Return True if the environment variables enable the mock.

    `LLM_MOCK` or `PFLOW_TESTING` must enable it (1, true, yes, on), and neither may disable it (0,
    false, no, off). The values are not case-sensitive. An empty variable is ignored.
    """
    own = _get_value(OWN_VARIABLE, environment)
    testing = _get_value(TESTING_VARIABLE, environment)
    if own in FALSE_VALUES or testing in FALSE_VALUES:
        return False
    # Projects may use `LLM_MOCK` for something else, such as the URL of a mock, so other values are
    # ignored. For `PFLOW_TESTING`, any other value enables the mock, as its users set it freely.
    return bool(testing) or own in TRUE_VALUES


def get_unknown_value(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the value of `LLM_MOCK` if it neither enables nor disables the mock, else None."""
    value = _get_value(OWN_VARIABLE, environment)
    if not value or value in TRUE_VALUES or value in FALSE_VALUES:
        return None
    return environment[OWN_VARIABLE]


def _get_value(name: str, environment: Mapping[str, str]) -> str:
    return environment.get(name, "").strip().lower()
