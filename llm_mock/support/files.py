"""Reading and writing files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
import time
from pathlib import Path

from llm_mock.support.leftovers import hold, remove_leftovers

PAUSES = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5)
"""Seconds between attempts to replace a file on Windows, which refuses that while another process
reads it."""
LARGEST_FILE = 20_000_000
"""How many bytes a file may have that a person wrote: a suite, a role, a test, and what they
name."""


def read_file(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """The content of a regular file.

    Raises:
        OSError: it cannot be read, is larger, or is no file with an end, such as a pipe, which may
            never come to one.
    """
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file, but a pipe or a device")
        if status.st_size > largest:
            raise OSError(errno.EFBIG, f"it is larger than {largest // 1_000_000:,} MB")
        return file.read(status.st_size)


def _open_without_waiting(path: str, flags: int) -> int:
    return os.open(
        path, flags | getattr(os, "O_NONBLOCK", 0)
    )  # else a pipe waits for who writes into it


def write_atomically(
    path: Path, content: str | bytes, mode: int = 0o666, durable: bool = True
) -> None:
    """Write a file so that at any moment it is the old one or the whole new one; missing folders
    are made.

    Where that fails, an old file is as it was. The umask of the process takes away from `mode`.
    With `durable` the machine may fail right afterwards: to wait for the disk takes milliseconds.
    What a process left that was killed while it wrote this file is removed then, too.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    data = content if isinstance(content, bytes) else content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    start = f".{_cut(path.name)}."
    if durable:
        remove_leftovers(path.parent, start, r"\d+-\d+")
    temporary = path.with_name(f"{start}{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "xb", opener=lambda name, flags: _made(name, flags, mode)) as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        _replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _replace(temporary: Path, path: Path) -> None:
    """Move a file over another one."""
    for pause in PAUSES if sys.platform == "win32" else ():
        with contextlib.suppress(PermissionError):
            os.replace(temporary, path)
            return
        time.sleep(pause)
    os.replace(temporary, path)


def _made(name: str, flags: int, mode: int) -> int:
    while True:
        descriptor = os.open(name, flags, mode)
        if hold(descriptor, name):
            return descriptor
        os.close(descriptor)


def check_writable(path: Path) -> None:
    """Raise an OSError before a run if a file cannot be written after it; missing folders are
    made."""
    if path.is_dir():
        raise IsADirectoryError("it is a folder")
    probe = path.with_name(f".{_cut(path.name)}.probe")
    write_atomically(probe, "", durable=False)
    probe.unlink()


def _cut(name: str) -> str:
    """The beginning of a name, so that something may be added: 255 bytes are the most that a file
    system takes."""
    return name.encode()[:60].decode(errors="ignore")
