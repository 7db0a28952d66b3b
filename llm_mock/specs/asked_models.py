"""Find the models that the checks of steps call, before a step runs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from llm_mock.core.judge_choice import get_judge_choice
from llm_mock.specs.models import PARTS, TestSpec
from llm_mock.specs.references import find_references
from llm_mock.specs.steps import iterate_steps
from llm_mock.suites.asked_models import AskedModel, check_models, iterate_check_models


def iterate_step_models(spec: TestSpec) -> Iterator[AskedModel]:
    """Yield the models that the checks of steps call."""
    choice = get_judge_choice()
    for part in PARTS:
        for location, _, step in iterate_steps(getattr(spec, part), (part,)):
            for asked in iterate_check_models(step.checks, spec.line_of(*location), choice):
                # A saved result is known only when the check runs.
                if not any(find_references(asked.name)):
                    yield asked


def check_step_models(spec: TestSpec, path: Path) -> None:
    """Raise an error if a check has an unknown model or no judge, before a step runs.

    Raises:
        InvalidFile: `llm` does not know a model, or a check has no judge.
    """
    __tracebackhide__ = True
    check_models(list(iterate_step_models(spec)), str(path), needs_judge=True)
