"""The events of a streamed response of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.chunks import ResponseContext, ToolCallText
from llm_mock.boundaries.http.protocols.responses_items import (
    empty_message_item,
    finish_response,
    function_call_item,
    message_item,
    reasoning_item,
    response_body,
)
from llm_mock.core.events import Event, Wait

Fields = dict[str, Any]
DELTAS = {
    "message": "output_text",
    "reasoning": "reasoning_summary_text",
    "function_call": "function_call_arguments",
}
"""What a piece of each kind of item is called."""


class ResponsesStream:
    """One streamed response: an item after the other, each opened, filled and closed.

    Args:
        context: the call and its answer.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._output: list[dict[str, Any]] = []
        self._open: tuple[str, str] | None = None
        """What kind of item is open, and of which tool call."""
        self._name = self._text = ""

    def events(self) -> Iterator[tuple[str, Fields] | Wait]:
        """The events: their types and their fields; and waits."""
        begun = response_body(self._context, "in_progress", [])
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for piece in self._context.chunks(stream=True):
            if isinstance(piece, Wait):
                yield piece
            else:
                yield from self._take(piece)
        if self._open is None and not self._output:
            yield from self._begin("message", "")
        yield from self._end()
        ended = finish_response(self._context, self._output)
        yield f"response.{ended['status']}", {"response": ended}

    def _take(self, piece: str | Event) -> Iterator[tuple[str, Fields]]:
        if isinstance(piece, str):
            yield from self._add("message", "", piece)
        elif piece.type == "reasoning":
            yield from self._add("reasoning", "", piece.chunk)
        elif piece.type == "tool_call_name":
            self._name = piece.chunk
            yield from self._add("function_call", piece.tool_call_id or "", "")
        elif piece.type == "tool_call_args":
            yield from self._add("function_call", piece.tool_call_id or "", piece.chunk)

    def _add(self, kind: str, call_id: str, text: str) -> Iterator[tuple[str, Fields]]:
        if self._open != (kind, call_id):
            yield from self._end()
            yield from self._begin(kind, call_id)
        if text:
            self._text += text
            name = {"message": "output_text", "reasoning": "reasoning_summary_text"}.get(
                kind, "function_call_arguments"
            )
            more: Fields = {"logprobs": []} if kind == "message" else {}
            yield f"response.{name}.delta", {**self._place(), "delta": text, **more}

    def _begin(self, kind: str, call_id: str) -> Iterator[tuple[str, Fields]]:
        self._open, self._text = (kind, call_id), ""
        item = empty_message_item(self._context) if kind == "message" else self._item("in_progress")
        yield "response.output_item.added", {"output_index": len(self._output), "item": item}
        if kind != "function_call":
            yield self._part("added")

    def _end(self) -> Iterator[tuple[str, Fields]]:
        if self._open is None:
            return
        kind, item, place = self._open[0], self._item("completed"), self._place()
        if kind == "message":
            yield "response.output_text.done", {**place, "text": self._text, "logprobs": []}
        elif kind == "reasoning":
            yield "response.reasoning_summary_text.done", {**place, "text": self._text}
        else:
            yield "response.function_call_arguments.done", {**place, "name": self._name, "arguments": self._text}
        if kind != "function_call":
            yield self._part("done")
        yield "response.output_item.done", {"output_index": len(self._output), "item": item}
        self._output.append(item)
        self._open = None

    def _item(self, status: str) -> dict[str, Any]:
        """The item that is open, as far as it came."""
        kind, call_id = self._open or ("message", "")
        if kind == "message":
            return message_item(self._context, self._text)
        if kind == "reasoning":
            return reasoning_item(self._context, self._text)
        return function_call_item(ToolCallText(call_id, self._name, self._text), status)

    def _place(self) -> Fields:
        """Where in the response the open item stands."""
        kind = self._open[0] if self._open else "message"
        place = {"item_id": self._item("in_progress")["id"], "output_index": len(self._output)}
        part = {"message": {"content_index": 0}, "reasoning": {"summary_index": 0}}
        return {**place, **part.get(kind, {})}

    def _part(self, what: str) -> tuple[str, Fields]:
        if self._open and self._open[0] == "message":
            part = {"type": "output_text", "text": self._text, "annotations": [], "logprobs": []}
            return f"response.content_part.{what}", {**self._place(), "part": part}
        summary = {"type": "summary_text", "text": self._text}
        return f"response.reasoning_summary_part.{what}", {**self._place(), "part": summary}
