"""Cassettes of suites: record and replay the models' answers in each run of each case."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from llm_mock.boundaries import FOLDER_VARIABLE, TESTING_VARIABLES
from llm_mock.boundaries.http.dialects import list_base_urls, make_environment
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.boundaries.strict_mock import activate_in_process, pass_calls_to_parent
from llm_mock.cassettes import RECORD_MODES, RecordMode
from llm_mock.cassettes.cassette import Cassette
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.paths import get_cassette_path, get_run_path
from llm_mock.cassettes.recording import AsUser
from llm_mock.checks.base import CassetteState
from llm_mock.core.context import ContextMocks, current_mock
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import Attempt
from llm_mock.suites.schema import Target, TestCase, TestSuiteDefinition
from llm_mock.support.redaction import OUTPUT, redact
from llm_mock.support.text import escape_unprintable, shorten, shorten_name, suggest_nearest

ONE_JOB_ADVICE = "Run one case after the other: -j 1."

RunOnce = Callable[[TestCase], Attempt]
"""A function that runs a case once."""


class CassetteMock(LLMMock):
    """Replays the calls of one run of a case from its cassette, or records them."""

    cassette: Cassette

    def __init__(
        self,
        cassette: Cassette,
        parent: LLMMock | None,
        variables: Mapping[str, str | None],
    ) -> None:
        super().__init__(parent=parent, at_boundary=True, settings=Settings(autospec=True))
        self.cassette = cassette
        # Started by the first command: functions and agents need no server.
        self._server: MockServer | None = None
        self._variables = variables

    def embedding_state(self, model_id: str) -> NoReturn:
        """Refuse to embed: a cassette has no embeddings, and a mocked vector would be wrong."""
        problem = LLMMockError(self.explain_embedding(model_id))
        self.note_problem(str(problem))
        raise problem

    def explain_embedding(self, model_id: str) -> str:
        """Return why an embedding model cannot be called, and what to do."""
        return (
            f"The embedding model {shorten_name(model_id)!r} was called, but cassettes cannot "
            "record embeddings. Run this case without a cassette."
        )

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment of a command, which then calls its models through a server here.

        Raises:
            LLMMockError: the environment sets a base URL, which would bypass the server.
        """
        inherited = {**os.environ, **self._variables}
        user_environment = {name: value for name, value in inherited.items() if value is not None}
        base_urls = list_base_urls(user_environment)
        if base_urls:
            raise LLMMockError(
                f"{base_urls[0]} sends the model calls of the command to another server, and a "
                "cassette records only responses of the providers. Unset it, or run without a "
                "cassette."
            )
        if self._server is None:
            self._server = MockServer(lambda: self)
        # Without a key, a command that goes past the server cannot reach its provider.
        keep_keys = self.cassette.mode != "none"
        environment = make_environment(self._server.url, user_environment, keep_keys=keep_keys)
        # The command must not mock its models itself: this server records them.
        no_mock = {FOLDER_VARIABLE: "", **dict.fromkeys(TESTING_VARIABLES, "0")}
        return {**environment, **no_mock, **variables}

    def close(self) -> None:
        """Stop the server, and add the calls to the mock of the test."""
        if self._server is not None:
            self._server.close()
        pass_calls_to_parent(self)


@dataclass(kw_only=True)
class SuiteCassettes:
    """The cassettes of a suite, one for each run of each case."""

    path_of: Callable[[TestCase], Path]
    """Returns the path for the first run of a case; cassettes of further runs are next to it."""
    mode: RecordMode
    config: CassetteConfig
    as_user: AsUser = nullcontext
    """A context in which the user's keys can be looked up."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """Further variables for the environment of commands; None removes one."""
    _mocks: ContextMocks = field(default_factory=lambda: ContextMocks(ONE_JOB_ADVICE), init=False)
    """The mocks of the runs under way, one for each thread."""
    _parent: Any = field(default=None, init=False)
    """The mock of the test in which the suite runs; None outside of a test."""

    @property
    def state(self) -> CassetteState:
        """The state of the run in this thread: `replayed` after the first replayed call."""
        mock: CassetteMock = self._mocks.get()
        return "replayed" if mock.cassette.replayed else "recorded"

    @contextmanager
    def activate(self, target: Target | None) -> Iterator[None]:
        """Use the cassettes for the model calls of this process within the context.

        Calls from processes that a target's function starts are refused: they cannot be assigned
        to a cassette.
        """
        is_function = target is not None and target.function is not None
        self._parent = current_mock()
        with activate_in_process(self._mocks, live=True, processes=is_function):
            yield

    @contextmanager
    def open_run(self, case: TestCase, number: int, run_once: RunOnce) -> Iterator[RunOnce]:
        """Yield a function that runs a case with the cassette of one run.

        Args:
            case: the case.
            number: the number of the run, from 1; its retries share the cassette.
            run_once: runs the case without a cassette.
        """
        path = get_run_path(self.path_of(case), number)
        try:
            cassette = Cassette(
                path,
                self.mode,
                self.config,
                self.as_user,
                at_once=True,
            )
        except LLMMockError as error:
            # A cassette that cannot be read fails its case only.
            failed = Attempt((), (), str(redact(str(error))))
            yield lambda _: failed
            return
        mock = CassetteMock(cassette, self._parent, self.variables)
        try:
            with self._mocks.use(mock):
                yield lambda case: _run_with_cassette(run_once, case, mock)
        finally:
            mock.close()


def create_suite_cassettes(
    suite: TestSuiteDefinition,
    mode: RecordMode,
    dry_run: bool,
    variant: str,
) -> SuiteCassettes:
    """Return the cassettes of a suite, next to its file, where the plugin finds them, too.

    Args:
        suite: the suite, which was read from a file.
        mode: the record mode.
        dry_run: whether the run is dry.
        variant: the name of the variant, which is part of the file names.

    Raises:
        InvalidFile: the suite was made in Python.
        ValueError: the run is dry, or the mode is unknown.
    """
    __tracebackhide__ = True
    if mode not in RECORD_MODES:
        nearest = suggest_nearest(str(mode), RECORD_MODES) or "."
        modes = ", ".join(RECORD_MODES)
        raise ValueError(f"Unknown record mode {shorten(mode)}{nearest} Use one of {modes}.")
    if dry_run:
        problem = "A dry run calls no real model, so it cannot use cassettes"
        raise ValueError(f"{problem}: remove one of the two arguments.")
    path = suite.path
    if path is None:
        problem = "A suite made in Python has no cassettes, which are stored next to a suite file"
        raise InvalidFile(f"{problem}: load the suite with load_suite.")
    config = suite.cassette.add_to(CassetteConfig())
    # Terminal and reports must not show what the cassettes leave out.
    OUTPUT.hide_pattern(*config.redact)

    def get_path(case: TestCase) -> Path:
        return get_cassette_path(path, escape_unprintable(format_case_name(case.name, variant)))

    return SuiteCassettes(path_of=get_path, mode=mode, config=config)


def _run_with_cassette(run_once: RunOnce, case: TestCase, mock: CassetteMock) -> Attempt:
    """Run a case once, save its cassette, and report problems with its calls."""
    cassette = mock.cassette
    problems_before = len(mock.problems)
    recorded_before = len(cassette.recorded)
    replayed_before = cassette.replayed
    attempt = run_once(case)
    problem = next(iter(mock.problems[problems_before:]), None)
    if attempt.error is None and problem is None:
        try:
            cassette.save(passed=True)
            problem = cassette.describe_lost_calls()
        except LLMMockError as error:
            problem = str(error)
    else:
        cassette.forget_failed()
    if problem is not None:
        attempt = replace(attempt, error=str(redact(problem)), assertions=())
    # Not below zero: `forget_failed` may forget calls of an earlier run.
    recorded = max(0, len(cassette.recorded) - recorded_before)
    replayed = cassette.replayed - replayed_before
    return replace(attempt, recorded=recorded, replayed=replayed)
