"""The commands leave their process and the files of the user as they were."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")
pytest.importorskip("mcp")
pytest.importorskip("rich")

from llm_mock.boundaries.subprocesses import set_handing_over
from llm_mock.cli import main
from llm_mock.core.context import activate
from tests.commands.test_import_promptfoo import CONFIGURATION
from tests.commands.test_mcp_server import ROLE, SPEC, SUITE
from tests.commands.test_migrate import APP, OLD
from tests.process_state import StateWatch, assert_nothing_left

TARGET = "target: {command: [cat]}\ncases:"
FUNCTION = "target: {function: 'app.py:ask'}\ncases:"
CHECKED = "{type: python, function: 'checks.py:is_short'}, {type: contains, value: Hello}"
CHECKS = "import words\ndef is_short(output): return len(output) < words.LIMIT\n"
VCR = """
version: 1
interactions:
- request: {method: GET, uri: "https://example.com/", body: "", headers: {}}
  response: {status: {code: 200, message: OK}, headers: {}, body: {string: ""}}
"""
COMMANDS = {
    "a dry run": ["test", "role.yaml", "-s", "suite.yaml", "--dry-run"],
    "a dry run of an application": ["test", "-s", "target.yaml", "--dry-run"],
    "a dry run of a function": ["test", "-s", "function.yaml", "--dry-run"],
    "a dry run with a check of its own": ["test", "role.yaml", "-s", "checked.yaml", "--dry-run"],
    "a run without a key": ["test", "role.yaml", "-s", "suite.yaml"],
    "a run that compares": ["test", "role.yaml", "-s", "suite.yaml", "--dry-run", "-j", "4"],
    "a plain-language test": ["run", "spec.yaml", "--dry-run"],
    "validation": ["validate", "suite.yaml", "spec.yaml"],
    "invalid files": ["validate", "broken.yaml"],
    "a preview of a migration": ["migrate", "test_older.py"],
    "a migration": ["migrate", "--write", "test_old.py"],
    "an import": ["import", "promptfoo.yaml"],
    "an import of nothing": ["import", "vcr.yaml"],
    "an import that fails": ["import", "broken.yaml"],
    "the misbehaviours": ["misbehaviours"],
    "a script that is wrong": ["serve", "broken.yaml"],
}
# What the command writes is the same, and pytest does not run the tests three times.
FIRST_COMMANDS = {"a migration": ["migrate", "--write", "--no-verify", "test_old.py"]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder with the files of a project, in which the user's folders are, too."""
    files = {
        "role.yaml": ROLE,
        "suite.yaml": SUITE,
        "target.yaml": SUITE.replace("cases:", TARGET),
        "function.yaml": SUITE.replace("cases:", FUNCTION),
        "checked.yaml": SUITE.replace("{type: contains, value: Hello}", CHECKED),
        "checks.py": CHECKS,
        "words.py": "LIMIT = 90\n",
        "spec.yaml": SPEC,
        "broken.yaml": "a: [",
        "vcr.yaml": VCR,
        "promptfoo.yaml": CONFIGURATION,
        "app.py": APP,
        "test_old.py": OLD,
        "test_older.py": OLD,
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for name, variable in {"home": "HOME", "llm": "LLM_USER_PATH", "tmp": "TMPDIR"}.items():
        (tmp_path / name).mkdir()
        monkeypatch.setenv(variable, str(tmp_path / name))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.chdir(tmp_path)
    # As in a process of its own, where nothing is mocked.
    monkeypatch.delenv("PFLOW_TESTING")
    previous, was_handing_over = activate(None), set_handing_over(False)
    yield tmp_path
    activate(previous)
    set_handing_over(was_handing_over)


@pytest.mark.own_process
def test_no_command_leaves_anything_behind(project: Path) -> None:
    leftovers: list[str] = []
    for arguments in (COMMANDS | FIRST_COMMANDS).values():
        CliRunner().invoke(main, arguments)  # which imports and caches what stays for the process
    watch = StateWatch(project)
    for name, arguments in COMMANDS.items():
        result = CliRunner().invoke(main, arguments)
        assert isinstance(result.exception, SystemExit | None)
        leftovers += [f"{name}: {change}" for change in watch.take_changes()]
    assert_nothing_left(leftovers)


def list_times(folder: Path) -> dict[Path, int]:
    """Return when each file below a folder was written."""
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def use_server(process: subprocess.Popen[bytes], stop: signal.Signals) -> bytes:
    """Ask `llm-mock serve`, stop it by a signal, and return what it answered."""
    assert process.stdout is not None
    url = process.stdout.readline().split()[1].decode() + "/chat/completions"
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as response:
        answer: bytes = response.read()
    process.send_signal(stop)
    process.communicate(timeout=20)
    return answer


def use_mcp_server(process: subprocess.Popen[bytes], stop: signal.Signals | None) -> bytes:
    """Run a suite and a plain-language test by `llm-mock mcp`, stop it, and return its answers."""
    assert process.stdin is not None
    assert process.stdout is not None
    client = {"name": "test", "version": "1"}
    start = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
    paths: list[dict[str, str]] = [
        {"path": "suite.yaml", "role": "role.yaml"},
        {"path": "spec.yaml"},
    ]
    messages: list[dict[str, object]] = [
        {"id": 0, "method": "initialize", "params": start},
        {"method": "notifications/initialized"},
        *(
            {
                "id": number,
                "method": "tools/call",
                "params": {"name": "dry_run", "arguments": arguments},
            }
            for number, arguments in enumerate(paths, 1)
        ),
    ]
    for message in messages:
        process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    process.stdin.flush()
    answers = b"".join(process.stdout.readline() for _ in range(3))
    if stop is not None:
        process.send_signal(stop)
    process.stdin.close()
    process.wait(timeout=20)
    return answers


LONG_COMMANDS: dict[str, tuple[list[str], Callable[[subprocess.Popen[bytes]], bytes], bytes]] = {
    "a server, Ctrl-C": (
        ["serve"],
        lambda process: use_server(process, signal.SIGINT),
        b"chat.completion",
    ),
    "a server, terminated": (
        ["serve"],
        lambda process: use_server(process, signal.SIGTERM),
        b"chat.completion",
    ),
    "an MCP server, its client gone": (
        ["mcp"],
        lambda process: use_mcp_server(process, None),
        b"passed",
    ),
    "an MCP server, terminated": (
        ["mcp"],
        lambda process: use_mcp_server(process, signal.SIGTERM),
        b"passed",
    ),
}


@pytest.mark.parametrize("case", LONG_COMMANDS)
def test_a_command_that_runs_until_it_is_stopped_leaves_nothing_behind(
    case: str, project: Path
) -> None:
    arguments, use, expected = LONG_COMMANDS[case]
    files = list_times(project)
    command = [sys.executable, "-m", "llm_mock", *arguments]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert expected in use(process)
            with pytest.raises(ProcessLookupError):
                os.killpg(process.pid, 0)  # its session has no other process
        finally:
            process.kill()
    assert list_times(project) == files
