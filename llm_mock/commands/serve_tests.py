"""The mocks of `llm-mock serve`: one for each test that clients name, and one for the others."""

from __future__ import annotations

import sys
from collections import Counter
from contextlib import suppress
from hashlib import blake2b
from typing import TYPE_CHECKING

from llm_mock.behaviour import ModelBehaviour
from llm_mock.commands.errors import print_message
from llm_mock.core.mock import Mock
from llm_mock.core.records import format_call
from llm_mock.core.script import Script
from llm_mock.core.settings import Settings

if TYPE_CHECKING:
    from llm_mock.commands.serve_script import ServeScript
    from llm_mock.core.call import Call
    from llm_mock.core.protocols import RecordedAnswers
    from llm_mock.core.reply import Reply, ReplyFunction

CONTROL_PATH = "/_llm_mock"
"""The start of the paths by which tests set replies and read calls."""
MAX_TESTS = 1_000
"""The number of named tests that are kept, as a server may run for weeks."""

MAX_NOTES = 100
"""The number of problems, and of refusals, of a test that are kept: the first ones say why."""


class ReportingMock(Mock):
    """A mock that prints problems and calls at once, as there is no test to report them.

    Args:
        settings: the settings of the server.
        keep: the number of calls to keep.
        cassette: the cassette of the server, if it has one.
        test: the name of the test; None for requests that name none.
    """

    def __init__(
        self,
        settings: Settings,
        keep: int,
        cassette: RecordedAnswers | None,
        test: str | None = None,
    ) -> None:
        super().__init__(ModelBehaviour(), settings=settings)
        self.history.limit = keep
        self.history.test = test
        self.cassette = cassette
        self.dropped_notes: Counter[str] = Counter()
        """How many notes of each kind, `problem` and `refusal`, were not kept."""
        self._prefix = "" if test is None else f"{test}: "

    def move_script_below(self) -> None:
        """Let replies that are configured from now on take precedence over the script."""
        # Only once: those that a test configures stay together, in their order.
        if self.parent is not None:
            return
        below = Mock(ModelBehaviour())
        below.configurator.replies = self.configurator.replies
        self.configurator.replies = Script(after=below.configurator.replies)
        self.parent = below

    def reset(self) -> None:
        """Remove all calls and the whole configuration."""
        super().reset()
        self.dropped_notes.clear()

    def _find(self, record: Call, with_parents: bool = True) -> Reply | ReplyFunction | None:
        # The script below goes before the cassette, too.
        return super()._find(record)

    def _note(self, kind: str, message: str) -> None:
        notes = self._problems if kind == "problem" else self._refusals
        if len(notes) < MAX_NOTES:
            notes.append(message)
        else:
            self.dropped_notes[kind] += 1
        print_message("Problem", f"{self._prefix}{message}")

    def _report(self, record: Call) -> None:
        """Print a line for a call, which has no secrets and no control characters."""
        # Straight to the stream: `logging` and `click.echo` take longer than the answer.
        # A stream that is closed, or cannot show a character, must not fail the call.
        with suppress(OSError, ValueError):
            sys.stdout.write(f"{self._prefix}{format_call(record)}\n")
            sys.stdout.flush()


class ServedTests:
    """The mocks of a server, all with the same script, and each with its own replies and calls.

    Args:
        settings: the settings of all mocks.
        script: the script; None without one.
        keep: the number of calls that each mock keeps.
        cassette: the cassette, which all mocks share.

    Raises:
        LLMMockError: the script is wrong.
    """

    def __init__(
        self,
        settings: Settings,
        script: ServeScript | None,
        keep: int,
        cassette: RecordedAnswers | None,
    ) -> None:
        self._settings = settings
        self._script = script
        self._keep = keep
        self._cassette = cassette
        self._tests: dict[str, ReportingMock] = {}
        """The mocks of named tests, the most recently used one last."""
        self._generations: dict[str | None, int] = {}
        """How often each kept test was reset."""
        self._next_generation = 0
        """The generation of tests that are not kept; higher than that of all that were dropped."""
        self.dropped = 0
        """The number of tests that were dropped."""
        self._forgotten_calls = 0
        self.unnamed = self._create(None)
        """The mock of requests that name no test."""

    def get(self, test: str | None) -> ReportingMock:
        """Return the mock of a test; a new one if the test is not kept.

        Raises:
            LLMMockError: the function that is the script fails.
        """
        if test is None:
            return self.unnamed
        mock = self._tests.pop(test, None)
        if mock is None:
            mock = self._create(test)
            self._set_generation(test, mock, self._next_generation)
            if len(self._tests) >= MAX_TESTS:
                self._drop_oldest()
        # Added again at the end, because the first test is the next one to drop.
        self._tests[test] = mock
        return mock

    def find(self, test: str | None) -> ReportingMock | None:
        """Return the mock of a test; None if the test is not kept."""
        if test is None:
            return self.unnamed
        return self.get(test) if test in self._tests else None

    def get_names(self) -> list[str]:
        """Return the names of the kept tests, the most recently used one last."""
        return list(self._tests)

    def reset(self, test: str | None) -> None:
        """Remove the calls and the configuration of a test; those of the script remain.

        Raises:
            LLMMockError: the function that is the script fails.
        """
        mock = self.find(test)
        if mock is None:
            return
        self._forgotten_calls += mock.history.number_of_calls
        mock.parent = None
        mock.reset()
        self._configure(mock)
        self._set_generation(test, mock, self._generations.get(test, 0) + 1)

    def count_calls(self) -> tuple[int, int]:
        """Return the number of all calls, and of those that are kept."""
        total = self._forgotten_calls
        kept = 0
        for mock in (self.unnamed, *self._tests.values()):
            total += mock.history.number_of_calls
            kept += len(mock.calls)
        return total, kept

    def _create(self, test: str | None) -> ReportingMock:
        mock = ReportingMock(self._settings, self._keep, self._cassette, test)
        self._configure(mock)
        return mock

    def _configure(self, mock: Mock) -> None:
        # For each test anew, so that no test uses up the replies of another one.
        if self._script is not None:
            self._script.configure(mock.configurator)

    def _set_generation(self, test: str | None, mock: Mock, generation: int) -> None:
        """Give the calls of a mock ids that differ from other tests and from before a reset."""
        self._generations[test] = generation
        # Letters and digits, as providers accept no others in ids that a client sends back.
        digest = "" if test is None else blake2b(test.encode(), digest_size=8).hexdigest()
        # In hexadecimal digits there is no `r`.
        suffix = f"r{generation}" if generation else ""
        mock.history.id_prefix = f"{digest}{suffix}_"

    def _drop_oldest(self) -> None:
        """Drop the least recently used test, and print a warning."""
        test = next(iter(self._tests))
        mock = self._tests.pop(test)
        self._next_generation = max(self._next_generation, self._generations.pop(test) + 1)
        self._forgotten_calls += mock.history.number_of_calls
        self.dropped += 1
        print_message(
            "Warning",
            f"Test {test!r} was dropped with its replies and calls: the server keeps {MAX_TESTS:,} "
            "tests, and this one was the least recently used.",
        )
