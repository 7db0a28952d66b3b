"""Says, within a call that one boundary makes for real, that the others are to leave it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_is_passing_through: ContextVar[bool] = ContextVar("llm_mock_for_real", default=False)


def is_passing_through() -> bool:
    """Whether a call is being made for real at this moment, in this thread or task."""
    return _is_passing_through.get()


@contextmanager
def pass_through() -> Iterator[None]:
    """Within it calls are made for real."""
    token = _is_passing_through.set(True)
    try:
        yield
    finally:
        _is_passing_through.reset(token)


def call_through(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function gives that is called for real; what it gives to iterate over is made for real, too."""
    __tracebackhide__ = True
    with pass_through():
        result = function(*args, **kwargs)
    if isinstance(result, AsyncIterator):
        return _iterate_through_async(result)
    return _iterate_through(result) if isinstance(result, Iterator) else result


def _iterate_through(pieces: Iterator[Any]) -> Iterator[Any]:
    """The same pieces, each of which is made for real; what happens between them is not."""
    try:
        while True:
            with pass_through():
                try:
                    piece = next(pieces)
                except StopIteration:
                    return
            yield piece
    finally:
        if close := getattr(pieces, "close", None):
            close()


async def _iterate_through_async(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The asynchronous twin of `_iterate_through`."""
    try:
        while True:
            with pass_through():
                try:
                    piece = await anext(pieces)
                except StopAsyncIteration:
                    return
            yield piece
    finally:
        if close := getattr(pieces, "aclose", None):
            await close()
