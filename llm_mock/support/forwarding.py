"""Delegate methods of an object to one of its attributes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from llm_mock.support.misspelling import explain_arguments, explain_call_error

Part = TypeVar("Part")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def forward_method(
    part: str, method: Callable[Concatenate[Part, Parameters], Result]
) -> Callable[Concatenate[Any, Parameters], Result]:
    """Return a method that calls a method of the attribute `part`, with the same signature.

    The error for a misspelt keyword argument names the nearest one. The error for missing, repeated
    or excess arguments lists all of them.
    """

    @functools.wraps(method)
    def delegate(self: Any, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        __tracebackhide__ = True
        try:
            return method(getattr(self, part), *args, **kwargs)
        except TypeError as error:
            # Without a further frame, Python could not bind the arguments. Errors from inside the
            # method have their own messages.
            traceback = cast("TracebackType", error.__traceback__)
            if traceback.tb_next is not None:
                raise
            message = explain_arguments(method, kwargs)
            if message is None:
                message = explain_call_error(method, error)
            raise TypeError(message) from None

    return cast("Callable[Concatenate[Any, Parameters], Result]", delegate)
