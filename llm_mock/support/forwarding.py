"""Delegation of methods to a part of an object."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

Part = TypeVar("Part")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def forward_method(
    part: str, method: Callable[Concatenate[Part, Parameters], Result]
) -> Callable[Concatenate[Any, Parameters], Result]:
    """Return a method that calls one of the attribute `part`, with its signature and docstring."""

    @functools.wraps(method)
    def delegate(self: Any, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        __tracebackhide__ = True
        return method(getattr(self, part), *args, **kwargs)

    return cast("Callable[Concatenate[Any, Parameters], Result]", delegate)
