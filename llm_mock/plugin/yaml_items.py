"""Tests of pytest that stand in YAML files: what suites and plain-language tests have in common.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from llm_mock.errors import LLMMockError
from llm_mock.plugin.run import TestRun, mock_of_test
from llm_mock.support.text import escaped, shown_path

_NOT_IN_A_MARKER = re.compile(r"[^\w.-]+")


class TestFailed(Exception):
    """A test in a YAML file failed. Its text is what pytest shows: there is no traceback that would help."""

    __test__ = False


class YAMLItem(pytest.Item):
    """One test of a YAML file. It has a mock of its own, as every test function has one.

    Args:
        name: what it is called; characters that a terminal acts on are escaped.
        line: where it stands in the file, from 1; None where that is not known.
        tags: each becomes a marker.
        run: the run of pytest, which knows about real models.
    """

    def __init__(self, *, name: str, line: int | None, tags: Iterable[str], run: TestRun, **kwargs: Any) -> None:
        super().__init__(name=escaped(name), **kwargs)
        self.line = line
        self.run = run
        self.live = bool(self.config.getoption("--llm-mock-live"))
        """Whether real models are asked."""
        for tag in tags:
            self.add_marker(marker_of(tag, self.config))

    def setup(self) -> None:
        """Mock `llm` for this test; or leave it alone, where real models were asked for or the project opted out."""
        stack = ExitStack()
        self.addfinalizer(stack.close)
        if self.live:
            stack.enter_context(self.run.live())
        elif self.run.pending is not None:
            stack.enter_context(contextmanager(mock_of_test)())

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """What pytest shows of a failure: what is wrong with the test or its file without a traceback."""
        if isinstance(excinfo.value, (TestFailed, LLMMockError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    @property
    def shown_path(self) -> Path:
        """The file, as messages name it: from where pytest was started, if it is below."""
        return Path(shown_path(self.path, self.config.invocation_params.dir))

    def reportinfo(self) -> tuple[os.PathLike[str], int | None, str]:
        """Where it stands, for the summary of pytest."""
        return self.path, None if self.line is None else self.line - 1, self.name


def marker_of(tag: str, config: pytest.Config) -> str:
    """The name of the marker that a tag becomes; it is registered, so that `--strict-markers` knows it."""
    name = _NOT_IN_A_MARKER.sub("_", tag).lstrip("_") or "tag"
    line = f"{name}: a tag of a test in a YAML file."
    if line not in config.getini("markers"):
        config.addinivalue_line("markers", line)
    return name


def problems_of_file(error: LLMMockError, path: Path) -> pytest.Collector.CollectError:
    """The error that pytest shows for a file without a traceback; the other files go on."""
    return pytest.Collector.CollectError(str(error) if str(path) in str(error) else f"{path}: {error}")
