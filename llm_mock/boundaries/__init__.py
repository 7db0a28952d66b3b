"""Where applications obtain and execute models."""

from __future__ import annotations

import os
from collections.abc import Mapping

OWN_VARIABLE = "LLM_MOCK"
"""The environment variable by which a person mocks a process."""
TESTING_VARIABLE = "PFLOW_TESTING"
"""The one that a test run sets for the processes that it starts."""
TESTING_VARIABLES = (OWN_VARIABLE, TESTING_VARIABLE)
FOLDER_VARIABLE = "LLM_MOCK_FOLDER"
"""Where such a process finds what the test configured that started it."""
HOSTS_VARIABLE = "LLM_MOCK_HOSTS"
"""Further hosts of model APIs, for such a process."""
OFFLINE_VARIABLE = "LLM_MOCK_OFFLINE"
"""Set if such a process, which a dry run started, may connect to no other machine."""
PLACEHOLDER_KEY = "no-key-needed-by-llm-mock"
"""What stands for the key of a provider where there is none."""
TRUE_VALUES = frozenset({"1", "true", "yes", "on"})
FALSE_VALUES = frozenset({"0", "false", "no", "off"})


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether an environment asks for the mock: one of the variables says yes, and none says no.

    1, true, yes and on, in any case, say yes; 0, false, no and off say no; an empty variable says nothing. Any other
    value says yes in `PFLOW_TESTING`, which a seed of the project promises. `LLM_MOCK` is a likely name for something
    else, such as the URL of a mock: any other value of it says nothing.
    """
    own, testing = (_get_value(name, environment) for name in (OWN_VARIABLE, TESTING_VARIABLE))
    if own in FALSE_VALUES or testing in FALSE_VALUES:
        return False
    return bool(testing) or own in TRUE_VALUES


def get_unknown_value(environment: Mapping[str, str] = os.environ) -> str | None:
    """Return the value of `LLM_MOCK` if it says neither yes nor no."""
    value = _get_value(OWN_VARIABLE, environment)
    return environment[OWN_VARIABLE] if value and value not in TRUE_VALUES | FALSE_VALUES else None


def _get_value(name: str, environment: Mapping[str, str]) -> str:
    return environment.get(name, "").strip().lower()
