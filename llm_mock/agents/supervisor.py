"""A small process that starts a command in a process group of its own, and ends the group when its parent ends.

It is run as a file, by `python -I -S`, so that it imports nothing but what stands here and starts in a few
milliseconds:

    supervisor.py CONTROL PARENT GRACE STOP_TIMEOUT COMMAND [ARGUMENT …]

`CONTROL` is the number of a file descriptor, the reading end of a pipe. Its end means that the parent has ended or
wants the command to end: the command has `GRACE` seconds to end by itself, then `STOP_TIMEOUT` after SIGTERM, then
comes SIGKILL. A byte in the pipe means SIGKILL at once. `PARENT` is the process id of the parent, which is watched as
well: a process that it forked may have the pipe open. Standard input, output and error are those of the command.

The supervisor ends as the command ends: with its exit status, or by the same signal; with 127 where it could not be
started. What the command leaves behind in its group is killed; on Linux also what left the group.
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
ENDING = ("SIGTERM", "SIGINT", "SIGHUP")
"""The signals on which a supervisor ends its command; by name, as not every system that imports this has them."""


class Supervisor:
    """Supervises one command.

    Args:
        control: the file descriptor at whose end the command is ended.
        parent: the process id of the parent.
        grace: seconds that the command has to end by itself.
        stop_timeout: seconds that it has then, after SIGTERM.
    """

    def __init__(self, control: int, parent: int, grace: float, stop_timeout: float) -> None:
        self.control = control
        self.parent = parent
        self.grace = grace
        self.stop_timeout = stop_timeout
        self.status: int | None = None
        self._wakeup, wakeup = os.pipe()
        os.set_inheritable(control, False)
        os.set_blocking(wakeup, False)
        signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
        self._told_to_end = False
        self._at_once = False
        for name in ENDING:
            signal.signal(signal.Signals[name], self._end)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # only to wake up

    def _end(self, *_: object) -> None:
        self._told_to_end = True

    def start(self, command: list[str]) -> None:
        """Start the command, with the standard streams of this process, which closes its own.

        Raises:
            OSError: it cannot be started.
        """
        _adopt_orphans()
        # Python ignores SIGPIPE, and would hand that on.
        default = [signal.SIGPIPE, signal.SIGXFSZ]
        self.group = os.posix_spawnp(command[0], command, os.environ, setpgroup=0, setsigmask=[], setsigdef=default)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)

    def watch(self) -> int:
        """Wait for the end of the command, or bring it about.

        Returns:
            Its exit status; that of a signal is negative.
        """
        self._wait(None)
        self._wait(self.grace)
        if self.status is None and not self._at_once:
            self._signal(signal.SIGTERM)
            self._wait(self.stop_timeout)
        self._signal(signal.SIGKILL)
        while self.status is None:
            self._reap(block=True)
        _kill_children()
        return self.status

    def _wait(self, seconds: float | None) -> None:
        """Wait until the command has ended, and at most so many seconds; with None until the parent has ended."""
        deadline = None if seconds is None else time.monotonic() + seconds
        sources = [self._wakeup, self.control]
        self._reap()
        while self.status is None and not self._at_once:
            left = PARENT_CHECK if deadline is None else deadline - time.monotonic()
            if left <= 0 or (deadline is None and (self._told_to_end or os.getppid() != self.parent)):
                return
            ready = select.select(sources, [], [], left)[0]
            if self._wakeup in ready:
                os.read(self._wakeup, 100)
            if self.control in ready:
                self._at_once = bool(os.read(self.control, 1))
                self._told_to_end = True
                sources.remove(self.control)  # it has ended, and would always be ready
            self._reap()

    def _reap(self, block: bool = False) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, 0 if block else os.WNOHANG)
            except ChildProcessError:
                return
            if process == self.group:
                self.status = os.waitstatus_to_exitcode(status)
                return
            if process == 0:
                return

    def _signal(self, number: int) -> None:
        # No process is left; macOS raises the latter where all are dead.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)


def _adopt_orphans() -> None:
    """Become the parent of whatever the command starts and leaves behind, where the system can do that."""
    if not sys.platform.startswith("linux"):
        return
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
    """The children of this process, where the system has /proc."""
    found = []
    own = str(os.getpid())
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for process in processes:
        try:
            with open(f"/proc/{process}/stat", encoding="utf-8", errors="replace") as file:
                parent = file.read().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if parent == own:
            found.append(int(process))
    return found


def _end_alike(status: int) -> None:
    """End as the command ended."""
    if status < 0:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the command has left its own
        if -status != signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


def main(arguments: list[str]) -> None:
    """Supervise a command; see the head of this file for the arguments."""
    control, parent, grace, stop_timeout = int(arguments[0]), int(arguments[1]), *map(float, arguments[2:4])
    supervisor = Supervisor(control, parent, grace, stop_timeout)
    try:
        supervisor.start(arguments[4:])
    except OSError as error:
        os.write(2, f"{arguments[4]}: {error.strerror}\n".encode())
        os._exit(127)
    _end_alike(supervisor.watch())


if __name__ == "__main__":
    main(sys.argv[1:])
