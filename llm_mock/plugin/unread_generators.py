"""Generators that a failed test never read, so that their code called no model."""

from __future__ import annotations

import inspect
from types import CodeType, FrameType

import pytest

from llm_mock.plugin.failures import list_frames
from llm_mock.plugin.mock_messages import is_of_project


def explain_unread_generators(error: BaseException | None, item: pytest.Item) -> str:
    """Return a line for each generator function of the project whose result was never read.

    Args:
        error: the error of a failed test without calls, whose frames may hold generators.
        item: the test.
    """
    lines: list[str] = []
    for entry in [] if error is None else list_frames(error):
        frame = entry.tb_frame
        if not is_of_project(frame.f_code.co_filename, item):
            continue
        # With the values that pytest keeps of a failed assertion.
        lines += [_explain_generator(value, item) for value in frame.f_locals.values()]
    return "\n".join(filter(None, dict.fromkeys(lines)))


def _explain_generator(value: object, item: pytest.Item) -> str:
    """Return a line about a generator that did not start; empty for other values."""
    if inspect.isgenerator(value):
        code, name, reader = value.gi_code, value.__qualname__, "list() or a for loop"
        is_created = inspect.getgeneratorstate(value) == inspect.GEN_CREATED
    elif inspect.isasyncgen(value):
        code, name, reader = value.ag_code, value.__qualname__, "async for"
        is_created = _is_created(code, value.ag_frame)
    else:
        return ""
    # A generator expression is not a function of the project.
    if not is_created or name.endswith("<genexpr>"):
        return ""
    if not is_of_project(code.co_filename, item):
        return ""
    function = name.rpartition("<locals>.")[2]
    return (
        f"The generator of {function}() was never read, so its code did not run: read it with "
        f"{reader}."
    )


def _is_created(code: CodeType, frame: FrameType | None) -> bool:
    """Return whether an async generator did not start.

    Args:
        code: its code.
        frame: its frame; None if it has ended.
    """
    # Only Python from 3.12 on has a function for this. Before it starts, its line is the first one.
    first = code.co_firstlineno
    if frame is None or frame.f_lineno != first:
        return False
    numbers = {number for _, _, number in code.co_lines()}
    # If the body is on the first line, too, the answer is unknown.
    return not numbers <= {None, first}
