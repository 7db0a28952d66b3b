"""JSON schemas: their names, and whether an answer keeps them. `jsonschema` is imported when one is checked.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator
from typing import Any, cast

from llm_mock import explain
from llm_mock.errors import InvalidReply

_generated: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def schema_name(schema: Any) -> str | None:
    """The name by which replies and the history know a schema.

    Args:
        schema: a pydantic class (its title, which is the class name unless the class says otherwise), a JSON-schema
            dict (its `title`, else its content), or such a name. None or an empty dict is no schema.
    """
    if not schema:
        return None
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        __tracebackhide__ = True
        if not (isinstance(schema, type) and hasattr(schema, "model_json_schema")):
            raise InvalidReply(explain.no_schema(schema))
        schema = json_schema(schema)
    for described in (schema, _referred_to(schema)):
        if isinstance(described.get("title"), str):
            return cast("str", described["title"])
    return json.dumps(schema, sort_keys=True, default=repr)


def _referred_to(schema: dict[str, Any]) -> dict[str, Any]:
    """What the schema of a recursive class refers to: itself, among its definitions."""
    reference = schema.get("$ref")
    definitions = schema.get("$defs")
    if not isinstance(reference, str) or not isinstance(definitions, dict):
        return {}
    found = definitions.get(reference.rsplit("/", 1)[-1])
    return found if isinstance(found, dict) else {}


def json_schema(schema: Any) -> Any:
    """The JSON schema of a pydantic class, a fresh dict; anything else as it is.

    `llm` generates it anew for each call, which takes far longer than the rest of a mocked call.
    """
    if not isinstance(schema, type) or not hasattr(schema, "model_json_schema"):
        return schema
    if schema not in _generated:
        _generated[schema] = json.dumps(schema.model_json_schema())
    return json.loads(_generated[schema])


def problem_of(schema: dict[str, Any]) -> str | None:
    """Why a JSON schema is no valid one, on a line; None where it is."""
    from jsonschema.exceptions import SchemaError

    if not isinstance(schema.get("$schema", ""), str):
        return "$schema: it is no text"
    try:
        loaded = json.loads(json.dumps(schema))
        _validator_class(loaded).check_schema(loaded)
    except (TypeError, ValueError, RecursionError) as error:
        return f"it holds what is no JSON ({error})"
    except SchemaError as error:
        where = _path(error.absolute_path).removeprefix(".")
        return f"{where}: {error.message}" if where else str(error.message)
    return None


def violations(
    schema: dict[str, Any], value: Any, called: str = "the answer", *, strict: bool = False
) -> Iterator[str]:
    """What is wrong with a value according to a JSON schema, a line for each problem: where, what, and the rule.

    Args:
        schema: the JSON schema. One that is no valid schema finds nothing wrong; one that refers to another address
            is not followed there.
        value: any JSON value.
        called: what the lines call the value.
        strict: what cannot be followed is wrong too.
    """
    validator, unresolvable = validator_of(json.dumps(schema))
    if validator is None:
        return
    try:
        errors = sorted(validator.iter_errors(value), key=lambda error: list(map(str, error.absolute_path)))
    except unresolvable as unfollowed:
        if strict:
            yield f"{called}: the schema refers to {getattr(unfollowed, 'ref', '')!r}, which is not in it"
        return
    for error in errors:
        yield f"{called}{_path(error.absolute_path)}: {error.message}"


def text_violations(schema: dict[str, Any], text: str) -> tuple[str, ...]:
    """What is wrong with the text of an answer to a call that asked for a schema."""
    return _text_violations(json.dumps(schema), text)


@functools.lru_cache(maxsize=256)
def _text_violations(schema: str, text: str) -> tuple[str, ...]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        return (f"the text is no JSON: {error}",)
    return tuple(violations(json.loads(schema), value))


@functools.lru_cache(maxsize=256)
def validator_of(schema: str) -> tuple[Any, type[Exception]]:
    """What validates by a JSON schema, None where it is no valid one; and what it raises where it cannot follow it."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    loaded = json.loads(schema)
    validator = _validator_class(loaded)
    try:
        validator.check_schema(loaded)
    except SchemaError:
        return None, Unresolvable
    return validator(loaded, registry=Registry()), Unresolvable  # without one of its own it would ask the network


def _validator_class(schema: Any) -> Any:
    """What validates by the draft that a schema names; by the newest where it names none that is known."""
    from jsonschema.validators import Draft202012Validator, validator_for

    return validator_for(schema, default=Draft202012Validator)


def _path(path: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
