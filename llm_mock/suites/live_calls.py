"""Observe the model calls of an application in a live run, while they pass through."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from llm_mock.boundaries.strict_mock import activate_in_process
from llm_mock.cassettes import schema
from llm_mock.cassettes.recording import Recording
from llm_mock.core.context import ContextMocks, is_live, set_live
from llm_mock.suites.suite_cassettes import ONE_JOB_ADVICE, CassetteMock
from llm_mock.support.text import shorten_name

if TYPE_CHECKING:
    from llm_mock.cassettes.cassette import Cassette
    from llm_mock.core.call import Call
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import PassthroughCall
    from llm_mock.core.request import Request
    from llm_mock.suites.schema import Target


class _Observer:
    """Has each call made for real, and reads the answer; it takes the place of a cassette."""

    mode = "all"

    def __init__(self) -> None:
        self.left_alone: list[str] = []
        """The requests that cannot be read, as their hosts are left alone."""

    def answer(self, mock: Mock, record: Call, request: Request) -> PassthroughCall:
        """Return the call to make for real."""
        # Nothing is written, so the record of the request needs no more than the model.
        made = schema.RecordedRequest(model=request.model_id, prompt="", turn=1)
        return Recording(made, request, mock, record, _as_user, {})

    def note_left_alone(self, request: str, fix: str) -> None:
        """Note a call that is made unobserved."""
        self.left_alone.append(f"{request}. {fix}")


@contextmanager
def _as_user() -> Iterator[None]:
    # The process has the keys of the person who runs it already.
    yield


class ObservingMock(CassetteMock):
    """Has the calls of a live run made for real, and records them in its history."""

    def __init__(self) -> None:
        self._observer = _Observer()
        # A cassette writes files, the observer does not; mocks use both in the same way.
        super().__init__(cast("Cassette", self._observer), None, {})

    def explain_embedding(self, model_id: str) -> str:
        """Return why an embedding model of `llm`, which cannot be observed, is not asked."""
        name = shorten_name(repr(model_id))
        return (
            f"The embedding model {name} was asked while the calls of a live run are observed. "
            "Leave out the checks of the application's calls, or run with a dry run."
        )

    def find_unread(self) -> str | None:
        """Return why a call of the run could not be read, or None."""
        unread = [*self.problems, *self._observer.left_alone]
        return unread[0] if unread else None


class LiveCalls:
    """Observes the calls of live runs, one mock for each run of a case."""

    def __init__(self) -> None:
        self._mocks = ContextMocks(ONE_JOB_ADVICE)

    @contextmanager
    def activate(self, target: Target) -> Iterator[None]:
        """Observe the models of this process within the context.

        The processes that a function starts are not observed.
        """
        if target.function is None:
            # The command calls its models through the server of its mock.
            yield
            return
        was_live = is_live()
        set_live(False)
        try:
            with activate_in_process(self._mocks, live=True, processes=False):
                yield
        finally:
            set_live(was_live)

    @contextmanager
    def leave_alone(self) -> Iterator[None]:
        """Have the calls of one run of a case made unobserved within the context."""
        with self._mocks.use(None):
            yield

    @contextmanager
    def observe(self) -> Iterator[ObservingMock]:
        """Yield the mock of one run of a case."""
        mock = ObservingMock()
        try:
            with self._mocks.use(mock):
                yield mock
        finally:
            mock.close()
