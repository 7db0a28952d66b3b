"""The check of a trajectory: the calls to models and tools, in order."""

from __future__ import annotations

from typing import Annotated, Literal

import pydantic
from pydantic import BeforeValidator, Field

from llm_mock.agents.result import AgentResult, ExpectedModel, Mode
from llm_mock.checks.base import AssertionOutcome, StrictModel, accept_text_items, expand_names
from llm_mock.checks.runs import RunAssertion
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_count
from llm_mock.support.validation import Text, Whole


class TrajectoryStep(StrictModel):
    """An expected step: a model call, or a tool call with at least these arguments."""

    model: Text | None = None
    """The id of a model, or a glob such as `gpt-5*`."""
    name: Text | None = None
    """The name of a tool."""
    arguments: JSONObject = Field(default={})

    @pydantic.model_validator(mode="after")
    def _require_one(self) -> TrajectoryStep:
        if (self.model is None) == (self.name is None):
            raise ValueError("needs either a 'model' or the 'name' of a tool")
        if self.model is not None and self.arguments:
            raise ValueError("'arguments' need the 'name' of a tool")
        return self


class TrajectoryAssertion(RunAssertion):
    """The steps of the run match: its model calls, each followed by its tool calls."""

    dry_run_skip = "only a real model chooses the steps"
    scripted_fact = "steps"

    type: Literal["trajectory", "not_trajectory"] = "trajectory"
    steps: Annotated[
        tuple[TrajectoryStep, ...],
        BeforeValidator(expand_names),
        Field(json_schema_extra=accept_text_items),
    ] = ()
    """The steps; a plain text is a tool's name."""
    mode: Mode = "strict"
    """The comparison, as for `tool_calls`."""
    max_steps: Annotated[Whole, Field(ge=1)] | None = None
    """The largest number of steps."""

    @pydantic.model_validator(mode="after")
    def _reject_always_true(self) -> TrajectoryAssertion:
        if not self.steps and self.max_steps is None:
            raise ValueError("needs 'steps' or 'max_steps'")
        return self

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        steps = format_count(result.step_count, "step")
        if self.max_steps is not None and result.step_count > self.max_steps:
            return AssertionOutcome(False, f"Trajectory: {steps}, more than {self.max_steps}")
        if not self.steps:
            return AssertionOutcome(True, f"Trajectory: {steps}, at most {self.max_steps}")
        finding = result.trajectory_match(list(map(_expect, self.steps)), self.mode)
        return AssertionOutcome(bool(finding), f"Trajectory: {finding.reason}")


def _expect(step: TrajectoryStep) -> ExpectedModel | tuple[str, JSONObject]:
    if step.name is None:
        return ExpectedModel(str(step.model))
    return step.name, step.arguments
