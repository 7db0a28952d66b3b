"""Start a command in a process group of its own, and end the group when the parent ends.

Run as a file by `python -I -S`, so that it imports little and starts in a few milliseconds:

    supervisor.py PARENT GRACE STOP_TIMEOUT COMMAND [ARGUMENT …]

`PARENT` is the process id of the parent. When the parent has ended, or on SIGTERM, SIGINT or
SIGHUP, the command has `GRACE` seconds to exit by itself. Then it gets SIGTERM, and `STOP_TIMEOUT`
seconds later it is killed. On SIGUSR1 it is killed at once. The command gets the standard input,
output and error of this process.

The supervisor ends as the command ends: with its exit status, or by the same signal; with 127 if it
could not be started.

The processes that the command leaves behind are killed, including those that left its group. On
Linux these are all processes. Elsewhere `ps` finds a process that left the group only while its
parent lives, or while it is in the session of the supervisor. A process in its own session whose
parent ended by itself survives.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import time

PARENT_CHECK = 0.5
"""The seconds between two checks whether the parent still lives."""
KILLING = 5.0
"""The seconds after which to give up on processes that cannot be killed."""
# `PR_SET_CHILD_SUBREAPER` of Linux: orphans below this process become its children, not those
# of process 1.
SUBREAPER = 36


IS_LINUX = sys.platform.startswith("linux")


class Supervisor:
    """Starts a command with the standard streams of this process, and then closes its own.

    Args:
        parent: the id of the parent process.
        command: the command and its arguments.
    """

    def __init__(self, parent: int, command: list[str]) -> None:
        self.parent = parent
        self.status: int | None = None
        self._told_to_end = False
        self._at_once = False
        self._left_group: set[tuple[str, ...]] = set()
        # A signal writes to the pipe, so that select() wakes up without a race.
        self._wakeup, wakeup = os.pipe()
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
            signal.signal(number, self._end)
        # Without a handler SIGCHLD would not wake up select().
        signal.signal(signal.SIGCHLD, lambda *_: None)
        # The parent may block some signals.
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _adopt_orphans()
        # Python ignores SIGPIPE, and would hand that on.
        default = [signal.SIGPIPE, signal.SIGXFSZ]
        self.group = os.posix_spawnp(
            command[0],
            command,
            os.environ,
            setpgroup=0,
            setsigmask=[],
            setsigdef=default,
        )
        # The pipes must end when the command closes them.
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

    def _end(self, number: int, _: object) -> None:
        self._told_to_end = True
        self._at_once = self._at_once or number == signal.SIGUSR1

    def watch(self, grace: float, stop_timeout: float) -> int:
        """Wait for the end of the command, or end it.

        Args:
            grace: the seconds to end by itself.
            stop_timeout: the seconds to end after SIGTERM.

        Returns:
            The exit status, negative for a signal.
        """
        self._wait(None)
        if not IS_LINUX:
            # Later orphans cannot be found any more.
            self._left_group = _list_descendants()
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
        """Wait until the command has ended, for at most some seconds.

        None waits until the command must be ended.
        """
        if seconds is None:
            deadline = None
        else:
            deadline = time.monotonic() + seconds
        self._reap()
        while self.status is None and not self._at_once:
            if deadline is None:
                left = PARENT_CHECK
                # The parent's children get another parent when it has ended.
                if self._told_to_end or os.getppid() != self.parent:
                    return
            else:
                left = deadline - time.monotonic()
                if left <= 0:
                    return
            if select.select([self._wakeup], [], [], left)[0]:
                os.read(self._wakeup, 100)
            self._reap()

    def _reap(self, block: bool = False) -> None:
        options = 0 if block else os.WNOHANG
        with contextlib.suppress(ChildProcessError):
            while self.status is None:
                # Any child: adopted orphans must be reaped too.
                process, status = os.waitpid(-1, options)
                if process == 0:
                    return
                if process == self.group:
                    self.status = os.waitstatus_to_exitcode(status)

    def _signal(self, number: int) -> None:
        # No process is left; macOS raises PermissionError if all are dead.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)


def _adopt_orphans() -> None:
    """Become the parent of processes that the command leaves behind, if the system supports it."""
    if IS_LINUX:
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def _kill_children() -> None:
    """Kill the processes that left the group of the command, and their child processes."""
    deadline = time.monotonic() + KILLING
    # Again and again, because the children of a killed process become children of this one.
    while time.monotonic() < deadline:
        children = _list_children()
        if not children:
            return
        for child in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(child, signal.SIGKILL)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.001)


def _list_children() -> list[int]:
    """Return the children of this process; on Linux orphans are among them."""
    if not IS_LINUX:
        return []
    children = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        # The process may have ended by now.
        with contextlib.suppress(OSError):
            path = f"/proc/{process}/stat"
            with open(path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            # The name is in parentheses and may contain any; state and parent follow.
            _, parent, *_ = text.rpartition(")")[2].split()
            if int(parent) == os.getpid():
                children.append(int(process))
    return children


def _processes() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return the parent and the identity (id and start time) of each process, by its id."""
    # Imported here, because Linux does not need it and it takes milliseconds.
    import subprocess

    command = ["ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "lstart="]
    try:
        result = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=KILLING,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    processes = {}
    for line in result.stdout.splitlines():
        pid, parent, *started = line.split()
        processes[pid] = (parent, (pid, *started))
    return processes


def _list_descendants() -> set[tuple[str, ...]]:
    """Return the identities of all processes below this one.

    Processes of its session that lost their parent are among them.
    """
    processes = _processes()
    own = str(os.getpid())
    family = {own}
    family.update(pid for pid in processes if _get_session_id(pid) == os.getsid(0))
    size = 0
    # Until no process has a parent in the family that was not seen before.
    while size < len(family):
        size = len(family)
        family.update(pid for pid, (parent, _) in processes.items() if parent in family)
    identities = set()
    for pid, (_, identity) in processes.items():
        if pid in family and pid != own:
            identities.add(identity)
    return identities


def _get_session_id(pid: str) -> int | None:
    """Return the session of a process, or None if it has ended or belongs to another user."""
    try:
        return os.getsid(int(pid))
    except OSError:
        return None


def _kill(identities: set[tuple[str, ...]]) -> None:
    """Kill the processes that still have these identities: an id may be in use again."""
    if not identities:
        return
    for pid, (_, identity) in _processes().items():
        if identity in identities:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(int(pid), signal.SIGKILL)


def _end_alike(status: int) -> None:
    """End with the exit status or the signal of the command."""
    if status < 0:
        import resource

        # The command has written its own core file.
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
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
