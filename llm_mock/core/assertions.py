"""Assertions about what was called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.records import CallRecord, calls_made, schema_text
from llm_mock.errors import InvalidMock
from llm_mock.support.numbers import is_whole
from llm_mock.support.schemas import schema_name
from llm_mock.support.text import described, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock


def assert_called_with(
    model: str, calls: Sequence[CallRecord], prompt_contains: str | None = None, schema: Any = None
) -> None:
    """Assert that a model was called, and that in one call both conditions held."""
    __tracebackhide__ = True
    name = schema_name(schema)
    for call in calls:
        if (prompt_contains or "") in call["prompt"] and name in (None, call["kwargs"]["schema"]):
            return
    if not calls:
        raise AssertionError(f"Model {model!r} was never called. Does the code under test ask for this model?")
    wanted = [f"a prompt that contains {prompt_contains!r}"] if prompt_contains is not None else []
    wanted += [f"the schema {schema_text(name)}"] if name else []
    raise AssertionError(f"No call of model {model!r} had {' and '.join(wanted)}.\n{calls_made(calls)}")


def assert_llm_called_times(mock_llm_calls: Mock, model_name: str, times: int) -> None:
    """Assert how often a model was called.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        times: the expected number of calls, failed ones included.

    Raises:
        AssertionError: it was called more or less often. The message shows the prompts there were.
        InvalidMock: what was passed is no mock.
        ValueError: `times` is no such number.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    if not is_whole(times):
        raise ValueError(f"times is {described(times)}; give a whole number from 0.")
    calls = mock_llm_calls.calls_of(model_name)
    if len(calls) != times:
        made = calls_made(calls) if calls else _other_models(model_name, mock_llm_calls.calls)
        raise AssertionError(f"Expected {times} calls, got {len(calls)} of model {model_name!r}.\n{made}")


def assert_prompt_contains(mock_llm_calls: Mock, model_name: str, text: str) -> None:
    """Assert that a text occurs in at least one prompt that a model was sent.

    Args:
        mock_llm_calls: the fixture of that name, or what `create_mock_get_model` returned.
        model_name: the id or an alias of the model.
        text: the text to look for; upper and lower case differ.

    Raises:
        AssertionError: no prompt contains it. The message shows the prompts there were.
        InvalidMock: what was passed is no mock.
    """
    __tracebackhide__ = True
    _check_mock(mock_llm_calls)
    calls = mock_llm_calls.calls_of(model_name)
    if not any(text in call["prompt"] for call in calls):
        made = calls_made(calls) if calls else _other_models(model_name, mock_llm_calls.calls)
        raise AssertionError(f"No prompt contained {text!r}.\n{made}")


def _check_mock(mock: object) -> None:
    __tracebackhide__ = True
    if not hasattr(mock, "calls_of"):
        raise InvalidMock(
            f"This is no mock of llm_mock, but {described(mock)}. Where the project has a fixture mock_llm_calls of "
            "its own, that hides the one of llm_mock: rename it, or pass mock_llm_responses, which is the same mock."
        )


def _other_models(model: str, all_calls: Sequence[CallRecord]) -> str:
    others = sorted({call["model_id"] for call in all_calls})
    named = ", ".join(map(shorten_name, others)) if others else "none"
    return f"Model {model!r} was never called. Models that were called: {named}."
