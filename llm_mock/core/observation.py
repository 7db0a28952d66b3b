"""Observe and change the calls of all mocks of the process, for mutation runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from llm_mock.core.mock import Mock
from llm_mock.core.reply import Reply

if TYPE_CHECKING:
    from llm_mock.core.answer import Answer
    from llm_mock.core.call import Call
    from llm_mock.core.protocols import PassthroughCall
    from llm_mock.core.reply import ReplyFunction
    from llm_mock.core.request import Request

    Decision = Reply | ReplyFunction | PassthroughCall


class CallObserver(Protocol):
    """An observer of calls, which may change the requests and replies of a mock."""

    def change_request(self, mock: Mock, request: Request) -> Request:
        """Return the request for the mock to record and match; the same one for no change."""

    def hide_call(self, mock: Mock, record: Call) -> bool:
        """Return whether to remove a call from the history; called after it was recorded."""

    def change_reply(self, mock: Mock, record: Call, request: Request, reply: Reply) -> Reply:
        """Return the reply to a call; the same one for no change."""

    def note_real_call(self, record: Call) -> None:
        """Receive a real call that the boundary makes."""


@contextmanager
def observe(observer: CallObserver) -> Iterator[None]:
    """Let an observer see all calls of this process within the context.

    It replaces methods of `Mock` for that time, so that calls without an observer are not slower.
    """
    originals = {name: vars(Mock)[name] for name in ("_begin", "_resolve", "_finish")}
    begin, resolve, finish = originals.values()
    changed_requests: dict[int, Request] = {}

    def begin_observed(self: Mock, request: Request) -> Call:
        seen = observer.change_request(self, request)
        record: Call = begin(self, seen)
        if seen is not request:
            changed_requests[id(record)] = seen
        else:
            # A new record may have the id of an earlier one that was deleted.
            changed_requests.pop(id(record), None)
        if observer.hide_call(self, record):
            self.history.remove(record)
        return record

    def resolve_observed(self: Mock, record: Call, request: Request) -> Decision:
        __tracebackhide__ = True
        seen = changed_requests.pop(id(record), request)
        # A cassette compares the whole request, so it needs the changed one. Otherwise the original
        # is used, which has everything that the application needs.
        matched = request if self.cassette is None else seen
        decision: Decision = resolve(self, record, matched)
        if isinstance(decision, Reply):
            return decision
        if not callable(decision):
            observer.note_real_call(record)
            return decision
        return decision if seen is request else _bind_request(decision, seen)

    def finish_observed(self: Mock, record: Call, request: Request, reply: Reply) -> Answer:
        __tracebackhide__ = True
        changed = observer.change_reply(self, record, request, reply)
        answer: Answer = finish(self, record, request, changed)
        return answer

    replacements = (begin_observed, resolve_observed, finish_observed)
    for name, replacement in zip(originals, replacements, strict=True):
        setattr(Mock, name, replacement)
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(Mock, name, original)


def _bind_request(function: ReplyFunction, request: Request) -> ReplyFunction:
    """Return a reply function that gets the object of a changed request."""

    def answer(native: object) -> object:
        return function(request.native)

    return answer
