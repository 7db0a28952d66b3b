"""Remove files and folders of killed processes, on which no process holds a lock any more.

Without file locks, as on Windows, nothing is removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys


def hold(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Lock a new file or folder until the descriptor is closed or the process ends.

    Returns:
        Whether it still exists. Another process may have removed it before it was locked.
    """
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
    return os.path.exists(path)


def remove_leftovers(folder: str | os.PathLike[str], start: str, rest: str) -> None:
    """Remove unlocked files and folders of this user from a folder.

    Args:
        folder: the folder.
        start: the start of their names.
        rest: a regular expression for the rest of their names.
    """
    if sys.platform == "win32":
        return
    name = re.compile(f"{re.escape(start)}(?:{rest})")
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not name.fullmatch(entry.name):
                continue
            # Another process may have removed it already.
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if status.st_uid == os.getuid():
                    _remove_unless_held(entry.path)


def _remove_unless_held(path: str) -> None:
    if sys.platform == "win32":
        return
    import fcntl

    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.path.isdir(path):
                shutil.rmtree(path, ignore_errors=True)
            else:
                os.unlink(path)
        finally:
            os.close(descriptor)
