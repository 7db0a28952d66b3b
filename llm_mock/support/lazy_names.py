"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from llm_mock.errors import MissingExtra


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package assigns to `__getattr__` and `__dir__`.

    Args:
        package: its `__name__`.
        modules: of each module the names that it defines, separated by spaces. A module is named
            as seen from the package; one that begins with `llm_mock.` as seen from everywhere.
    """
    place_of = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        __tracebackhide__ = True
        if name not in place_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = place_of[name]
        try:
            module = importlib.import_module(
                place if place.startswith("llm_mock.") else f"{package}.{place}"
            )
        except MissingExtra as error:
            raise error.with_traceback(
                None
            ) from None  # where in the package it was noticed helps nobody
        value = getattr(module, name)
        setattr(importlib.import_module(package), name, value)
        return value

    return load, lambda: sorted(place_of)
