"""Shared by tests of commands: a project with a role and a suite."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from llm_mock.cli import main
from llm_mock.core.context import activate
from tests.report.browser import browser as browser

ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata:
  name: hello-world
spec:
  role: You are kind.
  model: {provider: openai, name: gpt-4o-mini}
"""
HEAD = """\
apiVersion: initrunner/v1
kind: TestSuite
metadata:
  name: greeting-tests
cases:
"""
SUITE = (
    HEAD
    + r"""
  - name: says-hello
    prompt: "Hi there!"
    expected_output: "Hello! How can I help you today?"
    tags: [fast]
    assertions:
      - {type: contains, value: Hello}
      - {type: not_contains, value: error}
  - name: no-errors
    prompt: "Hi"
    assertions:
      - {type: not_contains, value: error}
  - name: has-number
    prompt: "How many?"
    expected_output: "None"
    tags: [fast, numbers]
    assertions:
      - {type: regex, pattern: '\d+'}
"""
)
PASSING = SUITE.replace('expected_output: "None"', 'expected_output: "All 7"')


class Project:
    """A folder with `role.yaml` and `tests.yaml`, which is the current one."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.write("role.yaml", ROLE)
        self.write("tests.yaml", SUITE)

    def write(self, name: str, content: str) -> Path:
        """Write a file."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path

    def write_cases(self, cases: str, name: str = "tests.yaml") -> None:
        """Write a suite of these cases."""
        self.write(name, HEAD + cases)

    def test(self, *arguments: str, suite: str = "tests.yaml", **options: Any) -> Result:
        """Run `llm-mock test` with the suite, in this process."""
        return self.command("test", "role.yaml", "-s", suite, *arguments, **options)

    def dry(self, *arguments: str, **options: Any) -> Result:
        """Return the same as a dry run."""
        return self.test("--dry-run", *arguments, **options)

    def command(self, *arguments: str, charset: str = "utf-8", **options: Any) -> Result:
        """Run `llm-mock`. Any other end than an exit code fails the test."""
        result = CliRunner(charset=charset).invoke(
            main, list(arguments), prog_name="llm-mock", **options
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
        assert "Traceback" not in result.output
        return result


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """Return a project, with a folder of `llm` that is its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "user"))
    for variable in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "OPENAI_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    return Project(tmp_path)


@pytest.fixture
def real_project(project: Project) -> Iterator[Project]:
    """Yield a project, in which `llm` is not mocked and so knows only its own models."""
    previous = activate(None)
    yield project
    activate(previous)


@pytest.fixture
def process_environment(project: Project) -> dict[str, str]:
    """Return the environment of a process of the command, in which `llm` is not mocked."""
    return {**os.environ, "PFLOW_TESTING": "0", "NO_PROXY": "127.0.0.1", "PYTHONUTF8": "1"}


def command_line(*arguments: str) -> list[str]:
    """Return what starts `llm-mock` as a process."""
    return [sys.executable, "-m", "llm_mock", *arguments]


def statuses(output: str) -> dict[str, str]:
    """Return the status of each case in the tables of an output."""
    return dict(re.findall(r"│ (\S+) +│ (PASS|FAIL|NOT CHECKED) ", output))
