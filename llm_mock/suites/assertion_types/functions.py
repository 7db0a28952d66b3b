"""The assertion that calls a function of the project: from a file beside the suite, or from a module."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, NamedTuple

from llm_mock.agents.result import Finding
from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import Outcome, RunContext, Threshold, reported
from llm_mock.suites.assertion_types.python_functions import FunctionName, loaded_function, raised_at, result_of
from llm_mock.suites.assertion_types.text_assertion import TextAssertion
from llm_mock.suites.scores import against
from llm_mock.support.text import shorten_name

WANTED = "true or false, a score from 0 to 1, (either, message), or {score: …, reason: …}"


class PythonAssertion(TextAssertion):
    """A function of the project says whether the output is right, or how right it is.

    It is called with the output (a text) and, where it takes a second argument, the `AgentResult`; with the variables
    and the `TestCase` where it has parameters called `variables` and `case`. It returns true or false, or a score from
    0 to 1; `(either, message)`; a dict with `score` or `pass`, and `reason`; or raises AssertionError.
    """

    type: Literal["python", "not_python"] = "python"
    function: FunctionName
    """`checks.py:is_polite`, a file beside the suite, or `package.module:is_polite`."""
    threshold: Threshold = 1.0
    """The least score where the function returns one."""

    def check(self, output: str, context: RunContext) -> Outcome:
        try:
            found = self._found(loaded_function(self.function, context.folder or Path()), output, context)
        except LLMMockError as error:
            found = Outcome(None, str(error))
        return found._replace(message=f"{shorten_name(self.function)}{found.message}")

    def _found(self, function: Callable[..., Any], output: str, context: RunContext) -> Outcome:
        """What a function finds; the message goes on after its name."""
        try:
            returned = result_of(function, shorten_name(self.function), output, context, passing=(AssertionError,))
        except AssertionError as error:
            line, place = raised_at(error, function)
            return Outcome(False, f": {reported(str(error) or line)}{place}")
        given = _read(returned)
        if given.score is None:
            return Outcome(given.holds, f": {given.message or str(given.holds).lower()}")
        reached, figure = against(given.score, self.threshold)
        reason = f": {given.message}" if given.message else ""
        return Outcome(reached if given.holds is None else given.holds, f": {figure}{reason}", score=given.score)


class _Given(NamedTuple):
    """What a function returned."""

    holds: bool | None
    score: float | None
    message: str


def _read(returned: Any) -> _Given:
    """What a function returned; of an LLMMockError the message goes on after its name."""
    if isinstance(returned, Finding):
        returned = bool(returned), returned.reason
    passed, score, reason = _parts(returned)
    is_verdict = isinstance(passed, (bool, type(None))) and (score is None or _is_number(score))
    if is_verdict and isinstance(reason, str) and (passed is not None or score is not None):
        if score is not None and not 0 <= score <= 1:
            raise LLMMockError(f" returned the score {score:g}, and a score is from 0 to 1")
        return _Given(passed, None if score is None else float(score), reported(reason))
    hint = ". Is a return statement missing?" if returned is None else ""
    if inspect.iscoroutine(returned):
        returned.close()
        hint = ". It is async: give a plain function"
    shown = "None" if returned is None else f"an object of type {type(returned).__name__}"
    raise LLMMockError(f" returned {shown}, not {WANTED}{hint}")


def _parts(returned: Any) -> tuple[Any, Any, Any]:
    """Whether it passes, the score, and the reason of what a function returned, whatever it is."""
    if isinstance(returned, dict) and returned.keys() <= {"pass", "score", "reason"}:
        return returned.get("pass"), returned.get("score"), returned.get("reason", "")
    found, reason = returned if isinstance(returned, tuple) and len(returned) == 2 else (returned, "")
    if isinstance(found, bool):
        return found, None, reason
    return None, found, reason or getattr(found, "reason", "")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
