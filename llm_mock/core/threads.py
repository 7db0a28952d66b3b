"""Threads that a mocked test starts: those that go on after it must not reach real models in a live test."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

from llm_mock.errors import RealModelCall

STARTED_IN = "_llm_mock_started_in"
"""The attribute of a thread that names the mocked test in which it was started, or the thread that started it."""


class _State:
    """The mocked test that runs, and whether threads are told of it."""

    test: str | None = None
    remembering = False


def set_test(name: str | None) -> None:
    """Say which mocked test runs from now on; None for none."""
    _State.test = name


def remember_tests() -> Callable[[], None]:
    """From now on remember of every thread in which mocked test it was started. Returns what ends that."""
    start: Any = threading.Thread.start

    @functools.wraps(start)
    def remembered_start(self: threading.Thread) -> None:
        if test := getattr(threading.current_thread(), STARTED_IN, _State.test):
            setattr(self, STARTED_IN, test)
        start(self)

    def end() -> None:
        threading.Thread.start, _State.remembering = start, False  # type: ignore[method-assign]

    threading.Thread.start, _State.remembering = remembered_start, True  # type: ignore[method-assign]
    return end


def refuse_if_left_over() -> None:
    """Raise that a thread of a mocked test asks for a model while models are real."""
    __tracebackhide__ = True
    if not _State.remembering:
        return
    thread = threading.current_thread()
    if test := getattr(thread, STARTED_IN, None):
        raise RealModelCall(
            f"The thread {thread.name!r} was started in {test}, which is mocked, and asks for a model in a later test "
            "that is marked llm_live: it would reach a real one. Have the first test wait for its threads to end. "
            "Where both use the same pool of threads, run the live tests by themselves: pytest --llm-mock-live -m "
            "llm_live"
        )
