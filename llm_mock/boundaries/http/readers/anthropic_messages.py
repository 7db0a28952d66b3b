"""Answers of Anthropic's Messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot, nested_dict, only_dicts

FINISH_REASONS = {"max_tokens": "length", "refusal": "content_filter"}
USUAL = ("end_turn", "stop_sequence", "tool_use")
TEXTS = {"text": ("text", "text"), "thinking": ("thinking", "reasoning")}
"""The field of a content block that has its text, and what that is."""
DELTAS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool_call_args"),
}


class MessagesReader(ResponseReader):
    """Reads `message` and the events that stream one."""

    def __init__(self) -> None:
        super().__init__()
        self._call_ids: dict[Any, str | None] = {}

    def find_slots(self, body: Any) -> Iterator[TextSlot]:
        """The texts of its content blocks."""
        if not isinstance(body, dict):
            return
        kind, index = body.get("type"), body.get("index")
        if kind in ("message", "message_start"):
            message = body if kind == "message" else nested_dict(body, "message")
            self._head(message, message.get("stop_reason"))
            for block in only_dicts(message.get("content")):
                yield from self._block(block)
        elif kind == "content_block_start":
            block = nested_dict(body, "content_block")
            self._call_ids[index] = block.get("id") if block.get("type") == "tool_use" else None
            yield from self._block(block)
        elif kind == "content_block_delta":
            delta = nested_dict(body, "delta")
            name, event = DELTAS.get(str(delta.get("type")), ("", ""))
            call_id = self._call_ids.get(index)
            if event and (call_id or event != "tool_call_args"):  # others are calls of the provider's own tools
                yield TextSlot(delta, name, event, call_id)
        elif kind == "message_delta":
            self._head(body, nested_dict(body, "delta").get("stop_reason"))
        elif kind in ("message_stop", "error"):
            self.has_ended = True

    def _head(self, message: dict[str, Any], reason: Any) -> None:
        self.model = message.get("model") or self.model
        self._count(message.get("usage"), "input_tokens", "output_tokens")
        if reason and reason not in USUAL:
            self.finish_reason = FINISH_REASONS.get(reason, reason)

    def _block(self, block: dict[str, Any]) -> Iterator[TextSlot]:
        if block.get("type") == "tool_use":
            yield TextSlot(block, "name", "tool_call_name", block.get("id"))
            yield TextSlot(block, "input", "tool_call_args", block.get("id"))
        elif block.get("type") in TEXTS:
            yield TextSlot(block, *TEXTS[block["type"]])


READER = MessagesReader
