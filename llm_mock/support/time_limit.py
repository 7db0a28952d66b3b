"""Time limit of a run, such as that of a case.

On the main thread, a timer of the system ends the run wherever Python checks for signals: in Python
code, during sleeps and waits, and in a regular expression. In other threads, and on Windows, an
exception is raised in the thread between two steps of Python code. There, code that waits in C is
abandoned until it returns, and code that never returns to Python cannot be ended. Therefore regular
expressions of assertions run in a separate process there (`patterns.py`).
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from llm_mock.support.deadline import Deadline

Result = TypeVar("Result")

# The code of a project may catch the exception, for example with a bare `except`.
RETRY_SECONDS = 5.0
"""The seconds until the exception is raised again in a run that continues."""
GRACE_SECONDS = 2.0
"""The seconds to wait for the thread of an ended run."""
SLACK_SECONDS = 0.1
"""The seconds that a run gets to end by itself if its own waits end at the time limit."""
TRACED_SECONDS = 0.3
"""The maximum seconds for which all traced threads may stop."""


class CaseTimedOut(BaseException):
    """An error for a case that exceeded its time limit.

    It is not an `Exception`, because the code of a project often catches every `Exception`.
    """

    during: str | None = None
    """The part of the run that did not end, if known."""


# A context variable, because several cases may run in parallel threads.
_deadline: contextvars.ContextVar[Deadline | None] = contextvars.ContextVar(
    "deadline",
    default=None,
)


def run_with_limit(seconds: float, action: Callable[[], Result]) -> Result:
    """Run an action and return its result.

    Args:
        seconds: the time limit.
        action: the function to call.

    Raises:
        CaseTimedOut: the action exceeded the time limit and was ended.
    """
    if _has_signals():
        return _run_with_signal(seconds, action)
    return _run_in_thread(seconds, action)


def _has_signals() -> bool:
    """Return whether a signal can interrupt this thread."""
    is_main_thread = threading.current_thread() is threading.main_thread()
    # Windows has no timers that send signals.
    return is_main_thread and hasattr(signal, "setitimer")


def get_seconds_left(most: float) -> float:
    """Return a time limit in seconds, reduced to the remaining time of the run."""
    deadline = _deadline.get()
    if deadline is None:
        return most
    return min(most, deadline.left)


def check_time() -> None:
    """Raise CaseTimedOut if the run exceeded its time limit."""
    deadline = _deadline.get()
    if deadline is not None and not deadline.left:
        raise CaseTimedOut


def is_ended_in_thread() -> bool:
    """Return whether this run is ended by an exception that is raised in its thread."""
    return _deadline.get() is not None and not _has_signals()


def run_uninterrupted(action: Callable[[], Result]) -> Result:
    """Run an action that ends by itself in time, such as a process with a timeout.

    It runs in a separate thread, because the exception that ends a run must not interrupt it while
    it kills the process and closes its pipes.
    """
    if not is_ended_in_thread():
        return action()
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(action())
        except BaseException as error:
            future.set_exception(error)

    context = contextvars.copy_context()
    # A daemon, like the threads of cases, so that the program ends after Ctrl-C without a wait.
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    thread.start()
    return future.result()


def _run_with_signal(seconds: float, action: Callable[[], Result]) -> Result:
    other_timer, other_interval = signal.getitimer(signal.ITIMER_REAL)
    # Another tool, such as pytest-timeout, ends this sooner.
    if 0 < other_timer <= seconds:
        return action()
    is_done = False

    def end(number: int, frame: object) -> None:
        # The signal may arrive after the action ended but before the timer is removed.
        if not is_done:
            raise CaseTimedOut

    start = time.monotonic()
    previous_handler = signal.signal(signal.SIGALRM, end)
    token = _deadline.set(Deadline(seconds))
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, RETRY_SECONDS)
        return action()
    finally:
        # Set first, so that no signal interrupts the cleanup.
        is_done = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        # None means that the handler was not installed by Python.
        signal.signal(signal.SIGALRM, previous_handler or signal.SIG_DFL)
        _deadline.reset(token)
        if other_timer:
            elapsed = time.monotonic() - start
            # 0 would turn the timer off.
            remaining = max(other_timer - elapsed, 0.001)
            signal.setitimer(signal.ITIMER_REAL, remaining, other_interval)


def _run_in_thread(seconds: float, action: Callable[[], Result]) -> Result:
    results: list[Result] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        _deadline.set(Deadline(seconds))
        # The exception may be raised here after the action returned.
        with contextlib.suppress(CaseTimedOut):
            try:
                results.append(action())
            except BaseException as error:
                # The waiting thread raises it again.
                errors.append(error)
        done.set()

    # Context variables lead to the mock of the test, so the thread needs a copy of them.
    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(run,), daemon=True)
    thread.start()
    if not done.wait(seconds + SLACK_SECONDS):
        if _stops_traced_threads():
            _raise_untraced(thread, done)
        else:
            _raise_in(thread, CaseTimedOut)
        done.wait(GRACE_SECONDS)
    if results:
        return results[0]
    if errors:
        raise errors[0]
    raise CaseTimedOut


def _raise_in(thread: threading.Thread, error: type[BaseException] | None) -> None:
    """Raise an exception in a thread as soon as it runs Python code; None cancels this."""
    # Python has no public function for this.
    identifier = ctypes.c_ulong(thread.ident or 0)
    exception = None if error is None else ctypes.py_object(error)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(identifier, exception)


def _stops_traced_threads() -> bool:
    """Return whether all traced threads stop while an exception is pending for one of them.

    This happens in Python 3.11 with coverage or a debugger, until that thread runs Python code.
    """
    traced = sys.gettrace() is not None or threading.gettrace() is not None
    return traced and sys.version_info[:2] == (3, 11)


def _raise_untraced(thread: threading.Thread, done: threading.Event) -> None:
    """End a thread if it runs Python code; abandon it if it waits in C."""
    tracer = sys.gettrace()
    sys.settrace(None)
    try:
        _raise_in(thread, CaseTimedOut)
        if not done.wait(TRACED_SECONDS):
            _raise_in(thread, None)
            # The traced threads stop until the pending exception is raised.
            with contextlib.suppress(CaseTimedOut):
                _raise_in(threading.current_thread(), CaseTimedOut)
                done.wait(TRACED_SECONDS)
    finally:
        sys.settrace(tracer)
