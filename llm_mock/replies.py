"""What a reply may be, and which of the configured replies answers a call.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import copy
import itertools
import json
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import explain
from llm_mock.errors import InvalidReply

if TYPE_CHECKING:
    import llm

    from llm_mock.history import CallRecord

ANY_MODEL = "*"
CHARACTERS_PER_TOKEN = 4


class _Unset:
    """The type of a value that was not given; `None` is a value (JSON's null)."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = _Unset()


class Reply:
    """One scripted answer of a model, in every detail that `llm` knows of.

    Give at most one of `text`, `data` and `chunks`. The reply is a snapshot: what was passed may be changed
    afterwards, and the reply itself cannot.

    Args:
        text: the text of the answer.
        data: a structured answer, any JSON value or a pydantic instance; its text is its JSON.
        chunks: the text in the pieces in which it is streamed. Without streaming they come joined.
        tool_calls: `llm.ToolCall` objects that the model makes after its text.
        usage: an `llm.Usage`, or a mapping with `input_tokens` and `output_tokens`. By default one token for every
            four characters of prompt and answer, rounded up.
        resolved_model: the id of the model that answered, where it is not the one that was asked.
        response_json: the provider's raw payload, which `response.json()` then returns. By default `data`.
        error: an exception (or its class) that is raised instead of the answer, or after `error_after` chunks of it.
        error_after: how many chunks are streamed before `error` is raised; without streaming none is.

    Raises:
        InvalidReply: `data` is not JSON, two contents were given, or `error` is no exception.
    """

    data: Any
    chunks: tuple[str, ...] | None
    tool_calls: tuple[llm.ToolCall, ...]
    usage: llm.Usage | Mapping[str, int] | None
    resolved_model: str | None
    response_json: Any
    error: BaseException | type[BaseException] | None
    error_after: int | None
    content: str
    """The whole text of the answer."""
    outcome: Any
    """What the history shows as the response: data or text, as far as it came, with any tool calls."""

    def __init__(
        self,
        text: str | None = None,
        *,
        data: Any = UNSET,
        chunks: Iterable[str] | None = None,
        tool_calls: Iterable[llm.ToolCall] = (),
        usage: llm.Usage | Mapping[str, int] | None = None,
        resolved_model: str | None = None,
        response_json: Any = None,
        error: BaseException | type[BaseException] | None = None,
        error_after: int | None = None,
    ) -> None:
        __tracebackhide__ = True
        given = {"text": text is not None, "data": data is not UNSET, "chunks": chunks is not None}
        if sum(given.values()) > 1:
            raise InvalidReply(explain.two_contents([name for name in given if given[name]]))
        if error is not None:
            exception_from(error)
        if error_after is not None and (error is None or error_after < 0):
            raise InvalidReply(explain.bad_error_after(error_after))
        fields = self.__dict__  # the way around `__setattr__`
        fields.update(error=error, error_after=error_after, usage=usage, resolved_model=resolved_model)
        fields.update(response_json=copy.deepcopy(response_json), tool_calls=copy.deepcopy(tuple(tool_calls)))
        fields["chunks"] = None if chunks is None else _text_chunks(chunks)
        fields["content"] = json_text(data) if given["data"] else text or "".join(self.chunks or ())
        fields["data"] = json.loads(self.content) if given["data"] else UNSET
        fields["outcome"] = self._freeze_outcome()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(explain.frozen_reply(name))

    def __repr__(self) -> str:
        return f"Reply({explain.shorten(self.outcome) if self.error is None else repr(self.error)})"

    def stream(self, stream: bool) -> Iterable[str]:
        """The chunks of the answer: as scripted when streaming, else (and by default) the text in one piece."""
        if self.chunks is not None and stream:
            return self.chunks
        return (self.content,) if self.content else ()

    def tokens(self, record: CallRecord) -> tuple[int | None, int | None, Any]:
        """Input tokens, output tokens and details of a call, as scripted or estimated."""
        usage = self.usage
        if usage is None:
            sent = record["prompt_length"] + len(record["kwargs"].get("system", ""))
            return estimate_tokens(sent), estimate_tokens(len(self.content)), None
        if isinstance(usage, Mapping):
            return usage.get("input_tokens"), usage.get("output_tokens"), usage.get("details")
        return usage.input, usage.output, usage.details

    def exception(self) -> BaseException | None:
        """What to raise: the configured instance, without the traceback of an earlier raise, or a new one."""
        if self.error is None:
            return None
        return exception_from(self.error).with_traceback(None)

    def raw_json(self) -> Any:
        """What `llm` is told as the provider's payload, a fresh copy; None for plain text."""
        if self.response_json is not None:
            return copy.deepcopy(self.response_json)
        return None if self.data is UNSET else json.loads(self.content)

    def _freeze_outcome(self) -> Any:
        if self.error_after is not None:
            return "".join(tuple(self.stream(stream=True))[: self.error_after])
        answer = self.content if self.data is UNSET else self.data
        calls = [{"name": call.name, "arguments": copy.deepcopy(call.arguments)} for call in self.tool_calls]
        return {"text": self.content, "tool_calls": calls} if calls else answer


ReplyFunction = Callable[["llm.Prompt"], Any]
Answer = Reply | ReplyFunction


def estimate_tokens(characters: int) -> int:
    """A plausible, deterministic number of tokens for a text of that many characters; at least 1."""
    return -(-characters // CHARACTERS_PER_TOKEN) or 1


def json_text(value: Any) -> str:
    """The JSON of a structured reply; pydantic instances, also inside it, are written as their schema has them.

    Raises:
        InvalidReply: something in it has no JSON form; the message says where.
    """
    __tracebackhide__ = True
    try:
        return json.dumps(value, ensure_ascii=False, default=_dump)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidReply(explain.not_json(value, error)) from None


def _dump(value: Any) -> Any:
    if hasattr(value, "model_dump") and not isinstance(value, type):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError


def exception_from(error: Any) -> BaseException:
    """The exception to raise for what was configured: an instance as it is, of a class a new one.

    Raises:
        InvalidReply: it is no exception, or a class that cannot be instantiated without arguments.
    """
    __tracebackhide__ = True
    if isinstance(error, BaseException):
        return error
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        raise InvalidReply(explain.no_exception(error))
    try:
        return error()
    except TypeError as problem:
        raise InvalidReply(explain.exception_needs_arguments(error, problem)) from None


def as_answer(value: Any) -> Answer:
    """Turn what a person may write as a reply into a `Reply`; a function stays one, to be asked at each call.

    Args:
        value: text, a dict, a list, a pydantic instance, an exception or its class, a `Reply`, or a function of the
            `llm.Prompt` that returns any of these.

    Raises:
        InvalidReply: it is none of them.
    """
    __tracebackhide__ = True
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, (dict, list)) or (hasattr(value, "model_dump") and not isinstance(value, type)):
        return Reply(data=value)
    if isinstance(value, BaseException) or (isinstance(value, type) and issubclass(value, BaseException)):
        return Reply(error=value)
    if callable(value) and not isinstance(value, type):
        return cast("ReplyFunction", value)
    raise InvalidReply(explain.no_reply(value))


def as_reply(function: ReplyFunction, result: Any) -> Reply:
    """Turn what a reply function returned into a `Reply`.

    Raises:
        InvalidReply: it is none, or another function.
    """
    try:
        answer = as_answer(result)
    except InvalidReply:
        raise InvalidReply(explain.function_returned_no_reply(function, result)) from None
    if not isinstance(answer, Reply):
        raise InvalidReply(explain.function_returned_no_reply(function, result))
    return answer


def _text_chunks(chunks: Iterable[str]) -> tuple[str, ...]:
    __tracebackhide__ = True
    frozen = tuple(chunks)
    for chunk in frozen:
        if not isinstance(chunk, str):
            raise InvalidReply(explain.no_text_chunk(chunk))
    return frozen


def schema_name(schema: Any) -> str | None:
    """The name by which replies and the history know a schema.

    Args:
        schema: a pydantic class (its title, which is the class name unless the class says otherwise), a JSON-schema
            dict (its `title`, else its content), or such a name. None or an empty dict is no schema.
    """
    if not schema:
        return None
    if isinstance(schema, str):
        return schema
    if isinstance(schema, dict):
        return schema.get("title") or json.dumps(schema, sort_keys=True)
    config = getattr(schema, "model_config", {})
    return cast("str", config.get("title") or schema.__name__)


DEFAULT_REPLY = Reply(data={"success": True})

_schema_texts: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def json_schema(schema: Any) -> Any:
    """The JSON schema of a pydantic class, a fresh dict; anything else as it is.

    `llm` generates it anew for each call, which takes far longer than the rest of a mocked call.
    """
    if not isinstance(schema, type) or not hasattr(schema, "model_json_schema"):
        return schema
    if schema not in _schema_texts:
        _schema_texts[schema] = json.dumps(schema.model_json_schema())
    return json.loads(_schema_texts[schema])


class QueuedReply:
    """A reply that is used `remaining` more times, before any standing answer."""

    __slots__ = ("answer", "model", "position", "remaining", "schema")

    def __init__(self, position: int, model: str, schema: str | None, answer: Answer, remaining: int) -> None:
        self.position = position
        self.model = model
        self.schema = schema
        self.answer = answer
        self.remaining = remaining


Key = tuple[str, str | None]


class Script:
    """The replies configured in one mock, each found in constant time.

    A model is named by its id or `"*"`, a schema by `schema_name`.
    """

    def __init__(self) -> None:
        self.side_effect: Reply | None = None
        self.errors: dict[str, Reply] = {}
        self.standing: dict[Key, Answer] = {}
        self._queues: dict[Key, deque[QueuedReply]] = {}
        self._positions = itertools.count()
        self._lock = threading.Lock()

    def queue(self, model: str, schema: str | None, answer: Answer, times: int) -> None:
        """Have `answer` given to the next `times` matching calls, after those queued earlier."""
        reply = QueuedReply(next(self._positions), model, schema, answer, times)
        with self._lock:
            self._queues.setdefault((model, schema), deque()).append(reply)

    def unused(self) -> list[QueuedReply]:
        """The queued replies that were not used up, in the order in which they were queued."""
        if not self._queues:
            return []
        with self._lock:
            left = [reply for queue in self._queues.values() for reply in queue]
        return sorted(left, key=lambda reply: reply.position)

    def find(self, model: str, schema: str | None) -> Answer | None:
        """The reply for a call, None when nothing was configured for it. A queued reply is used by this.

        The order: the side effect of every call, the first queued reply that matches, the error of the model, the
        standing answer for model and schema, for any model and the schema, for the model, for any model.
        """
        if self.side_effect is not None:
            return self.side_effect
        keys: list[Key] = [(model, None), (ANY_MODEL, None)]
        if schema is not None:
            keys = [(model, schema), (ANY_MODEL, schema), *keys]
        if self._queues and (queued := self._take(keys)):
            return queued
        if self.errors and (error := self.errors.get(model) or self.errors.get(ANY_MODEL)):
            return error
        for key in keys:
            if key in self.standing:
                return self.standing[key]
        return None

    def _take(self, keys: list[Key]) -> Answer | None:
        with self._lock:
            first = min(
                (self._queues[key][0] for key in keys if key in self._queues),
                key=lambda reply: reply.position,
                default=None,
            )
            if first is None:
                return None
            first.remaining -= 1
            if first.remaining == 0:
                self._use_up(first)
            return first.answer

    def _use_up(self, reply: QueuedReply) -> None:
        queue = self._queues[reply.model, reply.schema]
        queue.popleft()
        if not queue:
            del self._queues[reply.model, reply.schema]
