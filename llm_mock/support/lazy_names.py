"""Packages whose names are loaded when they are first used."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package assigns to `__getattr__` and `__dir__`.

    Args:
        package: its `__name__`.
        modules: of each of its names the module in it that defines the name.
    """

    def load(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        path = modules[name] if "." in modules[name] else f"{package}.{modules[name]}"
        value = getattr(importlib.import_module(path), name)
        setattr(importlib.import_module(package), name, value)
        return value

    return load, lambda: sorted(modules)
