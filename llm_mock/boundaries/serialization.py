"""What a test configured on its way to another process: what cannot be there fails only the calls that need it."""

from __future__ import annotations

import io
import pickle
import pkgutil
import sys
from operator import attrgetter
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

from llm_mock.errors import ReplyNotSent
from llm_mock.support.text import described, format_path

COMMON_PACKAGES = ("builtins", "llm", "llm_mock", "re")
"""The packages whose functions and classes every process has."""


def serialize(value: Any) -> bytes:
    """A value as `pickle.loads` reads it in another process."""
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)
    return buffer.getvalue()


class _Pickler(pickle.Pickler):
    """Sends functions, callable objects and exceptions by themselves, so that each may fail to arrive."""

    def reducer_override(self, value: Any) -> Any:
        """What makes a value there."""
        is_error = isinstance(value, BaseException) or (
            isinstance(value, type) and issubclass(value, BaseException)
        )
        if not callable(value) and not is_error:
            return NotImplemented
        is_named = isinstance(value, (type, FunctionType, BuiltinFunctionType))
        owner = value if is_named or isinstance(value, MethodType) else type(value)
        if (owner.__module__ or "builtins").partition(".")[0] in COMMON_PACKAGES:
            return _reduce_by_name(value) if is_named else NotImplemented
        try:
            return _restore, (_describe(value), is_error, pickle.dumps(value))
        except Exception as error:
            return _create_placeholder, (
                _describe(value),
                is_error,
                f"{type(error).__name__}: {error}",
            )


def _reduce_by_name(value: Any) -> Any:
    """What finds it there, where pickle would not: its module was imported anew since, as `pytester` makes happen."""
    try:
        is_current = attrgetter(value.__qualname__)(sys.modules[value.__module__]) is value
    except (AttributeError, KeyError):
        is_current = value.__module__ is None or value.__module__ == "builtins"
    return (
        NotImplemented
        if is_current
        else (pkgutil.resolve_name, (f"{value.__module__}:{value.__qualname__}",))
    )


def _describe(value: Any) -> str:
    code = getattr(value, "__code__", None)
    return (
        described(value)
        if code is None
        else f"the function of {format_path(code.co_filename)}:{code.co_firstlineno}"
    )


def _restore(shown: str, is_error: bool, content: bytes) -> Any:
    try:
        return pickle.loads(content)
    except Exception as error:
        return _create_placeholder(shown, is_error, f"{type(error).__name__}: {error}")


def _create_placeholder(shown: str, is_error: bool, why: str) -> Any:
    message = (
        f"The reply to this call needs {shown}, which the process that the test started cannot have: {why}. Text and "
        "data can be sent to another process; a function, a matcher or an exception only if it can be imported there "
        "by its name."
    )
    return ReplyNotSent(message) if is_error else _MissingFunction(message)


class _MissingFunction:
    """Stands for a function that is not there."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __call__(self, *args: Any) -> Any:
        __tracebackhide__ = True
        raise ReplyNotSent(self._message)
