"""Drivers, which run the steps of a test and judge it: a model, or a dry run without one."""

from __future__ import annotations

import functools
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from llm_mock.checks.base import RunContext
from llm_mock.errors import TimeIsUp
from llm_mock.specs.models import StepResult, TestSpec, Verdict
from llm_mock.specs.prompt import render_prompt
from llm_mock.specs.steps import Report, StepRunner
from llm_mock.support.deadline import Deadline
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult
    from llm_mock.specs.tools_server import RunningTools


DRIVERS = {
    "llm": "llm_mock.specs.llm_driver:LLMDriver",
    "claude-code": "llm_mock.specs.claude_code:ClaudeCodeDriver",
}
"""The values of ini `llm_mock_spec_driver` and the classes to load for them.

Each class takes `model`: an id, or None.
"""
NOT_CHECKED = "Not checked in the dry run"
"""The beginning of the reason of a verdict if the dry run of a test compares nothing."""


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
    context: RunContext = field(default_factory=RunContext)
    """The context of the checks of steps."""
    saved: JSONObject = field(default_factory=dict)
    """Saved results by name; the teardown can refer to those that a driver adds."""
    on_run: Callable[[AgentResult], None] | None = None
    """A function that is called with each run of a model as an agent."""

    @functools.cached_property
    def prompt(self) -> str:
        """The prompt that asks a model to run the steps and judge the test."""
        return render_prompt(self.spec, self.setup, self.saved)


class Driver(Protocol):
    """An object that runs the steps of a test, and judges it."""

    name: str
    """The name in messages."""
    needs_http: bool = False
    """Whether the tools must be available over HTTP, too."""
    needs_live: bool = False
    """Whether it calls a real model even if `llm` is mocked."""

    @property
    def model_id(self) -> str:
        """Return the id of the model in results."""
        return self.name

    def run(self, task: Task) -> Verdict:
        """Run the steps, and judge the test.

        Raises:
            TimeIsUp: the deadline has passed; the message names the interrupted work.
            DriverError: the driver cannot judge the test.
        """


def create_driver(name: str, model: str | None) -> Driver:
    """Return one of `DRIVERS` with a model; None is its default model."""
    driver: Driver = pkgutil.resolve_name(DRIVERS[name])(model=model)
    return driver


def build_timeout_error(model: str) -> TimeIsUp:
    """Return the error for a model or a command that exceeds the time limit of the test."""
    return TimeIsUp(f"the work of {shorten_name(model)}")


@dataclass(frozen=True)
class DryRun(Driver):
    """A driver that calls the tools of the steps without a model, and offline.

    The verdict is FAIL if a call failed, PASS if all succeeded and a comparison of the steps held,
    and UNCLEAR without a comparison, because only the calls themselves were checked. Expectations
    in plain language are not judged; the reason states their number.
    """

    name = "dry run"

    def run(self, task: Task) -> Verdict:
        """Run the steps that call a tool."""
        runner = StepRunner(
            task.tools.tools, task.saved, task.deadline, task.report, context=task.context
        )
        runner.run(task.spec.steps)
        results = runner.results
        problem = runner.problem
        if problem:
            return Verdict(verdict="FAIL", reason=problem, steps=results, issues=[problem])
        passed = [result for result in results if result.status == "pass"]
        # A test that checks nothing must not pass.
        if not passed:
            reason = f"{NOT_CHECKED}: no step calls a tool, so only a model can judge this test."
            return Verdict(verdict="UNCLEAR", reason=reason, steps=results)
        others = ""
        skipped = len(results) - len(passed)
        if skipped:
            verb = "needs" if skipped == 1 else "need"
            others = f"; {skipped} more {verb} a model"
        calls = format_count(len(passed), "call")
        done = f"{calls} succeeded{others}. {_describe_unjudged(runner)}"
        if not runner.checked:
            reason = f"{NOT_CHECKED}: no step compares anything. {done}"
            return Verdict(verdict="UNCLEAR", reason=reason, steps=results)
        return Verdict(verdict="PASS", reason=f"Dry run: {done}", steps=results)


def _describe_unjudged(runner: StepRunner) -> str:
    subjects = "the criteria"
    if runner.unjudged:
        subjects = f"{format_count(runner.unjudged, 'expectation')} and {subjects}"
    return f"Not judged: {subjects}."
