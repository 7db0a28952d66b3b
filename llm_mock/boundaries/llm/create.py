"""A mock of `llm.get_model` for tests that hand it to their code."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_mock.boundaries.llm import model as _model  # noqa: F401 (so that the first call does not pay for it)
from llm_mock.boundaries.llm.get_model import LLMMock


def create_mock_get_model(
    responses: Mapping[str, Any] | None = None,
    side_effect: BaseException | type[BaseException] | None = None,
) -> LLMMock:
    """Create a mock of `llm.get_model`.

    Args:
        responses: what each model answers: a mapping of model names (or `"*"` for any) to replies.
        side_effect: an exception (or its class) that every call of every model raises.

    Returns:
        A callable `name -> MockLLMModel` with a state of its own, apart from the fixtures'.

    Raises:
        InvalidReply: a response can be no reply, or `side_effect` is no exception.

    Example:
        >>> get_model = create_mock_get_model({"gpt-4o-mini": {"found": True}, "*": "Hello"})
        >>> get_model("gpt-4o-mini").prompt("Is there one?").text()
        '{"found": true}'
    """
    __tracebackhide__ = True
    return LLMMock(responses, side_effect)
