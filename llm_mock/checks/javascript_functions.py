"""The assertion that runs JavaScript of the project."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
from pydantic import Field

from llm_mock.checks.base import AssertionOutcome, RunContext, format_external_text, quote
from llm_mock.checks.node import find_reference_problem, is_installed, run_javascript
from llm_mock.checks.python_functions import ModelRefused
from llm_mock.checks.scores import compare_score
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten_name
from llm_mock.support.validation import Number, Text

EXPECTED_RESULTS = "true or false, a number, or {pass: …, score: …, reason: …}"


def _validate_reference(reference: str) -> str:
    problem = find_reference_problem(reference)
    if problem is not None:
        raise ValueError(problem)
    return reference


class JavaScriptAssertion(TextAssertion):
    """JavaScript of the project that decides if the output is right, or scores it.

    The code can read the text `output`, and `context` with `vars`, `prompt`, `config`, `test` and
    `providerResponse`, as in promptfoo. It returns true or false, a number, an object with `pass`,
    `score` and `reason`, or a promise of one. Without Node.js the check is skipped.
    """

    type: Literal["javascript", "not_javascript"] = "javascript"
    code: Text | None = None
    """An expression, or several lines with `return`."""
    function: Annotated[str, pydantic.AfterValidator(_validate_reference)] | None = None
    """A function in a file next to the suite, in place of `code`: `checks.js` for the default
    export, or `checks.js:isPolite`."""
    threshold: Number | None = None
    """The lowest passing number; by default every number above 0 passes."""
    config: JSONObject = Field(default={})
    """Settings for the code, `context.config`."""

    @pydantic.model_validator(mode="after")
    def _require_one(self) -> JavaScriptAssertion:
        if (self.code is None) == (self.function is None):
            raise ValueError("needs either 'code' or 'function'")
        return self

    def get_skip(self) -> str | None:
        """Skip the check if Node.js is not installed."""
        if is_installed():
            return None
        return f"{self.type} needs node, which is not installed: install Node.js"

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Run the code with the output."""
        if self.function is not None:
            name = shorten_name(self.function)
        else:
            name = f"JavaScript {quote(str(self.code))}"
        code = {"code": self.code, "function": self.function, "config": self.config}
        try:
            outcome = self._read_answer(run_javascript(code, output, context))
        except ModelRefused:
            raise
        except LLMMockError as error:
            outcome = AssertionOutcome(None, str(error))
        return outcome._replace(message=f"{name}{outcome.message}")

    def _read_answer(self, answer: JSONObject) -> AssertionOutcome:
        """Return the outcome of an answer; its message is the part after the code."""
        if "problem" in answer:
            problem = format_external_text(answer["problem"])
            hint = ""
            if problem == "returned undefined":
                hint = ". Is a return statement missing?"
            raise LLMMockError(f" {problem}, not {EXPECTED_RESULTS}{hint}")
        passed = answer.get("passed")
        score = answer.get("score")
        reason = format_external_text(answer.get("reason", ""))
        if score is None:
            return AssertionOutcome(passed, f": {reason or str(passed).lower()}")
        is_reached, comparison = self._compare(score)
        # An explicit verdict of the code overrides the threshold.
        if passed is None:
            passed = is_reached
            message = f": {comparison}"
        else:
            message = f": {score:.3f}"
        if reason:
            message += f": {reason}"
        limited = min(max(score, 0.0), 1.0)
        return AssertionOutcome(passed, message, score=limited)

    def _compare(self, score: float) -> tuple[bool, str]:
        if self.threshold is not None:
            return compare_score(score, self.threshold)
        if score > 0:
            return True, f"{score:.3f}, above 0"
        return False, f"{score:.3f}, not above 0"
