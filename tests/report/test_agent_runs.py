"""Runs of agents in the report: what each did, and the checks that the test made about it."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytest.importorskip("tenacity")

from llm_mock.agents import AgentResult, Turn
from llm_mock.agents.check_log import LoggedCheck
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.report.agent_runs import describe_checks, describe_runs

TESTS = """
    import pytest
    from llm.models import ToolCall
    from llm_mock import Reply
    from llm_mock.agents import Agent, CLIServer, aitest_run_sync
    from llm_mock.checks import contains, judge, tool_called

    AGENT = Agent("m", cli_servers=[CLIServer("echo", "echo")], name="speaker")

    @pytest.fixture(autouse=True)
    def replies(mock_llm_responses):
        usage = {"input_tokens": 7, "output_tokens": 2}
        call = ToolCall("echo_execute", {"args": "hello"})
        mock_llm_responses.add("m", Reply(tool_calls=[call], usage=usage))
        mock_llm_responses.add("m", Reply("Done", usage=usage))

    def test_checked():
        result = aitest_run_sync(AGENT, "Say hello")
        assert contains("Done")(result)
        assert tool_called("echo_execute")(result)
        assert contains("e")("text")

    def test_plain():
        assert aitest_run_sync(AGENT, "Say hello").final_response == "Done"

    def test_fails():
        assert contains("Bye")(aitest_run_sync(AGENT, "Say hello"))

    @pytest.mark.llm_mock_repeat(2)
    def test_repeated():
        result = aitest_run_sync(AGENT, "Say hello")
        assert contains("Done")(result)
"""


def read_tests(pytester: pytest.Pytester, *arguments: str) -> dict[str, Any]:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("--llm-mock-report=r.json", *arguments)
    result.assert_outcomes(passed=3, failed=1)
    tests = json.loads((pytester.path / "r.json").read_text())["tests"]
    return {test["id"].partition("::")[2]: test for test in tests}


@pytest.mark.parametrize(
    "processes", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "xdist"]
)
def test_the_report_has_the_runs_of_agents_with_their_checks(
    pytester: pytest.Pytester, processes: tuple[str, ...]
) -> None:
    tests = read_tests(pytester, *processes)
    (run,) = tests["test_checked"]["runs"]
    (call,) = run.pop("tool_calls")
    assert (call["name"], call["arguments"]) == ("echo_execute", {"args": "hello"})
    assert run.pop("duration_s") > 0
    assert run == {
        "agent": "speaker",
        "model": "m",
        "prompt": "Say hello",
        "output": "Done",
        "status": "passed",
        "error": None,
        "turns": 2,
        "input_tokens": 14,
        "output_tokens": 4,
        "cost_usd": None,
    }
    found = [(check["status"], check.get("run")) for check in tests["test_checked"]["checks"]]
    assert found == [("passed", 1), ("passed", 1), ("passed", None)]
    assert tests["test_checked"]["checks"][0]["message"] == "contains: Output contains 'Done'"
    assert [run["status"] for run in tests["test_plain"]["runs"]] == ["not checked"]
    assert "checks" not in tests["test_plain"]
    assert [run["status"] for run in tests["test_fails"]["runs"]] == ["failed"]
    assert [check["run"] for check in tests["test_repeated"]["checks"]] == [1, 2]
    assert [run["status"] for run in tests["test_repeated"]["runs"]] == ["passed", "passed"]


def create_result(error: str | None = None) -> AgentResult:
    turn = Turn("Hi", (), create_usage(1, 2))
    return AgentResult("agent", "m", "Hello", (turn,), success=error is None, error=error)


@pytest.mark.parametrize(
    ("error", "statuses", "status"),
    [
        (None, [], "not checked"),
        (None, ["not checked"], "not checked"),
        (None, ["passed", "not checked"], "passed"),
        (None, ["passed", "failed"], "failed"),
        ("too slow", [], "failed"),
        ("too slow", ["passed"], "failed"),
    ],
)
def test_the_status_of_a_run_is_that_of_its_checks(
    error: str | None, statuses: list[Any], status: str
) -> None:
    result, other = create_result(error), create_result(error)
    checks = [LoggedCheck(each, "said", result) for each in statuses]
    checks.append(LoggedCheck("failed", "of another run, which is equal", other))
    (run,) = describe_runs([result], checks)
    assert (run["status"], run["error"]) == (status, error)
    described = describe_checks(checks, [other, result])
    assert [check["run"] for check in described] == [*(2 for _ in statuses), 1]


def test_a_check_of_a_failed_run_is_not_checked(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from llm_mock.agents import Agent, aitest_run_sync
        from llm_mock.checks import contains

        def test_it(mock_llm_responses):
            mock_llm_responses.set_error("m", ValueError("too slow"))
            assert contains("x")(aitest_run_sync(Agent("m"), "Hi"))
        """
    )
    pytester.runpytest("--llm-mock-report=r.json").assert_outcomes(failed=1)
    (test,) = json.loads((pytester.path / "r.json").read_text())["tests"]
    (check,) = test["checks"]
    assert (check["status"], check["run"]) == ("not checked", 1)
    assert check["message"].startswith("contains: the run failed: ValueError: too slow")
    assert test["runs"][0]["status"] == "failed"
