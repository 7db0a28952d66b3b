"""Decides what calls are answered, checks that, and keeps their history."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.core.answer import Answer
from llm_mock.core.checks import check_reply
from llm_mock.core.configurator import PlainNames, ResponseConfigurator, checked_name
from llm_mock.core.diagnostics import (
    explain_unexpected_call,
    explain_unexpected_embedding,
    explain_unused,
)
from llm_mock.core.history import History
from llm_mock.core.model_names import fits
from llm_mock.core.records import CallRecord, call_line, calls_made
from llm_mock.core.reply import DEFAULT_REPLY, Reply, ReplyFunction
from llm_mock.core.reply_functions import ask, ask_async
from llm_mock.core.script import Script
from llm_mock.core.settings import Settings
from llm_mock.errors import EndlessToolCalls, ReplyNotSent, UnexpectedCall, UnusedReplies
from llm_mock.support.locks import Lock

if TYPE_CHECKING:
    from collections.abc import Iterable

    from llm_mock.core.call_log import LoggedCall
    from llm_mock.core.latency import Latency
    from llm_mock.core.protocols import (
        AppliedMisbehaviour,
        Behaviour,
        NameResolver,
        PassthroughCall,
        ProcessChannel,
        RecordedAnswers,
    )
    from llm_mock.core.request import Request
    from llm_mock.core.vectors import EmbeddingState

logger = logging.getLogger("llm_mock")


class Mock:
    """Decides, checks and records calls. It may lie on top of a parent, which answers what this
    one does not.

    Args:
        behaviour: how models behave beyond what is configured.
        parent: the mock that is asked where this one has no reply.
        names: resolves the names of models; by default each is an id.
        standing_only: refuse queued replies.
        settings: how calls are decided and checked; by default as the parent has it.
    """

    def __init__(
        self,
        behaviour: Behaviour,
        parent: Mock | None = None,
        *,
        names: NameResolver | None = None,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        self.names: NameResolver = names or PlainNames()
        self.responses = ResponseConfigurator(self.names, self._share, standing_only=standing_only)
        """Says what is answered."""
        self.settings: Settings = settings or (parent.settings if parent else Settings())
        self.history: History = History(parent.history if parent else None)
        """What was called."""
        self.cassette: RecordedAnswers | None = None
        """What answers the calls for which this mock has no reply, in place of the parent."""
        self.misbehaviour: AppliedMisbehaviour | None = None
        """What the models do wrong: it changes the replies to the calls of this mock."""
        self.folder: ProcessChannel | None = None
        """What is shared with other processes, where there are any."""
        self.parent = parent
        self.ended_test: str | None = None
        """The test of this mock, once it has ended and a thread or task of it goes on."""
        self._behaviour = behaviour
        self._problems: list[str] = []
        self._refusals: list[str] = []
        self._not_mocked: dict[str, int] = {}
        self._embedding_states: dict[str, EmbeddingState] = {}
        self._lock = Lock()

    def itself(self) -> Mock:
        """This mock: what answers the models that it handed out, away from the boundaries."""
        return self

    # What was called

    @property
    def calls(self) -> list[CallRecord]:
        """Every call of every model, in order, those of other processes included."""
        self._receive()
        return self.history.calls

    @property
    def problems(self) -> list[str]:
        """What was wrong with calls, for the test to fail with although the application went on."""
        self._receive()
        return self._problems

    @property
    def refusals(self) -> list[str]:
        """Requests that were refused and that the application may handle: only a strict test fails
        for them."""
        self._receive()
        return self._refusals

    @property
    def not_mocked(self) -> dict[str, int]:
        """Requests of SDKs to servers on this machine that this run did not start, each with their
        number."""
        self._receive()
        return self._not_mocked

    @property
    def prices(self) -> tuple[Any, ...]:
        """What models cost, as the project and the test say; of several prices of a model the last
        one counts."""
        return (
            self.parent.prices if self.parent else self.settings.prices
        ) + self.responses.script.prices

    def logged_calls(self, start: int = 0) -> list[LoggedCall]:
        """The calls that are kept for a report, with their details, from a position on."""
        self._receive()
        return [] if self.history.log is None else self.history.log.since(start)

    def calls_of(self, name: str) -> list[CallRecord]:
        """The calls of one model, in order; of a model that was never asked for an empty list.

        Args:
            name: id or alias.
        """
        __tracebackhide__ = True
        asked = checked_name(name) and (self.folder is not None or not self.history.is_empty)
        return self.calls_of_id(self.responses.model_id_of(name)) if asked else []

    def calls_of_id(self, model_id: str) -> list[CallRecord]:
        """The calls of one model, in order, by its id."""
        self._receive()
        return self.history.state(model_id).calls

    def forget_calls(self, model_id: str) -> None:
        """Forget the calls of one model."""
        self._receive()
        self.history.forget(model_id)

    def assert_all_replies_used(self) -> None:
        """Assert that every reply queued with `add` was asked for. The plugin does so at the end
        of each test.

        Raises:
            UnusedReplies: some were not; the message shows them and the calls there were.
        """
        __tracebackhide__ = True
        if message := self.unused_replies():
            raise UnusedReplies(f"{message}\n{calls_made(self.calls)}")

    def unused_replies(self) -> str | None:
        """What to say of the queued replies that were not asked for; None when there are none, or
        the models misbehave.

        An application that meets a misbehaving model may rightly stop early.
        """
        if self.misbehaviour is not None:
            return None
        unused = [reply for reply in self.responses.script.queued() if not reply.optional]
        if not unused:
            return None
        return explain_unused(unused, self.calls, self.settings.unused_reply_advice)

    def note_problem(self, message: str) -> None:
        """Keep what was wrong with a call, for the test to fail with although the application goes
        on."""
        self._note("problem", message)

    def note_refusal(self, message: str) -> None:
        """Note a request that was refused: a problem if calls are checked strictly."""
        self._note("problem" if self.settings.strict else "refusal", message)

    def note_not_mocked(self, request: str, message: str) -> None:
        """Note a request that reached a server which is not mocked: a problem if calls are checked
        strictly.

        Args:
            request: its method and URL.
            message: the problem.
        """
        self._note("not mocked", request)
        if self.settings.strict:
            self._note("problem", message)

    def add_not_mocked(self, requests: Mapping[str, int]) -> None:
        """Add requests that were not mocked, of a test or of another process."""
        for request, number in requests.items():
            self._not_mocked[request] = self._not_mocked.get(request, 0) + number

    def _note(self, kind: str, message: str) -> None:
        if self.folder is not None:
            self.folder.send_note(kind, message)
        self._take_note(kind, message)

    def _take_note(self, kind: str, message: str) -> None:
        if kind == "not mocked":
            self.add_not_mocked({message: 1})
            return
        notes = self._problems if kind == "problem" else self._refusals
        notes.append(message)

    # What is set up beside the replies

    def misbehave(self, name: str, times: int | None = None) -> AppliedMisbehaviour:
        """Have the models do something wrong from now on; the marker `llm_mock_misbehaviour` does
        so for a test.

        Args:
            name: what; the command `llm-mock misbehaviours` lists it.
            times: in how many calls, the first ones that it can be applied to. By default in all
                of them.

        Returns:
            What also says to which calls it was applied. Assigning None to `misbehaviour` ends it.

        Raises:
            UnknownMisbehaviour: there is none of that name, or `times` is below 1.
        """
        __tracebackhide__ = True
        self.misbehaviour = self._behaviour.misbehaving(name, times)
        self.responses.script.misbehaviour = (name, times)
        self._share()
        return self.misbehaviour

    def embedding_state(self, model_id: str) -> EmbeddingState:
        """What this mock knows of an embedding model; where it knows nothing, its parent does."""
        from llm_mock.core.vectors import EmbeddingState

        if model_id not in self._embedding_states:
            parent = self.parent.embedding_state(model_id) if self.parent else None
            self._embedding_states.setdefault(model_id, EmbeddingState(parent))
        return self._embedding_states[model_id]

    def check_embedded(
        self, model_id: str, items: Iterable[str | bytes], dimensions: int | None = None
    ) -> None:
        """Check, where calls are checked strictly, that a vector is configured for each item.

        Raises:
            UnexpectedCall: one has none.
        """
        if not self.settings.strict:
            return
        state = self.embedding_state(model_id)
        item = next((item for item in items if not state.is_configured(item, dimensions)), None)
        if item is not None:
            message = explain_unexpected_embedding(model_id, item)
            self.note_problem(message)
            raise UnexpectedCall(message)

    def is_unknown(self, model_id: str) -> bool:
        """Whether the model was made unknown by `set_unknown`, here or in a parent."""
        unknown = self.responses.script.unknown
        here = bool(unknown) and any(fits(name, model_id) for name in unknown)
        return here or (self.parent is not None and self.parent.is_unknown(model_id))

    def named(self) -> set[str]:
        """The ids of the models that were named to this mock, or to a parent: by a reply, or to
        look at their calls."""
        named = self.responses.script.named
        return named if self.parent is None else named | self.parent.named()

    def reset(self) -> None:
        """Forget all calls, and all that was configured."""
        self.responses.script = Script(after=self.responses.script)
        self.misbehaviour = None
        self._problems.clear()
        self._refusals.clear()
        self._embedding_states.clear()
        self.history.clear()
        self._share()

    # Answering

    def answer(self, request: Request) -> Answer | PassthroughCall:
        """Decide what a model answers, and record the call.

        Args:
            request: what is asked.

        Returns:
            The answer; or, where it is to be recorded, the call that is to be made for real.

        Raises:
            Exception: the configured error, unless chunks come before it.
            UnexpectedCall: nothing was configured for the call, and calls are checked strictly.
        """
        __tracebackhide__ = True
        record = self._begin(request)
        try:
            decided = self._resolve(record, request)
            if not isinstance(decided, Reply):
                if not callable(decided):
                    return decided
                decided = ask(decided, request.native)
            return self._finish(record, request, decided)
        except BaseException as error:
            self._fail(record, error, request.failed(error, begun=False))
            raise

    async def answer_async(self, request: Request) -> Answer | PassthroughCall:
        """The asynchronous twin of `answer`: a reply function may be a coroutine function."""
        __tracebackhide__ = True
        record = self._begin(request)
        try:
            decided = self._resolve(record, request)
            if not isinstance(decided, Reply):
                if not callable(decided):
                    return decided
                decided = await ask_async(decided, request.native)
            return self._finish(record, request, decided)
        except BaseException as error:
            self._fail(record, error, request.failed(error, begun=False))
            raise

    def _begin(self, request: Request) -> CallRecord:
        self._receive()
        self._note_model(request.model_id)
        if self.ended_test is not None:
            self.history.note_late_call(self.ended_test, request.model_id)
        return self.history.begin(request)

    def _note_model(self, model_id: str) -> None:
        """A model was called."""

    def _resolve(
        self, record: CallRecord, request: Request
    ) -> Reply | ReplyFunction | PassthroughCall:
        __tracebackhide__ = True
        if self.misbehaviour is not None and (error := self.misbehaviour.error(record)):
            return error
        if self.cassette is not None:
            return self._find(record, below=False) or self.cassette.answer(self, record, request)
        if (
            answer := self._find(record) or self.history.state(record["model_id"]).answer
        ) is not None:
            return answer
        if self.settings.strict:
            message = explain_unexpected_call(self, record)
            self.note_problem(message)
            raise UnexpectedCall(message)
        record["configured"] = False
        if request.schema and self.settings.generate:
            return self._behaviour.generated(request.schema)
        return DEFAULT_REPLY

    def _find(self, record: CallRecord, below: bool = True) -> Reply | ReplyFunction | None:
        """The reply that is configured for a call, here or, where that is wanted, in a parent."""
        level: Mock | None = self
        while level is not None:
            if (found := level.responses.script.find(record)) is not None:
                self.history.answered_by[record["number"]] = found
                return found.answer
            level = level.parent if below else None
        return None

    def _finish(self, record: CallRecord, request: Request, reply: Reply) -> Answer:
        __tracebackhide__ = True
        if self.misbehaviour is not None:
            reply = self.misbehaviour.change(record, request, reply)
        reply = reply if reply.error is None else self._behaviour.failing(reply, record)
        if (
            (request.schema or reply.tool_calls)
            and reply is not DEFAULT_REPLY
            and not reply.is_recorded
        ):
            self._check(record, request, reply)
        waits = None
        latency = reply.latency or (
            None if reply.is_recorded else self._latency_of(record["model_id"])
        )
        if latency is not None and (reply.error is None or reply.error_after is not None):
            reply, waits = self._behaviour.paced(reply, latency, record)
        error = None if reply.error is None else reply.exception()
        if error is not None and reply.error_after is None:
            raise error
        self.history.complete(record, reply, request)
        if error is None:
            self._report(record)
        else:
            self._fail(record, error, request.failed(error, begun=True))
        return Answer(
            reply, record, waits, bool(latency and latency.real_time), self.settings.raw_json
        )

    def _check(self, record: CallRecord, request: Request, reply: Reply) -> None:
        __tracebackhide__ = True
        place = getattr(self.history.answered_by.get(record["number"]), "place", None)
        if problem := check_reply(record, reply, request, self.settings, place):
            self.note_problem(str(problem))
            raise problem

    def _latency_of(self, model_id: str) -> Latency | None:
        latency = self.responses.script.latencies.of(model_id)
        return (
            self.parent._latency_of(model_id)
            if latency is None and self.parent is not None
            else latency
        )

    def recorded(self, record: CallRecord, reply: Reply) -> None:
        """Complete the record of a call that was made for real."""
        self.history.complete(record, reply, None)
        self._report(record)

    def not_recorded(self, record: CallRecord, error: BaseException) -> None:
        """Complete the record of a call that was made for real, and failed."""
        self._fail(record, error)

    def _fail(
        self, record: CallRecord, error: BaseException, told: dict[str, Any] | None = None
    ) -> None:
        self.history.fail(record, error, told)
        if isinstance(error, (EndlessToolCalls, ReplyNotSent)):
            self.note_problem(str(error))
        self._report(record)

    # Other processes

    def _report(self, record: CallRecord) -> None:
        if self.folder is not None:
            log = self.history.log
            self.folder.send_call(record if log is None else log.attach_details(record))
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(call_line(record))

    def _share(self) -> None:
        """Tell other processes, if there are any, what is configured now."""
        if (folder := self.folder) is not None:
            with self._lock:  # so that what is written last is what was configured last
                folder.share(self)

    def _receive(self) -> None:
        """Take in what other processes sent; in such a process, what the test has configured
        since."""
        if (folder := self.folder) is None:
            return
        with self._lock:
            if not folder.mine:
                self._reload()
                return
            for call in folder.received_calls():
                self.history.receive(call)
                if self.misbehaviour is not None:
                    self.misbehaviour.received(call)
                self._note_model(call["model_id"])
            for kind, message in folder.received_notes():
                self._take_note(kind, message)

    def _reload(self) -> None:
        """Read what the test configured, where that is another process."""
