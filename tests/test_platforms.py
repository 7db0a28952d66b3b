"""Every module works where Python lacks what only POSIX has, as on Windows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llm_mock.support import files

WITHOUT_POSIX = """
import importlib, json, os, pkgutil, signal, socket, subprocess, sys, traceback, types
import llm_mock

def modules():
    for module in pkgutil.walk_packages(llm_mock.__path__, "llm_mock."):
        if not module.name.endswith("__main__"):
            yield module.name

names = []
for name in modules():  # first as they are: other libraries keep what they found
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.startswith("llm_mock"):
            raise
        continue  # a transport, without its library
    names.append(name)
for name in [name for name in sys.modules if name.partition(".")[0] == "llm_mock"]:
    del sys.modules[name]

subprocess.signal = types.SimpleNamespace(**vars(signal))  # it kills as this system does
for name in ("fcntl", "grp", "pwd", "resource", "termios", "pty"):
    sys.modules[name] = None
for owner, missing in {
    os: "fork getuid geteuid getpgid getpgrp getsid killpg mkfifo register_at_fork "
        "setsid",
    signal: "SIGALRM SIGCHLD SIGHUP SIGKILL SIGPIPE SIGUSR1 SIGXFSZ ITIMER_REAL alarm getitimer setitimer "
        "pthread_sigmask",
    socket: "AF_UNIX",
}.items():
    for name in missing.split():
        if hasattr(owner, name):
            delattr(owner, name)
sys.platform = "win32"
import llm_mock
for name in names:
    importlib.import_module(name)

results = {}
for name, code in json.load(sys.stdin).items():
    try:
        exec(code, {})
        results[name] = "works"
    except BaseException:
        results[name] = traceback.format_exc()
print(json.dumps(results))
"""  # noqa: E501
"""A Python that has imported every module again, after it lost what Windows lacks."""

USES = {
    "a mock answers": """
from llm_mock import create_mock_get_model
assert create_mock_get_model({"m": "Hello"})("m").prompt("Hi").text == "Hello"
""",
    "files are written and folders made": """
from pathlib import Path
from llm_mock.support.files import check_writable, read_file, write_atomically
from llm_mock.support.temporary_folders import TemporaryFolder
with TemporaryFolder("shared") as folder:
    check_writable(folder / "file")
    write_atomically(folder / "file", "one")
    write_atomically(folder / "file", "two")
    assert read_file(folder / "file") == b"two"
assert not folder.exists()
""",
    "a case has a time limit": """
import time
from llm_mock.support.time_limit import CaseTimedOut, run_with_limit
assert run_with_limit(5, lambda: 1) == 1
try:
    run_with_limit(0.01, lambda: [time.sleep(0.001) for _ in range(5000)])
except CaseTimedOut:
    pass
else:
    raise AssertionError("no limit")
""",
    "a target is a command": """
import sys
from pathlib import Path
from llm_mock.suites.target_client import TargetError, run_command
assert run_command([sys.executable, "-c", "print(input())"], "Hi", Path.cwd(), 30, None) == "Hi"
try:
    run_command([sys.executable, "-c", "import time; time.sleep(60)"], "Hi", Path.cwd(), 0.5, None)
except TargetError:
    pass
else:
    raise AssertionError("no limit")
""",
    "the server of tools ends": """
from llm_mock.specs import mcp_server
mcp_server._limit_blocking()
""",
    "a server's command is refused": """
from llm_mock.agents import CLIServer
from llm_mock.agents.supervised_process import SupervisedProcess
from llm_mock.errors import ServerError
try:
    SupervisedProcess(CLIServer("env", ["env"]))
except ServerError as error:
    assert "not supported on Windows" in str(error)
else:
    raise AssertionError("it was started")
""",
    "processes are handed the mock": """
import subprocess, sys
from llm_mock.boundaries import subprocesses
subprocesses.attach()
subprocesses.set_handing_over(True)
assert subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, check=True).stdout.strip() == b"1"
""",  # noqa: E501
}


@pytest.fixture(scope="module")
def results() -> dict[str, str]:
    """Return what came of each use, by its name: "works", or a traceback."""
    environment = {**os.environ, "LLM_MOCK_FOLDER": ""}
    environment.pop("PFLOW_TESTING", None)
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_POSIX],
        env=environment,
        input=json.dumps(USES),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    found: dict[str, str] = json.loads(ended.stdout)
    return found


@pytest.mark.skipif(sys.platform == "win32", reason="it is no simulation there")
@pytest.mark.parametrize("use", USES)
def test_it_works_without_what_only_posix_has(use: str, results: dict[str, str]) -> None:
    assert results[use] == "works"


def test_a_file_that_another_process_reads_is_replaced_on_windows_when_it_is_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace, refusals = os.replace, [PermissionError(13, "in use")] * 3

    def replace_when_closed(*paths: Path) -> None:
        if refusals:
            raise refusals.pop()
        replace(*paths)

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(files.os, "replace", replace_when_closed)
    files.write_atomically(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"


def test_a_file_that_may_not_be_replaced_is_reported_at_once_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts = []

    def refuse(*paths: Path) -> None:
        attempts.append(paths)
        raise PermissionError(13, "not yours")

    monkeypatch.setattr(files.os, "replace", refuse)
    with pytest.raises(PermissionError):
        files.write_atomically(tmp_path / "file", "new")
    assert len(attempts) == 1
    assert not [*tmp_path.iterdir()]
