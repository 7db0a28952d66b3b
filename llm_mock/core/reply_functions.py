"""Reply functions: sync or async functions that are called for each reply."""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Coroutine, Mapping
from typing import TYPE_CHECKING

from llm_mock.core.reply import Reply, ReplyFunction, to_reply
from llm_mock.core.source_location import format_location, format_origin
from llm_mock.errors import InvalidReply
from llm_mock.support.text import CERTAIN, described, find_nearest, to_compact_json

if TYPE_CHECKING:
    from traceback import FrameSummary
    from types import CodeType, TracebackType

_NOT_OF_THE_FUNCTION = (
    os.path.dirname(__file__) + os.sep,
    os.path.join(os.path.dirname(os.__file__), "asyncio") + os.sep,
)
"""The folders of this module and of asyncio, whose frames are not those of the function."""
PART_ATTRIBUTES = {"attachments": "type", "tool_results": "output", "tools": "name"}
"""The lists of a request whose items have attributes, each with an example of an attribute."""
ATTRIBUTE_SYNONYMS = {
    "content": "prompt",
    "input": "prompt",
    "model": "model_id",
    "system_prompt": "system",
    "text": "prompt",
    "user": "prompt",
}
"""Wrong names for an attribute of a request that reply functions often use."""
REQUEST_PART = re.compile(rf"\.({'|'.join(PART_ATTRIBUTES)})\b")
"""A pattern for the use of one of these lists in a line of code."""


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
    """Call another function of the test; `explain_bug` names its line if it raises."""
    result = function(argument)
    return _run(result) if inspect.iscoroutine(result) else result


async def call_function_async(function: ReplyFunction, argument: object) -> object:
    """Call another function of the test, awaiting the coroutine of an async one."""
    result = function(argument)
    return await result if inspect.isawaitable(result) else result


def explain_bug(error: BaseException) -> str | None:
    """Return a message with the line and traceback of an exception from a reply function.

    It is None for other exceptions.
    """
    caller = _find_caller(error)
    if caller is None or caller.tb_next is None:
        return explain_parameters(error)
    # Imported here, because only a bug in a reply function needs it.
    from traceback import extract_tb, format_list

    frames = [
        frame
        for frame in extract_tb(caller.tb_next)
        if not frame.filename.startswith(_NOT_OF_THE_FUNCTION)
    ]
    if not frames:
        return None
    origin = _format_origin(frames[0], frames[-1])
    name = type(error).__name__
    message = f"{name}: {error}" if str(error) else name
    message += _explain_use(error, caller, frames[-1].line or "")
    traceback_text = "".join(format_list(frames)).rstrip()
    return f"A reply function raised{origin}: {message}\n{traceback_text}"


def explain_request_use(error: BaseException) -> str:
    """Return a hint about a wrong use of the request in a reply function; empty otherwise."""
    caller = _find_caller(error)
    if caller is None or caller.tb_next is None:
        return ""
    # Imported here, as above.
    from traceback import extract_tb

    line = extract_tb(caller.tb_next)[-1].line
    return _explain_use(error, caller, line or "")


def _explain_use(error: BaseException, caller: TracebackType, line: str) -> str:
    hint = _explain_item(error, line)
    return hint or _explain_argument(error, caller.tb_frame.f_locals)


def _explain_item(error: BaseException, line: str) -> str:
    """Return a hint if a function used a part of the request as a mapping or a list.

    Args:
        error: the exception of the function.
        line: the line of code that raised it.
    """
    is_of_dict = isinstance(error, KeyError) or "'dict' object has no attribute" in str(error)
    if is_of_dict and ".messages()" in line:
        return (
            ". A message of a request has the keys role and parts. For the text of the last "
            "message, use request.prompt."
        )
    if not isinstance(error, TypeError):
        return ""
    is_key = "tuple indices" in str(error) or "not subscriptable" in str(error)
    part = REQUEST_PART.search(line)
    if part is not None and is_key:
        return (
            f". In a reply function, the items of {part[1]} have attributes, not keys: write "
            f"request.{part[1]}[0].{PART_ATTRIBUTES[part[1]]}."
        )
    if ".messages[" in line and "'method'" in str(error):
        return ". messages is a method of the request: write request.messages()."
    return ""


def _explain_argument(error: BaseException, variables: Mapping[str, object]) -> str:
    """Return a hint if a function used its argument as the text of the prompt.

    Args:
        error: the exception of the function.
        variables: the local variables of its caller.
    """
    argument = variables.get("native") or variables.get("argument")
    # Python's message names the type of the object.
    is_about_argument = f"'{type(argument).__name__}'" in str(error)
    if not isinstance(error, (AttributeError, TypeError)) or not is_about_argument:
        return ""
    # The request to an endpoint of `on()` has no prompt.
    if not hasattr(argument, "prompt"):
        return ""
    name = getattr(error, "name", None)
    if isinstance(name, str) and not hasattr(str, name):
        return _suggest_attribute(argument, name)
    return ". A reply function receives the request. For its text, use request.prompt."


def _suggest_attribute(argument: object, name: str) -> str:
    """Return the end of a message that suggests the nearest attribute; empty without one."""
    public = [each for each in dir(argument) if not each.startswith("_")]
    nearest = find_nearest(ATTRIBUTE_SYNONYMS.get(name, name), public, CERTAIN)
    if nearest is None:
        return ""
    parentheses = "()" if callable(getattr(argument, nearest)) else ""
    return f"; did you mean {nearest}{parentheses}?"


def explain_parameters(error: BaseException) -> str | None:
    """Return a message about a function that does not accept one argument; else None."""
    if type(error) is not TypeError:
        return None
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    # Without a frame of the function Python could not bind the argument.
    if last is None or last.tb_frame.f_code not in _get_callers():
        return None
    origin = _describe_origin(last.tb_frame.f_locals.get("function"))
    return (
        f"The reply function{origin} must take one argument, the request, such as "
        f"lambda request: …, or def answer(request): … ({error})"
    )


def _describe_origin(function: object) -> str:
    """Return the line of a function in parentheses, with a space; empty if it has none."""
    code = getattr(inspect.unwrap(function), "__code__", None) if callable(function) else None
    return "" if code is None else format_origin((code.co_filename, code.co_firstlineno))


def _get_callers() -> tuple[CodeType, ...]:
    """Return the code of the functions that call reply functions."""
    return (
        call_reply_function.__code__,
        call_reply_function_async.__code__,
        call_function.__code__,
        call_function_async.__code__,
    )


def _find_caller(error: BaseException) -> TracebackType | None:
    """Return the entry of a traceback that called a reply function; None without one."""
    callers = _get_callers()
    found = None
    traceback = error.__traceback__
    while traceback is not None:
        # The last match counts, because a reply function may itself call a mocked model.
        if traceback.tb_frame.f_code in callers:
            found = traceback
        traceback = traceback.tb_next
    return found


def _format_origin(first_frame: FrameSummary, last_frame: FrameSummary) -> str:
    """Return the lines where a function begins and raises, for the middle of a sentence."""
    first = format_location((first_frame.filename, first_frame.lineno or 0))
    last = format_location((last_frame.filename, last_frame.lineno or 0))
    # Both are empty for code outside of the project.
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
        # Imported here, because few reply functions have this bug.
        from llm_mock.core.reply_mistakes import explain_wrong_result

        hint = explain_wrong_result(result)
        raise InvalidReply(
            f"The reply function {to_compact_json(function)}{_describe_origin(function)} returned "
            f"something that is not a reply: {described(result)}.{hint} Return a str, a dict or a "
            "list, a pydantic instance, a ToolCall, an exception, or a Reply."
        )
    return answer


def _run(coroutine: Coroutine[object, object, object]) -> object:
    """Run a coroutine in a new event loop; raise an InvalidReply inside of a running loop."""
    # Imported here, because importing asyncio is slow, and few projects have async functions.
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    # Otherwise Python warns that the coroutine was never awaited.
    coroutine.close()
    raise InvalidReply(
        f"The reply function {to_compact_json(coroutine)} is async, but the model was called "
        "synchronously inside a running event loop, where it cannot be awaited. Use a plain "
        "function, or call the model from llm.get_async_model()."
    )
