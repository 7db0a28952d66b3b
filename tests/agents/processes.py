"""Looks at the process table."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

DEADLINE = 20.0
"""Seconds within which processes must be gone, or there; far more than they need."""


def processes_with(marker: str) -> dict[int, str]:
    """Return the processes with a word in their command, by id, without zombies."""
    if Path("/proc/self/cmdline").exists():
        commands = _from_proc()
    else:
        listed = subprocess.run(
            ["ps", "-A", "-ww", "-o", "pid=,command="], capture_output=True, text=True, check=True
        )
        rows = [line.split(None, 1) for line in listed.stdout.splitlines()]
        commands = {int(row[0]): row[1] for row in rows if len(row) == 2}
    return {pid: command for pid, command in commands.items() if marker in command}


def _from_proc() -> dict[int, str]:
    commands = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                commands[int(folder.name)] = (
                    (folder / "cmdline").read_text(errors="replace").replace("\0", " ")
                )
            except OSError:  # it has ended meanwhile
                continue
    return commands


def supervisor_of(marker: str) -> int:
    """Return the process id of the one supervisor that has a word in its command."""
    (supervisor,) = (
        pid for pid, command in processes_with(marker).items() if "supervisor.py" in command
    )
    return supervisor


def wait_until_gone(marker: str) -> None:
    """Wait for the end of all processes that have a word in their command.

    Raises:
        AssertionError: some are still there after a long time.
    """
    _wait_for(marker, 0)


def wait_until_there(marker: str, number: int) -> dict[int, str]:
    """Wait until so many processes have a word in their command.

    Raises:
        AssertionError: there are not so many after a long time.
    """
    return _wait_for(marker, number)


def _wait_for(marker: str, number: int) -> dict[int, str]:
    deadline = time.monotonic() + DEADLINE
    while len(found := processes_with(marker)) != number:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found
