"""How a boundary attaches to a library: when something imports it, by replacing functions of it, once a process."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

CO_COROUTINE = 0x80
"""The flag of a coroutine function, as `inspect.CO_COROUTINE`."""
MARK = "__llm_mock_replaced__"
Execution = Callable[[Callable[[ModuleType], None], ModuleType], None]
"""Executes a module that is imported; it is given the function that does so, and the module."""

_executions: dict[str, Execution] = {}


def attach_on_import(name: str, attach: Callable[[ModuleType], None]) -> None:
    """Have a function called with a module: at once if it is imported, and whenever it is imported anew."""

    def execute_and_attach(execute: Callable[[ModuleType], None], module: ModuleType) -> None:
        execute(module)
        attach(module)

    set_execution(name, execute_and_attach)
    if name in sys.modules:
        attach(sys.modules[name])


def set_execution(name: str, execution: Execution) -> None:
    """Have a module executed by a function from now on when it is imported."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    _executions[name] = execution


class _Finder:
    """Finds what is waited for as the other finders do, and has it executed as was said."""

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

            setattr(spec.loader, "exec_module", exec_module)  # noqa: B010 (a method to mypy)
        return spec


def replace(owner: Any, name: str, replacement: Callable[..., Any]) -> None:
    """Replace a function, once: the replacement is called with the original and what that would be called with."""
    original = getattr(owner, name)
    # A library that is imported anew may still have the classes of its first import; decorators of its own,
    # such as botocore's, set `__wrapped__` too. A method that a class inherits is another's to replace.
    if is_replaced(original):
        return

    @functools.wraps(original)
    def replaced(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return replacement(original, *args, **kwargs)

    @functools.wraps(original)
    async def replaced_coroutine_function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        return await replacement(original, *args, **kwargs)

    flags = getattr(getattr(original, "__code__", None), "co_flags", 0)
    replacing = replaced_coroutine_function if flags & CO_COROUTINE else replaced
    setattr(replacing, MARK, True)
    setattr(owner, name, replacing)


def is_replaced(function: Any) -> bool:
    """Return whether a function is one of those that `replace` put in place."""
    return bool(vars(function).get(MARK)) if hasattr(function, "__dict__") else False
