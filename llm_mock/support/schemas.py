"""JSON schemas: names and validation. `jsonschema` is imported on first use."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from llm_mock.errors import InvalidReply
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import described, suggest_nearest

_generated: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def get_schema_name(schema: Any) -> str | None:
    """Return the name of a schema in replies and in the history; None for None or an empty dict.

    A pydantic class is named by its title, and a JSON schema by its `title` or its content. A text
    is a name already.
    """
    if not schema:
        return None
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        __tracebackhide__ = True
        if not _is_pydantic_class(schema):
            expected = "a pydantic class, a JSON-schema dict, or the name of one"
            raise InvalidReply(f"This is not a schema: {described(schema)}. Give {expected}.")
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
    # Recognised by its method, as importing pydantic takes long.
    return isinstance(schema, type) and hasattr(schema, "model_json_schema")


def to_json_schema(schema: object) -> Any:
    """Return a new dict with the JSON schema of a pydantic class; any other value as it is."""
    if not _is_pydantic_class(schema):
        return schema
    # Kept as text, because generating it takes far longer than the rest of a mocked call.
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
        return f"it holds what is no JSON ({error})"
    except SchemaError as error:
        where = _format_path(error.absolute_path).removeprefix(".")
        if where:
            return f"{where}: {error.message}"
        return str(error.message)
    return None


def find_violations(
    schema: JSONObject, value: object, called: str = "the answer", *, strict: bool = False
) -> Iterator[str]:
    """Yield a line for each violation of a schema by a JSON value.

    An invalid schema has no violations.

    Args:
        schema: the JSON schema.
        value: the value.
        called: the name of the value in messages.
        strict: whether a reference to another address, which is never followed, is a violation.
    """
    validator, unresolvable = get_validator(json.dumps(schema))
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
        hint = _suggest_property(error)
        yield f"{called}{_format_path(error.absolute_path)}: {error.message}{hint}"


def _suggest_property(error: Any) -> str:
    """Return which key of an object may be a missing property, misspelt; or nothing."""
    if error.validator != "required":
        return ""
    known = error.schema.get("properties", {})
    # Each missing property has an error of its own, which names it in its message alone.
    missing = [name for name in error.validator_value if error.message.startswith(repr(name))]
    unknown = [name for name in error.instance if name not in known]
    for name in unknown:
        nearest = suggest_nearest(name, missing)
        if nearest:
            return f", but {name!r} was given{nearest}"
    # The only unknown key is probably meant for the only property that is missing.
    if len(unknown) == 1 and len(set(error.validator_value) - set(error.instance)) == 1:
        return f", but {unknown[0]!r} was given"
    return ""


def find_text_violations(schema: JSONObject, text: str) -> tuple[str, ...]:
    """Return a line for each violation of a schema by the text of an answer."""
    return _text_violations(json.dumps(schema), text)


@functools.lru_cache
def _text_violations(schema: str, text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return (f"the text is not JSON: {error}",)
    return tuple(find_violations(json.loads(schema), value))


@functools.lru_cache
def get_validator(schema: str) -> tuple[Any, type[Exception]]:
    """Return a validator, None for an invalid schema, and its exception for unknown references."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    loaded = json.loads(schema)
    validator = _validator_class(loaded)
    try:
        validator.check_schema(loaded)
    except SchemaError:
        return None, Unresolvable
    # Without a registry of its own, the validator would fetch references from the network.
    return validator(loaded, registry=Registry()), Unresolvable


def _validator_class(schema: Any) -> Any:
    """Return the validator class for the draft of a schema; the newest for an unknown draft."""
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
