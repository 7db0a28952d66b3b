"""Run plain-language tests: setup, steps and verdict by a driver, teardown."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.boundaries.dry_run_hosts import refuse_remote_servers
from llm_mock.checks.base import RunContext
from llm_mock.core.judge_choice import get_judge_choice
from llm_mock.errors import TimeIsUp
from llm_mock.specs.allowed_hosts import ANY, LOOPBACK, AllowedHosts
from llm_mock.specs.drivers import Driver, DryRun, Task
from llm_mock.specs.fixture_values import convert_fixtures
from llm_mock.specs.models import PARTS, StepResult, TestSpec, Verdict
from llm_mock.specs.servers import create_servers
from llm_mock.specs.steps import Report, StepRunner, iterate_calls, name_steps
from llm_mock.specs.tool_check import describe_unknown_tool
from llm_mock.specs.tools_server import RunningTools, find_project_root, run_tools_server
from llm_mock.support.deadline import Deadline
from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import LONGEST, is_number
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten, shorten_message, shorten_name

if TYPE_CHECKING:
    from llm_mock.agents.result import AgentResult
    from llm_mock.agents.servers import Server
    from llm_mock.checks.evaluation import AssertionResult

TEARDOWN_TIME = 10.0
"""The minimum number of seconds for a teardown, even if the test has no time left."""


def run_llm_test(
    spec: TestSpec,
    yaml_path: Path,
    timeout: float | None = None,
    verbose: bool = False,
    *,
    driver: Driver | None = None,
    allowed_hosts: AllowedHosts | None = None,
    report: Report | None = None,
    fixtures: Mapping[str, object] | None = None,
    on_run: Callable[[AgentResult], None] | None = None,
    on_check: Callable[[AssertionResult], None] | None = None,
) -> Verdict:
    """Run a plain-language test.

    A separate process serves the tools: the built-in ones, and those of the plugins in
    `tests/llm/plugins/` of the project. Setup and teardown run without a model; the driver runs the
    steps. The teardown always runs, and then the plugins clean up; if either fails, the test fails.
    Secrets of the environment are redacted in the verdict.

    Args:
        spec: the test, as `load_spec` returns it.
        yaml_path: its file, which determines the root of the project.
        timeout: the time limit in seconds, which starts when the tools are ready; by default the
            test's own. After that, the teardown has 10 more seconds.
        verbose: print each step as it happens, unless `report` is set.
        driver: runs the steps and judges the test; by default `LLMDriver()`.
        allowed_hosts: the hosts that the HTTP tools may connect to; by default only this machine
            in a dry run, otherwise any host.
        report: a function that is called with each result, and with texts about other events.
        fixtures: the values of the test's fixtures by name; pytest passes them itself.
        on_run: a function that is called with each run of a model as an agent.
        on_check: a function that is called with the result of each check of a step, including
            repeated ones.

    Returns:
        The verdict. Its steps include the setup (`setup: …`) and the teardown (`teardown: …`). A
        test that times out is a FAIL.

    Raises:
        ServerError: the tools cannot start, because a plugin is broken.
        DriverError: the driver cannot judge the test.
        InvalidFile: `llm` does not know the model of a check, or a check has no judge.
        LLMMockError: the mock has no reply for its model, or a fixture is missing.
        ValueError: the timeout is not a positive number.
    """
    __tracebackhide__ = True
    if timeout is not None:
        _check_timeout(timeout)
    if driver is None:
        # Imported here, because a dry run does without `llm`.
        from llm_mock.specs.llm_driver import LLMDriver

        driver = LLMDriver()
    if allowed_hosts is None:
        allowed_hosts = LOOPBACK if isinstance(driver, DryRun) else ANY
    if report is None:
        report = partial(print, flush=True) if verbose else _ignore
    saved = convert_fixtures(spec, fixtures or {})
    path = Path(yaml_path)
    _check_models(spec, path, driver)
    servers = _create_allowed_servers(spec, path, driver)
    with run_tools_server(
        path,
        allowed_hosts=allowed_hosts,
        http=driver.needs_http,
        with_models=not isinstance(driver, DryRun),
        servers=servers,
    ) as tools:
        # The time starts when the tools are ready: a slow import is not the test's fault.
        deadline = Deadline(timeout or spec.test.timeout)
        context = RunContext(
            folder=path.parent,
            dry_run=isinstance(driver, DryRun),
            judges=get_judge_choice(),
            on_check=on_check,
        )
        run = _Run(spec, path, tools, deadline, report, context, saved=saved, on_run=on_run)
        verdict = run.get_verdict(driver)
    # Known only after the server has stopped.
    for problem in tools.cleanup_errors:
        report(problem)
    return _add_problems(verdict, tools.cleanup_errors)


def _create_allowed_servers(spec: TestSpec, path: Path, driver: Driver) -> list[Server]:
    """Return the servers of a test; raise an error for remote servers in a dry run."""
    __tracebackhide__ = True
    servers = create_servers(spec, path)
    if isinstance(driver, DryRun):
        refuse_remote_servers(servers)
    return servers


def _check_models(spec: TestSpec, path: Path, driver: Driver) -> None:
    """Raise an error for an unknown or missing judge, before a step runs."""
    __tracebackhide__ = True
    if isinstance(driver, DryRun):
        return
    # Imported here, because a dry run calls no model.
    from llm_mock.specs.asked_models import check_step_models

    check_step_models(spec, path)


def _check_timeout(timeout: float) -> None:
    __tracebackhide__ = True
    if not is_number(timeout, most=LONGEST) or not timeout:
        raise ValueError(
            f"timeout is {shorten(timeout)}; it must be a number of seconds above 0, and at most "
            f"{LONGEST:,}."
        )


def _ignore(event: StepResult | str) -> None:
    pass


@dataclass
class _Run:
    """A run of a test with its tools."""

    spec: TestSpec
    path: Path
    tools: RunningTools
    deadline: Deadline
    report: Report
    context: RunContext
    results: list[StepResult] = field(default_factory=list)
    saved: JSONObject = field(default_factory=dict)
    on_run: Callable[[AgentResult], None] | None = None

    def get_verdict(self, driver: Driver) -> Verdict:
        """Run setup, steps and teardown, and return the verdict."""
        __tracebackhide__ = True
        unknown = self._find_unknown_tools()
        if unknown:
            reason = "; ".join(result.details for result in unknown)
            return _build_failure(reason, unknown)
        # For the teardown after an error of the driver, or Ctrl-C.
        seconds = TEARDOWN_TIME
        try:
            verdict = self._run_until_teardown(driver)
            seconds = max(self.deadline.left, TEARDOWN_TIME)
        finally:
            teardown = self._tear_down(seconds)
        problems = []
        for result in teardown:
            if result.status == "fail":
                problems.append(f"{shorten_name(result.name)} failed: {result.details}")
        results = [*verdict.steps, *teardown]
        verdict = verdict.model_copy(update={"steps": results})
        whole = _add_problems(verdict, problems)
        # The text of the model may quote a secret that a tool returned.
        cleaned = redact(whole.model_dump())
        return Verdict.model_validate(cleaned)

    def _find_unknown_tools(self) -> list[StepResult]:
        """Return a failed result for each tool of the steps that does not exist."""
        unknown: dict[str, StepResult] = {}
        for part, prefix in PARTS.items():
            steps = getattr(self.spec, part)
            for name, step in iterate_calls(steps, prefix):
                if step.tool in self.tools.tools or step.tool in unknown:
                    continue
                details = describe_unknown_tool(step.tool, self.tools.tools)
                unknown[step.tool] = StepResult(name=name, status="fail", details=details)
        return list(unknown.values())

    def _run_until_teardown(self, driver: Driver) -> Verdict:
        __tracebackhide__ = True
        setup = StepRunner(
            self.tools.tools, self.saved, self.deadline, self._record, context=self.context
        )
        try:
            setup.run(self.spec.setup, PARTS["setup"])
            if setup.problem:
                details = "not run: the setup failed"
                for name, _ in name_steps(self.spec.steps):
                    self._record(StepResult(name=name, status="skip", details=details))
                return _build_failure(setup.problem, self.results)
            task = Task(
                spec=self.spec,
                tools=self.tools,
                deadline=self.deadline,
                report=self._record,
                context=self.context,
                root=find_project_root(self.path),
                setup=setup.results,
                saved=self.saved,
                on_run=self.on_run,
            )
            verdict = driver.run(task)
        except TimeIsUp as error:
            names = []
            for result in self.results:
                if result.status == "pass":
                    names.append(shorten_name(result.name))
            done = shorten_message(", ".join(names)) or "none"
            reason = (
                f"Timed out after {self.deadline.seconds:g} s during {error}. "
                f"Completed steps: {done}."
            )
            return _build_failure(reason, self.results)
        results = [*setup.results, *verdict.steps]
        return verdict.model_copy(update={"steps": results})

    def _tear_down(self, seconds: float) -> list[StepResult]:
        steps = StepRunner(
            self.tools.tools,
            self.saved,
            Deadline(seconds),
            self._record,
            context=self.context,
            keep_going=True,
        )
        # The step that takes too long is among the results, as failed.
        with contextlib.suppress(TimeIsUp):
            steps.run(self.spec.teardown, PARTS["teardown"])
        return steps.results

    def _record(self, event: StepResult | str) -> None:
        """Report a result or a text, without secrets, and keep results."""
        if isinstance(event, StepResult):
            event = StepResult.model_validate(redact(event.model_dump()))
            self.results.append(event)
        else:
            event = str(redact(event))
        self.report(event)


def _build_failure(reason: str, results: Sequence[StepResult]) -> Verdict:
    return Verdict(verdict="FAIL", reason=reason, steps=list(results), issues=[reason])


def _add_problems(verdict: Verdict, problems: Sequence[str]) -> Verdict:
    """Return a verdict with the problems after the test, which make it a FAIL."""
    issues = [*verdict.issues, *problems]
    changes: JSONObject = {"issues": issues}
    if problems and verdict.verdict != "FAIL":
        changes["verdict"] = "FAIL"
        changes["reason"] = problems[0]
    return verdict.model_copy(update=changes)
