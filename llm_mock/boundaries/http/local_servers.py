"""Find out whether this test run started the server at a port of this machine.

Imported when an SDK first calls this machine. The check runs when the call is made, because the
server may have stopped at the end of the test. It needs /proc, or psutil on other systems.
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
"""The variable in the initial environment of every process that a test starts."""
CACHE_SECONDS = 1.0
"""The time for which a result is reused, as an SDK often calls a server many times in a row."""

_cache: dict[int, tuple[float, bool | None]] = {}
"""The results by port, with their times."""


def is_foreign(port: int, if_unknown: bool = False) -> bool | None:
    """Return True if the server at a port was not started by this run; None without a server.

    The servers of the run are those of this process, of the process of the run, and of all
    processes below that one.

    Args:
        port: the port.
        if_unknown: the result if the owner cannot be found out.
    """
    now = time.monotonic()
    cached_at, foreign = _cache.get(port, (-CACHE_SECONDS, None))
    if now - cached_at < CACHE_SECONDS:
        return foreign
    has_proc = (PROC / "net/tcp").exists()
    if has_proc:
        foreign = _is_foreign_by_proc(port)
    else:
        foreign = _is_foreign_by_psutil(port, if_unknown)
    # Not cached if there is no server, as one may start at any moment.
    if foreign is not None:
        _cache[port] = now, foreign
    return foreign


def _is_foreign_by_proc(port: int) -> bool | None:
    sockets = {f"socket:[{inode}]" for inode in _list_listening_inodes(port)}
    if not sockets:
        return None
    # Check this process first: it is cheap, and most servers of tests run here.
    if _has_socket(os.getpid(), sockets):
        return False
    return not any(_has_socket(process, sockets) for process in _list_run_processes())


def _list_listening_inodes(port: int) -> Iterator[str]:
    """Yield the inodes of the sockets that listen at a port."""
    for name in ("tcp", "tcp6"):
        # A system may have one of the two only.
        with suppress(OSError):
            table = (PROC / "net" / name).read_text()
            for line in table.splitlines()[1:]:
                fields = line.split()
                local_port = int(fields[1].rpartition(":")[2], 16)
                if fields[3] == LISTENING and local_port == port:
                    yield fields[9]


def _has_socket(process: int, sockets: set[str]) -> bool:
    """Return True if a process has one of some sockets open."""
    folder = PROC / str(process) / "fd"
    try:
        descriptors = os.listdir(folder)
    except OSError:
        # The process has ended, or belongs to another user.
        return False
    for descriptor in descriptors:
        with suppress(OSError):
            if os.readlink(folder / descriptor) in sockets:
                return True
    return False


def _list_run_processes() -> list[int]:
    """Return the process of the run and all processes below it."""
    parents = dict(_read_parents())
    root = os.getpid()
    while parents.get(root, 0) > 1 and _was_started_by_test(root):
        root = parents[root]
    # With xdist, the process of the run is the controller, as no test starts a worker.
    if "PYTEST_XDIST_WORKER" in os.environ and parents.get(root, 0) > 1:
        root = parents[root]
    processes = [root]
    # The list grows during the loop, until it contains all child processes.
    for process in processes:
        processes += [child for child, parent in parents.items() if parent == process]
    return processes


def _read_parents() -> Iterator[tuple[int, int]]:
    """Yield each process with its parent."""
    for name in os.listdir(PROC):
        if name.isdigit():
            # A process may end at any moment.
            with suppress(OSError, LookupError, ValueError):
                status = (PROC / name / "stat").read_text()
                # The program name is in parentheses, and may contain spaces and parentheses.
                yield int(name), int(status.rpartition(")")[2].split()[1])


def _was_started_by_test(process: int) -> bool:
    try:
        environment = (PROC / str(process) / "environ").read_bytes()
    except OSError:
        return False
    return any(variable.startswith(TEST_VARIABLE) for variable in environment.split(b"\0"))


def _is_foreign_by_psutil(port: int, if_unknown: bool) -> bool | None:
    try:
        # Not a dependency of the package: used if the project has it.
        psutil: Any = importlib.import_module("psutil")
    except ImportError:
        return if_unknown
    process = psutil.Process()
    if "PYTEST_XDIST_WORKER" in os.environ:
        process = process.parent() or process
    for each in (process, *process.children(recursive=True)):
        # A process may have ended, or belong to another user.
        with suppress(psutil.Error):
            for connection in each.net_connections("tcp"):
                if connection.status == psutil.CONN_LISTEN and connection.laddr.port == port:
                    return False
    return True
