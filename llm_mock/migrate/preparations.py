"""Format what a new test sets before it calls a model, as a run of it showed."""

from __future__ import annotations

from llm_mock.support.environment import PLACES

MODEL_SWITCH = "ALLOW_MODEL_REQUESTS"
"""The variable of pydantic-ai with which tests forbid the requests of real models."""
PREPARATIONS = (*PLACES, MODEL_SWITCH)
"""The names of what a new test may need."""


def format_preparation(name: str) -> str:
    """Return the statement that sets an environment variable, or allows the mocked requests."""
    if name == MODEL_SWITCH:
        return f'monkeypatch.setattr("pydantic_ai.models.{MODEL_SWITCH}", True)'
    return f'monkeypatch.setenv("{name}", "{PLACES[name]}")'
