"""Plain-language tests in pytest: each file is a test. Imported only where `--llm` is given.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from llm_mock.boundaries.activation import TestRun
from llm_mock.boundaries.llm import boundary
from llm_mock.errors import LLMMockError, UnexpectedCall
from llm_mock.plugin.call_collector import STEPS
from llm_mock.plugin.yaml_items import TestFailed, YAMLItem, problems_of_file

if TYPE_CHECKING:
    from llm_mock.specs.drivers import Driver
    from llm_mock.specs.models import StepResult, TestSpec, Verdict

FOLDER = "llm"
"""Where plain-language tests are, at any depth of the project."""
NOT_IN = {"plugins", "cassettes"}
DRIVERS = ("llm", "claude-code")


class SpecCollector:
    """A pytest plugin that collects the YAML files in folders named `llm`, and those named on the command line.

    Args:
        config: the pytest configuration.
        run: its run.

    Raises:
        pytest.UsageError: the driver or the timeout makes no sense.
    """

    def __init__(self, config: pytest.Config, run: TestRun) -> None:
        self._run = run
        driver, timeout = config.getini("llm_mock_spec_driver"), config.getoption("--llm-timeout")
        if driver not in DRIVERS:
            raise pytest.UsageError(f"llm_mock_spec_driver: {driver!r} must be one of {', '.join(DRIVERS)}")
        if timeout is not None and timeout < 1:
            raise pytest.UsageError(f"--llm-timeout: {timeout} must be a number of seconds from 1")

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        if file_path.suffix not in (".yaml", ".yml") or not _is_test(file_path, parent):
            return None
        return LLMTestFile.from_parent(parent, path=file_path, run=self._run)


def _is_test(path: Path, parent: pytest.Collector) -> bool:
    root = parent.config.rootpath
    folders = path.relative_to(root).parts[:-1] if path.is_relative_to(root) else path.parent.parts[-1:]
    return (FOLDER in folders and not NOT_IN.intersection(folders)) or parent.session.isinitpath(path)


class LLMTestFile(pytest.File):
    """A YAML file with a plain-language test.

    Args:
        run: the run of pytest.
    """

    def __init__(self, *, run: TestRun, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._run = run

    def collect(self) -> Iterator[LLMTestItem]:
        """The test.

        Raises:
            pytest.Collector.CollectError: the file does not hold one.
        """
        from llm_mock.specs.loading import load_spec

        try:
            spec = load_spec(self.path)
        except LLMMockError as error:
            raise problems_of_file(error, self.path) from None
        yield LLMTestItem.from_parent(
            self, name=spec.test.name, spec=spec, line=spec.line_of("test"), tags=spec.test.tags, run=self._run
        )


class LLMTestItem(YAMLItem):
    """A plain-language test."""

    def __init__(self, *, spec: TestSpec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.add_marker("llm")

    def runtest(self) -> None:
        """Do the steps and ask for the verdict.

        Raises:
            LLMTestFailed: the verdict is FAIL.
        """
        from llm_mock.specs.explain import unscripted
        from llm_mock.specs.runner import run_llm_test

        config = self.config
        self.stash[STEPS] = []  # of an earlier run, where the test is run again
        try:
            verdict = run_llm_test(
                self.spec,
                self.path,
                config.getoption("--llm-timeout"),
                driver=self._driver(),
                allowed_hosts=self._allowed_hosts(),
                report=self._shown if config.getoption("--llm-verbose") else None,
            )
        except UnexpectedCall as error:
            raise TestFailed(unscripted(str(error))) from None
        self.stash[STEPS] = [step.model_dump(mode="json") for step in verdict.steps]
        if verdict.verdict == "FAIL":
            raise LLMTestFailed(verdict, self.spec, self.shown_path)
        if verdict.verdict == "UNCLEAR":
            pytest.skip(f"UNCLEAR: {verdict.reason}")

    def _driver(self) -> Driver:
        from llm_mock.specs.claude_code import ClaudeCodeDriver
        from llm_mock.specs.drivers import DryRun
        from llm_mock.specs.explain import needs_live
        from llm_mock.specs.llm_driver import LLMDriver

        if self.config.getoption("--llm-mock-dry-run"):
            return DryRun()
        model = self.config.getini("llm_mock_spec_model") or None
        mock: Any = boundary.active()
        mocked = mock is not None and not self.live
        if self.config.getini("llm_mock_spec_driver") == "claude-code":
            if mocked:
                raise TestFailed(needs_live())
            return ClaudeCodeDriver(model=model)
        if mocked:
            mock.settings = mock.settings._replace(strict=True)  # a default reply is no verdict
        return LLMDriver(model)

    def _allowed_hosts(self) -> Any:
        from llm_mock.specs.allowed_hosts import AllowedHosts

        patterns = self.config.getini("llm_mock_allowed_hosts")
        return AllowedHosts(patterns) if patterns else None

    def _shown(self, happened: StepResult | str) -> None:
        """Show a step as it happens: past pytest's capture, or in an xdist worker within it."""
        from llm_mock.specs.explain import step_line

        capture = self.config.pluginmanager.get_plugin("capturemanager")
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        write: Callable[[str], Any] = print if reporter is None else reporter.write_line
        with nullcontext() if reporter is None or capture is None else capture.global_and_fixture_disabled():
            write(happened if isinstance(happened, str) else step_line(happened))


class LLMTestFailed(TestFailed):
    """The verdict of a plain-language test is FAIL.

    Args:
        verdict: the verdict.
        spec: the test.
        path: its file.
    """

    def __init__(self, verdict: Verdict, spec: TestSpec, path: Path) -> None:
        from llm_mock.specs.failure import failed_test

        super().__init__(failed_test(verdict, spec, path))
        self.verdict = verdict
