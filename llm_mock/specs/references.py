"""References to saved results: `${name}`, `${name.key.0}`; `$${name}` is the text `${name}`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from llm_mock.errors import UnknownReference
from llm_mock.specs import explain

_REFERENCE = re.compile(r"(\$?)\$\{([^{}]*)\}")
_FORM = re.compile(r"[^\W\d]\w*(?:\.[^.\s]+)*")


def resolved(value: Any, saved: Mapping[str, Any]) -> Any:
    """A JSON value with the saved results that it refers to.

    A text that is nothing but a reference becomes the result, of whatever type. Within a longer text, a result that is
    a text stands as it is, another one as JSON. A result that is JSON text can be stepped into.

    Args:
        value: the arguments of a tool, or a part of them.
        saved: results by name.

    Raises:
        UnknownReference: a reference leads nowhere; the message names what was there.
    """
    __tracebackhide__ = True
    if isinstance(value, str):
        return _text(value, saved)
    if isinstance(value, Mapping):
        return {key: resolved(item, saved) for key, item in value.items()}
    return [resolved(item, saved) for item in value] if isinstance(value, list) else value


def references_in(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every reference in a JSON value: where it stands, by keys and positions, and what is between its braces."""
    if isinstance(value, str):
        yield from ((place, match[2]) for match in _REFERENCE.finditer(value) if not match[1])
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from references_in(item, (*place, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from references_in(item, (*place, position))


def name_in(reference: str) -> str | None:
    """The name of the result that a reference begins with; None where it is none."""
    return reference.partition(".")[0] if _FORM.fullmatch(reference) else None


def _text(text: str, saved: Mapping[str, Any]) -> Any:
    __tracebackhide__ = True
    match = _REFERENCE.fullmatch(text)
    if match and not match[1]:
        return _found(match[2], saved)
    return _REFERENCE.sub(lambda match: match[0][1:] if match[1] else _inserted(_found(match[2], saved)), text)


def _inserted(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _found(reference: str, saved: Mapping[str, Any]) -> Any:
    __tracebackhide__ = True
    name, *keys = reference.split(".")
    if name not in saved:
        raise UnknownReference(explain.nothing_saved(reference, name, list(saved)))
    value, done = saved[name], name
    for key in keys:
        value = _parsed(value)
        inside = _inside(value)
        if key not in inside:
            raise UnknownReference(explain.nothing_inside(reference, done, key, value))
        value, done = inside[key], f"{done}.{key}"
    return value


def _parsed(value: Any) -> Any:
    """What a JSON text holds; anything else as it is."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def _inside(value: Any) -> Mapping[str, Any]:
    if isinstance(value, list):
        return {str(position): item for position, item in enumerate(value)}
    return value if isinstance(value, Mapping) else {}
