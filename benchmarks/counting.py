"""Counting what a call executes: exact figures, which do not depend on how busy a machine is."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, NamedTuple

WARM_CALLS = 3
"""The calls before the counted one, which import modules and fill caches."""
COUNTED_CALLS = 5
"""The counted calls; the least counts, as ids of `llm` take longer within a millisecond."""
PACKAGE = "/llm_mock/"


class Count(NamedTuple):
    """The instructions and calls of one execution."""

    instructions: int
    calls: int
    c_calls: int


def count(
    call: Callable[[], object],
    warm_calls: int = WARM_CALLS,
    counted_calls: int = COUNTED_CALLS,
) -> Count:
    """Count the bytecode instructions, the Python calls and the C calls of a function.

    Args:
        call: the function. It is called several times.
        warm_calls: how often it is called before it is counted.
        counted_calls: how often its instructions are counted; the least counts.

    Raises:
        RuntimeError: nothing was counted. `sys.settrace` counts no instructions on Python 3.12.1.
    """
    for _ in range(warm_calls):
        call()
    gc.collect()
    # A collection in between would count the finalizers of other objects.
    gc.disable()
    try:
        instructions = min(_count_instructions(call) for _ in range(counted_calls))
        counted = Count(instructions, *_count_calls(call))
    finally:
        gc.enable()
    if not counted.instructions:
        raise RuntimeError(f"Python {sys.version.split()[0]} counted no instruction.")
    return counted


def _count_instructions(call: Callable[[], object]) -> int:
    return _monitor(call) if sys.version_info >= (3, 12) else _trace(call)


def _trace(call: Callable[[], object]) -> int:
    number = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal number
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            number += 1
        return trace

    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(None)
    return number


def _monitor(call: Callable[[], object]) -> int:
    monitoring: Any = getattr(sys, "monitoring", None)
    tool, number = monitoring.PROFILER_ID, 0

    def note(*_: object) -> None:
        nonlocal number
        number += 1

    monitoring.use_tool_id(tool, "budget")
    monitoring.register_callback(tool, monitoring.events.INSTRUCTION, note)
    monitoring.set_events(tool, monitoring.events.INSTRUCTION)
    try:
        call()
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    return number


def _count_calls(call: Callable[[], object]) -> tuple[int, int]:
    numbers = {"call": 0, "c_call": 0}

    def profile(frame: FrameType, event: str, argument: object) -> None:
        if event in numbers:
            numbers[event] += 1

    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
    return numbers["call"], numbers["c_call"]


class Walk(NamedTuple):
    """The way of a call through the package."""

    stops: int
    """The maximal runs of function entries in one file."""
    files: int


class Walker:
    """Counts the stops of what runs within its context."""

    def __init__(self) -> None:
        self.stops: list[str] = []
        """The file of each stop."""

    def _profile(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or PACKAGE not in code.co_filename or code.co_name == "<module>":
            return
        if not self.stops or self.stops[-1] != code.co_filename:
            self.stops.append(code.co_filename)

    def __enter__(self) -> Walker:
        sys.setprofile(self._profile)
        return self

    def __exit__(self, *exception: object) -> None:
        sys.setprofile(None)

    @property
    def walk(self) -> Walk:
        """The stops and the files so far."""
        return Walk(len(self.stops), len({*self.stops}))


def walk(call: Callable[[], object]) -> Walk:
    """Count the stops of a call in the files of the package; warm it up before."""
    with Walker() as walker:
        call()
    return walker.walk
