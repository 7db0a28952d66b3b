"""What a killed process leaves behind. It is known by its lock: a process that lives holds what it
made.

Where files cannot be locked, as on Windows, nothing is removed.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys


def hold(descriptor: int, path: str | os.PathLike[str]) -> bool:
    """Hold a file or folder that this process has just made, until the descriptor is closed or the
    process ends.

    Returns:
        Whether it is still there: another process may have taken it for left behind before it was
        held.
    """
    if sys.platform != "win32":
        import fcntl

        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
    return os.path.exists(path)


def remove_leftovers(folder: str | os.PathLike[str], start: str, rest: str) -> None:
    """Remove files and folders in a folder that belong to this user, and that no process holds.

    Args:
        folder: where they are.
        start: what their names begin with.
        rest: a regular expression of how their names go on.
    """
    if sys.platform == "win32":
        return
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if not entry.name.startswith(start) or not re.fullmatch(rest, entry.name[len(start) :]):
                continue
            with contextlib.suppress(OSError):  # another process may have removed it meanwhile
                if entry.stat(follow_symlinks=False).st_uid == os.getuid():
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
