"""Prompt suites in pytest: each case of a suite file is a test."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.core.context import current_mock
from llm_mock.errors import LLMMockError
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.run import get_run
from llm_mock.plugin.stash import CASSETTE_CLAIMS, PASS_RATE, RECORDINGS
from llm_mock.plugin.yaml_fixtures import request_of
from llm_mock.plugin.yaml_items import TestFailed, YAMLFile, YAMLItem, uncollected
from llm_mock.support.redaction import OUTPUT

if TYPE_CHECKING:
    from llm_mock.suites.schema import TestCase
    from llm_mock.suites.suite_cassettes import SuiteCassettes
    from llm_mock.suites.variants import Variant

INI = "llm_mock_suites"


class SuiteCollector:
    """A pytest plugin that collects the suites that ini `llm_mock_suites` names.

    Raises:
        pytest.UsageError: a line of the ini names no files or no role.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._role_of: dict[Path, Path | None] = {}
        folder = config.inipath.parent if config.inipath else config.rootpath
        files_in = config.getini("llm_mock_files_in")
        self._files_in = folder / files_in if files_in else None
        for line in config.getini(INI):
            files, role = _suites_and_role(line, folder)
            self._role_of.update(dict.fromkeys(files, role))

    @deciding_hook(uncollected)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        path = file_path.resolve()
        if path not in self._role_of:
            return None
        return SuiteFile.from_parent(
            parent, path=file_path, role=self._role_of[path], files_in=self._files_in
        )


def _suites_and_role(line: str, folder: Path) -> tuple[Sequence[Path], Path | None]:
    """The files and the role of a line `GLOB = ROLE`; of suites that name their target the line is the glob alone."""
    pattern, equals, role = (
        part.strip() for part in (line.rpartition("=") if "=" in line else (line, "", ""))
    )
    if not pattern or (equals and not role):
        raise pytest.UsageError(
            f"{INI}: {line!r} must be GLOB = ROLE, such as `suites/*.yaml = role.yaml`, or the GLOB alone of suites "
            "that name their target"
        )
    role_path = (folder / role).resolve() if role else None
    try:
        files = [path.resolve() for path in sorted(folder.glob(pattern))]
    except (NotImplementedError, ValueError) as error:
        raise pytest.UsageError(f"{INI}: {pattern!r} is no glob: {error}") from None
    found = [path for path in files if path.is_file() and path != role_path]
    if not found:
        raise pytest.UsageError(f"{INI}: no file in {folder} fits {pattern!r}")
    if role_path is not None and not role_path.is_file():
        raise pytest.UsageError(f"{INI}: there is no role {role_path}")
    return found, role_path


class SuiteFile(YAMLFile):
    """A suite file; its cases, each in all variants, are its tests."""

    def __init__(self, *, role: Path | None, files_in: Path | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._role = role
        self._files_in = files_in

    def tests(self) -> Iterator[pytest.Item]:
        """The cases, each in all variants."""
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
    """One case in one variant. It is a dry run, unless it has a cassette, or `--llm-mock-live` is given."""

    failure_shows_calls = True
    """The plugin need not show them once more."""

    def __init__(self, *, case: TestCase, variant: Variant, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.case = case
        self.variant = variant

    @property
    def has_cassette(self) -> bool:
        """Whether it is marked `llm_mock_cassette`, by its tags or by a conftest."""
        return self.get_closest_marker("llm_mock_cassette") is not None

    @property
    def live(self) -> bool:
        """Whether real models are asked; those of a cassette are the business of that."""
        return super().live and not self.has_cassette

    def runtest(self) -> None:
        """Run the case.

        Raises:
            TestFailed: it failed; the text shows prompt, output and each assertion.
        """
        from llm_mock.suites.failure import format_failed_case
        from llm_mock.suites.runner import run_case

        mock: Any = current_mock()
        variant = self.variant
        if self.live or self.has_cassette:
            # also with a cassette the ids and the options are those of the real models
            with nullcontext() if self.live else get_run(self.config).live():
                variant = variant.resolved()
        result = run_case(
            variant.answering,
            self.case,
            folder=self.path.parent,
            dry_run=not (self.live or self.has_cassette),
            judge=self.config.getoption("--llm-mock-judge"),
            get_model=mock and mock.get_model,
            cassettes=self._cassettes() if self.has_cassette else None,
        )
        if recorded := sum(attempt.recorded for attempt in result.attempts):
            self.config.stash.setdefault(RECORDINGS, {})[self.nodeid] = recorded
        if len(result.attempts) > 1:
            self.user_properties.append((PASS_RATE, str(result.rate)))
        if result.status == "failed":
            raise TestFailed(format_failed_case(result, self.shown_path, variant=variant.name))
        if result.status == "skipped":
            pytest.skip("; ".join(dict.fromkeys(each.message for each in result.assertion_results)))

    def _cassettes(self) -> SuiteCassettes:
        """Those of the case, as the marker, the options and the fixtures of the project want them."""
        from llm_mock.plugin.cassettes import read_cassette_settings
        from llm_mock.suites.suite_cassettes import SuiteCassettes

        if conflict := self.config.stash.get(CASSETTE_CLAIMS, {}).get(self.nodeid):
            raise LLMMockError(conflict)
        path, mode, config = read_cassette_settings(request_of(self))
        config = self.variant.suite.cassette.added_to(config)
        OUTPUT.hide_pattern(*config.redact)
        run = get_run(self.config)
        return SuiteCassettes(
            path_of=lambda _: path,
            mode=mode,
            config=config,
            as_user=run.as_user,
            variables=run.user_environment,
        )
