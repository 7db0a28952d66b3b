"""What `llm-mock test` does: it runs suites against a role, and shows and writes what came of them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from llm_mock.agents.agent import Agent
from llm_mock.agents.environment import hide_secrets_of
from llm_mock.cassettes.record_modes import RecordMode, override_recording_command
from llm_mock.commands.changes import show_changes
from llm_mock.commands.errors import INTERRUPTED, not_writable, tell
from llm_mock.commands.progress import Progress
from llm_mock.commands.role import wrong_models_told
from llm_mock.commands.side_by_side import show_side_by_side
from llm_mock.commands.table import show_result
from llm_mock.commands.terminal import Terminal
from llm_mock.errors import LLMMockError
from llm_mock.report import suite_outputs
from llm_mock.report.suite_baseline import compare_with_baseline, is_worse, read_baseline
from llm_mock.report.suite_document import FinishedSuite, new_document
from llm_mock.suites.loading import load_suite
from llm_mock.suites.results import CaseResult, SuiteResult
from llm_mock.suites.role import Role, load_role
from llm_mock.suites.schema import TestCase, TestSuiteDefinition
from llm_mock.suites.variants import Variant, variants_of
from llm_mock.support.redaction import redacted
from llm_mock.support.text import count, shorten, shorten_name

SHOWN_NAMES = 20


@dataclass(frozen=True)
class Options:
    """The options of `llm-mock test`, called as there."""

    role: str | None
    suite: tuple[str, ...]
    model: tuple[str, ...]
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
    judge: str | None
    min_score: float | None
    timeout: float | None
    output: tuple[Path, ...]
    baseline: Path | None
    files_in: Path | None
    cassette: bool
    record: RecordMode | None

    @property
    def record_mode(self) -> RecordMode | None:
        """What is recorded; None where there are no cassettes."""
        return (self.record or "new_episodes") if self.cassette else None


def run_suites(options: Options) -> int:
    """Run suites, show and write what came of them.

    The exit code is 0 where all cases passed, or where none is worse than in the baseline; else 1.
    """
    role = None if options.role is None else load_role(options.role)
    baseline = None if options.baseline is None else read_baseline(options.baseline)
    run = _Run(role, options, Terminal(not options.no_color), baseline)
    suites = run.prepared_suites()
    words = [*filter(None, [options.role]), *(word for suite in options.suite for word in ("-s", suite))]
    try:
        with override_recording_command(shlex.join(["llm-mock", "test", *words, "--cassette", "--record"])):
            run.run_all(suites)
        run.show_changes()
    finally:
        run.write_outputs()
    return run.exit_code


Variants = tuple[Variant, ...]
"""The variants of one suite, at least one."""


@dataclass
class _Run:
    """One run of the command."""

    role: Role | None
    options: Options
    terminal: Terminal
    baseline: list[dict[str, Any]] | None
    """The suites of an earlier result."""
    finished: list[FinishedSuite] = field(default_factory=list)
    exit_code: int = 0
    told: set[str] = field(default_factory=set)
    """Errors and warnings, which several suites and variants may have in common."""

    def show_changes(self) -> None:
        """Show what changed against the baseline, and have the exit code say whether something is worse."""
        if self.baseline is not None and self.finished:
            show_changes(self.terminal, self.document)
            self.exit_code = max(self.exit_code, int(is_worse(self.document)))

    @cached_property
    def document(self) -> dict[str, Any]:
        """The results, once all suites were run; with a baseline also what changed."""
        document: dict[str, Any] = redacted(new_document(self.finished))
        if self.baseline is None or self.options.baseline is None:
            return document
        is_whole = not self.options.tag and self.options.text is None
        return compare_with_baseline(document, self.options.baseline, self.baseline, is_whole)

    def write_outputs(self) -> None:
        for path in self.options.output:
            try:
                suite_outputs.write(path, self.document)
            except OSError as error:
                self._tell_error(not_writable(path, error))

    def run_all(self, suites: Sequence[Variants]) -> None:
        """Run suites; what is wrong with one does not stop the others, unless it is the agents."""
        for number, variants in enumerate(suites):
            if number:
                self.terminal.print()
            with self._errors_told_here():
                results = self._run_suite(variants)
                if results and all(result.agent_fails for result in results):
                    break

    def prepared_suites(self) -> list[Variants]:
        """The suites that can be read and run, with the cases that were asked for, and what answers them."""
        suites = self._suites()
        if self.options.model and self.role is None and not any(suite.matrix for suite in suites):
            raise click.UsageError("--model is asked in place of the model of a ROLE, and none is given.")
        prepared = []
        for suite in suites:
            with self._errors_told_here():
                prepared.append(tuple(map(self._prepared, variants_of(self.role, suite, self.options.model))))
        return prepared

    def _prepared(self, variant: Variant) -> Variant:
        """The variant with its model, where that is asked. What of its role has no effect is told."""
        with wrong_models_told():
            variant = variant if self.options.dry_run else variant.resolved()
        if isinstance(variant.agent, Role):
            hide_secrets_of(variant.agent.agent.servers)
            if variant.agent.warning is not None:
                self._tell("Warning", variant.agent.warning)
        return variant

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
        self._tell("Error", message)
        self.exit_code = 1

    def _tell(self, kind: str, message: str) -> None:
        if message not in self.told:
            tell(kind, message)
        self.told.add(message)

    def _run_suite(self, variants: Variants) -> list[SuiteResult]:
        suite = variants[0].suite
        name, cases = self.terminal.line(suite.metadata.name), count(len(suite.cases), "case")
        how = " (dry-run)" if self.options.dry_run else ""
        answering = self.terminal.line(_answering(variants))
        self.terminal.print(f"Running {name} ({cases}) against {answering}{how}", "bold")
        progress = Progress(len(suite.cases) * len(variants), self.terminal)
        results: list[SuiteResult] = []
        for variant in variants:
            with self._errors_told_here():
                results.append(self._result(variant, progress))
        if results and variants[0].name:
            show_side_by_side(self.terminal, results, suite.path, self.options.verbose)
        elif results:
            show_result(self.terminal, results[0], suite.path, self.options.verbose)
        may_fail_again = self.baseline is not None and all(result.min_score is None for result in results)
        if not may_fail_again and not all(result.all_passed for result in results):
            self.exit_code = 1
        return results

    def _result(self, variant: Variant, progress: Progress) -> SuiteResult:
        options, suite = self.options, variant.suite
        progress.begin(variant.name)
        try:
            with self.terminal.status() as progress.show:
                result = variant.run(
                    dry_run=options.dry_run,
                    repeat=options.repeat,
                    threshold=options.threshold,
                    jobs=options.jobs,
                    retry=options.retry,
                    max_cost=self._remaining_cost(),
                    judge=options.judge,
                    min_score=options.min_score,
                    cassette=options.record_mode,
                    timeout=options.timeout,
                    on_start=progress.start,
                    on_result=progress.finish,
                )
        except KeyboardInterrupt:
            partial = _partial(variant, progress.results, options.dry_run)
            self.finished.append(FinishedSuite(partial, suite.path))
            is_or_are = "is" if progress.total == 1 else "are"
            click.echo(f"Interrupted: {progress.done} of {count(progress.total, 'case')} {is_or_are} done.", err=True)
            raise SystemExit(INTERRUPTED) from None
        self.finished.append(FinishedSuite(result, suite.path))
        return result

    def _remaining_cost(self) -> Decimal | None:
        """What the suites before have left of the limit."""
        if self.options.max_cost is None or self.options.dry_run:
            return None
        results = [result for suite in self.finished for result in suite.result.case_results]
        spent = sum((result.spent or Decimal(0) for result in results), Decimal(0))
        return max(Decimal(str(self.options.max_cost)) - spent, Decimal(0))


def _no_case_chosen(options: Options, cases: Sequence[TestCase]) -> str:
    """What to say where no case has what was asked for."""
    wanted = [f"the tag {' or '.join(map(shorten, options.tag))}"] if options.tag else []
    wanted += [f"{shorten(options.text)} in its name"] if options.text is not None else []
    tags = ", ".join(map(shorten_name, sorted({tag for case in cases for tag in case.tags}))) or "none"
    names = ", ".join(shorten_name(case.name) for case in cases[:SHOWN_NAMES]) or "none"
    more = f" and {len(cases) - SHOWN_NAMES} more" if len(cases) > SHOWN_NAMES else ""
    return f"No case has {' and '.join(wanted)}. Tags there are: {tags}. Cases there are: {names}{more}."


def _answering(variants: Variants) -> str:
    """What the header says that answers."""
    if len(variants) > 1:
        return count(len(variants), "variant")
    answering = variants[0].answering
    return answering.name if isinstance(answering, Role) else answering.label


def _partial(variant: Variant, results: Sequence[CaseResult], dry_run: bool) -> SuiteResult:
    """The result of a variant that was interrupted."""
    answering, suite = variant.answering, variant.suite
    agent = answering.agent if isinstance(answering, Role) else answering
    done = {result.case.name: result for result in results}
    return SuiteResult(
        suite_name=suite.metadata.name,
        agent=agent.label,
        model=agent.asks.model if isinstance(agent, Agent) else None,
        case_results=tuple(done[case.name] for case in suite.cases if case.name in done),
        dry_run=dry_run,
        not_run=tuple(case for case in suite.cases if case.name not in done),
        duration=sum(result.duration for result in results),
        target=suite.target.label if suite.target else None,
        variant=variant.parts,
    )
