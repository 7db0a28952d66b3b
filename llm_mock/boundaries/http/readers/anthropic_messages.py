"""Parser for responses of Anthropic's Messages API."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC
from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject

TEXT_FIELDS = {"text": ("text", "text"), "thinking": ("thinking", "reasoning")}
"""The text field and the event type of each type of content block."""
DELTA_FIELDS = {
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "reasoning"),
    "input_json_delta": ("partial_json", "tool_call_args"),
}
"""The text field and the event type of each type of delta."""


class MessagesReader(ResponseReader):
    """A parser for a `message` and for the events of a streamed one."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the content blocks."""
        if not isinstance(body, dict):
            return
        kind = body.get("type")
        if kind == "message":
            yield from self._find_message_slots(body)
        elif kind == "message_start":
            message = get_nested_dict(body, "message")
            yield from self._find_message_slots(message)
        elif kind == "content_block_start":
            block = get_nested_dict(body, "content_block")
            is_tool_call = block.get("type") == "tool_use"
            call_id = block.get("id") if is_tool_call else None
            self._call_ids[body.get("index")] = call_id
            yield from self._find_block_slots(block)
        elif kind == "content_block_delta":
            yield from self._find_delta_slots(body)
        elif kind == "message_delta":
            delta = get_nested_dict(body, "delta")
            # The usage stands beside the delta.
            self._update_metadata(body, delta.get("stop_reason"))
        elif kind in ("message_stop", "error"):
            self.has_ended = True

    def _find_message_slots(self, message: JSONObject) -> Iterator[TextSlot]:
        self._update_metadata(message, message.get("stop_reason"))
        for block in select_dicts(message.get("content")):
            yield from self._find_block_slots(block)

    def _find_delta_slots(self, body: JSONObject) -> Iterator[TextSlot]:
        delta = get_nested_dict(body, "delta")
        kind = str(delta.get("type"))
        field, event_type = DELTA_FIELDS.get(kind, ("", ""))
        call_id = self._call_ids.get(body.get("index"))
        # Arguments without an id belong to a tool that Anthropic runs itself, such as web search.
        if event_type and (call_id or event_type != "tool_call_args"):
            yield TextSlot(delta, field, event_type, call_id)

    def _update_metadata(self, message: JSONObject, reason: str | None) -> None:
        self.model = message.get("model") or self.model
        self._update_usage(message.get("usage"), "input_tokens", "output_tokens")
        # The end at a stop sequence is a normal end, too.
        if reason and reason != "stop_sequence":
            self.finish_reason = ANTHROPIC.parse_finish_reason(reason)

    def _find_block_slots(self, block: JSONObject) -> Iterator[TextSlot]:
        kind = block.get("type")
        if kind == "tool_use":
            call_id = block.get("id")
            yield TextSlot(block, "name", "tool_call_name", call_id)
            yield TextSlot(block, "input", "tool_call_args", call_id)
        elif kind in TEXT_FIELDS:
            field, event_type = TEXT_FIELDS[kind]
            yield TextSlot(block, field, event_type)


READER = MessagesReader
