"""Check the JSON schemas of tools and structured outputs in the same way as OpenAI."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Path = tuple[str, ...]
_MAPS = ("properties", "$defs", "definitions")
"""The fields of a schema that contain named schemas."""
_LISTS = ("anyOf", "prefixItems")
"""The fields of a schema that contain lists of schemas."""


def find_strict_problem(schema: dict[str, Any]) -> str | None:
    """Return OpenAI's message for an invalid strict schema; None for a valid one.

    Every object in it must list all of its properties as required, and allow no others.
    See https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    for path, part in _walk(schema, ()):
        problem = _find_object_problem(part) or _find_array_problem(part)
        if problem is not None:
            return f"In context={_format_path(path)}, {problem}"
    return None


def find_array_problem(schema: dict[str, Any]) -> str | None:
    """Return OpenAI's message for an array without `items`, or None."""
    for path, part in _walk(schema, ()):
        problem = _find_array_problem(part)
        if problem is not None:
            return f"In context={_format_path(path)}, {problem}"
    return None


def _find_object_problem(schema: dict[str, Any]) -> str | None:
    properties = schema.get("properties")
    is_object = schema.get("type") == "object" or isinstance(properties, dict)
    if not is_object:
        return None
    if schema.get("additionalProperties") is not False:
        return "'additionalProperties' is required to be supplied and to be false."
    required = schema.get("required")
    names = list(properties) if isinstance(properties, dict) else []
    listed = required if isinstance(required, list) else []
    missing = [name for name in names if name not in listed]
    if missing:
        return (
            "'required' is required to be supplied and to be an array including every key in "
            f"properties. Missing '{missing[0]}'."
        )
    return None


def _find_array_problem(schema: dict[str, Any]) -> str | None:
    has_items = "items" in schema or "prefixItems" in schema
    if schema.get("type") == "array" and not has_items:
        return "array schema missing items."
    return None


def _walk(schema: Any, path: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield a schema and all nested schemas, each with its path."""
    if not isinstance(schema, dict):
        return
    yield path, schema
    for name in _MAPS:
        children = schema.get(name)
        if isinstance(children, dict):
            for key, child in children.items():
                yield from _walk(child, (*path, name, str(key)))
    for name in _LISTS:
        items = schema.get(name)
        if isinstance(items, list):
            for index, item in enumerate(items):
                yield from _walk(item, (*path, name, str(index)))
    yield from _walk(schema.get("items"), (*path, "items"))


def _format_path(path: Path) -> str:
    """Format a path as a Python tuple, as OpenAI does."""
    return repr(path)
