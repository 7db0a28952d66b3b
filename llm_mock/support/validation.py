"""Messages about invalid data in a file, for the author of the file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, NamedTuple

import pydantic
from pydantic import ConfigDict

from llm_mock.support.numbers import LONGEST
from llm_mock.support.text import shorten, suggest_name, suggest_nearest

Whole = Annotated[int, pydantic.Field(strict=True)]
"""A whole number in a file; true is none, as it would be for pydantic."""
Number = Annotated[float, pydantic.Field(strict=True, allow_inf_nan=False)]
"""A finite number in a file."""
Seconds = Annotated[Number, pydantic.Field(gt=0, le=LONGEST)]
"""A time limit in a file."""
Text = Annotated[str, pydantic.Field(pattern=r"\S")]
"""A text in a file that is more than spaces."""
Location = Sequence[str | int]
"""Keys and positions that lead to a part of a file."""
QUOTABLE = (bool, int, float, datetime.date)
"""The types that YAML reads from a text without quotes."""
SHOWN_NUMBER = 10**20
EXTENSION = "x-"

_WANTED = {
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
    """A whole file: keys at its top that begin with `x-` are the author's own, such as what
    anchors stand in."""

    model_config = ConfigDict(json_schema_extra={"patternProperties": {f"^{EXTENSION}": {}}})

    @pydantic.model_validator(mode="before")
    @classmethod
    def _without_extensions(cls, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: value for key, value in data.items() if not is_extension(key)}
        return data


def is_extension(key: Any) -> bool:
    """Return whether a key at the top of a file is an extension of its author."""
    return isinstance(key, str) and key.startswith(EXTENSION)


class Problem(NamedTuple):
    """One problem in a file."""

    location: tuple[str | int, ...]
    text: str
    names_place: bool
    """Whether the text itself names the last key of the location."""


def list_problems(error: pydantic.ValidationError, schema: dict[str, Any]) -> Iterator[Problem]:
    """Yield the problems of a pydantic error.

    Args:
        error: the error.
        schema: the JSON schema of the pydantic model.
    """
    for found in error.errors(include_url=False):
        steps = [
            "(key)" if step == "[key]" else step
            for step in found["loc"]
            if isinstance(step, (str, int))
        ]
        yield _problem(found, steps, schema)


def _problem(found: Any, steps: list[str | int], schema: dict[str, Any]) -> Problem:
    kind = found["type"]
    if kind == "extra_forbidden":
        location, parts = _followed(steps[:-1], schema)
        known = [name for part in parts for name in part.get("properties", {})]
        return Problem(
            (*location, steps[-1]),
            f"unknown key {steps[-1]!r}{suggest_name(str(steps[-1]), known)}",
            True,
        )
    location, parts = _followed(steps, schema)
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        return _unknown_tag(found["input"], location, parts)
    if kind == "missing":
        return Problem(location, f"{location[-1]!r} is missing", True)
    return Problem(location, _text(found), False)


def _unknown_tag(given: Any, location: tuple[str | int, ...], parts: Sequence[Any]) -> Problem:
    union = next(part["discriminator"] for part in parts if "discriminator" in part)
    key, known = union["propertyName"], list(union["mapping"])
    if isinstance(given, dict):
        there = given.get(key)
    else:
        there = None
    if isinstance(there, str):
        near = suggest_nearest(there, known)
    else:
        near = ""
    if there is None:
        problem = f"{key!r} is missing"
    else:
        problem = f"unknown {key} {describe_data(there)}{near}"
    return Problem(
        (*location, key), f"{problem}{' Known' if near else '; known'} are {', '.join(known)}", True
    )


def _text(found: Any) -> str:
    kind, given = found["type"], found["input"]
    if kind in _WANTED:
        if _WANTED[kind] == "text" and isinstance(given, QUOTABLE):
            in_quotes = "; put it in quotes"
        else:
            in_quotes = ""
        return f"should be {_WANTED[kind]}, not {describe_data(given)}{in_quotes}"
    if kind == "literal_error":
        return f"should be {found['ctx']['expected']}, not {describe_data(given)}"
    if kind in _LIMITS:
        return _LIMITS[kind](found["ctx"])
    if kind == "value_error":
        return str(found["ctx"]["error"])
    return str(found["msg"][:1].lower() + found["msg"][1:])


def describe_data(value: Any) -> str:
    """Return a value in the notation of its file."""
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: ".inf", -math.inf: "-.inf"}.get(value, ".nan")
    if isinstance(value, (int, float)):
        if isinstance(value, float) or abs(value) < SHOWN_NUMBER:
            return f"the number {value}"
        return "a number"
    if isinstance(value, str):
        return shorten(value, 60)
    names = {
        datetime.date: "a date",
        dict: "a mapping",
        list: "a list",
        bytes: "binary data",
        set: "a set",
    }
    return next(
        (name for kind, name in names.items() if isinstance(value, kind)),
        f"a {type(value).__name__}",
    )


def _followed(
    steps: Sequence[str | int], schema: dict[str, Any]
) -> tuple[tuple[str | int, ...], list[Any]]:
    """Return the location in the file for steps of pydantic, and the schemas that apply there.

    Where a key such as `type` says which of several forms a part has, pydantic has a step of its
    own for the form.
    """
    definitions = schema.get("$defs", {})
    location: tuple[str | int, ...] = ()
    parts = _alternatives(schema, definitions)
    for step in steps:
        forms = [part["discriminator"]["mapping"] for part in parts if "discriminator" in part]
        form = next((mapping[step] for mapping in forms if step in mapping), None)
        if form is not None:
            parts = _alternatives({"$ref": form}, definitions)
        else:
            location = (*location, step)
            inside = [found for part in parts if (found := _inside(part, step)) is not None]
            parts = [part for found in inside for part in _alternatives(found, definitions)]
    return location, parts


def _alternatives(schema: Any, definitions: Any) -> list[Any]:
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rsplit("/", 1)[-1]]
    if "anyOf" not in schema:
        return [schema]
    return [part for branch in schema["anyOf"] for part in _alternatives(branch, definitions)]


def _inside(schema: Any, step: str | int) -> Any:
    if isinstance(step, int):
        return schema.get("items")
    return schema.get("properties", {}).get(step)
