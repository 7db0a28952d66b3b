"""Coroutines that a failed test never awaited."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Iterator

from llm_mock.core.source_location import format_location
from llm_mock.plugin.failures import list_frames

NEVER_AWAITED = re.compile(r"coroutine '(.+)' was never awaited")
"""The beginning of Python's warning, which has the name only in its text."""
_held: dict[int, str] = {}
"""The names of the coroutines that the frames of failed tests hold, by their ids."""


def explain_unawaited(error: BaseException | None) -> str:
    """Return a line for each coroutine that was never awaited; empty without one.

    Args:
        error: the error of the test, whose frames may still hold coroutines.
    """
    lines = [*_list_dropped()]
    if error is not None:
        lines += [_format(name) for name in _list_held(error)]
    return "\n".join(dict.fromkeys(lines))


def _format(name: str, place: str = "") -> str:
    return (
        f"The coroutine {name}() was never awaited, so its code did not run: write await before "
        f"the call{place}."
    )


def _list_dropped() -> Iterator[str]:
    """Yield a line for each coroutine that Python warned of during this test."""
    # A private name of Python's: the method of the list in which pytest collects the warnings of a
    # test until it ends. Without it, as under `-p no:warnings`, they are not named.
    show = getattr(warnings, "_showwarnmsg_impl", None)
    log = getattr(show, "__self__", ())
    for warning in log:
        match = NEVER_AWAITED.match(str(warning.message))
        # Those of an earlier test were named there, and are dropped with its frames.
        if match is not None and _held.pop(id(warning.source), "") != match[1]:
            location = (warning.filename, warning.lineno)
            place = format_location(location)
            yield _format(match[1], f" ({place})")


def _list_held(error: BaseException) -> Iterator[str]:
    """Yield the names of the coroutines that the frames of an error hold and that did not start."""
    values = [getattr(error, "obj", None)]
    for frame in list_frames(error):
        values += frame.tb_frame.f_locals.values()
    for value in values:
        if not inspect.iscoroutine(value):
            continue
        if inspect.getcoroutinestate(value) == inspect.CORO_CREATED:
            _held[id(value)] = value.__qualname__
            yield value.__qualname__
