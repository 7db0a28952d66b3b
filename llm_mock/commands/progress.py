"""The progress line of `llm-mock test`."""

from __future__ import annotations

from collections.abc import Callable

from llm_mock.commands.terminal import Terminal
from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import CaseResult
from llm_mock.suites.schema import TestCase


class Progress:
    """The progress of a suite in all its variants."""

    show: Callable[[str], None]
    """Shows the progress line; set while the terminal has a status."""

    def __init__(self, total: int, terminal: Terminal) -> None:
        self.total = total
        self.done = 0
        self.results: list[CaseResult] = []
        """The results of the current variant, which are kept if the run is interrupted."""
        self._variant = ""
        self._terminal = terminal
        self._running: list[str] = []

    def begin(self, variant: str) -> None:
        """Begin the cases of a variant."""
        self._variant = variant
        self.results = []

    def start(self, case: TestCase) -> None:
        """Add a case that was started."""
        self._running.append(format_case_name(case.name, self._variant))
        self._update()

    def finish(self, result: CaseResult) -> None:
        """Add the result of a case that ended."""
        self.results.append(result)
        self.done += 1
        # Cases that run at once end in any order.
        self._running.remove(format_case_name(result.case.name, self._variant))
        self._update()

    def _update(self) -> None:
        # One line has room for one name.
        if self._running:
            first = self._terminal.line(self._running[0])
        else:
            first = ""
        others = len(self._running) - 1
        if others > 0:
            suffix = f" and {others} more"
        else:
            suffix = ""
        self.show(f"{self.done}/{self.total} {first}{suffix}")
