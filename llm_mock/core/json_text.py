"""Serialization of structured replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from llm_mock.errors import InvalidReply
from llm_mock.support.text import described

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSON


def to_json_text(value: object) -> str:
    """Return the JSON of a structured reply, which may contain pydantic instances.

    Raises:
        InvalidReply: a value cannot be converted to JSON.
    """
    __tracebackhide__ = True
    try:
        return json.dumps(value, ensure_ascii=False, default=_dump, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidReply(_explain_not_json(value, error)) from None


def is_json(value: object) -> bool:
    """Return whether a value survives a round trip through JSON."""
    try:
        return bool(json.loads(json.dumps(value, allow_nan=False)) == value)
    except (TypeError, ValueError, RecursionError):
        return False


def _dump(value: Any) -> JSON:
    if hasattr(type(value), "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    raise TypeError


def _explain_not_json(value: object, error: Exception) -> str:
    """Return a message about the first part that cannot be converted to JSON."""
    message = find_invalid_part(value, "reply")
    return message or f"The structured reply cannot be converted to JSON: {error}."


def find_invalid_part(value: object, name: str) -> str:
    """Return a message about the first part of a value that is not JSON; empty without one.

    Args:
        value: the value.
        name: the name of the value in the message.
    """
    for path, item in _iter_leaves(value, name, 0):
        if not (item is None or isinstance(item, (str, int, float)) or hasattr(item, "model_dump")):
            # Imported here, because few replies are wrong.
            from llm_mock.core.reply_mistakes import explain_unawaited

            advice = explain_unawaited(item) or (
                "Convert it to a str, int, float, bool, None, or a dict or list of these."
            )
            return f"{path} is not a JSON value: {described(item)}. {advice}"
    return ""


def _iter_leaves(value: object, path: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the path and value of each invalid key and of each part that is not a container."""
    # A value may contain itself.
    if depth > 50:
        return
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key is not None and not isinstance(key, (str, int, float)):
                yield f"A key of {path}", key
            yield from _iter_leaves(item, f"{path}[{key!r}]", depth + 1)
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _iter_leaves(item, f"{path}[{index}]", depth + 1)
    else:
        yield path, value
