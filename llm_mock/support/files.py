"""Read and write files."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import threading
import time
from pathlib import Path

from llm_mock.support.stale_files import hold, remove_leftovers

LONGEST_START = 60
"""The number of bytes of a file's name to keep in the names of its temporary files."""
PAUSES = (0.001, 0.01, 0.05, 0.1, 0.3, 0.5)
"""Seconds between attempts to replace a file on Windows, which fails while another process reads
it."""
LARGEST_FILE = 20_000_000
"""The maximum size of a hand-written file, such as a suite, in bytes."""


def read_file(path: Path, largest: int = LARGEST_FILE) -> bytes:
    """Return the content of a regular file.

    Raises:
        OSError: it cannot be read, is larger, or is a pipe or a device, which may never end.
    """
    with open(path, "rb", opener=_open_without_waiting) as file:
        status = os.fstat(file.fileno())
        size = status.st_size
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file, but a pipe or a device")
        if size > largest:
            megabytes = largest // 1_000_000
            raise OSError(errno.EFBIG, f"it is larger than {megabytes:,} MB")
        return file.read(size)


def _open_without_waiting(path: str, flags: int) -> int:
    # Opening a pipe waits for a writing process. Windows has neither such pipes nor the flag.
    without_waiting = getattr(os, "O_NONBLOCK", 0)
    return os.open(path, flags | without_waiting)


def write_atomically(
    path: Path, content: str | bytes, mode: int = 0o666, durable: bool = True
) -> None:
    """Write a file so that readers see either the old or the whole new content.

    Missing folders are created. If writing fails, the old file is unchanged.

    Args:
        path: the file.
        content: its new content.
        mode: its permissions, before the umask of the process is applied.
        durable: whether to wait for the disk, which takes milliseconds, and to remove temporary
            files of killed processes.
    """
    # The target of a link is replaced, not the link.
    path = Path(os.path.realpath(path))
    if isinstance(content, bytes):
        data = content
    else:
        data = content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    start = f".{_cut_name(path.name)}."
    if durable:
        remove_leftovers(path.parent, start, r"\d+-\d+")
    temporary = path.with_name(f"{start}{os.getpid()}-{threading.get_ident()}")
    try:
        with open(
            temporary, "xb", opener=lambda name, flags: _open_locked(name, flags, mode)
        ) as file:
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
    """Replace a file with another one; on Windows, retry while a process reads the file."""
    for pause in PAUSES if sys.platform == "win32" else ():
        with contextlib.suppress(PermissionError):
            os.replace(temporary, path)
            return
        time.sleep(pause)
    os.replace(temporary, path)


def _open_locked(name: str, flags: int, mode: int) -> int:
    # Another process may remove a new file before it is locked.
    while True:
        descriptor = os.open(name, flags, mode)
        if hold(descriptor, name):
            return descriptor
        os.close(descriptor)


def check_writable(path: Path) -> None:
    """Raise an OSError if a file cannot be written; missing folders are created.

    Called before a run, so that its result is not lost.
    """
    if path.is_dir():
        raise IsADirectoryError("it is a folder")
    probe = path.with_name(f".{_cut_name(path.name)}.probe")
    write_atomically(probe, "", durable=False)
    probe.unlink()


def _cut_name(name: str) -> str:
    """Return the start of a name, because file systems limit names to 255 bytes."""
    start = name.encode()[:LONGEST_START]
    return start.decode(errors="ignore")
