"""Attribute each call to the test whose thread or task makes it.

A context variable of the thread that runs pytest contains the running test. Every event loop copies
the context into its tasks, and anyio and trio copy it into worker threads. Other threads start with
an empty context, so `boundaries.threads` notes which test started each thread, and which test
submitted work to a pool.

A thread or task without a test, such as a server of a session fixture, belongs to the running test.
"""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

RUNNER_TASK = "_run_tests_and_fixtures"
"""The function of anyio's pytest plugin whose task runs all tests and fixtures of an event
loop."""


class RunningTest:
    """A test, and the mock that answers its calls, including calls after its end.

    Args:
        name: the node id.
        mock: returns the mock.
    """

    __slots__ = ("_mock", "has_ended", "name")

    def __init__(self, name: str, mock: Callable[[], Any]) -> None:
        self.name = name
        self.has_ended = False
        self._mock = mock

    def get_mock(self) -> Any:
        """Return the mock. After the end of the test, its calls are recorded as late."""
        mock = self._mock()
        if self.has_ended:
            mock.ended_test = self.name
        return mock


owner: ContextVar[RunningTest | None] = ContextVar("llm_mock_test", default=None)


class RunState:
    """The running test, the thread that pytest runs it in, and which test started which thread."""

    test: RunningTest | None = None
    thread: int | None = None
    # The class has no instances, so the dictionary is shared on purpose.
    threads: dict[int, tuple[weakref.ref[threading.Thread], RunningTest]] = {}  # noqa: RUF012


def begin_test(name: str, mock: Callable[[], Any]) -> Callable[[], None]:
    """Attribute calls of this context to a test from now on.

    Args:
        name: the node id of the test.
        mock: returns the mock of the test.

    Returns:
        A function that ends the test.
    """
    test = RunningTest(name, mock)
    previous_owner = owner.get()
    previous_test = RunState.test
    previous_thread = RunState.thread
    owner.set(test)
    RunState.test = test
    RunState.thread = threading.get_ident()

    def end() -> None:
        test.has_ended = True
        owner.set(previous_owner)
        RunState.test = previous_test
        RunState.thread = previous_thread or threading.get_ident()

    return end


def get_running_test() -> str:
    """Return the node id of the running test; empty if none is running."""
    return RunState.test.name if RunState.test is not None else ""


def get_other_test() -> RunningTest | None:
    """Return the test that this thread or task belongs to, if it is not the running test."""
    test = owner.get()
    # The usual case first, because this runs in each call.
    if test is RunState.test and test is not None:
        return None
    if test is None and RunState.threads:
        test = _get_test_of_thread()
    if test is None or test is RunState.test:
        return None
    if threading.get_ident() == RunState.thread and _is_awaited_by_pytest():
        # Tasks that start here inherit it.
        owner.set(RunState.test)
        return None
    return test


def get_submitting_test() -> RunningTest | None:
    """Return the test that is starting a thread or submitting work; None outside of tests."""
    other = get_other_test()
    if other is not None:
        return other
    on_pytest_thread = threading.get_ident() == RunState.thread
    if on_pytest_thread and _is_in_shared_fixture():
        return None
    is_running = on_pytest_thread or owner.get() is not None or _get_test_of_thread() is not None
    return RunState.test if is_running else None


def note_thread(thread: threading.Thread) -> None:
    """Note that the current test starts a thread.

    The thread object itself is not changed, because the application may compare or copy it.
    """
    test = get_submitting_test()
    key = id(thread)
    threads = RunState.threads
    if test is not None and key not in threads:
        # A weak reference, which removes the entry with the thread: a new thread may get its id.
        reference = weakref.ref(thread, lambda _: threads.pop(key, None))
        threads[key] = reference, test


def _get_test_of_thread() -> RunningTest | None:
    noted = RunState.threads.get(id(threading.current_thread()))
    return None if noted is None else noted[1]


@contextmanager
def attribute_calls(test: RunningTest) -> Iterator[None]:
    """Attribute the calls within the context to a test."""
    token = owner.set(test)
    try:
        yield
    finally:
        owner.reset(token)


def _is_awaited_by_pytest() -> bool:
    """Return whether pytest waits for this code, so that it is the test and not a background task.

    The context does not show this: an `asyncio.Runner`, and the task in which anyio runs all tests,
    keep the context in which they were created.
    """
    asyncio = sys.modules.get("asyncio")
    try:
        task = None if asyncio is None else asyncio.current_task()
    except RuntimeError:
        # Without a running event loop, this is the code of the test itself.
        return True
    frame = sys._getframe(1)
    while asyncio is not None and frame.f_back is not None:
        name = frame.f_code.co_name
        if name == RUNNER_TASK:
            return True
        # A local variable of asyncio's `run_until_complete` holds the task that it waits for.
        if name == "run_until_complete":
            return task is not None and any(value is task for value in frame.f_locals.values())
        frame = frame.f_back
    return asyncio is None


def _is_in_shared_fixture() -> bool:
    """Return whether pytest sets up a fixture whose threads work for several tests."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_code.co_name
        # `fixturedef` is the argument of pytest's hook of that name.
        if name == "pytest_fixture_setup" and "fixturedef" in frame.f_locals:
            return bool(frame.f_locals["fixturedef"].scope != "function")
        if name in ("pytest_pyfunc_call", "pytest_runtest_protocol"):
            return False
        frame = frame.f_back
    return False
