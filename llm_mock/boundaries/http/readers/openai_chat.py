"""Answers of Chat Completions: OpenAI's, Mistral's, OpenRouter's and all others'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import ResponseReader, TextSlot, nested_dict, only_dicts

REASONING = ("reasoning_content", "reasoning")
FINISH_REASONS = {"stop": None, "tool_calls": None, "function_call": None, "model_length": "length"}


class ChatReader(ResponseReader):
    """Reads `chat.completion` and `chat.completion.chunk`; of several choices the first is the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._call_ids: dict[Any, str | None] = {}

    def find_slots(self, body: Any) -> Iterator[TextSlot]:
        """The texts of the first choice."""
        if body == "[DONE]":
            self.has_ended = True
        if not isinstance(body, dict):
            return
        self.model = body.get("model") or self.model
        self._count(body.get("usage"), "prompt_tokens", "completion_tokens")
        for choice in only_dicts(body.get("choices")):
            if choice.get("index", 0) == 0:
                reason = choice.get("finish_reason")
                if isinstance(reason, str):
                    self.finish_reason = FINISH_REASONS.get(reason, reason)
                yield from self._message(nested_dict(choice, "message") or nested_dict(choice, "delta"))

    def _message(self, message: dict[str, Any]) -> Iterator[TextSlot]:
        for name in REASONING:
            if isinstance(message.get(name), str):
                yield TextSlot(message, name, "reasoning")
                break  # some say the same under both names
        if isinstance(message.get("content"), str):
            yield TextSlot(message, "content", "text")
        for part in only_dicts(message.get("content")):  # as Mistral has it
            if part.get("type") == "text":
                yield TextSlot(part, "text", "text")
            for thought in only_dicts(part.get("thinking")):
                yield TextSlot(thought, "text", "reasoning")
        for position, call in enumerate(only_dicts(message.get("tool_calls"))):
            index = call.get("index", position)
            call_id = self._call_ids[index] = call.get("id") or self._call_ids.get(index)
            function = nested_dict(call, "function") or nested_dict(call, "custom")
            yield TextSlot(function, "name", "tool_call_name", call_id)
            yield TextSlot(function, "input" if "input" in function else "arguments", "tool_call_args", call_id)


READER = ChatReader
