"""What a reply may be."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from llm_mock.core.events import is_event, text_of
from llm_mock.core.json_text import json_text
from llm_mock.core.provider_error import alternative_to
from llm_mock.core.tokens import estimate_tokens, input_tokens, length_of_call
from llm_mock.core.tool_calls import checked_tool_calls
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.text import described, shorten, shorten_name

if TYPE_CHECKING:
    from llm_mock.core.latency import Latency
    from llm_mock.core.request import Request


class _Unset:
    """The type of a value that was not given; `None` is a value (JSON's null)."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = _Unset()


class Received(NamedTuple):
    """How a recorded answer came over HTTP."""

    api: str | None
    """Which API was asked; None of an error, which is the same for all."""
    streamed: bool
    status: int
    headers: Mapping[str, str]
    body: Any
    """The body as a JSON value without the texts of the answer, a list of events where it was
    streamed; of an error, its text."""
    unfinished: bool
    """Whether the application read no further."""


class Reply:
    """One scripted answer of a model, in every detail that `llm` knows of.

    Wherever a reply is expected, a simpler one may stand, too: a str (text), a dict, a list or a
    pydantic instance (data), an exception or its class (raised), or a function of the prompt, sync
    or async, that returns one of these.

    Example:
        `Reply("Hello", usage={"input_tokens": 7, "output_tokens": 2})`, `Reply(chunks=["Hel",
        "lo"])`, `Reply(tool_calls=[ToolCall("weather", {"city": "Rome"})])`, `Reply(data={"found":
        True}, invalid=True)`

    Give at most one of `text`, `data` and `chunks`. The reply is a snapshot: what was passed may
    be changed afterwards, and the reply itself cannot.

    Args:
        text: the text of the answer.
        data: a structured answer, any JSON value or a pydantic instance; its text is its JSON.
        chunks: the text in the pieces in which it is streamed; without streaming they come joined.
            From llm 0.32 on they may be `Event` or `llm.parts.StreamEvent` objects too, which are
            passed on as they are.
        tool_calls: `ToolCall` or `llm.ToolCall` objects that the model makes after its text. One
            that the offered tools could not accept is an error, unless it is a `BrokenToolCall`.
            An id that is None is filled in.
        reasoning: the reasoning before the text; a call through `llm` needs llm 0.32 for it, or
            raises `LLMTooOld`.
        attachments: `llm.Attachment` objects that the model returns.
        usage: an `llm.Usage`, or a mapping with `input_tokens` and `output_tokens`. By default one
            token for every four characters of all that is sent, and of the answer, rounded up.
        finish_reason: why the answer ends, where a provider is asked over HTTP: `length`,
            `content_filter`, …, in the words of OpenAI's Chat Completions. By default `stop`, or
            `tool_calls`.
        resolved_model: the id of the model that answered, where it is not the one that was asked.
        response_json: the provider's raw payload, which `response.json()` then returns. By default
            `data`, and with ini `llm_mock_response_json = raw` what the
            provider would give.
        error: an exception (or its class) that is raised instead of the answer, or after
            `error_after` chunks of it.
        error_after: how many chunks are streamed before `error` is raised; without streaming it is
            raised at once.
        invalid: the answer breaks the schema that is asked for on purpose, so that is not reported.
        latency: how long the answer takes, in place of what was set for the model.

    Raises:
        InvalidReply: `data` is not JSON, two contents were given, or `error` is no exception.
        InvalidLatency: `latency` is no `Latency`.
    """

    data: Any
    chunks: tuple[Any, ...] | None
    tool_calls: tuple[Any, ...]
    reasoning: str | None
    attachments: tuple[Any, ...]
    invalid: bool
    latency: Latency | None
    notes: tuple[str, ...]
    estimated_tokens: int
    usage: Any
    finish_reason: str | None
    resolved_model: str | None
    response_json: Any
    error: BaseException | type[BaseException] | None
    error_after: int | None
    content: str
    """The whole text of the answer."""
    is_text: bool
    """Whether the answer is nothing but its text, in one piece or in chunks."""
    is_recorded = False
    """Whether a cassette holds the answer, which is then as the model gave it."""
    attributes: Mapping[str, Any] = MappingProxyType({})
    """What a provider's plugin put on the response, under names of its own."""

    def __init__(
        self,
        text: str | None = None,
        *,
        data: Any = UNSET,
        chunks: Iterable[Any] | None = None,
        tool_calls: Iterable[Any] = (),
        reasoning: str | None = None,
        attachments: Iterable[Any] = (),
        usage: Any = None,
        finish_reason: str | None = None,
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
            names = " and ".join(name for name in given if given[name])
            raise InvalidReply(f"A Reply has one content, but {names} were given.")
        if text is not None and not isinstance(text, str):
            raise InvalidReply(
                f"This is not text: {described(text)}. Reply(text) takes a str; a structured reply "
                "is Reply(data=…)."
            )
        if error is not None:
            exception_from(error)
        if error_after is not None and (error is None or not is_whole(error_after)):
            raise InvalidReply(
                f"error_after={error_after!r} counts the chunks before error: give an error too, "
                "and a number from 0."
            )
        _check_usage(usage)
        _check_texts(
            reasoning=reasoning, finish_reason=finish_reason, resolved_model=resolved_model
        )
        attachments = _checked_attachments(attachments)
        fields = self.__dict__  # the way around `__setattr__`
        fields.update(
            error=error, error_after=error_after, usage=usage, resolved_model=resolved_model
        )
        fields["response_json"] = (
            None if response_json is None else json.loads(json_text(response_json))
        )
        fields["tool_calls"] = checked_tool_calls(tool_calls)
        fields["latency"] = None if latency is None else _checked_latency(latency)
        fields["notes"] = tuple(getattr(error, "__notes__", ()))
        fields.update(
            finish_reason=finish_reason,
            reasoning=reasoning,
            attachments=attachments,
            invalid=invalid,
        )
        fields["chunks"] = None if chunks is None else _checked_chunks(chunks)
        fields["content"] = (
            json_text(data) if given["data"] else text or "".join(map(text_of, self.chunks or ()))
        )
        calls = sum(map(length_of_call, self.tool_calls))
        fields["estimated_tokens"] = estimate_tokens(
            len(self.content) + len(reasoning or "") + calls
        )
        only_text = all(isinstance(chunk, str) for chunk in self.chunks or ())
        fields["is_text"] = (
            only_text and error is None and reasoning is None and not self.tool_calls
        )
        fields["data"] = json.loads(self.content) if given["data"] else UNSET

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"A Reply cannot be changed, so {name} cannot be assigned. Make a new Reply."
        )

    def __repr__(self) -> str:
        return f"Reply({shorten(self.outcome) if self.error is None else repr(self.error)})"

    def stream(self, stream: bool) -> Iterable[Any]:
        """The chunks of the answer: as scripted when streaming, else (and by default) the text in
        one piece.

        Stream events come as scripted either way.
        """
        if self.chunks is not None and (
            stream or not all(isinstance(chunk, str) for chunk in self.chunks)
        ):
            return self.chunks
        return (self.content,) if self.content else ()

    def tokens(self, request: Request | None) -> tuple[int | None, int | None]:
        """Input and output tokens of a call, as scripted or estimated.

        Args:
            request: what was asked; None where the reply says the tokens.
        """
        usage = self.usage
        if usage is None:
            return None if request is None else input_tokens(request), self.estimated_tokens
        if isinstance(usage, Mapping):
            return usage.get("input_tokens"), usage.get("output_tokens")
        return usage.input, usage.output

    def usage_details(self) -> Any:
        """What else was scripted about the usage."""
        usage = self.usage
        return (
            usage.get("details") if isinstance(usage, Mapping) else getattr(usage, "details", None)
        )

    def exception(self) -> BaseException:
        """What to raise for `error`: the configured instance, as it was before any earlier raise,
        or a new one."""
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

    def over_http(self) -> Received | None:
        """How the answer came over HTTP; None where it did not."""
        return None

    def sent(self, before: Any) -> Any:
        """What the provider was sent for this answer; None where that is not known.

        Args:
            before: the same of the call before, in a conversation.
        """

    @property
    def outcome(self) -> Any:
        """What the history shows as the response, made anew: data or text, as far as it came, and
        any tool calls."""
        if self.error_after is not None:
            return "".join(
                text_of(chunk) for chunk in tuple(self.stream(stream=True))[: self.error_after]
            )
        if self.tool_calls:
            calls = [
                {"name": call.name, "arguments": copy.deepcopy(call.arguments)}
                for call in self.tool_calls
            ]
            return {"text": self.content, "tool_calls": calls}
        return self.content if self.data is UNSET else json.loads(self.content)


ReplyFunction = Callable[[Any], Any]
"""Given what the library made of the call (an `llm.Prompt`), returns a reply."""
ReplyOrFunction = Reply | ReplyFunction


def exception_from(error: Any) -> BaseException:
    """The exception to raise for what was configured: an instance as it is, of a class a new
    one."""
    __tracebackhide__ = True
    if isinstance(error, BaseException):
        return error
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        raise InvalidReply(
            f"This is not an exception: {described(error)}. Give an instance or a class, such as "
            'ConnectionError("no route to host"). For an answer that describes an error use set().'
        )
    try:
        return error()
    except Exception as problem:
        raise InvalidReply(
            f"{error.__qualname__} cannot be raised without arguments ({problem}). Give an "
            f"instance of it{alternative_to(error)}."
        ) from None


def to_reply(value: Any) -> ReplyOrFunction:
    """Turn what a person may write as a reply into a `Reply`; a function stays one, to be asked at
    each call."""
    __tracebackhide__ = True
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(value)
    if isinstance(value, (dict, list)) or hasattr(type(value), "model_dump"):
        return Reply(data=value)
    if isinstance(value, BaseException) or (
        isinstance(value, type) and issubclass(value, BaseException)
    ):
        return Reply(error=value)
    if callable(value) and not isinstance(value, type):
        return cast("ReplyFunction", value)
    raise InvalidReply(
        f"This is not a reply: {described(value)}. A reply is a str, a dict or a list, a pydantic "
        "instance, an exception or its class, a Reply, or a function of the prompt that returns "
        "one of these."
    )


def _checked_latency(latency: Any) -> Latency:
    from llm_mock.core.latency import checked_latency

    __tracebackhide__ = True
    return checked_latency(latency)


def format_reply(answer: ReplyOrFunction) -> str:
    """How a configured reply reads in a message: its content, or what it raises, on one line."""
    error = getattr(answer, "error", None)
    if error is None:
        return shorten(getattr(answer, "outcome", answer))
    raised = f"raises {error.__name__ if isinstance(error, type) else shorten_name(repr(error))}"
    reply = cast("Reply", answer)
    return raised if reply.error_after is None else f"{shorten(reply.outcome)}, then {raised}"


def _checked_chunks(chunks: Iterable[Any]) -> tuple[Any, ...]:
    __tracebackhide__ = True
    frozen = None if isinstance(chunks, str) or not isinstance(chunks, Iterable) else tuple(chunks)
    for chunk in (chunks,) if frozen is None else frozen:
        if frozen is None or not (isinstance(chunk, str) or is_event(chunk)):
            raise InvalidReply(
                f"This is not a chunk: {described(chunk)}. The chunks of a Reply are a list of str "
                "or Event objects."
            )
    return frozen or ()


def _check_texts(**texts: Any) -> None:
    __tracebackhide__ = True
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise InvalidReply(f"{name}={described(text)} must be a str or None.")


def _checked_attachments(attachments: Any) -> tuple[Any, ...]:
    __tracebackhide__ = True
    found = None if isinstance(attachments, (str, bytes)) else attachments
    frozen = tuple(found) if isinstance(found, Iterable) else None
    for attachment in (attachments,) if frozen is None else frozen:
        if frozen is None or not hasattr(attachment, "type"):
            raise InvalidReply(
                f"This is not an attachment: {described(attachment)}. Give llm.Attachment objects, "
                "in a list."
            )
    return frozen or ()


def _check_details(details: Any) -> None:
    """Refuse details of usage that no provider counts."""
    __tracebackhide__ = True
    if details is None:
        return
    if not isinstance(details, Mapping):
        raise InvalidReply(f"details of the usage is {described(details)}: give a dict of counts.")
    waiting = list(details.items())
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, Mapping):
            waiting += value.items()
        elif isinstance(value, (int, float)) and not is_number(value + 0):
            raise InvalidReply(
                f"{name} in details of the usage is {described(value)}: give a number from 0."
            )


def _check_usage(usage: Any) -> None:
    __tracebackhide__ = True
    if usage is None:
        return
    known = {"input_tokens", "output_tokens", "details"}
    right = hasattr(usage, "input") and hasattr(usage, "output")
    if isinstance(usage, Mapping):
        usage = dict(usage)
        right = bool(usage) and usage.keys() <= known
        tokens = {name: usage.get(name) for name in ("input_tokens", "output_tokens")}
    else:
        tokens = {name: getattr(usage, name, None) for name in ("input", "output")}
    for name, number in tokens.items():
        if right and number is not None and not is_whole(number):
            raise InvalidReply(
                f"{name} of the usage is {described(number)}: give a whole number from 0."
            )
    if right:
        _check_details(
            usage.get("details") if isinstance(usage, dict) else getattr(usage, "details", None)
        )
    else:
        raise InvalidReply(
            f"This is not usage: {described(usage)}. Give an llm.Usage, or a dict with "
            "input_tokens, output_tokens and, if wanted, details."
        )


DEFAULT_REPLY = Reply(data={"success": True})
