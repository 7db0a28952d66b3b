"""The time that a run of a case may take, and how it is ended.

On the main thread a timer of the system ends it, wherever Python checks for signals: in Python code, while it sleeps or
waits, and in a regular expression. In another thread, and on Windows, an exception is raised in it between two steps of
Python code; what waits in C then is left behind until it comes back, and what never lets Python go on cannot be ended,
so a regular expression of an assertion runs in a process of its own there.
"""

from __future__ import annotations

import contextlib
import contextvars
import ctypes
import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

Result = TypeVar("Result")

AGAIN = 5.0
"""Seconds until a run is ended once more that was not, as its code kept the exception for itself."""
GRACE = 2.0
"""Seconds that a thread is waited for in which a run was ended."""
_SEARCH = "import json, re, sys; pattern, text = json.load(sys.stdin); sys.exit(0 if re.search(pattern, text) else 3)"


class CaseTimedOut(BaseException):
    """The time of a case is up. It is no `Exception`, as the code of a project catches those."""

    during: str | None = None
    """What it was that did not end, as far as that is known."""


class _Limit:
    """The time that a run has."""

    def __init__(self, seconds: float, in_thread: bool) -> None:
        self.in_thread = in_thread
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds, 0 once it has passed."""
        return max(self._end - time.monotonic(), 0.0)


_limit: contextvars.ContextVar[_Limit | None] = contextvars.ContextVar("limit", default=None)


def limited(seconds: float, action: Callable[[], Result]) -> Result:
    """What an action gives that may take so many seconds.

    Raises:
        CaseTimedOut: it took longer, and was ended.
    """
    if hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread():
        return _ended_by_signal(seconds, action)
    return _ended_in_thread(seconds, action)


def seconds_left(most: float) -> float:
    """The seconds that something may take which may take `most`: what the run has left, where that is less."""
    limit = _limit.get()
    return most if limit is None else min(most, limit.left)


def check_time() -> None:
    """Raise CaseTimedOut where the time of the run is up."""
    limit = _limit.get()
    if limit is not None and not limit.left:
        raise CaseTimedOut


def search_pattern(pattern: str, text: str) -> bool:
    """Whether a regular expression is found in a text; CaseTimedOut where that takes too long."""
    limit = _limit.get()
    if limit is None or not limit.in_thread:
        return re.search(pattern, text) is not None
    command, question = [sys.executable, "-I", "-S", "-c", _SEARCH], json.dumps([pattern, text])
    try:
        ended = subprocess.run(command, input=question.encode(), timeout=limit.left, capture_output=True, check=False)
    except subprocess.TimeoutExpired:
        raise CaseTimedOut from None
    return ended.returncode == 0


def _ended_by_signal(seconds: float, action: Callable[[], Result]) -> Result:
    others, interval = signal.getitimer(signal.ITIMER_REAL)
    if 0 < others <= seconds:  # somebody else, such as pytest-timeout, ends this sooner
        return action()
    over = False

    def end(number: int, frame: Any) -> None:
        if not over:
            raise CaseTimedOut

    started = time.monotonic()
    handler = signal.signal(signal.SIGALRM, end)
    token = _limit.set(_Limit(seconds, in_thread=False))
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        result = action()
        over = True
        return result
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler or signal.SIG_DFL)
        _limit.reset(token)
        if others:
            signal.setitimer(signal.ITIMER_REAL, max(others - (time.monotonic() - started), 0.001), interval)


def _ended_in_thread(seconds: float, action: Callable[[], Result]) -> Result:
    given: list[Result] = []
    raised: list[BaseException] = []
    done = threading.Event()

    def run() -> None:
        _limit.set(_Limit(seconds, in_thread=True))
        with contextlib.suppress(CaseTimedOut):  # which may come when the action is over
            try:
                given.append(action())
            except BaseException as error:  # whoever waits must learn of it
                raised.append(error)
        done.set()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,), daemon=True)
    thread.start()
    if not done.wait(seconds):
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(CaseTimedOut))
        done.wait(GRACE)
    if given:
        return given[0]
    raise raised[0] if raised else CaseTimedOut
