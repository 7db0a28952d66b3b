"""Variables of suites: `${name}` in a text is replaced by a value."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from llm_mock.suites.schema import Assertion

_REFERENCE = re.compile(r"\$(\$?)\{([A-Za-z_]\w*)\}")


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
        return _REFERENCE.sub(self._replacement, text) if self._values else text

    def in_assertion(self, assertion: Assertion) -> dict[str, Any]:
        """The fields of an assertion, as its file would have them, with the references in its texts replaced."""
        fields = assertion.model_dump(by_alias=True)
        return {name: value if name == "schema" else self._inside(value) for name, value in fields.items()}

    def _inside(self, value: Any, keep_type: bool = False) -> Any:
        """The same for all texts in a value. Arguments of tools keep the type of a variable that is all of them."""
        if isinstance(value, str):
            whole = _REFERENCE.fullmatch(value) if keep_type else None
            if whole and not whole[1] and whole[2] in self._values:
                return self._values[whole[2]]
            return self.in_text(value)
        if isinstance(value, Mapping):
            return {name: self._inside(item, keep_type or name == "arguments") for name, item in value.items()}
        return [self._inside(item, keep_type) for item in value] if isinstance(value, (list, tuple)) else value

    def _replacement(self, match: re.Match[str]) -> str:
        escaped, name = match.groups()
        if escaped:
            return match[0][1:]
        if name not in self._values:
            self.unknown[name] = None
            return match[0]
        return text_of(self._values[name])


def has_reference(text: str) -> bool:
    """Whether there is `${name}` in a text."""
    return any(not escaped for escaped, _ in _REFERENCE.findall(text))


def text_of(value: Any) -> str:
    """The value of a variable as YAML has it; nothing for null."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)
