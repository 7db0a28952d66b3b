"""The calls that a mock saw."""

from __future__ import annotations

import copy
import sys
import threading
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.ownership import running_test
from llm_mock.core.records import CallRecord, Totals, add_call, new_record
from llm_mock.core.reply import Reply, ReplyFunction, to_reply
from llm_mock.support.locks import Lock

if TYPE_CHECKING:
    from llm_mock.core.call_log import CallLog, Details
    from llm_mock.core.request import Request
    from llm_mock.core.script import StandingReply


class LateCall(NamedTuple):
    """A call that was made after its test had ended."""

    test: str
    model_id: str
    caller: str
    """The thread or task that made it."""
    running: str
    """The test that was running meanwhile; empty for none."""


class ModelState:
    """What a mock knows of one model id; shared by all models of that id that the mock answers for."""

    __slots__ = ("answer", "calls", "default_response")

    def __init__(self, parent: ModelState | None = None) -> None:
        self.calls: list[CallRecord] = []
        self.answer: Reply | ReplyFunction | None = parent.answer if parent else None
        self.default_response: Any = parent.default_response if parent else {"success": True}

    def set_default(self, reply: Any) -> None:
        """Set what is answered where no reply fits."""
        self.answer = to_reply(reply)
        self.default_response = reply


class History:
    """The calls of a mock, in order, and of each model."""

    def __init__(self, parent: History | None = None) -> None:
        self.calls: list[CallRecord] = []
        self.totals: dict[str, Totals] = {}
        """Of each model: the sums over the tests that ended, where the mock serves the whole run."""
        self.answered_by_default: dict[str, int] = {}
        """How many calls of each test that ended were answered by default, where the mock serves the whole run."""
        self.late_calls: Counter[LateCall] = Counter()
        """The calls that threads and tasks of ended tests made, where the mock serves the whole run."""
        self.log: CallLog | None = None if parent is None or parent.log is None else parent.log.another()
        """Every call with its details, where a report was asked for."""
        self.answered_by: dict[int, StandingReply] = {}
        """The configured reply that answered a call of this process, by the number of the call."""
        self.unread: dict[int, Any] = {}
        """What was asked and not read, as its library has it, by its id: see `llm_mock.boundaries.llm.unread`."""
        self.limit: int | None = None
        """How many calls are kept, the last ones; None for all."""
        self._parent = parent
        self._states: dict[str, ModelState] = {}
        self._last_number = 0
        self._lock = Lock()

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:  # other threads may go on to call while this is copied
            states = {model_id: copy.copy(state) for model_id, state in self._states.items()}
            for state in states.values():
                state.calls = state.calls.copy()
            return {**self.__dict__, "calls": self.calls.copy(), "unread": {}, "_states": states}

    @property
    def is_empty(self) -> bool:
        """Whether no model was asked for."""
        return not self._states

    @property
    def number_of_calls(self) -> int:
        """How many calls there were, those that are no longer kept included."""
        return self._last_number

    def state(self, model_id: str) -> ModelState:
        """What is known of a model id; its default response starts as that of the parent."""
        known = self._states.get(model_id)
        if known is not None:
            return known
        parent = self._parent._states.get(model_id) if self._parent else None
        return self._states.setdefault(model_id, ModelState(parent))

    def begin(self, request: Request) -> CallRecord:
        """Record a call that is about to be answered."""
        record = new_record(request)
        self._append(record, {})
        if self.log is not None:
            self.log.asked(record, request)
        return record

    def complete(self, record: CallRecord, reply: Reply, request: Request | None) -> None:
        """Record what a call was answered, or a part of it before an error; see `Reply.tokens` for the request."""
        record["response"] = reply.outcome
        record["input_tokens"], record["output_tokens"] = reply.tokens(request)
        if self.log is not None:
            self.log.answered(record, reply)

    def fail(self, record: CallRecord, error: BaseException, told: dict[str, Any] | None = None) -> None:
        """Record the error of a call, and what else is told of it."""
        record["error"] = _message(error)
        record.update(told or {})  # type: ignore[typeddict-item]
        if self.log is not None:
            self.log.failed(record, error)

    def receive(self, call: CallRecord) -> None:
        """Take in a call that another process made."""
        self._append(call, {} if self.log is None else self.log.taken_from(call))

    def _append(self, record: CallRecord, details: Details) -> None:
        """Number a call and take it in, so that calls are in the order of their numbers, under threads too."""
        with self._lock:
            state = self._states.get(record["model_id"]) or self.state(record["model_id"])
            self._last_number += 1
            record["number"] = self._last_number
            state.calls.append(record)
            self.calls.append(record)
            if self.limit is not None and len(self.calls) > self.limit:
                self._forget_first()
            if self.log is not None:
                self.log.add(record, details)

    def _forget_first(self) -> None:
        """Forget the oldest call, as there are more than are kept."""
        oldest = self.calls.pop(0)
        self.answered_by.pop(oldest["number"], None)
        state = self._states[oldest["model_id"]]
        state.calls.pop(0)
        if not state.calls and state.answer is None:  # clients may name another model each time
            del self._states[oldest["model_id"]]

    def forget(self, model_id: str) -> None:
        """Forget the calls of one model."""
        with self._lock:
            self.calls[:] = [call for call in self.calls if call["model_id"] != model_id]
            self.state(model_id).calls.clear()

    def clear(self) -> None:
        """Forget all calls, and what is known of models."""
        with self._lock:
            self.calls.clear()
            self.unread.clear()
            self._states.clear()
            self.answered_by.clear()
            self._last_number = 0

    def note_late_call(self, test: str, model_id: str) -> None:
        """Note, for the whole run, that a thread or task of an ended test asks a model."""
        if self._parent is not None:
            self._parent.note_late_call(test, model_id)
            return
        with self._lock:
            self.late_calls[LateCall(test, model_id, _caller(), running_test())] += 1

    def add_totals(self, calls: Iterable[CallRecord], test: str) -> None:
        """Add the calls of a test to `totals`."""
        for call in calls:
            add_call(self.totals, call)
            if not call["configured"]:
                self.answered_by_default[test] = self.answered_by_default.get(test, 0) + 1


def _caller() -> str:
    """Return the name of the asyncio task, or of the thread, that runs here."""
    asyncio = sys.modules.get("asyncio")
    try:
        task = None if asyncio is None else asyncio.current_task()
    except RuntimeError:  # no event loop is running
        task = None
    return f"the thread {threading.current_thread().name!r}" if task is None else f"the task {task.get_name()!r}"


def _message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # its `__str__` fails
        return type(error).__name__
