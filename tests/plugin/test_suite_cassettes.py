"""Suites in pytest with cassettes, recorded as markers, tags and options say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main
from tests.openai_server import OpenAIServer
from tests.plugin.files import write
from tests.plugin.test_cassettes import KEY, prompts, recorded
from tests.plugin.test_cassettes import running as running
from tests.plugin.test_cassettes import server as server

ROLE = """
apiVersion: llm-mock/v1
kind: Agent
metadata: {name: shop}
spec: {role: You help., model: loopback}
"""
SUITE = """
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greetings}
defaults: {tags: [llm_mock_cassette]}
cases:
  - {name: a, prompt: One, repeat: 2, assertions: [{type: contains, value: Answer}]}
  - {name: b, prompt: Two of customer-17, assertions: [{type: contains, value: Answer}]}
"""
CONFTEST = """
import pytest
from llm_mock.cassettes import CassetteConfig

@pytest.fixture(scope="session")
def llm_mock_cassette_config():
    return CassetteConfig(redact=(r"customer-\\d+",))
"""
FOLDER = Path("suites/cassettes/greetings")


@pytest.fixture
def project(pytester: pytest.Pytester, server: OpenAIServer) -> pytest.Pytester:
    """Create a project with a recorded suite, and a model behind HTTP."""
    pytester.makeini(
        "[pytest]\naddopts = --strict-markers\nllm_mock_suites = suites/*.yaml = role.yaml\n"
    )
    pytester.makeconftest(CONFTEST)
    write(pytester, "role.yaml", ROLE)
    write(pytester, "suites/greetings.yaml", SUITE)
    return pytester


def test_what_is_recorded_once_is_replayed_by_pytest_and_by_the_command(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    missing = project.runpytest()
    missing.assert_outcomes(failed=2)
    missing.stdout.fnmatch_lines(
        [
            "*There is no cassette suites/cassettes/greetings/a.llm.yaml for this call*",
            "*pytest suites/greetings.yaml::a --llm-mock-record once",
        ]
    )
    assert not server.requests
    first = project.runpytest("--llm-mock-record", "once", "--llm-mock-live")
    first.assert_outcomes(passed=2)
    first.stdout.fnmatch_lines(
        ["*= Recorded LLM calls =*", "*suites/greetings.yaml::a: 2 real calls recorded"]
    )
    assert sorted(path.name for path in FOLDER.iterdir()) == [
        "a.llm.yaml",
        "a.run-2.llm.yaml",
        "b.llm.yaml",
    ]
    assert prompts(server) == ["One", "One", "Two of customer-17"]
    assert "customer-17" not in (FOLDER / "b.llm.yaml").read_text()
    assert recorded(FOLDER / "a.llm.yaml") == ["One"]
    assert not any(KEY in path.read_text() for path in FOLDER.iterdir())
    project.runpytest("-n", "2", "-p", "xdist").assert_outcomes(passed=2)
    command = [
        "test",
        "role.yaml",
        "-s",
        "suites/greetings.yaml",
        "--cassette",
        "--record",
        "none",
        "-k",
        "a",
    ]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert len(server.requests) == 3


def test_checks_are_judged_again_and_a_changed_prompt_is_missed(
    project: pytest.Pytester, server: OpenAIServer
) -> None:
    project.runpytest("--llm-mock-record", "once").assert_outcomes(passed=2)
    write(
        project,
        "suites/greetings.yaml",
        SUITE.replace("One, repeat: 2", "Uno").replace("Answer}]}", "sorry}]}"),
    )
    result = project.runpytest("--llm-mock-report=report.json")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "*greetings.yaml:6: a: *does not contain this call*",
            "*+prompt: Uno",
            "*greetings.yaml:7: b: Output does not contain 'sorry'*",
        ]
    )
    assert len(server.requests) == 3
    assert "Answer 1 to: Two" in Path("report.json").read_text()


def test_cases_that_claim_one_cassette_fail(project: pytest.Pytester, server: OpenAIServer) -> None:
    project.makeconftest(
        """
        import pytest

        @pytest.hookimpl(tryfirst=True)
        def pytest_collection_modifyitems(items):
            for item in items:
                item.add_marker(pytest.mark.llm_mock_cassette("shared"), append=False)
        """
    )
    result = project.runpytest("--llm-mock-record", "once")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "These tests share the cassette suites/cassettes/shared.yaml, but each test needs its "
            "own:",
            "  suites/greetings.yaml::a",
            "  suites/greetings.yaml::b",
        ]
    )
    assert not server.requests


def test_a_command_that_is_recorded_has_the_variables_of_the_user(
    project: pytest.Pytester, server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(project.path / "of-the-user"))
    project.makeini("[pytest]\nllm_mock_suites = suites/*.yaml\n")
    write(
        project,
        "suites/greetings.yaml",
        f"""
        apiVersion: llm-mock/v1
        kind: TestSuite
        metadata: {{name: greetings}}
        defaults: {{tags: [llm_mock_cassette]}}
        target: {{command: [{sys.executable}, app.py]}}
        cases:
          - {{name: a, prompt: One, assertions: [{{type: contains, value: of-the-user}}]}}
        """,
    )
    write(project, "suites/app.py", "import os\nprint(os.environ['LLM_USER_PATH'])\n")
    project.runpytest("--llm-mock-record", "once").assert_outcomes(passed=1)
