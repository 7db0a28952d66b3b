"""Base classes of tests in YAML files: of suites and of plain-language tests."""

from __future__ import annotations

import os
import re
from abc import abstractmethod
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
    """A failed test of a YAML file; pytest shows its text without a traceback."""

    __test__ = False


class YAMLFile(pytest.File):
    """A YAML file with tests."""

    def collect(self) -> Iterator[pytest.Item]:
        """Yield the tests.

        Raises:
            CollectError: the file is invalid. pytest shows the text, and collects the other files.
        """
        try:
            yield from self.tests()
        except LLMMockError as error:
            text = str(error)
            # Most messages already begin with the file and the line.
            if str(self.path) not in text:
                text = f"{self.path}: {text}"
            raise self.CollectError(redact(text)) from None

    @abstractmethod
    def tests(self) -> Iterator[pytest.Item]:
        """Yield the tests of the file."""


class UncollectedFile(pytest.File):
    """A YAML file that a fault of the plugin prevents from being collected; it is an error."""

    def __init__(self, *, fault: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._fault = fault

    def collect(self) -> Iterator[pytest.Item]:
        """Raise the fault as an error of collection.

        Raises:
            CollectError: always, with the fault.
        """
        raise self.CollectError(self._fault)


def make_failing_file(
    fault: str, collector: object, file_path: Path, parent: pytest.Collector
) -> UncollectedFile | None:
    """Return a collector that reports the fault for a YAML file; None for any other file."""
    if file_path.suffix not in (".yaml", ".yml"):
        return None
    return UncollectedFile.from_parent(parent, path=file_path, fault=fault)


class YAMLItem(pytest.Item):
    """A test of a YAML file, with a mock of its own as every test function has one.

    Args:
        name: its name; control characters are escaped.
        line: its line in the file, from 1; None if unknown.
        tags: its tags, each of which becomes a marker.
    """

    def __init__(self, *, name: str, line: int | None, tags: Iterable[str], **kwargs: Any) -> None:
        super().__init__(name=escape_unprintable(name), **kwargs)
        self.line = line
        for tag in tags:
            self.add_marker(_register_tag(tag, self.config))

    @property
    def live(self) -> bool:
        """Return whether the test calls real models."""
        return bool(self.config.getoption("--llm-mock-live"))

    def setup(self) -> None:
        """Mock `llm` for this test, unless it calls real models or the project opted out."""
        stack, run = ExitStack(), get_run(self.config)
        self.addfinalizer(stack.close)
        if self.live:
            stack.enter_context(run.live())
        elif run.pending is not None:
            stack.enter_context(contextmanager(activate_test_mock)())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return the text of a failure; without a traceback for errors of the test or its file."""
        if isinstance(excinfo.value, (TestFailed, LLMMockError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def _traceback_filter(self, excinfo: pytest.ExceptionInfo[BaseException]) -> Any:
        """Return the frames of the project alone, from the error of one of its fixtures."""
        # This overrides a private method of pytest's; without it tracebacks are longer.
        others = ("_pytest", "pytest", "pluggy", "llm_mock")
        own = excinfo.traceback.filter(
            lambda entry: not entry.frame.f_globals.get("__name__", "").startswith(others)
        )
        return own or excinfo.traceback

    @property
    def shown_path(self) -> Path:
        """Return the path for messages: relative to the folder in which pytest was started."""
        return Path(format_path(self.path, self.config.invocation_params.dir))

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        """Return the location for pytest's output, whose lines count from 0."""
        line_index = None if self.line is None else self.line - 1
        return self.path, line_index, self.name


def _register_tag(tag: str, config: pytest.Config) -> str:
    """Register the marker of a tag, which `--strict-markers` needs, and return its name."""
    name = _NOT_IN_A_MARKER.sub("_", tag).lstrip("_") or "tag"
    line = f"{name}: a tag of a test in a YAML file."
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return name
