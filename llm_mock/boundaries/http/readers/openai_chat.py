"""Parser for responses of Chat Completions, from OpenAI, Mistral, OpenRouter and others."""

from __future__ import annotations

from collections.abc import Iterator

from llm_mock.boundaries.http.readers.reader import (
    ResponseReader,
    TextSlot,
    get_nested_dict,
    select_dicts,
)
from llm_mock.support.json_types import JSONObject

REASONING_FIELDS = ("reasoning_content", "reasoning")
FINISH_REASONS = {
    "stop": None,
    "tool_calls": None,
    "function_call": None,
    "model_length": "length",
}


class ChatReader(ResponseReader):
    """A parser for the first choice of a `chat.completion` or of its chunks."""

    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the texts of the first choice."""
        if body == "[DONE]":
            self.has_ended = True
        if not isinstance(body, dict):
            return
        self.model = body.get("model") or self.model
        self._update_usage(body.get("usage"), "prompt_tokens", "completion_tokens")
        for choice in select_dicts(body.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            reason = choice.get("finish_reason")
            if isinstance(reason, str):
                self.finish_reason = FINISH_REASONS.get(reason, reason)
            message = get_nested_dict(choice, "message")
            message = message or get_nested_dict(choice, "delta")
            yield from self._find_text_slots(message)
            yield from self._find_tool_call_slots(message)

    def _find_text_slots(self, message: JSONObject) -> Iterator[TextSlot]:
        for name in REASONING_FIELDS:
            if isinstance(message.get(name), str):
                yield TextSlot(message, name, "reasoning")
                break  # some providers send the same text under both names
        if isinstance(message.get("content"), str):
            yield TextSlot(message, "content", "text")
        # Mistral sends a list of parts if the model reasons.
        for part in select_dicts(message.get("content")):
            if part.get("type") == "text":
                yield TextSlot(part, "text", "text")
            for thought in select_dicts(part.get("thinking")):
                yield TextSlot(thought, "text", "reasoning")

    def _find_tool_call_slots(self, message: JSONObject) -> Iterator[TextSlot]:
        for position, call in enumerate(select_dicts(message.get("tool_calls"))):
            index = call.get("index", position)
            # Only the first chunk of a streamed call has its id.
            call_id = call.get("id") or self._call_ids.get(index)
            self._call_ids[index] = call_id
            function = get_nested_dict(call, "function")
            # A custom tool takes a text in place of arguments.
            function = function or get_nested_dict(call, "custom")
            arguments_field = "input" if "input" in function else "arguments"
            yield TextSlot(function, "name", "tool_call_name", call_id)
            yield TextSlot(function, arguments_field, "tool_call_args", call_id)


READER = ChatReader
