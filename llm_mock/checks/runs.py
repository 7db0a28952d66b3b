"""Assertions about the run that gave the output: its tool calls, tokens, time and cost."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal

import pydantic
from pydantic import BeforeValidator, Field

from llm_mock.agents.result import NO_REPEATS, AgentResult, Mode
from llm_mock.checks.base import (
    AssertionOutcome,
    CassetteState,
    RunContext,
    StrictModel,
    accept_text_items,
    expand_names,
)
from llm_mock.checks.evaluation import BaseAssertion
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import format_dollars, shorten, shorten_name, suggest_name
from llm_mock.support.validation import Number, Text, Whole

# The usage details of OpenAI, of Gemini (the API and the SDK), and of other plugins of llm.
_REASONING_KEYS = (
    "reasoning_tokens",
    "thoughtsTokenCount",
    "thoughts_token_count",
    "thinking_tokens",
)


class RunAssertion(BaseAssertion):
    """A requirement for a run."""

    needs_run = True
    needs_calls = True

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        """Return the outcome for the run."""
        # Without a result the assertion was skipped: see `needs_run`.
        assert context.result is not None
        return self._check_run(context.result)

    @abstractmethod
    def _check_run(self, result: AgentResult) -> AssertionOutcome: ...


class ExpectedToolCall(StrictModel):
    """An expected tool call: its name, and arguments; the call may have more arguments."""

    name: Text
    arguments: JSONObject = Field(default={})


class _ToolAssertion(RunAssertion):
    """A requirement for the tool calls of a run."""

    dry_run_skip = "only a real model chooses the tools that it calls"
    scripted_fact = "tools"

    @abstractmethod
    def _list_tools(self) -> Iterable[str]:
        """Return the names of the expected tools."""

    def find_mistake(self, context: RunContext) -> str | None:
        """Report an expected call to a tool that the agent does not offer."""
        # A negated assertion may well name a tool that must not be offered.
        if self.is_negated or context.offered is None:
            return None
        for name in self._list_tools():
            if name in context.offered:
                continue
            if context.offered:
                hint = suggest_name(name, context.offered)
            else:
                hint = "; it offers no tools"
            return f"The agent offers no tool {shorten(name)}{hint}"
        return None


class ToolCalledAssertion(_ToolAssertion):
    """A tool was called with these arguments, and possibly others."""

    type: Literal["tool_called", "not_tool_called"] = "tool_called"
    name: Text
    """The name of the tool."""
    arguments: JSONObject = Field(default={})

    def _list_tools(self) -> Iterable[str]:
        return (self.name,)

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        finding = result.tool_was_called(self.name, **self.arguments)
        return AssertionOutcome(bool(finding), f"Tool calls: {finding.reason}")


class ToolCallsAssertion(_ToolAssertion):
    """The tool calls match, as `AgentResult.tool_calls_match` compares them."""

    type: Literal["tool_calls", "not_tool_calls"] = "tool_calls"
    calls: Annotated[
        tuple[ExpectedToolCall, ...],
        BeforeValidator(expand_names),
        Field(json_schema_extra=accept_text_items),
    ]
    """The calls; a plain tool name is a call with any arguments."""
    mode: Mode = "strict"
    allow_repeats: bool = False
    """Whether each of these calls may occur several times, in the modes without an order."""
    allow_unknown: bool = False
    """Whether they may name tools that the agent does not offer."""

    @pydantic.model_validator(mode="after")
    def _reject_always_true(self) -> ToolCallsAssertion:
        if not self.calls and self.mode in ("superset", "in_order"):
            raise ValueError(
                f"mode {self.mode} without calls: every run would pass; "
                "add some calls, or remove the mode"
            )
        if self.allow_repeats and self.mode in ("strict", "in_order"):
            raise ValueError(f"mode {self.mode}: {NO_REPEATS}")
        return self

    def _list_tools(self) -> Iterable[str]:
        if self.allow_unknown:
            return ()
        return [call.name for call in self.calls]

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        expected = [(call.name, call.arguments) for call in self.calls]
        finding = result.tool_calls_match(expected, self.mode, allow_repeats=self.allow_repeats)
        if not finding:
            return AssertionOutcome(False, f"Tool calls: {finding.reason}")
        first = finding.reason[:1]
        rest = finding.reason[1:]
        return AssertionOutcome(True, f"{first.upper()}{rest}")


class ReasoningBudgetAssertion(RunAssertion):
    """The run used at most a number of reasoning tokens; passes if the model reports none."""

    dry_run_skip = "only a real model reasons"

    type: Literal["reasoning_budget"] = "reasoning_budget"
    max_reasoning_tokens: Annotated[Whole, Field(ge=0)]

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        tokens = 0
        for turn in result.turns:
            tokens += _count_reasoning_tokens(turn.usage.details)
        limit = self.max_reasoning_tokens
        return _compare(
            f"Took {tokens:,} reasoning tokens",
            f"{limit:,}",
            tokens <= limit,
        )


def _count_reasoning_tokens(details: object) -> int:
    """Return the reasoning tokens in the details of a usage, which may be nested."""
    if not isinstance(details, dict):
        return 0
    tokens = 0
    for name, value in details.items():
        if name in _REASONING_KEYS and isinstance(value, int):
            tokens += value
        else:
            tokens += _count_reasoning_tokens(value)
    return tokens


class MaxTokensAssertion(RunAssertion):
    """The run used at most a number of tokens, input and output together."""

    dry_run_skip = "only a real model takes tokens"
    scripted_fact = "usage"

    type: Literal["max_tokens"] = "max_tokens"
    value: Annotated[Whole, Field(ge=0)]

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if not _has_token_counts(result):
            return _fail_without_tokens(result)
        usage = result.usage
        # A provider may report only one of them.
        tokens = (usage.input or 0) + (usage.output or 0)
        limit = f"{self.value:,}"
        return _compare(f"Took {tokens:,} tokens", limit, tokens <= self.value)


class MaxLatencyAssertion(RunAssertion):
    """The run took at most a number of seconds, including tools."""

    needs_calls = False
    dry_run_skip = "only a real model takes time"

    def get_cassette_skip(self, cassette: CassetteState) -> str | None:
        """Skip the check with replayed replies."""
        return "replayed replies take no time" if cassette == "replayed" else None

    type: Literal["max_latency"] = "max_latency"
    value: Annotated[Number, Field(gt=0)]
    """Seconds."""

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if math.isnan(result.duration):
            return AssertionOutcome(None, "The duration of the run is unknown")
        is_within = result.duration <= self.value
        usage = f"Took {result.duration:.3g} s"
        limit = f"{self.value:g} s"
        return _compare(usage, limit, is_within)


class MaxCostAssertion(RunAssertion):
    """The run cost at most an amount."""

    dry_run_skip = "only a real model costs something"
    scripted_fact = "usage"

    type: Literal["max_cost"] = "max_cost"
    value: Annotated[Number, Field(ge=0)]
    """US dollars."""

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if not _has_token_counts(result):
            return _fail_without_tokens(result)
        if result.cost is None:
            return AssertionOutcome(
                None,
                f"The price of the model {shorten_name(result.model)!r} is unknown: "
                "set it (ini llm_mock_prices), or install the prices of the providers: "
                "pip install 'pytest-llm-mock[cost]'",
            )
        # Converted from text, because Decimal(0.1) is not 0.1.
        limit = Decimal(str(self.value))
        return _compare(
            f"Cost {format_dollars(result.cost)}", format_dollars(limit), result.cost <= limit
        )


def _compare(usage: str, limit: str, is_within: bool) -> AssertionOutcome:
    relation = "at most" if is_within else "more than"
    return AssertionOutcome(is_within, f"{usage}, {relation} {limit}")


def _has_token_counts(result: AgentResult) -> bool:
    for turn in result.turns:
        if turn.usage.input is None and turn.usage.output is None:
            return False
    return True


def _fail_without_tokens(result: AgentResult) -> AssertionOutcome:
    model = shorten_name(result.model)
    return AssertionOutcome(None, f"The model {model!r} did not report its token usage")
