"""The key of a call can be compared, and is nowhere to be read."""

from __future__ import annotations

import asyncio
import copy
import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any

import llm
import pytest

from llm_mock import LLMMock, MockLLMModel
from tests.conftest import RunPython

KEY = "sk-of-the-call-0123456789"


def ask_async() -> str:
    async def ask() -> str:
        return str(await llm.get_async_model("unregistered").prompt("Hi", key=KEY).text())

    return asyncio.run(ask())


def ask_with_the_model_s_own() -> str:
    model = llm.get_model("unregistered")
    model.key = KEY
    return str(model.prompt("Hi").text())


WAYS: dict[str, Callable[[], Any]] = {
    "prompt": lambda: llm.get_model("unregistered").prompt("Hi", key=KEY),
    "lazy prompt": lambda: llm.get_model("unregistered").prompt("Hi", key=KEY, lazy=True).text(),
    "conversation": lambda: (
        llm.get_model("unregistered").conversation().prompt("Hi", key=KEY).text()
    ),
    "chain": lambda: llm.get_model("unregistered").chain("Hi", key=KEY).text(),
    "async": ask_async,
    "assigned": ask_with_the_model_s_own,
}


@pytest.mark.parametrize("way", WAYS)
def test_the_key_of_a_call_is_recorded_however_it_is_made(
    mock_llm_calls: LLMMock, way: str
) -> None:
    WAYS[way]()
    (call,) = mock_llm_calls.calls
    assert call["key"] == KEY
    assert KEY in [call["key"]]
    assert call["key"] != "sk-of-another"
    assert KEY not in json.dumps(call)


def test_a_call_without_a_key_has_none() -> None:
    model = MockLLMModel("m")
    model.prompt("Hi")
    assert model.call_history[0]["key"] is None


def test_the_key_cannot_be_read_from_what_is_recorded() -> None:
    model = MockLLMModel("m")
    model.prompt("Hi", key=KEY)
    key = model.call_history[0]["key"]
    shown = [
        str(key),
        repr(key),
        f"{key}",
        f"{key!r:>10}",
        "%s" % key,  # noqa: UP031
        json.dumps([key]),
        repr(dict(model.call_history[0])),
    ]
    assert [text for text in shown if KEY in text or "[redacted]" not in text] == []
    assert KEY.encode() not in pickle.dumps(key)


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda key: pickle.loads(pickle.dumps(key))]
)
def test_a_copy_of_a_recorded_key_is_compared_alike(copied: Callable[[Any], Any]) -> None:
    model = MockLLMModel("m")
    model.prompt("Hi", key=KEY)
    key = copied(model.call_history[0]["key"])
    assert key == KEY == model.call_history[0]["key"]
    assert {key, model.call_history[0]["key"]} == {key}
    assert key != 7
    assert str(key) == "[redacted]"


def test_a_key_that_another_process_uses_is_compared_here(
    mock_llm_calls: LLMMock, run_python: RunPython
) -> None:
    code = f"import llm; llm.get_model('unregistered').prompt('Hi', key={KEY!r}).text()"
    done = run_python(code, **mock_llm_calls.environment())
    assert done.returncode == 0, done.stderr
    assert [call["key"] for call in mock_llm_calls.calls] == [KEY]
    assert str(mock_llm_calls.calls[0]["key"]) == "[redacted]"


EMBEDDINGS: dict[str, Callable[[Any], Any]] = {
    "embed": lambda model: model.embed("text", key=KEY),
    "embed_multi": lambda model: list(model.embed_multi(["text"], key=KEY)),
    "embed_batch": lambda model: list(model.embed_batch(["text"], key=KEY)),
}


@pytest.mark.parametrize("way", EMBEDDINGS)
@pytest.mark.parametrize("name", ["text-embedding-3-small", "unregistered"])
def test_the_key_of_an_embedding_is_recorded(mock_llm_calls: LLMMock, name: str, way: str) -> None:
    model = mock_llm_calls.get_embedding_model(name)
    if way != "embed_batch" and "key" not in inspect.signature(model.embed).parameters:
        pytest.skip("llm before 0.36 has no such parameter")
    EMBEDDINGS[way](model)
    (call,) = model.call_history
    assert call["key"] == KEY
    assert KEY not in json.dumps(call)
