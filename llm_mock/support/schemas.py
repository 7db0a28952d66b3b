"""JSON schemas: their names, and whether an answer keeps them. `jsonschema` is imported when one
is checked."""

from __future__ import annotations

import functools
import json
import weakref
from collections.abc import Iterator
from typing import Any, cast

from llm_mock.errors import InvalidReply
from llm_mock.support.text import described

_generated: weakref.WeakKeyDictionary[type, str] = weakref.WeakKeyDictionary()


def schema_name(schema: Any) -> str | None:
    """The name by which replies and the history know a schema; None and an empty dict are no
    schema.

    Of a pydantic class it is the title, of a JSON-schema dict its `title` or else its content; a
    name is its own.
    """
    if not schema:
        return None
    if isinstance(schema, str):
        return schema
    if not isinstance(schema, dict):
        __tracebackhide__ = True
        if not (isinstance(schema, type) and hasattr(schema, "model_json_schema")):
            wanted = "a pydantic class, a JSON-schema dict, or the name of one"
            raise InvalidReply(f"This is not a schema: {described(schema)}. Give {wanted}.")
        schema = json_schema(schema)
    reference, definitions = str(schema.get("$ref")).rpartition("/")[2], schema.get("$defs")
    itself = (
        definitions.get(reference) if isinstance(definitions, dict) else None
    )  # as a recursive class refers to
    for part in (schema, itself):
        if isinstance(part, dict) and isinstance(part.get("title"), str):
            return cast("str", part["title"])
    return json.dumps(schema, sort_keys=True, default=repr)


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
    """What is wrong with a JSON value according to a schema, a line for each problem; `called`
    names the value.

    An invalid schema finds nothing wrong. References to another address are not followed; with
    `strict` that is wrong.
    """
    validator, unresolvable = validator_of(json.dumps(schema))
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
    """What validates by a JSON schema, None where it is no valid one; and what it raises where it
    cannot follow it."""
    from jsonschema.exceptions import SchemaError
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    loaded = json.loads(schema)
    validator = _validator_class(loaded)
    try:
        validator.check_schema(loaded)
    except SchemaError:
        return None, Unresolvable
    return validator(
        loaded, registry=Registry()
    ), Unresolvable  # without one of its own it would ask the network


def _validator_class(schema: Any) -> Any:
    """What validates by the draft that a schema names; by the newest where it names none that is
    known."""
    from jsonschema.validators import Draft202012Validator, validator_for

    return validator_for(schema, default=Draft202012Validator)


def _path(path: Any) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
