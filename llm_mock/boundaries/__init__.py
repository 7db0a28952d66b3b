"""Where applications obtain and execute models."""

from __future__ import annotations

import os
from collections.abc import Mapping

TESTING_VARIABLES = ("LLM_MOCK", "PFLOW_TESTING")
"""The environment variables that mock a process; they mean the same."""
TESTING_VARIABLE = "PFLOW_TESTING"
"""The one that a test run sets for the processes that it starts."""
FOLDER_VARIABLE = "LLM_MOCK_FOLDER"
"""Where such a process finds what the test configured that started it."""
NO_KEY = "no-key-needed-by-llm-mock"
"""What stands for the key of a provider where there is none."""
FALSE_VALUES = frozenset({"0", "false", "no", "off"})


def is_requested(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether an environment asks for the mock: one of the variables is set, and none says no.

    0, false, no and off, in any case, say no; an empty variable says nothing.
    """
    values = {environment.get(name, "").strip().lower() for name in TESTING_VARIABLES}
    return bool(values - {""}) and not values & FALSE_VALUES
