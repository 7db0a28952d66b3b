"""Runs the cases of a suite with an agent: live, or dry."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.agents.agent import Agent
from llm_mock.errors import InvalidBudget, InvalidFile
from llm_mock.suites import loading
from llm_mock.suites.case import CaseRunner
from llm_mock.suites.loading import load_suite as load_suite
from llm_mock.suites.matrix import format_variant_name
from llm_mock.suites.repeating import RepeatingRunner
from llm_mock.suites.results import CaseResult as CaseResult
from llm_mock.suites.results import SuiteResult as SuiteResult
from llm_mock.suites.role import Role, resolve_model
from llm_mock.suites.scheduling import Events, run_of
from llm_mock.suites.schema import Target, TestCase, TestSuiteDefinition
from llm_mock.suites.stopping import Budget, Stop, until_stopped
from llm_mock.suites.target_run import TargetRunner
from llm_mock.support.numbers import LONGEST, MOST_REPETITIONS, MOST_RETRIES, is_number, is_whole
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.model import MockLLMModel
    from llm_mock.cassettes.record_modes import RecordMode
    from llm_mock.suites.recorded import Cassettes

MOST_JOBS = 1_000
NO_VARIANT: Mapping[str, str] = MappingProxyType({})


def run_case(
    agent: Agent | Role | Target,
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
    cassettes: Cassettes | None = None,
) -> CaseResult:
    """Run one case. Whatever goes wrong in it is in the result.

    Args:
        agent: the agent, the role that says what it is, or the target of the suite.
        case: the case, as `load_suite` gives it: without rows, variables and files.
        folder: where the functions of `python` assertions lie: the folder of the suite.
        dry_run: have the model answer what the case expects. The servers of the agent are started nevertheless.
        model_override: the model that is asked instead of the agent's; None is the agent's own.
        repeat: how often the case is run; by default as it says itself, else once.
        threshold: the share of these runs that must pass, above 0, at most 1; by default as it says itself, else all.
        retry: how often a run that failed is run again; only the last one counts.
        judge: the model of `llm` that judges, whatever an assertion says.
        timeout: seconds that a run of the case may take, its assertions included; by default as it says itself.
        get_model: in a dry run, gives the model of an id, whose mock then sees the calls.
        cassettes: where what models answer is recorded, and replayed from; by default nowhere.

    Raises:
        ValueError: an argument makes no sense.
        InvalidFile: `llm` does not know the model of the role, and the run is not dry.
    """
    __tracebackhide__ = True
    _check_numbers(repeat, threshold, timeout, retry, jobs=1)
    how: dict[str, Any] = {"folder": folder, "dry_run": dry_run, "judge": judge, "cassettes": cassettes}
    how |= {"repeat": repeat, "threshold": threshold, "retry": retry, "timeout": timeout}
    runner = _runner(agent, model_override, how, get_model)
    with _recorded(runner):
        return runner.run(case)


def run_suite(
    agent: Agent | Role | None,
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
    on_result: Callable[[CaseResult], None] | None = None,
    on_start: Callable[[TestCase], None] | None = None,
) -> SuiteResult:
    """Run the cases of a suite. A case that fails, for whatever reason, does not stop the others.

    Args:
        agent: the agent, or the role that says what it is; None where the suite names its target.
        suite: the suite, read from a file or made in Python.
        dry_run: have the model answer what each case expects; see `run_case`.
        model_override: the model that is asked instead of the agent's; None is the agent's own.
        repeat: how often each case is run; by default as it says itself, else once.
        threshold: the share of these runs that must pass, above 0, at most 1; by default as the case says, else all.
        jobs: how many cases run at once, in threads.
        retry: how often a run that failed is run again; only the last one counts.
        max_cost: US dollars; when the cases have cost so much, no further one is started.
        judge: the model of `llm` that judges, whatever an assertion says.
        min_score: the least score, above 0, at most 1, for the suite to pass, though cases may fail; by default as the
            suite says, else all cases must pass.
        timeout: seconds that a run of a case may take, its assertions included; by default as the case says itself.
        cassette: record what models answer in cassettes beside the file of the suite, one for each run of a case, and
            replay what was recorded: the record mode, `new_episodes` to ask what is new, `none` to ask nothing.
        variant: what tells the run from others of the suite beside it: names by `role`, `target`, `model`, ….
        on_result: called with each result as it comes, in the thread that called `run_suite`.
        on_start: called with each case when it is started, in the same thread.

    Returns:
        The results in the order of the suite, and the cases that were not run.

    Raises:
        ValueError: an argument makes no sense.
        InvalidBudget: `max_cost` is no amount, or the price of the model is not known.
        InvalidFile: `llm` does not know the model of the role, or a file of the suite is wrong.
        MissingExtra: there is a `max_cost`, and the prices of the providers are not installed.
    """
    __tracebackhide__ = True
    _check_numbers(repeat, threshold, timeout, retry, jobs)
    _check_share("min_score", min_score)
    start = time.perf_counter()
    suite = loading.expand_suite(suite)
    folder = suite.path.parent if suite.path else None
    cassettes = None if cassette is None else _cassettes(suite, cassette, dry_run, variant)
    how: dict[str, Any] = {"folder": folder, "dry_run": dry_run, "judge": judge, "cassettes": cassettes}
    how |= {"repeat": repeat, "threshold": threshold, "retry": retry, "timeout": timeout}
    runner = _runner(who_answers(agent, suite), model_override, how)
    stop = Stop(None if max_cost is None else _budget(max_cost, runner))
    events = run_of(runner, suite.cases, until_stopped(len(suite.cases), stop), jobs)
    with _recorded(runner):
        results = dict(_told(events, suite.cases, stop, on_start, on_result))
    not_run = tuple(case for position, case in enumerate(suite.cases) if position not in results)
    return SuiteResult(
        suite.metadata.name,
        runner.label,
        runner.model_id,
        tuple(result for _, result in sorted(results.items())),
        dry_run,
        not_run,
        stop.reason if not_run else None,
        time.perf_counter() - start,
        runner.label if suite.target else None,
        min_score=suite.min_score if min_score is None else min_score,
        cassette=cassette,
        variant=variant,
    )


def _budget(max_cost: Decimal | float, runner: RepeatingRunner) -> Budget:
    __tracebackhide__ = True
    if runner.model_id is None and not runner.dry_run:
        raise InvalidBudget("max_cost cannot be checked: what a target spends is not seen. Leave the limit out.")
    return Budget(max_cost, None if runner.dry_run else runner.model_id)


def _told(
    events: Events,
    cases: Sequence[TestCase],
    stop: Stop,
    on_start: Callable[[TestCase], None] | None,
    on_result: Callable[[CaseResult], None] | None,
) -> Iterator[tuple[int, CaseResult]]:
    """The results with the positions of their cases, told to whoever wants to know."""
    for position, result in events:
        if result is None:
            if on_start is not None:
                on_start(cases[position])
            continue
        stop.see(result)
        if on_result is not None:
            on_result(result)
        yield position, result


def _cassettes(suite: TestSuiteDefinition, mode: RecordMode, dry_run: bool, variant: Mapping[str, str]) -> Cassettes:
    from llm_mock.suites.recorded import cassettes_of  # a run without them takes no time for it

    __tracebackhide__ = True
    return cassettes_of(suite, mode, dry_run, format_variant_name(variant))


def _recorded(runner: RepeatingRunner) -> AbstractContextManager[None]:
    """Within it the cassettes of a runner answer, if it has some."""
    if runner.cassettes is None:
        return contextlib.nullcontext()
    return runner.cassettes.mocking(runner.target if isinstance(runner, TargetRunner) else None)


def who_answers(agent: Agent | Role | None, suite: TestSuiteDefinition) -> Agent | Role | Target:
    """The agent, or the target of a suite.

    Raises:
        InvalidFile: there is neither, or both.
    """
    __tracebackhide__ = True
    if suite.matrix is not None:
        raise InvalidFile(f"{loading.get_suite_label(suite)}: it has a matrix: run each of `variants_of(agent, suite)`")
    answering = agent if suite.target is None else suite.target
    if answering is not None and (agent is None or suite.target is None):
        return answering
    owner = loading.get_suite_label(suite)
    if answering is None:
        raise InvalidFile(f"{owner}: nothing answers its prompts: name a role, or write a 'target' into the suite")
    raise InvalidFile(f"{owner}: its 'target' answers its prompts: leave the role out, or the target")


def _runner(
    answering: Agent | Role | Target,
    model_override: llm.Model | None,
    how: dict[str, Any],
    get_model: Callable[[str], MockLLMModel] | None = None,
) -> RepeatingRunner:
    __tracebackhide__ = True
    if isinstance(answering, Target):
        return TargetRunner(target=answering, **how)
    agent = _agent_of(answering, not how["dry_run"] and model_override is None)
    return CaseRunner(agent=agent, model_override=model_override, get_model=get_model, **how)


def _check_numbers(repeat: int | None, threshold: float | None, timeout: float | None, retry: int, jobs: int) -> None:
    __tracebackhide__ = True
    ranges = ("repeat", repeat, 1, MOST_REPETITIONS), ("retry", retry, 0, MOST_RETRIES), ("jobs", jobs, 1, MOST_JOBS)
    for name, value, least, most in ranges:
        if value is not None and not is_whole(value, least, most):
            raise ValueError(f"{name} is {shorten(value)}; give a whole number from {least} to {most:,}.")
    _check_share("threshold", threshold)
    if timeout is not None and not (is_number(timeout, most=LONGEST) and timeout):
        raise ValueError(f"timeout is {shorten(timeout)}; give seconds, above 0, and at most {LONGEST:,}.")


def _check_share(name: str, value: float | None) -> None:
    __tracebackhide__ = True
    if value is not None and not (is_number(value, most=1) and value):
        raise ValueError(f"{name} is {shorten(value)}; give a share above 0, and at most 1.")


def _agent_of(agent: Agent | Role, live: bool) -> Agent:
    __tracebackhide__ = True
    if isinstance(agent, Agent):
        return agent
    return resolve_model(agent).agent if live else agent.agent
