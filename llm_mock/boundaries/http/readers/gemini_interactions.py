"""Parser for responses of Google's Interactions API."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject

REASONS = {"incomplete": "length", "failed": "content_filter"}
"""The finish reasons of Chat Completions, by the status of an interaction."""


class InteractionReader(ResponseReader):
    """A parser for an interaction and for the events of a streamed one."""

    def __init__(self) -> None:
        super().__init__()
        self._call_id: str | None = None

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the steps."""
        if not isinstance(body, dict):
            return
        kind = body.get("event_type")
        if kind is None:
            self._update_metadata(body)
            for step in select_dicts(body.get("steps")):
                yield from self._find_step_slots(step, is_whole=True)
        elif kind == "step.start":
            yield from self._find_step_slots(get_nested_dict(body, "step"), is_whole=False)
        elif kind == "step.delta":
            yield from self._find_delta_slots(get_nested_dict(body, "delta"))
        elif kind in ("interaction.created", "interaction.completed"):
            self._update_metadata(get_nested_dict(body, "interaction"))
            self.has_ended = kind == "interaction.completed"

    def _find_step_slots(self, step: JSONObject, is_whole: bool) -> Iterator[TextSlot]:
        for content in select_dicts(step.get("content")):
            yield from _find_text(content, "text")
        for content in select_dicts(step.get("summary")):
            yield from _find_text(content, "reasoning")
        if step.get("type") == "function_call":
            self._call_id = step.get("id")
            yield TextSlot(step, "name", "tool_call_name", self._call_id)
            # In a stream the arguments follow.
            if is_whole:
                yield TextSlot(step, "arguments", "tool_call_args", self._call_id)

    def _find_delta_slots(self, delta: JSONObject) -> Iterator[TextSlot]:
        kind = delta.get("type")
        if kind == "text":
            yield from _find_text(delta, "text")
        elif kind == "thought_summary":
            yield from _find_text(get_nested_dict(delta, "content"), "reasoning")
        elif kind == "arguments_delta":
            yield TextSlot(delta, "arguments", "tool_call_args", self._call_id)

    def _update_metadata(self, interaction: JSONObject) -> None:
        self.model = interaction.get("model") or interaction.get("agent") or self.model
        usage = interaction.get("usage")
        self._update_usage(usage, "total_input_tokens", "total_output_tokens")
        self.finish_reason = REASONS.get(str(interaction.get("status")))


def _find_text(content: JSONObject, kind: str) -> Iterator[TextSlot]:
    if "text" in content:
        yield TextSlot(content, "text", kind)


READER = InteractionReader
