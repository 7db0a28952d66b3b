"""Drivers, which run the steps of a test and judge it: a model, or a dry run without one."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llm_mock.errors import TimeIsUp
from llm_mock.specs.models import StepResult, TestSpec, Verdict
from llm_mock.specs.prompt import render_prompt
from llm_mock.specs.steps import Deadline, Report, StepRunner
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count, shorten_name

if TYPE_CHECKING:
    from llm_mock.specs.tools_server import RunningTools


@dataclass(frozen=True)
class Task:
    """The input of a driver: a test whose setup has run, and its tools."""

    spec: TestSpec
    tools: RunningTools
    deadline: Deadline
    report: Report
    root: Path
    """The root of the project."""
    setup: list[StepResult] = field(default_factory=list)
    """The results of the setup."""
    saved: JSONObject = field(default_factory=dict)
    """Saved results by name; the teardown can refer to those that a driver adds."""

    @functools.cached_property
    def prompt(self) -> str:
        """The prompt for a model to run the steps and to judge the test."""
        return render_prompt(self.spec, self.setup, self.saved)


class Driver(Protocol):
    """An object that runs the steps of a test, and judges it."""

    name: str
    """The name in messages."""
    needs_http: bool = False
    """Whether the tools must be available over HTTP, too."""
    needs_live: bool = False
    """Whether it calls a real model even if `llm` is mocked."""

    def run(self, task: Task) -> Verdict:
        """Run the steps, and judge the test.

        Raises:
            TimeIsUp: the deadline has passed; the message names the interrupted work.
            DriverError: the driver cannot judge the test.
        """


def build_timeout_error(model: str) -> TimeIsUp:
    """Return the error for a model, or a command, that took longer than the test may."""
    return TimeIsUp(f"the work of {shorten_name(model)}, which was given up")


@dataclass(frozen=True)
class DryRun(Driver):
    """A driver that calls the tools of the steps without a model, and offline.

    The verdict is PASS if every call succeeded, FAIL if one failed, and UNCLEAR if there was none.
    The results are not judged.
    """

    name = "dry run"

    def run(self, task: Task) -> Verdict:
        """Run the steps that call a tool."""
        runner = StepRunner(task.tools.tools, task.saved, task.deadline, task.report)
        runner.run(task.spec.steps)
        results = runner.results
        problem = runner.problem
        if problem:
            return Verdict(verdict="FAIL", reason=problem, steps=results, issues=[problem])
        passed = [result for result in results if result.status == "pass"]
        # Never green on nothing.
        if not passed:
            reason = "Dry run: no step calls a tool, so only a model can judge this test."
            return Verdict(verdict="UNCLEAR", reason=reason, steps=results)
        others = ""
        skipped = len(results) - len(passed)
        if skipped:
            verb = "needs" if skipped == 1 else "need"
            others = f"; {skipped} more {verb} a model"
        calls = format_count(len(passed), "call")
        reason = f"Dry run: {calls} succeeded{others}. Nobody judged the criteria."
        return Verdict(verdict="PASS", reason=reason, steps=results)
