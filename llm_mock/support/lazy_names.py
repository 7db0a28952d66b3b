"""Lazy loading of the names of a package on first use."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from llm_mock.errors import MissingExtra


def lazy_names(
    package: str, modules: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the functions `__getattr__` and `__dir__` for a package.

    Args:
        package: its `__name__`.
        modules: the names that each module defines, separated by spaces. The name of a module is
            relative to the package, unless it begins with `llm_mock.`.
    """
    place_of = {name: module for module, names in modules.items() for name in names.split()}

    def load(name: str) -> Any:
        __tracebackhide__ = True
        if name not in place_of:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[package])
        place = place_of[name]
        try:
            module = importlib.import_module(
                place if place.startswith("llm_mock.") else f"{package}.{place}"
            )
        except MissingExtra as error:
            # Without the traceback inside this package, which does not help users.
            raise error.with_traceback(None) from None
        # Set in the package, so that the next use does not call this function.
        value = getattr(module, name)
        setattr(importlib.import_module(package), name, value)
        return value

    return load, lambda: sorted(place_of)
