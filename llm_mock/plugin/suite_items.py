"""Prompt suites in pytest: each case of a suite is a test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import current_mock
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.plugin import (
    CASSETTE_CLAIMS,
    CASSETTE_USE,
    NOT_CHECKED,
    PASS_RATE,
    RECORDINGS,
)
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.options import get_ini_folder
from llm_mock.plugin.run import get_run
from llm_mock.plugin.yaml_fixtures import make_request
from llm_mock.plugin.yaml_items import TestFailed, YAMLFile, YAMLItem, make_failing_file
from llm_mock.suites.role_settings import INI, find_roles
from llm_mock.support.redaction import OUTPUT
from llm_mock.support.text import format_count

if TYPE_CHECKING:
    from llm_mock.suites.results import CaseResult
    from llm_mock.suites.schema import TestCase
    from llm_mock.suites.snapshots import Snapshots
    from llm_mock.suites.suite_cassettes import SuiteCassettes
    from llm_mock.suites.variants import Variant


class SuiteCollector:
    """A pytest plugin that collects the suites of ini `llm_mock_suites`.

    Raises:
        pytest.UsageError: a line of the ini matches no file, or its role does not exist.
    """

    def __init__(self, config: pytest.Config) -> None:
        folder = get_ini_folder(config)
        files_in = config.getini("llm_mock_files_in")
        self._files_in = folder / files_in if files_in else None
        try:
            self._role_of = find_roles(config.getini(INI), folder)
        except InvalidFile as error:
            raise pytest.UsageError(str(error)) from None

    @deciding_hook(make_failing_file)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Return the collector of a suite; None for other files."""
        path = file_path.resolve()
        if path not in self._role_of:
            return None
        return SuiteFile.from_parent(
            parent, path=file_path, role=self._role_of[path], files_in=self._files_in
        )


class SuiteFile(YAMLFile):
    """A suite file; its tests are its cases, each in all variants."""

    def __init__(self, *, role: Path | None, files_in: Path | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._role = role
        self._files_in = files_in

    def tests(self) -> Iterator[pytest.Item]:
        """Yield the cases, each in all variants."""
        from llm_mock.suites.loading import load_suite
        from llm_mock.suites.matrix import format_case_name
        from llm_mock.suites.role import load_role
        from llm_mock.suites.snapshots import load_snapshots
        from llm_mock.suites.variants import variants_of

        role = None if self._role is None else load_role(self._role)
        suite = load_suite(self.path, files_in=self._files_in)
        variants = variants_of(role, suite)
        snapshots = load_snapshots(self.path)
        for case in suite.cases:
            for variant in variants:
                name = format_case_name(case.name, variant.name)
                yield SuiteItem.from_parent(
                    self,
                    name=name,
                    case=case,
                    variant=variant,
                    snapshots=snapshots,
                    line=case.line,
                    tags=case.tags,
                )


class SuiteItem(YAMLItem):
    """A case in one variant: a dry run, unless it has a cassette or `--llm-mock-live` is given."""

    failure_shows_calls = True
    """Whether the text of a failure has the calls, so that the plugin adds no section for them."""

    def __init__(
        self,
        *,
        case: TestCase,
        variant: Variant,
        snapshots: Snapshots | None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.snapshots = snapshots
        self.case = case
        self.variant = variant

    @property
    def has_cassette(self) -> bool:
        """Return whether a tag or a conftest marks the case `llm_mock_cassette`."""
        return self.get_closest_marker("llm_mock_cassette") is not None

    @property
    def live(self) -> bool:
        """Return whether the case calls real models without a cassette."""
        return super().live and not self.has_cassette

    def runtest(self) -> None:
        """Run the case.

        Raises:
            TestFailed: it failed. The text shows prompt, output and each assertion.
        """
        from llm_mock.suites.failure import format_failed_case
        from llm_mock.suites.runner import run_case

        mock: Any = current_mock()
        variant = self._resolve_variant()
        result = run_case(
            variant.answering,
            self.case,
            folder=self.path.parent,
            dry_run=not (self.live or self.has_cassette),
            get_model=mock and mock.get_model,
            cassettes=self._cassettes() if self.has_cassette else None,
            variant=variant.parts,
            snapshots=self.snapshots,
        )
        if self.has_cassette:
            self._report_cassette_use(result)
        if len(result.attempts) > 1 and result.rate is not None:
            self.user_properties.append((PASS_RATE, str(result.rate)))
        if result.status == "failed":
            raise TestFailed(format_failed_case(result, self.shown_path, variant=variant.name))
        self._report_skipped_checks(result)

    def _report_skipped_checks(self, result: CaseResult) -> None:
        """Skip a case that was not checked, and note the skipped checks of one that passed."""
        if result.status == "not checked":
            # In a dictionary, so that several assertions with one reason name it once.
            reasons = dict.fromkeys(each.message for each in result.assertion_results)
            pytest.skip(f"not checked: {'; '.join(reasons)}")
        checked, total = result.checks
        if not total:
            text = "it has no assertions, so nothing in the answer was checked"
            self.user_properties.append((NOT_CHECKED, text))
        if checked < total:
            text = f"{total - checked} of {format_count(total, 'check')} skipped"
            self.user_properties.append((NOT_CHECKED, text))

    def _report_cassette_use(self, result: CaseResult) -> None:
        """Report the number of recorded and replayed calls for the summary."""
        from llm_mock.plugin.cassettes import read_record_mode

        stash = self.config.stash
        recorded = sum(attempt.recorded for attempt in result.attempts)
        if recorded:
            stash.setdefault(RECORDINGS, {})[self.nodeid] = recorded
        if result.status != "passed":
            return
        calls = sum(attempt.recorded + attempt.replayed for attempt in result.attempts)
        is_recording = read_record_mode(self) != "none"
        empty = "it called no model" if is_recording and not calls else None
        uses = stash.setdefault(CASSETTE_USE, {})
        uses[self.nodeid] = {"calls": calls, "empty": empty, "left_alone": {}}

    def _resolve_variant(self) -> Variant:
        """Return the variant, with the ids and options of real models unless it is a dry run."""
        if self.live:
            return self.variant.resolve()
        if self.has_cassette:
            # Mocked, `llm` would not know the models that the cassette names.
            with get_run(self.config).live():
                return self.variant.resolve()
        return self.variant

    def _cassettes(self) -> SuiteCassettes:
        """Return the cassettes of the case, set up by its marker, options and project fixtures."""
        from llm_mock.plugin.cassettes import read_cassette_settings
        from llm_mock.suites.suite_cassettes import SuiteCassettes

        conflict = self.config.stash.get(CASSETTE_CLAIMS, {}).get(self.nodeid)
        if conflict:
            raise LLMMockError(conflict)
        path, mode, config = read_cassette_settings(make_request(self))
        config = self.variant.suite.cassette.add_to(config)
        # Before the case runs, so that its output contains no secrets of the cassette, either.
        OUTPUT.hide_pattern(*config.redact)
        run = get_run(self.config)
        return SuiteCassettes(
            # The marker and the options name the path of an item, which is one case.
            path_of=lambda _: path,
            mode=mode,
            config=config,
            as_user=run.as_user,
            variables=run.user_environment,
        )
