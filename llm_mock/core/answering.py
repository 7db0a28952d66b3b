"""Answers calls from the replies that were configured, and keeps their history.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import explain
from llm_mock.core.checks import Settings, check_reply
from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.core.delivery import Delivery
from llm_mock.core.records import CallRecord, Numbers, Totals, add_call, new_record
from llm_mock.core.reply import DEFAULT_REPLY, Answer, Reply, as_answer, as_reply
from llm_mock.core.script import ANY_MODEL
from llm_mock.errors import EndlessToolCalls, InvalidReply, UnexpectedCall, UnusedReplies

if TYPE_CHECKING:
    import llm

    from llm_mock.behaviour.misbehaviour import Misbehaviour
    from llm_mock.core.delivery import DeliveredAnswer, Deliverer
    from llm_mock.core.details import Kept, KeptCalls
    from llm_mock.core.latency import Latency, SlowDelivery
    from llm_mock.support.redaction import Redactor


Answered = tuple[Reply | Delivery, CallRecord]
"""What a call was answered with, and its record."""

logger = logging.getLogger("llm_mock")


class ModelState:
    """What a mock knows of one model id; shared by all models of that id that the mock answers for."""

    __slots__ = ("answer", "calls", "default_response")

    def __init__(self, outer: ModelState | None = None) -> None:
        self.calls: list[CallRecord] = []
        self.answer: Answer | None = outer.answer if outer else None
        self.default_response: Any = outer.default_response if outer else {"success": True}

    def set_default(self, reply: Any) -> None:
        """Set what is answered where no reply fits."""
        self.answer = as_answer(reply)
        self.default_response = reply


class AnsweringMock(ResponseConfigurator):
    """Decides, checks and records calls. It may lie on top of an outer mock, which answers what this one does not."""

    def __init__(
        self,
        outer: AnsweringMock | None = None,
        *,
        at_boundary: bool = False,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """
        Args:
            outer: the mock that is asked where this one has no reply.
            at_boundary: the mock stands in for `llm` itself, so `llm`'s aliases are resolved.
            standing_only: refuse queued replies.
            settings: how calls are decided and checked; by default as the outer mock has it.
        """
        super().__init__(at_boundary=at_boundary, standing_only=standing_only)
        self.settings: Settings = settings or (outer.settings if outer else Settings())
        self.totals: dict[str, Totals] = {}
        """Of each model: the sums over the tests that ended, where this mock serves the whole run."""
        self._outer = outer
        self._calls: list[CallRecord] = []
        self._problems: list[str] = []
        self.cassette: Deliverer | None = None
        """What answers the calls for which this mock has no reply, in place of the outer mock."""
        self.redactor: Redactor | None = None
        """What more is secret in its calls than a report knows."""
        self.misbehaviour: Misbehaviour | None = None
        """What the models do wrong: it changes the replies to the calls of this mock."""
        self._states: dict[str, ModelState] = {}
        self._numbers = Numbers()
        self.kept: KeptCalls | None = None if outer is None or outer.kept is None else outer.kept.another()
        """Every call with its details, where a report was asked for."""

    @property
    def calls(self) -> list[CallRecord]:
        """Every call of every model, in order, those of other processes included."""
        self._receive()
        return self._calls

    def kept_calls(self, start: int = 0) -> list[Kept]:
        """The calls that are kept for a report, with their details, from a position on."""
        self._receive()
        return [] if self.kept is None else self.kept.since(start)

    def note_problem(self, message: str) -> None:
        """Keep what was wrong with a call, for the test to fail with although the application goes on."""
        self._problems.append(message)
        if self._exchange is not None:
            self._exchange.send_problem(message)

    @property
    def problems(self) -> list[str]:
        """What was wrong with calls, for the test to fail with although the application went on."""
        self._receive()
        return self._problems

    def misbehave(self, name: str, times: int | None = None) -> Misbehaviour:
        """Have the models do something wrong from now on; the marker `llm_mock_misbehaviour` does so for a test.

        Args:
            name: what; the command `llm-mock misbehaviours` lists it.
            times: in how many calls, the first ones that it can be applied to. By default in all of them.

        Returns:
            What also says to which calls it was applied. Assigning None to `misbehaviour` ends it.

        Raises:
            UnknownMisbehaviour: there is none of that name, or `times` is below 1.
        """
        from llm_mock.behaviour.misbehaviour import Misbehaviour

        __tracebackhide__ = True
        self.misbehaviour = Misbehaviour(name, times)
        self.settings = self.settings._replace(misbehaviour=(name, times))
        self._share_script()
        return self.misbehaviour

    def state(self, model_id: str) -> ModelState:
        """What this mock knows of a model id; its default response starts as that of the outer mock."""
        known = self._states.get(model_id)
        if known is not None:
            return known
        outer = self._outer._states.get(model_id) if self._outer else None
        return self._states.setdefault(model_id, ModelState(outer))

    def calls_of(self, name: str) -> list[CallRecord]:
        """The calls of one model, in order; of a model that was never asked for an empty list.

        Args:
            name: id or alias.
        """
        return self.calls_of_id(self._model_id_of(name)) if self._states or self._exchange else []

    def calls_of_id(self, model_id: str) -> list[CallRecord]:
        """The calls of one model, in order, by its id."""
        self._receive()
        return self.state(model_id).calls

    def forget_calls(self, model_id: str) -> None:
        """Forget the calls of one model."""
        self._calls[:] = [call for call in self.calls if call["model_id"] != model_id]
        self.state(model_id).calls.clear()

    def add_totals(self, calls: Iterable[CallRecord]) -> None:
        """Add calls to `totals`."""
        for call in calls:
            add_call(self.totals, call)

    def assert_all_replies_used(self) -> None:
        """Assert that every reply queued with `add` was asked for. The plugin does so at the end of each test.

        Raises:
            UnusedReplies: some were not; the message shows them and the calls there were.
        """
        __tracebackhide__ = True
        if message := self.unused_replies():
            raise UnusedReplies(f"{message}\n{explain.were_made(self.calls)}")

    def unused_replies(self) -> str | None:
        """What to say of the queued replies that were not asked for; None when there are none, or the models misbehave.

        An application that meets a misbehaving model may rightly stop early.
        """
        if self.misbehaviour is not None:
            return None
        unused = [reply for reply in self._script.queued() if not reply.optional]
        return explain.unused_replies(unused, self.calls) if unused else None

    def answer(
        self, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any] | None, conversation: Any
    ) -> Answered:
        """Decide what a model answers, and record the call.

        Args:
            model_id: the model that is asked.
            prompt: what `llm` hands to the model.
            passed: further arguments to record; None when the call did not come through `prompt()`.
            conversation: the conversation, if the call is part of one.

        Raises:
            Exception: the configured error, unless chunks come before it.
            UnexpectedCall: nothing was configured for the call, and calls are checked strictly.
        """
        __tracebackhide__ = True
        record = self._record(model_id, prompt, passed, conversation)
        try:
            answer = self._decide(record, prompt, conversation)
            if isinstance(answer, Delivery):
                return answer, record
            reply = answer if isinstance(answer, Reply) else self._ask(answer, prompt)
            if self.misbehaviour is not None:
                reply = self.misbehaviour.change(record, prompt, reply)
            if prompt.schema or reply.tool_calls:
                self._check(record, reply, prompt)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, reply)

    async def answer_async(self, model_id: str, prompt: llm.Prompt, conversation: Any) -> Answered:
        """The asynchronous twin of `answer`: a reply function may be a coroutine function."""
        __tracebackhide__ = True
        record = self._record(model_id, prompt, None, conversation)
        try:
            answer = self._decide(record, prompt, conversation)
            if isinstance(answer, Delivery):
                return answer, record
            if not isinstance(answer, Reply):
                result = answer(prompt)
                answer = as_reply(answer, await result if inspect.isawaitable(result) else result)
            if self.misbehaviour is not None:
                answer = self.misbehaviour.change(record, prompt, answer)
            if prompt.schema or answer.tool_calls:
                self._check(record, answer, prompt)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, answer)

    def _record(
        self, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any] | None, conversation: Any
    ) -> CallRecord:
        if self._exchange is not None:
            self._receive()
        state = self._states.get(model_id) or self.state(model_id)
        record = new_record(self._numbers.next(), model_id, prompt, passed, conversation)
        self._note_model(model_id)
        state.calls.append(record)
        self._calls.append(record)
        if self.kept is not None:
            self.kept.asked(record, prompt, conversation)
        return record

    def _note_model(self, model_id: str) -> None:
        """A model was called."""

    def _decide(self, record: CallRecord, prompt: llm.Prompt, conversation: Any) -> Answer | Delivery:
        __tracebackhide__ = True
        if self.misbehaviour is not None and (error := self.misbehaviour.error(record)):
            return error
        if self.cassette is not None:
            found = self._script.find(record) or self.cassette.answer(self, record, prompt, conversation)
            return found.as_reply() if self.misbehaviour is not None and isinstance(found, Delivery) else found
        answer = self._find(record) or self._states[record["model_id"]].answer
        if answer is not None:
            return answer
        if self.settings.strict:
            message = explain.unexpected_call(record, self._near_misses(record))
            self.note_problem(message)
            raise UnexpectedCall(message)
        record["configured"] = False
        if prompt.schema and self.settings.generate:
            from llm_mock.behaviour.generate import generated_reply

            return generated_reply(cast("dict[str, Any]", prompt.schema))
        return DEFAULT_REPLY

    def _find(self, record: CallRecord) -> Answer | None:
        answer = self._script.find(record)
        if answer is None and self._outer is not None:
            return self._outer._find(record)
        return answer

    def _near_misses(self, record: CallRecord) -> Iterator[tuple[list[str], str]]:
        yield from self._script.near_misses(record)
        if self._outer is not None:
            yield from self._outer._near_misses(record)

    def _check(self, record: CallRecord, reply: Reply, prompt: llm.Prompt) -> None:
        __tracebackhide__ = True
        if reply is DEFAULT_REPLY:
            return
        if problem := check_reply(record, reply, prompt, self.settings):
            self.note_problem(str(problem))
            raise problem

    def _ask(self, function: Callable[[llm.Prompt], Any], prompt: llm.Prompt) -> Reply:
        __tracebackhide__ = True
        result = function(prompt)
        return as_reply(function, _run(result) if inspect.iscoroutine(result) else result)

    def _finish(self, record: CallRecord, reply: Reply) -> Answered:
        __tracebackhide__ = True
        slow = self._slow(record, reply) if self.settings.slow or reply.latency is not None else None
        if slow is not None:
            reply = slow.reply
        if reply.error is None or reply.error_after is not None:
            record["response"] = reply.outcome
            record["input_tokens"], record["output_tokens"] = reply.tokens(record)
            if self.kept is not None:
                self.kept.answered(record, reply)
        if reply.error is None:
            self._report(record)
            return slow or reply, record
        error = reply.exception()
        self._fail(record, error)
        if reply.error_after is None:
            raise error
        return slow or reply, record

    def _slow(self, record: CallRecord, reply: Reply) -> SlowDelivery | None:
        """A reply with its times; None for one that comes at once, as an error does."""
        if reply.error is not None and reply.error_after is None:
            return None
        latency = reply.latency or self._latency_of(record["model_id"])
        return None if latency is None else latency.slow(reply, record)

    def _latency_of(self, model_id: str) -> Latency | None:
        latencies = self._script.latencies
        latency = latencies.get(model_id) or latencies.get(ANY_MODEL)
        return self._outer._latency_of(model_id) if latency is None and self._outer is not None else latency

    def delivered(self, record: CallRecord, answer: DeliveredAnswer) -> None:
        """Complete the record of a call that a `Delivery` answered."""
        record["response"] = answer.content
        if record["kwargs"]["schema"] is not None:
            with contextlib.suppress(json.JSONDecodeError):
                record["response"] = json.loads(answer.content)
        record["input_tokens"], record["output_tokens"] = answer.usage.input, answer.usage.output
        if self.kept is not None:
            self.kept.answered(record, answer)
        self._report(record)

    def not_delivered(self, record: CallRecord, error: BaseException) -> None:
        """Complete the record of a call that a `Delivery` answered with an error."""
        self._fail(record, error)

    def _fail(self, record: CallRecord, error: BaseException) -> None:
        record["error"] = _message(error)
        if isinstance(error, EndlessToolCalls):
            self.note_problem(str(error))
        if self.kept is not None:
            self.kept.failed(record, error)
        self._report(record)

    def _report(self, record: CallRecord) -> None:
        if self._exchange is not None:
            self._exchange.send_call(record if self.kept is None else self.kept.for_another_process(record))
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(explain.call_line(record))

    def _receive(self) -> None:
        """Take in what other processes sent; in such a process, what the test configured meanwhile."""
        if self._exchange is None:
            return
        if not self._exchange.mine:
            self._reload()
            if self.settings.details and self.kept is None:
                from llm_mock.core.details import KeptCalls

                self.kept = KeptCalls()
            return
        for call in self._exchange.received_calls():
            call["number"] = self._numbers.next()
            if self.misbehaviour is not None:
                self.misbehaviour.received(call)
            if self.kept is not None:
                self.kept.received(call)
            self._note_model(call["model_id"])
            self.state(call["model_id"]).calls.append(call)
            self._calls.append(call)
        self._problems.extend(self._exchange.received_problems())

    def _reload(self) -> None:
        """Read what the test configured, where that is another process."""


def _message(error: BaseException) -> str:
    try:
        return str(error) or type(error).__name__
    except Exception:  # its `__str__` fails
        return type(error).__name__


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise InvalidReply(explain.coroutine_in_running_loop(coroutine))
