"""Functions that reply: asked at each call, sync or async."""

from __future__ import annotations

import inspect
from collections.abc import Coroutine
from typing import Any

from llm_mock.core.reply import Reply, ReplyFunction, as_answer
from llm_mock.errors import InvalidReply
from llm_mock.support.text import compact, described


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


def _as_reply(function: ReplyFunction, result: Any) -> Reply:
    __tracebackhide__ = True
    try:
        answer = as_answer(result)
    except InvalidReply:
        answer = None
    if not isinstance(answer, Reply):
        hint = " Is a return statement missing?" if result is None else ""
        raise InvalidReply(
            f"The reply function {compact(function)} returned what is not a reply: {described(result)}.{hint} "
            "It may return a str, a dict or a list, a pydantic instance, an exception, or a Reply."
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
        f"The reply function {compact(coroutine)} is async, but the model was called synchronously inside a running "
        "event loop, where it cannot be awaited. Use a plain function, or call the model from llm.get_async_model()."
    )
