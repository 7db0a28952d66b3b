"""Prompt suites in pytest: each case of a suite is a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import current_mock
from llm_mock.errors import LLMMockError
from llm_mock.plugin import CASSETTE_CLAIMS, PASS_RATE, RECORDINGS
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.run import get_run
from llm_mock.plugin.yaml_fixtures import make_request
from llm_mock.plugin.yaml_items import TestFailed, YAMLFile, YAMLItem, make_failing_file
from llm_mock.support.redaction import OUTPUT

if TYPE_CHECKING:
    from llm_mock.suites.schema import TestCase
    from llm_mock.suites.suite_cassettes import SuiteCassettes
    from llm_mock.suites.variants import Variant

INI = "llm_mock_suites"


class SuiteCollector:
    """A pytest plugin that collects the suites of ini `llm_mock_suites`.

    Raises:
        pytest.UsageError: a line of the ini matches no file, or its role does not exist.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._role_of: dict[Path, Path | None] = {}
        # Paths in an ini file are relative to it.
        folder = config.inipath.parent if config.inipath else config.rootpath
        files_in = config.getini("llm_mock_files_in")
        self._files_in = folder / files_in if files_in else None
        for line in config.getini(INI):
            files, role = _parse_line(line, folder)
            self._role_of.update(dict.fromkeys(files, role))

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


def _parse_line(line: str, folder: Path) -> tuple[Sequence[Path], Path | None]:
    """Return the suites and the role of a line `GLOB = ROLE` or `GLOB`.

    The role is None if the suites name their target themselves.
    """
    # The last `=`, because a glob may contain others.
    has_role = "=" in line
    pattern, _, role = line.rpartition("=") if has_role else (line, "", "")
    pattern, role = pattern.strip(), role.strip()
    if not pattern or (has_role and not role):
        raise pytest.UsageError(
            f"{INI}: {line!r} must be GLOB = ROLE, such as `suites/*.yaml = role.yaml`, or the "
            "GLOB alone of suites that name their target"
        )
    role_path = (folder / role).resolve() if role else None
    files = _find_suites(pattern, folder, role_path)
    if role_path is not None and not role_path.is_file():
        raise pytest.UsageError(f"{INI}: the role {role_path} does not exist")
    return files, role_path


def _find_suites(pattern: str, folder: Path, role: Path | None) -> list[Path]:
    """Return the files that match a glob, without the role."""
    try:
        paths = [path.resolve() for path in sorted(folder.glob(pattern))]
    # pathlib raises these for an absolute and for an empty pattern.
    except (NotImplementedError, ValueError) as error:
        raise pytest.UsageError(f"{INI}: invalid glob {pattern!r}: {error}") from None
    files = [path for path in paths if path.is_file() and path != role]
    if not files:
        raise pytest.UsageError(f"{INI}: no file in {folder} matches {pattern!r}")
    return files


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
        from llm_mock.suites.variants import variants_of

        role = None if self._role is None else load_role(self._role)
        judge = self.config.getini("llm_mock_judge") or None
        suite = load_suite(self.path, files_in=self._files_in, judge=judge)
        variants = variants_of(role, suite)
        for case in suite.cases:
            for variant in variants:
                name = format_case_name(case.name, variant.name)
                yield SuiteItem.from_parent(
                    self, name=name, case=case, variant=variant, line=case.line, tags=case.tags
                )


class SuiteItem(YAMLItem):
    """A case in one variant: a dry run, unless it has a cassette or `--llm-mock-live` is given."""

    failure_shows_calls = True
    """Whether the text of a failure has the calls, so that the plugin adds no section for them."""

    def __init__(self, *, case: TestCase, variant: Variant, **kwargs: Any) -> None:
        super().__init__(**kwargs)
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
            judge=self.config.getoption("--llm-mock-judge"),
            get_model=mock and mock.get_model,
            cassettes=self._cassettes() if self.has_cassette else None,
        )
        recorded = sum(attempt.recorded for attempt in result.attempts)
        if recorded:
            self.config.stash.setdefault(RECORDINGS, {})[self.nodeid] = recorded
        if len(result.attempts) > 1:
            self.user_properties.append((PASS_RATE, str(result.rate)))
        if result.status == "failed":
            raise TestFailed(format_failed_case(result, self.shown_path, variant=variant.name))
        if result.status == "skipped":
            # In a dictionary, so that several assertions with one reason name it once.
            reasons = dict.fromkeys(each.message for each in result.assertion_results)
            pytest.skip("; ".join(reasons))

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
        # Before the case runs, so that no output shows what the cassette must not have.
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
