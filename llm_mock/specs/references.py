"""Resolve references to saved results in the arguments of steps.

`${name}` is a saved result, `${name.key.0}` a part of it, `${stored.name}` a value that the tool
`store_value` stored, and `$${name}` the text `${name}`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from llm_mock.errors import UnknownReference
from llm_mock.support import interpolation
from llm_mock.support.interpolation import LARGEST_TEXT
from llm_mock.support.text import join_names, shorten, shorten_name, suggest_nearest

STORED = "stored."
"""The prefix of the names of stored values among those of saved results."""
ANY_STORED = f"{STORED}*"
"""The placeholder for names of stored values that are known only in a run."""
_REFERENCE = re.compile(r"[^\W\d]\w*(?:\.[^.\s]+)*")


def resolve_references(value: object, saved: Mapping[str, object]) -> Any:
    """Replace the references in a JSON value by saved results.

    A text that is one reference becomes the result itself, of any type. In a longer text, a text
    result is inserted unchanged, and any other result as JSON. A reference can also name a part of
    a result that is JSON text.

    Args:
        value: the arguments of a step.
        saved: the saved results by name.

    Raises:
        UnknownReference: a result or a part of it does not exist; the message lists known names.
    """

    def format_result(reference: str) -> str:
        result = _look_up(reference, saved)
        if isinstance(result, str):
            return result
        return json.dumps(result, ensure_ascii=False)

    def resolve_text(text: str) -> Any:
        reference = interpolation.parse_whole_reference(text)
        if reference is not None:
            return _look_up(reference, saved)
        return interpolation.interpolate(text, format_result)

    resolved = interpolation.map_texts(value, resolve_text)
    # Results that refer to results could otherwise fill the memory.
    if _estimate_size(resolved, LARGEST_TEXT) > LARGEST_TEXT:
        raise UnknownReference(
            f"with the saved results inserted, the value has more than {LARGEST_TEXT:,} characters"
        )
    return resolved


def _estimate_size(value: object, limit: int) -> int:
    """Estimate the number of characters in a JSON value; any number above the limit is enough."""
    if isinstance(value, str):
        return len(value)
    size = 1
    if not isinstance(value, (Mapping, list)):
        return size
    for item in _get_items(value).values():
        size += _estimate_size(item, limit - size)
        if size > limit:
            break
    return size


def find_references(
    value: object, location: tuple[str | int, ...] = ()
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each reference in a JSON value: its location, and the text between its braces."""
    if isinstance(value, str):
        for reference in interpolation.list_references(value):
            yield location, reference
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from find_references(item, (*location, key))
    elif isinstance(value, list):
        for position, item in enumerate(value):
            yield from find_references(item, (*location, position))


def get_saved_name(reference: str, saved: Collection[str]) -> str | None:
    """Return the name of the saved result that a reference starts with; None if it is invalid."""
    if not _REFERENCE.fullmatch(reference):
        return None
    first, *keys = reference.split(".")
    # A result may be saved under the name "stored"; it takes precedence.
    is_stored = f"{first}." == STORED and first not in saved
    if keys and is_stored:
        return f"{STORED}{keys[0]}"
    return first


def describe_invalid_reference(reference: str, saved: Collection[str]) -> str | None:
    """Return the problem with a reference that no saved result matches, or None."""
    name = get_saved_name(reference, saved)
    written = f"${{{shorten_name(reference)}}}"
    if name is None:
        return (
            f"{written} is not a valid reference, such as ${{name.key.0}}; "
            f"for the literal text, write ${written}"
        )
    is_stored_in_run = name.startswith(STORED) and ANY_STORED in saved
    if name in saved or is_stored_in_run:
        return None
    names = f"saved so far: {join_names([*saved])}" if saved else "nothing is saved so far"
    return (
        f"{written} refers to {shorten_name(name)!r}, which no earlier step saves"
        f"{suggest_nearest(name, saved)} ({names}); for the literal text, write ${written}"
    )


def _look_up(reference: str, saved: Mapping[str, object]) -> Any:
    """Return the saved result, or the part of it, that a reference names."""
    problem = describe_invalid_reference(reference, saved)
    if problem:
        raise UnknownReference(problem)
    name = get_saved_name(reference, saved) or reference
    value, path = saved[name], name
    for key in reference.removeprefix(name).split(".")[1:]:
        if isinstance(value, str):
            # Many tools return JSON as text.
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(value)
        items = _get_items(value)
        if not isinstance(items, Mapping) or key not in items:
            raise UnknownReference(
                f"${{{shorten_name(reference)}}}: there is no {shorten_name(key)!r} in "
                f"{shorten_name(path)}; {_describe_value(key, value)}"
            )
        value = items[key]
        path = f"{path}.{key}"
    return value


def _get_items(value: object) -> Any:
    """Return the items of a list by their positions as text, and any other value as it is."""
    if not isinstance(value, list):
        return value
    return {str(position): item for position, item in enumerate(value)}


def _describe_value(missing_key: str, value: object) -> str:
    if isinstance(value, Mapping):
        keys = ", ".join(map(shorten_name, value))
        return f"it has {keys or 'nothing'}{suggest_nearest(missing_key, value)}"
    if isinstance(value, list):
        return f"it is a list with {len(value)} items, counted from 0"
    return f"it is {shorten(value)}"
