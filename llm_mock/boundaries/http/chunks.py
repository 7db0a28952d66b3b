"""What an answer is made of on the wire: its events, with a structured one where the SDK looks for it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from llm_mock.boundaries.http.request import HTTPRequest, Tool
from llm_mock.core.answer import Answer
from llm_mock.core.events import Event, MadeToolCall, Wait
from llm_mock.core.reply import UNSET, Reply


class ResponseContext:
    """A call and its answer, for a protocol to write down.

    Args:
        request: what was asked.
        answer: what is answered.
    """

    def __init__(self, request: HTTPRequest, answer: Answer) -> None:
        self.request = request
        self.answer = answer
        self.number = answer.record["number"]
        self.model = answer.reply.resolved_model or request.model_id
        self.created = int(time.time())
        self.recorded_reason: str | None = None
        """Why a recorded answer ended, where a cassette knows that."""
        self.called: list[str] = []
        """The names of the tools that the answer has called so far."""

    def finish_reason(self) -> str:
        """Why the answer ends, in the words of Chat Completions; noted in the record of the call."""
        reply = self.answer.reply
        calls = self.called or (reply.is_recorded and reply.tool_calls)
        otherwise = self.recorded_reason or ("tool_calls" if calls else "stop")
        reason = self.answer.record["finish_reason"] = reply.finish_reason or otherwise
        return reason

    @property
    def is_text(self) -> bool:
        """Whether the answer is nothing but text, which comes at once."""
        answer = self.answer
        return answer.waits is None and answer.reply.is_text and _tool_for(answer.reply, self.request) is None

    @property
    def input_tokens(self) -> int:
        """The tokens of what was asked."""
        return self.answer.record["input_tokens"] or 0

    @property
    def output_tokens(self) -> int:
        """The tokens of the answer."""
        return self.answer.record["output_tokens"] or 0

    def chunks(self, stream: bool) -> Iterator[str | Event | Wait]:
        """The answer: text as `str`, `Event`s (`reasoning`, `tool_call_name`, `tool_call_args`), and waits.

        Args:
            stream: whether the text comes in pieces.

        Raises:
            Exception: the error of the reply, where it comes.
        """
        tool = _tool_for(self.answer.reply, self.request)
        if tool is not None:
            if self.answer.waits:
                yield Wait(sum(self.answer.waits))
            self.called.append(tool)
            call_id = f"call_{self.number}_1"
            yield Event("tool_call_name", tool, tool_call_id=call_id)
            yield Event("tool_call_args", self.answer.reply.content, tool_call_id=call_id)
            return
        came: set[str | None] = set()
        for event in self.answer.events(stream):
            if isinstance(event, MadeToolCall):
                if event.tool_call_id not in came:  # else its events came before it
                    self.called.append(event.name)
                    yield Event("tool_call_name", event.name, tool_call_id=event.tool_call_id)
                    arguments = json.dumps(event.arguments, ensure_ascii=False)
                    yield Event("tool_call_args", arguments, tool_call_id=event.tool_call_id)
                continue
            if getattr(event, "type", None) == "text":
                yield event.chunk
                continue
            if getattr(event, "type", None) == "tool_call_name":
                self.called.append(event.chunk)
                came.add(event.tool_call_id)
            yield event


class ToolCallText(NamedTuple):
    """A tool call of an answer that is not streamed."""

    id: str
    name: str
    arguments: str
    """Its arguments in JSON; of a broken call another text."""


class ToolCallCollector:
    """The tool calls of an answer, gathered from its pieces, in order."""

    def __init__(self) -> None:
        self._calls: dict[str, list[str]] = {}

    def add(self, piece: Event) -> None:
        """Add a piece; one that is of no tool call adds nothing."""
        if piece.type in ("tool_call_name", "tool_call_args"):
            name_and_arguments = self._calls.setdefault(piece.tool_call_id or "", ["", ""])
            name_and_arguments[piece.type == "tool_call_args"] += piece.chunk

    def finish(self) -> list[ToolCallText]:
        """The calls, as far as they came."""
        return [ToolCallText(call_id, name, arguments) for call_id, (name, arguments) in self._calls.items()]


class CompleteReply(NamedTuple):
    """An answer that is not streamed."""

    text: str
    reasoning: str
    tool_calls: list[ToolCallText]
    seconds: float
    """How long it takes."""


def collect_reply(context: ResponseContext) -> CompleteReply:
    """The answer in one piece.

    Raises:
        Exception: the error of the reply.
    """
    if context.is_text:
        return CompleteReply(context.answer.reply.content, "", [], 0.0)
    text, reasoning, seconds = [], [], 0.0
    calls = ToolCallCollector()
    for piece in context.chunks(stream=False):
        if isinstance(piece, str):
            text.append(piece)
        elif isinstance(piece, Wait):
            seconds += piece
        elif piece.type == "reasoning":
            reasoning.append(piece.chunk)
        else:
            calls.add(piece)
    return CompleteReply("".join(text), "".join(reasoning), calls.finish(), seconds)


def _tool_for(reply: Reply, request: HTTPRequest) -> str | None:
    """The tool whose arguments a structured reply is meant to be; None where it is the text of the answer.

    A tool that must be called; else, where no schema is asked for and the tool's result is not there yet, one that is
    named or made for structured answers: its properties are those of the reply.
    """
    if reply.data is UNSET or not isinstance(reply.data, dict) or reply.tool_calls or not request.tools:
        return None
    if any(tool.name == request.tool_choice for tool in request.tools):
        return request.tool_choice
    if request.schema or request.tool_choice == "none":
        return None
    answered = {result.name for result in request.tool_results}
    open_tools = [tool for tool in request.tools if tool.name not in answered]
    return next((tool.name for tool in open_tools if _is_made_for(tool, reply.data)), None)


def _is_made_for(tool: Tool, data: dict[str, Any]) -> bool:
    properties = (tool.input_schema or {}).get("properties")
    if not properties or not isinstance(properties, dict):
        return False
    required = set((tool.input_schema or {}).get("required") or ())
    return bool(data) and data.keys() <= properties.keys() and required <= data.keys()
