"""The mock of `llm.get_model`: hands out models, holds their replies, sees every call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import inspect
import itertools
import logging
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import boundary, explain, schemas
from llm_mock.check import Settings, check_reply
from llm_mock.errors import InvalidReply, QueuedReplyNotAllowed, UnexpectedCall, UnusedReplies
from llm_mock.history import CallRecord, Totals, add_call, new_record
from llm_mock.replies import DEFAULT_REPLY, Answer, Reply, as_answer, as_reply, exception_from
from llm_mock.script import Matchers, QueuedReply, Script, TextMatcher

if TYPE_CHECKING:
    import llm

    from llm_mock.embedding import MockEmbeddingModel
    from llm_mock.model import AsyncMockLLMModel, MockLLMModel
    from llm_mock.vectors import EmbeddingState

Answered = tuple[Reply, CallRecord]
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


class ResponseConfigurator:
    """Says what the models of a mock answer.

    Everywhere a model is named by its id, an alias that an installed plugin gives it, or `"*"`, which is any model.
    A reply is text, a dict or a list, a pydantic instance, an exception or its class, a function of the
    `llm.Prompt` (sync or async) that returns one of these, or a `Reply`.

    A call is answered by the first queued reply that matches, else by the error of the model, else by the standing
    answer for model and schema, for any model and the schema, for the model, for any model, and else by the model's
    `default_response`.
    """

    def __init__(self, *, at_boundary: bool = False, standing_only: bool = False) -> None:
        """
        Args:
            at_boundary: the mock stands in for `llm` itself, so `llm`'s aliases are resolved.
            standing_only: refuse queued replies.
        """
        self._script = Script()
        self._unknown: set[str] = set()
        self._at_boundary = at_boundary
        self._standing_only = standing_only

    def get_model(self, name: str) -> MockLLMModel:
        """The model of an id or alias, always the same one; to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        raise NotImplementedError

    def _model_id_of(self, name: str) -> str:
        __tracebackhide__ = True
        if not isinstance(name, str):
            raise InvalidReply(explain.no_model_name(name))
        return boundary.model_id_of(name) if self._at_boundary else name

    def set(self, model: str, response: Any, *, schema: Any = None) -> None:
        """Set the standing answer of a model; it replaces the one set before.

        Args:
            model: id, alias, or `"*"` for any model.
            response: a reply.
            schema: answer so only where this schema is asked for: a pydantic class, a JSON-schema dict, or the name
                of one (class name or `title`). By default whatever is asked for.

        Raises:
            InvalidReply: the response can be no reply.
        """
        __tracebackhide__ = True
        self._script.standing[self._model_id_of(model), schemas.schema_name(schema)] = as_answer(response)

    def add(
        self,
        model: str,
        response: Any,
        *,
        schema: Any = None,
        times: int = 1,
        optional: bool = False,
        prompt: TextMatcher | None = None,
        system: TextMatcher | None = None,
        tools: Iterable[str] | None = None,
        turn: int | None = None,
        attachments: Iterable[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        """Queue a reply that is used once (or `times`), before any standing answer, in the order of the `add` calls.

        It is used for the first call that fits all that is given here. A test that ends before the reply is used up
        fails, unless the reply is optional.

        Args:
            model: id, alias, or `"*"` for any model.
            response: a reply.
            schema: use it only for calls that ask for this schema; see `set`.
            times: how often it is used, at least 1.
            optional: whether the test may end before it is used up.
            prompt: a text that the prompt contains, a compiled pattern that is found in it, or a function of the
                text that says whether it fits.
            system: the same for the system prompt.
            tools: names of tools that are offered, among others perhaps.
            turn: which answer of its conversation it is, from 1; the answer to a tool's result is one too.
            attachments: the types of all attachments, in order.
            options: options and their values, among others perhaps.

        Raises:
            InvalidReply: the response can be no reply, or `times` is below 1.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if self._standing_only:
            raise QueuedReplyNotAllowed(explain.queued_for_the_run(model))
        if times < 1:
            raise InvalidReply(explain.bad_times(times))
        matchers = Matchers(prompt, system, tools, turn, attachments, options)
        model_id, schema = self._model_id_of(model), schemas.schema_name(schema)
        self._script.queue(QueuedReply(model_id, schema, as_answer(response), times, matchers, optional))

    def set_error(self, model: str, exception: BaseException | type[BaseException] | None) -> None:
        """Have every call of a model raise; goes before its standing answers, after queued replies.

        Args:
            model: id, alias, or `"*"` for any model.
            exception: an instance or a class. None ends it.

        Raises:
            InvalidReply: it is no exception.
        """
        __tracebackhide__ = True
        model_id = self._model_id_of(model)
        if exception is None:
            self._script.errors.pop(model_id, None)
            return
        exception_from(exception)
        self._script.errors[model_id] = Reply(error=exception)

    def set_unknown(self, model: str) -> None:
        """Have `llm.get_model` and its twins for async and embedding models raise `llm.UnknownModelError` for a name.

        Args:
            model: id or alias.
        """
        self._unknown.add(self._model_id_of(model))
        if self._at_boundary:
            self._unknown.add(boundary.embedding_model_id_of(model))


class MockGetModel(ResponseConfigurator):
    """A stand-in for `llm.get_model` whose models answer from a script and keep a history.

    Calling it, or its `get_model`, returns the `MockLLMModel` of a name, always the same for the same name. A mock
    may lie on top of an outer one: what the inner one has no reply for, the outer one answers.
    """

    def __init__(
        self,
        responses: Mapping[str, Any] | None = None,
        side_effect: BaseException | type[BaseException] | None = None,
        *,
        outer: MockGetModel | None = None,
        at_boundary: bool = False,
        standing_only: bool = False,
        settings: Settings | None = None,
    ) -> None:
        """See `create_mock_get_model` for `responses` and `side_effect`.

        Args:
            outer: the mock that is asked where this one has no reply.
            at_boundary: the mock stands in for `llm` itself: aliases are resolved, and whichever mock is active
                when a model is called answers the models that this one handed out.
            standing_only: refuse queued replies.
            settings: how calls are decided and checked; by default as the outer mock has it.
        """
        super().__init__(at_boundary=at_boundary, standing_only=standing_only)
        self.models: dict[str, MockLLMModel] = {}
        """Every model that was asked for or called, by its id."""
        self.calls: list[CallRecord] = []
        """Every call of every model, in order."""
        self.totals: dict[str, Totals] = {}
        """Of each model: the sums over the tests that ended, where this mock serves the whole run."""
        self._numbers = itertools.count(1)
        self.problems: list[str] = []
        """What was wrong with calls, for the test to fail with although the application went on."""
        self.settings: Settings = settings or (outer.settings if outer else Settings())
        self._outer = outer
        self._answering: Any = boundary.active if at_boundary else lambda: self
        self._states: dict[str, ModelState] = {}
        self._sync_models: dict[str, MockLLMModel] = {}
        self._async_models: dict[str, AsyncMockLLMModel] = {}
        self._embedding_models: dict[str, MockEmbeddingModel] = {}
        self._embedding_states: dict[str, EmbeddingState] = {}
        for model, response in (responses or {}).items():
            self.set(model, response)
        if side_effect is not None:
            exception_from(side_effect)
            self._script.side_effect = Reply(error=side_effect)

    def __call__(self, name: str | None = None, _skip_async: bool = False) -> MockLLMModel:
        """What an application calls as `llm.get_model`; without a name it is `llm`'s default model."""
        if name is None:
            import llm

            name = cast("str", llm.get_default_model())  # type: ignore[no-untyped-call]
        return self.get_model(name)

    def __repr__(self) -> str:
        return f"<MockGetModel: {len(self.models)} models, {len(self.calls)} calls>"

    def get_model(self, name: str) -> MockLLMModel:
        """The model of an id or alias, always the same one; to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model = self._sync_model(self._known(name))
        self.models.setdefault(model.model_id, model)
        return model

    def listed(self, real: Any) -> Any:
        """The mock of a registered model, sync or async, with the traits by which applications choose one."""
        from llm_mock.model import AsyncMockLLMModel, MockLLMModel

        kind = AsyncMockLLMModel if boundary.is_async(real) else MockLLMModel
        model = kind(real.model_id, mock=self._answering)
        model.take_traits(real)
        return model

    def autospec(self) -> None:
        """From now on the models that `llm` knows refuse what the real ones would refuse.

        That is: options that do not validate, types of attachments, tools, schemas and conversations that they do
        not support. Models that nobody knows accept everything.
        """
        self.settings = self.settings._replace(autospec=True)
        self._sync_models.clear()
        self._async_models.clear()
        self.models.clear()

    def get_async_model(self, name: str) -> AsyncMockLLMModel:
        """The asynchronous model of an id or alias; it shares replies and history with the synchronous one.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model_id = self._known(name)
        if model_id not in self._async_models:
            from llm_mock.model import AsyncMockLLMModel

            model = self._specified("async_model", model_id) or AsyncMockLLMModel(model_id, mock=self._answering)
            self._async_models.setdefault(model_id, model)
        return self._async_models[model_id]

    def get_embedding_model(self, name: str) -> MockEmbeddingModel:
        """The embedding model of an id or alias, always the same one; to set its vectors and to see its calls.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model_id = boundary.embedding_model_id_of(name) if self._at_boundary else name
        if self.is_unknown(model_id):
            import llm

            raise llm.UnknownModelError(f"Unknown model: {name}")
        if model_id not in self._embedding_models:
            from llm_mock.embedding import MockEmbeddingModel

            self._embedding_models.setdefault(model_id, MockEmbeddingModel(model_id, mock=self._answering))
        return self._embedding_models[model_id]

    def embedding_state(self, model_id: str) -> EmbeddingState:
        """What this mock knows of an embedding model; where it knows nothing, its outer mock does."""
        from llm_mock.vectors import EmbeddingState

        if model_id not in self._embedding_states:
            outer = self._outer.embedding_state(model_id) if self._outer else None
            self._embedding_states.setdefault(model_id, EmbeddingState(outer))
        return self._embedding_states[model_id]

    def _sync_model(self, model_id: str) -> MockLLMModel:
        if model_id not in self._sync_models:
            from llm_mock.model import MockLLMModel

            model = self._specified("model", model_id) or MockLLMModel(model_id, mock=self._answering)
            self._sync_models.setdefault(model_id, model)
        return self._sync_models[model_id]

    def _specified(self, kind: str, model_id: str) -> Any:
        real = boundary.registered_model(kind, model_id) if self.settings.autospec else None
        return None if real is None else self.listed(real)

    def _known(self, name: str) -> str:
        model_id = self._model_id_of(name)
        if self.is_unknown(model_id):
            import llm

            raise llm.UnknownModelError(f"Unknown model: {name}")
        return model_id

    def is_unknown(self, model_id: str) -> bool:
        """Whether the model was made unknown by `set_unknown`, here or in an outer mock."""
        return model_id in self._unknown or (self._outer is not None and self._outer.is_unknown(model_id))

    def set_response(self, model: str, response: Any) -> None:
        """The same as `set` without a schema."""
        self.set(model, response)

    def reset(self) -> None:
        """Forget all models, calls and replies."""
        self.problems.clear()
        self._script = Script()
        self._unknown.clear()
        self._states.clear()
        self._sync_models.clear()
        self._async_models.clear()
        self._embedding_models.clear()
        self._embedding_states.clear()
        self.models.clear()
        self.calls.clear()
        self._numbers = itertools.count(1)

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
        state = self._states.get(self._model_id_of(name))
        return state.calls if state else []

    def forget_calls(self, model_id: str) -> None:
        """Forget the calls of one model."""
        self.calls[:] = [call for call in self.calls if call["model_id"] != model_id]
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
        """What to say of the queued replies that were not asked for; None when there are none."""
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
        record = self._record(model_id, prompt, passed, conversation)
        try:
            answer = self._decide(record, prompt)
            reply = answer if isinstance(answer, Reply) else self._ask(answer, prompt)
            self._check(record, reply, prompt)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, reply)

    async def answer_async(self, model_id: str, prompt: llm.Prompt, conversation: Any) -> Answered:
        """The asynchronous twin of `answer`: a reply function may be a coroutine function."""
        record = self._record(model_id, prompt, None, conversation)
        try:
            answer = self._decide(record, prompt)
            if not isinstance(answer, Reply):
                result = answer(prompt)
                answer = as_reply(answer, await result if inspect.isawaitable(result) else result)
            self._check(record, answer, prompt)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, answer)

    def _record(
        self, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any] | None, conversation: Any
    ) -> CallRecord:
        state = self.state(model_id)
        record = new_record(next(self._numbers), model_id, prompt, passed, conversation)
        if model_id not in self.models:
            self.models[model_id] = self._sync_model(model_id)
        state.calls.append(record)
        self.calls.append(record)
        return record

    def _decide(self, record: CallRecord, prompt: llm.Prompt) -> Answer:
        answer = self._find(record) or self.state(record["model_id"]).answer
        if answer is not None:
            return answer
        if self.settings.strict:
            message = explain.unexpected_call(record, self._near_misses(record))
            self.problems.append(message)
            raise UnexpectedCall(message)
        record["configured"] = False
        if prompt.schema and self.settings.generate:
            from llm_mock.generate import generated_reply

            return generated_reply(prompt.schema)
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
        if reply is DEFAULT_REPLY or not (prompt.schema or reply.tool_calls):
            return
        if problem := check_reply(record, reply, prompt, self.settings):
            self.problems.append(str(problem))
            raise problem

    def _ask(self, function: Callable[[llm.Prompt], Any], prompt: llm.Prompt) -> Reply:
        result = function(prompt)
        return as_reply(function, _run(result) if inspect.iscoroutine(result) else result)

    def _finish(self, record: CallRecord, reply: Reply) -> Answered:
        if reply.error is None or reply.error_after is not None:
            record["response"] = reply.outcome
            record["input_tokens"], record["output_tokens"] = reply.tokens(record)
        error = reply.exception()
        if error is not None:
            self._fail(record, error)
            if reply.error_after is None:
                raise error
        elif logger.isEnabledFor(logging.DEBUG):
            logger.debug(explain.call_line(record))
        return reply, record

    def _fail(self, record: CallRecord, error: BaseException) -> None:
        record["error"] = str(error) or type(error).__name__
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug(explain.call_line(record))


def _run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    coroutine.close()
    raise InvalidReply(explain.coroutine_in_running_loop(coroutine))


def create_mock_get_model(
    responses: Mapping[str, Any] | None = None,
    side_effect: BaseException | type[BaseException] | None = None,
) -> MockGetModel:
    """Create a mock of `llm.get_model`.

    Args:
        responses: what each model answers: a mapping of model names (or `"*"` for any) to replies.
        side_effect: an exception (or its class) that every call of every model raises.

    Returns:
        A callable `name -> MockLLMModel` with a state of its own, apart from the fixtures'.

    Raises:
        InvalidReply: a response can be no reply, or `side_effect` is no exception.

    Example:
        >>> get_model = create_mock_get_model({"gpt-4o-mini": {"found": True}, "*": "Hello"})
        >>> get_model("gpt-4o-mini").prompt("Is there one?").json()
        {'found': True}
    """
    return MockGetModel(responses, side_effect)
