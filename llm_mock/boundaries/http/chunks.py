"""The chunks of a reply, in the form in which the protocols encode them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.core.answer import Answer
from llm_mock.core.events import Event, ItemEvent, MadeToolCall, Wait
from llm_mock.core.reply import UNSET, Reply
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock
    from llm_mock.core.reply_items import ReplyItem


REFUSAL_REASONS = dict.fromkeys(
    ("messages", "generate_content", "interactions", "converse", "invoke_model"), "content_filter"
)
"""The finish reasons of refusals, by API; OpenAI ends them as any other answer."""

COMMON_REASONS = {
    "COMPLETE": "stop",
    "MAX_TOKENS": "length",
    "SAFETY": "content_filter",
    "STOP": "stop",
    "TOOL_CALL": "tool_calls",
    "content_filtered": "content_filter",
    "end_turn": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
    "tool_use": "tool_calls",
}
"""The finish reasons of Chat Completions by the words of other providers."""


class ResponseContext:
    """A request and its answer, from which a protocol builds the response.

    Args:
        request: the request.
        answer: the answer of the mock.
        mock: the mock that answers; None if nobody can refer to the response.
    """

    def __init__(self, request: HTTPRequest, answer: Answer, mock: Mock | None = None) -> None:
        record = answer.record
        reply = answer.reply
        self.request = request
        self.answer = answer
        self.mock = mock
        # Same as `Answer.make_id`, inlined for speed, as this runs for each call.
        prefix = answer.history.id_prefix
        if prefix is None:
            prefix = answer.history.get_id_prefix()
        self.number = f"{prefix}{record['number']}"
        """The part of all ids that belongs to the call."""
        self.input_tokens: int = record["input_tokens"] or 0
        """The count of tokens in the request."""
        self.output_tokens: int = record["output_tokens"] or 0
        """The count of tokens in the reply."""
        self.sends_usage = reply.usage is not None or reply.is_recorded
        """False if the script says that the provider sends no usage."""
        self.usage_details: JSONObject = {}
        """The scripted details of the usage, in the terms of the API."""
        if reply.usage is not UNSET:
            self.usage_details = reply.usage_details() or {}
            given_input, _ = reply.given_tokens()
            # The provider may exclude cached tokens from this count; the record includes them.
            if given_input is not None:
                self.input_tokens = given_input
        self.model = reply.resolved_model or request.model_id
        self.created = int(time.time())
        self.recorded_reason: str | None = None
        """The finish reason of a recorded reply; None if its cassette has none."""
        self.called_tools: list[str] = []
        """The names of the tools that the reply has called so far."""

    def get_finish_reason(self) -> str:
        """Return the finish reason in the terms of Chat Completions, and record it.

        Call this after the chunks, as a reply that called a tool ends with `tool_calls`.
        """
        reply = self.answer.reply
        given = reply.finish_reason
        reason = COMMON_REASONS.get(given, given) if given else self.recorded_reason
        if reply.refusal is not None and not reason:
            reason = REFUSAL_REASONS.get(self.request.api, "stop")
        if not reason:
            # A recorded reply that is sent unchanged has no chunks, but knows its tool calls.
            has_calls = self.called_tools or (reply.is_recorded and reply.tool_calls)
            reason = "tool_calls" if has_calls else "stop"
        self.answer.record["finish_reason"] = reason
        return reason

    @property
    def is_text(self) -> bool:
        """True if the reply is a text without delays, which needs no chunks."""
        answer = self.answer
        if answer.waits is not None or not answer.reply.is_text:
            return False
        return _find_reply_tool(answer.reply, self.request) is None

    def read_chunks(self, stream: bool) -> Iterator[str | Event | Wait]:
        """Yield the reply: texts, events and waits.

        The events are of the types `reasoning`, `refusal`, `tool_call_name` and `tool_call_args`.

        Args:
            stream: True to split the text into several chunks.

        Raises:
            Exception: the error of the reply, at its position.
        """
        tool = _find_reply_tool(self.answer.reply, self.request)
        if tool is not None:
            yield from self._build_structured_call(tool)
            return
        # The calls whose events came before them, as replies with chunks have both.
        named_calls: set[str | None] = set()
        for event in self.answer.events(stream):
            if isinstance(event, MadeToolCall):
                if event.tool_call_id not in named_calls:
                    yield from self._build_whole_call(event)
                continue
            # Waits have no type.
            event_type = getattr(event, "type", None)
            if event_type == "text":
                yield event.chunk
                continue
            if event_type == "tool_call_name":
                self.called_tools.append(event.chunk)
                named_calls.add(event.tool_call_id)
            yield event

    def _build_structured_call(self, tool: str) -> Iterator[Event | Wait]:
        """Yield the call of a tool whose arguments are the data of the reply."""
        if self.answer.waits:
            yield Wait(sum(self.answer.waits))
        self.called_tools.append(tool)
        call_id = f"call_{self.number}_1"
        yield Event("tool_call_name", tool, tool_call_id=call_id)
        yield Event("tool_call_args", self.answer.reply.content, tool_call_id=call_id)

    def _build_whole_call(self, call: MadeToolCall) -> Iterator[Event]:
        self.called_tools.append(call.name)
        yield Event("tool_call_name", call.name, tool_call_id=call.tool_call_id)
        arguments = json.dumps(call.arguments, ensure_ascii=False)
        yield Event("tool_call_args", arguments, tool_call_id=call.tool_call_id)


class ToolCallText(NamedTuple):
    """A complete tool call with its arguments as text."""

    id: str
    name: str
    arguments: str
    """The arguments as JSON, or any text for a broken tool call."""


class ToolCallCollector:
    """The tool calls of a reply, collected from its chunks in order."""

    def __init__(self) -> None:
        self._calls: dict[str, list[str]] = {}
        """The name and the arguments of each call, by its id."""

    def add(self, chunk: Event) -> None:
        """Add a chunk, if it is part of a tool call."""
        if chunk.type not in ("tool_call_name", "tool_call_args"):
            return
        call = self._calls.setdefault(chunk.tool_call_id or "", ["", ""])
        position = 1 if chunk.type == "tool_call_args" else 0
        call[position] += chunk.chunk

    def finish(self) -> list[ToolCallText]:
        """Return the tool calls added so far."""
        calls = []
        for call_id, (name, arguments) in self._calls.items():
            calls.append(ToolCallText(call_id, name, arguments))
        return calls


class PartCollector(ToolCallCollector):
    """The texts, tool calls and items of a reply, collected from its chunks in order."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: dict[int, list[str | ReplyItem]] = {}
        """The chunks of each text, and items, by the number of tool calls before it."""

    def add_text(self, text: str) -> None:
        """Add a chunk of text."""
        self._texts.setdefault(len(self._calls), []).append(text)

    def add_item(self, item: ReplyItem) -> None:
        """Add an item."""
        self._texts.setdefault(len(self._calls), []).append(item)

    def finish_parts(self) -> list[str | ToolCallText | ReplyItem]:
        """Return the texts, the tool calls and the items; one empty text if there are none."""
        calls = self.finish()
        parts: list[str | ToolCallText | ReplyItem] = []
        for position in range(len(calls) + 1):
            parts += _join_texts(self._texts.get(position, ()))
            parts += calls[position : position + 1]
        return parts or [""]


def _join_texts(chunks: Iterable[str | ReplyItem]) -> Iterator[str | ReplyItem]:
    """Yield the texts between items, each from its chunks, and the items."""
    text = ""
    for chunk in chunks:
        if isinstance(chunk, str):
            text += chunk
            continue
        if text:
            yield text
        text = ""
        yield chunk
    if text:
        yield text


class CompleteReply(NamedTuple):
    """A reply for a response that is not streamed."""

    text: str
    reasoning: str
    tool_calls: list[ToolCallText]
    finish_reason: str
    """The finish reason in the terms of Chat Completions."""
    seconds: float
    """The sum of its waits."""
    parts: Sequence[Any]
    """The texts, the tool calls and the items in their order; one empty text if there are none."""
    refusal: str | None = None


def collect_reply(context: ResponseContext) -> CompleteReply:
    """Collect the chunks of a reply.

    Raises:
        Exception: the error of the reply.
    """
    # The common case, handled without a generator for speed.
    if context.is_text:
        content = context.answer.reply.content
        return CompleteReply(content, "", [], context.get_finish_reason(), 0.0, (content,))
    text, reasoning, seconds = [], [], 0.0
    collector = PartCollector()
    for chunk in context.read_chunks(stream=False):
        if isinstance(chunk, str):
            text.append(chunk)
            collector.add_text(chunk)
        elif isinstance(chunk, Wait):
            seconds += chunk
        elif chunk.type == "reasoning":
            reasoning.append(chunk.chunk)
        elif isinstance(chunk, ItemEvent):
            collector.add_item(chunk.item)
        elif chunk.type != "refusal":
            collector.add(chunk)
    return CompleteReply(
        "".join(text),
        "".join(reasoning),
        collector.finish(),
        context.get_finish_reason(),
        seconds,
        collector.finish_parts(),
        context.answer.reply.refusal,
    )


def _find_reply_tool(reply: Reply, request: HTTPRequest) -> str | None:
    """Return the tool whose arguments a structured reply is; None if the reply is text."""
    # Check UNSET first for speed: most replies are text, and this runs for each call.
    if reply.data is UNSET or reply.tool_calls:
        return None
    return request.find_data_tool(reply.data, reply.data_class)
