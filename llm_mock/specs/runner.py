"""Runs plain-language tests: setup, steps and verdict by a driver, teardown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.errors import TimeIsUp
from llm_mock.specs import explain
from llm_mock.specs.deadline import Deadline
from llm_mock.specs.drivers import Driver, DryRun, Task
from llm_mock.specs.loading import PARTS
from llm_mock.specs.loading import load_spec as load_spec
from llm_mock.specs.models import StepResult, TestSpec, Verdict
from llm_mock.specs.project import find_project_root
from llm_mock.specs.steps import Report, Steps, calls_of, named
from llm_mock.support.redaction import default_redactor

if TYPE_CHECKING:
    from llm_mock.specs.allowed_hosts import AllowedHosts
    from llm_mock.specs.tools_server import RunningTools

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
) -> Verdict:
    """Run a plain-language test.

    A process of its own serves the tools: the built-in ones, and those of the plugins in `tests/llm/plugins/` of the
    project. Setup and teardown are done without a model, the steps by the driver. The teardown is done whatever came
    before, then the plugins clean up; what fails of that makes the test fail. No secrets of the environment are in the
    verdict.

    Args:
        spec: the test, as `load_spec` reads it.
        yaml_path: its file, which tells the project that it belongs to.
        timeout: seconds that it may take, from when its tools are there; by default as the test says. After that the
            teardown has 10 seconds more.
        verbose: print each step as it happens; `report` does that otherwise.
        driver: who does the steps and judges; by default `LLMDriver()`.
        allowed_hosts: where the HTTP tools may connect to; by default in a dry run only to this machine, else anywhere.
        report: is told each result as it comes, and as a text what else happens.

    Returns:
        The verdict. Its steps are those of the setup (`setup: …`), the steps, and those of the teardown
        (`teardown: …`). A test that took too long is a FAIL.

    Raises:
        ServerError: the tools cannot be started, as a plugin is broken.
        DriverError: the driver cannot judge.
        LLMMockError: the mock has no answer for its model.
    """
    __tracebackhide__ = True
    from llm_mock.specs.allowed_hosts import ANY, LOOPBACK
    from llm_mock.specs.tools_server import tools_server

    driver = driver or _default_driver()
    if allowed_hosts is None:
        allowed_hosts = LOOPBACK if isinstance(driver, DryRun) else ANY
    path, report = Path(yaml_path), report or (_print if verbose else _ignore)
    with tools_server(path, allowed_hosts=allowed_hosts, http=driver.needs_http) as tools:
        verdict = _Run(spec, path, tools, timeout or spec.test.timeout, report).verdict(driver)
    for problem in tools.cleanup_errors:
        report(problem)
    return _with_problems(verdict, tools.cleanup_errors)


def _default_driver() -> Driver:
    from llm_mock.specs.llm_driver import LLMDriver

    return LLMDriver()


def _print(happened: StepResult | str) -> None:
    print(explain.step_line(happened) if isinstance(happened, StepResult) else happened, flush=True)


def _ignore(_: StepResult | str) -> None: ...


class _Run:
    """One run of one test, with its tools."""

    def __init__(self, spec: TestSpec, path: Path, tools: RunningTools, seconds: float, report: Report) -> None:
        self._spec = spec
        self._path = path
        self._tools = tools
        self._deadline = Deadline(seconds)
        self._report = report
        self._clean = default_redactor().clean
        self._done: list[StepResult] = []
        self._saved: dict[str, Any] = {}

    def verdict(self, driver: Driver) -> Verdict:
        """Do all of it."""
        __tracebackhide__ = True
        if unknown := self._unknown_tools():
            return self._failed("; ".join(result.details for result in unknown), unknown)
        seconds = TEARDOWN_TIME  # where the driver fails, and after Ctrl-C
        try:
            verdict = self._before_teardown(driver)
            seconds = max(self._deadline.left, TEARDOWN_TIME)
        finally:
            teardown = self._torn_down(seconds)
        return self._without_secrets(_with_teardown(verdict, teardown))

    def _unknown_tools(self) -> list[StepResult]:
        """What is wrong before anything is done."""
        tools = self._tools.tools
        unknown: dict[str, str] = {}
        for part in PARTS:
            for name, step in calls_of(getattr(self._spec, part), _within(part)):
                if step.tool not in tools:
                    unknown.setdefault(step.tool, name)
        return [
            StepResult(name=name, status="fail", details=explain.unknown_tool(tool, tools))
            for tool, name in unknown.items()
        ]

    def _before_teardown(self, driver: Driver) -> Verdict:
        __tracebackhide__ = True
        setup = Steps(self._tools.tools, self._saved, self._deadline, self._tell)
        try:
            setup.run(self._spec.setup, _within("setup"))
            if setup.failed:
                return self._setup_failed(setup)
            judged = driver.run(self._task(setup))
        except TimeIsUp as late:
            reason = explain.timed_out(self._deadline.seconds, str(late), self._done)
            return self._failed(reason, self._done)
        return judged.model_copy(update={"steps": [*setup.results, *judged.steps]})

    def _task(self, setup: Steps) -> Task:
        root = find_project_root(self._path)
        return Task(self._spec, self._tools, self._deadline, self._tell, root, setup.results, self._saved)

    def _setup_failed(self, setup: Steps) -> Verdict:
        assert setup.failed is not None
        for name, _ in named(self._spec.steps):
            self._tell(StepResult(name=name, status="skip", details=explain.setup_failed()))
        return self._failed(explain.step_failed(setup.failed), self._done)

    def _torn_down(self, seconds: float) -> list[StepResult]:
        steps = Steps(self._tools.tools, self._saved, Deadline(seconds), self._tell, keep_going=True)
        with contextlib.suppress(TimeIsUp):  # the step meanwhile has failed
            steps.run(self._spec.teardown, _within("teardown"))
        return steps.results

    def _tell(self, happened: StepResult | str) -> None:
        if isinstance(happened, StepResult):
            happened = StepResult.model_validate(self._clean(happened.model_dump()))
            self._done.append(happened)
        self._report(happened)

    def _failed(self, reason: str, steps: list[StepResult]) -> Verdict:
        return Verdict(verdict="FAIL", reason=reason, steps=list(steps), issues=[reason])

    def _without_secrets(self, verdict: Verdict) -> Verdict:
        return Verdict.model_validate(self._clean(verdict.model_dump()))


def _within(part: str) -> str:
    return "" if part == "steps" else f"{part}: "


def _with_teardown(verdict: Verdict, teardown: list[StepResult]) -> Verdict:
    """The verdict of a test with what came of its teardown, which may turn it into a FAIL."""
    problems = [explain.teardown_failed(result) for result in teardown if result.status == "fail"]
    return _with_problems(verdict.model_copy(update={"steps": [*verdict.steps, *teardown]}), problems)


def _with_problems(verdict: Verdict, problems: Sequence[str]) -> Verdict:
    """The verdict of a test after which something went wrong: a FAIL, if there is anything."""
    changed: dict[str, Any] = {"issues": [*verdict.issues, *problems]}
    if problems and verdict.verdict != "FAIL":
        changed |= {"verdict": "FAIL", "reason": problems[0]}
    return verdict.model_copy(update=changed)
