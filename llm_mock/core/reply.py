"""What a reply may be.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, cast

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.errors import InvalidReply
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    import llm
    from llm.parts import StreamEvent

    from llm_mock.core.latency import Latency
    from llm_mock.core.records import CallRecord

CHARACTERS_PER_TOKEN = 4


class _Unset:
    """The type of a value that was not given; `None` is a value (JSON's null)."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = _Unset()


class BrokenToolCall:
    """A tool call that is wrong on purpose: of an unknown tool, or with missing or malformed arguments.

    Args:
        name: the name of the tool.
        arguments: its arguments, or a text that should have been their JSON.
        tool_call_id: the id of the call; None is filled in.
    """

    def __init__(self, name: str, arguments: dict[str, Any] | str, tool_call_id: str | None = None) -> None:
        self.name = name
        self.text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        self.tool_call_id = tool_call_id

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments as `llm` gives them on: text that is no JSON object as `{"_raw": text}`."""
        try:
            arguments = json.loads(self.text)
        except json.JSONDecodeError:
            return {"_raw": self.text}
        return arguments if isinstance(arguments, dict) else {"_raw": self.text}


class Reply:
    """One scripted answer of a model, in every detail that `llm` knows of.

    Give at most one of `text`, `data` and `chunks`. The reply is a snapshot: what was passed may be changed
    afterwards, and the reply itself cannot.

    Args:
        text: the text of the answer.
        data: a structured answer, any JSON value or a pydantic instance; its text is its JSON.
        chunks: the text in the pieces in which it is streamed; without streaming they come joined. From llm 0.32 on
            they may be `llm.parts.StreamEvent` objects too, which are passed on as they are.
        tool_calls: `llm.ToolCall` objects that the model makes after its text. One that the offered tools could not
            accept is an error, unless it is a `BrokenToolCall`. An id that is None is filled in.
        reasoning: the reasoning before the text (from llm 0.32 on).
        attachments: `llm.Attachment` objects that the model returns.
        usage: an `llm.Usage`, or a mapping with `input_tokens` and `output_tokens`. By default one token for every
            four characters of prompt and answer, rounded up.
        resolved_model: the id of the model that answered, where it is not the one that was asked.
        response_json: the provider's raw payload, which `response.json()` then returns. By default `data`.
        error: an exception (or its class) that is raised instead of the answer, or after `error_after` chunks of it.
        error_after: how many chunks are streamed before `error` is raised; without streaming none is.
        invalid: the answer breaks the schema that is asked for on purpose, so that is not reported.
        latency: how long the answer takes, in place of what was set for the model.

    Raises:
        InvalidReply: `data` is not JSON, two contents were given, or `error` is no exception.
        InvalidLatency: `latency` is no `Latency`.
        LLMTooOld: the installed `llm` has no stream events.
    """

    data: Any
    chunks: tuple[Any, ...] | None
    tool_calls: tuple[llm.ToolCall | BrokenToolCall, ...]
    reasoning: str | None
    attachments: tuple[llm.Attachment, ...]
    invalid: bool
    latency: Latency | None
    notes: tuple[str, ...]
    estimated_tokens: int
    usage: llm.Usage | Mapping[str, int] | None
    resolved_model: str | None
    response_json: Any
    error: BaseException | type[BaseException] | None
    error_after: int | None
    content: str
    """The whole text of the answer."""

    def __init__(
        self,
        text: str | None = None,
        *,
        data: Any = UNSET,
        chunks: Iterable[str | StreamEvent] | None = None,
        tool_calls: Iterable[llm.ToolCall | BrokenToolCall] = (),
        reasoning: str | None = None,
        attachments: Iterable[llm.Attachment] = (),
        usage: llm.Usage | Mapping[str, int] | None = None,
        resolved_model: str | None = None,
        response_json: Any = None,
        error: BaseException | type[BaseException] | None = None,
        error_after: int | None = None,
        invalid: bool = False,
        latency: Latency | None = None,
    ) -> None:
        __tracebackhide__ = True
        given = {"text": text is not None, "data": data is not UNSET, "chunks": chunks is not None}
        if sum(given.values()) > 1:
            raise InvalidReply(explain.two_contents([name for name in given if given[name]]))
        if text is not None and not isinstance(text, str):
            raise InvalidReply(explain.no_text(text))
        if error is not None:
            exception_from(error)
        if error_after is not None and (error is None or not isinstance(error_after, int) or error_after < 0):
            raise InvalidReply(explain.bad_error_after(error_after))
        _check_usage(usage)
        if reasoning is not None:
            boundary.require_llm("0.32", "Reply(reasoning=…)")
        fields = self.__dict__  # the way around `__setattr__`
        fields.update(error=error, error_after=error_after, usage=usage, resolved_model=resolved_model)
        fields["response_json"] = None if response_json is None else json.loads(json_text(response_json))
        fields["tool_calls"] = _checked_tool_calls(tool_calls)
        fields["latency"] = None if latency is None else _checked_latency(latency)
        fields["notes"] = tuple(getattr(error, "__notes__", ()))
        fields.update(reasoning=reasoning, attachments=tuple(attachments), invalid=invalid)
        fields["chunks"] = None if chunks is None else _checked_chunks(chunks)
        fields["content"] = json_text(data) if given["data"] else text or "".join(map(_text_of, self.chunks or ()))
        fields["estimated_tokens"] = estimate_tokens(len(self.content))
        fields["data"] = json.loads(self.content) if given["data"] else UNSET

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(explain.frozen_reply(name))

    def __repr__(self) -> str:
        return f"Reply({shorten(self.outcome) if self.error is None else repr(self.error)})"

    def stream(self, stream: bool) -> Iterable[Any]:
        """The chunks of the answer: as scripted when streaming, else (and by default) the text in one piece.

        Stream events come as scripted either way.
        """
        if self.chunks is not None and (stream or not all(isinstance(chunk, str) for chunk in self.chunks)):
            return self.chunks
        return (self.content,) if self.content else ()

    def tokens(self, record: CallRecord) -> tuple[int | None, int | None]:
        """Input and output tokens of a call, as scripted or estimated."""
        usage = self.usage
        if usage is None:
            sent = record["prompt_length"] + len(record["kwargs"].get("system", ""))
            return estimate_tokens(sent), self.estimated_tokens
        if isinstance(usage, Mapping):
            return usage.get("input_tokens"), usage.get("output_tokens")
        return usage.input, usage.output

    def usage_details(self) -> Any:
        """What else was scripted about the usage."""
        usage = self.usage
        return usage.get("details") if isinstance(usage, Mapping) else getattr(usage, "details", None)

    def exception(self) -> BaseException:
        """What to raise for `error`: the configured instance, as it was before any earlier raise, or a new one."""
        error = exception_from(self.error).with_traceback(None)
        error.__context__ = None
        if hasattr(error, "__notes__"):
            error.__notes__[:] = self.notes
        return error

    def raw_json(self) -> Any:
        """What `llm` is told as the provider's payload, a fresh copy; None for plain text."""
        if self.response_json is not None:
            return copy.deepcopy(self.response_json)
        return None if self.data is UNSET else json.loads(self.content)

    @property
    def outcome(self) -> Any:
        """What the history shows as the response, made anew: data or text, as far as it came, and any tool calls."""
        if self.error_after is not None:
            return "".join(_text_of(chunk) for chunk in tuple(self.stream(stream=True))[: self.error_after])
        if self.tool_calls:
            calls = [{"name": call.name, "arguments": copy.deepcopy(call.arguments)} for call in self.tool_calls]
            return {"text": self.content, "tool_calls": calls}
        return self.content if self.data is UNSET else json.loads(self.content)


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
        return json.dumps(value, ensure_ascii=False, default=_dump, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidReply(explain.not_json(value, error)) from None


def _dump(value: Any) -> Any:
    if hasattr(type(value), "model_dump"):
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
    except Exception as problem:
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
    if isinstance(value, (dict, list)) or hasattr(type(value), "model_dump"):
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
    __tracebackhide__ = True
    try:
        answer = as_answer(result)
    except InvalidReply:
        raise InvalidReply(explain.function_returned_no_reply(function, result)) from None
    if not isinstance(answer, Reply):
        raise InvalidReply(explain.function_returned_no_reply(function, result))
    return answer


def _checked_chunks(chunks: Iterable[Any]) -> tuple[Any, ...]:
    __tracebackhide__ = True
    if isinstance(chunks, str) or not isinstance(chunks, Iterable):
        raise InvalidReply(explain.no_chunk(chunks))
    frozen = tuple(chunks)
    for chunk in frozen:
        if not isinstance(chunk, str) and not _is_event(chunk):
            raise InvalidReply(explain.no_chunk(chunk))
    return frozen


def _check_usage(usage: Any) -> None:
    __tracebackhide__ = True
    known = {"input_tokens", "output_tokens", "details"}
    if isinstance(usage, Mapping):
        if not usage.keys() <= known or not usage:
            raise InvalidReply(explain.no_usage(dict(usage)))
    elif usage is not None and not (hasattr(usage, "input") and hasattr(usage, "output")):
        raise InvalidReply(explain.no_usage(usage))


def _checked_tool_calls(tool_calls: Any) -> tuple[Any, ...]:
    __tracebackhide__ = True
    if not isinstance(tool_calls, Iterable):
        raise InvalidReply(explain.no_tool_call(tool_calls))
    frozen = tuple(tool_calls)
    for call in frozen:
        if not (hasattr(call, "name") and isinstance(getattr(call, "arguments", None), dict)):
            raise InvalidReply(explain.no_tool_call(call))
    return copy.deepcopy(frozen)


def _checked_latency(latency: Any) -> Latency:
    from llm_mock.core.latency import checked

    __tracebackhide__ = True
    return checked(latency)


def _is_event(chunk: Any) -> bool:
    return hasattr(chunk, "type") and hasattr(chunk, "chunk")


def _text_of(chunk: Any) -> str:
    if isinstance(chunk, str):
        return chunk
    return cast("str", chunk.chunk) if chunk.type == "text" else ""


DEFAULT_REPLY = Reply(data={"success": True})
