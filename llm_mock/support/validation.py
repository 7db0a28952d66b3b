"""Create messages about invalid data in a file, for the author of the file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import pydantic
from pydantic import ConfigDict

from llm_mock.support.json_types import JSONObject
from llm_mock.support.numbers import LONGEST
from llm_mock.support.text import shorten, suggest_name, suggest_nearest

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Whole = Annotated[int, pydantic.Field(strict=True)]
"""A whole number in a file; unlike in pydantic, `true` is not one."""
Number = Annotated[float, pydantic.Field(strict=True, allow_inf_nan=False)]
"""A finite number in a file."""
Seconds = Annotated[Number, pydantic.Field(gt=0, le=LONGEST)]
"""A time limit in a file."""
Text = Annotated[str, pydantic.Field(pattern=r"\S")]
"""A text in a file that is not empty or blank."""
Location = Sequence[str | int]
"""The keys and positions of a part of a file."""
QUOTABLE = (bool, int, float, datetime.date)
"""The types that YAML may read from a text without quotes."""
SHOWN_NUMBER = 10**20
"""The limit from which messages omit a whole number."""
SYNONYMS = "x-synonyms"
"""The key in the schema of a field for wrong names that people often write."""
EXTENSION = "x-"
Schema = JSONObject
"""A JSON schema."""

_TYPE_NAMES: dict[type, str] = {
    datetime.date: "a date",
    dict: "a mapping",
    list: "a list",
    bytes: "binary data",
    set: "a set",
}

_EXPECTED = {
    **dict.fromkeys(("string_type", "string_unicode"), "text"),
    **dict.fromkeys(
        ("int_type", "int_parsing", "int_from_float", "int_parsing_size"), "a whole number"
    ),
    **dict.fromkeys(("float_type", "float_parsing"), "a number"),
    "finite_number": "a finite number",
    **dict.fromkeys(("bool_type", "bool_parsing"), "true or false"),
    **dict.fromkeys(("tuple_type", "list_type"), "a list"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "model_attributes_type"),
        "a mapping (key: value)",
    ),
}
_LIMITS: dict[str, Callable[[Any], str]] = {
    "greater_than": lambda limits: f"should be more than {limits['gt']:g}",
    "greater_than_equal": lambda limits: f"should be at least {limits['ge']:g}",
    "less_than": lambda limits: f"should be less than {limits['lt']:g}",
    "less_than_equal": lambda limits: f"should be at most {limits['le']:,g}",
    **dict.fromkeys(
        ("too_short", "string_too_short", "string_pattern_mismatch"),
        lambda _: "should not be empty",
    ),
}


class WithExtensions(pydantic.BaseModel):
    """A file in which top-level keys with the prefix `x-` are ignored.

    Authors use such keys for parts with YAML anchors.
    """

    model_config = ConfigDict(json_schema_extra={"patternProperties": {f"^{EXTENSION}": {}}})

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_extensions(cls, data: object) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if not is_extension(key)}
        return data


def is_extension(key: object) -> bool:
    """Return whether a top-level key of a file is an extension of its author."""
    return isinstance(key, str) and key.startswith(EXTENSION)


class Problem(NamedTuple):
    """One problem in a file."""

    location: tuple[str | int, ...]
    text: str
    names_place: bool
    """Whether the text already names the last key of the location."""


def list_problems(error: pydantic.ValidationError, schema: Schema) -> Iterator[Problem]:
    """Yield the problems of a pydantic error.

    Args:
        error: the error.
        schema: the JSON schema of the pydantic model.
    """
    for details in error.errors():
        steps: list[str | int] = []
        for step in details["loc"]:
            # pydantic marks a problem of a key (not of its value) with this step.
            if step == "[key]":
                steps.append("(key)")
            elif isinstance(step, (str, int)):
                steps.append(step)
        yield _create_problem(details, steps, schema)


def _create_problem(
    details: ErrorDetails,
    steps: list[str | int],
    schema: Schema,
) -> Problem:
    kind = details["type"]
    if kind == "extra_forbidden":
        *owner, key = steps
        location, parts = _resolve_steps(owner, schema)
        text = f"unknown key {key!r}{_suggest_key(str(key), parts)}"
        return Problem((*location, key), text, True)
    location, parts = _resolve_steps(steps, schema)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _describe_unknown_tag(details["input"], location, parts)
    if kind == "missing":
        return Problem(location, f"{location[-1]!r} is missing", True)
    return Problem(location, _describe_problem(details), False)


def _suggest_key(key: str, parts: Iterable[Schema]) -> str:
    """Return the end of a message about an unknown key: the nearest key, or all keys."""
    known: list[str] = []
    for part in parts:
        for name, field in part.get("properties", {}).items():
            known.append(name)
            if key in field.get(SYNONYMS, ()):
                key = name
    return suggest_name(key, known)


def _describe_unknown_tag(
    data: object,
    location: tuple[str | int, ...],
    parts: Sequence[Schema],
) -> Problem:
    """Return the problem of a part whose `type` is missing or unknown."""
    union = next(part["discriminator"] for part in parts if "discriminator" in part)
    key = union["propertyName"]
    known = list(union["mapping"])
    tag = data.get(key) if isinstance(data, dict) else None
    if tag is None:
        problem = f"{key!r} is missing"
    else:
        problem = f"unknown {key} {describe_data(tag)}"
    separator = "; known"
    if isinstance(tag, str):
        suggestion = suggest_nearest(tag, known)
        if suggestion:
            # After a suggestion, which ends with a question mark, a new sentence begins.
            problem += suggestion
            separator = " Known"
    text = f"{problem}{separator} are {', '.join(known)}"
    return Problem((*location, key), text, True)


def _describe_problem(details: ErrorDetails) -> str:
    """Return a problem in the terms of the file, not of pydantic."""
    kind = details["type"]
    data = details["input"]
    context = details.get("ctx", {})
    if kind in _EXPECTED:
        expected = _EXPECTED[kind]
        text = f"should be {expected}, not {describe_data(data)}"
        if expected == "text" and isinstance(data, QUOTABLE):
            text += "; put it in quotes"
        return text
    if kind == "literal_error":
        return f"should be {context['expected']}, not {describe_data(data)}"
    if kind in _LIMITS:
        return _LIMITS[kind](context)
    if kind == "value_error":
        return str(context["error"])
    message = details["msg"]
    return message[:1].lower() + message[1:]


def describe_data(value: object) -> str:
    """Return a value in the notation of its file."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return _describe_number(value)
    if isinstance(value, str):
        return shorten(value, 60)
    # A datetime is a date, too.
    for kind, name in _TYPE_NAMES.items():
        if isinstance(value, kind):
            return name
    return f"a {type(value).__name__}"


def _describe_number(value: float) -> str:
    if isinstance(value, float):
        # YAML has its own names for these.
        if math.isnan(value):
            return ".nan"
        if math.isinf(value):
            return ".inf" if value > 0 else "-.inf"
    elif abs(value) >= SHOWN_NUMBER:
        return "a number"
    return f"the number {value}"


def _resolve_steps(
    steps: Sequence[str | int],
    schema: Schema,
) -> tuple[tuple[str | int, ...], list[Schema]]:
    """Return the location in the file for steps of pydantic, and the schemas that apply there.

    If a key such as `type` selects one of several forms of a part, pydantic adds a step for the
    form, which is not in the file.
    """
    definitions = schema.get("$defs", {})
    location: tuple[str | int, ...] = ()
    parts = _list_alternatives(schema, definitions)
    for step in steps:
        form = _find_form(parts, step)
        if form is not None:
            parts = _list_alternatives({"$ref": form}, definitions)
            continue
        location = (*location, step)
        children: list[Schema] = []
        for part in parts:
            child = _get_child(part, step)
            if child is not None:
                children += _list_alternatives(child, definitions)
        parts = children
    return location, parts


def _find_form(parts: Sequence[Schema], step: str | int) -> str | None:
    """Return the reference of the form that a step of pydantic names; None without one."""
    for part in parts:
        if "discriminator" in part:
            mapping: dict[str | int, str] = part["discriminator"]["mapping"]
            if step in mapping:
                return mapping[step]
    return None


def _list_alternatives(schema: Schema, definitions: Mapping[str, Schema]) -> list[Schema]:
    """Return the alternative schemas of a part, with references resolved."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        schema = definitions[name]
    if "anyOf" not in schema:
        return [schema]
    alternatives: list[Schema] = []
    for branch in schema["anyOf"]:
        alternatives += _list_alternatives(branch, definitions)
    return alternatives


def _get_child(schema: Schema, step: str | int) -> Schema | None:
    """Return the schema of an item, or of the value of a key."""
    child: Schema | None
    if isinstance(step, int):
        child = schema.get("items")
    else:
        child = schema.get("properties", {}).get(step)
    return child
