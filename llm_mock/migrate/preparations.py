"""Find and format the settings that a new test needs before it calls a model."""

from __future__ import annotations

import re

from llm_mock.core.settings import ACCEPT_EVERY_CALL
from llm_mock.support.environment import PLACES

MODEL_SWITCH = "ALLOW_MODEL_REQUESTS"
"""The variable of pydantic-ai with which tests forbid the requests of real models."""
AUTOSPEC = "autospec"
"""The preparation that lets registered `llm` models accept every call."""
_AUTOSPEC_STATEMENT = f"""\
# A registered model rejects a call in this test that the old mock accepts.
{ACCEPT_EVERY_CALL}"""
_NAMES = (*PLACES, MODEL_SWITCH)
# litellm looks for the keys of all providers but OpenAI's before it makes a client.
_KEY = re.compile(r"\b[A-Z][A-Z0-9]*_API_KEY\b")


def find_preparations(problem: str) -> list[str]:
    """Return the preparations that the failure of a new test asks for."""
    names = [name for name in _NAMES if name in problem]
    key = _KEY.search(problem)
    # Other variables in the message are alternatives for the same key.
    if key is not None:
        names.append(key[0])
    return names


def format_preparation(name: str) -> str:
    """Return the statement that sets an environment variable, or allows the mocked calls."""
    if name == AUTOSPEC:
        return _AUTOSPEC_STATEMENT
    if name == MODEL_SWITCH:
        return f'monkeypatch.setattr("pydantic_ai.models.{MODEL_SWITCH}", True)'
    value = PLACES.get(name, "test")
    return f'monkeypatch.setenv("{name}", "{value}")'
