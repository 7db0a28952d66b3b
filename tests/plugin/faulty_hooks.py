"""A pytest plugin that makes the hooks in `FAULTY_HOOKS` fail."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
from collections.abc import Callable, Iterator
from typing import Any

import llm_mock.plugin
from llm_mock import pytest_plugin

FAULT = "injected fault"
BODIES = {
    "in": "raise RuntimeError({fault!r})",
    "before": "raise RuntimeError({fault!r})\n    yield",
    "after": "yield\n    raise RuntimeError({fault!r})",
    "instead": (
        "try:\n        yield\n    except ValueError:\n"
        "        raise RuntimeError({fault!r}) from None"
    ),
}
"""What a hook does instead, by where it fails."""


def all_hooks() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every implementation of a hook in the plugin, and every guarded part of one, by its name."""
    names = [
        f"llm_mock.plugin.{module.name}"
        for module in pkgutil.iter_modules(llm_mock.plugin.__path__)
    ]
    for module in [pytest_plugin, *map(importlib.import_module, names)]:
        owners = [module, *(each for each in vars(module).values() if inspect.isclass(each))]
        for owner in owners:
            for name, function in vars(owner).items():
                is_hook = name.startswith("pytest_") or hasattr(function, "is_guarded")
                if is_hook and getattr(function, "__module__", "") == module.__name__:
                    yield f"{module.__name__}:{function.__qualname__}", function


HOOKS = dict(all_hooks())


def places_of(hook: str) -> tuple[str, ...]:
    """Return where a hook may fail: one that goes around the others before or after these."""
    return ("before", "after") if inspect.isgeneratorfunction(HOOKS[hook]) else ("in",)


def break_hook(hook: str, where: str = "in") -> Callable[[], None]:
    """Have a hook fail; returns a function that mends it."""
    function: Any = inspect.unwrap(HOOKS[hook])
    parameters = ", ".join(inspect.signature(function).parameters)
    names: dict[str, Any] = {}
    exec(f"def faulty({parameters}):\n    {BODIES[where].format(fault=FAULT)}\n", names)
    code, function.__code__ = function.__code__, names["faulty"].__code__

    def mend() -> None:
        function.__code__ = code

    return mend


for hook in filter(None, os.environ.get("FAULTY_HOOKS", "").split()):
    first, last = places_of(hook)[0], places_of(hook)[-1]
    break_hook(hook, last if os.environ.get("FAULTY_WHERE") == "after" else first)
