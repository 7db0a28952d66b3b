"""`llm-mock mcp`: what a coding agent can do by it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

pytest.importorskip("mcp")
pytest.importorskip("rich")

from llm_mock.agents import CLIServer, MCPServer
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.tools import ToolAnswer
from llm_mock.cli import main
from llm_mock.commands import mcp_server
from llm_mock.commands.mcp_server import ServerTools
from tests.specs.local_tools import local_tools as local_tools

ROLE = "apiVersion: llm-mock/v1\nkind: Agent\nmetadata: {name: helper}\nspec: {role: You help.}\n"
SUITE = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greetings}
cases:
  - {name: polite, prompt: Hi, expected_output: Hello, assertions: [{type: contains, value: Hello}]}
  - {name: wrong, prompt: Hi, expected_output: Hello, assertions: [{type: contains, value: Bye}]}
"""
SPEC = """\
test: {name: Sums}
steps: [{name: One, tool: assert_equals, args: {actual: 1, expected: 1}}]
verdict: {pass_if: it holds, fail_if: it does not}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "role.yaml": ROLE,
        "suite.yaml": SUITE,
        "spec.yaml": SPEC,
        "pytest.ini": "[pytest]\n",
        "x.yaml": "a: 1\n",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def pool() -> Iterator[ServerPool]:
    pool = ServerPool()
    yield pool
    pool.close()


@pytest.fixture
def same_process(monkeypatch: pytest.MonkeyPatch, local_tools: None) -> None:
    """Run the commands of the server without processes, for tests of what they are told to do."""
    monkeypatch.setattr(mcp_server, "execute", execute_in_this_process)


async def execute_in_this_process(server: CLIServer, _: object, timeout: float) -> ToolAnswer:
    """Run `python -m llm_mock …` by click, in place of `command_line.execute`."""
    command = list(server.command)
    assert command[:3] == [sys.executable, "-m", "llm_mock"]
    assert timeout > 0
    result = CliRunner().invoke(main, command[3:], prog_name="llm-mock", env=dict(server.env))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return ToolAnswer(result.output, is_error=result.exit_code != 0)


def test_an_agent_checks_and_runs_tests_over_stdio(project: Path, pool: ServerPool) -> None:
    server = MCPServer([sys.executable, "-m", "llm_mock", "mcp"], cwd=project)
    tools = {tool.name: tool for tool in pool.tools([server])}
    assert [*tools] == ["validate", "dry_run", "run", "catalogue", "schema"]
    assert all(tool.description for tool in tools.values())

    checked = tools["validate"].call({"paths": ["role.yaml", "suite.yaml", "x.yaml"]}).structured
    assert checked["passed"] is False
    assert "suite.yaml: suite 'greetings', 2 cases" in checked["output"]
    assert "Error: x.yaml:1: is neither a suite" in checked["output"]

    (project / "spec.yaml").write_text(SPEC.replace("expected: 1", "expected: 2"))
    ran = tools["dry_run"].call({"path": "spec.yaml"}).structured
    assert ran["passed"] is False
    assert "One: assert_equals(actual=1, expected=2): 1 is not 2" in ran["output"]


SUITE_AND_ROLE = {"path": "suite.yaml", "role": "role.yaml"}


@pytest.mark.parametrize(
    ("in_process", "arguments", "passed", "said"),
    [
        (False, SUITE_AND_ROLE, False, "Output does not contain 'Bye'"),
        (False, {**SUITE_AND_ROLE, "only": "polite"}, True, "1/1 passed"),
        (True, {"path": "suite.yaml"}, False, "the suite has no role and no target: pass a role"),
        (True, {"path": "spec.yaml"}, True, "1/1 passed"),
    ],
)
def test_a_dry_run_is_a_process_that_says_what_came_of_it(
    in_process: bool,
    arguments: dict[str, Any],
    passed: bool,
    said: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if in_process:
        request.getfixturevalue("same_process")
    monkeypatch.chdir(project)
    # The output for an agent is plain and as wide in any terminal.
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "20")
    result = asyncio.run(ServerTools().dry_run(**arguments))
    assert (result["passed"], said in result["output"]) == (passed, True), result["output"]
    assert "\x1b" not in result["output"]


@pytest.mark.parametrize(
    ("tool", "arguments", "problem"),
    [
        ("dry_run", {"only": "zzz"}, "No case has 'zzz' in its name"),
        ("run", {"only": "zzz"}, "No case has 'zzz' in its name"),
        ("dry_run", {"role": "role.yaml"}, "A role is for suites, and spec.yaml is a plain"),
        ("run", {"role": "role.yaml"}, "A role is for suites"),
    ],
)
@pytest.mark.usefixtures("same_process")
def test_an_argument_without_effect_on_a_plain_language_test_is_an_error(
    tool: str,
    arguments: dict[str, Any],
    problem: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project)
    result = asyncio.run(getattr(ServerTools(), tool)("spec.yaml", **arguments))
    assert (result["passed"], problem in result["output"]) == (False, True), result["output"]


@pytest.mark.usefixtures("same_process")
def test_the_filter_selects_a_plain_language_test_by_its_name(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    result = asyncio.run(ServerTools().dry_run("spec.yaml", only="sum"))
    assert result["passed"] is True, result["output"]


def test_a_plain_language_test_is_run_with_the_model_that_is_named(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    monkeypatch.setenv("PFLOW_TESTING", "0")
    result = asyncio.run(ServerTools().run("spec.yaml", model="no-such-model"))
    assert result["passed"] is False
    assert "no-such-model" in result["output"]


JUDGED_SUITE = SUITE.partition("cases:")[0] + (
    "cases: [{name: a, prompt: Hi, assertions: [{type: judge, criteria: Polite}]}]\n"
)
UNJUDGED_SPEC = """\
test: {name: Sums}
steps: [{name: One, tool: sleep, args: {seconds: 0}, expect: Nothing happens}]
verdict: {pass_if: it holds, fail_if: it does not}
"""


@pytest.mark.parametrize(
    ("path", "text", "arguments", "said"),
    [
        ("suite.yaml", JUDGED_SUITE, {"role": "role.yaml"}, "Nothing was checked"),
        ("spec.yaml", UNJUDGED_SPEC, {}, "NOT CHECKED"),
    ],
)
@pytest.mark.usefixtures("same_process")
def test_a_dry_run_that_checks_nothing_has_not_passed(
    path: str,
    text: str,
    arguments: dict[str, Any],
    said: str,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(project)
    (project / path).write_text(text)
    result = asyncio.run(ServerTools().dry_run(path, **arguments))
    assert result["passed"] is False
    assert said in result["output"]
    assert "Nothing was checked" in result["output"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "suite.yaml", "role": "role.yaml", "only": "polite"},
        {"path": "spec.yaml"},
    ],
)
@pytest.mark.usefixtures("same_process")
def test_no_run_passes_if_no_check_is_evaluated(
    arguments: dict[str, Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assert asyncio.run(ServerTools().dry_run(**arguments))["passed"] is True
    monkeypatch.setattr("llm_mock.checks.evaluation._get_skip_reason", lambda *_: "Skipped: x")
    monkeypatch.setattr("llm_mock.specs.steps.RESULT_FIELDS", {})
    result = asyncio.run(ServerTools().dry_run(**arguments))
    assert result["passed"] is False
    assert "Nothing was checked" in result["output"]


def test_a_run_asks_the_model_that_is_named(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    result = asyncio.run(
        ServerTools().run("suite.yaml", role="role.yaml", model="a-model", max_cost=1)
    )
    assert result["passed"] is False
    assert "the price of the model 'a-model' is unknown" in result["output"]
    asked = asyncio.run(ServerTools().run("suite.yaml", role="role.yaml", model="a-model"))
    assert '{"success": true}' in asked["output"], (
        "the test's mock answers processes that it starts"
    )


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("role.yaml", "role.yaml is a role, and a run needs suites or plain-language tests"),
        ("x.yaml", "x.yaml:1: is neither a suite"),
        ("nowhere.yaml", "nowhere.yaml: cannot be read"),
    ],
)
@pytest.mark.usefixtures("same_process")
def test_what_cannot_be_run_is_told(
    path: str, problem: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    result = asyncio.run(ServerTools().dry_run(path))
    assert (result["passed"], problem in result["output"]) == (False, True), result["output"]


def test_the_catalogue_has_what_tests_may_hold(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    assertions = asyncio.run(ServerTools().catalogue("assertions"))
    assert assertions["contains"].startswith("The output contains a text. Keys: ")
    assert assertions["contains"].endswith(" Its opposite is not_contains.")
    assert "truncated-json" in asyncio.run(ServerTools().catalogue("misbehaviours"))
    assert asyncio.run(ServerTools().catalogue("tools"))["sleep"].startswith("seconds: Wait")
    assert asyncio.run(ServerTools().schema("suite"))["title"] == "TestSuiteDefinition"
