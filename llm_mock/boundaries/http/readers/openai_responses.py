"""Parser for responses of OpenAI's Responses API."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject

FINISH_REASONS = {"max_output_tokens": "length"}
FINAL_EVENTS = ("response.completed", "response.incomplete", "response.failed")
ITEM_EVENTS = ("response.output_item.added", "response.output_item.done")
CONTENT_EVENTS = ("response.content_part.added", "response.content_part.done")
SUMMARY_EVENTS = (
    "response.reasoning_summary_part.added",
    "response.reasoning_summary_part.done",
)
DELTAS = {
    "output_text": ("text", "content_index", "text"),
    "reasoning_text": ("reasoning", "content_index", "text"),
    "reasoning_summary_text": ("reasoning", "summary_index", "text"),
    "function_call_arguments": ("tool_call_args", None, "arguments"),
    "custom_tool_call_input": ("tool_call_args", None, "input"),
}
"""The event type, the index field and the field of the repeated whole, by the kind of delta."""
ARGUMENT_FIELDS = {"function_call": "arguments", "custom_tool_call": "input"}


class ResponsesReader(ResponseReader):
    """A parser for a `response` and for its stream events, which repeat each text several times."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the output items."""
        if not isinstance(body, dict):
            return
        kind = str(body.get("type") or "")
        index = body.get("output_index")
        if body.get("object") == "response":
            yield from self._find_response_slots(body)
        elif kind in FINAL_EVENTS:
            self.has_ended = True
            yield from self._find_response_slots(get_nested_dict(body, "response"))
        elif kind in ITEM_EVENTS:
            yield from self._find_item_slots(index, get_nested_dict(body, "item"))
        elif kind in CONTENT_EVENTS:
            part_id = (index, "content", body.get("content_index"))
            yield from self._find_part_slots(part_id, get_nested_dict(body, "part"))
        elif kind in SUMMARY_EVENTS:
            part_id = (index, "summary", body.get("summary_index"))
            yield from self._find_part_slots(part_id, get_nested_dict(body, "part"))
        else:
            yield from self._find_delta_slots(kind, index, body)

    def _find_delta_slots(self, kind: str, index: object, body: JSONObject) -> Iterator[TextSlot]:
        """Yield the slots of events such as `response.output_text.delta` and `….done`."""
        _, _, suffix = kind.partition(".")
        name, _, stage = suffix.partition(".")
        if name not in DELTAS or stage not in ("delta", "done"):
            return
        event_type, index_field, whole_field = DELTAS[name]
        # "content" or "summary", so that the id is the same as that of the part's own events.
        section = (index_field or "call").partition("_")[0]
        position = body.get(index_field) if index_field else 0
        part_id = (index, section, position)
        call_id = self._call_ids.get(index)
        if stage == "delta":
            yield TextSlot(body, "delta", event_type, call_id, part_id)
            return
        if isinstance(body.get("name"), str):
            yield _build_name_slot(body, index, call_id)
        yield TextSlot(
            body,
            whole_field,
            event_type,
            call_id,
            part_id,
            is_whole=True,
        )

    def _find_response_slots(self, response: JSONObject) -> Iterator[TextSlot]:
        self.model = response.get("model") or self.model
        self._update_usage(response.get("usage"), "input_tokens", "output_tokens")
        reason = get_nested_dict(response, "incomplete_details").get("reason")
        if reason:
            self.finish_reason = FINISH_REASONS.get(reason, reason)
        for index, item in enumerate(select_dicts(response.get("output"))):
            yield from self._find_item_slots(index, item)

    def _find_item_slots(self, index: object, item: JSONObject) -> Iterator[TextSlot]:
        kind = item.get("type")
        if kind in ARGUMENT_FIELDS:
            # Deltas of the call contain only the index of its item.
            call_id = item.get("call_id")
            self._call_ids[index] = call_id
            yield _build_name_slot(item, index, call_id)
            yield TextSlot(
                item,
                ARGUMENT_FIELDS[kind],
                "tool_call_args",
                call_id,
                part=(index, "call", 0),
                is_whole=True,
            )
        elif kind in ("message", "reasoning"):
            for section in ("summary", "content"):
                for position, part in enumerate(select_dicts(item.get(section))):
                    yield from self._find_part_slots((index, section, position), part)

    def _find_part_slots(self, part_id: tuple[object, ...], part: JSONObject) -> Iterator[TextSlot]:
        kind = part.get("type")
        if kind == "output_text":
            yield TextSlot(part, "text", "text", part=part_id, is_whole=True)
        elif kind in ("reasoning_text", "summary_text"):
            # Both are stored as reasoning, as `llm` does not distinguish them.
            yield TextSlot(part, "text", "reasoning", part=part_id, is_whole=True)


def _build_name_slot(container: JSONObject, index: object, call_id: str | None) -> TextSlot:
    return TextSlot(
        container,
        "name",
        "tool_call_name",
        call_id,
        part=(index, "name", 0),
        is_whole=True,
    )


READER = ResponsesReader
