"""Parser for responses of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.providers.google import GOOGLE
from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject


class GeminiReader(ResponseReader):
    """A parser for the first candidate of a `GenerateContentResponse`, whole or as an event."""

    def __init__(self) -> None:
        super().__init__()
        self._call_count = 0

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the first candidate."""
        # A stream without `alt=sse` is one JSON list of responses.
        responses = body if isinstance(body, list) else [body]
        for response in select_dicts(responses):
            self.model = response.get("modelVersion") or self.model
            self._read_usage(response.get("usageMetadata"))
            if get_nested_dict(response, "promptFeedback").get("blockReason"):
                # There are no candidates then.
                self.finish_reason = "prompt_blocked"
                self.has_ended = True
            for candidate in select_dicts(response.get("candidates"))[:1]:
                yield from self._find_candidate_slots(candidate)

    def _read_usage(self, usage: object) -> None:
        """Read the token counts; Google counts thoughts and results of its tools separately."""
        if not isinstance(usage, dict):
            return
        self._update_usage(usage, "promptTokenCount", "candidatesTokenCount")
        if "promptTokenCount" in usage:
            self.usage["input"] = _sum_counts(usage, "promptTokenCount", "toolUsePromptTokenCount")
        if "candidatesTokenCount" in usage or "thoughtsTokenCount" in usage:
            self.usage["output"] = _sum_counts(usage, "candidatesTokenCount", "thoughtsTokenCount")

    def _find_candidate_slots(self, candidate: JSONObject) -> Iterator[TextSlot]:
        reason = candidate.get("finishReason")
        if reason:
            self.finish_reason = GOOGLE.parse_finish_reason(reason)
            self.has_ended = True
        content = get_nested_dict(candidate, "content")
        for part in select_dicts(content.get("parts")):
            if isinstance(part.get("text"), str):
                event_type = "reasoning" if part.get("thought") else "text"
                yield TextSlot(part, "text", event_type)
                continue
            call = get_nested_dict(part, "functionCall")
            if call:
                self._call_count += 1
                # Not every version of the API sends an id.
                call_id = call.get("id") or f"call_{self._call_count}"
                yield TextSlot(call, "name", "tool_call_name", call_id)
                yield TextSlot(call, "args", "tool_call_args", call_id)


def _sum_counts(usage: JSONObject, *names: str) -> int:
    counts = [usage.get(name) for name in names]
    return sum(count for count in counts if isinstance(count, int))


READER = GeminiReader
