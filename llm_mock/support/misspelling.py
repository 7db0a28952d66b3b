"""Errors about misspelt attributes and arguments, which name the nearest real one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any

from llm_mock.support.text import suggest_nearest

SYNONYMS = {
    "exception": ("error", "side_effect"),
    "prompt": ("prompt_contains",),
    "response": ("answer", "content", "error", "reply", "return_value", "side_effect", "text"),
    "responses": ("answers", "replies", "side_effect"),
}
"""Words for an argument that are too far from its name to find it by its letters."""


class MisspeltAttribute(AttributeError):
    """An attribute that an object does not have; its text names the nearest one.

    The text is made when it is shown, because libraries look for attributes with `hasattr` and
    `getattr`, and the search for the nearest name takes long.

    Args:
        owner: the object.
        name: the name of the attribute.
    """

    def __init__(self, owner: object, name: str) -> None:
        # Without `obj`, for which Python from 3.12 on adds a suggestion of its own.
        super().__init__(name=name)
        self._owner = owner
        self._name = name

    def __str__(self) -> str:
        public = [name for name in dir(self._owner) if not name.startswith("_")]
        nearest = suggest_nearest(self._name, public)
        return f"{type(self._owner).__name__!r} object has no attribute {self._name!r}{nearest}"

    def __reduce__(self) -> tuple[type[AttributeError], tuple[str]]:
        # The owner may not be picklable.
        return AttributeError, (str(self),)


# Tracebacks show what Python's own error is called, and not where this class is.
MisspeltAttribute.__module__ = "builtins"
MisspeltAttribute.__name__ = MisspeltAttribute.__qualname__ = "AttributeError"


def explain_arguments(function: Callable[..., Any], given: Iterable[str]) -> str | None:
    """Return a message about a keyword argument that a method does not have; None without one."""
    known = _list_arguments(function)
    unknown = [name for name in given if name not in known]
    if not unknown:
        return None
    name = unknown[0]
    # An argument that was given too is not the one that was meant.
    missing = [each for each in known if each not in given]
    nearest = _suggest_argument(name, missing)
    listed = f"Its arguments: {', '.join(known)}." if known else "It has none."
    return f"{function.__name__}() has no argument {name!r}{nearest or '.'} {listed}"


def _suggest_argument(name: str, missing: list[str]) -> str:
    """Return a suggestion: the argument with a synonym of that name, or the nearest one."""
    for each in missing:
        if name in SYNONYMS.get(each, ()):
            return suggest_nearest(each, missing)
    return suggest_nearest(name, missing)


def _list_arguments(function: Callable[..., Any]) -> list[str]:
    """Return the names of the keyword arguments, including those of an unpacked TypedDict."""
    names: list[str] = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        unpacked = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if unpacked is not None:
            names += _list_keys(function, unpacked[1])
        elif parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            names.append(parameter.name)
    return names


def _list_keys(function: Callable[..., Any], typed_dict: str) -> Iterable[str]:
    # Annotations are text here; the name is resolved where the function is written.
    return inspect.get_annotations(inspect.unwrap(function).__globals__[typed_dict])
