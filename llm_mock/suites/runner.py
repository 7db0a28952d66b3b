"""Runs the cases of a suite with an agent: live, or dry."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.agents.agent import Agent
from llm_mock.cost.prices import amount, cost_of
from llm_mock.errors import InvalidBudget
from llm_mock.suites import loading
from llm_mock.suites.case import CaseRunner
from llm_mock.suites.loading import load_suite as load_suite
from llm_mock.suites.results import CaseResult as CaseResult
from llm_mock.suites.results import SuiteResult as SuiteResult
from llm_mock.suites.role import Role, resolve_model
from llm_mock.suites.schema import TestCase, TestSuiteDefinition
from llm_mock.support.text import dollars, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.boundaries.llm.model import MockLLMModel

INTERRUPT_SECONDS = 0.2
"""How long an interrupt may go unseen while cases run in threads."""


def run_case(
    agent: Agent | Role,
    case: TestCase,
    *,
    folder: Path | None = None,
    dry_run: bool = False,
    model_override: llm.Model | None = None,
    repeat: int | None = None,
    threshold: float | None = None,
    retry: int = 0,
    get_model: Callable[[str], MockLLMModel] | None = None,
) -> CaseResult:
    """Run one case. Whatever goes wrong in it is in the result.

    Args:
        agent: the agent, or the role that says what it is.
        case: the case, as `load_suite` gives it: without rows, variables and files.
        folder: where the functions of `python` assertions lie: the folder of the suite.
        dry_run: have the model answer what the case expects. The servers of the agent are started nevertheless.
        model_override: the model that is asked instead of the agent's; None is the agent's own.
        repeat: how often the case is run; by default as it says itself, else once.
        threshold: the share of these runs that must pass, from 0 to 1; by default as it says itself, else all.
        retry: how often a run that failed is run again; only the last one counts.
        get_model: in a dry run, gives the model of an id, whose mock then sees the calls.

    Raises:
        ValueError: an argument makes no sense.
        InvalidFile: `llm` does not know the model of the role, and the run is not dry.
    """
    __tracebackhide__ = True
    _check_numbers(repeat, threshold, retry, jobs=1)
    live = not dry_run and model_override is None
    agent = _agent_of(agent, live)
    return CaseRunner(agent, folder, dry_run, model_override, repeat, threshold, retry, get_model).run(case)


def run_suite(
    agent: Agent | Role,
    suite: TestSuiteDefinition,
    *,
    dry_run: bool = False,
    model_override: llm.Model | None = None,
    repeat: int | None = None,
    threshold: float | None = None,
    jobs: int = 1,
    retry: int = 0,
    max_cost: Decimal | float | None = None,
    on_result: Callable[[CaseResult], None] | None = None,
    on_start: Callable[[TestCase], None] | None = None,
) -> SuiteResult:
    """Run the cases of a suite. A case that fails, for whatever reason, does not stop the others.

    Args:
        agent: the agent, or the role that says what it is.
        suite: the suite, read from a file or made in Python.
        dry_run: have the model answer what each case expects; see `run_case`.
        model_override: the model that is asked instead of the agent's; None is the agent's own.
        repeat: how often each case is run; by default as it says itself, else once.
        threshold: the share of these runs that must pass, from 0 to 1; by default as the case says, else all.
        jobs: how many cases run at once, in threads.
        retry: how often a run that failed is run again; only the last one counts.
        max_cost: US dollars; when the cases have cost so much, no further one is started.
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
    _check_numbers(repeat, threshold, retry, jobs)
    start = time.perf_counter()
    suite = loading.expanded(suite)
    runs = _agent_of(agent, not dry_run and model_override is None)
    folder = suite.path.parent if suite.path else None
    runner = CaseRunner(runs, folder, dry_run, model_override, repeat, threshold, retry)
    budget = None if max_cost is None else _Budget(max_cost, None if dry_run else runner.model_id)
    work = _Work(runner, suite.cases, budget)
    for event in work.events(jobs):
        tell: Any = on_result if isinstance(event, CaseResult) else on_start
        if tell is not None:
            tell(event)
    done = tuple(result for _, result in sorted(work.results.items()))
    not_run = tuple(case for position, case in enumerate(suite.cases) if position not in work.results)
    return SuiteResult(
        suite.metadata.name,
        runs.label,
        runner.model_id,
        done,
        dry_run,
        not_run,
        budget.stopped if budget and not_run else None,
        time.perf_counter() - start,
    )


def _check_numbers(repeat: int | None, threshold: float | None, retry: int, jobs: int) -> None:
    __tracebackhide__ = True
    for name, value, least in (("repeat", repeat, 1), ("retry", retry, 0), ("jobs", jobs, 1)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
            raise ValueError(f"{name} is {shorten(value)}; give a whole number from {least}.")
    if threshold is not None and not 0 <= threshold <= 1:
        raise ValueError(f"threshold is {shorten(threshold)}; give a share from 0 to 1.")


def _agent_of(agent: Agent | Role, live: bool) -> Agent:
    __tracebackhide__ = True
    if isinstance(agent, Agent):
        return agent
    return resolve_model(agent).agent if live else agent.agent


class _Budget:
    """What the cases may cost.

    Args:
        limit: US dollars.
        model_id: the model, whose price must be known; None for one that costs nothing.
    """

    def __init__(self, limit: Decimal | float, model_id: str | None) -> None:
        __tracebackhide__ = True
        self.stopped: str | None = None
        self._limit = amount(limit, "max_cost")
        self._spent = Decimal(0)
        if model_id is not None and not _has_price(model_id):
            raise InvalidBudget(
                f"max_cost cannot be checked: the price of the model {shorten_name(model_id)!r} is not known. "
                "Leave the limit out, or choose a model whose price is known."
            )
        self._stop_at_limit()

    def spend(self, result: CaseResult) -> None:
        """Count what a case cost, and stop where no further one may start."""
        if result.cost is None:
            case = shorten(result.case.name)
            self.stopped = f"what the case {case} cost is not known, so max_cost cannot be checked"
            return
        self._spent += result.cost
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
        if self._spent >= self._limit and self.stopped is None:
            self.stopped = f"the cases cost {dollars(self._spent)}, and max_cost is {dollars(self._limit)}"


def _has_price(model_id: str) -> bool:
    now = datetime.now().isoformat()
    call: Any = {"model_id": model_id, "timestamp": now, "input_tokens": 1, "output_tokens": 1}
    return cost_of(call) is not None


def _next_of(done: queue.SimpleQueue[Any]) -> Any:
    """The next item. An interrupt that comes just as Python begins to wait would be seen only when the wait is over."""
    while True:
        with contextlib.suppress(queue.Empty):
            return done.get(timeout=INTERRUPT_SECONDS)


class _Work:
    """The cases of a suite, and what came of them."""

    def __init__(self, runner: CaseRunner, cases: Sequence[TestCase], budget: _Budget | None) -> None:
        self.results: dict[int, CaseResult] = {}
        """The results so far, by their positions in the suite."""
        self._runner = runner
        self._cases = cases
        self._budget = budget

    def events(self, jobs: int) -> Iterator[TestCase | CaseResult]:
        """Run the cases: each when it starts, and each result when it comes."""
        yield from self._one_by_one() if jobs == 1 else self._at_once(jobs)

    def _one_by_one(self) -> Iterator[TestCase | CaseResult]:
        for position, case in enumerate(self._cases):
            if self._over():
                return
            yield case
            yield self._done(position, self._runner.run(case))

    def _at_once(self, jobs: int) -> Iterator[TestCase | CaseResult]:
        """In threads that end with the process: an interrupt need not wait for the cases under way."""
        done: queue.SimpleQueue[tuple[int, CaseResult | BaseException]] = queue.SimpleQueue()
        waiting, running = iter(range(len(self._cases))), 0
        while True:
            while running < jobs and not self._over() and (position := next(waiting, None)) is not None:
                yield self._cases[position]
                threading.Thread(target=self._run_into, args=(done, position), daemon=True).start()
                running += 1
            if not running:
                return
            position, result = _next_of(done)
            running -= 1
            if isinstance(result, BaseException):
                raise result
            yield self._done(position, result)

    def _run_into(self, done: queue.SimpleQueue[Any], position: int) -> None:
        try:
            done.put((position, self._runner.run(self._cases[position])))
        except BaseException as error:  # such as pytest's own: the thread that waits must learn of it
            done.put((position, error))

    def _over(self) -> bool:
        return self._budget is not None and self._budget.stopped is not None

    def _done(self, position: int, result: CaseResult) -> CaseResult:
        self.results[position] = result
        if self._budget is not None:
            self._budget.spend(result)
        return result
