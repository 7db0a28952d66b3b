"""What `llm-mock test` does: it runs suites against a role, and shows and writes what came of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import click

from llm_mock.agents.agent import Agent
from llm_mock.agents.environment import hide_secrets_of
from llm_mock.commands.errors import INTERRUPTED, not_writable, tell
from llm_mock.commands.role import prepared_role
from llm_mock.commands.table import show_result
from llm_mock.commands.terminal import Terminal
from llm_mock.errors import LLMMockError
from llm_mock.report import suite_outputs
from llm_mock.report.suite_document import FinishedSuite
from llm_mock.suites.results import CaseResult, SuiteResult
from llm_mock.suites.role import Role
from llm_mock.suites.runner import load_suite, run_suite, who_answers
from llm_mock.suites.schema import Target, TestCase, TestSuiteDefinition
from llm_mock.support.text import count, shorten, shorten_name

SHOWN_NAMES = 20


@dataclass(frozen=True)
class Options:
    """The options of `llm-mock test`, called as there."""

    role: str | None
    suite: tuple[str, ...]
    model: str | None
    dry_run: bool
    no_color: bool
    verbose: bool
    tag: tuple[str, ...]
    text: str | None
    repeat: int | None
    threshold: float | None
    jobs: int
    retry: int
    max_cost: float | None
    output: tuple[Path, ...]
    files_in: Path | None


def run_suites(options: Options) -> int:
    """Run suites, show and write what came of them; the exit code is 0 where all cases passed, else 1."""
    role = None
    if options.role is not None:
        role = prepared_role(options.role, options.model, options.dry_run)
        hide_secrets_of(role.agent.servers)
    elif options.model is not None:
        raise click.UsageError("--model is asked in place of the model of a ROLE, and none is given.")
    run = _Run(role, options, Terminal(not options.no_color))
    try:
        run.run_all()
    finally:
        run.write_outputs()
    return run.exit_code


@dataclass
class _Run:
    """One run of the command."""

    role: Role | None
    options: Options
    terminal: Terminal
    finished: list[FinishedSuite] = field(default_factory=list)
    exit_code: int = 0

    def write_outputs(self) -> None:
        for path in self.options.output:
            try:
                suite_outputs.write(path, self.finished)
            except OSError as error:
                self._tell_error(not_writable(path, error))

    def run_all(self) -> None:
        """Run every suite that can be read; what is wrong with one does not stop the others, unless it is the agent."""
        for number, suite in enumerate(self._suites()):
            if number:
                self.terminal.print()
            with self._errors_told_here():
                self._run_suite(suite)
            if self.finished and self.finished[-1].result.agent_fails:
                break

    def _suites(self) -> list[TestSuiteDefinition]:
        """The suites that have what was asked for, with the cases that were."""
        suites = []
        for name in self.options.suite:
            with self._errors_told_here():
                suites.append(load_suite(name, files_in=self.options.files_in))
        if not self.options.tag and self.options.text is None:
            for suite in suites:
                if not suite.cases:
                    tell("Warning", f"{suite.path}: the suite has no cases.")
            return suites
        chosen = [suite.model_copy(update={"cases": tuple(filter(self._is_chosen, suite.cases))}) for suite in suites]
        if suites and not any(suite.cases for suite in chosen):
            self._tell_error(_no_case_chosen(self.options, [case for suite in suites for case in suite.cases]))
        return [suite for suite in chosen if suite.cases]

    def _is_chosen(self, case: TestCase) -> bool:
        tag, text = self.options.tag, self.options.text or ""
        return text.casefold() in case.name.casefold() and (not tag or not set(tag).isdisjoint(case.tags))

    @contextmanager
    def _errors_told_here(self) -> Iterator[None]:
        try:
            yield
        except LLMMockError as error:
            self._tell_error(str(error))

    def _tell_error(self, message: str) -> None:
        tell("Error", message)
        self.exit_code = 1

    def _run_suite(self, suite: TestSuiteDefinition) -> None:
        answering = who_answers(self.role, suite)
        name, role = self.terminal.line(suite.metadata.name), self.terminal.line(_name(answering))
        how = " (dry-run)" if self.options.dry_run else ""
        self.terminal.print(f"Running {name} ({count(len(suite.cases), 'case')}) against {role}{how}", "bold")
        result = self._result(suite)
        self.finished.append(FinishedSuite(result, suite.path))
        show_result(self.terminal, result, suite.path, self.options.verbose)
        if not result.all_passed:
            self.exit_code = 1

    def _result(self, suite: TestSuiteDefinition) -> SuiteResult:
        options, progress = self.options, _Progress(len(suite.cases), self.terminal)
        try:
            with self.terminal.status() as progress.show:
                return run_suite(
                    self.role,
                    suite,
                    dry_run=options.dry_run,
                    repeat=options.repeat,
                    threshold=options.threshold,
                    jobs=options.jobs,
                    retry=options.retry,
                    max_cost=self._remaining_cost(),
                    on_start=progress.start,
                    on_result=progress.finish,
                )
        except KeyboardInterrupt:
            partial = _partial(who_answers(self.role, suite), suite, progress.results, options.dry_run)
        self.finished.append(FinishedSuite(partial, suite.path))
        done, cases = len(progress.results), count(len(suite.cases), "case")
        click.echo(f"Interrupted: {done} of {cases} {'is' if len(suite.cases) == 1 else 'are'} done.", err=True)
        raise SystemExit(INTERRUPTED)

    def _remaining_cost(self) -> Decimal | None:
        """What the suites before have left of the limit."""
        if self.options.max_cost is None or self.options.dry_run:
            return None
        results = [result for suite in self.finished for result in suite.result.case_results]
        spent = sum((result.cost or Decimal(0) for result in results), Decimal(0))
        return max(Decimal(str(self.options.max_cost)) - spent, Decimal(0))


def _no_case_chosen(options: Options, cases: Sequence[TestCase]) -> str:
    """What to say where no case has what was asked for."""
    wanted = [f"the tag {' or '.join(map(shorten, options.tag))}"] if options.tag else []
    wanted += [f"{shorten(options.text)} in its name"] if options.text is not None else []
    tags = ", ".join(map(shorten_name, sorted({tag for case in cases for tag in case.tags}))) or "none"
    names = ", ".join(shorten_name(case.name) for case in cases[:SHOWN_NAMES]) or "none"
    more = f" and {len(cases) - SHOWN_NAMES} more" if len(cases) > SHOWN_NAMES else ""
    return f"No case has {' and '.join(wanted)}. Tags there are: {tags}. Cases there are: {names}{more}."


def _name(answering: Agent | Role | Target) -> str:
    return answering.name if isinstance(answering, Role) else answering.label


def _partial(
    answering: Agent | Role | Target, suite: TestSuiteDefinition, results: Sequence[CaseResult], dry_run: bool
) -> SuiteResult:
    """The result of a suite that was interrupted."""
    agent = answering.agent if isinstance(answering, Role) else None
    done = {result.case.name: result for result in results}
    return SuiteResult(
        suite_name=suite.metadata.name,
        agent=agent.label if agent else _name(answering),
        model=agent.asks.model if agent else None,
        case_results=tuple(done[case.name] for case in suite.cases if case.name in done),
        dry_run=dry_run,
        not_run=tuple(case for case in suite.cases if case.name not in done),
        duration=sum(result.duration for result in results),
        target=suite.target.label if suite.target else None,
    )


class _Progress:
    """How far the run of a suite is."""

    show: Callable[[str], None]

    def __init__(self, total: int, terminal: Terminal) -> None:
        self.results: list[CaseResult] = []
        self._total = total
        self._terminal = terminal
        self._running: list[str] = []

    def start(self, case: TestCase) -> None:
        self._running.append(case.name)
        self._update()

    def finish(self, result: CaseResult) -> None:
        self.results.append(result)
        self._running.remove(result.case.name)
        self._update()

    def _update(self) -> None:
        others = f" and {len(self._running) - 1} more" if len(self._running) > 1 else ""
        first = self._terminal.line(self._running[0]) if self._running else ""
        self.show(f"{len(self.results)}/{self._total} {first}{others}")
