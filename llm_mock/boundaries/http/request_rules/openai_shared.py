"""Rules that OpenAI's Chat Completions and Responses share."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.error_formats import VALUE_TERMS
from llm_mock.boundaries.http.request_rules.json_schemas import (
    find_array_problem,
    find_strict_problem,
)
from llm_mock.boundaries.http.request_rules.openai_errors import (
    make_choice_error,
    make_error,
    make_missing_error,
    make_range_error,
)
from llm_mock.boundaries.http.request_rules.rule import Check, Rule, Violation

if TYPE_CHECKING:
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.boundaries.http.wire_error import WireError

FUNCTION_GUIDE = "https://platform.openai.com/docs/guides/function-calling"
SCHEMA_GUIDE = "https://platform.openai.com/docs/guides/structured-outputs#supported-schemas"
JSON_GUIDE = "https://platform.openai.com/docs/guides/structured-outputs#json-mode"
REASONING_GUIDE = "https://platform.openai.com/docs/guides/reasoning"
NAME_PATTERN = "^[a-zA-Z0-9_-]+$"
LONGEST_NAME = 64
MOST_METADATA = 16
LONGEST_KEY = 64
LONGEST_VALUE = 512

OUT_OF_RANGE = Rule(
    "number-out-of-range",
    "a number outside the range of its parameter",
    "https://github.com/openai/openai-openapi: minimum and maximum",
)
UNKNOWN_VALUE = Rule(
    "unknown-value",
    "a value that its parameter does not support",
    "https://github.com/openai/openai-openapi: enum",
)
TOOL_WITHOUT_NAME = Rule(
    "tool-without-name",
    "a tool, a tool choice or a response format without a name",
    "https://github.com/openai/openai-openapi: FunctionObject.required",
)
TOOL_NAME = Rule(
    "tool-name",
    "a tool or a response format with more than 64 characters in its name, or with characters "
    "other than letters, digits, _ and -",
    "https://github.com/openai/openai-openapi: FunctionObject.name",
)
TOOL_SCHEMA = Rule(
    "tool-schema",
    "tool parameters that are not an object, or that have an array without items",
    FUNCTION_GUIDE,
)
STRICT_SCHEMA = Rule(
    "strict-schema",
    "a strict schema that allows additional properties or has optional properties",
    SCHEMA_GUIDE,
)
JSON_WORD = Rule(
    "json-word",
    "the format json_object when no message contains the word JSON",
    JSON_GUIDE,
)
TOOL_CHOICE = Rule(
    "tool-choice",
    "a tool choice for an unknown tool, or without tools",
    FUNCTION_GUIDE,
)
REASONING_MODEL = Rule(
    "reasoning-model",
    "a parameter that reasoning models do not support, such as temperature",
    REASONING_GUIDE,
)
MODEL_FEATURE = Rule(
    "model-feature",
    "a feature that the model lacks: tools, images, JSON schemas, web search, or reasoning",
    "https://platform.openai.com/docs/models",
)
UNKNOWN_PARAMETER = Rule(
    "unknown-parameter",
    "a parameter that does not exist",
    "https://github.com/openai/openai-openapi: properties of the request",
)
METADATA = Rule(
    "metadata",
    "metadata with more than 16 keys, with values that are not strings, or with strings that are "
    "too long",
    "https://github.com/openai/openai-openapi: Metadata",
)
SHARED_RULES = (
    OUT_OF_RANGE,
    UNKNOWN_VALUE,
    TOOL_WITHOUT_NAME,
    TOOL_NAME,
    TOOL_SCHEMA,
    STRICT_SCHEMA,
    JSON_WORD,
    TOOL_CHOICE,
    REASONING_MODEL,
    MODEL_FEATURE,
    UNKNOWN_PARAMETER,
    METADATA,
)

_NAME = re.compile(NAME_PATTERN)


def make_range_check(
    field: str, minimum: float | None, maximum: float | None, is_integer: bool = False
) -> Check:
    """Return a check of a number's range.

    Args:
        field: the field at the top level of the body.
        minimum: the least number; None for no limit.
        maximum: the greatest number; None for no limit.
        is_integer: True if the field accepts only integers.
    """

    def check_range(request: HTTPRequest) -> Iterable[Violation]:
        value: Any = request.body[field]
        is_low = minimum is not None and value < minimum
        is_high = maximum is not None and value > maximum
        if not is_low and not is_high:
            return ()
        error = make_range_error(field, value, minimum, maximum, is_integer)
        return (Violation(OUT_OF_RANGE, error),)

    return check_range


def make_choice_check(field: str, choices: Sequence[str]) -> Check:
    """Return a check that a field has one of the supported values.

    Args:
        field: the field at the top level of the body.
        choices: the supported values.
    """

    def check_choice(request: HTTPRequest) -> Iterable[Violation]:
        value: Any = request.body[field]
        if value in choices:
            return ()
        return (Violation(UNKNOWN_VALUE, make_choice_error(value, choices, field)),)

    return check_choice


def join_checks(*checks: Check) -> Check:
    """Return a check that runs several checks of the same field."""

    def run_checks(request: HTTPRequest) -> Iterator[Violation]:
        for check in checks:
            yield from check(request)

    return run_checks


def check_metadata(request: HTTPRequest) -> Iterator[Violation]:
    """Yield the violations in the metadata."""
    metadata: Any = request.body["metadata"]
    if not isinstance(metadata, dict):
        return
    if len(metadata) > MOST_METADATA:
        message = (
            "Invalid 'metadata': too many properties. Expected an object with at most "
            f"{MOST_METADATA} properties, but got an object with {len(metadata)} properties "
            "instead."
        )
        error = make_error(message, "metadata", code="object_above_max_properties")
        yield Violation(METADATA, error)
    for key, value in metadata.items():
        problem = _find_metadata_error(key, value)
        if problem is not None:
            yield Violation(METADATA, problem)


def _find_metadata_error(key: str, value: object) -> WireError | None:
    """Return the error for a key and its value; None for a valid pair."""
    param = f"metadata.{key}"
    if len(key) > LONGEST_KEY:
        # Only the message shortens the key.
        message = (
            f"Invalid property name in 'metadata': '{key[:3]}...{key[-3:]}' is too long. Expected "
            f"a string with maximum length {LONGEST_KEY}, but got a string with length {len(key)} "
            "instead."
        )
        return make_error(message, param, code="property_name_above_max_length")
    if not isinstance(value, str):
        got = VALUE_TERMS.get(type(value), "an object")
        message = f"Invalid type for '{param}': expected a string, but got {got} instead."
        return make_error(message, param, code="invalid_type")
    if len(value) > LONGEST_VALUE:
        message = (
            f"Invalid '{param}': string too long. Expected a string with maximum length "
            f"{LONGEST_VALUE}, but got a string with length {len(value)} instead."
        )
        return make_error(message, param, code="string_above_max_length")
    return None


def check_name(name: object, param: str) -> Iterator[Violation]:
    """Yield the violation of the name of a tool or of a format.

    Args:
        name: the name, or None.
        param: its place in the body.
    """
    if name is None:
        yield Violation(TOOL_WITHOUT_NAME, make_missing_error(param))
    elif not isinstance(name, str):
        return
    elif not name:
        message = (
            f"Invalid '{param}': empty string. Expected a string with minimum length 1, but got "
            "an empty string instead."
        )
        yield Violation(TOOL_NAME, make_error(message, param, code="empty_string"))
    elif not _NAME.match(name):
        message = (
            f"Invalid '{param}': string does not match pattern. Expected a string that matches "
            f"the pattern '{NAME_PATTERN}'."
        )
        yield Violation(TOOL_NAME, make_error(message, param, code="invalid_value"))
    elif len(name) > LONGEST_NAME:
        message = (
            f"Invalid '{param}': string too long. Expected a string with maximum length "
            f"{LONGEST_NAME}, but got a string with length {len(name)} instead."
        )
        yield Violation(TOOL_NAME, make_error(message, param, code="string_above_max_length"))


def check_parameters(function: dict[str, Any], param: str) -> Iterator[Violation]:
    """Yield the violation of a function's parameters.

    Args:
        function: the function, which may be strict.
        param: the place of the parameters in the body.
    """
    schema = function.get("parameters")
    if not isinstance(schema, dict):
        return
    name = function.get("name")
    # A missing or empty schema means no parameters.
    kind = schema.get("type", "None") if schema else None
    rule = TOOL_SCHEMA
    if isinstance(kind, str) and kind != "object":
        problem: str | None = (
            f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
        )
    elif function.get("strict") is True:
        rule = STRICT_SCHEMA
        problem = find_strict_problem(schema)
    else:
        problem = find_array_problem(schema)
    if problem is not None:
        message = f"Invalid schema for function '{name}': {problem}"
        yield Violation(rule, make_error(message, param, code="invalid_function_parameters"))


def check_strict_format(
    schema_format: dict[str, Any], param: str, code: str | None
) -> Iterator[Violation]:
    """Yield the violation of a strict schema for the answer.

    Args:
        schema_format: the object with `name`, `schema` and `strict`.
        param: the place that the error names.
        code: the code of the error, which only Responses sends.
    """
    schema = schema_format.get("schema")
    if schema_format.get("strict") is not True or not isinstance(schema, dict):
        return
    kind = schema.get("type")
    problem: str | None
    if isinstance(kind, str) and kind != "object":
        problem = f"schema must be a JSON Schema of 'type: \"object\"', got 'type: \"{kind}\"'."
    else:
        problem = find_strict_problem(schema)
    if problem is not None:
        name = schema_format.get("name")
        message = f"Invalid schema for response_format '{name}': {problem}"
        yield Violation(STRICT_SCHEMA, make_error(message, param, code=code))


def contains_word_json(value: object) -> bool:
    """Return True if any text in a JSON value contains the word JSON, in any case."""
    if isinstance(value, str):
        return "json" in value.lower()
    if isinstance(value, dict):
        return any(contains_word_json(item) for item in value.values())
    if isinstance(value, list):
        return any(contains_word_json(item) for item in value)
    return False
