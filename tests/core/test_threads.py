"""Threads call, configure, read, reset and copy at once: no call is lost or doubled."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from llm_mock import LLMMock, create_mock_get_model
from llm_mock.core.call_log import CallLog
from llm_mock.core.context import LazyMock
from llm_mock.core.history import History
from llm_mock.core.script import Script
from tests.threads import in_threads


@contextmanager
def meanwhile(*functions: Callable[[], object]) -> Iterator[None]:
    """Have functions called again and again in threads of their own; they must not raise."""
    ended, errors = threading.Event(), []

    def repeat(function: Callable[[], object]) -> None:
        try:
            while not ended.is_set():
                function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert errors == []


def test_calls_are_in_the_order_of_their_numbers_in_the_history_and_in_a_report() -> None:
    get_model = create_mock_get_model()
    get_model.history.log = CallLog(detailed=False)
    in_threads(16, lambda _: [get_model("m").prompt("Hi") for _ in range(200)])
    numbers = [call["number"] for call in get_model.calls]
    assert numbers == [*range(1, 3201)]
    assert [call["number"] for call, _ in get_model.logged_calls()] == numbers


def test_a_reset_while_threads_call_leaves_one_history() -> None:
    get_model = create_mock_get_model()

    def ask() -> None:
        get_model("m").prompt("Hi")

    with meanwhile(ask, ask, ask):
        for _ in range(200):
            get_model.reset()
            get_model("m").reset_history()
    get_model.reset()
    in_threads(4, lambda _: ask())
    assert [call["number"] for call in get_model.calls] == [1, 2, 3, 4]
    assert get_model.calls_of("m") == get_model.calls
    assert get_model("m") is get_model.models["m"]


class _SlowlyCopied:
    """A reply that lets other threads run while it is copied."""

    def __init__(self, run: Callable[[], object] = lambda: None) -> None:
        self.run = run

    def __call__(self, prompt: Any) -> str:
        return "x"

    def __deepcopy__(self, memo: dict[int, Any]) -> _SlowlyCopied:
        self.run()
        return self


def test_a_script_that_is_configured_while_it_is_copied_is_copied_as_it_was() -> None:
    get_model = create_mock_get_model()

    def configure() -> None:
        for number in range(3):
            get_model.set(f"new {number}", "x")
            get_model.set_error(f"new {number}", ValueError("x"))
            get_model.add("m", "more")

    get_model.set("m", _SlowlyCopied(configure))
    get_model.add("m", _SlowlyCopied(configure))
    copied: Script = copy.deepcopy(get_model.configurator.replies)
    assert [*copied.standing[None]] == ["m"]
    assert (copied.errors, len(copied.get_queued())) == ({}, 1)


def test_a_history_that_grows_while_it_is_copied_is_copied_as_it_was() -> None:
    get_model = create_mock_get_model()
    get_model.history.log = CallLog()
    get_model("m").default_response = _SlowlyCopied(
        lambda: [get_model(name).prompt("Hi") for name in ("m", "n")]
    )
    get_model("m").prompt("Hi")
    copied: History = copy.deepcopy(get_model.history)
    assert copied.log is not None
    assert (len(copied.calls), len(copied.log), copied.state("m").calls) == (1, 1, copied.calls)
    assert len(get_model.calls) > 1


@pytest.mark.parametrize("again", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_a_mock_can_be_copied_with_all_that_it_has(again: Callable[[Any], Any]) -> None:
    get_model = create_mock_get_model({"m": "answer"})
    get_model.misbehave("rate-limit", times=1)
    copied = again(get_model)
    with pytest.raises(Exception, match="Rate limit"):
        copied("m").prompt("Hi")
    assert copied("m").prompt("Hi").text() == "answer"
    assert (len(copied.calls), get_model.calls) == (2, [])


def test_a_mock_can_be_copied_while_threads_call_and_configure() -> None:
    get_model = create_mock_get_model()

    def use_or_copy(thread: int) -> None:
        for number in range(5 if thread == 0 else 100):
            if thread == 0:
                copied = copy.deepcopy(get_model)
                assert [call["number"] for call in copied.calls] == [
                    *range(1, len(copied.calls) + 1)
                ]
            else:
                get_model.set(f"{thread}-{number}", "x")
                get_model("m").prompt("Hi")

    in_threads(4, use_or_copy)


def test_a_mock_that_is_made_when_it_is_asked_for_is_made_once() -> None:
    made: list[LLMMock] = []

    def make() -> LLMMock:
        made.append(create_mock_get_model())
        return made[-1]

    pending, asked = LazyMock(make), []
    in_threads(16, lambda _: asked.append(pending.get()))
    assert asked == made * 16
