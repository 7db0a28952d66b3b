"""What does the steps of a test and judges it: a model, or a dry run, which asks none."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from llm_mock.errors import TimeIsUp
from llm_mock.specs.models import StepResult, TestSpec, Verdict
from llm_mock.specs.prompt import render
from llm_mock.specs.steps import Deadline, Report, Steps
from llm_mock.support.text import count, shorten_name

if TYPE_CHECKING:
    from llm_mock.specs.tools_server import RunningTools


@dataclass(frozen=True)
class Task:
    """What a driver is to do: the steps of a test whose setup is done."""

    spec: TestSpec
    tools: RunningTools
    deadline: Deadline
    report: Report
    root: Path
    """The root of the project."""
    setup: list[StepResult] = field(default_factory=list)
    """The results of the setup."""
    saved: dict[str, Any] = field(default_factory=dict)
    """What was saved, by name; what a driver adds, the teardown can refer to."""

    @functools.cached_property
    def prompt(self) -> str:
        """All that a model needs to do the steps and to judge the test."""
        return render(self.spec, self.setup, self.saved)


class Driver(Protocol):
    """Does the steps of a test, and judges it."""

    name: str
    """Its name in messages."""
    needs_http: bool = False
    """Whether the tools must be reachable over HTTP, too."""
    needs_live: bool = False
    """Whether it asks a real model even where `llm` is mocked."""

    def run(self, task: Task) -> Verdict:
        """Do the steps, and judge.

        Raises:
            TimeIsUp: the deadline passed; the message names what was being done.
            DriverError: it cannot be done.
        """


def given_up(who: str) -> TimeIsUp:
    """The error of a driver whose model or command took longer than the test may."""
    return TimeIsUp(f"the work of {shorten_name(who)}, which was given up")


@dataclass(frozen=True)
class DryRun(Driver):
    """Calls the tools without a model, and offline: a test of how a test is wired.

    The verdict is PASS where every call succeeded, FAIL where one did not, and UNCLEAR where there was none. Whether
    what came of the calls is as expected is not judged.
    """

    name = "dry run"

    def run(self, task: Task) -> Verdict:
        steps = Steps(task.tools.tools, task.saved, task.deadline, task.report)
        steps.run(task.spec.steps)
        if steps.problem:
            return Verdict(verdict="FAIL", reason=steps.problem, steps=steps.results, issues=[steps.problem])
        passed = sum(result.status == "pass" for result in steps.results)
        left = len(steps.results) - passed
        others = f"; {left} more {'needs' if left == 1 else 'need'} a model" if left else ""
        reason = f"Dry run: {count(passed, 'call')} succeeded{others}. Nobody judged the criteria."
        if not passed:
            reason = "Dry run: no step calls a tool, so only a model can judge this test."
        return Verdict(verdict="PASS" if passed else "UNCLEAR", reason=reason, steps=steps.results)
