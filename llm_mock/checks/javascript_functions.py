"""The assertion that runs JavaScript of the project by `node`."""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from pydantic import Field

from llm_mock.checks.base import AssertionOutcome, RunContext, format_external_text, quote
from llm_mock.checks.python_functions import ModelRefused, find_path_problem, resolve_file
from llm_mock.checks.scores import compare_score
from llm_mock.checks.text_assertion import TextAssertion
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject
from llm_mock.support.processes import run_process
from llm_mock.support.text import describe_exit, shorten_name
from llm_mock.support.time_limit import check_time, get_seconds_left
from llm_mock.support.validation import Number, Text

MAX_SECONDS = 60.0
"""The time limit of the code, if the case has no shorter one."""
SUFFIXES = (".js", ".cjs", ".mjs", ".ts")
EXPECTED_RESULTS = "true or false, a number, or {pass: …, score: …, reason: …}"
_PROGRAM = Path(__file__).with_name("run_javascript.cjs")


def _validate_reference(reference: str) -> str:
    file, _, name = reference.partition(":")
    # A name of JavaScript may also have a dollar sign.
    if not file.endswith(SUFFIXES) or not (name or "x").replace("$", "_").isidentifier():
        raise ValueError("should be file.js or file.js:function")
    problem = find_path_problem(file)
    if problem is not None:
        raise ValueError(problem)
    return reference


class JavaScriptAssertion(TextAssertion):
    """JavaScript of the project that decides if the output is right, or scores it.

    The code sees the text `output`, and `context` with `vars`, `prompt`, `config`, `test` and
    `providerResponse`, as in promptfoo. It gives true or false, a number, an object with `pass`,
    `score` and `reason`, or a promise of one. It needs Node.js: without it the check is skipped.
    """

    type: Literal["javascript", "not_javascript"] = "javascript"
    code: Text | None = None
    """An expression, or several lines with `return`."""
    function: Annotated[str, pydantic.AfterValidator(_validate_reference)] | None = None
    """In place of `code`: a file beside the suite whose default export is a function,
    `checks.js`, or a function that it exports, `checks.js:isPolite`."""
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
        """Skip it where Node.js is not installed."""
        if shutil.which("node") is not None:
            return None
        return f"{self.type} needs node, which is not installed: install Node.js"

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Run the code with the output."""
        if self.function is not None:
            name = shorten_name(self.function)
        else:
            name = f"JavaScript {quote(str(self.code), 60)}"
        try:
            outcome = self._read_answer(self._run(output, context))
        except ModelRefused:
            raise
        except LLMMockError as error:
            outcome = AssertionOutcome(None, str(error))
        return outcome._replace(message=f"{name}{outcome.message}")

    def _run(self, output: str, context: RunContext) -> JSONObject:
        """Return the answer of the program.

        Raises:
            LLMMockError: there is none; the message is the part after the code.
            ModelRefused: the code opened a connection in a dry run.
        """
        folder = (context.folder or Path()).resolve()
        # No line of the code's own output can begin with it.
        mark = secrets.token_hex(16)
        request = {
            "mark": mark,
            "refuse": _refuses_connections(context),
            "output": output,
            "context": self._make_context(output, context),
            **self._locate_code(folder),
        }
        node = str(shutil.which("node"))
        try:
            stdin = json.dumps(request).encode()
            timeout = get_seconds_left(MAX_SECONDS)
            completed = run_process([node, str(_PROGRAM)], stdin, timeout, folder, None)
        except subprocess.TimeoutExpired:
            # If the time of the whole case is over, that is the reason to report.
            check_time()
            raise LLMMockError(f" did not end within {MAX_SECONDS:g} s") from None
        except OSError as error:
            raise LLMMockError(f": node cannot be started: {error.strerror}") from None
        except (TypeError, ValueError) as error:
            raise LLMMockError(f": a variable is not JSON: {error}") from None
        _, found, line = completed.stdout.decode(errors="replace").rpartition(mark)
        if not found:
            status = describe_exit(completed.returncode)
            said = format_external_text(completed.stderr.decode(errors="replace").strip())
            raise LLMMockError(f" gave no result: node ended {status}: {said or '(nothing)'}")
        answer: JSONObject = json.loads(line)
        if answer["refused"]:
            raise ModelRefused(": the code opened a connection")
        return answer

    def _locate_code(self, folder: Path) -> dict[str, str]:
        if self.function is None:
            return {"code": str(self.code)}
        file, _, name = self.function.partition(":")
        path = resolve_file(file, folder)
        if not path.is_file():
            raise LLMMockError(f": there is no file {file} beside the suite")
        return {"file": str(path), "name": name}

    def _make_context(self, output: str, context: RunContext) -> JSONObject:
        variables = {}
        description = None
        if context.case is not None:
            variables = dict(context.case.values)
            description = context.case.name
        return {
            "vars": variables,
            "prompt": context.prompt,
            "config": dict(self.config),
            "test": {"description": description, "vars": variables},
            "providerResponse": {"output": output},
        }

    def _read_answer(self, answer: JSONObject) -> AssertionOutcome:
        """Return the outcome of an answer; its message is the part after the code."""
        if "error" in answer:
            raise LLMMockError(f" threw {format_external_text(answer['error'])}")
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
        holds = is_reached if passed is None else passed
        message = f": {comparison}" if passed is None else f": {score:.3f}"
        if reason:
            message += f": {reason}"
        return AssertionOutcome(holds, message, score=min(max(score, 0.0), 1.0))

    def _compare(self, score: float) -> tuple[bool, str]:
        if self.threshold is not None:
            return compare_score(score, self.threshold)
        is_positive = score > 0
        return is_positive, f"{score:.3f}, {'above 0' if is_positive else 'not above 0'}"


def _refuses_connections(context: RunContext) -> bool:
    """Return whether no real model may be asked, as this process cannot mock those of node."""
    if context.case is None or context.dry_run:
        return True
    return context.cassette == "replayed"
