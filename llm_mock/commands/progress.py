"""What `llm-mock test` shows while it runs."""

from __future__ import annotations

from collections.abc import Callable

from llm_mock.commands.terminal import Terminal
from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import CaseResult
from llm_mock.suites.schema import TestCase


class Progress:
    """How far the run of a suite is, in all its variants."""

    show: Callable[[str], None]

    def __init__(self, total: int, terminal: Terminal) -> None:
        self.total = total
        self.done = 0
        self.results: list[CaseResult] = []
        """Of the variant that is run."""
        self._variant = ""
        self._terminal = terminal
        self._running: list[str] = []

    def begin(self, variant: str) -> None:
        """The cases of a variant come now."""
        self._variant, self.results = variant, []

    def start(self, case: TestCase) -> None:
        """A case is started."""
        self._running.append(format_case_name(case.name, self._variant))
        self._update()

    def finish(self, result: CaseResult) -> None:
        """A case is done."""
        self.results.append(result)
        self.done += 1
        self._running.remove(format_case_name(result.case.name, self._variant))
        self._update()

    def _update(self) -> None:
        others = f" and {len(self._running) - 1} more" if len(self._running) > 1 else ""
        first = self._terminal.line(self._running[0]) if self._running else ""
        self.show(f"{self.done}/{self.total} {first}{others}")
