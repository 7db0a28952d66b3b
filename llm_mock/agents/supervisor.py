"""A small process that starts a command in a process group of its own, and ends the group when its parent ends.

It is run as a file, by `python -I -S`, so that it imports nothing but what stands here and starts in a few
milliseconds:

    supervisor.py PARENT GRACE STOP_TIMEOUT COMMAND [ARGUMENT …]

`PARENT` is the process id of the parent. When that has ended, or on SIGTERM, SIGINT or SIGHUP, the command has `GRACE`
seconds to end by itself, then `STOP_TIMEOUT` after SIGTERM, then comes SIGKILL. On SIGUSR1 SIGKILL comes at once.
Standard input, output and error are those of the command.

The supervisor ends as the command ends: with its exit status, or by the same signal; with 127 where it could not be
started.

What the command leaves behind in its group is killed, and what left the group, too. On Linux that is complete.
Elsewhere `ps` finds what left the group while its parent lives, or while it is in the session of the supervisor; what
has a session of its own and a parent that ended by itself survives.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

PARENT_CHECK = 0.5
"""Seconds between two looks whether the parent still lives."""
KILLING = 5.0
"""Seconds after which processes that cannot be killed are given up."""
SUBREAPER = 36
"""`PR_SET_CHILD_SUBREAPER` of Linux: orphans below this process become its children, not those of process 1."""


IS_LINUX = sys.platform.startswith("linux")


class Supervisor:
    """Starts a command, with the standard streams of this process, which closes its own."""

    def __init__(self, parent: int, command: list[str]) -> None:
        self.parent = parent
        self.status: int | None = None
        self._told_to_end = False
        self._at_once = False
        self._left_group: set[tuple[str, ...]] = set()
        self._wakeup, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up
        signal.pthread_sigmask(signal.SIG_SETMASK, ())  # the parent may block some
        _adopt_orphans()
        # Python ignores SIGPIPE, and would hand that on.
        default = [signal.SIGPIPE, signal.SIGXFSZ]
        self.group = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigmask=[], setsigdef=default)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

    def _end(self, number: int, _: object) -> None:
        self._told_to_end = True
        self._at_once = self._at_once or number == signal.SIGUSR1

    def watch(self, grace: float, stop_timeout: float) -> int:
        """Wait for the end of the command, or bring it about. Returns its exit status; that of a signal is negative."""
        self._wait(None)
        if not IS_LINUX:
            self._left_group = _descendants()
        self._wait(grace)
        if self.status is None and not self._at_once:
            self._signal(signal.SIGTERM)
            self._wait(stop_timeout)
        self._signal(signal.SIGKILL)
        while self.status is None:
            self._reap(block=True)
        _kill_children()
        _kill(self._left_group)
        return self.status

    def _wait(self, seconds: float | None) -> None:
        """Wait until the command has ended, and at most so many seconds; with None until it is to be ended."""
        deadline = None if seconds is None else time.monotonic() + seconds
        self._reap()
        while self.status is None and not self._at_once:
            left = PARENT_CHECK if deadline is None else deadline - time.monotonic()
            if left <= 0 or (deadline is None and (self._told_to_end or os.getppid() != self.parent)):
                return
            if select.select([self._wakeup], [], [], left)[0]:
                os.read(self._wakeup, 100)
            self._reap()

    def _reap(self, block: bool = False) -> None:
        with contextlib.suppress(ChildProcessError):
            while self.status is None and (ended := os.waitpid(-1, 0 if block else os.WNOHANG))[0]:
                if ended[0] == self.group:
                    self.status = os.waitstatus_to_exitcode(ended[1])

    def _signal(self, number: int) -> None:
        # No process is left; macOS raises the latter where all are dead.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)


def _adopt_orphans() -> None:
    """Become the parent of whatever the command starts and leaves behind, where the system can do that."""
    if IS_LINUX:
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def _kill_children() -> None:
    """Kill what is left below this process: what left the group of the command, and what that has started since."""
    deadline = time.monotonic() + KILLING
    while (children := _children()) and time.monotonic() < deadline:
        for child in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _children() -> list[int]:
    """Return the children of this process; on Linux orphans are among them."""
    if not IS_LINUX:
        return []
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError), open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
            if int(file.read().rpartition(")")[2].split()[1]) == os.getpid():
                found.append(int(process))
    return found


def _processes() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the parent of each process by its id, and what identifies it: its id and the time of its start."""
    import subprocess  # costs milliseconds that Linux need not spend

    command = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "lstart="]
    try:
        listed = subprocess.run(command, capture_output=True, text=True, timeout=KILLING, check=False).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    rows = [line.split() for line in listed.splitlines()]
    return {pid: (parent, (pid, *started)) for pid, parent, *started in rows}


def _descendants() -> set[tuple[str, ...]]:
    """Return what identifies the processes below this one, and those of its session that lost their parent."""
    processes = _processes()
    family = {str(os.getpid())}
    family.update(pid for pid in processes if _session_of(pid) == os.getsid(0))
    found = -1
    while found < len(family):
        found = len(family)
        family.update(pid for pid, (parent, _) in processes.items() if parent in family)
    return {identity for pid, (_, identity) in processes.items() if pid in family and pid != str(os.getpid())}


def _session_of(pid: str) -> int | None:
    """Return the session of a process; None where it has ended or belongs to somebody else."""
    try:
        return os.getsid(int(pid))
    except OSError:
        return None


def _kill(identities: set[tuple[str, ...]]) -> None:
    """Kill processes that still are those that were seen: their ids may be in use again."""
    if not identities:
        return
    for pid, (_, identity) in _processes().items():
        if identity in identities:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)


def _end_alike(status: int) -> None:
    """End as the command ended."""
    if status < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its own
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def main(parent: str, grace: str, stop_timeout: str, *command: str) -> None:
    """Supervise a command; see the head of this file for the arguments."""
    try:
        supervisor = Supervisor(int(parent), [*command])
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)
    _end_alike(supervisor.watch(float(grace), float(stop_timeout)))


if __name__ == "__main__":
    main(*sys.argv[1:])
