"""Serialize the configuration of a test for other processes.

If another process cannot load a value, only the calls that need this value fail.
"""

from __future__ import annotations

import io
import pickle
import pkgutil
import sys
from collections.abc import Callable
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from llm_mock.errors import ReplyNotSent
from llm_mock.support.text import described, format_path

COMMON_PACKAGES = ("builtins", "llm", "llm_mock", "re")
"""The packages whose functions and classes every process can import."""


def serialize(value: object) -> bytes:
    """Return a value as bytes that `pickle.loads` reads in another process."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """A pickler that pickles functions and exceptions separately, so that each may fail alone."""

    def reducer_override(self, value: object) -> Any:
        """Return how pickle restores a value, or NotImplemented to use pickle's default."""
        is_error = isinstance(value, BaseException) or _is_error_class(value)
        if not callable(value) and not is_error:
            return NotImplemented
        is_named = isinstance(value, (type, FunctionType, BuiltinFunctionType))
        has_module = is_named or isinstance(value, MethodType)
        module = value.__module__ if has_module else type(value).__module__
        package = module.partition(".")[0] if module else "builtins"
        if package in COMMON_PACKAGES:
            return _reduce_by_name(value) if is_named else NotImplemented
        description = _describe(value)
        try:
            return _restore, (description, is_error, pickle.dumps(value))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            return _create_placeholder, (description, is_error, reason)


def _is_error_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, BaseException)


def _reduce_by_name(value: Any) -> Any:
    """Return how to restore a function or class by its name."""
    try:
        is_current = attrgetter(value.__qualname__)(sys.modules[value.__module__]) is value
    except (AttributeError, KeyError):
        is_current = value.__module__ is None or value.__module__ == "builtins"
    if is_current:
        return NotImplemented
    # If its module was imported again, as `pytester` does, the name refers to another object, and
    # pickle refuses this one. The other process has only one module with that name.
    return pkgutil.resolve_name, (f"{value.__module__}:{value.__qualname__}",)


def _describe(value: object) -> str:
    code = getattr(value, "__code__", None)
    if code is None:
        return described(value)
    return f"the function of {format_path(code.co_filename)}:{code.co_firstlineno}"


# `_restore` and `_create_placeholder` are called by pickle in the other process.
def _restore(description: str, is_error: bool, content: bytes) -> Any:
    try:
        return pickle.loads(content)
    except Exception as error:
        return _create_placeholder(description, is_error, f"{type(error).__name__}: {error}")


def _create_placeholder(
    description: str, is_error: bool, reason: str
) -> ReplyNotSent | Callable[..., Any]:
    message = (
        f"The reply to this call needs {description}, which the process that the test started "
        f"cannot load: {reason}. Use text or data, or define the function, the matcher or the "
        "exception class at the top level of a module that the process can import."
    )
    return ReplyNotSent(message) if is_error else _MissingFunction(message)


class _MissingFunction:
    """A placeholder for a function that this process cannot load; calling it raises an error."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __call__(self, *args: Any) -> Any:
        __tracebackhide__ = True
        raise ReplyNotSent(self._message)
