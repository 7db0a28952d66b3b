"""Observe the model calls that an application makes in a live run."""

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
    """Passes each call to the real model and reads the response; used in place of a cassette."""

    mode = "all"

    def __init__(self) -> None:
        self.left_alone: list[str] = []
        """The requests that cannot be observed, because their hosts are not intercepted."""

    def answer(self, mock: Mock, record: Call, request: Request) -> PassthroughCall:
        """Return the call to pass to the real model."""
        # Nothing is written, so the record of the request needs only the model.
        made = schema.RecordedRequest(model=request.model_id, prompt="", turn=1)
        return Recording(made, request, mock, record, _as_user, {})

    def note_left_alone(self, request: str, fix: str) -> None:
        """Note a call that cannot be observed."""
        self.left_alone.append(f"{request}. {fix}")


@contextmanager
def _as_user() -> Iterator[None]:
    # This process already has the user's keys.
    yield


class ObservingMock(CassetteMock):
    """Passes the calls of a live run to real models, and records them in its history."""

    def __init__(self) -> None:
        self._observer = _Observer()
        # A cassette writes files, the observer does not; mocks use both in the same way.
        super().__init__(cast("Cassette", self._observer), None, {})

    def explain_embedding(self, model_id: str) -> str:
        """Return why a call to an embedding model, which cannot be observed, is refused."""
        name = shorten_name(repr(model_id))
        return (
            f"The embedding model {name} was called, but calls to embedding models cannot be "
            "observed in a live run. Remove the checks of model calls, or use a dry run."
        )

    def find_unread(self) -> str | None:
        """Return why a call of the run could not be read, or None."""
        unread = [*self.problems, *self._observer.left_alone]
        return unread[0] if unread else None


class LiveCalls:
    """Observes the calls of live runs, with one mock for each run of a case."""

    def __init__(self) -> None:
        self._mocks = ContextMocks(ONE_JOB_ADVICE)

    @contextmanager
    def activate(self, target: Target) -> Iterator[None]:
        """Observe the model calls of this process within the context.

        Processes that a function starts are not observed.
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
        """Do not observe the calls of one run of a case within the context."""
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
