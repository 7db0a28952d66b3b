"""Assertions about the run that gave the output: its tool calls, tokens, time and cost."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterable
from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from llm_mock.agents.result import AgentResult, Mode
from llm_mock.suites.assertion_types.base import (
    AssertionOutcome,
    BaseAssertion,
    CassetteState,
    RunContext,
    StrictModel,
    accept_text_items,
)
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


class _RunAssertion(BaseAssertion):
    """A requirement for a run."""

    needs_run = True

    def check(self, output: str, context: RunContext) -> AssertionOutcome:
        # Without a result the assertion was skipped: see `needs_run`.
        assert context.result is not None
        return self._check_run(context.result)

    @abstractmethod
    def _check_run(self, result: AgentResult) -> AssertionOutcome: ...


class ExpectedToolCall(StrictModel):
    """An expected tool call: its name, and arguments; the call may have more arguments."""

    name: Text
    arguments: JSONObject = Field(default={})


class ToolCallsAssertion(_RunAssertion):
    """The tool calls match, as `AgentResult.tool_calls_match` compares them."""

    dry_run_skip = "only a real model chooses the tools that it calls"

    type: Literal["tool_calls", "not_tool_calls"] = "tool_calls"
    calls: Annotated[tuple[ExpectedToolCall, ...], Field(json_schema_extra=accept_text_items)]
    """The calls; a plain tool name is a call with any arguments."""
    mode: Mode = "strict"

    @pydantic.model_validator(mode="after")
    def _reject_always_true(self) -> ToolCallsAssertion:
        if not self.calls and self.mode == "superset":
            raise ValueError(
                "no calls, mode superset: every run has at least none; "
                "name some, or leave the mode out"
            )
        return self

    @pydantic.field_validator("calls", mode="before")
    @classmethod
    def _expand_names(cls, calls: object) -> Any:
        if not isinstance(calls, (list, tuple)):
            # Reported by the validation that follows.
            return calls
        expanded = []
        for call in calls:
            expanded.append({"name": call} if isinstance(call, str) else call)
        return expanded

    def find_mistake(self, context: RunContext) -> str | None:
        """Report an expected call of a tool that the agent does not offer."""
        # A negated assertion may well name a tool that must not be offered.
        if self.is_negated or context.offered is None:
            return None
        for call in self.calls:
            if call.name in context.offered:
                continue
            if context.offered:
                hint = suggest_name(call.name, context.offered)
            else:
                hint = "; it offers no tools"
            return f"The agent offers no tool {shorten(call.name, 60)}{hint}"
        return None

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        expected = [(call.name, call.arguments) for call in self.calls]
        finding = result.tool_calls_match(expected, self.mode)
        if not finding:
            return AssertionOutcome(False, f"Tool calls: {finding.reason}")
        first = finding.reason[:1]
        rest = finding.reason[1:]
        return AssertionOutcome(True, f"{first.upper()}{rest}")


class ToolNamesAssertion(_RunAssertion):
    """The names of the called tools match; unlike `tool_calls`, unknown tools are allowed."""

    dry_run_skip = "only a real model chooses the tools that it calls"

    type: Literal["tool_names", "not_tool_names"] = "tool_names"
    names: tuple[Text, ...]
    mode: Literal["exactly", "at_least", "no_others", "in_order", "strict"] = "at_least"
    """`at_least`: each of these is called. `no_others`: no other tool is called. `exactly`: both.
    These three ignore how often a tool is called; `in_order` and `strict` are the modes of
    `tool_calls`."""

    @pydantic.model_validator(mode="after")
    def _reject_always_true(self) -> ToolNamesAssertion:
        if not self.names and self.mode in ("at_least", "in_order"):
            raise ValueError(
                f"no names, mode {self.mode}: no run could fail; name some, or change the mode"
            )
        return self

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if self.mode in ("in_order", "strict"):
            finding = result.tool_calls_match(self.names, self.mode)
            return AssertionOutcome(bool(finding), f"Tool calls: {finding.reason}")
        called = result.tool_names_called
        problems = []
        missing = _find_missing(self.names, called)
        if missing is not None and self.mode != "no_others":
            problems.append(f"{shorten_name(missing)} was not called")
        extra = _find_missing(called, self.names)
        if extra is not None and self.mode != "at_least":
            problems.append(f"{shorten_name(extra)} was not expected")
        names = shorten_name(", ".join(called), 120) or "none"
        message = "; ".join([f"Tools called: {names}", *problems])
        return AssertionOutcome(not problems, message)


def _find_missing(names: Iterable[str], others: Collection[str]) -> str | None:
    """Return the first name that is not among the others, or None."""
    for name in names:
        if name not in others:
            return name
    return None


class ReasoningBudgetAssertion(_RunAssertion):
    """The run took at most so many reasoning tokens; passes if the model reports none."""

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


class MaxTokensAssertion(_RunAssertion):
    """The run took at most so many tokens, input and output together."""

    dry_run_skip = "only a real model takes tokens"

    type: Literal["max_tokens"] = "max_tokens"
    value: Annotated[Whole, Field(ge=0)]

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if not _has_token_counts(result):
            return _fail_without_tokens(result)
        usage = result.usage
        # A provider may report one of them only.
        tokens = (usage.input or 0) + (usage.output or 0)
        limit = f"{self.value:,}"
        return _compare(f"Took {tokens:,} tokens", limit, tokens <= self.value)


class MaxLatencyAssertion(_RunAssertion):
    """The run took at most so many seconds, including tools."""

    dry_run_skip = "only a real model takes time"

    def get_cassette_skip(self, cassette: CassetteState) -> str | None:
        """Skip it with replayed replies."""
        return "replayed replies take no time" if cassette == "replayed" else None

    type: Literal["max_latency"] = "max_latency"
    value: Annotated[Number, Field(gt=0)]
    """Seconds."""

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        is_within = result.duration <= self.value
        usage = f"Took {result.duration:.3g} s"
        limit = f"{self.value:g} s"
        return _compare(usage, limit, is_within)


class MaxCostAssertion(_RunAssertion):
    """The run cost at most so much."""

    dry_run_skip = "only a real model costs something"

    type: Literal["max_cost"] = "max_cost"
    value: Annotated[Number, Field(ge=0)]
    """US dollars."""

    def _check_run(self, result: AgentResult) -> AssertionOutcome:
        if not _has_token_counts(result):
            return _fail_without_tokens(result)
        if result.cost is None:
            return AssertionOutcome(
                None,
                f"The price of the model {shorten_name(result.model)!r} is not known: "
                "give it (ini llm_mock_prices), or install the prices of the providers: "
                "pip install 'pytest-llm-mock[cost]'",
            )
        # By way of text: Decimal(0.1) is not 0.1.
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
    return AssertionOutcome(None, f"The model {model!r} did not report how many tokens it took")
