"""Detect assertion methods that a test names without calling them."""

from __future__ import annotations

import linecache
import os
import re
import sys
from collections.abc import Callable
from typing import TypeVar, cast

from llm_mock.core.source_location import format_location

Method = TypeVar("Method")

CURRENT_PHASE = "PYTEST_CURRENT_TEST"
"""The environment variable in which pytest names the running test and its phase."""
_uncalled: dict[int, UncalledAssertion] = {}
"""The assertions that were read but not called yet, by id."""


class UncalledAssertion:
    """An assertion method that was read but not called, such as `mock.assert_called_once`.

    Args:
        mock: the mock.
        function: the method.
    """

    def __init__(self, mock: object, function: Callable[..., object]) -> None:
        self.__doc__ = function.__doc__
        self._mock = mock
        self._function = function
        # Not the frame itself, which would keep the variables of the test.
        frame = sys._getframe(2)
        self._path = frame.f_code.co_filename
        self._line = frame.f_lineno
        self._phase = os.environ.get(CURRENT_PHASE)
        _uncalled[id(self)] = self

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Make the assertion."""
        __tracebackhide__ = True
        _uncalled.pop(id(self), None)
        return self._function(self._mock, *args, **kwargs)

    def __repr__(self) -> str:
        # pytest shows it for `assert mock.assert_called_once()`, which fails, because the method
        # returns None.
        return f"<{self._function.__name__}, which returns None: remove the assert before it>"

    def __getattr__(self, name: str) -> object:
        """Return an attribute of the method, such as its name."""
        # `copy` reads attributes of a new instance before it sets any.
        if name == "_function":
            raise AttributeError(name)
        attribute: object = getattr(self._function, name)
        return attribute

    def explain(self) -> str:
        """Return the message for an assertion that was not called."""
        name = self._function.__name__
        place = format_location((self._path, self._line))
        return (
            f"{place} names {name} without calling it, so nothing was asserted. Add parentheses: "
            f"{name}(…)."
        )

    def is_useless(self, path: str) -> bool:
        """Return whether the running test read the assertion without any use of it.

        Args:
            path: the file of the test. Reads by debuggers, and by code that stores or passes on the
                assertion, do not count.
        """
        if self._path != path or self._phase != os.environ.get(CURRENT_PHASE):
            return False
        line = linecache.getline(path, self._line).partition("#")[0]
        name = self._function.__name__
        return re.fullmatch(rf"\s*(assert )?[\w.]+(\(.*\))?\.{name}(,.*)?\s*", line) is not None


class MustBeCalled:
    """A method that is detected if a test reads but does not call it.

    Args:
        function: the method.
    """

    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function

    def __get__(self, mock: object, owner: type) -> Callable[..., object]:
        """Return the method of a mock, or the function itself for the class."""
        if mock is None:
            return self._function
        return UncalledAssertion(mock, self._function)


def must_be_called(method: Method) -> Method:
    """Return a method that is detected if a test names but does not call it."""
    function = cast("Callable[..., object]", method)
    return cast("Method", MustBeCalled(function))


def take_uncalled(path: str) -> str:
    """Return a message for the first uncalled assertion of a test, and forget all of them.

    Args:
        path: the file of the test.

    Returns:
        The message; empty if there is no such assertion.
    """
    uncalled = [*_uncalled.values()]
    _uncalled.clear()
    for assertion in uncalled:
        if assertion.is_useless(path):
            return assertion.explain()
    return ""
