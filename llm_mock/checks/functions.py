"""The assertion that calls a Python function of the project."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from llm_mock.agents.result import Finding
from llm_mock.checks.base import (
    AssertionOutcome,
    RunContext,
    Threshold,
    format_external_text,
)
from llm_mock.checks.python_functions import (
    FunctionReference,
    ModelRefused,
    call_safely,
    find_error_source,
    load_function,
)
from llm_mock.checks.scores import compare_score
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten_name

EXPECTED_RESULTS = "true or false, a score from 0 to 1, (either, message), or {score: …, reason: …}"


class PythonAssertion(TextAssertion):
    """A function of the project that decides if the output is right, or scores it.

    The function receives the output (a text) and, if it takes a second argument, the `AgentResult`;
    also the variables and the `TestCase` if it has parameters called `variables` and `case`.
    It returns true or false, or a score from 0 to 1; `(either, message)`; or a dict with `score` or
    `pass`, and `reason`. It may also raise AssertionError.
    """

    type: Literal["python", "not_python"] = "python"
    function: FunctionReference
    """`checks.py:is_polite` for a file next to the suite, or `package.module:is_polite`."""
    threshold: Threshold = 1.0
    """The lowest passing score, for a function that returns one."""

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Call the function with the output."""
        try:
            function = load_function(self.function, context.folder or Path())
            outcome = self._call(function, output, context)
        except ModelRefused:
            raise
        except LLMMockError as error:
            outcome = AssertionOutcome(None, str(error))
        return outcome._replace(message=f"{shorten_name(self.function)}{outcome.message}")

    def _call(
        self,
        function: Callable[..., object],
        output: str,
        context: RunContext,
    ) -> AssertionOutcome:
        """Return the outcome of a call; its message is the part after the function's name."""
        try:
            returned = call_safely(
                function,
                shorten_name(self.function),
                output,
                context,
                passing=(AssertionError,),
            )
        except AssertionError as error:
            line, place = find_error_source(error, function)
            # A bare assert has no message; its source line says more than nothing.
            message = format_external_text(str(error) or line)
            return AssertionOutcome(False, f": {message}{place}")
        result = _parse_result(returned)
        if result.score is None:
            message = result.message or str(result.passed).lower()
            return AssertionOutcome(result.passed, f": {message}")
        is_reached, comparison = compare_score(result.score, self.threshold)
        if result.message:
            reason = f": {result.message}"
        else:
            reason = ""
        # An explicit verdict of the function overrides the threshold.
        if result.passed is None:
            holds = is_reached
        else:
            holds = result.passed
        return AssertionOutcome(holds, f": {comparison}{reason}", score=result.score)


class _FunctionResult(NamedTuple):
    """The parsed return value of a function."""

    passed: bool | None
    score: float | None
    message: str


def _parse_result(returned: object) -> _FunctionResult:
    """Parse the return value of a function.

    Raises:
        LLMMockError: the value is not supported; the message is the part after the function's name.
    """
    if isinstance(returned, Finding):
        if returned.outcome == "not checked":
            raise LLMMockError(f" could not check it: {format_external_text(returned.reason)}")
        returned = bool(returned), returned.reason
    passed, score, reason = _split_result(returned)
    if not _is_valid_result(passed, score, reason):
        raise _unsupported_result(returned)
    message = format_external_text(reason)
    if score is None:
        return _FunctionResult(passed, None, message)
    if not 0 <= score <= 1:
        raise LLMMockError(f" returned the score {score:g}; a score must be from 0 to 1")
    return _FunctionResult(passed, float(score), message)


def _split_result(returned: object) -> tuple[Any, Any, Any]:
    """Return the verdict, the score and the reason in a return value, unvalidated."""
    if isinstance(returned, dict) and returned.keys() <= {"pass", "score", "reason"}:
        passed = returned.get("pass")
        score = returned.get("score")
        reason = returned.get("reason", "")
        return passed, score, reason
    value, reason = returned, ""
    if isinstance(returned, tuple) and len(returned) == 2:
        value, reason = returned
    # bool is checked first because it is a subclass of int, the type of a score.
    if isinstance(value, bool):
        return value, None, reason
    if not reason:
        reason = getattr(value, "reason", "")
    return None, value, reason


def _is_valid_result(passed: object, score: object, reason: object) -> bool:
    if passed is None and score is None:
        return False
    if passed is not None and not isinstance(passed, bool):
        return False
    if score is not None and not _is_number(score):
        return False
    return isinstance(reason, str)


def _unsupported_result(returned: object) -> LLMMockError:
    hint = ""
    if returned is None:
        hint = ". Is a return statement missing?"
    elif inspect.iscoroutine(returned):
        # Python warns of a coroutine that is neither awaited nor closed.
        returned.close()
        hint = ". It is async: use a plain function"
    if returned is None:
        kind = "None"
    else:
        kind = f"an object of type {type(returned).__name__}"
    return LLMMockError(f" returned {kind}, not {EXPECTED_RESULTS}{hint}")


def _is_number(value: object) -> bool:
    # A bool is an int in Python.
    if isinstance(value, bool):
        return False
    return isinstance(value, (int, float))
