"""Render the prompts for a model that runs and judges a test."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from llm_mock.errors import MissingExtra
from llm_mock.specs.models import Step, StepResult, TestSpec
from llm_mock.support import yaml_files
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.agents.result import ToolCallRecord

TEMPLATE = Path(__file__).parent / "templates" / "test_prompt.jinja2"


def render_prompt(spec: TestSpec, setup: Sequence[StepResult], saved: Mapping[str, object]) -> str:
    """Return the prompt to run and judge a test.

    Args:
        spec: the test.
        setup: the results of its setup.
        saved: the results that the setup saved, JSON values by name.

    Raises:
        MissingExtra: jinja2 is not installed.
    """
    __tracebackhide__ = True
    try:
        import jinja2
    except ModuleNotFoundError:
        raise MissingExtra(
            "Asking a model to judge a test needs jinja2, which is not installed. "
            "Run: pip install 'pytest-llm-mock[specs]'"
        ) from None
    environment = jinja2.Environment(
        # A missing variable is an error in the template, not an empty text.
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
    )
    template = environment.from_string(TEMPLATE.read_text(encoding="utf-8"))
    steps = [_convert_to_yaml(step) for step in spec.steps]
    return template.render(
        test=spec.test,
        verdict=spec.verdict,
        steps=yaml_files.dump(steps),
        setup=[result for result in setup if result.status == "pass"],
        saved=_dump_json(saved) if saved else "",
    )


def render_verdict_prompt(prompt: str, calls: Sequence[ToolCallRecord], answer: str) -> str:
    """Return the prompt that asks a model for a missing verdict after it ran the steps.

    Args:
        prompt: the prompt to run the steps.
        calls: the calls that the model made.
        answer: its last answer.
    """
    made = []
    for call in calls:
        record: JSONObject = {"tool": call.name, "arguments": call.arguments}
        if call.error is None:
            record["result"] = call.result
        else:
            record["error"] = call.error
        made.append(record)
    return (
        f"{prompt}\n# What was done\n\nThe steps were done, with these calls:\n\n```json\n"
        f"{_dump_json(made)}\n```\n\nThen this was said:\n\n{answer or '(nothing)'}\n\n"
        "The verdict is missing. Do no more steps, and give only the JSON object with the "
        "verdict.\n"
    )


def _convert_to_yaml(step: Step) -> JSONObject:
    """Return the fields of a step that its file has, without defaults."""
    # The checks run here, whatever the model thinks of the output.
    own_fields = step.model_fields_set - {"steps", "checks"}
    fields: JSONObject = step.model_dump(include=own_fields)
    if step.steps:
        fields["steps"] = [_convert_to_yaml(nested) for nested in step.steps]
    return fields


def _dump_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)
