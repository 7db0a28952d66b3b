"""The command `llm-mock test`: runs suites against a role, and shows and writes what came of them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from llm_mock.commands.parts import (
    INTERRUPTED,
    errors_told,
    prepared_role,
    role_options,
    secrets_of_role,
    tell,
)

if TYPE_CHECKING:
    from llm_mock.commands.terminal import Terminal
    from llm_mock.report.suite_document import FinishedSuite
    from llm_mock.suites.kept import KeptResults
    from llm_mock.suites.results import CaseResult, SuiteResult
    from llm_mock.suites.role import Role
    from llm_mock.suites.schema import TestCase, TestSuiteDefinition
    from llm_mock.support.redaction import Redactor


@dataclass(frozen=True)
class Options:
    """The options of `llm-mock test`."""

    suite: tuple[str, ...]
    dry_run: bool
    verbose: bool
    tag: tuple[str, ...]
    text: str | None
    repeat: int | None
    threshold: float | None
    jobs: int
    retry: int
    max_cost: float | None
    resume: bool
    output: tuple[Path, ...]
    arguments: Sequence[str]
    """All that the command was given, as it was."""


class _RemembersArguments(click.Command):
    """Keeps what it was given, for the advice how to go on."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.meta["llm_mock.arguments"] = tuple(args)
        return super().parse_args(ctx, args)


def _checked_outputs(ctx: click.Context, parameter: click.Parameter, names: tuple[str, ...]) -> tuple[Path, ...]:
    from llm_mock.report import suite_outputs as outputs
    from llm_mock.suites import explain_commands
    from llm_mock.support.files import check_writable

    paths = tuple(Path(name).expanduser() for name in names)
    for path in paths:
        if path.suffix.lower() not in outputs.FORMATS:
            raise click.BadParameter(explain_commands.bad_suffix(path, outputs.FORMATS))
        try:
            check_writable(path)
        except OSError as error:
            raise click.BadParameter(explain_commands.not_writable(path, error)) from None
    return paths


@click.command("test", cls=_RemembersArguments)
@role_options
@click.option("suite", "-s", "--suite", multiple=True, required=True, type=click.Path(), help="A suite; repeatable.")
@click.option("-v", "--verbose", is_flag=True, help="Show what came of each assertion.")
@click.option("tag", "--tag", multiple=True, help="Only cases with this tag; repeatable, any of them will do.")
@click.option("text", "-k", metavar="TEXT", help="Only cases with this in their name, in upper or lower case.")
@click.option("--repeat", type=click.IntRange(min=1), metavar="N", help="Run each case so often.")
@click.option("--threshold", type=click.FloatRange(0, 1), metavar="SHARE", help="How many of these must pass, 0 to 1.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, metavar="N", help="How many cases run at once.")
@click.option("--retry", type=click.IntRange(min=0), default=0, metavar="N", help="Run a failed case again so often.")
@click.option(
    "--max-cost", type=click.FloatRange(min=0), metavar="DOLLARS", help="Start no further case when so much is spent."
)
@click.option("--resume", is_flag=True, help="Go on with an interrupted run.")
@click.option(
    "output",
    "-o",
    "--output",
    multiple=True,
    metavar="FILE",
    callback=_checked_outputs,
    help="Write the results to a file that ends in .json, .xml (JUnit), .md or .html; repeatable.",
)
@click.pass_context
def test(ctx: click.Context, /, role: str, model: str | None, no_color: bool, **given: Any) -> None:
    """Run suites of prompts against the agent of a role file, and check its answers.

    Exit codes: 0, all cases passed. 1, one failed or was not run, or a file is wrong. 2, wrong usage. 130, Ctrl-C.
    """
    options = Options(**given, arguments=ctx.meta["llm_mock.arguments"])
    with errors_told():
        from llm_mock.commands.terminal import Terminal
        from llm_mock.support.redaction import default_redactor

        loaded = prepared_role(role, model, options.dry_run)
        redactor = default_redactor(secrets_of_role(loaded, options.dry_run))
        run = _Run(loaded, options, Terminal(redactor, not no_color), redactor)
        with run.outputs_written():
            run.run_all()
    raise SystemExit(run.exit_code)


# --- Which cases ----------------------------------------------------------------------------------------------------


def _selected(suite: TestSuiteDefinition, options: Options) -> TestSuiteDefinition:
    """The suite with the cases that were asked for."""
    text = (options.text or "").casefold()
    cases = tuple(
        case
        for case in suite.cases
        if text in case.name.casefold() and (not options.tag or set(options.tag) & set(case.tags))
    )
    return suite.model_copy(update={"cases": cases})


# --- Running --------------------------------------------------------------------------------------------------------


@dataclass
class _Run:
    """One run of the command."""

    role: Role
    options: Options
    terminal: Terminal
    redactor: Redactor
    finished: list[FinishedSuite] = field(default_factory=list)
    kept: list[KeptResults] = field(default_factory=list)
    exit_code: int = 0

    @contextmanager
    def outputs_written(self) -> Iterator[None]:
        """Write the files at the end, however it comes."""
        from llm_mock.report import suite_outputs as outputs
        from llm_mock.suites import explain_commands

        try:
            yield
        finally:
            for path in self.options.output:
                try:
                    outputs.write(path, self.finished, self.redactor)
                except OSError as error:
                    self._tell_error(explain_commands.not_writable(path, error))

    def run_all(self) -> None:
        """Run every suite that can be read; what is wrong with one does not stop the others.

        Results are kept until all suites are complete, so that whoever goes on pays for none of them twice.
        """
        for number, suite in enumerate(self._selected_suites()):
            if number:
                self.terminal.print()
            with self._errors_told_here():
                self._run_suite(suite)
        if not any(suite.result.not_run for suite in self.finished):
            with self._errors_told_here():
                for kept in self.kept:
                    kept.remove()

    def _selected_suites(self) -> list[TestSuiteDefinition]:
        from llm_mock.suites import explain_commands
        from llm_mock.suites.runner import load_suite

        suites = []
        for name in self.options.suite:
            with self._errors_told_here():
                suites.append(load_suite(name))
        selected = [_selected(suite, self.options) for suite in suites]
        if not self.options.tag and self.options.text is None:
            for suite in suites:
                if not suite.cases:
                    tell("Warning", explain_commands.no_cases(suite.path))
            return selected
        if suites and not any(suite.cases for suite in selected):
            cases = [case for suite in suites for case in suite.cases]
            tags = {tag for case in cases for tag in case.tags}
            names = [case.name for case in cases]
            self._tell_error(explain_commands.no_case_selected(self.options.tag, self.options.text, tags, names))
        return [suite for suite in selected if suite.cases]

    @contextmanager
    def _errors_told_here(self) -> Iterator[None]:
        from llm_mock.errors import LLMMockError

        try:
            yield
        except LLMMockError as error:
            self._tell_error(str(error))

    def _tell_error(self, message: str) -> None:
        tell("Error", message)
        self.exit_code = 1

    def _run_suite(self, suite: TestSuiteDefinition) -> None:
        from llm_mock.commands import table
        from llm_mock.report.suite_document import FinishedSuite
        from llm_mock.suites import explain_commands

        name, role = self.terminal.line(suite.metadata.name), self.terminal.line(self.role.name)
        self.terminal.print(explain_commands.running(name, len(suite.cases), role, self.options.dry_run), "bold")
        result = self._result(suite)
        self.finished.append(FinishedSuite(result, suite.path))
        table.show_result(self.terminal, result, suite.path, self.options.verbose)
        if not result.all_passed:
            self.exit_code = 1
        if result.not_run and not self.options.dry_run:
            self.terminal.print(explain_commands.go_on(self._command_to_go_on()))

    def _result(self, suite: TestSuiteDefinition) -> SuiteResult:
        """Run a suite. Finished cases of a live run are kept."""
        from llm_mock.suites.runner import run_suite

        kept = None if self.options.dry_run else self._kept_results(suite)
        options, done = self.options, _Progress(suite, self.terminal)
        try:
            with done.shown():
                result = run_suite(
                    self.role,
                    suite,
                    dry_run=options.dry_run,
                    repeat=options.repeat,
                    threshold=options.threshold,
                    jobs=options.jobs,
                    retry=options.retry,
                    max_cost=self._remaining_cost(),
                    kept=kept,
                    on_start=done.start,
                    on_result=done.finish,
                )
        except KeyboardInterrupt:
            self._interrupted(suite, done.results)
        return result

    def _kept_results(self, suite: TestSuiteDefinition) -> KeptResults | None:
        """Where finished cases are kept; None where nothing can be, which is no reason not to run them."""
        from llm_mock.errors import InvalidFile
        from llm_mock.suites import explain_commands
        from llm_mock.suites.kept import KeptResults, default_path, forget

        path = default_path(self.role, suite)
        try:
            if not self.options.resume:
                forget(path)
            kept = KeptResults(path)
            kept.make()
        except InvalidFile as error:
            if self.options.resume:
                raise
            tell("Warning", explain_commands.nothing_kept(error))
            return None
        self.kept.append(kept)
        return kept

    def _remaining_cost(self) -> Decimal | None:
        """What the suites before have left of the limit; what an earlier run paid for does not count."""
        if self.options.max_cost is None or self.options.dry_run:
            return None
        results = [result for suite in self.finished for result in suite.result.case_results if not result.kept]
        spent = sum((result.cost or Decimal(0) for result in results), Decimal(0))
        return max(Decimal(str(self.options.max_cost)) - spent, Decimal(0))

    def _interrupted(self, suite: TestSuiteDefinition, results: Sequence[CaseResult]) -> None:
        """End the command, with what there is."""
        from llm_mock.report.suite_document import FinishedSuite
        from llm_mock.suites import explain_commands

        self.finished.append(FinishedSuite(_partial(self.role, suite, results, self.options.dry_run), suite.path))
        command = None if self.options.dry_run else self._command_to_go_on()
        click.echo(explain_commands.interrupted(len(results), len(suite.cases), command), err=True)
        raise SystemExit(INTERRUPTED)

    def _command_to_go_on(self) -> str:
        given = [argument for argument in self.options.arguments if argument != "--resume"]
        return self.terminal.line(shlex.join(["llm-mock", "test", *given, "--resume"]))


def _partial(role: Role, suite: TestSuiteDefinition, results: Sequence[CaseResult], dry_run: bool) -> SuiteResult:
    """The result of a suite that was interrupted."""
    from llm_mock.suites.results import SuiteResult

    done = {result.case.name for result in results}
    order = {case.name: position for position, case in enumerate(suite.cases)}
    return SuiteResult(
        suite_name=suite.metadata.name,
        agent=role.agent.label,
        model=role.agent.asks.model,
        case_results=tuple(sorted(results, key=lambda result: order[result.case.name])),
        dry_run=dry_run,
        not_run=tuple(case for case in suite.cases if case.name not in done),
        duration=sum(result.duration for result in results),
    )


class _Progress:
    """How far the run of a suite is."""

    def __init__(self, suite: TestSuiteDefinition, terminal: Terminal) -> None:
        self.results: list[CaseResult] = []
        self._total = len(suite.cases)
        self._terminal = terminal
        self._running: list[str] = []
        self._show: Callable[[str], None]

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Show it meanwhile."""
        with self._terminal.status() as self._show:
            yield

    def start(self, case: TestCase) -> None:
        """A case begins."""
        self._running.append(self._terminal.line(case.name))
        self._update()

    def finish(self, result: CaseResult) -> None:
        """A case is done, or was already."""
        self.results.append(result)
        name = self._terminal.line(result.case.name)
        if name in self._running:
            self._running.remove(name)
        self._update()

    def _update(self) -> None:
        from llm_mock.suites import explain_commands

        self._show(explain_commands.running_case(len(self.results), self._total, self._running))
