"""Variables of suites: `${name}` in a text is replaced by a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llm_mock.suites.schema import Assertion
from llm_mock.support.interpolation import NAME, interpolated, map_texts, references_in, whole_reference


class Variables:
    """Replaces references, and notes those that lead nowhere.

    Args:
        values: the variables; without any, texts stay as they are.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values
        self.unknown: dict[str, None] = {}
        """Names that were asked for and are not known, in order."""

    def __bool__(self) -> bool:
        return bool(self._values)

    def in_text(self, text: str) -> str:
        """A text with its references replaced."""
        return interpolated(text, self._replacement) if self._values else text

    def in_assertion(self, assertion: Assertion) -> dict[str, Any]:
        """The fields of an assertion, as its file would have them, with the references in its texts replaced."""
        fields = assertion.model_dump(by_alias=True)
        return {name: value if name == "schema" else self._inside(value) for name, value in fields.items()}

    def _inside(self, value: Any) -> Any:
        """The same for all texts in a value."""
        if isinstance(value, Mapping):
            return {
                name: map_texts(item, self._argument) if name == "arguments" else self._inside(item)
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return [self._inside(item) for item in value]
        return self.in_text(value) if isinstance(value, str) else value

    def _argument(self, text: str) -> Any:
        """An argument of a tool, which keeps the type of a variable that is all of it."""
        name = whole_reference(text)
        return self.in_text(text) if name is None or name not in self._values else self._values[name]

    def _replacement(self, name: str) -> str | None:
        if name in self._values:
            return text_of(self._values[name])
        if NAME.fullmatch(name):
            self.unknown[name] = None
        return None


def has_reference(text: str) -> bool:
    """Whether there is `${name}` in a text."""
    return any(map(NAME.fullmatch, references_in(text)))


def text_of(value: Any) -> str:
    """The value of a variable as YAML has it; nothing for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
