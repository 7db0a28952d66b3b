"""The stream events of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.chunks import ResponseContext, ToolCallText
from llm_mock.boundaries.http.protocols.responses_items import (
    build_empty_message_item,
    build_function_call_item,
    build_message_item,
    build_reasoning_item,
    build_response,
    finish_response,
)
from llm_mock.core.events import Event, Wait
from llm_mock.support.json_types import JSONObject

Fields = JSONObject
DELTA_NAMES = {
    "message": "output_text",
    "reasoning": "reasoning_summary_text",
    "function_call": "function_call_arguments",
}
"""The name of a delta event, by the type of its item."""


class ResponsesStream:
    """A streamed response, whose items are opened, filled and closed one after the other.

    Args:
        context: the call and its reply.
    """

    def __init__(self, context: ResponseContext) -> None:
        self._context = context
        self._output: list[JSONObject] = []
        """The closed items."""
        self._open_item: tuple[str, str] | None = None
        """The type of the open item, and the id of its tool call."""
        # The name is part of an item's final event, long after the chunk that has it.
        self._tool_name = ""
        self._text = ""
        """The text or the arguments of the open item so far."""

    def build_events(self) -> Iterator[tuple[str, Fields] | Wait]:
        """Yield the type and the fields of each event, and the waits between them."""
        response = build_response(self._context, "in_progress", [])
        yield "response.created", {"response": response}
        yield "response.in_progress", {"response": response}
        for chunk in self._context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            else:
                yield from self._add_chunk(chunk)
        if self._open_item is None and not self._output:
            # An empty reply has one empty message, as it has when it is not streamed.
            yield from self._open("message", "")
        yield from self._close()
        final = finish_response(self._context, self._output, self._context.get_finish_reason())
        yield f"response.{final['status']}", {"response": final}

    def _add_chunk(self, chunk: str | Event) -> Iterator[tuple[str, Fields]]:
        if isinstance(chunk, str):
            yield from self._add_text("message", "", chunk)
        elif chunk.type == "reasoning":
            yield from self._add_text("reasoning", "", chunk.chunk)
        elif chunk.type == "tool_call_name":
            self._tool_name = chunk.chunk
            yield from self._add_text("function_call", chunk.tool_call_id or "", "")
        elif chunk.type == "tool_call_args":
            yield from self._add_text("function_call", chunk.tool_call_id or "", chunk.chunk)

    def _add_text(self, kind: str, call_id: str, text: str) -> Iterator[tuple[str, Fields]]:
        """Add a text to the item of a type and a call, which is opened first if need be."""
        # Chunks of several calls may alternate; each change starts a new item.
        if self._open_item != (kind, call_id):
            yield from self._close()
            yield from self._open(kind, call_id)
        if not text:
            return
        self._text += text
        fields = {**self._get_position(), "delta": text}
        if kind == "message":
            fields["logprobs"] = []
        yield f"response.{DELTA_NAMES[kind]}.delta", fields

    def _open(self, kind: str, call_id: str) -> Iterator[tuple[str, Fields]]:
        self._open_item = (kind, call_id)
        self._text = ""
        if kind == "message":
            item = build_empty_message_item(self._context)
        else:
            item = self._build_item("in_progress")
        fields = {"output_index": len(self._output), "item": item}
        yield "response.output_item.added", fields
        if kind != "function_call":
            yield self._build_part_event("added")

    def _close(self) -> Iterator[tuple[str, Fields]]:
        if self._open_item is None:
            return
        kind = self._open_item[0]
        item = self._build_item("completed")
        fields = self._get_position()
        if kind == "function_call":
            fields |= {"name": self._tool_name, "arguments": self._text}
        else:
            fields["text"] = self._text
        if kind == "message":
            fields["logprobs"] = []
        yield f"response.{DELTA_NAMES[kind]}.done", fields
        if kind != "function_call":
            yield self._build_part_event("done")
        yield "response.output_item.done", {"output_index": len(self._output), "item": item}
        self._output.append(item)
        self._open_item = None

    def _build_item(self, status: str) -> JSONObject:
        """Return the open item with its text so far."""
        kind, call_id = self._open_item or ("message", "")
        if kind == "message":
            return build_message_item(self._context, self._text)
        if kind == "reasoning":
            return build_reasoning_item(self._context, self._text)
        call = ToolCallText(call_id, self._tool_name, self._text)
        return build_function_call_item(call, status)

    def _get_position(self) -> Fields:
        """Return the fields that say where in the response the open item is."""
        kind = self._open_item[0] if self._open_item else "message"
        item_id = self._build_item("in_progress")["id"]
        position = {"item_id": item_id, "output_index": len(self._output)}
        # A tool call has no parts, and therefore no index of one.
        if kind == "message":
            position["content_index"] = 0
        elif kind == "reasoning":
            position["summary_index"] = 0
        return position

    def _build_part_event(self, stage: str) -> tuple[str, Fields]:
        """Return the event that a part of the open item is `added` or `done`."""
        if self._open_item and self._open_item[0] == "message":
            part = {"type": "output_text", "text": self._text, "annotations": [], "logprobs": []}
            return f"response.content_part.{stage}", {**self._get_position(), "part": part}
        summary = {"type": "summary_text", "text": self._text}
        return f"response.reasoning_summary_part.{stage}", {**self._get_position(), "part": summary}
