"""Functions that reply: asked at each call, sync or async."""

from __future__ import annotations

import inspect
import os
from collections.abc import Coroutine
from typing import Any

from llm_mock.core.reply import Reply, ReplyFunction, to_reply
from llm_mock.core.source_location import format_location
from llm_mock.errors import InvalidReply
from llm_mock.support.text import compact, described

_NOT_OF_THE_FUNCTION = (
    os.path.dirname(__file__) + os.sep,
    os.path.join(os.path.dirname(os.__file__), "asyncio") + os.sep,
)
"""The folders of this module and of Python's asyncio, whose frames stand between those of a
function."""


def ask(function: ReplyFunction, native: Any) -> Reply:
    """What a function replies; the coroutine of an async one is run to its end."""
    __tracebackhide__ = True
    result = function(native)
    return _as_reply(function, _run(result) if inspect.iscoroutine(result) else result)


async def ask_async(function: ReplyFunction, native: Any) -> Reply:
    """The asynchronous twin of `ask`."""
    __tracebackhide__ = True
    result = function(native)
    return _as_reply(function, await result if inspect.isawaitable(result) else result)


def explain_bug(error: BaseException) -> str | None:
    """Explain an exception that was raised within a reply function: its line and its traceback;
    None for others."""
    inside = None
    traceback = error.__traceback__
    while traceback is not None:
        if traceback.tb_frame.f_code in (ask.__code__, ask_async.__code__):
            inside = traceback.tb_next
        traceback = traceback.tb_next
    if inside is None:
        return None
    from traceback import extract_tb, format_list

    frames = [
        frame for frame in extract_tb(inside) if not frame.filename.startswith(_NOT_OF_THE_FUNCTION)
    ]
    if not frames:
        return None
    first, last = (
        format_location((frame.filename, frame.lineno or 0)) for frame in (frames[0], frames[-1])
    )
    where = f" at {first}" + ("" if first == last or not last else f", by {last}") if first else ""
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"A reply function raised{where}: {said}\n{''.join(format_list(frames)).rstrip()}"


def _as_reply(function: ReplyFunction, result: Any) -> Reply:
    __tracebackhide__ = True
    try:
        answer = to_reply(result)
    except InvalidReply:
        answer = None
    if not isinstance(answer, Reply):
        hint = " Is a return statement missing?" if result is None else ""
        raise InvalidReply(
            f"The reply function {compact(function)} returned what is not a reply: "
            f"{described(result)}.{hint} It may return a str, a dict or a list, a pydantic "
            "instance, an exception, or a Reply."
        )
    return answer


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise InvalidReply(
        f"The reply function {compact(coroutine)} is async, but the model was called synchronously "
        "inside a running event loop, where it cannot be awaited. Use a plain function, or call "
        "the model from llm.get_async_model()."
    )
