"""References to saved results: `${name}`, `${name.key.0}`, `${stored.name}`; `$${name}` is the text `${name}`."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from llm_mock.errors import UnknownReference
from llm_mock.support import interpolation
from llm_mock.support.interpolation import LARGEST_TEXT
from llm_mock.support.text import listed, nearest, shorten, shorten_name

STORED = "stored."
"""How the names of the values begin that `store_value` stored, among those of saved results."""
ANY_STORED = f"{STORED}*"
"""Stands for all such names where only a run tells them."""
_FORM = re.compile(r"[^\W\d]\w*(?:\.[^.\s]+)*")


def resolved(value: Any, saved: Mapping[str, Any]) -> Any:
    """A JSON value with the saved results that it refers to.

    A text that is nothing but a reference becomes the result, of whatever type. Within a longer text, a result that is
    a text stands as it is, another one as JSON. A result that is JSON text can be stepped into. Where a reference leads
    nowhere, an UnknownReference names what was there.
    """

    def inserted(reference: str) -> str:
        found = _found(reference, saved)
        return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)

    def in_text(text: str) -> Any:
        whole = interpolation.whole_reference(text)
        return interpolation.interpolated(text, inserted) if whole is None else _found(whole, saved)

    found = interpolation.map_texts(value, in_text)
    if _size(found, LARGEST_TEXT) > LARGEST_TEXT:
        raise UnknownReference(f"with the saved results there are more than {LARGEST_TEXT:,} characters")
    return found


def _size(value: Any, most: int) -> int:
    """About how many characters a JSON value has; one that is larger than that is not looked at to its end."""
    if isinstance(value, str):
        return len(value)
    size = 1
    for item in _inside(value).values() if isinstance(value, (Mapping, list)) else ():
        size += _size(item, most - size)
        if size > most:
            break
    return size


def references_in(value: Any, place: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every reference in a JSON value: where it stands, by keys and positions, and what is between its braces."""
    if isinstance(value, str):
        yield from ((place, reference) for reference in interpolation.references_in(value))
    elif isinstance(value, (dict, list)):
        for step, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from references_in(item, (*place, step))


def name_in(reference: str, saved: Collection[str]) -> str | None:
    """The name of the result, or of the stored value, that a reference begins with; None where it is no reference."""
    if not _FORM.fullmatch(reference):
        return None
    first, *keys = reference.split(".")
    is_stored = keys and f"{first}." == STORED and first not in saved
    return f"{STORED}{keys[0]}" if is_stored else first


def problem_with(reference: str, saved: Collection[str]) -> str | None:
    """What is wrong with what is between braces; None where it begins with the name of a saved result."""
    name, written = name_in(reference, saved), f"${{{shorten_name(reference)}}}"
    if name is None:
        return f"{written} is no reference such as ${{name.key.0}}; write ${written} if that text is meant"
    if name in saved or (name.startswith(STORED) and ANY_STORED in saved):
        return None
    there = f"saved by then: {listed([*saved])}" if saved else "nothing is saved by then"
    return (
        f"{written} refers to {shorten_name(name)!r}, which no earlier step saves{nearest(name, saved)} "
        f"({there}); write ${written} if that text is meant"
    )


def _found(reference: str, saved: Mapping[str, Any]) -> Any:
    if problem := problem_with(reference, saved):
        raise UnknownReference(problem)
    name = name_in(reference, saved) or reference
    value, done = saved[name], name
    for key in reference.removeprefix(name).split(".")[1:]:
        if isinstance(value, str):
            with contextlib.suppress(ValueError, RecursionError):
                value = json.loads(value)
        inside = _inside(value)
        if not isinstance(inside, Mapping) or key not in inside:
            written = f"${{{shorten_name(reference)}}}"
            there = _content(key, value)
            raise UnknownReference(f"{written}: there is no {shorten_name(key)!r} in {shorten_name(done)}; {there}")
        value, done = inside[key], f"{done}.{key}"
    return value


def _inside(value: Any) -> Any:
    """What a list holds, by positions; anything else as it is."""
    return {str(position): item for position, item in enumerate(value)} if isinstance(value, list) else value


def _content(missing: str, value: Any) -> str:
    """What a value holds that lacks a key."""
    if isinstance(value, Mapping):
        return f"it has {', '.join(map(shorten_name, value)) or 'nothing'}{nearest(missing, value)}"
    return f"it is a list of {len(value)}, from 0" if isinstance(value, list) else f"it is {shorten(value)}"
