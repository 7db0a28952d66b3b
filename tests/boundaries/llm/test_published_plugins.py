"""Published plugins of `llm`, as installed from the index, work with the mock unchanged."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner
from llm.cli import cli

from llm_mock import LLMMock, ResponseConfigurator, assert_prompt_contains


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a git repository with a staged change, as the current folder."""
    monkeypatch.chdir(tmp_path)
    for name, value in (("AUTHOR", "A U Thor"), ("COMMITTER", "C O Mitter")):
        monkeypatch.setenv(f"GIT_{name}_NAME", value)
        monkeypatch.setenv(f"GIT_{name}_EMAIL", f"{name.lower()}@example.com")
    git("init", "--quiet")
    (tmp_path / "greeting.txt").write_text("Hello, world\n")
    git("add", "greeting.txt")
    return tmp_path


def test_llm_commit_commits_with_the_mocked_message(
    repository: Path, mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o-mini", "```\nGreet the world\n```")
    result = CliRunner().invoke(
        cli, ["commit", "--yes", "--model", "4o-mini", "--temperature", "0.1"]
    )
    assert result.exit_code == 0, result.output
    assert git("log", "-1", "--format=%s") == "Greet the world\n"
    assert_prompt_contains(mock_llm_calls, "gpt-4o-mini", "+Hello, world")
    kwargs = mock_llm_calls.get_model("gpt-4o-mini").call_history[0]["kwargs"]
    assert (kwargs["temperature"], kwargs["max_tokens"]) == (0.1, 100)


def test_llm_commit_commits_nothing_when_the_model_fails(
    repository: Path, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set_error("*", ConnectionError("no route"))
    result = CliRunner().invoke(cli, ["commit", "--yes"])
    assert isinstance(result.exception, ConnectionError)
    assert git("rev-list", "--all", "--count") == "0\n"


def test_llm_jq_shows_the_mocked_program(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("*", ".people[0].name\n")
    result = CliRunner().invoke(
        cli, ["jq", "the first name", "--output"], input='{"people": [{"name": "Ada"}]}'
    )
    assert (result.exit_code, result.output) == (0, ".people[0].name\n")
    (call,) = mock_llm_calls.calls
    assert call["prompt"].startswith("the first name")
    assert '"Ada"' in call["prompt"]
    assert "write a jq program" in call["kwargs"]["system"]
