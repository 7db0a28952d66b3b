"""Find out whether this test run started the server at a port of this machine.

Imported when an SDK first asks this machine. Asked when the call is made, because a server may be gone when its test
ends. It needs /proc, or psutil where there is none.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

PROC = Path("/proc")
LISTENING = "0A"
"""The state of a listening socket in /proc/net/tcp."""
TEST_VARIABLE = b"PYTEST_CURRENT_TEST="
"""Is in the first environment of every process that a test started."""
TRUSTED_SECONDS = 1.0
"""How long what was found for a port holds: an SDK asks a server many times in a row."""

_found: dict[int, tuple[float, bool | None]] = {}


def is_foreign(port: int) -> bool | None:
    """Return True if a server listens at a port that this run did not start; None if none listens.

    A server is the run's own if this process, the process of the run or a process below that one listens. Where it
    cannot be found out the server is taken for the run's own.
    """
    now = time.monotonic()
    found_at, foreign = _found.get(port, (-TRUSTED_SECONDS, None))
    if now - found_at < TRUSTED_SECONDS:
        return foreign
    foreign = (
        _is_foreign_by_proc(port) if (PROC / "net/tcp").exists() else _is_foreign_by_psutil(port)
    )
    if foreign is not None:
        _found[port] = now, foreign
    return foreign


def _is_foreign_by_proc(port: int) -> bool | None:
    inodes = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not inodes:
        return None
    if _has_socket(os.getpid(), inodes):
        return False
    return not any(_has_socket(process, inodes) for process in _list_run_processes())


def _listening_inodes(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen at a port."""
    for name in ("tcp", "tcp6"):
        with suppress(OSError):
            for line in (PROC / "net" / name).read_text().splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rpartition(":")[2], 16) == port:
                    yield fields[9]


def _has_socket(process: int, inodes: set[str]) -> bool:
    """Return True if a process has one of some sockets open."""
    folder = PROC / str(process) / "fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:  # it has ended, or is another user's
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if os.readlink(folder / descriptor) in inodes:
                return True
    return False


def _list_run_processes() -> list[int]:
    """Return the process of the run and all processes below it."""
    parents = dict(_read_parents())
    root = os.getpid()
    while parents.get(root, 0) > 1 and _was_started_by_test(root):
        root = parents[root]
    if "PYTEST_XDIST_WORKER" in os.environ and parents.get(root, 0) > 1:
        root = parents[root]
    run = [root]
    for process in run:  # grows meanwhile
        run += [child for child, parent in parents.items() if parent == process]
    return run


def _read_parents() -> Iterator[tuple[int, int]]:
    """Yield each process with its parent."""
    for name in os.listdir(PROC):
        if name.isdigit():
            with suppress(OSError, ValueError):
                status = (PROC / name / "stat").read_text()
                # The name of the program stands in brackets, and may hold spaces and brackets.
                yield int(name), int(status.rpartition(")")[2].split()[1])


def _was_started_by_test(process: int) -> bool:
    try:
        environment = (PROC / str(process) / "environ").read_bytes()
    except OSError:
        return False
    return any(variable.startswith(TEST_VARIABLE) for variable in environment.split(b"\0"))


def _is_foreign_by_psutil(port: int) -> bool | None:
    try:
        psutil: Any = importlib.import_module("psutil")
    except ImportError:
        return False
    process = psutil.Process()
    if "PYTEST_XDIST_WORKER" in os.environ:
        process = process.parent() or process
    for each in (process, *process.children(recursive=True)):
        with suppress(psutil.Error):
            connections = each.net_connections("tcp")
            if any(
                one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in connections
            ):
                return False
    return True
