"""The failure of a plain-language test: the reason, the issues, and a line for each step with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from llm_mock.errors import LLMMockError
from llm_mock.specs.models import PARTS, StepResult, TestSpec, Verdict
from llm_mock.specs.steps import WITHIN, every_step
from llm_mock.support.text import indented

_NUMBER = re.compile(r" \[\d+/\d+\]")


class LLMTestFailed(LLMMockError, AssertionError):
    """The verdict of a plain-language test is FAIL.

    Args:
        verdict: the verdict.
        spec: the test.
        path: its file, as the message names it.
    """

    def __init__(self, verdict: Verdict, spec: TestSpec, path: Path) -> None:
        super().__init__("\n".join(_lines(verdict, spec, path)))
        self.verdict = verdict


def _lines(verdict: Verdict, spec: TestSpec, path: Path) -> Iterator[str]:
    places = {
        _NUMBER.sub("", name): spec.line_of(*place)
        for part, prefix in PARTS.items()
        for place, name, _ in every_step(getattr(spec, part), (part,), prefix)
    }

    def line_of(result: StepResult) -> int | None:
        """The line of a step: by its whole name, or by the part of it that a model gave."""
        name = _NUMBER.sub("", result.name)
        return places.get(name) or places.get(name.rpartition(WITHIN)[2])

    failed = next(filter(None, (line_of(result) for result in verdict.steps if result.status == "fail")), None)
    yield f"{path}:{failed or spec.line_of('test') or 1}: {indented(verdict.reason, '  ')}"
    for issue in verdict.issues:
        if issue != verdict.reason:
            yield f"  ! {indented(issue, '    ')}"
    for result in verdict.steps:
        place = f"  (line {line})" if (line := line_of(result)) else ""
        details = f"  {indented(result.details, '      ')}" if result.details else ""
        yield f"  {result.head}{place}{details}"
        if result.output_beside:
            yield f"      → {result.output_beside}"
