"""The time that a run of a case may take, and what ends it."""

from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock import Reply, ResponseConfigurator, ToolCall
from llm_mock.agents import Agent, CLIServer
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.results import SuiteResult
from llm_mock.support.time_limit import (
    CaseTimedOut,
    get_seconds_left,
    run_uninterrupted,
    run_with_limit,
)
from tests.suites.cases import case, suite
from tests.suites.conftest import Project, statuses

# The timer of pytest-timeout's signal method is the one that these tests look at.
pytestmark = pytest.mark.timeout(300, method="thread")
HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: slow}\n"
APP = """
import time

def answer(prompt):
    while prompt == "loop":
        try:
            sum(range(1000))
        except Exception:
            pass
    if prompt == "sleep":
        time.sleep(600)
    return prompt

def hang(output):
    while True:
        pass

def fine(output):
    return True
"""
BACKTRACKING = "assertions: [{type: regex, pattern: '(a+)+$'}]"
CASES = f"""
target: {{function: app.py:answer}}
defaults: {{timeout: 0.3}}
cases:
  - {{name: loop, prompt: loop}}
  - {{name: check, prompt: Hi, assertions: [{{type: python, function: "app.py:hang"}}]}}
  - {{name: made, prompt: Hi, transform: "app.py:hang"}}
  - {{name: pattern, prompt: {"a" * 40}!, {BACKTRACKING}}}
  - {{name: good, prompt: Hi, assertions: [{{type: regex, pattern: Hi}}, {{type: python, function: "app.py:fine"}}]}}
"""  # noqa: E501


def errors(result: SuiteResult) -> dict[str, str | None]:
    """Return the error of each case, without the folder of the test."""
    return {
        each.case.name: each.error and re.sub(r"\(.*app.py", "(app.py", each.error)
        for each in result.case_results
    }


def ends(pid: Path) -> bool:
    """Return whether the process whose id is in a file ends in time."""
    look = ["ps", "-p", pid.read_text()]
    return any(
        subprocess.run(look, capture_output=True, check=False).returncode == 1 for _ in range(500)
    )


EXPECTED = {
    "loop": "Timed out after 0.3 s, in app.py:answer (app.py:LINE)",
    "check": "Timed out after 0.3 s, in app.py:hang (app.py:LINE)",
    "made": "Timed out after 0.3 s, in the transform app.py:hang (app.py:LINE)",
    "pattern": "Timed out after 0.3 s, in the assertion regex",
    "good": None,
}


def test_a_run_is_ended_wherever_it_hangs(project: Project) -> None:
    project.write("app.py", APP)
    project.write("slow.yaml", HEAD + CASES)
    found = errors(run_suite(None, load_suite(project.path / "slow.yaml"), dry_run=True, jobs=4))
    assert {
        name: error and re.sub(r":\d+\)", ":LINE)", error) for name, error in found.items()
    } == EXPECTED
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


@pytest.mark.parametrize(("dry_run", "cost"), [(True, 0), (False, None)])
def test_a_function_that_writes_the_prompt_is_ended(
    dry_run: bool, cost: int | None, project: Project
) -> None:
    project.write("app.py", APP)
    cases = "cases: [{name: c, prompt_function: 'app.py:hang', timeout: 0.05}]\n"
    project.write("slow.yaml", HEAD + cases)
    suite = load_suite(project.path / "slow.yaml")
    (found,) = run_suite(Agent("m"), suite, dry_run=dry_run).case_results
    error = re.sub(r":\d+\)", ":LINE)", found.error or "")
    assert error == "Timed out after 0.05 s, in the prompt function app.py:hang (app.py:LINE)"
    (attempt,) = found.attempts
    assert [(turn.prompt, turn.output, turn.cost) for turn in attempt.turns] == [("", "", cost)]
    assert attempt.duration >= 0.05


def test_several_cases_at_once_are_ended_each(project: Project) -> None:
    project.write("app.py", APP)
    cases = CASES.replace("target: {function: app.py:answer}\n", "").replace(
        "  - {name: loop, prompt: loop}\n", ""
    )
    cases = cases.replace("prompt: a", "prompt: x, expected_output: a").replace(
        "pattern: Hi", "pattern: dry"
    )
    project.write("slow.yaml", HEAD + cases)
    result = project.dry("-j", "4", "--timeout", "1.5", suite="slow.yaml")
    assert statuses(result.output) == {
        "check": "FAIL",
        "made": "FAIL",
        "pattern": "FAIL",
        "good": "PASS",
    }
    assert "pattern: Timed out after 1.5 s, in the assertion regex" in result.output
    assert "check: Timed out after 1.5 s, in app.py:hang" in result.output


def test_a_command_that_hangs_leaves_no_process(project: Project) -> None:
    command = "command: [sh, -c, 'sleep 600 & echo $! > pid; wait']"
    project.write("slow.yaml", f"{HEAD}target: {{{command}}}\ncases: [{{name: one, prompt: Hi}}]\n")
    result = project.command("test", "-s", "slow.yaml", "--dry-run", "--timeout", "1")
    assert "one: Timed out after 1 s" in result.output
    assert ends(project.path / "pid")


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_tool_that_hangs_leaves_neither_a_process_nor_a_thread(
    tmp_path: Path, mock_llm_responses: ResponseConfigurator, jobs: int
) -> None:
    code = "import os, pathlib, time; pathlib.Path('pid').write_text(str(os.getpid())); time.sleep(600)"  # noqa: E501
    agent = Agent(
        "m", cli_servers=[CLIServer("nap", [sys.executable, "-I", "-S", "-c", code], cwd=tmp_path)]
    )
    mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("nap_execute", {"args": ""})]))
    before = set(threading.enumerate())
    run_suite(agent, suite(case("one", timeout=20)), dry_run=True)  # what is made once is there now
    (found,) = run_suite(agent, suite(case("one", timeout=1)), jobs=jobs).case_results
    assert (found.error, found.attempts[0].turns[0].prompt) == (
        "Timed out after 1 s",
        "Hi",
    )
    assert [each.name for each in set(threading.enumerate()) - before if "run" in each.name] == []
    assert ends(tmp_path / "pid")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse at once")
def test_an_endpoint_that_accepts_no_connection_is_ended(project: Project) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listening, ExitStack() as stack:
        address = listening.getsockname()
        # More connections wait until one of these is accepted, which never happens.
        stack.enter_context(socket.create_connection(address))
        url = f"http://127.0.0.1:{address[1]}/"
        target = f"target: {{url: '{url}', body: {{prompt: '{{prompt}}'}}}}\n"
        project.write("slow.yaml", f"{HEAD}{target}cases: [{{name: c, prompt: Hi, timeout: 0.5}}]")
        (found,) = run_suite(None, load_suite("slow.yaml"), jobs=2).case_results
    assert found.error == "Timed out after 0.5 s"


def test_a_traced_run_is_ended_in_a_thread() -> None:
    program = """
import sys, threading, time
from llm_mock.support.time_limit import CaseTimedOut, run_with_limit

def run():
    try:
        run_with_limit(0.01, lambda: time.sleep(600))
    except CaseTimedOut:
        print("ended", flush=True)

def trace(*arguments):
    return trace

sys.settrace(trace)
threading.settrace(trace)
thread = threading.Thread(target=run)
thread.start()
thread.join()
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "ended\n"


def test_the_start_of_a_server_is_no_part_of_a_run(project: Project) -> None:
    tool = "  tools: [{type: mcp, command: python, args: [-c, 'import time; time.sleep(0.3); exit(3)']}]\n"  # noqa: E501
    project.write("role.yaml", (project.path / "role.yaml").read_text() + tool)
    result = project.dry("--timeout", "0.2")
    assert "says-hello: The MCP server" in result.output
    assert "with exit code 3" in result.output
    assert "0/1 passed, 2 not run" in result.output


def test_in_pytest_a_case_is_ended_and_the_others_go_on(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = slow.yaml")
    pytester.path.joinpath("app.py").write_text(APP)
    pytester.path.joinpath("slow.yaml").write_text(HEAD + CASES)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1, failed=4)
    result.stdout.fnmatch_lines(
        [
            ("slow.yaml:9: check: Timed out after 0.3 s, in app.py:hang (app.py:*)"),
            "  prompt: Hi",
            "  output: Hi",
        ]
    )


def test_the_timer_of_somebody_else_goes_on(request: pytest.FixtureRequest) -> None:
    def rang(number: int, frame: Any) -> None:
        raise InterruptedError

    before = signal.signal(signal.SIGALRM, rang)
    request.addfinalizer(lambda: signal.signal(signal.SIGALRM, before))
    request.addfinalizer(lambda: signal.setitimer(signal.ITIMER_REAL, 0))
    signal.setitimer(signal.ITIMER_REAL, 50, 7)
    with pytest.raises(CaseTimedOut):
        run_with_limit(0.01, lambda: time.sleep(40))
    remaining, interval = signal.getitimer(signal.ITIMER_REAL)
    assert 40 < remaining < 50
    assert interval == 7
    assert signal.getsignal(signal.SIGALRM) is rang
    assert get_seconds_left(600) == 600
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    with pytest.raises(InterruptedError):
        run_with_limit(30, lambda: time.sleep(40))


@pytest.mark.parametrize("timeout", ["0", "-1", "true", ".inf", "100000"])
def test_a_timeout_that_means_nothing_is_named_with_its_line(
    project: Project, timeout: str
) -> None:
    project.write_cases(f"  - name: one\n    prompt: Hi\n    timeout: {timeout}\n")
    assert (
        "tests.yaml:8: case 'one': timeout: should be "
        in project.command("validate", "tests.yaml").output
    )


@pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt()])
def test_an_error_within_a_limit_in_a_thread_is_raised_as_it_is(error: BaseException) -> None:
    caught: list[BaseException] = []

    def fail() -> None:
        raise error

    def run() -> None:
        try:
            run_with_limit(5, fail)
        except BaseException as raised:
            caught.append(raised)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert caught == [error]


def test_what_ends_itself_is_not_interrupted_in_a_thread() -> None:
    ended: list[bool] = []

    def work() -> None:
        # In Python code, where the exception of a run would be raised.
        last = time.monotonic() + 0.5
        while time.monotonic() < last:
            pass
        ended.append(True)

    def run() -> None:
        with pytest.raises(CaseTimedOut):
            run_with_limit(0.01, lambda: run_uninterrupted(work))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert ended == [True]


def test_a_limit_in_a_thread_ends_with_it() -> None:
    left: list[float] = []

    def run() -> None:
        run_with_limit(5, lambda: left.append(get_seconds_left(600)))
        left.append(get_seconds_left(600))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert left[0] <= 5
    assert left[1] == 600
