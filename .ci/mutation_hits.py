"""Notes which blocks of the package a process executes; it runs before any of them.

`mutation_blocks` gives each block a number, and adds a call of `note_block`.
"""

from __future__ import annotations

import atexit
import builtins
import marshal
import os
from typing import NoReturn

FOLDER = os.environ.get("MUTATION_HITS", "")
"""Where each process writes; empty outside of a measured run. Tests may change the environment."""

blocks: set[int] = set()
"""The blocks that ran under the current name."""
current_test = os.environ.get("MUTATION_TEST", "")
exit_process = os._exit


def switch_test(name: str) -> None:
    """Write the blocks that ran until now, and note those that follow under a name."""
    global current_test
    numbers = blocks.copy()
    blocks.clear()
    if numbers and FOLDER:
        with open(f"{FOLDER}/{os.getpid()}", "ab") as file:
            marshal.dump((current_test, sorted(numbers)), file)
    current_test = name


def write_and_exit(status: int) -> NoReturn:
    """End the process at once, as `os._exit` does, but not without its blocks."""
    switch_test("")
    exit_process(status)


builtins.note_block = blocks.add  # type: ignore[attr-defined]
os._exit = write_and_exit
os.register_at_fork(after_in_child=blocks.clear)
atexit.register(switch_test, "")
