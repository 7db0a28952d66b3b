"""Answers of Google's Gemini API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import Place, Reader, dicts, inner

FINISH_REASONS = {"STOP": None, "MAX_TOKENS": "length", "SAFETY": "content_filter"}


class GeminiReader(Reader):
    """Reads a `GenerateContentResponse`, which each event of a stream is too; of several candidates the first."""

    def __init__(self) -> None:
        super().__init__()
        self._calls = 0

    def places(self, body: Any) -> Iterator[Place]:
        """The texts of the first candidate. A stream without events is a list."""
        for response in dicts(body) if isinstance(body, list) else dicts([body]):
            self.model = response.get("modelVersion") or self.model
            self._count(response.get("usageMetadata"), "promptTokenCount", "candidatesTokenCount")
            for candidate in dicts(response.get("candidates"))[:1]:
                if reason := candidate.get("finishReason"):
                    self.finish_reason = FINISH_REASONS.get(reason, reason)
                    self.has_ended = True
                for part in dicts(inner(candidate, "content").get("parts")):
                    yield from self._part(part)

    def _part(self, part: dict[str, Any]) -> Iterator[Place]:
        if isinstance(part.get("text"), str):
            yield Place(part, "text", "reasoning" if part.get("thought") else "text")
        elif call := inner(part, "functionCall"):
            self._calls += 1
            call_id = call.get("id") or f"call_{self._calls}"
            yield Place(call, "name", "tool_call_name", call_id)
            yield Place(call, "args", "tool_call_args", call_id)


READER = GeminiReader
