"""Runs plain-language tests: setup, steps and verdict by a driver, teardown."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from llm_mock.errors import TimeIsUp
from llm_mock.specs.allowed_hosts import ANY, LOOPBACK, AllowedHosts
from llm_mock.specs.drivers import Driver, DryRun, Task
from llm_mock.specs.fixture_values import saved_of
from llm_mock.specs.models import PARTS, StepResult, TestSpec, Verdict
from llm_mock.specs.steps import Deadline, Report, Steps, calls_of, named
from llm_mock.specs.tool_check import unknown_tool
from llm_mock.specs.tools_server import RunningTools, find_project_root, tools_server
from llm_mock.support.numbers import LONGEST, is_number
from llm_mock.support.redaction import redacted
from llm_mock.support.text import shorten, shorten_name

TEARDOWN_TIME = 10.0
"""Seconds that a teardown has, however little is left of the test's."""


def run_llm_test(
    spec: TestSpec,
    yaml_path: Path,
    timeout: float | None = None,
    verbose: bool = False,
    *,
    driver: Driver | None = None,
    allowed_hosts: AllowedHosts | None = None,
    report: Report | None = None,
    fixtures: Mapping[str, Any] | None = None,
) -> Verdict:
    """Run a plain-language test.

    A process of its own serves the tools: the built-in ones, and those of the plugins in `tests/llm/plugins/` of the
    project. Setup and teardown are done without a model, the steps by the driver. The teardown is always done, then the
    plugins clean up; what fails of that makes the test fail. No secrets of the environment are in the verdict.

    Args:
        spec: the test, as `load_spec` reads it.
        yaml_path: its file, which tells the project that it belongs to.
        timeout: seconds that it may take, from when its tools are there; by default as the test says. After that the
            teardown has 10 seconds more.
        verbose: print each step as it happens; `report` does that otherwise.
        driver: does the steps and judges; by default `LLMDriver()`.
        allowed_hosts: where the HTTP tools may connect to; by default in a dry run only to this machine, else anywhere.
        report: is given each result as it comes, and texts about what else happens.
        fixtures: the values of the fixtures that the test names, by their names; pytest has them itself.

    Returns:
        The verdict. Its steps are those of the setup (`setup: …`), the steps, and those of the teardown
        (`teardown: …`). A test that took too long is a FAIL.

    Raises:
        ServerError: the tools cannot be started, as a plugin is broken.
        DriverError: the driver cannot judge.
        LLMMockError: the mock has no answer for its model, or a fixture is missing.
        ValueError: the timeout makes no sense.
    """
    __tracebackhide__ = True
    _check_timeout(timeout)
    driver = driver or _default_driver()
    if allowed_hosts is None:
        allowed_hosts = LOOPBACK if isinstance(driver, DryRun) else ANY
    saved = saved_of(spec, fixtures or {})
    path, report = Path(yaml_path), report or (partial(print, flush=True) if verbose else lambda _: None)
    with tools_server(path, allowed_hosts=allowed_hosts, http=driver.needs_http) as tools:
        deadline = Deadline(timeout or spec.test.timeout)
        verdict = _Run(spec, path, tools, deadline, report, saved=saved).verdict(driver)
    for problem in tools.cleanup_errors:
        report(problem)
    return _with_problems(verdict, tools.cleanup_errors)


def _check_timeout(timeout: float | None) -> None:
    __tracebackhide__ = True
    if timeout is not None and not (is_number(timeout, most=LONGEST) and timeout):
        raise ValueError(f"timeout is {shorten(timeout)}; give a number of seconds above 0, and at most {LONGEST:,}.")


def _default_driver() -> Driver:
    from llm_mock.specs.llm_driver import LLMDriver

    return LLMDriver()


@dataclass
class _Run:
    """One run of one test, with its tools."""

    spec: TestSpec
    path: Path
    tools: RunningTools
    deadline: Deadline
    report: Report
    done: list[StepResult] = field(default_factory=list)
    saved: dict[str, Any] = field(default_factory=dict)

    def verdict(self, driver: Driver) -> Verdict:
        """Do all of it."""
        __tracebackhide__ = True
        if unknown := self._unknown_tools():
            return self._failed("; ".join(result.details for result in unknown), unknown)
        seconds = TEARDOWN_TIME  # where the driver fails, and after Ctrl-C
        try:
            verdict = self._before_teardown(driver)
            seconds = max(self.deadline.left, TEARDOWN_TIME)
        finally:
            teardown = self._torn_down(seconds)
        failed = [result for result in teardown if result.status == "fail"]
        problems = [f"{shorten_name(result.name)} failed: {result.details}" for result in failed]
        whole = _with_problems(verdict.model_copy(update={"steps": [*verdict.steps, *teardown]}), problems)
        return Verdict.model_validate(redacted(whole.model_dump()))

    def _unknown_tools(self) -> list[StepResult]:
        """A failed result for each tool that the steps name and the server does not have."""
        tools, unknown = self.tools.tools, dict[str, str]()
        for part, prefix in PARTS.items():
            for name, step in calls_of(getattr(self.spec, part), prefix):
                if step.tool not in tools:
                    unknown.setdefault(step.tool, name)
        details = {tool: unknown_tool(tool, tools) for tool in unknown}
        return [StepResult(name=name, status="fail", details=details[tool]) for tool, name in unknown.items()]

    def _before_teardown(self, driver: Driver) -> Verdict:
        __tracebackhide__ = True
        setup = Steps(self.tools.tools, self.saved, self.deadline, self._record)
        try:
            setup.run(self.spec.setup, PARTS["setup"])
            if setup.problem:
                for name, _ in named(self.spec.steps):
                    self._record(StepResult(name=name, status="skip", details="not run: the setup failed"))
                return self._failed(setup.problem, self.done)
            root = find_project_root(self.path)
            task = Task(self.spec, self.tools, self.deadline, self._record, root, setup.results, self.saved)
            judged = driver.run(task)
        except TimeIsUp as late:
            passed = ", ".join(shorten_name(result.name) for result in self.done if result.status == "pass")
            done = f"Done until then: {shorten_name(passed, 500) or 'nothing'}."
            return self._failed(f"Timed out after {self.deadline.seconds:g} s during {late}. {done}", self.done)
        return judged.model_copy(update={"steps": [*setup.results, *judged.steps]})

    def _torn_down(self, seconds: float) -> list[StepResult]:
        steps = Steps(self.tools.tools, self.saved, Deadline(seconds), self._record, keep_going=True)
        with contextlib.suppress(TimeIsUp):  # its step is among the results, as failed
            steps.run(self.spec.teardown, PARTS["teardown"])
        return steps.results

    def _record(self, happened: StepResult | str) -> None:
        if isinstance(happened, StepResult):
            happened = StepResult.model_validate(redacted(happened.model_dump()))
            self.done.append(happened)
        else:
            happened = str(redacted(happened))
        self.report(happened)

    def _failed(self, reason: str, steps: list[StepResult]) -> Verdict:
        return Verdict(verdict="FAIL", reason=reason, steps=list(steps), issues=[reason])


def _with_problems(verdict: Verdict, problems: Sequence[str]) -> Verdict:
    """The verdict of a test with what went wrong after it, which turns it into a FAIL."""
    changed: dict[str, Any] = {"issues": [*verdict.issues, *problems]}
    if problems and verdict.verdict != "FAIL":
        changed |= {"verdict": "FAIL", "reason": problems[0]}
    return verdict.model_copy(update=changed)
