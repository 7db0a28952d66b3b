"""Commands leave nothing behind, however the program ends that runs them."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import sys
import threading
from pathlib import Path

from llm_mock.support.processes import run_process

words = ["sh", "-c", 'exec > "$0"; echo started; sleep 40 & sleep 40', sys.argv[1]]
arguments = (words, None, 60, Path("."), None)
threading.Thread(target=run_process, args=arguments, daemon=True).start()
sys.stdin.read()
"""


SEARCH = """
import sys
import threading

from llm_mock.support import processes
from llm_mock.support.patterns import search_pattern
from llm_mock.support.time_limit import run_with_limit

def search():
    run_with_limit(60, lambda: search_pattern("(a+)+$", "a" * 50 + "!"))

threading.Thread(target=search, daemon=True).start()
while not processes._running_processes:
    pass
[process] = processes._running_processes
print(process.pid)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has signals of another kind")
def test_a_search_of_another_thread_ends_with_the_program() -> None:
    command = [sys.executable, "-c", SEARCH]
    program = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    look = ["ps", "-o", "stat=", "-p", program.stdout.strip()]
    for _ in range(500):
        state = subprocess.run(look, capture_output=True, text=True, check=False).stdout
        # Killed, and perhaps not yet reaped by the system.
        if not state or state.startswith("Z"):
            return
    pytest.fail(f"the search goes on: {state}")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes in folders")
def test_a_command_of_another_thread_ends_with_the_program(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with (
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, str(pipe)], stdin=subprocess.PIPE
        ) as program,
        pipe.open("rb", buffering=0) as output,
    ):
        assert output.readline() == b"started\n"
        assert program.stdin is not None
        program.stdin.close()
        # The pipe ends with the last process that has it open.
        ended, _, _ = select.select([output], [], [], 20)
        assert ended
        assert output.read() == b""
    assert program.returncode == 0
