"""The command line as a process of its own, which inherits `PFLOW_TESTING` from the test run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def make_planner_importable_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES), prepend=os.pathsep)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "planner", *arguments, "--pause", "0"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_the_answer_of_the_mock_fits_no_schema_so_the_process_fails_cleanly() -> None:
    # A process is answered {"success": true} to everything; that this is what the planner complains of, and not
    # a missing key, shows that no real model was asked.
    result = run("Translate notes.txt")

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr == "Error: No usable answer in 3 attempts: WorkflowMatch.workflow_name: Field required\n"


def test_without_the_mock_the_same_process_would_have_needed_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFLOW_TESTING", "0")

    result = run("Translate notes.txt")

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("Error: No key found")
    assert result.stderr.count("\n") == 1
