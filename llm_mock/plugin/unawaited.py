"""Coroutines that a test never awaited."""

from __future__ import annotations

import ast
import gc
import inspect
import linecache
import re
import sys
import textwrap
from collections.abc import Iterator, Sequence
from types import CodeType, CoroutineType, FrameType

import pytest

from llm_mock.core.diagnostics import ExplainedMock, find_unused_replies
from llm_mock.core.source_location import SourceLocation, format_origin
from llm_mock.plugin.failures import list_frames
from llm_mock.plugin.mock_messages import is_of_project
from llm_mock.plugin.recorded_warnings import get_recorded_warnings
from llm_mock.support.exceptions import get_exception_text

NEVER_AWAITED = re.compile(r"coroutine '(.+)' was never awaited")
"""The beginning of Python's warning, which has the name only in its text."""
NOT_SUPPORTED = "async def functions are not natively supported"
"""The beginning of pytest's message about a coroutine function that no plugin runs."""
RUNS_COROUTINE = re.compile(
    r"(?:\bawait |\b(?:asyncio|anyio|trio)\.run\(|\brun_until_complete\()\s*([\w.]*)"
)
"""A line that runs a coroutine function, and drops the returned value."""
AGENT_RUN = "aitest_run"
"""The coroutine function that runs an agent."""
MAX_VAIN_SEARCHES = 10
"""The number of searches for coroutines that found none after which a run makes no more.

A search takes a tenth of a second where large libraries are loaded."""
VAIN_SEARCHES = pytest.StashKey[int]()
"""The searches of a run that found no coroutine."""


class _ReportedName(str):
    """The `__name__` of a coroutine that a failed test has reported.

    The mark is on the coroutine itself: its id is reused once it is freed, and Python clears weak
    references to it before it warns. Messages use the `__qualname__`.
    """

    __slots__ = ()


def explain_unawaited(
    error: BaseException | None, item: pytest.Item, handled: Sequence[FrameType]
) -> str:
    """Return a line for each coroutine that was never awaited; empty without one.

    Args:
        error: the error of the test, whose frames may still hold coroutines.
        item: the test.
        handled: the frames of errors that the application handled, if they hold a coroutine.
    """
    lines = []
    for name, location in _find_dropped():
        lines.append(_format(name, location, item))
    frames = []
    if error is not None:
        for entry in list_frames(error):
            frames.append((entry.tb_frame, entry.tb_lineno))
    lines += _list_held(error, frames, item)
    lines += _list_held(None, [(frame, frame.f_lineno) for frame in handled], item)
    if get_exception_text(error).startswith(NOT_SUPPORTED) and "pytest_asyncio" in sys.modules:
        lines.append(
            "pytest-asyncio is installed but does not run this test: mark it with "
            "@pytest.mark.asyncio, or set asyncio_mode = auto in the ini file."
        )
    return "\n".join(dict.fromkeys(lines))


def find_unawaited_run(item: pytest.Item) -> str:
    """Return a message about a run of an agent that a passed test never awaited; else nothing."""
    for name, location in _find_dropped():
        if name == AGENT_RUN:
            origin = format_origin(_locate(name, location, item))
            return (
                f"{name}() was never awaited{origin}, so no agent ran, and this test checks "
                f"nothing. Write await {name}(…)."
            )
    return ""


def warn_of_unawaited(mock: ExplainedMock, item: pytest.Item) -> RuntimeWarning | None:
    """Return a warning about unused replies of a passed test that never awaited a coroutine.

    It begins like Python's warning, so that the project's filters apply to both.

    Args:
        mock: the mock of the test, in which no model was called.
        item: the test.
    """
    dropped = dict(_find_dropped())
    unused = find_unused_replies(mock, ()) if dropped else []
    if not unused:
        return None
    name, location = dropped.popitem()
    origin = format_origin(_locate(name, location, item))
    replies = "\n".join(f"  - {reply.text()}" for reply in unused)
    return RuntimeWarning(
        f"coroutine {name!r} was never awaited{origin}. No model was called, and replies were not "
        f"used:\n{replies}\nWrite await before the call, or remove the replies."
    )


def _locate(name: str, location: SourceLocation, item: pytest.Item) -> SourceLocation | None:
    """Return the line of the project that dropped a coroutine, or that created it in the test."""
    if is_of_project(location[0], item):
        return location
    # Python drops the variables of a test when it has ended.
    return _find_call(item, name.rpartition(".")[2])


def _format(name: str, location: SourceLocation, item: pytest.Item) -> str:
    """Describe a coroutine that was not awaited, with the line that created or dropped it."""
    problem = f"The coroutine {name}() was never awaited, so its code did not run"
    method = name.rpartition(".")[2]
    if not is_of_project(location[0], item):
        place = _find_call(item, method)
        return f"{problem}{_advise(name, place, item)}{format_origin(place)}."
    origin = format_origin(location)
    line = linecache.getline(*location)
    runs = RUNS_COROUTINE.search(line)
    if runs is None or re.search(rf"\b{method}\(", line):
        return f"{problem}{_advise(name, location, item)}{origin}."
    function = f"{runs[1]}()" if runs[1] else "a function"
    return (
        f"{problem}. This line runs {function}, which returned the coroutine{origin}: write await "
        f"before the call to {method}() in that function."
    )


def _advise(name: str, place: SourceLocation | None, item: pytest.Item) -> str:
    """Return the advice to await a call, which also makes the test async if it is not."""
    if place is None or not _is_in_sync_test(place, item):
        return ": write await before the call"
    alternative = ", or use the sync client" if name.startswith("Async") else ""
    return f". The test is not async: write async def and await{alternative}"


def _is_in_sync_test(place: SourceLocation, item: pytest.Item) -> bool:
    """Return whether a line is in the own code of a test function that is not async."""
    function = getattr(item, "function", None)
    if not inspect.isfunction(function):
        return False
    # Plugins that run async tests wrap them in a function.
    function = inspect.unwrap(function)
    if inspect.iscoroutinefunction(function):
        return False
    path, number = place
    # Functions within the test have code of their own.
    numbers = [line for *_, line in function.__code__.co_lines()]
    return path == function.__code__.co_filename and number in numbers


def _find_call(item: pytest.Item, method: str) -> SourceLocation | None:
    """Return the only line of a test that calls a function without `await`, or None."""
    function = getattr(item, "function", None)
    if not inspect.isfunction(function):
        return None
    try:
        lines, first = inspect.getsourcelines(function)
        # A text without indentation in the function leaves it indented.
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError):
        return None
    numbers = _list_calls(tree, method)
    if len(numbers) != 1:
        return None
    return function.__code__.co_filename, first - 1 + numbers.pop()


def _list_calls(tree: ast.AST, method: str) -> set[int]:
    """Return the lines in which a function is called without `await`."""
    nodes = list(ast.walk(tree))
    awaited = [node.value for node in nodes if isinstance(node, ast.Await)]
    calls = [node.func for node in nodes if isinstance(node, ast.Call) and node not in awaited]
    # A chain of calls may take several lines, and each name is at the end of what is called.
    return {called.end_lineno or 0 for called in calls if _get_last_name(called) == method}


def _get_last_name(called: ast.expr) -> str:
    """Return the name of a function or method that is called; empty for another expression."""
    if isinstance(called, ast.Attribute):
        return called.attr
    return called.id if isinstance(called, ast.Name) else ""


def _find_dropped() -> Iterator[tuple[str, SourceLocation]]:
    """Yield the name and the line of each coroutine that Python warned of during this test."""
    for warning in get_recorded_warnings():
        match = NEVER_AWAITED.match(str(warning.message))
        # Those of an earlier test were named there, and are dropped with its frames.
        if match is not None and not _is_reported(warning.source):
            yield match[1], (warning.filename, warning.lineno)


def find_handled(mock: ExplainedMock, item: pytest.Item) -> list[FrameType]:
    """Return the frames of the project that hold a coroutine which did not start.

    The error that ended them was handled by the application. Its traceback keeps them until the
    next garbage collection, which pytest often causes while it ignores all warnings.

    Args:
        mock: the mock of a failed test in which no model was called.
        item: the test.

    Returns:
        The frames; none if the test left no reply unused, or after `MAX_VAIN_SEARCHES`.
    """
    stash = item.config.stash
    vain_searches = stash.get(VAIN_SEARCHES, 0)
    if vain_searches == MAX_VAIN_SEARCHES or not find_unused_replies(mock, ()):
        return []
    coroutines = _list_created()
    if not coroutines:
        stash[VAIN_SEARCHES] = vain_searches + 1
        return []
    running = _list_running_frames()
    frames = []
    for frame in gc.get_referrers(*coroutines):
        # Running frames hold what they may still await.
        if not inspect.isframe(frame) or frame in running:
            continue
        if is_of_project(frame.f_code.co_filename, item):
            frames.append(frame)
    return frames


def _list_created() -> list[CoroutineType[object, object, object]]:
    """Return the coroutines that did not start; without those that were named already."""
    coroutines = []
    # There are millions of objects where large libraries are loaded.
    for value in gc.get_objects():
        if type(value) is not CoroutineType or not _is_created(value):
            continue
        # An earlier failed test may still hold it.
        if not _is_reported(value):
            coroutines.append(value)
    return coroutines


def _is_reported(coroutine: object) -> bool:
    """Return whether a failed test has reported a coroutine; False for None."""
    return isinstance(getattr(coroutine, "__name__", None), _ReportedName)


def _list_running_frames() -> set[FrameType]:
    """Return the frames of all threads."""
    running: set[FrameType] = set()
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            running.add(frame)
            frame = frame.f_back
    return running


def _is_created(coroutine: CoroutineType[object, object, object]) -> bool:
    """Return whether a coroutine did not start."""
    return inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED


def _list_held(
    error: BaseException | None, frames: Sequence[tuple[FrameType, int]], item: pytest.Item
) -> Iterator[str]:
    """Yield a line for each coroutine that did not start and that some frames hold.

    Args:
        error: the error that ended the last frame, if there was one.
        frames: the frames, each with its current line.
        item: the test.
    """
    seen: set[int] = set()
    for frame, line in frames:
        values = dict(frame.f_locals)
        if frame is frames[-1][0]:
            # The object of an AttributeError.
            values[""] = getattr(error, "obj", None)
        for name, value in values.items():
            for coroutine in _list_coroutines(value):
                # A variable may hold the object of the error, too.
                if id(coroutine) not in seen:
                    seen.add(id(coroutine))
                    coroutine.__name__ = _ReportedName(coroutine.__name__)
                    location = _find_assignment(frame.f_code, line, name)
                    yield _format(coroutine.__qualname__, location, item)


def _list_coroutines(value: object) -> list[CoroutineType[object, object, object]]:
    """Return a coroutine that did not start, or those in a list; none for other values."""
    values = [value]
    if isinstance(value, (list, tuple)):
        values = [*value]
    coroutines = []
    for each in values:
        if inspect.iscoroutine(each) and _is_created(each):
            coroutines.append(each)
    return coroutines


def _find_assignment(code: CodeType, last_line: int, name: str) -> SourceLocation:
    """Return the last line that assigns a variable, or else the last line that ran.

    Args:
        code: the code of a function.
        last_line: its last line that ran.
        name: the name of the variable; empty for a value without a name.
    """
    for number in range(last_line, code.co_firstlineno, -1):
        line = linecache.getline(code.co_filename, number)
        if name.isidentifier() and re.search(rf"\b{name} = ", line):
            return code.co_filename, number
    return code.co_filename, last_line
