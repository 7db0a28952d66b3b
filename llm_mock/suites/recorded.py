"""The cassettes of a suite: what models answer in each run of each case is recorded, and replayed."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from llm_mock.boundaries import FOLDER_VARIABLE, TESTING_VARIABLES
from llm_mock.boundaries.http.dialects import base_urls_in, environment_of
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.cassettes.cassette import Cassette
from llm_mock.cassettes.config import CassetteConfig
from llm_mock.cassettes.paths import get_cassette_path, get_run_path
from llm_mock.cassettes.record_modes import RECORD_MODES, RecordMode
from llm_mock.cassettes.recording import AsUser
from llm_mock.core.context import ContextMocks, current_mock
from llm_mock.core.settings import Settings
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.suites.assertion_types.base import CassetteState
from llm_mock.suites.matrix import format_case_name
from llm_mock.suites.results import Attempt
from llm_mock.suites.schema import Target, TestCase, TestSuiteDefinition
from llm_mock.suites.scripted_mock import mocking_process, tell_parent
from llm_mock.support.redaction import OUTPUT, redacted
from llm_mock.support.text import escaped, shorten, shorten_name

ALONE = "Run one case after the other: -j 1."

AttemptOnce = Callable[[TestCase], Attempt]


class RecordedMock(LLMMock):
    """Answers the calls of one run of a case from its cassette, or has them made and recorded."""

    cassette: Cassette

    def __init__(self, cassette: Cassette, parent: Any, variables: Mapping[str, str | None]) -> None:
        super().__init__(parent=parent, at_boundary=True, settings=Settings(autospec=True))
        self.cassette = cassette
        self._server: MockServer | None = None
        self._variables = variables

    def embedding_state(self, model_id: str) -> Any:
        """Refuse to embed, which cassettes do not hold: a mocked vector would be no answer of a real model."""
        __tracebackhide__ = True
        problem = LLMMockError(
            f"The embedding model {shorten_name(model_id)!r} was asked, and a cassette holds no embeddings. Run this "
            "case without one."
        )
        self.note_problem(str(problem))
        raise problem

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment of a command whose models are asked through a server here: its base URLs, and the keys."""
        __tracebackhide__ = True
        own = {name: value for name, value in {**os.environ, **self._variables}.items() if value is not None}
        if elsewhere := base_urls_in(own):
            raise LLMMockError(
                f"A cassette records what the providers themselves answer a command, and {elsewhere[0]} says that its "
                "models are elsewhere: unset it, or run without a cassette."
            )
        self._server = self._server or MockServer(lambda: self)
        no_mock = {FOLDER_VARIABLE: "", **dict.fromkeys(TESTING_VARIABLES, "0")}
        asks = self.cassette.mode != "none"  # else a command that goes past the server finds no key
        return {**environment_of(self._server.url, own, keep_keys=asks), **no_mock, **variables}

    def close(self) -> None:
        """The run is over."""
        if self._server is not None:
            self._server.close()
        tell_parent(self)


@dataclass(kw_only=True)
class Cassettes:
    """The cassettes of the cases of a suite, one for each run of each."""

    path_of: Callable[[TestCase], Path]
    """The cassette of the first run of a case; the others lie beside it."""
    mode: RecordMode
    config: CassetteConfig
    as_user: AsUser = nullcontext
    """Within it the keys of the person who runs the process can be looked up."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """What else a command has in its environment; None takes a variable out."""
    _several: ContextMocks = field(default_factory=lambda: ContextMocks(ALONE), init=False)
    _parent: Any = field(default=None, init=False)
    """The mock of the test in which the suite runs; None outside of one."""

    @property
    def state(self) -> CassetteState:
        """Whether the run of a case that is under way here was replayed so far, in part at least, or is recorded."""
        mock: RecordedMock = self._several.get()
        return "replayed" if mock.cassette.replayed else "recorded"

    @contextmanager
    def mocking(self, target: Target | None) -> Iterator[None]:
        """Within it the cassettes answer the models of this process; what a function starts is refused an answer."""
        hands_over = target is not None and target.function is not None
        self._parent = current_mock()
        with mocking_process(self._several, live=True, processes=hands_over):
            yield

    @contextmanager
    def of_run(self, case: TestCase, number: int, attempt: AttemptOnce) -> Iterator[AttemptOnce]:
        """What runs a case for the first, second, … time, and again where it failed: all with one cassette."""
        path = get_run_path(self.path_of(case), number)
        try:
            cassette = Cassette(path, self.mode, self.config, self.as_user, at_once=True)
        except LLMMockError as error:
            broken = Attempt((), (), str(redacted(str(error))))
            yield lambda _: broken
            return
        mock = RecordedMock(cassette, self._parent, self.variables)
        try:
            with self._several.use(mock):
                yield lambda case: _attempted(attempt, case, mock)
        finally:
            mock.close()


def cassettes_of(suite: TestSuiteDefinition, mode: RecordMode, dry_run: bool, variant: str) -> Cassettes:
    """The cassettes of a suite that was read from a file, beside it, where pytest looks for those of each variant, too.

    Raises:
        InvalidFile: it was made in Python.
        ValueError: the run is dry, or there is no such mode.
    """
    __tracebackhide__ = True
    if mode not in RECORD_MODES:
        raise ValueError(f"cassette is {shorten(mode)}; give one of {', '.join(RECORD_MODES)}.")
    if dry_run:
        raise ValueError("A dry run asks no real model, so it has no cassettes: leave out one of the two.")
    if (path := suite.path) is None:
        raise InvalidFile("A suite that is no file has no cassettes, as these lie beside it: read one with load_suite.")
    config = suite.cassette.added_to(CassetteConfig())
    OUTPUT.hide_pattern(*config.redact)
    return Cassettes(
        path_of=lambda case: get_cassette_path(path, escaped(format_case_name(case.name, variant))),
        mode=mode,
        config=config,
    )


def _attempted(attempt: AttemptOnce, case: TestCase, mock: RecordedMock) -> Attempt:
    """Run a case once, write what was recorded, and say what was wrong with it."""
    cassette = mock.cassette
    problems, recorded, replayed = len(mock.problems), len(cassette.recorded), cassette.replayed
    result = attempt(case)
    problem = next(iter(mock.problems[problems:]), None)
    if result.error is None and problem is None:
        try:
            cassette.save(passed=True)
            problem = cassette.describe_lost_calls()
        except LLMMockError as error:
            problem = str(error)
    else:
        cassette.forget_failed()
    if problem is not None:
        result = replace(result, error=str(redacted(problem)), assertions=())
    recorded = max(0, len(cassette.recorded) - recorded)  # what failed in an earlier run may be forgotten by now
    return replace(result, recorded=recorded, replayed=cassette.replayed - replayed)
