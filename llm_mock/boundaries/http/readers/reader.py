"""Base class of the parsers that find the texts in a provider's response.

The parsers find the same text slots twice: recording extracts the texts, and replay restores them.
A replayed body therefore equals the recorded one, and each text is in a single place of the
cassette, where it can be edited.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, NamedTuple

from llm_mock.support.json_types import JSONObject

PLACEHOLDER = "…"
"""The placeholder in a body for an extracted text."""
JSON_PLACEHOLDER = {PLACEHOLDER: PLACEHOLDER}
"""The placeholder in a body for an extracted JSON object."""


class TextSlot(NamedTuple):
    """A location in a body, `container[key]`, with a text or the JSON of a tool call."""

    container: JSONObject
    key: str
    type: str
    """The type of its `Event`: `text`, `reasoning`, `tool_call_name` or `tool_call_args`."""
    tool_call_id: str | None = None
    part: object = None
    """The id of the answer part, in streams that repeat a part as a whole after its deltas."""
    is_whole: bool = False
    """True for a repetition of the whole part, False for one of its deltas."""

    @property
    def text(self) -> str:
        """The text in this slot; any other JSON value is serialized."""
        value = self.container.get(self.key)
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False) if value else ""

    @property
    def is_extracted(self) -> bool:
        """True if this slot contains a placeholder."""
        return self.container.get(self.key) in (PLACEHOLDER, JSON_PLACEHOLDER)

    def clear(self) -> None:
        """Replace the text by a placeholder of the same JSON type."""
        if isinstance(self.container[self.key], str):
            self.container[self.key] = PLACEHOLDER
        else:
            # A copy, because the body of the next answer is changed in place too.
            self.container[self.key] = dict(JSON_PLACEHOLDER)

    def fill(self, text: str) -> None:
        """Replace the placeholder by a text, which is parsed if the placeholder was an object."""
        if self.container[self.key] == PLACEHOLDER:
            self.container[self.key] = text
            return
        try:
            self.container[self.key] = json.loads(text or "{}")
        except ValueError:  # the cassette was edited by hand
            self.container[self.key] = {"_raw": text}


class ResponseReader(ABC):
    """Base class of the parsers; an instance parses one answer and stores its metadata."""

    def __init__(self) -> None:
        self.model: str | None = None
        """The model that answered."""
        self.finish_reason: str | None = None
        """The finish reason in the terms of Chat Completions; None for the normal one."""
        self.usage: JSONObject = {}
        """The token counts: `input`, `output` and `details`."""
        self.has_ended = False
        """True after the final event of a stream."""
        self._call_ids: dict[object, str | None] = {}
        """The ids of tool calls by their position, as only the first event of a call has its id."""

    @abstractmethod
    def find_slots(self, body: object) -> Iterator[TextSlot]:
        """Yield the text slots of a body, or of the next event of a stream, in order."""

    def _update_usage(self, usage: object, input_name: str, output_name: str) -> None:
        """Update the token counts from a provider's usage.

        Args:
            usage: the usage object of the response; anything else is ignored.
            input_name: the provider's name of the input tokens.
            output_name: the provider's name of the output tokens.
        """
        if not isinstance(usage, dict):
            return
        details = {}
        for name, value in usage.items():
            # Totals are left out: they can be computed, and `llm` does not store them, either.
            is_total = name in (input_name, output_name) or "total" in name
            if not is_total and isinstance(value, (int, dict)):
                details[name] = value
        input_tokens = usage.get(input_name)
        if isinstance(input_tokens, int):
            self.usage["input"] = input_tokens
        output_tokens = usage.get(output_name)
        if isinstance(output_tokens, int):
            self.usage["output"] = output_tokens
        details = _remove_zeros(details)
        if details:
            # Combine the events of a stream, as Anthropic sends its counts in two of them.
            details_before = self.usage.get("details") or {}
            self.usage["details"] = {**details_before, **details}


def _remove_zeros(value: object) -> Any:
    """Return a JSON value without zeros and empty objects, as `llm` stores usage details."""
    if not isinstance(value, dict):
        return value
    kept = {}
    for name, item in value.items():
        simplified = _remove_zeros(item)
        if simplified not in (0, None) and simplified != {}:
            kept[name] = simplified
    return kept


def select_dicts(value: object) -> list[JSONObject]:
    """Return the objects in a list; empty if `value` is not a list."""
    if not isinstance(value, list):
        return []
    return [item for item in value if isinstance(item, dict)]


def get_nested_dict(value: object, *names: str) -> JSONObject:
    """Return the object at a path of keys, or an empty object."""
    for name in names:
        if not isinstance(value, dict):
            return {}
        value = value.get(name)
    return value if isinstance(value, dict) else {}
