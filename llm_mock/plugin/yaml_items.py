"""Tests of pytest that stand in YAML files: what suites and plain-language tests have in common."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.plugin.run import activate_test_mock, get_run
from llm_mock.support.redaction import redact
from llm_mock.support.text import escape_unprintable, format_path

_NOT_IN_A_MARKER = re.compile(r"[^\w.-]+")


class TestFailed(Exception):
    """A test in a YAML file failed. Its text is what pytest shows: there is no traceback that would help."""

    __test__ = False


class YAMLFile(pytest.File):
    """A YAML file with tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """The tests; what is wrong with the file is shown without a traceback, and the other files go on."""
        try:
            yield from self.tests()
        except LLMMockError as error:
            text = str(error)
            raise self.CollectError(
                redact(text if str(self.path) in text else f"{self.path}: {text}")
            ) from None

    def tests(self) -> Iterator[pytest.Item]:
        """The tests that the file holds."""
        raise NotImplementedError


class UncollectedFile(pytest.File):
    """A YAML file that a fault of the plugin keeps from being collected; it is an error, as its tests do not run."""

    def __init__(self, *, fault: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._fault = fault

    def collect(self) -> Iterator[pytest.Item]:
        """Fail.

        Raises:
            CollectError: always, with the fault.
        """
        raise self.CollectError(self._fault)


def uncollected(
    fault: str, collector: object, file_path: Path, parent: pytest.Collector
) -> UncollectedFile | None:
    """Return the collector of a YAML file that says why it is not collected; None for any other file."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    return UncollectedFile.from_parent(parent, path=file_path, fault=fault)


class YAMLItem(pytest.Item):
    """One test of a YAML file. It has a mock of its own, as every test function has one.

    Args:
        name: what it is called; characters that a terminal acts on are escaped.
        line: where it stands in the file, from 1; None where that is not known.
        tags: each becomes a marker.
    """

    def __init__(self, *, name: str, line: int | None, tags: Iterable[str], **kwargs: Any) -> None:
        super().__init__(name=escape_unprintable(name), **kwargs)
        self.line = line
        for tag in tags:
            self.add_marker(_marker_of(tag, self.config))

    @property
    def live(self) -> bool:
        """Whether real models are asked."""
        return bool(self.config.getoption("--llm-mock-live"))

    def setup(self) -> None:
        """Mock `llm` for this test; or leave it alone, where real models were asked for or the project opted out."""
        stack, run = ExitStack(), get_run(self.config)
        self.addfinalizer(stack.close)
        if self.live:
            stack.enter_context(run.live())
        elif run.pending is not None:
            stack.enter_context(contextmanager(activate_test_mock)())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What pytest shows of a failure: what is wrong with the test or its file without a traceback."""
        if isinstance(excinfo.value, (TestFailed, LLMMockError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """The project's own frames: what a fixture raises went through pytest and this plugin first."""
        others = ("_pytest", "pytest", "pluggy", "llm_mock")
        own = excinfo.traceback.filter(
            lambda entry: not entry.frame.f_globals.get("__name__", "").startswith(others)
        )
        return own or excinfo.traceback

    @property
    def shown_path(self) -> Path:
        """The file, as messages name it: from where pytest was started, if it is below."""
        return Path(format_path(self.path, self.config.invocation_params.dir))

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        """Where it stands, for the summary of pytest."""
        return self.path, None if self.line is None else self.line - 1, self.name


def _marker_of(tag: str, config: pytest.Config) -> str:
    """The name of the marker that a tag becomes; it is registered, so that `--strict-markers` knows it."""
    name = _NOT_IN_A_MARKER.sub("_", tag).lstrip("_") or "tag"
    line = f"{name}: a tag of a test in a YAML file."
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return name
