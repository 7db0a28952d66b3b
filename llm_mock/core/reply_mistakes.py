"""Explain values that tests pass by mistake as a reply or as its error.

Imported only if an error is raised or a hint is needed.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from llm_mock.core.provider_error import ProviderError, find_template
from llm_mock.core.tokens import estimate_tokens
from llm_mock.support.numbers import is_whole
from llm_mock.support.text import shorten

CODE_OF_MOCKS = "_execute_mock_call"
"""The function of `unittest.mock` that an `AsyncMock` calls."""


def explain_called_function(value: object, place: str = "") -> str:
    """Return advice for the coroutine or generator of a function; empty for other values.

    The coroutine is closed, because otherwise Python warns that it was never awaited.

    Args:
        value: the object that was passed as a reply.
        place: the thing that the function replaces, with a space; empty for nothing.
    """
    name = getattr(value, "__name__", "")
    if inspect.iscoroutine(value):
        value.close()
        function = "the function" if name == CODE_OF_MOCKS else f"the function {name}"
        return (
            f"Pass {function} itself{place}, without calling it: the mock calls it with each "
            "request, and awaits its result."
        )
    # The name of a generator expression is `<genexpr>`.
    call = "…" if name.startswith("<") else f"{name}(…)"
    if inspect.isgenerator(value):
        return (
            f"For the chunks of one answer, write Reply(chunks={call}). For one reply per call, "
            f"write script(model, *{call})."
        )
    if inspect.isasyncgen(value):
        chunks = f"[chunk async for chunk in {call}]"
        return f"For the chunks of one answer, write Reply(chunks={chunks})."
    return ""


def explain_unawaited(value: object) -> str:
    """Return advice for a coroutine within a reply, and close it; empty for other values."""
    if not inspect.iscoroutine(value):
        return ""
    value.close()
    called = "the call" if value.__name__ == CODE_OF_MOCKS else f"{value.__name__}()"
    return f"Write await before {called}."


def explain_wrong_result(value: object) -> str:
    """Return why a reply function returned something else, with a space; empty if unknown."""
    if value is None:
        return " Is a return statement missing?"
    if inspect.iscoroutine(value):
        return f" Write await before {value.__name__}()."
    if inspect.isgenerator(value) or inspect.isasyncgen(value):
        return (
            " A reply function must return the whole answer. For the chunks of a stream, write "
            "return Reply(chunks=[…]) instead of yield."
        )
    return ""


def explain_reply_as_error(error: object, text: object, chunks: object, error_after: object) -> str:
    """Return a message about a whole reply that is the error of another one.

    Args:
        error: the error of the whole reply; None if it has none.
        text: the text of the other reply; empty without one.
        chunks: its chunks; None without any.
        error_after: the number of chunks before the error; None without one.
    """
    if error is None:
        return (
            "error= takes an exception, but got a Reply without an error. Pass an exception, such "
            'as ConnectionError("no route to host").'
        )
    template = find_template(error)
    if template is None:
        return "error= takes an exception, but got a whole Reply. Pass the exception of that Reply."
    arguments = _format_content(text, chunks, error_after)
    if isinstance(error, ProviderError) and error.retry_after is not None:
        arguments.append(f"retry_after={error.retry_after!r}")
    return (
        f"error= takes an exception, but templates.{template}() returns a whole Reply. Write "
        f"templates.{template}({', '.join(arguments)})."
    )


def _format_content(text: object, chunks: object, error_after: object) -> list[str]:
    """Return the arguments of a reply that fails after its text or its chunks, as code."""
    count = error_after if isinstance(error_after, int) and is_whole(error_after) else 1
    if isinstance(text, str) and text:
        if 1 < count < len(text):
            return [f"chunks={_format_cut(text, count)}", "error_after=1"]
        return [f"text={shorten(text)}", f"error_after={min(1, count)}"]
    if isinstance(chunks, Sequence) and chunks:
        shown = shorten(list(chunks)) if all(isinstance(each, str) for each in chunks) else "…"
        return [f"chunks={shown}", f"error_after={count}"]
    return []


def explain_late_error(text: str, error_after: int) -> str:
    """Return a message about an error after more chunks than a text without chunks has."""
    most = estimate_tokens(len(text))
    others = f", or at most {most} with Latency(chunks_per_second=…)" if most > 1 else ""
    fix = "Pass error_after=1."
    if error_after < len(text):
        cut = _format_cut(text, error_after)
        fix = f"To cut the text, pass its chunks: Reply(chunks={cut}, error=…, error_after=1)."
    return (
        f"error_after={error_after} counts the chunks before the error, but the text "
        f"{shorten(text)} is one chunk{others}. {fix}"
    )


def _format_cut(text: str, length: int) -> str:
    """Return a text in two chunks, as code; the first chunk has this length."""
    return f"[{shorten(text[:length])}, {shorten(text[length:])}]"
