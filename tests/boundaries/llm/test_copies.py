"""Responses and their parts can be copied and pickled as those of `llm` can."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import pickle
from collections.abc import Callable
from typing import Any

import llm
import pytest

from llm_mock import LLMMock, MockLLMModel


@dataclasses.dataclass
class Kept:
    """An application's container of responses."""

    response: Any


WAYS = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "asdict": lambda value: dataclasses.asdict(Kept(value))["response"],
}
MODELS = {
    "at the boundary": lambda mock: llm.get_model("m"),
    "known": lambda mock: llm.get_model("gpt-4o-mini"),
    "async": lambda mock: llm.get_async_model("m"),
    "in a conversation": lambda mock: llm.get_model("m").conversation(),
    "async, in a conversation": lambda mock: llm.get_async_model("m").conversation(),
    "of a mock": lambda mock: mock.get_model("m"),
    "by itself": lambda mock: MockLLMModel("m", "answer"),
}


def text_of(response: Any) -> str:
    async def read() -> str:
        text: str = await response.text()
        return text

    return asyncio.run(read()) if isinstance(response, llm.AsyncResponse) else response.text()


@pytest.mark.parametrize("read", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_a_response_can_be_copied_before_and_after_it_was_read(
    mock_llm_calls: LLMMock, model: Callable[[Any], Any], again: Callable[[Any], Any], read: bool
) -> None:
    mock_llm_calls.set("*", "answer")
    response = model(mock_llm_calls).prompt("Hi")
    if read:
        text_of(response)
    try:
        copied = again(response)
    except pickle.PicklingError:  # as a response of llm's own OpenAI models cannot either
        assert "Options" in type(response.prompt.options).__name__
        return
    assert text_of(copied) == text_of(response) == "answer"


def test_a_pickled_response_leaves_other_unread_responses_behind(
    mock_llm_calls: LLMMock,
) -> None:
    model = mock_llm_calls.get_model("m")
    other = model.prompt("Other", colour=lambda: "cannot be pickled")
    response = model.prompt("Hi")
    copied = pickle.loads(pickle.dumps(response))
    assert text_of(copied) == text_of(response) == text_of(other)


@pytest.mark.parametrize("again", WAYS.values(), ids=WAYS)
def test_text_and_usage_can_be_copied(mock_llm_calls: LLMMock, again: Callable[[Any], Any]) -> None:
    response = mock_llm_calls.get_model("m").prompt("Hi")
    text, usage = again(response.text), again(response.usage)
    assert (text, text()) == (response.text, response.text())
    assert (usage, usage()) == (response.usage, response.usage())


@pytest.mark.parametrize("schema", [{}, []], ids=repr)
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_an_empty_schema_is_none(
    mock_llm_calls: LLMMock, model: Callable[[Any], Any], schema: Any
) -> None:
    mock_llm_calls.set("*", "for a schema", schema="Plan")
    mock_llm_calls.set("*", "answer")
    response = model(mock_llm_calls).prompt("Hi", schema=schema)
    assert text_of(response) == "answer"
    assert all(call["kwargs"]["schema"] is None for call in mock_llm_calls.calls)
