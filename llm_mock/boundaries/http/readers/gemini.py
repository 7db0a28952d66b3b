"""Answers of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot, nested_dict, only_dicts

FINISH_REASONS = {"STOP": None, "MAX_TOKENS": "length", "SAFETY": "content_filter"}


class GeminiReader(ResponseReader):
    """Reads a `GenerateContentResponse`, which each event of a stream is too; of several candidates the first."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def find_slots(self, body: Any) -> Iterator[TextSlot]:
        """The texts of the first candidate. A stream without events is a list."""
        for response in only_dicts(body) if isinstance(body, list) else only_dicts([body]):
            self.model = response.get("modelVersion") or self.model
            self._count(response.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount")
            for candidate in only_dicts(response.get("candidates"))[:1]:
                if reason := candidate.get("finishReason"):
                    self.finish_reason = FINISH_REASONS.get(reason, reason)
                    self.has_ended = True
                for part in only_dicts(nested_dict(candidate, "content").get("parts")):
                    yield from self._part(part)

    def _part(self, part: dict[str, Any]) -> Iterator[TextSlot]:
        if isinstance(part.get("text"), str):
            yield TextSlot(part, "text", "reasoning" if part.get("thought") else "text")
        elif call := nested_dict(part, "functionCall"):
            self._calls += 1
            call_id = call.get("id") or f"call_{self._calls}"
            yield TextSlot(call, "name", "tool_call_name", call_id)
            yield TextSlot(call, "args", "tool_call_args", call_id)


READER = GeminiReader
