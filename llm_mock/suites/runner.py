"""Run the cases of a suite with an agent or a target, live or dry."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.agents.agent import Agent
from llm_mock.checks.model_guard import keep_guard
from llm_mock.core.judge_choice import JudgeChoice, get_judge_choice
from llm_mock.errors import InvalidBudget, InvalidFile
from llm_mock.suites import loading
from llm_mock.suites.case import CaseRunner
from llm_mock.suites.loading import load_suite as load_suite
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.repeated_runs import RepeatingRunner, Subject
from llm_mock.suites.results import CaseResult as CaseResult
from llm_mock.suites.results import SuiteResult as SuiteResult
from llm_mock.suites.role import Role, resolve_model
from llm_mock.suites.scheduling import CaseEvents, run_cases
from llm_mock.suites.schema import Target, TestCase, TestSuiteDefinition
from llm_mock.suites.snapshots import Snapshots, load_snapshots
from llm_mock.suites.stop_conditions import CostLimit, StopCondition, iterate_until_stopped
from llm_mock.suites.target_runner import TargetRunner, needs_calls
from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES, is_number, is_whole
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.model import MockLLMModel
    from llm_mock.cassettes import RecordMode
    from llm_mock.suites.live_calls import LiveCalls
    from llm_mock.suites.suite_cassettes import SuiteCassettes

MAX_JOBS = 1_000
NO_VARIANT: Mapping[str, str] = MappingProxyType({})


def run_case(
    agent: Agent | Role | Subject | Target,
    case: TestCase,
    *,
    folder: Path | None = None,
    dry_run: bool = False,
    model_override: llm.Model | None = None,
    repeat: int | None = None,
    threshold: float | None = None,
    retry: int = 0,
    judge: str | None = None,
    timeout: float | None = None,
    get_model: Callable[[str], MockLLMModel] | None = None,
    cassettes: SuiteCassettes | None = None,
    variant: Mapping[str, str] = NO_VARIANT,
    snapshots: Snapshots | None = None,
) -> CaseResult:
    """Run one case; its errors are part of the result.

    Args:
        agent: the agent, its role, or the target of the suite.
        case: the case, as `load_suite` returns it: without rows, variables and files.
        folder: the folder of the suite, which contains the functions of `python` assertions.
        dry_run: use the case's expected output or replies instead of a real model. The agent's
            servers are started nevertheless.
        model_override: the model to use instead of the agent's.
        repeat: the number of runs; by default the case's own, or 1.
        threshold: the share of the runs that must pass, above 0 and at most 1; by default the
            case's own, or 1.
        retry: the number of times to retry a failed run; only the last attempt counts.
        judge: the id of the judge model, which overrides the models of assertions; by default the
            one set on the command line, if any.
        timeout: the time limit of a run in seconds, assertions included; by default the case's own.
        get_model: a function that returns the model for an id in a dry run; its mock records the
            calls.
        cassettes: the cassettes that record and replay model responses; by default none.
        variant: the names of the variant's entries, which select scripted replies; see
            `run_suite`.
        snapshots: the outputs that the run must reproduce; by default nothing is compared.

    Raises:
        ValueError: an argument is invalid.
        InvalidFile: in a live run, `llm` does not know the role's model or a judge.
    """
    __tracebackhide__ = True
    _check_numbers(repeat, threshold, timeout, retry, jobs=1)
    runner = _create_runner(
        agent,
        [case],
        model_override,
        get_model,
        folder=folder,
        dry_run=dry_run,
        judge=judge,
        cassettes=cassettes,
        repeat=repeat,
        threshold=threshold,
        retry=retry,
        timeout=timeout,
        variant=variant,
        snapshots=snapshots,
    )
    _check_models(runner, [case], shorten(case.name))
    with _activate_mocks(runner):
        return runner.run(case)


def run_suite(
    agent: Agent | Role | Subject | None,
    suite: TestSuiteDefinition,
    *,
    dry_run: bool = False,
    model_override: llm.Model | None = None,
    repeat: int | None = None,
    threshold: float | None = None,
    jobs: int = 1,
    retry: int = 0,
    max_cost: Decimal | float | None = None,
    judge: str | None = None,
    min_score: float | None = None,
    timeout: float | None = None,
    cassette: RecordMode | None = None,
    variant: Mapping[str, str] = NO_VARIANT,
    compare_snapshots: bool = True,
    on_result: Callable[[CaseResult], None] | None = None,
    on_start: Callable[[TestCase], None] | None = None,
) -> SuiteResult:
    """Run the cases of a suite. A failed case does not stop the others.

    Args:
        agent: the agent or its role; None if the suite has a target.
        suite: the suite, read from a file or made in Python.
        dry_run: use the cases' expected outputs or replies instead of a real model. The agent's
            servers are started nevertheless.
        model_override: the model to use instead of the agent's.
        repeat: the number of runs of each case; by default the case's own, or 1.
        threshold: the share of the runs that must pass, above 0 and at most 1; by default the
            case's own, or 1.
        jobs: the number of cases to run at the same time, in threads.
        retry: the number of times to retry a failed run; only the last attempt counts.
        max_cost: the cost limit in US dollars; once the cases reach it, no further case starts.
        judge: the id of the judge model, which overrides the models of assertions; by default the
            one set on the command line, if any.
        min_score: the lowest score, above 0 and at most 1, at which the suite passes even if cases
            fail; by default the suite's own. Without a `min_score`, all cases must pass.
        timeout: the time limit of a run in seconds, assertions included; by default the case's own.
        cassette: the record mode, such as `new_episodes` to record new calls, or `none` to make no
            real call. Each run of a case has a cassette next to the suite file, which records and
            replays the model responses. By default nothing is recorded.
        variant: the parts that differ from other runs of the suite: names by `role`, `target`,
            `model`, ….
        compare_snapshots: compare the outputs with the snapshots next to the suite file, if any.
        on_result: called with each result as soon as it is available, in the thread that called
            `run_suite`.
        on_start: called with each case when it starts, in the same thread.

    Returns:
        The results in the order of the suite, and the cases that were not run.

    Raises:
        ValueError: an argument is invalid.
        InvalidBudget: `max_cost` is not a valid amount, or the price of the model is unknown.
        InvalidFile: `llm` does not know the role's model or a judge, or a file of the suite is
            invalid.
        MissingExtra: `max_cost` is set, but the prices of the providers are not installed.
    """
    __tracebackhide__ = True
    _check_numbers(repeat, threshold, timeout, retry, jobs)
    _check_share("min_score", min_score)
    start = time.perf_counter()
    suite = loading.expand_suite(suite)
    cassettes = None
    if cassette is not None:
        # Imported here: a run without cassettes should not take the time.
        from llm_mock.suites.suite_cassettes import create_suite_cassettes

        cassettes = create_suite_cassettes(suite, cassette, dry_run, format_variant_name(variant))
    runner = _create_runner(
        get_agent_or_target(agent, suite),
        suite.cases,
        model_override,
        folder=suite.path.parent if suite.path else None,
        dry_run=dry_run,
        judge=judge,
        cassettes=cassettes,
        repeat=repeat,
        threshold=threshold,
        retry=retry,
        timeout=timeout,
        variant=variant,
        snapshots=_load_snapshots(suite, compare_snapshots),
    )
    _check_models(runner, suite.cases, loading.get_suite_label(suite))
    stop = StopCondition(None if max_cost is None else _create_budget(max_cost, runner))
    events = run_cases(
        runner,
        suite.cases,
        iterate_until_stopped(len(suite.cases), stop),
        jobs,
    )
    with _activate_mocks(runner):
        results = _collect_results(events, suite.cases, stop, on_start, on_result)
    not_run = tuple(case for position, case in enumerate(suite.cases) if position not in results)
    return SuiteResult(
        suite_name=suite.metadata.name,
        agent=runner.label,
        model=runner.model_id,
        # Cases that run at once may end in another order.
        case_results=tuple(results[position] for position in sorted(results)),
        dry_run=dry_run,
        not_run=not_run,
        stopped=stop.reason if not_run else None,
        duration=time.perf_counter() - start,
        target=runner.label if suite.target else None,
        min_score=suite.min_score if min_score is None else min_score,
        cassette=cassette,
        variant=variant,
    )


def _load_snapshots(suite: TestSuiteDefinition, compare: bool) -> Snapshots | None:
    __tracebackhide__ = True
    return load_snapshots(suite.path) if compare else None


def _collect_results(
    events: CaseEvents,
    cases: Sequence[TestCase],
    stop: StopCondition,
    on_start: Callable[[TestCase], None] | None,
    on_result: Callable[[CaseResult], None] | None,
) -> dict[int, CaseResult]:
    """Run the cases, and return their results by their positions in the suite."""
    results: dict[int, CaseResult] = {}
    for position, result in events:
        if result is None:
            # The case has just been started.
            if on_start is not None:
                on_start(cases[position])
            continue
        # Before the next event is taken: it may be the start of another case.
        stop.add(result)
        if on_result is not None:
            on_result(result)
        results[position] = result
    return results


def _check_models(runner: RepeatingRunner, cases: Sequence[TestCase], label: str) -> None:
    """Raise an error for an unknown or missing judge, before the agent or target is called."""
    __tracebackhide__ = True
    if runner.dry_run:
        return
    # Replayed calls reach no model, so `llm` need not know it.
    if runner.cassettes is not None and runner.cassettes.mode == "none":
        return
    # Imported here: a dry run should not take the time.
    from llm_mock.suites.asked_models import check_models, iterate_asked_models

    asked = list(iterate_asked_models(cases, JudgeChoice(override=runner.judge)))
    check_models(asked, label, needs_judge=runner.model_id is None)


def _create_budget(max_cost: Decimal | float, runner: RepeatingRunner) -> CostLimit:
    __tracebackhide__ = True
    if runner.dry_run:
        return CostLimit(max_cost, None)
    if runner.model_id is None:
        problem = "max_cost cannot be checked: the cost of a target is unknown."
        raise InvalidBudget(f"{problem} Remove the limit.")
    return CostLimit(max_cost, runner.model_id)


def _activate_mocks(runner: RepeatingRunner) -> AbstractContextManager[None]:
    """Return a context that activates the runner's cassettes, or refuses models in a dry run."""
    if isinstance(runner, TargetRunner):
        target = runner.target
        if runner.live_calls is not None:
            return runner.live_calls.activate(target)
    else:
        target = None
    if runner.cassettes is None:
        # Each run of a function activates its own mock, which a kept guard would outlive.
        is_function = target is not None and target.function is not None
        return keep_guard() if runner.dry_run and not is_function else contextlib.nullcontext()
    return runner.cassettes.activate(target)


def get_agent_or_target(
    agent: Agent | Role | Subject | None,
    suite: TestSuiteDefinition,
) -> Agent | Role | Subject | Target:
    """Return the agent or the target that the prompts of a suite are for.

    Raises:
        InvalidFile: there is neither, or both; or the suite has a matrix, which needs
            `variants_of`.
    """
    __tracebackhide__ = True
    name = loading.get_suite_label(suite)
    if suite.matrix is not None:
        advice = "run each variant of `variants_of(agent, suite)`"
        raise InvalidFile(f"{name}: the suite has a matrix: {advice}")
    if agent is not None and suite.target is not None:
        problem = "a role and the 'target' of the suite cannot be combined"
        raise InvalidFile(f"{name}: {problem}: remove one of them")
    agent_or_target = agent if agent is not None else suite.target
    if agent_or_target is None:
        advice = "pass a role, or add a 'target' to the suite"
        raise InvalidFile(f"{name}: the suite has no role and no target: {advice}")
    return agent_or_target


def _create_live_calls(
    target: Target,
    cases: Sequence[TestCase],
    options: Mapping[str, Any],
) -> LiveCalls | None:
    """Return an observer for the calls of a live run; None if no case needs it."""
    if options["dry_run"] or options["cassettes"] is not None or target.url is not None:
        return None
    if not any(map(needs_calls, cases)):
        return None
    # Imported here: most runs observe nothing.
    from llm_mock.suites.live_calls import LiveCalls

    return LiveCalls()


def _create_runner(
    agent: Agent | Role | Subject | Target,
    cases: Sequence[TestCase],
    model_override: llm.Model | None,
    get_model: Callable[[str], MockLLMModel] | None = None,
    **options: Any,
) -> RepeatingRunner:
    __tracebackhide__ = True
    options["judge"] = options["judge"] or get_judge_choice().override
    if isinstance(agent, Target):
        live_calls = _create_live_calls(agent, cases, options)
        return TargetRunner(target=agent, live_calls=live_calls, **options)
    if isinstance(agent, Subject):
        return agent.create_runner(**options)
    if isinstance(agent, Role):
        # Only a run that calls the role's own model needs `llm` to know it.
        needs_model = not options["dry_run"] and model_override is None
        role = resolve_model(agent) if needs_model else agent
        agent = role.agent
    return CaseRunner(
        agent=agent,
        model_override=model_override,
        get_model=get_model,
        **options,
    )


def _check_numbers(
    repeat: int | None,
    threshold: float | None,
    timeout: float | None,
    retry: int,
    jobs: int,
) -> None:
    __tracebackhide__ = True
    ranges = (
        ("repeat", repeat, 1, MOST_REPETITIONS),
        ("retry", retry, 0, MOST_RETRIES),
        ("jobs", jobs, 1, MAX_JOBS),
    )
    for name, value, least, most in ranges:
        if value is not None and not is_whole(value, least, most):
            expected = f"a whole number from {least} to {most:,}"
            raise ValueError(f"{name} is {shorten(value)}; it must be {expected}.")
    _check_share("threshold", threshold)
    # `is_number` accepts 0, with which every run would time out.
    if timeout is not None and not (is_number(timeout, most=LONGEST) and timeout):
        expected = f"a number of seconds above 0, and at most {LONGEST:,}"
        raise ValueError(f"timeout is {shorten(timeout)}; it must be {expected}.")


def _check_share(name: str, value: float | None) -> None:
    __tracebackhide__ = True
    # A share of 0 would pass whatever happens.
    if value is not None and not (is_number(value, most=1) and value):
        raise ValueError(f"{name} is {shorten(value)}; it must be a share above 0, and at most 1.")
