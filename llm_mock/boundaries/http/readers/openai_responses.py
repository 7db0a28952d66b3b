"""Answers of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot, nested_dict, only_dicts

FINISH_REASONS = {"max_output_tokens": "length"}
ENDS = ("response.completed", "response.incomplete", "response.failed")
DELTAS = {
    "output_text": ("text", "content_index", "text"),
    "reasoning_text": ("reasoning", "content_index", "text"),
    "reasoning_summary_text": ("reasoning", "summary_index", "text"),
    "function_call_arguments": ("tool_call_args", None, "arguments"),
    "custom_tool_call_input": ("tool_call_args", None, "input"),
}
"""What pieces come of what, where in their item, and under which name they come again as a whole."""
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesReader(ResponseReader):
    """Reads a `response` and the events that stream one, which say each text several times."""

    def __init__(self) -> None:
        super().__init__()
        self._call_ids: dict[Any, str | None] = {}

    def find_slots(self, body: Any) -> Iterator[TextSlot]:
        """The texts of its items."""
        if not isinstance(body, dict):
            return
        kind, index = str(body.get("type") or ""), body.get("output_index")
        if body.get("object") == "response":
            yield from self._response(body)
        elif kind in ENDS:
            self.has_ended = True
            yield from self._response(nested_dict(body, "response"))
        elif kind in ("response.output_item.added", "response.output_item.done"):
            yield from self._item(index, nested_dict(body, "item"))
        elif kind in ("response.content_part.added", "response.content_part.done"):
            yield from self._part((index, "content", body.get("content_index")), nested_dict(body, "part"))
        elif kind in ("response.reasoning_summary_part.added", "response.reasoning_summary_part.done"):
            yield from self._part((index, "summary", body.get("summary_index")), nested_dict(body, "part"))
        else:
            yield from self._piece(kind, index, body)

    def _piece(self, kind: str, index: Any, body: dict[str, Any]) -> Iterator[TextSlot]:
        _, _, named = kind.partition(".")
        name, _, what = named.partition(".")
        if name not in DELTAS or what not in ("delta", "done"):
            return
        event, position, whole = DELTAS[name]
        where = (position or "call").partition("_")[0]
        part = (index, where, body.get(position) if position else 0)
        call_id = self._call_ids.get(index)
        if what == "delta":
            yield TextSlot(body, "delta", event, call_id, part)
            return
        if isinstance(body.get("name"), str):
            yield TextSlot(body, "name", "tool_call_name", call_id, (index, "name", 0), True)
        yield TextSlot(body, whole, event, call_id, part, True)

    def _response(self, response: dict[str, Any]) -> Iterator[TextSlot]:
        self.model = response.get("model") or self.model
        self._count(response.get("usage"), "input_tokens", "output_tokens")
        if reason := nested_dict(response, "incomplete_details").get("reason"):
            self.finish_reason = FINISH_REASONS.get(reason, reason)
        for index, item in enumerate(only_dicts(response.get("output"))):
            yield from self._item(index, item)

    def _item(self, index: Any, item: dict[str, Any]) -> Iterator[TextSlot]:
        kind = item.get("type")
        if kind in CALLS:
            call_id = self._call_ids[index] = item.get("call_id")
            yield TextSlot(item, "name", "tool_call_name", call_id, (index, "name", 0), True)
            yield TextSlot(item, CALLS[kind], "tool_call_args", call_id, (index, "call", 0), True)
        elif kind in ("message", "reasoning"):
            for name in ("summary", "content"):
                for position, part in enumerate(only_dicts(item.get(name))):
                    yield from self._part((index, name, position), part)

    def _part(self, part: tuple[Any, ...], content: dict[str, Any]) -> Iterator[TextSlot]:
        kind = content.get("type")
        if kind in ("output_text", "reasoning_text", "summary_text"):
            yield TextSlot(content, "text", "text" if kind == "output_text" else "reasoning", None, part, True)


READER = ResponsesReader
