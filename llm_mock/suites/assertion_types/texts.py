"""Assertions about the text of the output: compared with other texts, or read as JSON."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import pydantic
from pydantic import ConfigDict, Field

from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import SHOWN, Outcome, RunContext, quoted, reported_error
from llm_mock.suites.assertion_types.text_assertion import JSONPath, TextAssertion
from llm_mock.suites.time_limit import found_in
from llm_mock.support import schemas
from llm_mock.support.json_in_text import FencedJSON, json_values_in, parsed
from llm_mock.support.json_paths import value_at
from llm_mock.support.redaction import redacted
from llm_mock.support.text import shorten, shorten_name

SomeText = Annotated[str, Field(min_length=1)]
"""Not the empty text, which is in every output."""
Texts = Annotated[tuple[SomeText, ...], Field(min_length=1)]
_NO_ANCHORS = re.compile(r"\\[^AZbB]|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P?<\w")
"""Parts of a pattern that hold no place fast, though they may look so."""


class _Comparison(TextAssertion):
    """Compares the output with texts."""

    case_insensitive: bool = False

    def _folded(self, text: str) -> str:
        return text.casefold() if self.case_insensitive else text

    def _is_in(self, output: str, value: str) -> bool:
        return self._folded(value) in self._folded(output)


class ContainsAssertion(_Comparison):
    """The output has a text in it."""

    type: Literal["contains", "not_contains"] = "contains"
    value: SomeText
    """The text."""

    def check(self, output: str, context: RunContext) -> Outcome:
        found = self._is_in(output, self.value)
        return Outcome(found, f"Output {'contains' if found else 'does not contain'} {quoted(self.value)}")


class IContainsAssertion(TextAssertion):
    """The output has a text in it, in upper or lower case."""

    type: Literal["icontains", "not_icontains"] = "icontains"
    value: SomeText

    def check(self, output: str, context: RunContext) -> Outcome:
        return ContainsAssertion(value=self.value, case_insensitive=True).check(output, context)


class ContainsAnyAssertion(_Comparison):
    """The output has at least one of these texts in it."""

    type: Literal["contains_any", "not_contains_any"] = "contains_any"
    values: Texts

    def check(self, output: str, context: RunContext) -> Outcome:
        found = [value for value in self.values if self._is_in(output, value)]
        return Outcome(bool(found), f"Output contains {'' if found else 'none of '}{_all_quoted(found or self.values)}")


class ContainsAllAssertion(_Comparison):
    """The output has all of these texts in it."""

    type: Literal["contains_all", "not_contains_all"] = "contains_all"
    values: Texts

    def check(self, output: str, context: RunContext) -> Outcome:
        missing = [value for value in self.values if not self._is_in(output, value)]
        contains = "does not contain" if missing else "contains all of"
        return Outcome(not missing, f"Output {contains} {_all_quoted(missing or self.values)}")


class EqualsAssertion(_Comparison):
    """The output is this text; spaces and line ends around both do not count."""

    type: Literal["equals", "not_equals"] = "equals"
    value: str

    def check(self, output: str, context: RunContext) -> Outcome:
        value, output = self.value.strip(), output.strip()
        if self._folded(value) == self._folded(output):
            return Outcome(True, f"Output equals {quoted(value)}")
        return Outcome(False, f"Output does not equal {_difference(value, output)}")


class StartsWithAssertion(_Comparison):
    """The output begins with a text."""

    type: Literal["starts_with", "not_starts_with"] = "starts_with"
    value: SomeText

    def check(self, output: str, context: RunContext) -> Outcome:
        if self._folded(output).startswith(self._folded(self.value)):
            return Outcome(True, f"Output starts with {quoted(self.value)}")
        beginning = quoted(output, max(20, min(len(self.value), SHOWN)))
        return Outcome(False, f"Output does not start with {quoted(self.value)}, but with {beginning}")


class RegexAssertion(TextAssertion):
    """A pattern is found in the output, anywhere, as `re.search` does it."""

    type: Literal["regex", "not_regex"] = "regex"
    pattern: str

    @pydantic.field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            with warnings.catch_warnings():  # Python warns of some that may mean another thing one day
                warnings.simplefilter("ignore")
                re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            place = getattr(error, "pos", None)
            where = "" if place is None else f" (position {place})"
            raise ValueError(f"{pattern!r} is no regular expression: {getattr(error, 'msg', error)}{where}") from None
        if _matches_everything(pattern):
            raise ValueError(f"{pattern!r} matches every output; give a pattern that something does not match")
        return pattern

    def check(self, output: str, context: RunContext) -> Outcome:
        found = found_in(self.pattern, output)
        return Outcome(found, f"Output {'matches' if found else 'does not match'} pattern {quoted(self.pattern)}")


def _matches_everything(pattern: str) -> bool:
    """Whether a pattern is found in any text: it may be empty, and nothing in it holds it to a place."""
    if not re.search(pattern, ""):
        return False
    places = _NO_ANCHORS.sub("", pattern)
    if re.search(r"\(\?<?[=!]|\\[bB]|\(\?>|[*+?}]\+", places):
        return False
    return not (re.search(r"\^|\\A", places) and re.search(r"\$|\\Z", places))


class _AboutJSON(TextAssertion):
    """Looks at JSON: at all of it or at what stands at a path, which may have to be a value or fit a JSON schema."""

    model_config = ConfigDict(populate_by_name=True)

    path: JSONPath | None = None
    """Where in the JSON the value stands, such as `items[0].price`; by default all of it is the value."""
    value: Any = None
    """What the value is."""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """What the value fits."""

    @pydantic.field_validator("json_schema")
    @classmethod
    def _is_schema(cls, schema: dict[str, Any] | None) -> dict[str, Any] | None:
        if schema is not None and (problem := schemas.problem_of(schema)) is not None:
            raise ValueError(f"is no JSON schema: {problem}")
        return schema

    @property
    def _wants_json_alone(self) -> bool:
        """Whether any JSON will do."""
        return self.path is None and self.json_schema is None and "value" not in self.model_fields_set

    def _found_in(self, value: Any, what: str = "Output") -> Outcome:
        """Whether JSON is as wanted."""
        if self.path is not None:
            try:
                value = value_at(value, self.path)
            except LLMMockError as error:
                return Outcome(False, f"{what}: {error}")
            what = f"{what} at {self.path}"
        if "value" in self.model_fields_set:
            if list(schemas.violations({"const": self.value}, value, called="", strict=True)):
                return Outcome(False, f"{what} is {shorten(value)}, not {shorten(self.value)}")
            if self.json_schema is None:
                return Outcome(True, f"{what} is {shorten(value)}")
        return Outcome(True, f"{what} is there") if self.json_schema is None else _fits(self.json_schema, value, what)


class JSONAssertion(_AboutJSON):
    """The output is JSON, and where they are given: there is a `path` in it, it is a `value`, it fits a `schema`."""

    type: Literal["json", "not_json"] = "json"

    def check(self, output: str, context: RunContext) -> Outcome:
        try:
            value = parsed(output)
        except FencedJSON as error:
            advice = "assert contains_json where it may, or ask the model for JSON alone"
            return Outcome(False, f"Output is not JSON: {error}; {advice}")
        except ValueError as error:
            return Outcome(False, f"Output is not JSON: {error}")
        return Outcome(True, "Output is JSON") if self._wants_json_alone else self._found_in(value)


class ContainsJSONAssertion(_AboutJSON):
    """A JSON object or list is in the output, as in a code fence or a sentence, and is as `json` wants it."""

    type: Literal["contains_json", "not_contains_json"] = "contains_json"

    def check(self, output: str, context: RunContext) -> Outcome:
        first: Outcome | None = None
        for value in json_values_in(output):
            if self._wants_json_alone:
                return Outcome(True, "Output contains JSON")
            outcome = self._found_in(value, "JSON in the output")
            if outcome.holds:
                return outcome
            first = first or outcome
        return first or Outcome(False, f"Output contains no JSON object or list: {quoted(output)}")


def _fits(json_schema: dict[str, Any], value: Any, what: str) -> Outcome:
    try:
        problems = list(schemas.violations(json_schema, value, called="", strict=True))
    except (ArithmeticError, RecursionError, ValueError) as error:  # a schema without end, an invalid address
        return Outcome(None, f"{what} cannot be checked by the schema: {reported_error(error)}")
    if not problems:
        return Outcome(True, f"{what} is JSON that fits the schema" if what == "Output" else f"{what} fits the schema")
    listed = "; ".join(shorten_name(problem.lstrip(".: "), 200) for problem in problems[:3])
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return Outcome(False, f"{what} breaks the schema: {listed}{more}")


def _all_quoted(texts: Sequence[str]) -> str:
    return ", ".join(quoted(text, 60) for text in texts)


def _difference(value: str, output: str) -> str:
    """A text, and from where on the output is another."""
    value, output = redacted(value), redacted(output)
    pairs = zip(value, output, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(value), len(output)))
    if same <= SHOWN // 2:
        return f"{quoted(value)}, it is {quoted(output)}"
    start = same - 20
    there, wanted = quoted(f"…{output[start:]}", 60), quoted(f"…{value[start:]}", 60)
    return f"{quoted(value, 60)}: from character {same + 1:,} it is {there}, not {wanted}"
