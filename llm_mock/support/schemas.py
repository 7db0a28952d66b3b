"""JSON schemas: names and validation. `jsonschema` is imported on first use."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeGuard

from llm_mock.errors import InvalidReply
from llm_mock.support.formats import EXAMPLES, get_format_checker
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import described, suggest_nearest

if TYPE_CHECKING:
    from jsonschema import ValidationError

_generated: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def get_schema_name(schema: Any) -> str | None:
    """Return the name of a schema in replies and in the history; None for None or an empty dict.

    The name of a pydantic class is its title. The name of a JSON schema is its `title`, or else its
    content. A text is already a name.
    """
    if not schema:
        return None
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        __tracebackhide__ = True
        if not _is_pydantic_class(schema):
            expected = "a pydantic class, a JSON-schema dict, or the name of one"
            raise InvalidReply(f"This is not a schema: {described(schema)}. Pass {expected}.")
        schema = to_json_schema(schema)
    definitions = schema.get("$defs")
    # The schema of a recursive class is only a reference to its definition.
    target = None
    if isinstance(definitions, dict):
        reference = str(schema.get("$ref"))
        target = definitions.get(reference.rpartition("/")[2])
    for part in (schema, target):
        if isinstance(part, dict):
            title = part.get("title")
            if isinstance(title, str):
                return title
    return json.dumps(schema, sort_keys=True, default=repr)


def _is_pydantic_class(schema: object) -> TypeGuard[Any]:
    # Checked by its method, because importing pydantic is slow.
    return isinstance(schema, type) and hasattr(schema, "model_json_schema")


def to_json_schema(schema: object) -> Any:
    """Return a new dict with the JSON schema of a pydantic class; any other value as it is."""
    if not _is_pydantic_class(schema):
        return schema
    # Cached as text, because generating it takes far longer than the rest of a mocked call.
    if schema not in _generated:
        _generated[schema] = json.dumps(schema.model_json_schema())
    return json.loads(_generated[schema])


def find_schema_problem(schema: JSONObject) -> str | None:
    """Return why a JSON schema is invalid, on one line; None for a valid one."""
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema.get("$schema", ""), str):
        return "$schema: must be a text"
    try:
        loaded = json.loads(json.dumps(schema))
        _validator_class(loaded).check_schema(loaded)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it contains a value that is not JSON ({error})"
    except SchemaError as error:
        where = _format_path(error.absolute_path).removeprefix(".")
        if where:
            return f"{where}: {error.message}"
        return str(error.message)
    return None


def find_violations(
    schema: JSONObject,
    value: object,
    called: str = "the answer",
    *,
    strict: bool = False,
    checks_formats: bool = False,
) -> Iterator[str]:
    """Yield a line for each violation of a schema by a JSON value.

    An invalid schema has no violations.

    Args:
        schema: the JSON schema.
        value: the value.
        called: the name of the value in messages.
        strict: whether a reference to another address is a violation; it is never followed.
        checks_formats: whether a text that does not match its `format` is a violation.
    """
    validator, unresolvable = get_validator(json.dumps(schema), checks_formats)
    if validator is None:
        return
    try:
        errors = sorted(
            validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path))
        )
    except unresolvable as unfollowed:
        if strict:
            reference = getattr(unfollowed, "ref", "")
            yield f"{called}: the schema refers to {reference!r}, which is not in it"
        return
    for error in errors:
        place = called + _format_path(error.absolute_path)
        yield f"{place}: {_describe_error(error)}"


def _describe_error(error: ValidationError) -> str:
    """Return the message of an error, with a hint at the fix if there is one."""
    wrong_format = _find_format_error(error)
    if wrong_format is None:
        return f"{error.message}{_suggest_property(error)}"
    name = str(wrong_format.validator_value)
    example = EXAMPLES[name]
    return f"{wrong_format.message}, for example {example!r}"


def _find_format_error(error: ValidationError) -> ValidationError | None:
    """Return the error of a text with a wrong format, which may be nested in a union."""
    if error.validator == "format":
        return error
    # `date | None` is a union, whose own message does not name the format.
    if error.validator not in ("anyOf", "oneOf"):
        return None
    choices = [choice for choice in error.context if choice.validator == "format"]
    if len(choices) != 1:
        return None
    # The text must be the value itself, not a part of it.
    [choice] = choices
    if choice.absolute_path != error.absolute_path:
        return None
    return choice


def _suggest_property(error: Any) -> str:
    """Return a remark about a key that may be a misspelt missing property; empty without one."""
    if error.validator != "required":
        return ""
    # Each missing property has its own error, which names it only in the message.
    missing = [name for name in error.validator_value if error.message.startswith(repr(name))]
    # A required key may have no schema of its own.
    known = {*error.schema.get("properties", {}), *error.validator_value}
    unknown = [name for name in error.instance if name not in known]
    for name in unknown:
        nearest = suggest_nearest(name, missing)
        if nearest:
            return f", but {name!r} was given{nearest}"
    # A single unknown key is probably meant as the single missing property.
    if len(unknown) == 1 and len(set(error.validator_value) - set(error.instance)) == 1:
        return f", but {unknown[0]!r} was given"
    return ""


def find_text_violations(schema: JSONObject, text: str) -> tuple[str, ...]:
    """Return a line for each violation of a schema by the text of a scripted answer."""
    return _text_violations(json.dumps(schema), text)


@functools.lru_cache
def _text_violations(schema: str, text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return (f"the text is not JSON: {error}",)
    return tuple(find_violations(json.loads(schema), value, checks_formats=True))


@functools.lru_cache
def get_validator(schema: str, checks_formats: bool = False) -> tuple[Any, type[Exception]]:
    """Return a validator (None for an invalid schema) and its exception for unknown references."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    loaded = json.loads(schema)
    validator = _validator_class(loaded)
    try:
        validator.check_schema(loaded)
    except SchemaError:
        return None, Unresolvable
    checker = None
    # Most schemas have no format, so they need no checker.
    if checks_formats and '"format"' in schema:
        checker = get_format_checker()
    # Without an explicit registry, the validator would load references from the network.
    return validator(loaded, registry=Registry(), format_checker=checker), Unresolvable


def _validator_class(schema: Any) -> Any:
    """Return the validator class for the draft of a schema; the latest one for unknown drafts."""
    from jsonschema.validators import Draft202012Validator, validator_for

    return validator_for(schema, default=Draft202012Validator)


def _format_path(path: Iterable[str | int]) -> str:
    steps = []
    for step in path:
        if isinstance(step, int):
            steps.append(f"[{step}]")
        else:
            steps.append(f".{step}")
    return "".join(steps)
