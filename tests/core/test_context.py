"""The mock of a thread or task, for as long as it is used, and copies of its calls."""

from __future__ import annotations

import asyncio
import contextvars
import copy
import os
import pickle
import threading
from collections.abc import Callable

import pytest

from llm_mock import LLMMock, LLMMockError
from llm_mock.core.call import Call
from llm_mock.core.context import ContextMocks, current_mock, is_passing_through, pass_through
from llm_mock.core.ownership import (
    RunningTest,
    RunState,
    attribute_calls,
    begin_test,
    get_other_test,
    owner,
)
from llm_mock.support.environment import set_environment


def test_a_mock_of_a_context_is_used_until_its_end() -> None:
    several = ContextMocks("Run them alone.")
    first, second = LLMMock(), LLMMock()
    with several.use(first):
        with several.use(second):
            assert several.get() is second
        assert several.get() is first
        with pytest.raises(ValueError, match="no"), several.use(second):
            raise ValueError("no")
        assert several.get() is first
        # The only one is also that of a thread without a context.
        assert get_in_thread(several) == [first]
    assert several.created is None
    with pytest.raises(LLMMockError, match="after the end of its case"):
        several.get()


def get_in_thread(several: ContextMocks) -> list[LLMMock]:
    found: list[LLMMock] = []
    thread = threading.Thread(target=lambda: found.append(several.get()))
    thread.start()
    thread.join()
    return found


def test_calls_are_made_for_real_within_the_context_only() -> None:
    with pass_through():
        assert is_passing_through()
    assert not is_passing_through()
    with pytest.raises(ValueError, match="no"), pass_through():
        raise ValueError("no")
    assert not is_passing_through()


def test_variables_are_set_and_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRESENT", "1")
    monkeypatch.setenv("CHANGED", "1")
    monkeypatch.delenv("ABSENT", raising=False)
    set_environment({"PRESENT": None, "CHANGED": "2", "ABSENT": None})
    assert (os.environ.get("PRESENT"), os.environ["CHANGED"]) == (None, "2")
    assert "ABSENT" not in os.environ


def test_a_test_within_a_test_gives_back_its_calls_and_its_thread() -> None:
    before = (RunState.test, RunState.thread)
    seen: list[object] = []

    def run_test() -> None:
        end = begin_test("inner", LLMMock)
        inner = RunState.test
        assert inner is not None
        seen.extend([inner.name, owner.get() is inner, RunState.thread == threading.get_ident()])
        end()
        seen.extend([inner.has_ended, owner.get()])

    thread = threading.Thread(target=run_test)
    thread.start()
    thread.join()
    assert seen == ["inner", True, True, True, None]
    assert (RunState.test, RunState.thread) == before


def run_in_thread(function: Callable[[], object]) -> None:
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()


def begin_after_another_test() -> tuple[LLMMock, contextvars.Context, Callable[[], None]]:
    """Begin a test; return the mock and the context of the one before, and what ends the test."""
    earlier = LLMMock()
    end = begin_test("earlier", lambda: earlier)
    context = contextvars.copy_context()
    end()
    return earlier, context, begin_test("later", LLMMock)


def test_a_thread_of_a_test_that_ended_uses_the_mock_of_that_test() -> None:
    seen: list[object] = []

    def run_test() -> None:
        earlier, context, end = begin_after_another_test()
        run_in_thread(lambda: seen.append(context.run(current_mock) is earlier))
        seen.append(earlier.ended_test)
        end()

    run_in_thread(run_test)
    assert seen == [True, "earlier"]


def test_code_in_the_context_of_an_earlier_test_is_the_test_that_runs_unless_a_loop_runs_it() -> (
    None
):
    seen: list[object] = []

    def run_test() -> None:
        _, context, end = begin_after_another_test()
        loop = asyncio.new_event_loop()
        loop.call_soon(lambda: seen.append(get_other_test()), context=context.copy())
        loop.call_soon(loop.stop)
        loop.run_forever()
        loop.close()
        seen.append(context.run(get_other_test))
        end()

    run_in_thread(run_test)
    [of_callback, of_function] = seen
    assert isinstance(of_callback, RunningTest)
    assert of_callback.name == "earlier"
    assert of_function is None


def test_calls_are_attributed_to_another_test_for_a_while() -> None:
    before, other = owner.get(), RunningTest("other", LLMMock)
    with attribute_calls(other):
        assert owner.get() is other
    assert owner.get() is before


@pytest.mark.parametrize(
    "duplicate", [copy.copy, copy.deepcopy, lambda call: pickle.loads(pickle.dumps(call))]
)
def test_a_copy_of_a_call_tells_all_that_the_call_tells(
    duplicate: Callable[[Call], Call], mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.get_model("m").prompt("Hello", system="Be brief").text()
    call = mock_llm_calls.calls[0]
    copied = duplicate(call)
    assert (dict(copied), copied.messages) == (dict(call), call.messages)
    assert copied.describe_request() == call.describe_request()
    assert copied.messages[0]["role"] == "system"
    assert copied._test == call._test
