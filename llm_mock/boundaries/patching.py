"""Patch libraries: replace functions of a module when it is imported, once per process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeGuard

# The number itself, as `inspect` takes long to import.
CO_COROUTINE = 0x80
"""The flag of a coroutine function, as `inspect.CO_COROUTINE`."""
MARK = "__llm_mock_replaced__"
Execution = Callable[[Callable[[ModuleType], None], ModuleType], None]
"""A function that executes a module; it gets the loader's `exec_module` and the module."""

_executions: dict[str, Execution] = {}


def attach_on_import(name: str, attach: Callable[[ModuleType], None]) -> None:
    """Call a function with a module: now if it is imported, and after each later import.

    What replaces the module in `sys.modules`, such as None or a mock, is left as it is.

    Args:
        name: the module's full name.
        attach: replaces functions of the module; must accept a module that it has seen before.
    """

    def execute_and_attach(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        attach(module)

    set_execution(name, execute_and_attach)
    module = sys.modules.get(name)
    if is_real_module(module):
        attach(module)


def is_real_module(module: object) -> TypeGuard[ModuleType]:
    """Return whether a module was imported: a test may put None or a mock in its place."""
    # Not `isinstance`: a mock may be an instance of any class.
    return type(getattr(module, "__spec__", None)) is ModuleSpec


def set_execution(name: str, execution: Execution) -> None:
    """Set the function that executes a module each time it is imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        # At the start, as Python uses the first finder that knows a module.
        sys.meta_path.insert(0, _Finder())
    _executions[name] = execution


class _Finder:
    """A finder that lets the other finders find a module, and changes how it is executed."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname not in _executions:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        specs = (finder.find_spec(fullname, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                _executions[fullname](execute, module)

            # `setattr`, as mypy refuses to assign to a method. Only this spec uses the loader, so
            # other modules are not affected.
            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010
        return spec


def replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a function of a module or class, once.

    Args:
        owner: the module or class.
        name: the name of the function.
        replacement: called with the original function, followed by the arguments of the call. For a
            coroutine function, it must return an awaitable.
    """

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def call_replacement(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return replacement(original, *args, **kwargs)

        @functools.wraps(original)
        async def await_replacement(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            return await replacement(original, *args, **kwargs)

        # Frameworks call `inspect.iscoroutinefunction`, so a coroutine function must stay one.
        flags = getattr(getattr(original, "__code__", None), "co_flags", 0)
        return await_replacement if flags & CO_COROUTINE else call_replacement

    decorate(owner, name, wrap)


def decorate(
    owner: Any, name: str, decorator: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    """Decorate a function of a module or class, once."""
    original = getattr(owner, name)
    # The mark has its own name, as decorators such as botocore's set `__wrapped__`, too. A function
    # may already have the mark if its library is imported again but keeps its classes, or if it is
    # an inherited method that was replaced on the base class.
    if is_replaced(original):
        return
    wrapper = decorator(original)
    setattr(wrapper, MARK, True)
    is_static = isinstance(vars(owner).get(name), staticmethod)
    setattr(owner, name, staticmethod(wrapper) if is_static else wrapper)


def is_replaced(function: object) -> bool:
    """Return True if `replace` or `decorate` has created a function."""
    # `vars`, as `getattr` on a `unittest.mock.Mock` would create the mark.
    return bool(vars(function).get(MARK)) if hasattr(function, "__dict__") else False
