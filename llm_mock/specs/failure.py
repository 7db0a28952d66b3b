"""The failure of a plain-language test: the reason, the issues, and a line for each step with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_mock.errors import LLMMockError
from llm_mock.specs.models import PARTS, Step, StepResult, TestSpec, Verdict
from llm_mock.specs.steps import WITHIN, named
from llm_mock.support.redaction import default_redactor
from llm_mock.support.text import indented


class LLMTestFailed(LLMMockError, AssertionError):
    """The verdict of a plain-language test is FAIL.

    Args:
        verdict: the verdict.
        spec: the test.
        path: its file, as the message names it.
    """

    def __init__(self, verdict: Verdict, spec: TestSpec, path: Path) -> None:
        super().__init__(default_redactor().clean("\n".join(_lines(verdict, spec, path))))
        self.verdict = verdict


def _lines(verdict: Verdict, spec: TestSpec, path: Path) -> Iterator[str]:
    lines = dict(_places(spec))
    failed = next(
        (line for result in verdict.steps if result.status == "fail" and (line := _line(result, lines))), None
    )
    yield f"{path}:{failed or spec.line_of('test') or 1}: {indented(verdict.reason, '  ')}"
    for issue in verdict.issues:
        if issue != verdict.reason:
            yield f"  ! {indented(issue, '    ')}"
    for result in verdict.steps:
        yield from _step(result, _line(result, lines))


def _step(result: StepResult, line: int | None) -> Iterator[str]:
    place = f"  (line {line})" if line else ""
    details = f"  {indented(result.details, '      ')}" if result.details else ""
    yield f"  {result.head}{place}{details}"
    if result.output_beside:
        yield f"      → {result.output_beside}"


def _line(result: StepResult, lines: Mapping[str, int]) -> int | None:
    """The line of a step: by its whole name, or by the part of it that a model gave."""
    return lines.get(result.name) or lines.get(result.name.rpartition(WITHIN)[2])


def _places(spec: TestSpec) -> Iterator[tuple[str, int]]:
    for part, prefix in PARTS.items():
        yield from _places_of(spec, getattr(spec, part), (part,), prefix)


def _places_of(spec: TestSpec, steps: Sequence[Step], place: tuple[Any, ...], within: str) -> Iterator[tuple[str, int]]:
    """The names that the results of steps have, with the lines of these steps."""
    for position, (name, step) in enumerate(named(steps, within)):
        here = (*place, position)
        for numbered in (name, *(f"{name} [{number}/{step.repeat}]" for number in range(1, step.repeat + 1))):
            if line := spec.line_of(*here):
                yield numbered, line
            yield from _places_of(spec, step.steps, (*here, "steps"), numbered + WITHIN)
