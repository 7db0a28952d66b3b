"""The parts of a call's record. Errors name the nearest key or the missing item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import suggest_nearest

SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "attachment": {"content": "bytes", "data": "bytes", "media_type": "type", "mime_type": "type"},
    "message": {"content": "text", "contents": "text", "parts": "text"},
    "tool": {"function": "name", "parameters": "input_schema", "schema": "input_schema"},
    "tool result": {"content": "output", "result": "output", "text": "output"},
    "usage": {
        "completion_tokens": "output_tokens",
        "input": "input_tokens",
        "output": "output_tokens",
        "prompt_tokens": "input_tokens",
    },
}
"""The keys of a part by the names that APIs use for them, by the kind of the part."""
ADVICE: Mapping[str, str] = {
    "tool result": (
        " Tool results are in the call after the tool call: [call.tool_results for call in "
        "mock.calls]."
    ),
}
"""The end of the message about a missing item, by the kind of the items."""


class UnknownCallKey(KeyError):
    """A key that a call or a part of a call does not have."""

    def __str__(self) -> str:
        return str(self.args[0])


class CallPart(JSONObject):
    """A part of a call, such as a message, a tool or the usage.

    Args:
        kind: the kind of the part, such as `message`.
        fields: the keys and values.
    """

    __slots__ = ("_kind",)

    def __init__(self, kind: str, fields: Mapping[str, object]) -> None:
        super().__init__(fields)
        self._kind = kind

    def __reduce__(self) -> tuple[object, ...]:
        return CallPart, (self._kind, dict(self))

    def __missing__(self, key: object) -> object:
        name = str(key)
        meant = SYNONYMS.get(self._kind, {}).get(name)
        if meant in self:
            hint = f"; did you mean {meant!r}?"
        else:
            hint = suggest_nearest(name, self) or "."
        known = ", ".join(self) or "none"
        raise UnknownCallKey(f"This {self._kind} has no key {key!r}{hint} Its keys: {known}.")

    # Hidden from type checkers, which would otherwise accept any attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> object:
            # `copy` and `pickle` look for methods that a dict need not have.
            if name.startswith("__"):
                raise AttributeError(name)
            key = SYNONYMS.get(self._kind, {}).get(name, name)
            keys = ", ".join(self) or "none"
            raise AttributeError(
                f"A {self._kind} is a dict: write [{key!r}] instead of .{name}. Its keys: {keys}."
            )


class CallParts(list[JSONObject]):
    """The parts of one kind in a call, such as its messages.

    Args:
        kind: the kind of the parts, such as `message`.
        parts: the parts.
        number: the number of the call.
    """

    __slots__ = ("_kind", "_number")

    def __init__(self, kind: str, parts: Iterable[Mapping[str, object]], number: int) -> None:
        super().__init__(CallPart(kind, part) for part in parts)
        self._kind = kind
        self._number = number

    def __reduce__(self) -> tuple[object, ...]:
        return CallParts, (self._kind, list(self), self._number)

    def __getitem__(self, position: Any) -> Any:
        if isinstance(position, str):
            raise TypeError(f"This is a list of {self._kind}s: write [0][{position!r}].")
        try:
            return super().__getitem__(position)
        except IndexError:
            advice = ADVICE.get(self._kind, "")
            raise IndexError(
                f"There is no {self._kind} {position}: call {self._number} has {len(self)}.{advice}"
            ) from None
