"""Run a command to its end without leaving processes behind."""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

from llm_mock.support.time_limit import run_uninterrupted


def run_process(
    words: Sequence[str],
    stdin: bytes | None,
    timeout: float,
    folder: Path,
    environment: Mapping[str, str] | None,
) -> subprocess.CompletedProcess[bytes]:
    """Run a command to its end; if interrupted, kill it and all processes that it started."""

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=environment,
            # A separate process group, so that `_kill` reaches the command's child processes.
            start_new_session=True,
        )

    return run_uninterrupted(partial(_run_to_end, start, stdin, timeout))


def _run_to_end(
    start: Callable[[], subprocess.Popen[bytes]],
    stdin: bytes | None,
    timeout: float,
) -> subprocess.CompletedProcess[bytes]:
    # At the end of the program, `_kill_all` waits for commands that are starting in threads.
    with _start_lock:
        process = start()
        _running_processes.add(process)
    with process:
        # Checked after adding it, because `_kill_all` may already have ended in another thread.
        if _State.is_ending:
            _kill(process)
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except BaseException:
            _kill(process)
            raise
        finally:
            _running_processes.discard(process)
    return subprocess.CompletedProcess(process.args, process.returncode, stdout, stderr)


# Reentrant, because a signal may end the program while a command starts.
_start_lock = threading.RLock()
_running_processes: set[subprocess.Popen[bytes]] = set()
"""The running commands. After Ctrl-C, commands of other threads still run."""


class _State:
    is_ending = False
    """Whether this process is ending, so that new commands must be killed immediately."""


@atexit.register
def _kill_all() -> None:
    with _start_lock:
        _State.is_ending = True
        # Killing changes the set in other threads, so iterate over a copy.
        running = list(_running_processes)
    for process in running:
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a command and all processes that it started."""
    if sys.platform != "win32":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
