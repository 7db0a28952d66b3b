"""Replies: the scripted, generated or recorded answers of a model."""

from __future__ import annotations

import copy
import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard, cast

from llm_mock.core.events import get_event_text, is_event, is_reply_item
from llm_mock.core.json_text import to_json_text
from llm_mock.core.provider_error import TEMPLATES, TEMPLATES_BY_STATUS, suggest_template
from llm_mock.core.tokens import count_input_tokens, estimate_tokens, measure_tool_call
from llm_mock.core.tool_calls import check_tool_calls, is_tool_call
from llm_mock.errors import InvalidReply
from llm_mock.support.numbers import is_number, is_whole
from llm_mock.support.text import described, shorten, shorten_name, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.core.events import Chunk
    from llm_mock.core.latency import Latency
    from llm_mock.core.reply_items import Citation, Logprob, ReplyItem
    from llm_mock.core.request import Request
    from llm_mock.core.value_types import AttachmentLike, ToolCallLike
    from llm_mock.support.json_types import JSON


class _Unset:
    """The type of a missing value; None is a value (JSON's null)."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"


UNSET = _Unset()
NO_SPECIAL_CONTENT = (None, None, UNSET, None, None)
"""The defaults of the arguments `parts`, `refusal`, `body`, `events` and `candidates`."""
FINISH_REASONS = ("stop", "length", "tool_calls", "content_filter")
"""The finish reasons of Chat Completions; other providers have further ones."""
OTHER_FINISH_REASONS = (
    *("content_filtered", "model_length"),
    "end_turn",
    "max_tokens",
    "pause_turn",
    "refusal",
    "stop_sequence",
    "tool_use",
    "max_output_tokens",
    "MAX_TOKENS",
    "STOP",
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "SPII",
    "PROHIBITED_CONTENT",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "IMAGE_SAFETY",
    "COMPLETE",
    "STOP_SEQUENCE",
    "TOOL_CALL",
    "ERROR",
    "TIMEOUT",
)
"""Finish reasons of Bedrock, Mistral, Anthropic, OpenAI's Responses, Gemini and Cohere."""
GUESSED_FINISH_REASONS = dict.fromkeys(
    ("cut_off", "incomplete", "max_length", "max_new_tokens", "truncated"), "length"
)
"""Wrong finish reasons, with the one that is probably meant."""
RESPONSE_PACKAGES = (
    "anthropic",
    "cohere",
    "google",
    "groq",
    "langchain_core",
    "litellm",
    "llama_index",
    *("mistralai", "openai", "together"),
)
"""Packages whose pydantic classes are responses and messages."""
WHAT_THE_MODEL_SAYS = (
    "Pass the answer of the model: a text, data, a ToolCall, or Reply(text, tool_calls=[…])."
)
"""The end of a message about an object that is not a reply."""
USAGE_NAMES = ("input_tokens", "output_tokens", "details")
"""The names in the usage of a reply."""
USAGE_SYNONYMS = {
    "prompt": "input_tokens",
    "prompt_tokens": "input_tokens",
    "completion": "output_tokens",
    "completion_tokens": "output_tokens",
}
"""The names of Chat Completions, whole and without the last word."""
IN_PLACE_OF_REPLY = " in place of Reply(…)"
"""The end of the advice to use a template, which is a whole reply, in messages about `error=`."""
NO_DETAILS = ((), None, (), None, None)
"""The defaults of the arguments `attachments`, `logprobs`, `citations`, `service_tier` and
`headers`."""


class Received(NamedTuple):
    """The HTTP response of a recorded answer."""

    api: str | None
    """The called API; None for an error, which is the same for all APIs."""
    streamed: bool
    status: int
    headers: Mapping[str, str]
    body: JSON
    """The body as a JSON value without the texts of the answer; a list of events for a streamed
    answer; the text of an error."""
    unfinished: bool
    """Whether the application stopped reading."""


class RawAnswer(NamedTuple):
    """An answer in the provider's own JSON, which is sent over HTTP unchanged."""

    body: JSON
    """The body of the response; `UNSET` if there is none."""
    events: tuple[JSON, ...] | None
    """The events of the stream; an event that is not JSON is a text. None if there are none."""


class Reply:
    """One answer of a model, with all its details.

    Wherever a reply is expected, you can also pass a simpler value: a str (text), a dict, a list or
    a pydantic instance (data), a `ToolCall` or a list of them, an exception or its class (raised),
    or a function (sync or async) that takes the request and returns one of these.

    Example:
        `Reply("Hello", usage={"input_tokens": 7, "output_tokens": 2})`, `Reply(chunks=["Hel",
        "lo"])`, `Reply(tool_calls=[ToolCall("weather", {"city": "Rome"})])`, `Reply(data={"found":
        True}, invalid=True)`

    Pass at most one of `text`, `data`, `chunks`, `parts`, `refusal` and `candidates`, or pass
    `body`, `events` or both. A reply cannot be changed, and later changes to the arguments do not
    affect it.

    Args:
        text: the text of the answer.
        data: a structured answer: any JSON value or a pydantic instance. The text of the answer is
            its JSON.
        chunks: the text in chunks, as it is streamed. Without streaming, the chunks are joined.
            With llm 0.32 or later, a chunk can also be an `Event` or an `llm.parts.StreamEvent`,
            which is passed on unchanged.
        parts: texts, tool calls and items such as a `WebSearch`, in order, instead of a content and
            `tool_calls`. Responses of Chat Completions do not contain the order. An item that the
            API does not support is an error.
        refusal: the text with which the model refuses to answer. It is sent in the API's own field
            for refusals, even if the request has a schema. `llm` ignores refusals, so the text of
            its response is empty.
        body: the provider's own JSON, which is sent over HTTP unchanged. Use it for fields that no
            other argument covers. Streaming requests need `events`.
        events: the provider's own stream events: JSON values, or text for an event that is not
            JSON, such as `[DONE]`.
        candidates: different answers to one request over HTTP that asks for several (`n`,
            `candidateCount`). Each one is a simple reply. Any other reply is repeated for each
            requested answer.
        tool_calls: the tool calls that the model makes after its text: a `ToolCall` or
            `llm.ToolCall`, or a list of them. A call that no offered tool accepts is an error,
            unless it is a `BrokenToolCall`. If an id is None, the mock creates one.
        reasoning: the reasoning before the text; an empty text for reasoning that the provider
            hides. Through `llm` it needs llm 0.32 or later; earlier versions raise `LLMTooOld`.
        attachments: `llm.Attachment` objects that the model returns through `llm`. Over HTTP they
            are an error: use an `ImageGeneration` or an `Audio` in `parts`.
        usage: an `llm.Usage`, or a mapping with `input_tokens` and `output_tokens`, or `input` and
            `output`. If it is None or an empty mapping, the response has no usage. By default the
            mock counts one token for every four characters of the request and of the answer,
            rounded up.
        finish_reason: the reason why the answer ends, over HTTP: `length`, `content_filter`, …, as
            named by OpenAI's Chat Completions. By default `stop` or `tool_calls`.
        resolved_model: the id of the model that answered, if it differs from the requested one.
        logprobs: the tokens of the text as `Logprob` objects, over HTTP. The text is streamed token
            by token. If the request does not ask for log probabilities, the reply is an error.
        citations: the sources of the text over HTTP, as `Citation` objects. A source that the API
            does not support is an error.
        service_tier: the service tier in the response over HTTP, as named by the provider: `flex`,
            `priority`, …
        headers: further headers of the response over HTTP, such as `deprecation` or
            `x-ratelimit-remaining-requests`. They replace the mock's headers of the same name.
        response_json: the provider's raw payload, which `response.json()` returns. By default it
            is `data`, or with ini `llm_mock_production_responses` the payload that the provider
            would send.
        error: an exception (or its class) that is raised instead of the answer, or after
            `error_after` chunks of it.
        error_after: the number of chunks to stream before `error` is raised. Without streaming, the
            error is raised immediately.
        invalid: whether the answer violates the requested schema on purpose, so that the mock does
            not report it.
        latency: the time that the answer takes: a `Latency`, or the seconds until the answer
            begins. It overrides the latency of the model.

    Raises:
        InvalidReply: `data` is not JSON, there are two contents, or `error` is not an exception.
        InvalidLatency: `latency` is neither a `Latency` nor a number of seconds of at least 0.
    """

    data: JSON
    chunks: tuple[Chunk, ...] | None
    tool_calls: tuple[ToolCallLike, ...]
    reasoning: str | None
    invalid: bool
    latency: Latency | None
    notes: tuple[str, ...]
    estimated_tokens: int
    usage: Any
    """The scripted usage; None if the response has no usage, `UNSET` if it is estimated."""
    finish_reason: str | None
    resolved_model: str | None
    response_json: JSON
    error: BaseException | type[BaseException] | None
    error_after: int | None
    content: str
    """The whole text of the answer."""
    is_text: bool
    """Whether the answer is only text, in one piece or in chunks."""
    is_text_alone: bool
    """Whether the reply is only text, and has no usage or other metadata of its own."""
    # Defaults of the class, because few replies have these fields.
    refusal: str | None = None
    """The refusal, which is the content too; None for an answer."""
    is_special = False
    """Whether the reply has `candidates`, is `raw`, or has details that not every API supports."""
    raw: RawAnswer | None = None
    """The answer in the provider's own JSON; None for other replies."""
    candidates: tuple[Reply, ...] = ()
    """The different answers to one request; empty for a single one."""
    parts: tuple[str | ToolCallLike | ReplyItem, ...] | None = None
    """The texts, tool calls and items in order; None for a reply without `parts`."""
    attachments: tuple[AttachmentLike, ...] = ()
    """The attachments that the model returns through `llm`."""
    logprobs: tuple[Logprob, ...] = ()
    """The tokens of the text with their log probabilities; empty if they are not scripted."""
    citations: tuple[Citation, ...] = ()
    """The sources of the texts."""
    service_tier: str | None = None
    """The service tier of the request; None for the default one."""
    headers: Mapping[str, str] = MappingProxyType({})
    """Further headers of the response."""
    is_recorded = False
    """Whether the answer is from a cassette, and so from a real model."""
    data_class: str | None = None
    """The class name of the pydantic instance that was passed as data."""
    attributes: Mapping[str, object] = MappingProxyType({})
    """Further attributes that a provider's plugin added to the response."""

    def __init__(
        self,
        text: str | None = None,
        *,
        data: object = UNSET,
        chunks: Iterable[Chunk] | None = None,
        parts: Iterable[str | ToolCallLike | ReplyItem] | None = None,
        refusal: str | None = None,
        body: object = UNSET,
        events: Iterable[object] | None = None,
        candidates: Iterable[object] | None = None,
        tool_calls: Iterable[ToolCallLike] | ToolCallLike = (),
        reasoning: str | None = None,
        attachments: Iterable[AttachmentLike] = (),
        usage: Any = UNSET,
        finish_reason: str | None = None,
        resolved_model: str | None = None,
        logprobs: Iterable[Logprob] | None = None,
        citations: Iterable[Citation] = (),
        service_tier: str | None = None,
        headers: Mapping[str, str] | None = None,
        response_json: object = None,
        error: BaseException | type[BaseException] | None = None,
        error_after: int | None = None,
        invalid: bool = False,
        latency: Latency | float | None = None,
    ) -> None:
        __tracebackhide__ = True
        # `__setattr__` refuses changes, so the fields are set in the dictionary.
        fields = self.__dict__
        fields["invalid"] = invalid
        special = (parts, refusal, body, events, candidates)
        if special == NO_SPECIAL_CONTENT:
            _check_content(text, data, chunks)
        else:
            _check_single_content(text, data, chunks, *special, tool_calls)
            text, tool_calls = self._set_special_content(*special)
        if error is not None or error_after is not None:
            _check_error(error, error_after, (text, chunks, tool_calls), data)
        if usage is not UNSET:
            usage = _check_usage(usage)
        _check_texts(
            reasoning=reasoning, finish_reason=finish_reason, resolved_model=resolved_model
        )
        fields["error"] = error
        fields["error_after"] = error_after
        # An exception that is raised again may have further notes by then.
        fields["notes"] = tuple(getattr(error, "__notes__", ()))
        fields["usage"] = usage
        fields["resolved_model"] = resolved_model
        fields["finish_reason"] = finish_reason
        fields["reasoning"] = reasoning
        fields["response_json"] = None
        if response_json is not None:
            # Through JSON, so that later changes to the argument cannot reach the reply.
            fields["response_json"] = json.loads(to_json_text(response_json))
        # Most replies have no tool calls, so the call is skipped.
        fields["tool_calls"] = () if tool_calls == () else check_tool_calls(tool_calls)
        fields["latency"] = None if latency is None else _check_latency(latency)
        fields["chunks"] = None if chunks is None else _check_chunks(chunks)
        self._set_content(text, data)
        details = (attachments, logprobs, citations, service_tier, headers)
        if details != NO_DETAILS:
            self._set_details(*details)

    def _set_details(
        self,
        attachments: object,
        logprobs: object,
        citations: object,
        service_tier: object,
        headers: object,
    ) -> None:
        """Set the details that few replies have.

        Raises:
            InvalidReply: one of them is not of its type, or does not fit the content.
        """
        # Imported here, because few replies need it.
        from llm_mock.core import reply_details

        __tracebackhide__ = True
        fields = self.__dict__
        fields.update(is_special=True, is_text=False, is_text_alone=False)
        fields["attachments"] = _check_attachments(attachments)
        if logprobs is not None:
            self._set_logprobs(logprobs)
        if citations != ():
            self._check_has_text("citations")
            from llm_mock.core.reply_items import check_citations

            fields["citations"] = check_citations(citations, self.list_texts())
        if headers is not None:
            if self.error is not None and self.error_after is None:
                raise InvalidReply(
                    "headers= is for answers, but this Reply is an error. The headers of the error "
                    "are those of its exception: remove headers=."
                )
            fields["headers"] = reply_details.check_headers(headers)
        if service_tier is not None:
            if self.raw is not None:
                raise InvalidReply(
                    "service_tier= cannot be combined with body= or events=: write it into them."
                )
            fields["service_tier"] = reply_details.check_service_tier(service_tier)
            # Each candidate is encoded as a separate answer.
            copies = [copy.copy(candidate) for candidate in self.candidates]
            for candidate in copies:
                candidate.__dict__.update(service_tier=service_tier, is_special=True)
            fields["candidates"] = tuple(copies)

    def _set_logprobs(self, logprobs: object) -> None:
        """Set the log probabilities, and stream the text by its tokens.

        Raises:
            InvalidReply: the tokens do not match the text.
        """
        from llm_mock.core.reply_items import check_logprobs

        __tracebackhide__ = True
        self._check_has_text("logprobs")
        if self.parts is not None:
            raise InvalidReply(
                "logprobs need a single text, but this Reply has parts: remove one of them."
            )
        checked = check_logprobs(logprobs, self.content, self.chunks)
        self.__dict__["logprobs"] = checked
        if self.chunks is None:
            self.__dict__["chunks"] = tuple(logprob.token for logprob in checked)

    def _check_has_text(self, name: str) -> None:
        """Raise an InvalidReply for a detail of a text, if the reply has no text."""
        __tracebackhide__ = True
        if self.candidates:
            problem = "has several candidates: pass them to the Reply of each candidate"
        elif self.raw is not None:
            problem = "is the provider's own JSON: write them into the body or events"
        elif self.refusal is not None or self.error is not None or not self.content:
            problem = f"has no text: add a text or remove {name}"
        else:
            return
        raise InvalidReply(f"{name} need a text, but this Reply {problem}.")

    def list_texts(self) -> list[str]:
        """Return the texts of the answer; neighbouring texts in `parts` are joined."""
        if self.parts is None:
            return [self.content]
        texts: list[str] = []
        is_open = False
        for part in self.parts:
            if not isinstance(part, str):
                is_open = False
            elif is_open:
                texts[-1] += part
            else:
                texts.append(part)
                is_open = True
        return texts

    def _set_special_content(
        self,
        parts: object,
        refusal: str | None,
        body: object,
        events: object,
        candidates: object,
    ) -> tuple[str, tuple[ToolCallLike, ...]]:
        """Set the special content, and return the text and the tool calls in it.

        Raises:
            InvalidReply: a part is neither text nor a tool call, a body is not JSON, or a candidate
                is not a simple reply.
        """
        __tracebackhide__ = True
        if candidates is not None:
            checked_candidates = _check_candidates(candidates)
            # Each candidate is checked on its own, not their joined text.
            self.__dict__.update(candidates=checked_candidates, is_special=True, invalid=True)
            return "".join(candidate.content for candidate in checked_candidates), ()
        if body is not UNSET or events is not None:
            raw = _make_raw_answer(body, events)
            # Not checked, because the format of the JSON is unknown.
            self.__dict__.update(raw=raw, is_special=True, invalid=True)
            return "", ()
        if refusal is not None:
            # No schema applies to a refusal.
            self.__dict__.update(refusal=refusal, invalid=True)
            return refusal, ()
        checked = _check_parts(parts)
        self.__dict__["parts"] = checked
        text = ""
        calls = []
        for part in checked:
            if isinstance(part, str):
                text += part
            elif is_reply_item(part):
                self.__dict__["is_special"] = True
            else:
                calls.append(cast("ToolCallLike", part))
        return text, tuple(calls)

    def _set_content(self, text: str | None, data: object) -> None:
        """Set `content`, `data`, and the fields that are derived from these and others."""
        fields = self.__dict__
        chunks = self.chunks or ()
        if data is not UNSET:
            content = to_json_text(data)
            # A copy, as above, so that later changes to the argument cannot reach the reply.
            fields["data"] = json.loads(content)
            if hasattr(type(data), "model_dump"):
                fields["data_class"] = type(data).__name__
        else:
            content = text or "".join(map(get_event_text, chunks))
            fields["data"] = UNSET
        fields["content"] = content
        calls_length = sum(map(measure_tool_call, self.tool_calls))
        reasoning_length = len(self.reasoning or "")
        fields["estimated_tokens"] = estimate_tokens(len(content) + reasoning_length + calls_length)
        fields["is_text"] = self._has_only_text(chunks)
        has_metadata = self.resolved_model or self.response_json
        is_alone = self.usage is UNSET and not has_metadata
        fields["is_text_alone"] = self.is_text and data is UNSET and is_alone

    def _has_only_text(self, chunks: Sequence[Chunk]) -> bool:
        """Return whether there is no error, no reasoning, no tool call and no event."""
        if self.error is not None or self.reasoning is not None or self.tool_calls:
            return False
        if self.refusal is not None or self.is_special:
            return False
        # Without chunks, the call to `all` is skipped.
        return not chunks or all(isinstance(chunk, str) for chunk in chunks)

    @property
    def is_simple(self) -> bool:
        """True if the reply may be one of several candidates."""
        is_whole_answer = self.raw is not None or self.candidates or self.headers
        return self.error is None and not is_whole_answer and self.service_tier is None

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"A Reply cannot be changed, so {name} cannot be assigned. Create a new Reply."
        )

    def __repr__(self) -> str:
        return f"Reply({shorten(self.outcome) if self.error is None else repr(self.error)})"

    def stream(self, stream: bool) -> Iterable[Chunk]:
        """Return the chunks of the answer: as scripted, or else the text in one piece.

        Args:
            stream: whether the application streams. Otherwise texts are joined, but stream events
                are returned as scripted.
        """
        chunks = self.chunks
        if chunks is not None and (stream or not all(isinstance(chunk, str) for chunk in chunks)):
            return chunks
        return (self.content,) if self.content else ()

    def tokens(self, request: Request | None) -> tuple[int | None, int | None]:
        """Return the input and output tokens of a call, as scripted or estimated.

        They are estimated also for a reply without usage, because the provider counts them anyway.

        Args:
            request: the request; None if the reply has the tokens.
        """
        if self.usage is UNSET or self.usage is None:
            return None if request is None else count_input_tokens(request), self.estimated_tokens
        return self.given_tokens()

    def given_tokens(self) -> tuple[int | None, int | None]:
        """Return the input and output tokens of `usage`; None for a count that is not sent.

        Not to be called if the usage is estimated.
        """
        usage = self.usage
        if usage is None:
            return None, None
        if isinstance(usage, Mapping):
            return usage.get("input_tokens"), usage.get("output_tokens")
        return usage.input, usage.output

    def usage_details(self) -> JSON:
        """Return the scripted details of the usage, or None."""
        usage = self.usage
        if isinstance(usage, Mapping):
            return usage.get("details")
        return getattr(usage, "details", None)

    def exception(self) -> BaseException:
        """Return the exception to raise for `error`: the configured instance, or a new one."""
        error = to_exception(self.error).with_traceback(None)
        # The instance may have been raised before: remove the context and notes of that time.
        error.__context__ = None
        if hasattr(error, "__notes__"):
            error.__notes__[:] = self.notes
        return error

    def raw_json(self) -> JSON:
        """Return a new copy of the provider's payload for `llm`; None for plain text."""
        if self.response_json is not None:
            return copy.deepcopy(self.response_json)
        return None if self.data is UNSET else json.loads(self.content)

    def over_http(self) -> Received | None:
        """Return the HTTP response of a recorded answer; None if it did not come over HTTP."""
        return None

    def sent(self, before: JSON) -> JSON:
        """Return the recorded request to the provider; None if it is not known.

        Args:
            before: the request of the previous call of the conversation.
        """

    @property
    def outcome(self) -> JSON:
        """The response in the history: a new copy of the data or text, and any tool calls."""
        if self.error_after is not None:
            chunks = tuple(self.stream(stream=True))[: self.error_after]
            return "".join(map(get_event_text, chunks))
        if self.tool_calls:
            calls = [
                {"name": call.name, "arguments": copy.deepcopy(call.arguments)}
                for call in self.tool_calls
            ]
            return {"text": self.content, "tool_calls": calls}
        if self.data is not UNSET:
            return json.loads(self.content)
        return self._describe_special() if self.is_special else self.content

    def _describe_special(self) -> JSON:
        """Return the candidates, the provider's own JSON, or else the text, in the history."""
        if self.candidates:
            return [candidate.outcome for candidate in self.candidates]
        if self.raw is None:
            return self.content
        raw = self.raw.events if self.raw.body is UNSET else self.raw.body
        return copy.deepcopy(raw)


ReplyFunction = Callable[[Any], Any]
"""A function that takes the library's own request object (an `llm.Prompt`) and returns a reply."""
ReplyOrFunction = Reply | ReplyFunction
"""A configured reply, which may depend on the call."""


def to_exception(error: object, place: str = "") -> BaseException:
    """Return an exception instance as it is, or a new instance of an exception class.

    Args:
        error: the exception.
        place: the end of the advice to use a template instead, with a space, for messages.

    Raises:
        InvalidReply: it is neither, or the class cannot be instantiated without arguments.
    """
    __tracebackhide__ = True
    if isinstance(error, BaseException):
        return error
    if error is None:
        raise InvalidReply(
            "set_error() needs an error, but this reply has none. Pass an exception, or a template "
            "with an error, such as templates.rate_limit() of llm_mock. For an answer, use set()."
        )
    if not (isinstance(error, type) and issubclass(error, BaseException)):
        _check_is_no_template(error, place)
        _check_is_no_status(error, place)
        raise _make_exception_error(error, place)
    try:
        return error()
    except Exception as problem:
        raise InvalidReply(
            f"{error.__qualname__} cannot be raised without arguments ({problem}). Pass "
            f"{suggest_template(error, place)}an instance of it."
        ) from None


def _make_exception_error(value: object, place: str) -> InvalidReply:
    """Return the error for a value that is not an exception; for `place` see `to_exception`."""
    example = 'ConnectionError("no route to host")'
    if isinstance(value, Reply):
        return InvalidReply(
            f"This is a whole Reply, not an exception. Pass an exception, such as {example}. "
            'To raise the error of a Reply in every call, write set_error("*", reply).'
        )
    advice = "" if place else " For an answer about an error, use set()."
    is_function = callable(value) and not isinstance(value, type)
    if is_function or _explain_called_function(value):
        advice = " For a function that returns an exception, write set(model, function)."
    return InvalidReply(
        f"This is not an exception: {described(value)}. Pass an instance or a class, such as "
        f"{example}, or an error of the SDK, such as templates.rate_limit() of llm_mock{place}."
        f"{advice}"
    )


def _explain_called_function(value: object, place: str = "") -> str:
    """Return what to write for a coroutine or generator; empty for other values."""
    # Imported here, because few tests make this mistake.
    from llm_mock.core.reply_mistakes import explain_called_function

    return explain_called_function(value, place)


def to_reply(value: object) -> ReplyOrFunction:
    """Return a value as a reply; a function is returned as it is.

    Args:
        value: any of the forms that `Reply` lists.

    Raises:
        InvalidReply: the value is not a reply.
    """
    __tracebackhide__ = True
    if isinstance(value, Reply):
        return value
    if isinstance(value, str):
        return Reply(value)
    if hasattr(type(value), "model_dump"):
        _check_is_no_response(value)
        return Reply(data=value)
    if isinstance(value, (dict, list)):
        _check_is_no_completion(value)
        return Reply(parts=value) if _is_list_of_parts(value) else Reply(data=value)
    if _is_exception(value):
        # Checked before `Reply` does, because here the advice is to pass a template directly.
        to_exception(value)
        return Reply(error=cast("BaseException", value))
    if callable(value) and not isinstance(value, type):
        _check_is_no_template(value)
        _check_is_configured(value)
        return cast("ReplyFunction", value)
    if is_tool_call(value):
        return Reply(tool_calls=cast("ToolCallLike", value))
    _check_is_no_status(value)
    raise _make_reply_error(value)


def _make_reply_error(value: object) -> InvalidReply:
    called = _explain_called_function(value)
    if called:
        return InvalidReply(f"This is not a reply: {described(value)}. {called}")
    advice = ""
    if isinstance(value, type):
        advice = f" Pass an instance: {value.__name__}(…)."
    return InvalidReply(
        f"This is not a reply: {described(value)}.{advice} A reply is a str, a dict or a list, a "
        "pydantic instance, a ToolCall, an exception or its class, a Reply, or a function that "
        "takes the request and returns one of these."
    )


def _check_is_no_response(value: object) -> None:
    """Raise an InvalidReply for a response or a message object of an SDK."""
    __tracebackhide__ = True
    package = type(value).__module__.partition(".")[0]
    if package in RESPONSE_PACKAGES:
        raise InvalidReply(
            f"Expected a reply, got a {type(value).__name__} of {package}, which the SDK creates "
            f"from a reply. {WHAT_THE_MODEL_SAYS}"
        )


def _check_is_no_completion(value: object) -> None:
    """Raise an InvalidReply for the JSON of a whole completion, which is not meant as data."""
    __tracebackhide__ = True
    if isinstance(value, dict) and _is_completion(value):
        raise InvalidReply(
            f"Expected a reply, got a whole response of a provider. {WHAT_THE_MODEL_SAYS} "
            "Reply(body=…) sends a response unchanged, and Reply(data=…) sends it as data."
        )


def _is_completion(value: Mapping[str, object]) -> bool:
    """Return whether data are a whole response of Chat Completions, Messages or Responses."""
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return isinstance(choices[0].get("message"), dict)
    if value.get("role") == "assistant" and value.get("type") == "message":
        return isinstance(value.get("content"), list)
    return value.get("object") == "response" and isinstance(value.get("output"), list)


def _check_is_no_template(function: object, place: str = "") -> None:
    """Raise an InvalidReply for a function of `llm_mock.templates`, or the name of one."""
    __tracebackhide__ = True
    # The result of a template may be callable, too, but it is not a `FunctionType`.
    if isinstance(function, FunctionType) and function.__module__ == "llm_mock.templates":
        name = function.__name__
        raise InvalidReply(f"templates.{name} is a function. Write templates.{name}(){place}.")
    if function in TEMPLATES.values():
        raise InvalidReply(
            f"{function!r} is a text, not an exception. Write templates.{function}() of "
            f"llm_mock{place}."
        )


def _check_is_no_status(value: object, place: str = "") -> None:
    """Raise an InvalidReply for an HTTP status instead of an exception."""
    __tracebackhide__ = True
    if not isinstance(value, int) or not 400 <= value < 600:
        return
    name = TEMPLATES_BY_STATUS.get(value)
    template = "" if name is None else f"templates.{name}() of llm_mock{place}, or "
    raise InvalidReply(
        f"{value} is a status, not an exception. Pass {template}an exception of the SDK with its "
        "response. To send another body with this status, write "
        f'mock.on("POST", path, body, status={value}).'
    )


def _check_is_configured(function: object) -> None:
    """Raise an InvalidReply for a mock of `unittest.mock` that would return another mock.

    A mock with a `return_value` or a `side_effect` is a valid reply function.
    """
    __tracebackhide__ = True
    if type(function).__module__ != "unittest.mock":
        return
    # Private, because reading the public `return_value` creates a mock if none was set.
    returned = vars(function).get("_mock_return_value")
    effects = [getattr(function, name, None) for name in ("side_effect", "_mock_wraps")]
    if returned is sys.modules["unittest.mock"].DEFAULT and effects == [None, None]:
        raise InvalidReply(
            f"Expected a reply, got a {type(function).__name__} without a return_value. "
            f"{WHAT_THE_MODEL_SAYS}"
        )


def _is_exception(value: object) -> bool:
    """Return whether a value is an exception or a class of exceptions."""
    if isinstance(value, type):
        return issubclass(value, BaseException)
    return isinstance(value, BaseException)


def _is_list_of_parts(value: object) -> TypeGuard[list[str | ToolCallLike | ReplyItem]]:
    """Return whether a value is a list with tool calls or items, and so not a list of data."""
    if not isinstance(value, list):
        return False
    for item in value:
        # A pydantic instance is data, even if its fields are those of a tool call.
        is_pydantic = hasattr(type(item), "model_dump")
        if (is_tool_call(item) or is_reply_item(item)) and not is_pydantic:
            return True
    return False


def format_reply(answer: ReplyOrFunction) -> str:
    """Return a configured reply on one line: its content, or its exception."""
    error = getattr(answer, "error", None)
    if error is None:
        # A function has no outcome, and is shown by its name.
        return shorten(getattr(answer, "outcome", answer))
    name = error.__name__ if isinstance(error, type) else shorten_name(repr(error))
    reply = cast("Reply", answer)
    if reply.error_after is None:
        return f"raises {name}"
    return f"{shorten(reply.outcome)}, then raises {name}"


def _check_content(text: object, data: object, chunks: object) -> None:
    """Raise an InvalidReply if a reply has more than one content, or a text that is not a str."""
    __tracebackhide__ = True
    has_text = text is not None
    has_data = data is not UNSET
    has_chunks = chunks is not None
    if has_text + has_data + has_chunks > 1:
        flags = {"text": has_text, "data": has_data, "chunks": has_chunks}
        names = " or ".join(name for name, is_given in flags.items() if is_given)
        advice = ": remove all but one."
        if has_text and has_chunks:
            advice = ". The chunks together are the text: remove the text."
        raise InvalidReply(f"A Reply has either {names}{advice}")
    if has_text and not isinstance(text, str):
        advice = _explain_wrong_text(text)
        raise InvalidReply(f"This is not text: {described(text)}. {advice}")
    # The usual types are skipped, because this runs for each reply.
    if has_data and not isinstance(data, (dict, list)):
        _refuse_function(data)


def _refuse_function(data: object) -> None:
    """Raise an InvalidReply if the data of a reply is a function or a coroutine."""
    __tracebackhide__ = True
    if inspect.iscoroutine(data) or inspect.isfunction(data):
        advice = _explain_wrong_text(data)
        raise InvalidReply(f"This is not data: {described(data)}. {advice}")


def _explain_wrong_text(value: object) -> str:
    """Return what to write for the text of a reply that is not a str, or for a function as data."""
    if isinstance(value, Reply):
        return "It is already a Reply: pass it without Reply()."
    if callable(value) and not isinstance(value, type):
        return "A function that returns the reply is passed without Reply()."
    called = _explain_called_function(value, IN_PLACE_OF_REPLY)
    return called or "Reply(text) takes a str; a structured reply is Reply(data=…)."


def _check_single_content(
    text: object,
    data: object,
    chunks: object,
    parts: object,
    refusal: object,
    body: object,
    events: object,
    candidates: object,
    tool_calls: object,
) -> None:
    """Raise an InvalidReply unless a reply has a single content."""
    __tracebackhide__ = True
    given = {
        "text": text is not None,
        "data": data is not UNSET,
        "chunks": chunks is not None,
        "parts": parts is not None,
        "refusal": refusal is not None,
        # Both count as one content: streaming requests get the events, others the body.
        "body or events": body is not UNSET or events is not None,
        "candidates": candidates is not None,
        "tool_calls": tool_calls not in ((), []),
    }
    names = [name for name, is_given in given.items() if is_given]
    if len(names) > 1:
        raise InvalidReply(
            f"A Reply has either {' or '.join(names)}: remove all but one. To mix texts and tool "
            "calls, put all of them into parts."
        )
    _check_texts(refusal=refusal)


def _check_error(
    error: object, error_after: object, contents: tuple[object, ...], data: object
) -> None:
    """Raise an InvalidReply for an error that cannot be raised, or that hides the content."""
    __tracebackhide__ = True
    has_content = any(contents) or data is not UNSET
    text, chunks, _ = contents
    if isinstance(error, Reply):
        from llm_mock.core.reply_mistakes import explain_reply_as_error

        raise InvalidReply(explain_reply_as_error(error.error, text, chunks, error_after))
    if error is not None:
        to_exception(error, IN_PLACE_OF_REPLY)
        if has_content and error_after is None:
            raise InvalidReply(
                "This Reply has a content and an error, so the content is never sent. To send the "
                "beginning of a stream, set error_after, the number of chunks before the error. "
                "Otherwise, remove the content or the error."
            )
    _check_chunk_count(error_after, chunks, text if data is UNSET else to_json_text(data))
    if error_after is not None and (error is None or not is_whole(error_after)):
        raise InvalidReply(
            f"error_after={error_after!r} needs error= and must be a whole number of at least 0: "
            "it "
            "counts the chunks before the error."
        )


def _check_chunk_count(error_after: object, chunks: object, text: object) -> None:
    """Raise an InvalidReply for an error after more chunks than there can be."""
    __tracebackhide__ = True
    if isinstance(chunks, Sequence) and is_whole(error_after, len(chunks) + 1):
        raise InvalidReply(
            f"error_after={error_after} is more than the number of chunks, {len(chunks)}. Pass at "
            f"most {len(chunks)}."
        )
    if not isinstance(text, str) or not text:
        return
    # A latency may split the text into chunks of one token.
    if isinstance(error_after, int) and is_whole(error_after, estimate_tokens(len(text)) + 1):
        from llm_mock.core.reply_mistakes import explain_late_error

        raise InvalidReply(explain_late_error(text, error_after))


def _check_latency(latency: object) -> Latency:
    # Imported here, because few replies have a latency.
    from llm_mock.core.latency import check_latency

    __tracebackhide__ = True
    return check_latency(latency)


def _check_chunks(chunks: object) -> tuple[Chunk, ...]:
    """Return chunks as a tuple.

    Raises:
        InvalidReply: one of them is neither text nor an event.
    """
    __tracebackhide__ = True
    if isinstance(chunks, str):
        raise InvalidReply(
            f"chunks must be a list of texts, but got a text. Write chunks=[{shorten(chunks)}]."
        )
    if not isinstance(chunks, Iterable):
        raise _make_chunk_error(chunks)
    frozen = tuple(chunks)
    for chunk in frozen:
        if not (isinstance(chunk, str) or is_event(chunk)):
            raise _make_chunk_error(chunk)
    return frozen


def _check_candidates(candidates: object) -> tuple[Reply, ...]:
    """Return candidates as replies.

    Raises:
        InvalidReply: one of them is not a simple reply, or there are fewer than two.
    """
    __tracebackhide__ = True
    if isinstance(candidates, (str, Mapping)) or not isinstance(candidates, Iterable):
        raise InvalidReply(
            f"These are not candidates: {described(candidates)}. Pass a list of replies."
        )
    checked = []
    for candidate in candidates:
        reply = to_reply(candidate)
        if not isinstance(reply, Reply) or not reply.is_simple:
            raise InvalidReply(
                f"This is not a candidate: {described(candidate)}. Pass text, data, tool calls, or "
                "a Reply with one of these."
            )
        checked.append(reply)
    if len(checked) < 2:
        raise InvalidReply(
            f"candidates must be at least two replies, but got {len(checked)}. For the same answer "
            "to each candidate of the request, pass the reply itself."
        )
    return tuple(checked)


def _make_raw_answer(body: object, events: object) -> RawAnswer:
    """Return a body and events as a copy.

    Raises:
        InvalidReply: one of them is not JSON, or the events are not a list.
    """
    __tracebackhide__ = True
    copied = body
    if body is not UNSET:
        copied = json.loads(to_json_text(body))
    if events is None:
        return RawAnswer(copied, None)
    if isinstance(events, (str, Mapping)) or not isinstance(events, Iterable):
        raise InvalidReply(
            f"These are not events: {described(events)}. Pass a list of JSON values; an event that "
            "is not JSON is a text."
        )
    return RawAnswer(copied, tuple(json.loads(to_json_text(list(events)))))


def _check_parts(parts: object) -> tuple[str | ToolCallLike | ReplyItem, ...]:
    """Return parts as a tuple, with copies of the tool calls.

    Raises:
        InvalidReply: one of them is neither text nor a tool call nor an item.
    """
    __tracebackhide__ = True
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise _make_part_error(parts)
    checked: list[str | ToolCallLike | ReplyItem] = []
    for part in parts:
        if isinstance(part, str) or is_reply_item(part):
            checked.append(part)
        elif is_tool_call(part):
            checked += check_tool_calls(part)
        else:
            raise _make_part_error(part)
    return tuple(checked)


def _make_part_error(value: object) -> InvalidReply:
    return InvalidReply(
        f"This is not a part: {described(value)}. The parts of a Reply are a list of str, ToolCall "
        "objects, and items such as a WebSearch."
    )


def _make_chunk_error(value: object) -> InvalidReply:
    return InvalidReply(
        f"This is not a chunk: {described(value)}. The chunks of a Reply are a list of str or "
        "Event objects."
    )


def _check_texts(**texts: object) -> None:
    """Raise an InvalidReply if an argument is not text or None, or is a misspelt finish reason."""
    __tracebackhide__ = True
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            hint = ""
            if name == "refusal":
                hint = ' Pass the text of the refusal, as in Reply(refusal="I cannot do that.").'
            raise InvalidReply(f"{name}={described(text)} must be a str or None.{hint}")
        if name == "finish_reason" and text is not None and text not in FINISH_REASONS:
            _check_finish_reason(text)


def _check_finish_reason(reason: str) -> None:
    """Raise an InvalidReply if an unknown finish reason is probably a misspelt one."""
    from llm_mock.support.text import CERTAIN, find_nearest

    __tracebackhide__ = True
    nearest = GUESSED_FINISH_REASONS.get(reason) or find_nearest(
        reason, (*FINISH_REASONS, *OTHER_FINISH_REASONS), cutoff=CERTAIN
    )
    # Reasons of other providers are sent unchanged.
    if nearest is not None and reason not in OTHER_FINISH_REASONS:
        raise InvalidReply(f"Unknown finish_reason {shorten(reason)}; did you mean {nearest!r}?")


def _check_attachments(attachments: object) -> tuple[AttachmentLike, ...]:
    """Return attachments as a tuple.

    Raises:
        InvalidReply: one of them has no type.
    """
    __tracebackhide__ = True
    if isinstance(attachments, (str, bytes)) or not isinstance(attachments, Iterable):
        raise _make_attachment_error(attachments)
    frozen = tuple(attachments)
    for attachment in frozen:
        if not hasattr(attachment, "type"):
            raise _make_attachment_error(attachment)
    return frozen


def _make_attachment_error(value: object) -> InvalidReply:
    return InvalidReply(
        f"This is not an attachment: {described(value)}. Pass a list of llm.Attachment objects."
    )


def _check_usage(usage: Any) -> Any:
    """Return usage, a mapping under its full names, or None for no usage.

    Raises:
        InvalidReply: it is neither a mapping of tokens nor like an `llm.Usage`.
    """
    __tracebackhide__ = True
    if usage is None:
        return None
    if isinstance(usage, Mapping):
        names = ("input_tokens", "output_tokens")
        usage = _expand_usage_names(usage)
        _check_usage_names(usage)
        values = usage
    else:
        # By attributes, because `llm` is not imported here.
        names = ("input", "output")
        values = {name: getattr(usage, name, None) for name in (*names, "details")}
        if not all(hasattr(usage, name) for name in names):
            raise InvalidReply(
                f'usage={described(usage)}: pass a dict such as {{"input": 7, "output": 2}}, an '
                "llm.Usage, or None for no usage."
            )
    if all(value is None for value in values.values()):
        return None
    _check_counts(names, values)
    _check_details(values.get("details"))
    return usage


def _check_usage_names(usage: Mapping[str, object]) -> None:
    """Raise an InvalidReply for usage with an unknown name."""
    __tracebackhide__ = True
    for name in usage:
        if name in USAGE_NAMES:
            continue
        meant = USAGE_SYNONYMS.get(name, str(name))
        nearest = suggest_nearest(meant, USAGE_NAMES) or "."
        raise InvalidReply(
            f"Unknown name {name!r} in usage{nearest} Valid names: input_tokens or input, "
            "output_tokens or output, and details, a dict with the other counts of the API."
        )


def _check_counts(names: Iterable[str], values: Mapping[str, object]) -> None:
    """Raise an InvalidReply for an invalid number of tokens."""
    __tracebackhide__ = True
    for name in names:
        number = values.get(name)
        if number is not None and not is_whole(number):
            raise InvalidReply(
                f"{name} of the usage is {described(number)}: pass a whole number of at least 0."
            )


def _expand_usage_names(usage: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return usage with `input` and `output` under their full names."""
    if not usage.keys() & {"input", "output"}:
        return usage
    expanded = {}
    for name, value in usage.items():
        full_name = f"{name}_tokens" if name in ("input", "output") else name
        if full_name != name and full_name in usage:
            raise InvalidReply(f"The usage has both {name} and {full_name}: remove one of them.")
        expanded[full_name] = value
    return expanded


def _check_details(details: object) -> None:
    """Raise an InvalidReply for details of the usage that no provider sends."""
    __tracebackhide__ = True
    if details is None:
        return
    if not isinstance(details, Mapping):
        raise InvalidReply(f"details of the usage is {described(details)}: pass a dict of counts.")
    # A loop instead of recursion, because details may be nested to any depth.
    pending = list(details.items())
    while pending:
        name, value = pending.pop()
        if isinstance(value, Mapping):
            pending += value.items()
        elif isinstance(value, (int, float)) and not is_number(value + 0):
            # `+ 0` turns True and False into numbers, because they are accepted here.
            raise InvalidReply(
                f"{name} in details of the usage is {described(value)}: pass a number of at least "
                "0."
            )


DEFAULT_REPLY = Reply(data={"success": True})
