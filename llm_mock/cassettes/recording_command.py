"""The commands that record."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager

from llm_mock.cassettes import RecordMode


class _CommandOverride:
    """The command that messages name instead of pytest."""

    command: str | None = None


@contextmanager
def override_recording_command(command: str) -> Iterator[None]:
    """Make messages name another command for recording instead of pytest.

    Args:
        command: the command without the record mode, which is its last argument.
    """
    previous = _CommandOverride.command
    _CommandOverride.command = command
    try:
        yield
    finally:
        _CommandOverride.command = previous


def is_recorded_by_pytest() -> bool:
    """Return whether pytest records the calls."""
    return _CommandOverride.command is None


def get_recording_command(mode: RecordMode) -> str:
    """Return the command that records the calls of the current test."""
    if _CommandOverride.command is not None:
        return f"{_CommandOverride.command} {mode}"
    # pytest sets it to the id of the test and its phase: "tests/test_it.py::test_hi (call)".
    test, _, _ = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")
    arguments = f"{shlex.quote(test)} " if test else ""
    return f"pytest {arguments}--llm-mock-record {mode}"
