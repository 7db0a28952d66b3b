"""Dry runs: everything is run but the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock import LLMMock, MockLLMModel, ResponseConfigurator
from llm_mock.agents import Agent, MCPServer
from llm_mock.suites import run_suite
from llm_mock.suites.case import DRY_RUN_OUTPUT, DryRunModel
from llm_mock.suites.runner import run_case
from tests.conftest import RunPython
from tests.suites.cases import BANK, case, suite

AGENT = Agent("m", name="greeter")


@pytest.mark.parametrize(
    ("fields", "output"),
    [
        ({"expected_output": "Hello!"}, "Hello!"),
        ({"expected_output": ""}, ""),
        ({}, DRY_RUN_OUTPUT),
    ],
)
def test_a_dry_run_answers_what_is_expected(fields: Any, output: str) -> None:
    result = run_case(AGENT, case(**fields), dry_run=True)
    assert result.status == "passed"
    assert result.output == output


def test_a_dry_run_goes_through_a_whole_suite() -> None:
    result = run_suite(
        AGENT,
        suite(
            case("says-hello", expected_output="Hello!", contains="Hello"),
            case("says-more", expected_output="Hello!", contains="Goodbye"),
            case("says-anything"),
        ),
        dry_run=True,
    )
    assert [found.status for found in result.case_results] == ["passed", "failed", "passed"]
    assert (
        result.case_results[1].assertion_results[0].message == "Output does not contain 'Goodbye'"
    )
    assert (result.suite_name, result.agent, result.model, result.dry_run) == (
        "greetings",
        "greeter",
        "m",
        True,
    )
    assert (result.passed, result.failed, result.total, result.cost) == (2, 1, 3, 0)
    assert [found.attempts[0].tokens for found in result.case_results] == [0, 0, 0]


def test_each_turn_has_the_answer_that_it_expects_and_its_own_assertions() -> None:
    turns = [
        {
            "prompt": "I am Ada",
            "expected_output": "Hello Ada",
            "assertions": [{"type": "contains", "value": "Ada"}],
        },
        {"prompt": "And you?"},
        {
            "prompt": "Who am I?",
            "expected_output": "Ada",
            "assertions": [{"type": "contains", "value": "Bob"}],
        },
    ]
    result = run_case(AGENT, case(turns=turns), dry_run=True)
    assert [turn.output for turn in result.decisive_attempt.turns] == [
        "Hello Ada",
        DRY_RUN_OUTPUT,
        "Ada",
    ]
    assert [(found.turn, found.passed) for found in result.assertion_results] == [
        (0, True),
        (2, False),
    ]


def test_a_dry_run_needs_no_key_no_network_and_nothing_of_the_user(
    run_python: RunPython, tmp_path: Path
) -> None:
    (tmp_path / "role.yaml").write_text(
        "{apiVersion: initrunner/v1, kind: Agent, metadata: {name: n}, "
        "spec: {role: r, model: {provider: openai, name: gpt-4o, temperature: 0.1}}}"
    )
    code = (
        "import socket\n"
        "def refuse(*args): raise RuntimeError('a dry run connects to nobody')\n"
        "socket.socket.connect = refuse\n"
        "from llm_mock.suites.role import load_role\n"
        "from llm_mock.suites.runner import run_case\n"
        "from llm_mock.suites.schema import TestCase\n"
        f"role = load_role({str(tmp_path / 'role.yaml')!r})\n"
        "print(run_case(role, TestCase(name='c', prompt='Hi'), dry_run=True).output)\n"
    )
    user = tmp_path / "user"
    ended = run_python(code, OPENAI_API_KEY=None, LLM_USER_PATH=str(user), PFLOW_TESTING=None)
    assert ended.stdout == f"{DRY_RUN_OUTPUT}\n", ended.stderr
    assert not user.exists()


def run_application(
    run_python: RunPython, folder: Path, app: str, *, dry_run: bool, user: Path | None = None
) -> str:
    """Return the output of a function `answer`, which a process outside of pytest runs."""
    (folder / "app.py").write_text(app)
    (folder / "app.yaml").write_text(
        "{apiVersion: llm-mock/v1, kind: TestSuite, metadata: {name: app}, "
        "target: {function: 'app.py:answer'}, cases: [{name: c, prompt: Hi}]}"
    )
    code = (
        "from llm_mock.suites.runner import load_suite, run_suite\n"
        f"suite = load_suite({str(folder / 'app.yaml')!r})\n"
        f"print(run_suite(None, suite, dry_run={dry_run}).case_results[0].output)\n"
    )
    variables = {} if user is None else {"LLM_USER_PATH": str(user)}
    ended = run_python(code, LLM_MOCK=None, PFLOW_TESTING=None, **variables)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_an_application_in_a_dry_run_has_a_user_folder_of_its_own(
    run_python: RunPython, tmp_path: Path
) -> None:
    app = "import llm\ndef answer(prompt):\n    return str(llm.user_dir())\n"
    user = tmp_path / "user"
    folder = Path(run_application(run_python, tmp_path, app, dry_run=True, user=user))
    assert folder.name.startswith("llm-mock-")
    assert not folder.exists()
    assert not user.exists()


@pytest.mark.parametrize("dry_run", [True, False])
def test_only_in_a_dry_run_the_processes_of_an_application_are_mocked(
    run_python: RunPython, tmp_path: Path, dry_run: bool
) -> None:
    app = (
        "import subprocess, sys\n"
        "ASK = 'import os; print(bool(os.environ.get(\"PFLOW_TESTING\")))'\n"
        "def answer(prompt):\n"
        "    return subprocess.check_output([sys.executable, '-c', ASK], text=True)\n"
    )
    assert run_application(run_python, tmp_path, app, dry_run=dry_run) == str(dry_run)


def test_a_dry_run_starts_the_servers_and_knows_their_tools() -> None:
    cases = [
        case("known", assertions=[{"type": "tool_calls", "calls": ["transfer"]}]),
        case("unknown", assertions=[{"type": "tool_calls", "calls": ["transfers"]}]),
        case("none"),
    ]
    result = run_suite(Agent("m", [BANK]), suite(*cases), dry_run=True)
    assert [found.status for found in result.case_results] == ["not checked", "failed", "passed"]
    assert "transfers" in result.case_results[1].assertion_results[0].message


def test_a_server_that_does_not_start_is_told_once_and_ends_the_run() -> None:
    result = run_suite(
        Agent("m", [MCPServer("no-such-command")]),
        suite(case("a"), case("b"), case("c")),
        dry_run=True,
    )
    assert [found.status for found in result.case_results] == ["failed"]
    assert "the command 'no-such-command' is not in PATH" in (result.case_results[0].error or "")
    assert [each.name for each in result.not_run] == ["b", "c"]
    assert result.stopped == "the case 'a' failed for a reason that affects every case"


def test_the_mock_of_a_test_sees_the_calls_of_a_dry_run(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    result = run_case(
        AGENT, case(expected_output="Hello!"), dry_run=True, get_model=mock_llm_responses.get_model
    )
    assert result.output == "Hello!"
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["Hi"]


def test_another_model_can_be_given() -> None:
    model = MockLLMModel("other", default_response="I am another")
    result = run_suite(AGENT, suite(case(expected_output="Hello!")), model_override=model)
    assert result.case_results[0].output == "I am another"
    assert result.model == "other"


def test_the_model_of_a_dry_run_answers_in_order_and_then_as_always() -> None:
    turns = [
        {"prompt": "?", "expected_output": "one"},
        {"prompt": "?"},
        {"prompt": "?", "expected_output": ""},
    ]
    result = run_case(AGENT, case(turns=turns), dry_run=True)
    assert [turn.output for turn in result.decisive_attempt.turns] == ["one", DRY_RUN_OUTPUT, ""]
    model = DryRunModel("m")
    assert [str(model.prompt("?").text()) for _ in range(2)] == [DRY_RUN_OUTPUT, DRY_RUN_OUTPUT]
    assert model.model_id == "m"
