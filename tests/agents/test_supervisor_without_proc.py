"""The supervisor without /proc and subreapers, as on macOS, where it uses `ps`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator

import pytest

from llm_mock.agents import supervisor

from .processes import processes_with, wait_until_gone, wait_until_there

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs signals")

AS_ON_MACOS = """
import builtins, os, runpy, sys
sys.platform = "darwin"
def hidden(function):
    def call(path, *args, **kwargs):
        assert not str(path).startswith("/proc"), "macOS has no /proc"
        return function(path, *args, **kwargs)
    return call
builtins.open, os.listdir = hidden(open), hidden(os.listdir)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
CHILD = "import time; time.sleep(600)"
PARENT = """
import os, subprocess, sys
own_session, mark, ends = sys.argv[1] == "session", sys.argv[2], sys.argv[3] == "ends"
options = {"start_new_session": True} if own_session else {"preexec_fn": os.setpgrp}
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", mark], **options)
if not ends:
    child.wait()
"""


@pytest.fixture
def marker() -> Iterator[str]:
    """Yield a word in the commands of all processes of a test, which are killed after it."""
    word = f"supervised-{uuid.uuid4().hex}"
    yield word
    for pid in processes_with(word):
        os.kill(pid, signal.SIGKILL)


def supervised(marker: str, kind: str, end: str) -> subprocess.Popen[bytes]:
    """Start a command whose child leaves its group, or its session too."""
    command = [sys.executable, "-c", PARENT, kind, marker, end]
    options = [str(os.getpid()), "0.1", "0.1"]
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", AS_ON_MACOS, supervisor.__file__, *options, *command],
        start_new_session=True,
    )


@pytest.mark.parametrize("kind", ["group", "session"])
def test_a_child_that_left_the_group_ends_with_a_command_that_is_ended(
    kind: str, marker: str
) -> None:
    process = supervised(marker, kind, "waits")
    wait_until_there(marker, 3)
    process.send_signal(signal.SIGUSR1)
    process.wait(timeout=20)
    wait_until_gone(marker)


def test_a_child_that_left_the_group_ends_with_a_command_that_ends_by_itself(marker: str) -> None:
    supervised(marker, "group", "ends").wait(timeout=20)
    wait_until_gone(marker)
