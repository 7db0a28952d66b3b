"""Answers of Chat Completions: OpenAI's, Mistral's, OpenRouter's and all others'."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from llm_mock.boundaries.http.readers.reader import Place, Reader, dicts, inner

REASONING = ("reasoning_content", "reasoning")
FINISH_REASONS = {"stop": None, "tool_calls": None, "function_call": None, "model_length": "length"}


class ChatReader(Reader):
    """Reads `chat.completion` and `chat.completion.chunk`; of several choices the first is the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._call_ids: dict[Any, str | None] = {}

    def places(self, body: Any) -> Iterator[Place]:
        """The texts of the first choice."""
        if body == "[DONE]":
            self.has_ended = True
        if not isinstance(body, dict):
            return
        self.model = body.get("model") or self.model
        self._count(body.get("usage"), "prompt_tokens", "completion_tokens")
        for choice in dicts(body.get("choices")):
            if choice.get("index", 0) == 0:
                reason = choice.get("finish_reason")
                if isinstance(reason, str):
                    self.finish_reason = FINISH_REASONS.get(reason, reason)
                yield from self._message(inner(choice, "message") or inner(choice, "delta"))

    def _message(self, message: dict[str, Any]) -> Iterator[Place]:
        for name in REASONING:
            if isinstance(message.get(name), str):
                yield Place(message, name, "reasoning")
                break  # some say the same under both names
        if isinstance(message.get("content"), str):
            yield Place(message, "content", "text")
        for part in dicts(message.get("content")):  # as Mistral has it
            if part.get("type") == "text":
                yield Place(part, "text", "text")
            for thought in dicts(part.get("thinking")):
                yield Place(thought, "text", "reasoning")
        for position, call in enumerate(dicts(message.get("tool_calls"))):
            index = call.get("index", position)
            call_id = self._call_ids[index] = call.get("id") or self._call_ids.get(index)
            function = inner(call, "function") or inner(call, "custom")
            yield Place(function, "name", "tool_call_name", call_id)
            yield Place(function, "input" if "input" in function else "arguments", "tool_call_args", call_id)


READER = ChatReader
