"""The union of all checks, discriminated by `type`."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from llm_mock.checks.functions import PythonAssertion
from llm_mock.checks.javascript_functions import JavaScriptAssertion
from llm_mock.checks.models import LLMJudgeAssertion, SimilarAssertion
from llm_mock.checks.runs import (
    MaxCostAssertion,
    MaxLatencyAssertion,
    MaxTokensAssertion,
    ReasoningBudgetAssertion,
    ToolCalledAssertion,
    ToolCallsAssertion,
)
from llm_mock.checks.skipped import SkippedAssertion
from llm_mock.checks.text_scores import BleuAssertion, LevenshteinAssertion, RougeAssertion
from llm_mock.checks.texts import (
    ContainsAllAssertion,
    ContainsAnyAssertion,
    ContainsAssertion,
    ContainsJSONAssertion,
    EqualsAssertion,
    IContainsAssertion,
    JSONAssertion,
    RegexAssertion,
    StartsWithAssertion,
)
from llm_mock.checks.trajectories import TrajectoryAssertion

# Discriminated, so that an error names only the fields of the given type.
Assertion = Annotated[
    ContainsAssertion
    | IContainsAssertion
    | ContainsAnyAssertion
    | ContainsAllAssertion
    | EqualsAssertion
    | StartsWithAssertion
    | RegexAssertion
    | JSONAssertion
    | ContainsJSONAssertion
    | ToolCallsAssertion
    | ToolCalledAssertion
    | TrajectoryAssertion
    | ReasoningBudgetAssertion
    | MaxTokensAssertion
    | MaxLatencyAssertion
    | MaxCostAssertion
    | LevenshteinAssertion
    | RougeAssertion
    | BleuAssertion
    | SimilarAssertion
    | LLMJudgeAssertion
    | SkippedAssertion
    | PythonAssertion
    | JavaScriptAssertion,
    Field(discriminator="type"),
]
