"""Results that are kept while a suite runs, and what a later run makes of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

import llm

from llm_mock import Reply, ResponseConfigurator
from llm_mock.agents import Agent, CLIServer, MCPServer, Provider
from llm_mock.errors import InvalidFile
from llm_mock.suites import CaseResult, Role, SuiteResult, TestCase, run_suite
from llm_mock.suites.kept import KeptResults, default_path
from tests.suites.cases import BANK, case, suite

AGENT = Agent("m")
CHECKED = case("checked", contains="Hello")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "results.jsonl"


def run(path: Path, *cases: TestCase, agent: Agent = AGENT, **settings: Any) -> SuiteResult:
    """A run that goes on from what the file holds."""
    return run_suite(agent, suite(*cases), kept=KeptResults(path), **settings)


def kept_flags(result: SuiteResult) -> list[bool]:
    """Which results were not run now."""
    return [found.kept for found in result.case_results]


def test_what_was_run_is_not_run_again(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.add("m", "Hello", times=2)
    first = run(path, CHECKED, case("free"))
    assert kept_flags(first) == [False, False]
    told: list[CaseResult] = []
    again = run(path, CHECKED, case("free"), on_result=told.append)
    assert kept_flags(again) == [True, True]
    assert [result.attempts for result in again.case_results] == [result.attempts for result in first.case_results]
    assert told == list(again.case_results)


def test_a_result_is_kept_whole(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_price("m", 1000, 1000)
    mock_llm_responses.add("m", "No")
    mock_llm_responses.add("m", Reply(tool_calls=[llm.ToolCall("balance_chart", {"account": "alice"})]))
    mock_llm_responses.add("m", Reply(tool_calls=[llm.ToolCall("history", {"account": "nobody"})]))
    mock_llm_responses.add("m", "Hello ✓\n\ud800")
    agent = Agent("m", [BANK])
    first = run(path, CHECKED, agent=agent, retry=1).case_results[0]
    again = run(path, CHECKED, agent=agent, retry=1).case_results[0]
    assert (again.retried, again.retried_cost, again.threshold) == (1, first.retried_cost, 1.0)
    turn, turn_again = first.shown.turns[0], again.shown.turns[0]
    assert len(turn.tool_calls[0].attachments) == 1
    assert turn_again.tool_calls[0].attachments == ()
    assert turn_again.tool_calls[0].structured == turn.tool_calls[0].structured != None  # noqa: E711
    assert turn_again.tool_calls[1] == turn.tool_calls[1]
    assert (turn_again.output, turn_again.cost, turn_again.requests) == (turn.output, turn.cost, 3)
    assert isinstance(turn.cost, Decimal)
    assert again.assertion_results == first.assertion_results
    assert again.shown.transcript == first.shown.transcript
    assert again.duration == first.duration


def test_a_failed_case_is_kept_and_a_broken_one_is_run_again(
    path: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.add("m", "Goodbye")
    mock_llm_responses.add("m", ValueError("broken"))
    mock_llm_responses.add("m", "Hello")
    first = run(path, CHECKED, case("broken"))
    assert [result.status for result in first.case_results] == ["failed", "failed"]
    again = run(path, CHECKED, case("broken"))
    assert [(result.status, result.kept) for result in again.case_results] == [("failed", True), ("passed", False)]


OTHERS: list[tuple[Agent, TestCase, dict[str, Any]]] = [
    (Agent("m", system_prompt="Be brief"), CHECKED, {}),
    (Agent(Provider("m", {"temperature": 1})), CHECKED, {}),
    (Agent("m", cli_servers=[CLIServer("echo", "echo")]), CHECKED, {}),
    (AGENT, case("checked", contains="Hell"), {}),
    (AGENT, case("checked", "Hi there", contains="Hello"), {}),
    (AGENT, CHECKED, {"repeat": 2}),
    (AGENT, CHECKED, {"threshold": 0.5}),
    (AGENT, CHECKED, {"retry": 1}),
]


@pytest.mark.parametrize("other", OTHERS, ids=[str(number) for number in range(len(OTHERS))])
def test_what_was_changed_is_run_anew(other: Any, path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", "Hello")
    agent, changed, settings = other
    run(path, CHECKED)
    assert kept_flags(run(path, changed, agent=agent, **settings)) == [False]
    assert kept_flags(run(path, changed, agent=agent, **settings)) == [True]
    assert kept_flags(run(path, CHECKED)) == [True]


def test_results_are_written_as_they_come(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", "Hello")
    lines: list[int] = []
    run(path, case("a"), case("b"), on_result=lambda result: lines.append(len(path.read_text().splitlines())))
    assert lines == [1, 2]


def test_nothing_secret_enters_the_file(
    path: Path, mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_TOKEN", "secret-of-the-process")
    monkeypatch.setenv("PLAIN", "secret-of-the-server")
    said = "secret-of-the-process secret-of-the-server sk-abcdefgh12345678"
    mock_llm_responses.add("m", Reply(tool_calls=[llm.ToolCall("echo_execute", {"args": said})]))
    mock_llm_responses.add("m", f"Hello {said}")
    echo = CLIServer("echo", "echo", env={"API_KEY": "${PLAIN}"})
    agent = Agent(Provider("m", key="secret-of-the-provider"), cli_servers=[echo])
    run(path, case("c", f"Say {said}", contains="Hello"), agent=agent)
    content = path.read_text()
    assert "secret-of-the" not in content
    assert "sk-abcdefgh12345678" not in content
    assert content.count("[redacted") >= 9
    assert kept_flags(run(path, case("c", f"Say {said}", contains="Hello"), agent=agent)) == [True]


# What a process leaves behind


KILLED = """
import sys
from pathlib import Path
from llm_mock import MockGetModel
from llm_mock.agents import Agent
from llm_mock.suites.kept import KeptResults
from llm_mock.suites.runner import run_suite
from tests.suites.cases import case, suite

def reply(prompt):
    if prompt.prompt == "last":
        print("under way", flush=True)
        sys.stdin.read()
    return "Hello"

kept = KeptResults(Path(sys.argv[1]))
model = MockGetModel({"m": reply})("m")
run_suite(Agent("m"), suite(case("a"), case("b"), case("c", "last")), kept=kept, model_override=model)
"""


def test_a_killed_process_leaves_what_it_had_finished(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", KILLED, str(path)]
    with subprocess.Popen(
        command, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "under way\n"
        finally:
            process.send_signal(signal.SIGKILL)
    mock_llm_responses.add("m", "Hello")
    assert kept_flags(run(path, case("a"), case("b"), case("c", "last"))) == [True, True, False]


@pytest.mark.parametrize("cut", [1, 2, 50])
def test_a_last_line_that_was_not_finished_does_not_count(
    cut: int, path: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", "Hello")
    run(path, case("a"), case("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert kept_flags(run(path, case("a"), case("b"))) == [True, False]
    assert kept_flags(run(path, case("a"), case("b"))) == [True, True]


def changed_number(line: str) -> str:
    """A result in which somebody wrote another number."""
    kept = json.loads(line)
    kept["result"]["threshold"] = 0.0
    return json.dumps(kept)


@pytest.mark.parametrize(
    "damage",
    [lambda line: line[:50], lambda line: "", lambda line: "[]", lambda line: "{}", lambda line: "\0", changed_number],
    ids=["cut", "empty", "list", "mapping", "no-json", "changed"],
)
def test_any_other_damage_is_told_with_its_line(
    damage: Any, path: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", "Hello")
    run(path, case("a"), case("b"), case("c"))
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], damage(lines[1]), lines[2]]) + "\n")
    with pytest.raises(InvalidFile) as caught:
        KeptResults(path)
    assert str(caught.value).startswith(f"{path}:2: is no kept result, or was changed")


def test_a_file_that_cannot_be_used_is_told(tmp_path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    with pytest.raises(InvalidFile, match="cannot be read"):
        KeptResults(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match="cannot be read: Not a directory"):
        KeptResults(tmp_path / "file" / "results.jsonl")


def test_removed_results_are_run_anew(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", "Hello")
    kept = KeptResults(path)
    run_suite(AGENT, suite(CHECKED), kept=kept)
    kept.remove()
    kept.remove()
    assert not path.exists()
    assert kept_flags(run_suite(AGENT, suite(CHECKED), kept=kept)) == [False]


def test_by_default_results_lie_where_git_does_not_see_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mock_llm_responses: ResponseConfigurator
) -> None:
    monkeypatch.chdir(tmp_path)
    mock_llm_responses.set("m", "Hello")
    role, another = Role("r", AGENT, Path("role.yaml")), Role("r", AGENT, Path("another.yaml"))
    where = default_path(role, suite())
    assert where.parent == Path(".llm_mock_cache")
    assert where != default_path(another, suite())
    assert where == default_path(role, suite())
    run_suite(role, suite(CHECKED), kept=KeptResults(where))
    assert where.is_file()
    assert (tmp_path / ".llm_mock_cache" / ".gitignore").read_text() == "*\n"


def test_the_money_that_was_spent_before_does_not_count_against_the_limit(
    path: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("m", Reply("Hello", usage={"input_tokens": 1, "output_tokens": 0}))
    mock_llm_responses.set_price("m", 1_000_000, 0)
    cases = [case(name) for name in "abc"]
    assert len(run(path, *cases, max_cost=2).case_results) == 2
    again = run(path, *cases, max_cost=2)
    assert kept_flags(again) == [True, True, False]
    assert (again.cost, again.stopped) == (3, None)


def test_servers_that_are_not_equal_are_told_apart(path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", "Hello")
    there = MCPServer(BANK.command, cwd=BANK.cwd, env={"FOR": "kept"}, name="bank")
    run(path, CHECKED, agent=Agent("m", [BANK]))
    assert kept_flags(run(path, CHECKED, agent=Agent("m", [there]))) == [False]


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path, mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("m", "Hello")
    kept = KeptResults(tmp_path / "folder" / "results.jsonl")
    (tmp_path / "folder").touch()
    with pytest.raises(InvalidFile, match=r"results\.jsonl: results cannot be kept: Not a directory"):
        run_suite(AGENT, suite(CHECKED), kept=kept)
