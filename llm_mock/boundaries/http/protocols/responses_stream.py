"""The stream events of OpenAI's Responses API."""

from __future__ import annotations

import itertools
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
from llm_mock.boundaries.http.wire import server_sent_event
from llm_mock.core.events import Event, Wait
from llm_mock.support.json_types import JSONObject

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
        self._numbers = itertools.count()
        """The numbers of the events."""
        self._output: list[JSONObject] = []
        """The closed items."""
        self._open_item: tuple[str, str] | None = None
        """The type of the open item, and the id of its tool call."""
        self._position: JSONObject = {}
        """The fields that say where in the response the open item is."""
        # The name is part of an item's final event, long after the chunk that has it.
        self._tool_name = ""
        self._text = ""
        """The text or the arguments of the open item so far."""

    def build_events(self) -> Iterator[bytes | Wait]:
        """Yield the events, and the waits between them."""
        context = self._context
        response = build_response(context, "in_progress", [])
        yield self._encode("response.created", {"response": response})
        yield self._encode("response.in_progress", {"response": response})
        for chunk in context.read_chunks(stream=True):
            if isinstance(chunk, Wait):
                yield chunk
            else:
                yield from self._add_chunk(chunk)
        if self._open_item is None and not self._output:
            # An empty reply has one empty message, as it has when it is not streamed.
            yield from self._open("message", "")
        yield from self._close()
        final = finish_response(context, self._output, context.get_finish_reason())
        yield self._encode(f"response.{final['status']}", {"response": final})

    def _encode(self, kind: str, fields: JSONObject) -> bytes:
        """Encode an event under the next number."""
        data = {"type": kind, "sequence_number": next(self._numbers), **fields}
        return server_sent_event(data, kind)

    def _add_chunk(self, chunk: str | Event) -> list[bytes]:
        if isinstance(chunk, str):
            return self._add_text("message", "", chunk)
        if chunk.type == "reasoning":
            return self._add_text("reasoning", "", chunk.chunk)
        if chunk.type == "tool_call_name":
            self._tool_name = chunk.chunk
            return self._add_text("function_call", chunk.tool_call_id or "", "")
        if chunk.type == "tool_call_args":
            return self._add_text("function_call", chunk.tool_call_id or "", chunk.chunk)
        return []

    def _add_text(self, kind: str, call_id: str, text: str) -> list[bytes]:
        """Add a text to the item of a type and a call, which is opened first if need be."""
        events = []
        # Chunks of several calls may alternate; each change starts a new item.
        if self._open_item != (kind, call_id):
            events += self._close()
            events += self._open(kind, call_id)
        if text:
            self._text += text
            fields = {**self._position, "delta": text}
            if kind == "message":
                fields["logprobs"] = []
            events.append(self._encode(f"response.{DELTA_NAMES[kind]}.delta", fields))
        return events

    def _open(self, kind: str, call_id: str) -> list[bytes]:
        self._open_item = (kind, call_id)
        self._text = ""
        if kind == "message":
            item = build_empty_message_item(self._context)
        else:
            item = self._build_item(kind, call_id, "in_progress")
        index = len(self._output)
        self._position = {"item_id": item["id"], "output_index": index}
        added = self._encode("response.output_item.added", {"output_index": index, "item": item})
        # A tool call has no parts, and therefore no index of one.
        if kind == "function_call":
            return [added]
        self._position["content_index" if kind == "message" else "summary_index"] = 0
        return [added, self._encode_part("added", kind)]

    def _close(self) -> list[bytes]:
        if self._open_item is None:
            return []
        kind, call_id = self._open_item
        item = self._build_item(kind, call_id, "completed")
        fields = {**self._position}
        if kind == "function_call":
            fields |= {"name": self._tool_name, "arguments": self._text}
        else:
            fields["text"] = self._text
        if kind == "message":
            fields["logprobs"] = []
        events = [self._encode(f"response.{DELTA_NAMES[kind]}.done", fields)]
        if kind != "function_call":
            events.append(self._encode_part("done", kind))
        done = {"output_index": len(self._output), "item": item}
        events.append(self._encode("response.output_item.done", done))
        self._output.append(item)
        self._open_item = None
        return events

    def _build_item(self, kind: str, call_id: str, status: str) -> JSONObject:
        """Return the open item with its text so far."""
        if kind == "message":
            return build_message_item(self._context, self._text)
        if kind == "reasoning":
            return build_reasoning_item(self._context, self._text)
        call = ToolCallText(call_id, self._tool_name, self._text)
        return build_function_call_item(call, status)

    def _encode_part(self, stage: str, kind: str) -> bytes:
        """Encode the event that the part of the open item is `added` or `done`."""
        if kind == "message":
            name = f"response.content_part.{stage}"
            part = {"type": "output_text", "text": self._text, "annotations": [], "logprobs": []}
        else:
            name = f"response.reasoning_summary_part.{stage}"
            part = {"type": "summary_text", "text": self._text}
        return self._encode(name, {**self._position, "part": part})
