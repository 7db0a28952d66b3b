"""The command `llm-mock test`: run suites, and show and write the results."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from llm_mock.agents.agent import Agent
from llm_mock.agents.environment import hide_secrets_of
from llm_mock.cassettes import RecordMode
from llm_mock.cassettes.recording_command import override_recording_command
from llm_mock.commands.changes import show_changes
from llm_mock.commands.errors import INTERRUPTED, describe_write_error, print_message
from llm_mock.commands.progress import Progress
from llm_mock.commands.role import report_unknown_models
from llm_mock.commands.side_by_side import show_side_by_side
from llm_mock.commands.table import show_result
from llm_mock.commands.terminal import Terminal
from llm_mock.commands.test_files import TestFiles, sort_files
from llm_mock.commands.test_settings import TestSettings, read_test_settings
from llm_mock.core.judge_choice import JudgeChoice, choose_judge
from llm_mock.cost.prices import apply_project_prices
from llm_mock.errors import LLMMockError
from llm_mock.report import suite_outputs
from llm_mock.report.suite_baseline import compare_with_baseline, is_worse, read_baseline
from llm_mock.report.suite_document import FinishedSuite, new_document
from llm_mock.suites.loading import load_suite
from llm_mock.suites.results import CaseResult, SuiteResult
from llm_mock.suites.role import Role, load_role
from llm_mock.suites.schema import TestCase, TestSuiteDefinition
from llm_mock.suites.snapshots import get_snapshot_path, update_snapshots
from llm_mock.suites.variants import Variant, variants_of
from llm_mock.support.json_types import JSONObject
from llm_mock.support.redaction import redact
from llm_mock.support.text import format_count, join_alternatives, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.specs.cases import SpecSubject

MAX_NAMES = 20
"""The number of cases that a message lists."""


@dataclass(frozen=True)
class RunOptions:
    """The options of `llm-mock test`, with the names that they have in `cli`."""

    files: tuple[str, ...]
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
    update: bool

    @property
    def selects_cases(self) -> bool:
        """True if the options select cases by tag or name."""
        return bool(self.tag) or self.text is not None

    def matches(self, case: TestCase) -> bool:
        """Return True for a case that the options select."""
        text = self.text or ""
        if text.casefold() not in case.name.casefold():
            return False
        return not self.tag or not set(self.tag).isdisjoint(case.tags)


def run_suites(options: RunOptions) -> int:
    """Run suites, show and write their results, and return the exit code.

    The exit code is 0 if a case passed, and none failed or none is worse than in the baseline;
    otherwise 1.
    """
    settings = read_test_settings()
    with choose_judge(JudgeChoice(options.judge, settings.judge)):
        return _run_suites(options, settings)


def _run_suites(options: RunOptions, settings: TestSettings) -> int:
    run = _Run(options, Terminal(not options.no_color), settings)
    files = sort_files(options.files, options.suite, run.print_error)
    if files.specs:
        _refuse_suite_options(options, files)
    # A wrong file must end the command before anything is run.
    if files.role is not None:
        run.role = load_role(files.role)
    if options.baseline is not None:
        run.baseline = read_baseline(options.baseline)
    suites = run.prepare_suites(files)
    arguments = list(options.files)
    for suite in options.suite:
        arguments += ["-s", suite]
    # Messages about cassettes tell how to record; this is the command to repeat.
    command = shlex.join(["llm-mock", "test", *arguments, "--cassette", "--record"])
    try:
        with override_recording_command(command), apply_project_prices(settings.prices):
            run.run_all(suites)
        run.show_changes()
        run.show_not_checked()
    finally:
        # Also after Ctrl-C: results that cost money must not be lost.
        run.write_outputs()
    return run.exit_code


def _refuse_suite_options(options: RunOptions, files: TestFiles) -> None:
    """Raise an error for an option that has no effect on plain-language tests."""
    given = {
        "--jobs": options.jobs > 1,
        "--files-in": options.files_in is not None,
        "--cassette": options.cassette,
        "--update": options.update,
        "A role": files.role is not None and not files.suites,
    }
    for name, is_given in given.items():
        if is_given:
            test = shorten_name(str(files.specs[0]))
            problem = f"{name} is for suites, and {test} is a plain-language test"
            raise click.UsageError(f"{problem}: leave one of them out.")


Variants = tuple[Variant, ...]
"""The variants of one suite, at least one."""


class _Test(NamedTuple):
    """A suite and what answers its prompts.

    Attributes:
        suite: the suite; for a plain-language test, one with a single case.
        subject: the role or the plain-language test; None for the target or roles of the suite.
    """

    suite: TestSuiteDefinition
    subject: Role | SpecSubject | None


@dataclass
class _Run:
    """One run of the command."""

    options: RunOptions
    terminal: Terminal
    settings: TestSettings
    role: Role | None = None
    """The role of all suites that need one."""
    baseline: list[JSONObject] | None = None
    """The suites of an earlier result."""
    finished: list[FinishedSuite] = field(default_factory=list)
    exit_code: int = 0
    errors: list[str] = field(default_factory=list)
    """The errors that belong to no case, such as that of a wrong file."""
    printed_messages: set[str] = field(default_factory=set)
    """Errors and warnings so far; those that several suites share are printed once."""

    def show_changes(self) -> None:
        """Show the changes against the baseline, which decide on the exit code."""
        if self.baseline is None or not self.finished:
            return
        show_changes(self.terminal, self.document)
        if is_worse(self.document):
            self.exit_code = 1

    def show_not_checked(self) -> None:
        """Show the number of cases that were not checked; if that is all, the run is an error."""
        results = [suite.result for suite in self.finished]
        if not results or self.exit_code:
            return
        if not any(result.is_checked for result in results):
            # Not one of the errors in outputs, whose cases say it themselves.
            reason = self._explain_nothing_checked(results)
            self._print_once("Error", f"Nothing was checked. {reason}")
            self.exit_code = 1
            return
        not_checked = sum(result.not_checked for result in results)
        if not_checked:
            total = format_count(sum(result.total for result in results), "case")
            text = f"{self.terminal.signs[None]} {not_checked} of {total} not checked"
            self.terminal.print(text, "yellow")

    def _explain_nothing_checked(self, results: Sequence[SuiteResult]) -> str:
        if not any(result.total for result in results):
            return "There are no cases."
        checks = [result.checks for result in results]
        if all(evaluated == total for evaluated, total in checks):
            return "No check has a weight, so there is no score to reach."
        if self.options.dry_run:
            reason = "A dry run skips checks that need a real model"
            return f"{reason}: run without --dry-run, or add a check that needs no model."
        return "All assertions were skipped; --verbose shows the reasons."

    @cached_property
    def document(self) -> JSONObject:
        """The results of all suites, compared with the baseline; read it after the last suite."""
        document: JSONObject = redact(new_document(self.finished, self.errors))
        file = self.options.baseline
        baseline = self.baseline
        if baseline is None or file is None:
            return document
        # If cases are selected, the others are not missing.
        is_whole = not self.options.selects_cases
        return compare_with_baseline(document, file, baseline, is_whole)

    def write_outputs(self) -> None:
        """Write the result files."""
        for path in self.options.output:
            try:
                suite_outputs.write(path, self.document)
            except OSError as error:
                self.print_error(describe_write_error(path, error))

    def run_all(self, suites: Sequence[Variants]) -> None:
        """Run suites. An error in one does not stop the others, unless every agent fails."""
        for number, variants in enumerate(suites):
            if number:
                self.terminal.print()
            with self._continue_after_errors():
                results = self._run_suite(variants)
                # All suites share the agent, so the others would fail the same way.
                if results and all(result.agent_fails for result in results):
                    break

    def prepare_suites(self, files: TestFiles) -> list[Variants]:
        """Return the variants of the suites that can be run, with the selected cases."""
        tests = self._load(files)
        if self.options.selects_cases:
            tests = self._select_cases(tests)
        has_model = any(test.subject or test.suite.matrix for test in tests)
        # If no test was loaded, the errors of the files were printed already.
        if self.options.model and tests and not has_model:
            raise click.UsageError("--model replaces the model of a ROLE, but no ROLE is given.")
        prepared: list[Variants] = []
        for test in tests:
            with self._continue_after_errors():
                variants = self._list_variants(test)
                prepared.append(tuple(self._prepare(variant) for variant in variants))
        return prepared

    def _list_variants(self, test: _Test) -> Variants:
        models = self.options.model
        if test.subject is None or isinstance(test.subject, Role):
            return variants_of(test.subject, test.suite, models)
        if not models:
            return (Variant(test.subject, test.suite),)
        variants: list[Variant] = []
        for model in models:
            # A single model does not distinguish variants, so their names do not contain it.
            parts = {"model": model} if len(models) > 1 else {}
            subject = replace(test.subject, model=model)
            variants.append(Variant(subject, test.suite, parts))
        return tuple(variants)

    def _prepare(self, variant: Variant) -> Variant:
        """Resolve the model of a variant, and print a warning about unsupported keys."""
        if not self.options.dry_run:
            with report_unknown_models():
                variant = variant.resolve()
        if isinstance(variant.agent, Role):
            hide_secrets_of(variant.agent.agent.servers)
            if variant.agent.warning is not None:
                self._print_once("Warning", variant.agent.warning)
        return variant

    def _load(self, files: TestFiles) -> list[_Test]:
        tests: list[_Test] = []
        for name in files.suites:
            with self._continue_after_errors():
                suite = self._load_suite(name)
                role = self.role or self.settings.find_role(suite, Path(name))
                tests.append(_Test(suite, role))
        for test in tests:
            # A selection without cases is an error: see `_select_cases`.
            if not test.suite.cases and not self.options.selects_cases:
                print_message("Warning", f"{test.suite.path}: the suite has no cases.")
        if files.specs:
            tests += self._load_specs(files.specs)
        return tests

    def _load_suite(self, name: str) -> TestSuiteDefinition:
        files_in = self.options.files_in or self.settings.files_in
        return load_suite(name, files_in=files_in)

    def _load_specs(self, paths: Sequence[Path]) -> Iterator[_Test]:
        # Imported here: suites do not need it.
        from llm_mock.specs.allowed_hosts import AllowedHosts
        from llm_mock.specs.cases import load_spec_suite
        from llm_mock.specs.drivers import DRIVERS, create_driver

        settings = self.settings.project
        driver = settings.get_choice("llm_mock_spec_driver", tuple(DRIVERS))
        model = settings.get_text("llm_mock_spec_model") or None
        hosts = settings.get_words("llm_mock_allowed_hosts")
        allowed_hosts = AllowedHosts(hosts) if hosts else None
        for path in paths:
            with self._continue_after_errors():
                yield _Test(
                    *load_spec_suite(path, partial(create_driver, driver), model, allowed_hosts)
                )

    def _select_cases(self, tests: list[_Test]) -> list[_Test]:
        """Return the suites with the selected cases, without suites that have none."""
        selected: list[_Test] = []
        for suite, subject in tests:
            cases = tuple(filter(self.options.matches, suite.cases))
            if cases:
                selected.append(_Test(suite.model_copy(update={"cases": cases}), subject))
        # A filter with a typo must not succeed. Suites that cannot be read are errors already.
        if tests and not selected:
            all_cases = [case for suite, _ in tests for case in suite.cases]
            self.print_error(_explain_empty_selection(self.options, all_cases))
        return selected

    @contextmanager
    def _continue_after_errors(self) -> Iterator[None]:
        """Print an error that occurs within the context, and continue."""
        try:
            yield
        except LLMMockError as error:
            self.print_error(str(error))

    def print_error(self, message: str) -> None:
        """Print an error, which makes the command fail."""
        if message not in self.errors:
            self.errors.append(message)
        self._print_once("Error", message)
        self.exit_code = 1

    def _print_once(self, kind: str, message: str) -> None:
        if message not in self.printed_messages:
            print_message(kind, message)
        self.printed_messages.add(message)

    def _run_suite(self, variants: Variants) -> list[SuiteResult]:
        """Run all variants of a suite, and show their results."""
        suite = variants[0].suite
        self._show_header(variants)
        progress = Progress(len(suite.cases) * len(variants), self.terminal)
        results: list[SuiteResult] = []
        for variant in variants:
            with self._continue_after_errors():
                results.append(self._run_variant(variant, progress))
        if not results:
            return results
        # Only the variants of a matrix, or of several models, have names.
        if variants[0].name:
            show_side_by_side(
                self.terminal,
                results,
                suite.path,
                self.options.verbose,
            )
        else:
            show_result(
                self.terminal,
                results[0],
                suite.path,
                self.options.verbose,
            )
        self._update_snapshots(suite.path, results)
        # With a baseline, cases may fail that failed before; a score must be reached all the same.
        has_min_score = any(result.min_score is not None for result in results)
        may_fail = self.baseline is not None and not has_min_score
        if not may_fail and not all(result.succeeded for result in results):
            self.exit_code = 1
        return results

    def _update_snapshots(self, suite: Path | None, results: Sequence[SuiteResult]) -> None:
        """Save the outputs of a suite if the options say so, and show what was saved."""
        if not self.options.update or suite is None:
            return
        try:
            update = update_snapshots(suite, results)
        except OSError as error:
            self.print_error(describe_write_error(get_snapshot_path(suite), error))
            return
        for line in update.format_lines():
            self.terminal.print(self.terminal.line(line))

    def _show_header(self, variants: Variants) -> None:
        terminal = self.terminal
        suite = variants[0].suite
        name = terminal.line(suite.metadata.name)
        cases = format_count(len(suite.cases), "case")
        subject = terminal.line(_describe_subject(variants))
        header = f"Running {name} ({cases}) against {subject}"
        if self.options.dry_run:
            header += " (dry-run)"
        terminal.print(header, "bold")

    def _run_variant(self, variant: Variant, progress: Progress) -> SuiteResult:
        options = self.options
        suite = variant.suite
        progress.begin(variant.name)
        try:
            with self.terminal.status() as progress.show:
                result = variant.run(
                    dry_run=options.dry_run,
                    repeat=options.repeat,
                    threshold=options.threshold,
                    jobs=options.jobs,
                    retry=options.retry,
                    max_cost=self._get_remaining_cost(variant),
                    min_score=options.min_score,
                    cassette=self._record_mode,
                    timeout=options.timeout,
                    compare_snapshots=not options.update,
                    on_start=progress.start,
                    on_result=progress.finish,
                )
        except KeyboardInterrupt:
            # The results so far are written by `run_suites`.
            partial = _create_partial_result(variant, progress.results, options.dry_run)
            self.finished.append(FinishedSuite(partial, suite.path))
            verb = "is" if progress.total == 1 else "are"
            cases = format_count(progress.total, "case")
            click.echo(f"Interrupted: {progress.done} of {cases} {verb} done.", err=True)
            raise SystemExit(INTERRUPTED) from None
        self.finished.append(FinishedSuite(result, suite.path))
        return result

    @property
    def _record_mode(self) -> RecordMode | None:
        """The record mode of the cassettes; None without cassettes."""
        if not self.options.cassette:
            return None
        return self.options.record or self.settings.record or "new_episodes"

    def _get_remaining_cost(self, variant: Variant) -> Decimal | None:
        """Return what earlier suites left of the cost limit; None without a limit."""
        if self.options.dry_run:
            return None
        if self.options.max_cost is not None:
            # By its text: 0.1 as a float is slightly more.
            limit = Decimal(str(self.options.max_cost))
        elif self.settings.max_cost is None or variant.suite.target is not None:
            # The setting holds for what has a known cost; the option is an error for a target.
            return None
        else:
            limit = self.settings.max_cost
        spent = Decimal(0)
        for suite in self.finished:
            for result in suite.result.case_results:
                spent += result.spent or Decimal(0)
        return max(limit - spent, Decimal(0))


def _explain_empty_selection(options: RunOptions, cases: Sequence[TestCase]) -> str:
    """Return the error for a selection without cases, with all tags and the first names."""
    conditions: list[str] = []
    if options.tag:
        selected_tags = join_alternatives(map(shorten, options.tag))
        conditions.append(f"the tag {selected_tags}")
    if options.text is not None:
        text = shorten(options.text)
        conditions.append(f"{text} in its name")
    all_tags: set[str] = set()
    for case in cases:
        all_tags.update(case.tags)
    tags = ", ".join(map(shorten_name, sorted(all_tags)))
    names = ", ".join(shorten_name(case.name) for case in cases[:MAX_NAMES])
    left = len(cases) - MAX_NAMES
    if left > 0:
        names += f" and {left} more"
    selection = " and ".join(conditions)
    return (
        f"No case has {selection}. "
        f"Available tags: {tags or 'none'}. "
        f"Available cases: {names or 'none'}."
    )


def _describe_subject(variants: Variants) -> str:
    """Return what a suite is run against: the agent, the target, or the number of variants."""
    if len(variants) > 1:
        return format_count(len(variants), "variant")
    subject = variants[0].answering
    if isinstance(subject, Role):
        return subject.name
    return subject.label


def _create_partial_result(
    variant: Variant,
    results: Sequence[CaseResult],
    dry_run: bool,
) -> SuiteResult:
    """Return the result of a variant that was interrupted."""
    suite = variant.suite
    subject = variant.answering
    agent = subject.agent if isinstance(subject, Role) else subject
    # The results are in the order in which the cases ended.
    results_by_name = {result.case.name: result for result in results}
    finished: list[CaseResult] = []
    not_run: list[TestCase] = []
    for case in suite.cases:
        if case.name in results_by_name:
            finished.append(results_by_name[case.name])
        else:
            not_run.append(case)
    return SuiteResult(
        suite_name=suite.metadata.name,
        agent=agent.label,
        model=agent.asks.model if isinstance(agent, Agent) else None,
        case_results=tuple(finished),
        dry_run=dry_run,
        not_run=tuple(not_run),
        duration=sum(result.duration for result in results),
        target=suite.target.label if suite.target else None,
        variant=variant.parts,
    )
