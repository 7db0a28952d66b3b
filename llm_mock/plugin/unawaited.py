"""Coroutines that a failed test never awaited."""

from __future__ import annotations

import inspect
import linecache
import re
import sys
import warnings
from collections.abc import Iterator
from types import TracebackType

from llm_mock.core.diagnostics import ExplainedMock, find_unused_replies
from llm_mock.core.source_location import SourceLocation, format_origin
from llm_mock.plugin.failures import list_frames
from llm_mock.support.exceptions import get_exception_text

NEVER_AWAITED = re.compile(r"coroutine '(.+)' was never awaited")
"""The beginning of Python's warning, which has the name only in its text."""
NOT_SUPPORTED = "async def functions are not natively supported"
"""The beginning of pytest's message about a coroutine function that no plugin runs."""
_held: dict[int, str] = {}
"""The names of the coroutines that the frames of failed tests hold, by their ids."""


def explain_unawaited(error: BaseException | None) -> str:
    """Return a line for each coroutine that was never awaited; empty without one.

    Args:
        error: the error of the test, whose frames may still hold coroutines.
    """
    lines = [_format(name, location) for name, location in _find_dropped()]
    if error is not None:
        lines += _list_held(error)
    if get_exception_text(error).startswith(NOT_SUPPORTED) and "pytest_asyncio" in sys.modules:
        lines.append(
            "pytest-asyncio is installed and leaves this test alone: mark it with "
            "@pytest.mark.asyncio, or set asyncio_mode = auto in the ini file."
        )
    return "\n".join(dict.fromkeys(lines))


def warn_of_unawaited(mock: ExplainedMock) -> RuntimeWarning | None:
    """Return a warning about replies that a passed test left unused, as it awaited no call of one.

    It begins as Python's warning, so that the project's filters apply to both.

    Args:
        mock: the mock of the test, in which no model was called.
    """
    dropped = dict(_find_dropped())
    unused = find_unused_replies(mock, ()) if dropped else []
    if not unused:
        return None
    name, location = dropped.popitem()
    replies = "\n".join(f"  - {reply.text()}" for reply in unused)
    return RuntimeWarning(
        f"coroutine {name!r} was never awaited{format_origin(location)}. No model was called, and "
        f"replies were not used:\n{replies}\nWrite await before the call, or remove the replies."
    )


def _format(name: str, location: SourceLocation) -> str:
    if "await " in linecache.getline(*location):
        return (
            f"The coroutine {name}() was never awaited, so its code did not run. This line awaits "
            f"a function that returned it{format_origin(location)}: write await before the call in "
            "that function."
        )
    return (
        f"The coroutine {name}() was never awaited, so its code did not run: write await before "
        f"the call{format_origin(location)}."
    )


def _find_dropped() -> Iterator[tuple[str, SourceLocation]]:
    """Yield the name and the line of each coroutine that Python warned of during this test."""
    # A private name of Python's: the method of the list in which pytest collects the warnings of a
    # test until it ends. Without it, as under `-p no:warnings`, they are not named.
    show = getattr(warnings, "_showwarnmsg_impl", None)
    log = getattr(show, "__self__", ())
    for warning in log:
        match = NEVER_AWAITED.match(str(warning.message))
        # Those of an earlier test were named there, and are dropped with its frames.
        if match is not None and _held.pop(id(warning.source), "") != match[1]:
            yield match[1], (warning.filename, warning.lineno)


def _list_held(error: BaseException) -> Iterator[str]:
    """Yield a line for each coroutine that the frames of an error hold and that did not start."""
    seen: set[int] = set()
    for frame in list_frames(error):
        values = dict(frame.tb_frame.f_locals)
        if frame.tb_next is None:
            # The object of an AttributeError.
            values[""] = getattr(error, "obj", None)
        for name, value in values.items():
            # A variable may hold the object of the error, too.
            if not inspect.iscoroutine(value) or id(value) in seen:
                continue
            seen.add(id(value))
            if inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
                _held[id(value)] = value.__qualname__
                yield _format(value.__qualname__, _find_assignment(frame, name))


def _find_assignment(traceback: TracebackType, name: str) -> SourceLocation:
    """Return the last line before a failure that assigns a variable, or else the failed line."""
    code = traceback.tb_frame.f_code
    for number in range(traceback.tb_lineno, code.co_firstlineno, -1):
        line = linecache.getline(code.co_filename, number)
        if name.isidentifier() and re.search(rf"\b{name} = ", line):
            return code.co_filename, number
    return code.co_filename, traceback.tb_lineno
