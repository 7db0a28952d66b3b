"""Assertions that compare the output with texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from llm_mock.suites.assertion_types.base import SHOWN, BaseAssertion, Outcome, RunContext, quoted


class ContainsAssertion(BaseAssertion):
    """The output has a text in it."""

    type: Literal["contains", "not_contains"] = "contains"
    value: str
    """The text."""
    case_insensitive: bool = False

    def check(self, output: str, context: RunContext) -> Outcome:
        return _contains(output, self.value, self.case_insensitive)


class IContainsAssertion(BaseAssertion):
    """The output has a text in it, in upper or lower case."""

    type: Literal["icontains", "not_icontains"] = "icontains"
    value: str

    def check(self, output: str, context: RunContext) -> Outcome:
        return _contains(output, self.value, case_insensitive=True)


class ContainsAnyAssertion(BaseAssertion):
    """The output has at least one of these texts in it."""

    type: Literal["contains_any", "not_contains_any"] = "contains_any"
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    case_insensitive: bool = False

    def check(self, output: str, context: RunContext) -> Outcome:
        found = [value for value in self.values if _is_in(output, value, self.case_insensitive)]
        if not found:
            return Outcome(False, f"Output contains none of {_all_quoted(self.values)}")
        return Outcome(True, f"Output contains {_all_quoted(found)}")


class ContainsAllAssertion(BaseAssertion):
    """The output has all of these texts in it."""

    type: Literal["contains_all", "not_contains_all"] = "contains_all"
    values: Annotated[tuple[str, ...], Field(min_length=1)]
    case_insensitive: bool = False

    def check(self, output: str, context: RunContext) -> Outcome:
        missing = [value for value in self.values if not _is_in(output, value, self.case_insensitive)]
        if missing:
            return Outcome(False, f"Output does not contain {_all_quoted(missing)}")
        return Outcome(True, f"Output contains all of {_all_quoted(self.values)}")


class EqualsAssertion(BaseAssertion):
    """The output is this text; spaces and line ends around both do not count."""

    type: Literal["equals", "not_equals"] = "equals"
    value: str
    case_insensitive: bool = False

    def check(self, output: str, context: RunContext) -> Outcome:
        value, output = self.value.strip(), output.strip()
        if _folded(value, self.case_insensitive) == _folded(output, self.case_insensitive):
            return Outcome(True, f"Output equals {quoted(value)}")
        return Outcome(False, f"Output does not equal {_difference(value, output)}")


class StartsWithAssertion(BaseAssertion):
    """The output begins with a text."""

    type: Literal["starts_with", "not_starts_with"] = "starts_with"
    value: str
    case_insensitive: bool = False

    def check(self, output: str, context: RunContext) -> Outcome:
        if _folded(output, self.case_insensitive).startswith(_folded(self.value, self.case_insensitive)):
            return Outcome(True, f"Output starts with {quoted(self.value)}")
        beginning = quoted(output, max(20, min(len(self.value), SHOWN)))
        return Outcome(False, f"Output does not start with {quoted(self.value)}, but with {beginning}")


class RegexAssertion(BaseAssertion):
    """A pattern is found in the output, anywhere, as `re.search` does it."""

    type: Literal["regex", "not_regex"] = "regex"
    pattern: str

    @pydantic.field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except re.error as error:
            where = "" if error.pos is None else f" (position {error.pos})"
            raise ValueError(f"{pattern!r} is no regular expression: {error.msg}{where}") from None
        except (OverflowError, RecursionError) as error:
            raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
        return pattern

    def check(self, output: str, context: RunContext) -> Outcome:
        found = re.search(self.pattern, output) is not None
        return Outcome(found, f"Output {'matches' if found else 'does not match'} pattern {quoted(self.pattern)}")


def _contains(output: str, value: str, case_insensitive: bool) -> Outcome:
    found = _is_in(output, value, case_insensitive)
    return Outcome(found, f"Output {'contains' if found else 'does not contain'} {quoted(value)}")


def _is_in(output: str, value: str, case_insensitive: bool) -> bool:
    return _folded(value, case_insensitive) in _folded(output, case_insensitive)


def _folded(text: str, case_insensitive: bool) -> str:
    """A text as it is compared."""
    return text.casefold() if case_insensitive else text


def _all_quoted(texts: Sequence[str]) -> str:
    return ", ".join(quoted(text, 60) for text in texts)


def _difference(value: str, output: str) -> str:
    """A text, and from where on the output is another."""
    pairs = zip(value, output, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(value), len(output)))
    if same <= SHOWN // 2:
        return f"{quoted(value)}, it is {quoted(output)}"
    start = same - 20
    there, wanted = quoted(f"…{output[start:]}", 60), quoted(f"…{value[start:]}", 60)
    return f"{quoted(value, 60)}: from character {same + 1:,} it is {there}, not {wanted}"
