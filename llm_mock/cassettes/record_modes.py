"""What a cassette records."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal, get_args

RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)


class _State:
    """What a person types to record, in front of the mode, where that is not pytest."""

    command: str | None = None


@contextmanager
def recorded_by(command: str) -> Iterator[None]:
    """Within it messages say that calls are recorded by a command, which the mode follows."""
    previous, _State.command = _State.command, command
    try:
        yield
    finally:
        _State.command = previous


def is_recorded_by_pytest() -> bool:
    """Whether it is pytest that records."""
    return _State.command is None


def recording_command(mode: RecordMode) -> str:
    """What a person types to record the calls of the test that runs."""
    if _State.command is not None:
        return f"{_State.command} {mode}"
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    return f"pytest {shlex.quote(test)} --llm-mock-record {mode}" if test else f"pytest --llm-mock-record {mode}"
