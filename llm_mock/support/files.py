"""Writing files."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path


def write_atomically(path: Path, content: str | bytes, mode: int = 0o666, durable: bool = True) -> None:
    """Write a file so that at any moment it is the old one or the whole new one; missing folders are made.

    Where that fails, an old file is as it was. The umask of the process takes away from `mode`. With `durable` the
    machine may fail right afterwards: to wait for the disk takes milliseconds.
    """
    path = Path(os.path.realpath(path))  # a link stays one
    data = content if isinstance(content, bytes) else content.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{_cut(path.name)}.{os.getpid()}-{threading.get_ident()}")
    try:
        with open(temporary, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def check_writable(path: Path) -> None:
    """Raise an OSError before a run if a file cannot be written after it; missing folders are made."""
    if path.is_dir():
        raise IsADirectoryError("it is a folder")
    probe = path.with_name(f".{_cut(path.name)}.probe")
    write_atomically(probe, "", durable=False)
    probe.unlink()


def _cut(name: str) -> str:
    """The beginning of a name, so that something may be added: 255 bytes are the most that a file system takes."""
    return name.encode()[:60].decode(errors="ignore")
