"""Says, within a call that one boundary makes for real, that the others are to leave it alone."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
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


def each_for_real(pieces: Iterator[Any]) -> Iterator[Any]:
    """The same pieces, each of which is made for real; what happens between them is not."""
    while True:
        with for_real():
            try:
                piece = next(pieces)
            except StopIteration:
                return
        yield piece


async def each_for_real_async(pieces: AsyncIterator[Any]) -> AsyncIterator[Any]:
    """The asynchronous twin of `each_for_real`."""
    while True:
        with for_real():
            try:
                piece = await anext(pieces)
            except StopAsyncIteration:
                return
        yield piece
