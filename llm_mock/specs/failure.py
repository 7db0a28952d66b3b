"""The failure of a plain-language test: its reason, its issues, and the lines of its steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from llm_mock.errors import LLMMockError
from llm_mock.specs.models import PARTS, StepResult, TestSpec, Verdict
from llm_mock.specs.steps import SEPARATOR, iterate_steps
from llm_mock.support.text import indent_text

_NUMBER = re.compile(r" \[\d+/\d+\]")


class LLMTestFailed(LLMMockError, AssertionError):
    """The failure of a plain-language test, whose verdict is FAIL.

    Args:
        verdict: the verdict.
        spec: the test.
        path: its file, as the message names it.
    """

    def __init__(self, verdict: Verdict, spec: TestSpec, path: Path) -> None:
        super().__init__("\n".join(_format_failure(verdict, spec, path)))
        self.verdict = verdict


def _format_failure(verdict: Verdict, spec: TestSpec, path: Path) -> Iterator[str]:
    lines = _find_lines(spec)
    line = _find_line_of_failure(verdict, lines) or spec.line_of("test") or 1
    yield f"{path}:{line}: {indent_text(verdict.reason, '  ')}"
    for issue in verdict.issues:
        if issue != verdict.reason:
            yield f"  ! {indent_text(issue, '    ')}"
    for step in format_steps(verdict, spec):
        yield f"  {step}"


def format_steps(verdict: Verdict, spec: TestSpec) -> Iterator[str]:
    """Yield a text for each step of a verdict, with its line in the file and its output."""
    lines = _find_lines(spec)
    for result in verdict.steps:
        parts = [result.head]
        line = _get_line(result, lines)
        if line:
            parts.append(f"  (line {line})")
        if result.details:
            parts.append(f"  {indent_text(result.details, '      ')}")
        if result.extra_output:
            parts.append(f"\n      → {result.extra_output}")
        yield "".join(parts)


def _find_lines(spec: TestSpec) -> dict[str, int | None]:
    """Return the lines of all steps, by name without the numbers of repetitions."""
    lines: dict[str, int | None] = {}
    inner_lines: dict[str, int | None] = {}
    for part, prefix in PARTS.items():
        steps = getattr(spec, part)
        for location, name, _ in iterate_steps(steps, (part,), prefix):
            # A model may leave out the numbers of repetitions.
            plain_name = _NUMBER.sub("", name)
            line = spec.line_of(*location)
            lines[plain_name] = line
            # A model may leave out the names of the outer steps.
            inner_name = plain_name.rpartition(SEPARATOR)[2]
            is_ambiguous = inner_name in inner_lines
            inner_lines[inner_name] = None if is_ambiguous else line
    return inner_lines | lines


def _get_line(result: StepResult, lines: dict[str, int | None]) -> int | None:
    return lines.get(_NUMBER.sub("", result.name))


def _find_line_of_failure(verdict: Verdict, lines: dict[str, int | None]) -> int | None:
    for result in verdict.steps:
        if result.status == "fail":
            line = _get_line(result, lines)
            if line is not None:
                return line
    return None
