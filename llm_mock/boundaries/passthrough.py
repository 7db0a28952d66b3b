"""Let a call that one boundary sends to the provider pass the other boundaries, too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, TypeVar

from llm_mock.core.context import pass_through

T = TypeVar("T")


def call_through(function: Callable[..., object], *args: Any, **kwargs: Any) -> Any:
    """Call a function, and send its calls to models to the provider.

    Returns:
        The function's result. If it is an iterator, calls in each of its steps are sent, too.
    """
    __tracebackhide__ = True
    with pass_through():
        result = function(*args, **kwargs)
    if isinstance(result, AsyncIterator):
        return _iterate_through_async(result)
    if isinstance(result, Iterator):
        return _iterate_through(result)
    return result


def _iterate_through(chunks: Iterator[T]) -> Iterator[T]:
    """Yield chunks, and send the calls that produce each chunk to the provider."""
    try:
        while True:
            # Only around `next`: the calls of the application between two chunks are mocked.
            with pass_through():
                try:
                    chunk = next(chunks)
                except StopIteration:
                    return
            yield chunk
    finally:
        close = getattr(chunks, "close", None)  # iterators need not be generators
        if close is not None:
            close()


async def _iterate_through_async(chunks: AsyncIterator[T]) -> AsyncIterator[T]:
    """Yield chunks of an asynchronous iterator; the asynchronous form of `_iterate_through`."""
    try:
        while True:
            with pass_through():
                try:
                    chunk = await anext(chunks)
                except StopAsyncIteration:
                    return
            yield chunk
    finally:
        close = getattr(chunks, "aclose", None)
        if close is not None:
            await close()
