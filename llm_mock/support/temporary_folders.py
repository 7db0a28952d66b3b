"""Temporary folders that are removed even after a crash."""

from __future__ import annotations

import functools
import os
import shutil
import sys
import tempfile
import weakref
from pathlib import Path

from llm_mock.errors import LLMMockError
from llm_mock.support.stale_files import hold, remove_leftovers

START = "llm-mock-"
REST = r"(shared|tools|user)-\w{8}"
"""A pattern for the rest of the names: the purpose and the suffix of `tempfile`."""


class TemporaryFolder:
    """A new folder that is removed with the object, or at the end of the process.

    If the process is killed, a later process removes it.

    Args:
        purpose: the purpose, one of those in `REST`.

    Raises:
        LLMMockError: no folder can be created.
    """

    def __init__(self, purpose: str) -> None:
        __tracebackhide__ = True
        try:
            _remove_old_folders()
            self.path, descriptor = _create_folder(purpose)
        except OSError as error:
            raise LLMMockError(
                f"Cannot create a temporary folder: {error}. Set the environment variable TMPDIR "
                "to a writable folder, or free disk space."
            ) from None
        self.remove = weakref.finalize(self, _remove, self.path, descriptor, os.getpid())
        """The function that removes the folder, once."""

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *exc_info: object) -> None:
        self.remove()


@functools.cache
def _remove_old_folders() -> None:
    remove_leftovers(tempfile.gettempdir(), START, REST)


def _create_folder(purpose: str) -> tuple[Path, int | None]:
    """Create and lock a folder, again if another process removes it before it is locked."""
    while True:
        path = tempfile.mkdtemp(prefix=f"{START}{purpose}-")
        if sys.platform == "win32":  # where a folder cannot be opened
            return Path(path), None
        try:
            descriptor = os.open(path, os.O_RDONLY)
        except FileNotFoundError:
            # The loop ends, because each process cleans up only once. A missing parent folder is
            # an error of `mkdtemp`.
            continue
        if hold(descriptor, path):
            return Path(path), descriptor
        os.close(descriptor)


def _remove(folder: Path, descriptor: int | None, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)
