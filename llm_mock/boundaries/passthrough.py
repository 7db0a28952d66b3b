"""Says, within a call that one boundary makes for real, that the others are to leave it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_for_real: ContextVar[bool] = ContextVar("llm_mock_for_real", default=False)


def is_for_real() -> bool:
    """Whether a call is being made for real at this moment, in this thread or task."""
    return _for_real.get()


@contextmanager
def for_real() -> Iterator[None]:
    """Within it calls are made for real."""
    token = _for_real.set(True)
    try:
        yield
    finally:
        _for_real.reset(token)


def made_for_real(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives that is called for real; what it gives to iterate over is made for real, too."""
    __tracebackhide__ = True
    with for_real():
        result = function(*args, **kwargs)
    if isinstance(result, AsyncIterator):
        return _each_for_real_async(result)
    return _each_for_real(result) if isinstance(result, Iterator) else result


def _each_for_real(pieces: Iterator[Any]) -> Iterator[Any]:
    """The same pieces, each of which is made for real; what happens between them is not."""
    try:
        while True:
            with for_real():
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece
    finally:
        if close := getattr(pieces, "close", None):
            close()


async def _each_for_real_async(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The asynchronous twin of `_each_for_real`."""
    try:
        while True:
            with for_real():
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()
