"""What every reader of answers can do: find the texts of an answer in a body, or in the events of a stream.

The same places are found when an answer is recorded, to take its texts out, and when it is replayed, to put them in
again: so a body comes back as it was, and its texts stand in one place of the cassette, where they can be edited.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

PLACEHOLDER = "…"
"""What stands in a body for a text that was taken out."""
JSON_PLACEHOLDER = {PLACEHOLDER: PLACEHOLDER}
"""The same for a text that stands there as a JSON value."""


class TextSlot(NamedTuple):
    """Where in a body a piece of the answer is: `container[key]`, a text or, of a tool call, JSON."""

    container: dict[str, Any]
    key: str
    type: str
    """Of its `Event`: `text`, `reasoning`, `tool_call_name` or `tool_call_args`."""
    tool_call_id: str | None = None
    part: Any = None
    """Which part of the answer the piece belongs to, where a stream gives that again as a whole."""
    is_whole: bool = False
    """Whether it is the whole part: a piece where nothing of it came before, else what came before."""

    @property
    def text(self) -> str:
        """What stands there; empty for nothing."""
        value = self.container.get(self.key)
        if isinstance(value, str):
            return value
        return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) and value else ""

    @property
    def is_taken(self) -> bool:
        """Whether its text was taken out."""
        return self.container.get(self.key) in (PLACEHOLDER, JSON_PLACEHOLDER)

    def take(self) -> None:
        """Take its text out."""
        self.container[self.key] = PLACEHOLDER if isinstance(self.container[self.key], str) else dict(JSON_PLACEHOLDER)

    def put(self, text: str) -> None:
        """Put a text in."""
        if self.container[self.key] == PLACEHOLDER:
            self.container[self.key] = text
            return
        try:
            self.container[self.key] = json.loads(text or "{}")
        except ValueError:  # somebody edited it
            self.container[self.key] = {"_raw": text}


class ResponseReader:
    """Reads one answer. Each API has a subclass.

    What it has read so far says the fields.
    """

    def __init__(self) -> None:
        self.model: str | None = None
        """The model that answered."""
        self.finish_reason: str | None = None
        """Why the answer ended, in the words of Chat Completions; None where that is as usual."""
        self.usage: dict[str, Any] = {}
        """The tokens: `input`, `output` and `details`."""
        self.has_ended = False
        """Whether a stream said that it is at its end."""

    def find_slots(self, body: Any) -> Iterator[TextSlot]:
        """The places of texts in a body, or in the data of the next event of a stream, in order."""
        raise NotImplementedError

    def _count(self, usage: Any, asked: str, answered: str) -> None:
        """Take the provider's count of tokens, under the names that it has for them."""
        if not isinstance(usage, dict):
            return
        rest = {
            name: value
            for name, value in usage.items()
            if name not in (asked, answered) and "total" not in name and isinstance(value, (int, dict))
        }
        for name, counted in (("input", usage.get(asked)), ("output", usage.get(answered))):
            if isinstance(counted, int):
                self.usage[name] = counted
        if details := _said(rest):
            self.usage["details"] = {**(self.usage.get("details") or {}), **details}


def _said(value: Any) -> Any:
    """The part of a JSON value that says something, as `llm` has the details of its usage."""
    if not isinstance(value, dict):
        return value
    kept = {name: _said(item) for name, item in value.items()}
    return {name: item for name, item in kept.items() if item not in (0, None) and item != {}}


def only_dicts(value: Any) -> list[dict[str, Any]]:
    """The objects in what should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def nested_dict(value: Any, *names: str) -> dict[str, Any]:
    """The object inside of objects; empty where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}
