"""Parser for responses of Bedrock's Converse and ConverseStream."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.providers.bedrock import BEDROCK
from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject


class ConverseReader(ResponseReader):
    """A parser for a response and for the events of a streamed one."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the content blocks."""
        if not isinstance(body, dict):
            return
        if "output" in body:
            self._update_metadata(body)
            content = get_nested_dict(body, "output", "message").get("content")
            for block in select_dicts(content):
                yield from self._find_block_slots(block)
        elif "contentBlockStart" in body:
            event = get_nested_dict(body, "contentBlockStart")
            use = get_nested_dict(event, "start", "toolUse")
            call_id = use.get("toolUseId")
            self._call_ids[event.get("contentBlockIndex")] = call_id
            if use:
                yield TextSlot(use, "name", "tool_call_name", call_id)
        elif "contentBlockDelta" in body:
            yield from self._find_delta_slots(get_nested_dict(body, "contentBlockDelta"))
        elif "messageStop" in body:
            self._update_metadata(get_nested_dict(body, "messageStop"))
        elif "metadata" in body:
            self._update_metadata(get_nested_dict(body, "metadata"))
            self.has_ended = True

    def _find_delta_slots(self, event: JSONObject) -> Iterator[TextSlot]:
        delta = get_nested_dict(event, "delta")
        if "text" in delta:
            yield TextSlot(delta, "text", "text")
        thought = get_nested_dict(delta, "reasoningContent")
        if "text" in thought:
            yield TextSlot(thought, "text", "reasoning")
        use = get_nested_dict(delta, "toolUse")
        if use:
            call_id = self._call_ids.get(event.get("contentBlockIndex"))
            yield TextSlot(use, "input", "tool_call_args", call_id)

    def _find_block_slots(self, block: JSONObject) -> Iterator[TextSlot]:
        if "text" in block:
            yield TextSlot(block, "text", "text")
        thought = get_nested_dict(block, "reasoningContent", "reasoningText")
        if thought:
            yield TextSlot(thought, "text", "reasoning")
        use = get_nested_dict(block, "toolUse")
        if use:
            call_id = use.get("toolUseId")
            yield TextSlot(use, "name", "tool_call_name", call_id)
            yield TextSlot(use, "input", "tool_call_args", call_id)

    def _update_metadata(self, fields: JSONObject) -> None:
        self._update_usage(fields.get("usage"), "inputTokens", "outputTokens")
        reason = fields.get("stopReason")
        # The end at a stop sequence is a normal end, too.
        if reason and reason != "stop_sequence":
            self.finish_reason = BEDROCK.parse_finish_reason(reason)


READER = ConverseReader
