"""How a boundary attaches to a library: when something imports it, by replacing functions of it, once a process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

_waiting: dict[str, Callable[[ModuleType], None]] = {}


def when_imported(name: str, attach: Callable[[ModuleType], None]) -> None:
    """Have a function called with a top-level module: at once if it is imported, and whenever it is imported anew."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _waiting[name] = attach
    if name in sys.modules:
        attach(sys.modules[name])


class _Finder:
    """Finds what is waited for as the other finders do, and tells when it was executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _waiting:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                _waiting[fullname](module)

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (a method to mypy)
        return spec


def replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a function, once: the replacement is called with the original and what that would be called with."""
    original = getattr(owner, name)
    if hasattr(original, "__wrapped__"):
        return  # a library that is imported anew may still have the classes of its first import

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return replacement(original, *args, **kwargs)

    setattr(owner, name, replaced)
