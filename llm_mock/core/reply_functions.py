"""Reply functions: sync or async functions that are called for each reply."""

from __future__ import annotations

import inspect
import os
from collections.abc import Coroutine
from typing import TYPE_CHECKING

from llm_mock.core.reply import Reply, ReplyFunction, to_reply
from llm_mock.core.source_location import format_location
from llm_mock.errors import InvalidReply
from llm_mock.support.text import described, to_compact_json

if TYPE_CHECKING:
    from traceback import FrameSummary
    from types import CodeType, TracebackType

_NOT_OF_THE_FUNCTION = (
    os.path.dirname(__file__) + os.sep,
    os.path.join(os.path.dirname(os.__file__), "asyncio") + os.sep,
)
"""The folders of this module and of asyncio, whose frames are not those of the function."""


def call_reply_function(function: ReplyFunction, native: object) -> Reply:
    """Call a reply function, running the coroutine of an async one, and return its reply."""
    __tracebackhide__ = True
    result = function(native)
    return _check_result(function, _run(result) if inspect.iscoroutine(result) else result)


async def call_reply_function_async(function: ReplyFunction, native: object) -> Reply:
    """Call a reply function, awaiting the coroutine of an async one, and return its reply."""
    __tracebackhide__ = True
    result = function(native)
    return _check_result(function, await result if inspect.isawaitable(result) else result)


def call_function(function: ReplyFunction, argument: object) -> object:
    """Call a function whose result is no reply; `explain_bug` names its line if it raises."""
    __tracebackhide__ = True
    result = function(argument)
    return _run(result) if inspect.iscoroutine(result) else result


async def call_function_async(function: ReplyFunction, argument: object) -> object:
    """Call a function whose result is no reply, awaiting the coroutine of an async one."""
    __tracebackhide__ = True
    result = function(argument)
    return await result if inspect.isawaitable(result) else result


def explain_bug(error: BaseException) -> str | None:
    """Return the line and traceback of an exception from a reply function; None for others."""
    inside = _find_function_traceback(error)
    if inside is None:
        return _explain_parameters(error)
    # Imported here, because only a bug in a reply function needs it.
    from traceback import extract_tb, format_list

    frames = [
        frame for frame in extract_tb(inside) if not frame.filename.startswith(_NOT_OF_THE_FUNCTION)
    ]
    if not frames:
        return None
    origin = _format_origin(frames[0], frames[-1])
    name = type(error).__name__
    message = f"{name}: {error}" if str(error) else name
    traceback_text = "".join(format_list(frames)).rstrip()
    return f"A reply function raised{origin}: {message}\n{traceback_text}"


def _explain_parameters(error: BaseException) -> str | None:
    """Return a message about a function that cannot be called with one argument; else None."""
    if type(error) is not TypeError:
        return None
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    # Without a frame of the function Python could not bind the argument.
    if last is None or last.tb_frame.f_code not in _get_callers():
        return None
    return (
        "A function of replies is called with one argument, the prompt (the request in on()): "
        f"{error}"
    )


def _get_callers() -> tuple[CodeType, ...]:
    """Return the code of the functions that call reply functions."""
    return (
        call_reply_function.__code__,
        call_reply_function_async.__code__,
        call_function.__code__,
        call_function_async.__code__,
    )


def _find_function_traceback(error: BaseException) -> TracebackType | None:
    """Return the part of a traceback that is inside of a reply function; None without one."""
    callers = _get_callers()
    inside = None
    traceback = error.__traceback__
    while traceback is not None:
        # The last match counts: a reply function may itself call a mocked model.
        if traceback.tb_frame.f_code in callers:
            inside = traceback.tb_next
        traceback = traceback.tb_next
    return inside


def _format_origin(first_frame: FrameSummary, last_frame: FrameSummary) -> str:
    """Return where the function was entered and where it raised, for the middle of a sentence."""
    first = format_location((first_frame.filename, first_frame.lineno or 0))
    last = format_location((last_frame.filename, last_frame.lineno or 0))
    # Both are empty for code that is not in the project.
    if not first:
        return ""
    if not last or last == first:
        return f" at {first}"
    return f" at {first}, by {last}"


def _check_result(function: ReplyFunction, result: object) -> Reply:
    """Return the result of a reply function as a reply, or raise an InvalidReply."""
    __tracebackhide__ = True
    try:
        answer = to_reply(result)
    except InvalidReply:
        answer = None
    if not isinstance(answer, Reply):
        hint = " Is a return statement missing?" if result is None else ""
        raise InvalidReply(
            f"The reply function {to_compact_json(function)} returned what is not a reply: "
            f"{described(result)}.{hint} It may return a str, a dict or a list, a pydantic "
            "instance, a ToolCall, an exception, or a Reply."
        )
    return answer


def _run(coroutine: Coroutine[object, object, object]) -> object:
    """Run a coroutine in a new event loop; raise an InvalidReply inside of a running loop."""
    # Imported here, because asyncio takes long to import, and few projects have async functions.
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # Else Python warns that the coroutine was never awaited.
    coroutine.close()
    raise InvalidReply(
        f"The reply function {to_compact_json(coroutine)} is async, but the model was called "
        "synchronously inside a running event loop, where it cannot be awaited. Use a plain "
        "function, or call the model from llm.get_async_model()."
    )
