"""The history of calls of a mock."""

from __future__ import annotations

import copy
import sys
import threading
import zlib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.core.ownership import get_running_test
from llm_mock.core.records import Totals, add_call
from llm_mock.core.reply import Reply, ReplyFunction, to_reply
from llm_mock.support.locks import Lock

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.call_log import CallLog
    from llm_mock.core.request import Request
    from llm_mock.core.script import StandingReply
    from llm_mock.support.json_types import JSONObject


_prefixes_of_tests: Counter[str] = Counter()
"""The number of histories with ids for each test, by its node id."""
_prefix_lock = Lock()


class LateCall(NamedTuple):
    """A call made by a thread or task after its test had ended."""

    test: str
    model_id: str
    caller: str
    """A description of the thread or task."""
    running: str
    """The node id of the test that was running at that time; empty for none."""


class ModelState:
    """The state of one model id, shared by all model objects of that id."""

    __slots__ = ("answer", "calls", "default_response")

    def __init__(self, parent: ModelState | None = None) -> None:
        self.calls: list[Call] = []
        self.answer: Reply | ReplyFunction | None = parent.answer if parent else None
        self.default_response: object = parent.default_response if parent else {"success": True}

    def set_default(self, reply: object) -> None:
        """Set the answer to calls that no configured reply matches."""
        self.answer = to_reply(reply)
        self.default_response = reply


class UnreadResponses(dict[int, Any]):
    """The unread responses by their `id()`; see `boundaries.llm.unconsumed_responses`."""

    def __reduce__(self) -> tuple[object, ...]:
        # Every response refers to this dict, so pickling one would pickle all of them.
        return UnreadResponses, ()


class History:
    """The calls of a mock, in order, and of each model.

    Args:
        parent: the history of the parent mock.
    """

    def __init__(self, parent: History | None = None) -> None:
        self.calls: list[Call] = []
        self.totals: dict[str, Totals] = {}
        """The totals of each model over all ended tests; only in the mock of the whole run."""
        self.answered_by_default: dict[str, int] = {}
        """The number of calls of each ended test that were answered by default, by its node id;
        only in the mock of the whole run."""
        self.generated_embeddings = 0
        """The number of embedded batches with vectors that no test configured."""
        self.late_calls: Counter[LateCall] = Counter()
        """The calls of threads and tasks of ended tests; only in the mock of the whole run."""
        self.log: CallLog | None = None
        """The log of calls with details, if a report is requested."""
        if parent is not None and parent.log is not None:
            self.log = parent.log.create_child()
        self.answered_by: dict[int, StandingReply | None] = {}
        """The configured replies that answered calls of this process, by the number of the call;
        None for a refused call."""
        self.unread = UnreadResponses()
        self.test: str | None = None
        """The node id of the test that makes the calls."""
        self.limit: int | None = None
        """The number of latest calls to keep; None for all."""
        self.id_prefix: str | None = None
        """The beginning of the ids of calls; None until the first one is needed."""
        self._parent = parent
        self._states: dict[str, ModelState] = {}
        self._last_number = 0
        self._lock = Lock()

    def __getstate__(self) -> dict[str, object]:
        # For a copy in another process. The lock, because other threads may make calls now.
        with self._lock:
            states = {model_id: copy.copy(state) for model_id, state in self._states.items()}
            for state in states.values():
                state.calls = state.calls.copy()
            unread = UnreadResponses()
            copied = {"calls": self.calls.copy(), "unread": unread, "_states": states}
            return {**self.__dict__, **copied}

    @property
    def is_empty(self) -> bool:
        """True until the application obtains the first model."""
        return not self._states

    @property
    def number_of_calls(self) -> int:
        """The number of all calls, including calls that are no longer kept."""
        return self._last_number

    def keep_log(self, *, detailed: bool) -> None:
        """Log every call from now on, including calls of child mocks that are created later.

        An existing log is kept, and contains details if either request for the log wants them.

        Args:
            detailed: whether to log complete requests and responses.
        """
        if self.log is None:
            # Imported here, because most runs have no log.
            from llm_mock.core.call_log import CallLog

            self.log = CallLog(detailed)
            for call in self.calls:
                self.log.add(call, {})
        elif detailed:
            self.log.detailed = True

    def state(self, model_id: str) -> ModelState:
        """Return the state of a model id; a new one takes its default response from the parent."""
        known = self._states.get(model_id)
        if known is not None:
            return known
        parent = self._parent._states.get(model_id) if self._parent else None
        return self._states.setdefault(model_id, ModelState(parent))

    def get_id_prefix(self) -> str:
        """Return the prefix of the ids of calls, which is unique in the run.

        It depends only on the name of the test, so that a test has the same ids in every run.
        """
        if self.id_prefix is None:
            self.id_prefix = _make_id_prefix(self.test or get_running_test())
        return self.id_prefix

    def fail(self, record: Call, error: BaseException, more: JSONObject | None = None) -> None:
        """Record the error of a call.

        Args:
            record: the record of the call.
            error: the error.
            more: further fields for the record; see `Request.describe_failure`.
        """
        record["error"] = _error_message(error)
        record.update(more or {})
        if self.log is not None:
            self.log.add_error(record, error)

    def receive(self, call: Call) -> None:
        """Add a call that another process made."""
        if call._test is None:
            call._test = self.test
        self.add(call)

    def add(self, call: Call, request: Request | None = None) -> None:
        """Add a call under the next number.

        Args:
            call: the record of the call.
            request: its request; None for a call of another process.
        """
        # The lock keeps calls in the order of their numbers when several threads make them.
        with self._lock:
            # A dictionary lookup first, because this runs in each call.
            state = self._states.get(call["model_id"]) or self.state(call["model_id"])
            call["number"] = self._last_number = self._last_number + 1
            state.calls.append(call)
            self.calls.append(call)
            if self.limit is not None and len(self.calls) > self.limit:
                self._forget_first()
            if self.log is not None:
                self.log.add(call, self.log.detach_details(call))
        if self.log is not None and request is not None:
            self.log.add_request(call, request)

    def _forget_first(self) -> None:
        """Remove the oldest call if there are more calls than `limit`."""
        oldest = self.calls.pop(0)
        self.answered_by.pop(oldest["number"], None)
        state = self._states[oldest["model_id"]]
        state.calls.pop(0)
        # Clients of a server may use many different models, so unused states are removed.
        if not state.calls and state.answer is None:
            del self._states[oldest["model_id"]]

    def forget(self, model_id: str) -> None:
        """Remove the calls of one model."""
        with self._lock:
            self.calls[:] = [call for call in self.calls if call["model_id"] != model_id]
            self.state(model_id).calls.clear()

    def remove(self, call: Call) -> None:
        """Remove one call; its number stays used."""
        with self._lock:
            for calls in (self.calls, self.state(call["model_id"]).calls):
                # Compared by identity, because two different calls may be equal dicts.
                calls[:] = [each for each in calls if each is not call]

    def clear(self) -> None:
        """Remove all calls and the states of models."""
        with self._lock:
            self.calls.clear()
            self.unread.clear()
            self._states.clear()
            self.answered_by.clear()
            self._last_number = 0
            self.generated_embeddings = 0
            # The numbers start again, so the ids need another prefix.
            self.id_prefix = None

    def note_late_call(self, test: str, model_id: str) -> None:
        """Note in the mock of the whole run that code of an ended test called a model."""
        if self._parent is not None:
            self._parent.note_late_call(test, model_id)
            return
        with self._lock:
            late_call = LateCall(test, model_id, _describe_caller(), get_running_test())
            self.late_calls[late_call] += 1

    def add_totals(
        self,
        calls: Iterable[Call],
        test: str,
        count_default_replies: bool = True,
        generated_embeddings: int = 0,
    ) -> None:
        """Add the calls of a test to the totals of the whole run.

        Args:
            calls: the calls.
            test: the id of the test.
            count_default_replies: whether to count the calls without a configured reply by test.
            generated_embeddings: the number of batches without a configured vector.
        """
        count = generated_embeddings
        for call in calls:
            add_call(self.totals, call)
            count += not call["configured"]
        if count_default_replies and count:
            self.answered_by_default[test] = self.answered_by_default.get(test, 0) + count


def _make_id_prefix(test: str) -> str:
    """Return a prefix of ids for a history of a test; empty outside of tests."""
    if not test:
        return ""
    with _prefix_lock:
        _prefixes_of_tests[test] += 1
        count = _prefixes_of_tests[test]
    checksum = zlib.crc32(test.encode("utf-8", "surrogatepass"))
    # A test may have several mocks, reset a mock, or run again.
    return f"{checksum:08x}_" if count == 1 else f"{checksum:08x}r{count}_"


def _describe_caller() -> str:
    """Return a description of the asyncio task or the thread that runs this code."""
    # Not imported here: if nothing imported asyncio, there are no tasks.
    asyncio = sys.modules.get("asyncio")
    try:
        task = None if asyncio is None else asyncio.current_task()
    except RuntimeError:  # no event loop is running
        task = None
    if task is None:
        return f"the thread {threading.current_thread().name!r}"
    return f"the task {task.get_name()!r}"


def _error_message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # its `__str__` fails
        return type(error).__name__
