"""The function that creates a mock for tests that pass `get_model` to their code."""

from __future__ import annotations

from collections.abc import Mapping

# Imported here, so that the first call of a test does not include the time of the import.
from llm_mock.boundaries.llm import model as _model  # noqa: F401
from llm_mock.boundaries.llm.get_model import LLMMock


def create_mock_get_model(
    responses: Mapping[str, object] | None = None,
    side_effect: BaseException | type[BaseException] | None = None,
) -> LLMMock:
    """Create a mock of `llm.get_model`.

    Args:
        responses: a mapping of model names, or `"*"` for any model, to replies.
        side_effect: an exception, or its class, that every call of every model raises.

    Returns:
        A callable `name -> MockLLMModel` with its own state, independent of the fixtures.

    Raises:
        InvalidReply: a response is not a valid reply, or `side_effect` is not an exception.

    Example:
        >>> get_model = create_mock_get_model({"gpt-4o-mini": {"found": True}, "*": "Hello"})
        >>> get_model("gpt-4o-mini").prompt("Is there one?").text()
        '{"found": true}'
    """
    __tracebackhide__ = True
    return LLMMock(responses, side_effect)
