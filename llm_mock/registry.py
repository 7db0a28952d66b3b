"""The mock of `llm.get_model`: hands out models, holds their replies, sees every call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Coroutine, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import boundary, explain
from llm_mock.errors import InvalidReply, QueuedReplyNotAllowed, UnusedReplies
from llm_mock.history import CallRecord, new_record
from llm_mock.replies import DEFAULT_REPLY, Answer, Reply, Script, as_answer, as_reply, exception_from, schema_name

if TYPE_CHECKING:
    import llm

    from llm_mock.model import AsyncMockLLMModel, MockLLMModel

Answered = tuple[Reply, CallRecord]
"""What a call was answered with, and its record."""

logger = logging.getLogger("llm_mock")


class ModelState:
    """What a mock knows of one model id; shared by all models of that id that the mock answers for."""

    __slots__ = ("answer", "calls", "default_response")

    def __init__(self, default_response: Any = None) -> None:
        self.calls: list[CallRecord] = []
        self.set_default(default_response)

    def set_default(self, reply: Any) -> None:
        """Set what is answered where no reply fits. None stands for `{"success": True}`."""
        self.answer: Answer = DEFAULT_REPLY if reply is None else as_answer(reply)
        self.default_response = {"success": True} if reply is None else reply


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
        self._script.standing[self._model_id_of(model), schema_name(schema)] = as_answer(response)

    def add(self, model: str, response: Any, *, schema: Any = None, times: int = 1) -> None:
        """Queue a reply that is used once (or `times`), before any standing answer, in the order of the `add` calls.

        A test that ends before the reply is used up fails.

        Args:
            model: id, alias, or `"*"` for any model.
            response: a reply.
            schema: use it only for calls that ask for this schema; see `set`.
            times: how often it is used, at least 1.

        Raises:
            InvalidReply: the response can be no reply, or `times` is below 1.
            QueuedReplyNotAllowed: this mock serves the whole run.
        """
        __tracebackhide__ = True
        if self._standing_only:
            raise QueuedReplyNotAllowed(explain.queued_for_the_run(model))
        if times < 1:
            raise InvalidReply(explain.bad_times(times))
        self._script.queue(self._model_id_of(model), schema_name(schema), as_answer(response), times)

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
        """Have `llm.get_model` and `llm.get_async_model` raise `llm.UnknownModelError` for a name.

        Args:
            model: id or alias.
        """
        self._unknown.add(self._model_id_of(model))


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
        lazy: bool = False,
    ) -> None:
        """See `create_mock_get_model` for `responses` and `side_effect`.

        Args:
            outer: the mock that is asked where this one has no reply; it gives its `lazy` too.
            at_boundary: the mock stands in for `llm` itself: aliases are resolved, and whichever mock is active
                when a model is called answers the models that this one handed out.
            standing_only: refuse queued replies.
            lazy: decide a call when its response is read, not in `prompt()`.
        """
        super().__init__(at_boundary=at_boundary, standing_only=standing_only)
        self.models: dict[str, MockLLMModel] = {}
        """Every model that was asked for or called, by its id."""
        self.calls: list[CallRecord] = []
        """Every call of every model, in order."""
        self.lazy: bool = outer.lazy if outer else lazy
        self._outer = outer
        self._answering: Any = boundary.active if at_boundary else lambda: self
        self._states: dict[str, ModelState] = {}
        self._sync_models: dict[str, MockLLMModel] = {}
        self._async_models: dict[str, AsyncMockLLMModel] = {}
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
        model = self.hand_out(name)
        self.models.setdefault(model.model_id, model)
        return model

    def hand_out(self, name: str) -> MockLLMModel:
        """As `get_model`, without an entry in `models`: for listing models that nobody asked for."""
        return self._sync_model(self._known(name))

    def get_async_model(self, name: str) -> AsyncMockLLMModel:
        """The asynchronous model of an id or alias; it shares replies and history with the synchronous one.

        Raises:
            llm.UnknownModelError: the name was made unknown by `set_unknown`.
        """
        model_id = self._known(name)
        if model_id not in self._async_models:
            from llm_mock.model import AsyncMockLLMModel

            self._async_models.setdefault(model_id, AsyncMockLLMModel(model_id, mock=self._answering))
        return self._async_models[model_id]

    def _sync_model(self, model_id: str) -> MockLLMModel:
        if model_id not in self._sync_models:
            from llm_mock.model import MockLLMModel

            self._sync_models.setdefault(model_id, MockLLMModel(model_id, mock=self._answering))
        return self._sync_models[model_id]

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
        self._script = Script()
        self._unknown.clear()
        self._states.clear()
        self._sync_models.clear()
        self._async_models.clear()
        self.models.clear()
        self.calls.clear()

    def state(self, model_id: str) -> ModelState:
        """What this mock knows of a model id; its default response starts as that of the outer mock."""
        known = self._states.get(model_id)
        if known is not None:
            return known
        outer = self._outer._states.get(model_id) if self._outer else None
        return self._states.setdefault(model_id, ModelState(outer and outer.default_response))

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

    def assert_all_replies_used(self) -> None:
        """Assert that every reply queued with `add` was asked for. The plugin does so at the end of each test.

        Raises:
            UnusedReplies: some were not; the message shows them and the calls there were.
        """
        __tracebackhide__ = True
        if message := self.unused_replies():
            raise UnusedReplies(message)

    def unused_replies(self) -> str | None:
        """What to say of the queued replies that were not asked for; None when there are none."""
        unused = self._script.unused()
        return explain.unused_replies(unused, self.calls) if unused else None

    def answer(self, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any]) -> Answered:
        """Decide what a model answers, and record the call.

        Args:
            model_id: the model that is asked.
            prompt: what `llm` hands to the model.
            passed: further arguments to record.

        Raises:
            Exception: the configured error, unless chunks come before it.
        """
        record, answer = self._begin(model_id, prompt, passed)
        try:
            reply = answer if isinstance(answer, Reply) else self._ask(answer, prompt)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, reply)

    async def answer_async(self, model_id: str, prompt: llm.Prompt) -> Answered:
        """The asynchronous twin of `answer`: a reply function may be a coroutine function."""
        record, answer = self._begin(model_id, prompt, {})
        try:
            if not isinstance(answer, Reply):
                result = answer(prompt)
                answer = as_reply(answer, await result if inspect.isawaitable(result) else result)
        except BaseException as error:
            self._fail(record, error)
            raise
        return self._finish(record, answer)

    def _begin(self, model_id: str, prompt: llm.Prompt, passed: Mapping[str, Any]) -> tuple[CallRecord, Answer]:
        state = self.state(model_id)
        record = new_record(model_id, prompt, passed)
        if model_id not in self.models:
            self.models[model_id] = self._sync_model(model_id)
        state.calls.append(record)
        self.calls.append(record)
        return record, self._find(model_id, record["kwargs"]["schema"]) or state.answer

    def _find(self, model_id: str, schema: str | None) -> Answer | None:
        answer = self._script.find(model_id, schema)
        if answer is None and self._outer is not None:
            return self._outer._find(model_id, schema)
        return answer

    def _ask(self, function: Callable[[llm.Prompt], Any], prompt: llm.Prompt) -> Reply:
        result = function(prompt)
        return as_reply(function, _run(result) if inspect.iscoroutine(result) else result)

    def _finish(self, record: CallRecord, reply: Reply) -> Answered:
        if reply.error is None or reply.error_after is not None:
            record["response"] = reply.outcome
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
