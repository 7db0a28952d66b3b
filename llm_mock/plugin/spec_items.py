"""Plain-language tests in pytest: each file is a test. Imported only with `--llm`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from llm_mock.core.context import current_mock
from llm_mock.errors import DriverError, UnexpectedCall
from llm_mock.plugin import NOT_CHECKED
from llm_mock.plugin.call_collector import STEPS
from llm_mock.plugin.guard import deciding_hook
from llm_mock.plugin.yaml_fixtures import get_fixture_values
from llm_mock.plugin.yaml_items import YAMLFile, YAMLItem, make_failing_file
from llm_mock.specs.allowed_hosts import AllowedHosts
from llm_mock.specs.drivers import DRIVERS, Driver, DryRun, create_driver
from llm_mock.specs.failure import LLMTestFailed
from llm_mock.specs.file_kinds import LEFT_OUT, SUFFIXES
from llm_mock.specs.loading import load_spec
from llm_mock.specs.models import StepResult, TestSpec
from llm_mock.specs.runner import run_llm_test
from llm_mock.support.numbers import LONGEST
from llm_mock.support.text import suggest_nearest

FOLDER = "llm"
"""The name of the folders of plain-language tests, at any depth of the project."""


class SpecCollector:
    """A pytest plugin that collects plain-language tests.

    These are the YAML files in folders named `llm` and those on the command line.

    Raises:
        pytest.UsageError: the driver or the timeout is invalid.
    """

    def __init__(self, config: pytest.Config) -> None:
        driver, timeout = config.getini("llm_mock_spec_driver"), config.getoption("--llm-timeout")
        if driver not in DRIVERS:
            raise pytest.UsageError(
                f"llm_mock_spec_driver: {driver!r} must be one of {', '.join(DRIVERS)}"
                f"{suggest_nearest(driver, DRIVERS)}"
            )
        if timeout is not None and not 1 <= timeout <= LONGEST:
            raise pytest.UsageError(
                f"--llm-timeout: {timeout} must be a number of seconds from 1 to {LONGEST:,}"
            )

    @deciding_hook(make_failing_file)
    def pytest_collect_file(
        self, file_path: Path, parent: pytest.Collector
    ) -> pytest.Collector | None:
        """Return the collector of a plain-language test; None for other files."""
        if file_path.suffix not in SUFFIXES or not _is_test(file_path, parent):
            return None
        return LLMTestFile.from_parent(parent, path=file_path)


def _is_test(path: Path, parent: pytest.Collector) -> bool:
    # A file on the command line is a test wherever it is.
    if parent.session.isinitpath(path):
        return True
    root = parent.config.rootpath
    if path.is_relative_to(root):
        # Only folders below the root: a folder above it may be named `llm`, too.
        folders = path.relative_to(root).parts[:-1]
    else:
        folders = path.parent.parts[-1:]
    return FOLDER in folders and LEFT_OUT.isdisjoint(folders)


class LLMTestFile(YAMLFile):
    """A YAML file with a plain-language test."""

    def tests(self) -> Iterator[LLMTestItem]:
        """Yield the test of the file."""
        spec = load_spec(self.path)
        yield LLMTestItem.from_parent(
            self, name=spec.test.name, spec=spec, line=spec.line_of("test"), tags=spec.test.tags
        )


class LLMTestItem(YAMLItem):
    """A plain-language test."""

    def __init__(self, *, spec: TestSpec, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.spec = spec
        self.fixtures: dict[str, Any] = {}
        self.add_marker("llm")

    def setup(self) -> None:
        """Set up the mock and the fixtures that the test names."""
        super().setup()
        self.fixtures = get_fixture_values(self, self.spec.test.fixtures)

    def runtest(self) -> None:
        """Run the steps and check the verdict.

        Raises:
            LLMTestFailed: the verdict is FAIL.
        """
        option, hosts = self.config.getoption, self.config.getini("llm_mock_allowed_hosts")
        # A repeated test has the steps of its previous run.
        self.stash[STEPS] = []
        try:
            verdict = run_llm_test(
                self.spec,
                self.path,
                option("--llm-timeout"),
                driver=DryRun() if option("--llm-mock-dry-run") else self._driver(),
                allowed_hosts=AllowedHosts(hosts) if hosts else None,
                report=self._print_step if option("--llm-verbose") else None,
                fixtures=self.fixtures,
            )
        except UnexpectedCall as error:
            raise UnexpectedCall(
                f"{error}\n\nA plain-language test calls a model. Add --llm-mock-live to call a "
                "real one, or --llm-mock-dry-run to call the tools of its steps without a model; "
                "or configure replies in pytest_llm_mock_configure."
            ) from None
        self.stash[STEPS] = [step.model_dump(mode="json") for step in verdict.steps]
        if verdict.verdict == "FAIL":
            raise LLMTestFailed(verdict, self.spec, self.shown_path)
        if verdict.verdict == "UNCLEAR":
            pytest.skip(f"UNCLEAR: {verdict.reason}")
        if option("--llm-mock-dry-run"):
            self.user_properties.append((NOT_CHECKED, verdict.reason))

    def _driver(self) -> Driver:
        model = self.config.getini("llm_mock_spec_model") or None
        driver = create_driver(self.config.getini("llm_mock_spec_driver"), model)
        mock: Any = current_mock()
        if mock is not None and not self.live:
            if driver.needs_live:
                raise DriverError(
                    f"The driver {driver.name} calls a real model: add --llm-mock-live. "
                    "Without a model, --llm-mock-dry-run calls the tools of the steps."
                )
            # A default reply is not a verdict.
            mock.settings = mock.settings._replace(strict="error")
        return driver

    def _print_step(self, step: StepResult | str) -> None:
        """Print a step when it ends, although pytest captures output."""
        capture = self.config.pluginmanager.get_plugin("capturemanager")
        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        # In a worker of pytest-xdist, which has no terminal, the output is captured.
        if reporter is None:
            print(step)
            return
        uncaptured = capture.global_and_fixture_disabled() if capture else nullcontext()
        with uncaptured:
            reporter.write_line(str(step))
