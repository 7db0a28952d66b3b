"""Runs of `llm-mock test` that stop early: interrupted or out of money."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock, Reply
from llm_mock.suites import target_client
from llm_mock.suites.target_client import TargetError
from llm_mock.support import processes
from tests.agents.processes import processes_with, wait_until_gone
from tests.suites.cases import EXAMPLES
from tests.suites.conftest import HEAD, PASSING, ROLE, SUITE, Project, command_line, statuses

MODEL = "gpt-4o-mini"


# What it may cost


def priced(mock: LLMMock) -> None:
    """Each answer costs a dollar."""
    mock.set(MODEL, Reply("Hello 1", usage={"input_tokens": 1, "output_tokens": 0}))
    mock.set_price(MODEL, 1_000_000, 0)


def test_when_the_money_is_spent_the_rest_is_not_run(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    priced(mock_llm_responses)
    result = project.test("--max-cost", "2", "-o", "out.json")
    assert result.exit_code == 1
    assert list(statuses(result.stdout)) == ["says-hello", "no-errors"]
    assert (
        "Stopped: the cases cost $2.00, and max_cost is $2.00\n2/2 passed, 1 not run ✗ Some"
        in result.stdout
    )
    (suite,) = json.loads(Path("out.json").read_text())["suites"]
    assert [case["status"] for case in suite["cases"]] == ["passed", "passed", "not run"]
    assert len(mock_llm_responses.calls) == 2


def test_suites_share_the_money(project: Project, mock_llm_responses: LLMMock) -> None:
    priced(mock_llm_responses)
    project.write("more.yaml", SUITE)
    result = project.test("-s", "more.yaml", "--max-cost", "4")
    assert [line for line in result.stdout.splitlines() if " passed" in line] == [
        "3/3 passed ✓ All tests passed",
        "1/1 passed, 2 not run ✗ Some tests were not run",
    ]


def test_a_limit_without_a_known_price_is_an_error(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("mystery", "Hello 1")
    result = project.test("--model", "mystery", "--max-cost", "1")
    assert result.exit_code == 1
    assert "the price of the model 'mystery' is unknown" in result.stderr


# Interrupts


def test_after_an_interrupt_the_command_tells_how_far_it_came_and_writes_what_there_is(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hello 1")
    project.write("checks.py", "def interrupts(output): raise KeyboardInterrupt\n")
    check = "{type: python, function: 'checks.py:interrupts'}"
    project.write("tests.yaml", PASSING.replace("{type: regex, pattern: '\\d+'}", check))
    result = project.test("-o", "out.json", "-j", "1")
    assert result.exit_code == 130
    assert result.stderr == "Interrupted: 2 of 3 cases are done.\n"
    (suite,) = json.loads(Path("out.json").read_text())["suites"]
    assert [case["status"] for case in suite["cases"]] == ["passed", "passed", "not run"]


def test_a_dry_run_leaves_nothing_behind(project: Project) -> None:
    project.dry()
    assert sorted(path.name for path in project.path.iterdir()) == ["role.yaml", "tests.yaml"]


WAITS_FOR_A_SUITE = """
import runpy, sys

def wait(event, arguments):
    if event == "open" and str(arguments[0]).endswith("tests.yaml"):
        print("reading", flush=True)
        sys.stdin.read()

sys.addaudithook(wait)
runpy.run_module("llm_mock", run_name="__main__")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
def test_ctrl_c_while_a_suite_is_read_ends_the_command_quietly(
    project: Project, process_environment: dict[str, str]
) -> None:
    arguments = ["test", "role.yaml", "-s", "tests.yaml", "--dry-run"]
    command = [sys.executable, "-c", WAITS_FOR_A_SUITE, *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=process_environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        assert process.stdout.readline() == "reading\n"
        process.send_signal(signal.SIGINT)
        errors = process.communicate(timeout=60)[1]
    assert (process.returncode, errors) == (130, "\n")


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
def test_ctrl_c_ends_the_servers_too(
    project: Project, process_environment: dict[str, str], tmp_path: Path
) -> None:
    marker = f"interrupted-{os.getpid()}-{tmp_path.name}"
    code = f"import runpy; runpy.run_module('bank.server', run_name='__main__') # {marker}"
    server = f"  tools: [{{type: mcp, command: python, args: [-c, {json.dumps(code)}], cwd: '{EXAMPLES}'}}]\n"  # noqa: E501
    project.write("role.yaml", ROLE + server)
    project.write(
        "checks.py",
        "import sys\ndef waits(output):\n    print('waiting', flush=True)\n    sys.stdin.read()\n",
    )
    project.write_cases(
        "  - {name: a, prompt: Hi}\n"
        "  - {name: b, prompt: Hi, assertions: [{type: python, function: 'checks.py:waits'}]}\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = command_line("test", "role.yaml", "-s", "tests.yaml", "--dry-run")
    with subprocess.Popen(command, env=process_environment, text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            assert [process.stdout.readline() for _ in range(2)][1] == "waiting\n"
            assert processes_with(marker)
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "Interrupted: 1 of 2 cases are done.\n")
    wait_until_gone(marker)


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
@pytest.mark.parametrize("timeout", ["", "defaults: {timeout: 300}\n"])
def test_ctrl_c_ends_the_commands_of_all_threads(
    project: Project, process_environment: dict[str, str], tmp_path: Path, timeout: str
) -> None:
    marker = f"interrupted-{os.getpid()}-{tmp_path.name}"
    os.mkfifo("started")
    words = json.dumps(["sh", "-c", f"cat; echo up > started; sleep 600 # {marker}"])
    cases = "cases: [{name: a, prompt: Hi}, {name: b, prompt: Hi}]\n"
    project.write(
        "tests.yaml",
        HEAD.replace("cases:\n", "") + f"target: {{command: {words}}}\n{timeout}{cases}",
    )
    command = command_line("test", "-s", "tests.yaml", "--dry-run", "-j", "2")
    # Opened for writing too: a pipe that a reader closes loses what the second command wrote.
    with (
        open("started", "r+b", buffering=0) as started,
        subprocess.Popen(
            command, env=process_environment, stdout=subprocess.PIPE, text=True
        ) as process,
    ):
        try:
            assert [started.readline() for _ in range(2)] == [b"up\n"] * 2
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130
    wait_until_gone(marker)


@pytest.mark.skipif(sys.platform == "win32", reason="the command is a POSIX one")
def test_a_command_that_starts_while_the_run_ends_is_killed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    popen = subprocess.Popen

    def start_while_the_run_ends(*args: Any, **kwargs: Any) -> subprocess.Popen[bytes]:
        process = popen(*args, **kwargs)
        processes._kill_all()
        return process

    monkeypatch.setattr(processes._State, "is_ending", False)
    monkeypatch.setattr(subprocess, "Popen", start_while_the_run_ends)
    with pytest.raises(TargetError, match="SIGKILL"):
        target_client.run_command(["sleep", "600"], "Hi", tmp_path, timeout=9, environment=None)
