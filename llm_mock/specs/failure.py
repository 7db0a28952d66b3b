"""Why a plain-language test failed, for people: the reason, the issues, and a line for each step with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llm_mock.agents.result import without_secrets
from llm_mock.specs.explain import MARKS, output_beside
from llm_mock.specs.loading import PARTS
from llm_mock.specs.models import Step, StepResult, TestSpec, Verdict
from llm_mock.specs.steps import WITHIN, named
from llm_mock.support.text import indented, shorten_name


def failed_test(verdict: Verdict, spec: TestSpec, path: Path) -> str:
    """The whole of it, without secrets.

    Args:
        verdict: what came of the test.
        spec: the test.
        path: its file.
    """
    return without_secrets("\n".join(_lines(verdict, spec, path)))


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
    yield f"  {MARKS[result.status]} {shorten_name(result.name)}{place}{details}"
    if output := output_beside(result):
        yield f"      → {output}"


def _line(result: StepResult, lines: Mapping[str, int]) -> int | None:
    """Where a step stands: by its whole name, or what a model left of it."""
    return lines.get(result.name) or lines.get(result.name.rpartition(WITHIN)[2])


def _places(spec: TestSpec) -> Iterator[tuple[str, int]]:
    for part in PARTS:
        yield from _places_of(spec, getattr(spec, part), (part,), "" if part == "steps" else f"{part}: ")


def _places_of(spec: TestSpec, steps: Sequence[Step], place: tuple[Any, ...], within: str) -> Iterator[tuple[str, int]]:
    """The names that the results of steps have, with the lines of these steps."""
    for position, (name, step) in enumerate(named(steps, within)):
        here = (*place, position)
        for numbered in (name, *(f"{name} [{number}/{step.repeat}]" for number in range(1, step.repeat + 1))):
            if line := spec.line_of(*here):
                yield numbered, line
            yield from _places_of(spec, step.steps, (*here, "steps"), numbered + WITHIN)
