"""Run plain-language tests as suites of one case, which share results and reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from llm_mock.agents.result import AgentResult, ToolCallRecord
from llm_mock.checks.base import AssertionOutcome, RunContext
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.drivers import Driver, DryRun
from llm_mock.specs.failure import format_steps
from llm_mock.specs.loading import load_spec
from llm_mock.specs.models import PARTS, TestSpec, Verdict
from llm_mock.specs.runner import run_llm_test
from llm_mock.specs.steps import iterate_steps
from llm_mock.suites.repeated_runs import Conversation, RepeatingRunner, Subject
from llm_mock.suites.results import AssertionResult, TurnResult, total_cost
from llm_mock.suites.role import NO_MODEL
from llm_mock.suites.schema import Metadata, TestCase, TestSuiteDefinition
from llm_mock.support.text import format_error

CreateDriver = Callable[[str | None], Driver]
"""A function that returns a driver for a model; None is the driver's default model."""
PASSED: dict[str, bool | None] = {"PASS": True, "FAIL": False, "UNCLEAR": None}
"""The outcome of a check for each verdict; None if nothing was checked."""


class PlainAssertion(BaseAssertion):
    """A requirement in plain language: the criteria of a test, or the expectation of a step."""

    type: Literal["verdict", "expectation"]
    value: str

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return that it cannot be checked: the driver of the test judges it."""
        return AssertionOutcome(None, "Only the driver of a plain-language test judges it")


@dataclass(frozen=True)
class SpecSubject(Subject):
    """A plain-language test, whose steps call the tools of its project."""

    spec: TestSpec
    path: Path
    create_driver: CreateDriver
    """Returns the driver of a live run."""
    model: str | None = None
    """The model of the driver; None is its default."""
    allowed_hosts: AllowedHosts | None = None
    """The hosts that the HTTP tools may connect to; see `run_llm_test`."""

    @property
    def label(self) -> str:
        """Return the name in reports."""
        return "the project's tools"

    def create_runner(self, **options: Any) -> SpecRunner:
        """Return a runner of the test with the options of a `RepeatingRunner`."""
        return SpecRunner(subject=self, **options)


@dataclass(frozen=True, kw_only=True)
class SpecRunner(RepeatingRunner):
    """A runner of a plain-language test."""

    subject: SpecSubject

    @property
    def label(self) -> str:
        """Return the name of the subject in reports."""
        return self.subject.label

    @property
    def model_id(self) -> str:
        """Return the id of the model that runs the steps."""
        if self.dry_run:
            return self.subject.model or NO_MODEL
        return self._driver.model_id

    @property
    def _driver(self) -> Driver:
        if self.dry_run:
            return DryRun()
        return self.subject.create_driver(self.subject.model)

    def _get_limit(self, case: TestCase) -> float | None:
        # The test ends itself in time, and then runs its teardown.
        return None

    def _run_turns(self, case: TestCase) -> Conversation:
        subject = self.subject
        runs: list[AgentResult] = []
        start = time.perf_counter()
        output = ""
        error = None
        checks: list[AssertionResult] = []
        assertions: list[AssertionResult] = []
        try:
            verdict = run_llm_test(
                subject.spec,
                subject.path,
                self.timeout,
                driver=self._driver,
                allowed_hosts=subject.allowed_hosts,
                on_run=runs.append,
                on_check=checks.append,
            )
        except LLMMockError as problem:
            error = str(problem)
        except Exception as problem:
            error = format_error(problem)
        else:
            output = "\n".join(format_steps(verdict, subject.spec))
            assertions += _list_checks(subject.spec, verdict, self.dry_run)
        duration = time.perf_counter() - start
        turn = self._create_turn(case, output, runs, duration)
        return Conversation([turn], assertions, error, agent_fails=False, step_checks=checks)

    def _create_turn(
        self, case: TestCase, output: str, runs: Sequence[AgentResult], duration: float
    ) -> TurnResult:
        calls: list[ToolCallRecord] = []
        input_tokens = 0
        output_tokens = 0
        for run in runs:
            calls += run.all_tool_calls
            input_tokens += run.usage.input or 0
            output_tokens += run.usage.output or 0
        cost = total_cost([run.cost for run in runs])
        # Claude Code runs in its own process, so its tokens are unknown.
        if not runs and not self.dry_run:
            cost = None
        return TurnResult(
            case.prompt or "",
            output,
            tuple(calls),
            input_tokens,
            output_tokens,
            cost,
            duration,
        )


def load_spec_suite(
    path: Path, create_driver: CreateDriver, model: str | None, allowed_hosts: AllowedHosts | None
) -> tuple[TestSuiteDefinition, SpecSubject]:
    """Read a plain-language test as a suite of one case, and its subject.

    Raises:
        InvalidFile: the file is invalid, or the test needs fixtures of pytest.
    """
    spec = load_spec(path)
    if spec.test.fixtures:
        line = spec.line_of("test")
        problem = "the test uses pytest fixtures: run it with `pytest --llm`"
        raise InvalidFile(f"{path}:{line}: {problem}")
    test = spec.test
    case = TestCase(name=test.name, prompt=test.description or test.name, tags=tuple(test.tags))
    case._line = spec.line_of("test")
    suite = TestSuiteDefinition(
        apiVersion="llm-mock/v1",
        kind="TestSuite",
        metadata=Metadata(name=test.name, description=test.description),
        cases=(case,),
    )
    suite._path = path
    return suite, SpecSubject(spec, path, create_driver, model, allowed_hosts)


def _list_checks(spec: TestSpec, verdict: Verdict, dry_run: bool) -> Iterator[AssertionResult]:
    """Yield the verdict as a check, and in a dry run each expectation, which is not judged."""
    criteria = f"pass if: {spec.verdict.pass_if}; fail if: {spec.verdict.fail_if}"
    lines = dict.fromkeys([verdict.reason, *verdict.issues])
    check = PlainAssertion(type="verdict", value=criteria)
    yield AssertionResult(check, PASSED[verdict.verdict], "\n".join(lines))
    if not dry_run:
        return
    for part in PARTS:
        for _, name, step in iterate_steps(getattr(spec, part), (part,)):
            for text in filter(None, (step.expect, step.analyze)):
                expectation = PlainAssertion(type="expectation", value=text)
                yield AssertionResult(expectation, None, f"Not judged in a dry run: {name}: {text}")
