"""Assertions about the text of the output: comparisons, patterns and JSON."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.checks.base import (
    MAX_QUOTED,
    AssertionOutcome,
    RunContext,
    format_error,
    quote,
)
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.checks.transforms import JSONPath
from llm_mock.errors import LLMMockError
from llm_mock.support import schemas
from llm_mock.support.json_in_text import FencedJSON, find_json_values, parse_json
from llm_mock.support.json_paths import get_value
from llm_mock.support.json_types import JSONObject
from llm_mock.support.patterns import search_pattern
from llm_mock.support.redaction import redact
from llm_mock.support.text import shorten, shorten_message

# The empty text is excluded: every output contains it.
NonEmptyText = Annotated[str, Field(min_length=1)]
NonEmptyTexts = Annotated[tuple[NonEmptyText, ...], Field(min_length=1)]
MAX_PROBLEMS = 3
# Escapes, character classes and named groups: `^`, `$` and the like in them are no anchors.
_NON_ANCHORS = re.compile(r"\\[^AZbB]|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P?<\w")
# Lookarounds, word boundaries, atomic groups and possessive quantifiers.
_RESTRICTIONS = re.compile(r"\(\?<?[=!]|\\[bB]|\(\?>|[*+?}]\+")


class _Comparison(TextAssertion):
    """An assertion that compares the output with texts."""

    case_insensitive: bool = False

    def _fold(self, text: str) -> str:
        return text.casefold() if self.case_insensitive else text

    def _is_in(self, output: str, value: str) -> bool:
        return self._fold(value) in self._fold(output)


class ContainsAssertion(_Comparison):
    """The output contains a text."""

    type: Literal["contains", "not_contains"] = "contains"
    value: NonEmptyText
    """The text."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Search the output for the text."""
        is_found = self._is_in(output, self.value)
        contains = "contains" if is_found else "does not contain"
        value = quote(self.value)
        return AssertionOutcome(is_found, f"Output {contains} {value}")


class IContainsAssertion(TextAssertion):
    """The output contains a text, ignoring case."""

    type: Literal["icontains", "not_icontains"] = "icontains"
    value: NonEmptyText

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Search the output for the text, ignoring case."""
        assertion = ContainsAssertion(value=self.value, case_insensitive=True)
        return assertion.check(output, context)


class ContainsAnyAssertion(_Comparison):
    """The output contains at least one of these texts."""

    type: Literal["contains_any", "not_contains_any"] = "contains_any"
    values: NonEmptyTexts

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Search the output for each of the texts."""
        present = [value for value in self.values if self._is_in(output, value)]
        if present:
            return AssertionOutcome(True, f"Output contains {_quote_all(present)}")
        return AssertionOutcome(False, f"Output contains none of {_quote_all(self.values)}")


class ContainsAllAssertion(_Comparison):
    """The output contains all of these texts."""

    type: Literal["contains_all", "not_contains_all"] = "contains_all"
    values: NonEmptyTexts

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Search the output for each of the texts."""
        missing = [value for value in self.values if not self._is_in(output, value)]
        if missing:
            return AssertionOutcome(False, f"Output does not contain {_quote_all(missing)}")
        return AssertionOutcome(True, f"Output contains all of {_quote_all(self.values)}")


class EqualsAssertion(_Comparison):
    """The output equals a text; white space around both is ignored."""

    type: Literal["equals", "not_equals"] = "equals"
    value: str

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Compare the output with the text."""
        value = self.value.strip()
        output = output.strip()
        if self._fold(value) == self._fold(output):
            return AssertionOutcome(True, f"Output equals {quote(value)}")
        difference = _describe_difference(value, output)
        return AssertionOutcome(False, f"Output does not equal {difference}")


class StartsWithAssertion(_Comparison):
    """The output starts with a text."""

    type: Literal["starts_with", "not_starts_with"] = "starts_with"
    value: NonEmptyText

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Compare the start of the output with the text."""
        value = quote(self.value)
        if self._fold(output).startswith(self._fold(self.value)):
            return AssertionOutcome(True, f"Output starts with {value}")
        # Both quotations should be about as long, so that they can be compared.
        length = max(20, min(len(self.value), MAX_QUOTED))
        start = quote(output, length)
        return AssertionOutcome(False, f"Output does not start with {value}, but with {start}")


class RegexAssertion(TextAssertion):
    """A pattern matches anywhere in the output, as with `re.search`."""

    type: Literal["regex", "not_regex"] = "regex"
    pattern: str

    @pydantic.field_validator("pattern")
    @classmethod
    def _validate_pattern(cls, pattern: str) -> str:
        try:
            with warnings.catch_warnings():
                # Python warns of syntax that a later version may change, such as "[[".
                warnings.simplefilter("ignore")
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            position = getattr(error, "pos", None)
            if position is None:
                place = ""
            else:
                place = f" (position {position})"
            problem = getattr(error, "msg", error)
            raise ValueError(
                f"{pattern!r} is not a valid regular expression: {problem}{place}"
            ) from None
        if _matches_everything(pattern):
            raise ValueError(f"{pattern!r} matches every output; use a more specific pattern")
        return pattern

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Search the output for the pattern."""
        is_found = search_pattern(self.pattern, output)
        matches = "matches" if is_found else "does not match"
        pattern = quote(self.pattern)
        return AssertionOutcome(is_found, f"Output {matches} pattern {pattern}")


def _matches_everything(pattern: str) -> bool:
    """Return True if a pattern matches any text: it can be empty and has no anchor."""
    if not re.search(pattern, ""):
        return False
    anchors = _NON_ANCHORS.sub("", pattern)
    if _RESTRICTIONS.search(anchors):
        return False
    # One anchor alone is no restriction: the empty match at the start or end is enough.
    has_start = re.search(r"\^|\\A", anchors)
    has_end = re.search(r"\$|\\Z", anchors)
    return not (has_start and has_end)


class _JSONAssertionBase(TextAssertion):
    """An assertion on JSON, or on the part of it at a path: its value or its schema."""

    model_config = ConfigDict(populate_by_name=True)

    path: JSONPath | None = None
    """The path of the part to check, such as `items[0].price`; by default all of the JSON."""
    value: Any = None
    """The expected value."""
    # "schema" is a method of pydantic's models.
    json_schema: JSONObject | None = Field(default=None, alias="schema")
    """The JSON Schema that the value must match."""

    @pydantic.field_validator("json_schema")
    @classmethod
    def _validate_schema(cls, schema: JSONObject | None) -> JSONObject | None:
        if schema is None:
            return None
        problem = schemas.find_schema_problem(schema)
        if problem is not None:
            raise ValueError(f"is not a valid JSON schema: {problem}")
        return schema

    @property
    def _has_value(self) -> bool:
        # None is a value, too: null.
        return "value" in self.model_fields_set

    @property
    def _accepts_any_json(self) -> bool:
        if self.path is not None or self.json_schema is not None:
            return False
        return not self._has_value

    def _check_value(self, value: object, subject: str = "Output") -> AssertionOutcome:
        """Return the outcome for parsed JSON; messages begin with the subject."""
        if self.path is not None:
            try:
                value = get_value(value, self.path)
            except LLMMockError as error:
                return AssertionOutcome(False, f"{subject}: {error}")
            subject = f"{subject} at {self.path}"
        if self._has_value:
            # By a schema, as in Python 1 == True and 1 == 1.0 hold inside of lists, too.
            expected = {"const": self.value}
            if list(schemas.find_violations(expected, value, called="", strict=True)):
                message = f"{subject} is {shorten(value)}, not {shorten(self.value)}"
                return AssertionOutcome(False, message)
        if self.json_schema is not None:
            return _check_schema(self.json_schema, value, subject)
        if self._has_value:
            return AssertionOutcome(True, f"{subject} is {shorten(value)}")
        return AssertionOutcome(True, f"{subject} is present")


class JSONAssertion(_JSONAssertionBase):
    """The output is JSON; optionally `path` exists, equals `value` and matches `schema`."""

    type: Literal["json", "not_json"] = "json"

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Parse the output and check its value."""
        try:
            value = parse_json(output)
        except FencedJSON as error:  # A ValueError, too; it has advice of its own.
            advice = "use contains_json to accept that, or ask the model for JSON alone"
            return AssertionOutcome(False, f"Output is not JSON: {error}; {advice}")
        except ValueError as error:
            return AssertionOutcome(False, f"Output is not JSON: {error}")
        if self._accepts_any_json:
            return AssertionOutcome(True, "Output is JSON")
        return self._check_value(value)


class ContainsJSONAssertion(_JSONAssertionBase):
    """The output contains a matching JSON object or list, such as in a code fence or a sentence."""

    type: Literal["contains_json", "not_contains_json"] = "contains_json"

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Check the JSON values in the output until one fits."""
        first_failure: AssertionOutcome | None = None
        for value in find_json_values(output):
            if self._accepts_any_json:
                return AssertionOutcome(True, "Output contains JSON")
            outcome = self._check_value(value, "JSON in the output")
            if outcome.holds:
                return outcome
            if first_failure is None:
                first_failure = outcome
        if first_failure is not None:
            return first_failure
        message = f"Output contains no JSON object or list: {quote(output)}"
        return AssertionOutcome(False, message)


def _check_schema(json_schema: JSONObject, value: object, subject: str) -> AssertionOutcome:
    try:
        problems = list(schemas.find_violations(json_schema, value, called="", strict=True))
    except (ArithmeticError, RecursionError, ValueError) as error:
        # For example, the schema refers to itself or contains an invalid address.
        message = f"{subject} cannot be checked by the schema: {format_error(error)}"
        return AssertionOutcome(None, message)
    if not problems:
        fits = "is JSON that fits the schema" if subject == "Output" else "fits the schema"
        return AssertionOutcome(True, f"{subject} {fits}")
    texts = [shorten_message(problem.lstrip(".: ")) for problem in problems[:MAX_PROBLEMS]]
    message = f"{subject} breaks the schema: {'; '.join(texts)}"
    left_out = len(problems) - MAX_PROBLEMS
    if left_out > 0:
        message += f"; and {left_out} more"
    return AssertionOutcome(False, message)


def _quote_all(texts: Sequence[str]) -> str:
    return ", ".join(quote(text) for text in texts)


def _describe_difference(value: str, output: str) -> str:
    """Return a text, and the first difference of the output from it."""
    # Redacted before they are compared, so that positions are those of the message.
    value = redact(value)
    output = redact(output)
    position = 0
    for one, other in zip(value, output, strict=False):
        if one != other:
            break
        position += 1
    if position <= MAX_QUOTED // 2:
        return f"{quote(value)}, it is {quote(output)}"
    # Some characters before the difference show where it is.
    start = position - 20
    actual = quote(f"…{output[start:]}")
    expected = quote(f"…{value[start:]}")
    return f"{quote(value)}: from character {position + 1:,} it is {actual}, not {expected}"
