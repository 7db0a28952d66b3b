"""The variables of a suite: what `${name}` in its texts stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_mock.behaviour.scripted_replies import ScriptedReply
from llm_mock.errors import LLMMockError
from llm_mock.suites.schema import Assertion, ContainsJSONAssertion, JSONAssertion, Turn
from llm_mock.support.interpolation import NAME, interpolated, map_texts, references_in, whole_reference

LARGEST_SUITE = 50_000_000
"""How many characters the texts of all cases may have together, when files, rows and variables are in them."""


class Size:
    """How large a suite becomes: a small file may ask for more than there is memory, by rows, variables and files."""

    def __init__(self) -> None:
        self._left = LARGEST_SUITE

    def add(self, characters: int) -> None:
        """Count characters; LLMMockError where they are too many."""
        self._left -= characters
        if self._left < 0:
            shown = f"{LARGEST_SUITE // 1_000_000} million characters"
            raise LLMMockError(f"with its rows, variables and files the suite has more than {shown} here")


class Variables:
    """Replaces `${name}` in texts by values; without any, texts stay as they are."""

    def __init__(self, values: Mapping[str, Any], size: Size) -> None:
        self.values = values
        self._size = size
        self.unknown: dict[str, None] = {}
        """Names that were asked for and are not known, in order."""

    def in_text(self, text: str) -> str:
        """A text with the values in it."""
        replaced = interpolated(text, self._replacement) if self.values else text
        self._size.add(len(replaced))
        return replaced

    def in_turn(self, turn: Turn) -> dict[str, Any]:
        """The fields of a turn that have texts."""
        texts = {"prompt": turn.prompt, "expected_output": turn.expected_output}
        replaced = {key: None if text is None else self.in_text(text) for key, text in texts.items()}
        return {**replaced, "replies": tuple(map(self._in_reply, turn.replies))}

    def _in_reply(self, reply: ScriptedReply) -> ScriptedReply:
        """A reply, whose data keep the type of a variable that is all of a text."""
        if not self.values:
            return reply
        given = reply.model_dump(exclude_unset=True, by_alias=True)
        return ScriptedReply.model_validate(
            {
                name: map_texts(value, self._in_argument if name in ("data", "tool_calls") else self.in_text)
                for name, value in given.items()
            }
        )

    def in_assertion(self, assertion: Assertion) -> dict[str, Any]:
        """The fields of an assertion, as its file would have them; a JSON Schema has no variables."""
        fields = {"type": assertion.type, **assertion.model_dump(by_alias=True, exclude_unset=True)}
        in_values = self._in_argument if isinstance(assertion, (JSONAssertion, ContainsJSONAssertion)) else self.in_text
        replaced = {
            name: value if name == "schema" else map_texts(value, in_values if name == "value" else self.in_text)
            for name, value in fields.items()
        }
        for call, given in zip(replaced.get("calls", ()), fields.get("calls", ()), strict=True):
            if "arguments" in given:
                call["arguments"] = map_texts(given["arguments"], self._in_argument)
        return replaced

    def _in_argument(self, text: str) -> Any:
        """An argument of a tool, which keeps the type of a variable that is all of it."""
        name = whole_reference(text)
        return self.in_text(text) if name is None or name not in self.values else self.values[name]

    def _replacement(self, name: str) -> str | None:
        if name in self.values:
            return text_of(self.values[name])
        if NAME.fullmatch(name):
            self.unknown[name] = None
        return None


def has_reference(text: str) -> bool:
    """Whether there is a variable in a text."""
    return any(map(NAME.fullmatch, references_in(text)))


def text_of(value: Any) -> str:
    """The value of a variable as YAML has it; nothing for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
