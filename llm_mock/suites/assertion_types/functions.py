"""The assertion that calls a function of the project: from a file beside the suite, or from a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from llm_mock.agents.result import Finding
from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import Outcome, RunContext, reported, reported_error
from llm_mock.suites.assertion_types.python_functions import FunctionName, loaded_function, raised_at
from llm_mock.suites.assertion_types.text_assertion import TextAssertion
from llm_mock.support.text import shorten_name


class PythonAssertion(TextAssertion):
    """A function of the project says whether the output is right.

    It is called with the output (a text) and, where it takes a second argument, the `AgentResult`. It returns true or
    false, or `(true or false, message)`, or raises AssertionError.
    """

    type: Literal["python", "not_python"] = "python"
    function: FunctionName
    """`checks.py:is_polite`, a file beside the suite, or `package.module:is_polite`."""

    def check(self, output: str, context: RunContext) -> Outcome:
        try:
            holds, message = _called(loaded_function(self.function, context.folder or Path()), output, context)
        except LLMMockError as error:
            holds, message = None, str(error)
        return Outcome(holds, f"{shorten_name(self.function)}{message}")


def _called(function: Callable[..., Any], output: str, context: RunContext) -> tuple[bool | None, str]:
    """Whether a function finds the output right, and how the message about it goes on after its name."""
    try:
        returned = function(output, context.result) if _takes_two(function) else function(output)
    except AssertionError as error:
        line, place = raised_at(error, function)
        return False, f": {reported(str(error) or line)}{place}"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the project's code raises, such as SystemExit, the other cases go on
        return None, f" raised {reported_error(error)}{raised_at(error, function)[1]}"
    if isinstance(returned, Finding):
        returned = bool(returned), returned.reason
    if isinstance(returned, bool):
        returned = returned, ""
    if isinstance(returned, tuple) and [type(part) for part in returned] == [bool, str]:
        return returned[0], f": {reported(returned[1]) or str(returned[0]).lower()}"
    hint = ". Is a return statement missing?" if returned is None else ""
    if inspect.iscoroutine(returned):
        returned.close()
        hint = ". It is async: give a plain function"
    shown = "None" if returned is None else f"an object of type {type(returned).__name__}"
    return None, f" returned {shown}, not true or false, or (true or false, message){hint}"


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("", None)
    except (TypeError, ValueError):  # ValueError: some functions of C do not say what they take
        return False
    return True
