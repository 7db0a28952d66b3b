"""The command line as a process of its own, which is part of the test that starts it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from planner.summary import SUMMARY_MODEL

from llm_mock import LLMMock

EXAMPLES = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def make_planner_importable_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES), prepend=os.pathsep)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner", *arguments, "--pause", "0"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_process_is_answered_as_the_test_says(
    mock_llm_calls: LLMMock, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o-mini", {"workflow_name": "translate-file"})
    mock_llm_responses.set(SUMMARY_MODEL.model_id, "It translates a file.")

    result = run("Translate notes.txt")

    assert result.stdout.endswith("\n\nIt translates a file.\n"), result.stderr
    assert [call["model_id"] for call in mock_llm_calls.calls] == [
        "gpt-4o-mini",
        SUMMARY_MODEL.model_id,
    ]


def test_without_the_mock_the_same_process_would_have_needed_a_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LLM_MOCK", "0")

    result = run("Translate notes.txt")

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: No key found")
    assert result.stderr.count("\n") == 1
