"""The prompt for a model: the test, what was done already, and how to answer."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llm_mock.errors import MissingExtra
from llm_mock.specs.models import Step, StepResult, TestSpec
from llm_mock.support import yaml_files

if TYPE_CHECKING:
    from llm_mock.agents.result import ToolCallRecord

TEMPLATE = Path(__file__).parent / "templates" / "test_prompt.jinja2"


def render(spec: TestSpec, setup: Sequence[StepResult], saved: Mapping[str, Any]) -> str:
    """The prompt for a test, with the results of its setup, and what that saved: JSON values by name."""
    __tracebackhide__ = True
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MissingExtra(
            "Asking a model to judge a test needs jinja2, which is not installed. "
            "Run: pip install 'pytest-llm-mock[specs]'"
        ) from None
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    return template.render(
        test=spec.test,
        verdict=spec.verdict,
        steps=yaml_files.dump([_as_written(step) for step in spec.steps]),
        setup=[result for result in setup if result.status == "pass"],
        saved=json.dumps(saved, ensure_ascii=False, indent=2) if saved else "",
    )


def render_question(prompt: str, calls: Sequence[ToolCallRecord], said: str) -> str:
    """The prompt for a model that did the steps and gave no verdict: its prompt, its calls, its last answer."""
    made = [
        {"tool": call.name, "arguments": call.arguments}
        | ({"result": call.result} if call.error is None else {"error": call.error})
        for call in calls
    ]
    return (
        f"{prompt}\n# What was done\n\nThe steps were done, with these calls:\n\n```json\n"
        f"{json.dumps(made, ensure_ascii=False, indent=2)}\n```\n\nThen this was said:\n\n{said or '(nothing)'}\n\n"
        "The verdict is missing. Do no more steps, and give only the JSON object with the verdict.\n"
    )


def _as_written(step: Step) -> dict[str, Any]:
    """A step without the defaults of what its file leaves out."""
    given: dict[str, Any] = step.model_dump(include=step.model_fields_set - {"steps"})
    return {**given, "steps": [_as_written(child) for child in step.steps]} if step.steps else given
