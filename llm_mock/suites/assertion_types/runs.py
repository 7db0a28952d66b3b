"""Assertions about the run that gave the output: what it called, and what it took."""

from __future__ import annotations

from abc import abstractmethod
from decimal import Decimal
from typing import Annotated, Any, Literal

import pydantic
from pydantic import Field

from llm_mock.agents.result import AgentResult, Mode
from llm_mock.suites.assertion_types.base import BaseAssertion, CassetteState, Outcome, RunContext, StrictModel, or_text
from llm_mock.support.text import dollars, shorten, shorten_name, suggestion
from llm_mock.support.validation import Number, Text, Whole

_REASONING = ("reasoning_tokens", "thoughtsTokenCount", "thoughts_token_count", "thinking_tokens")


class _RunAssertion(BaseAssertion):
    """What a run must be like."""

    needs_run = True

    def check(self, output: str, context: RunContext) -> Outcome:
        assert context.result is not None  # else it was skipped
        return self._check_run(context.result)

    @abstractmethod
    def _check_run(self, result: AgentResult) -> Outcome: ...


class ExpectedToolCall(StrictModel):
    """A tool call that is expected: its name, and arguments of which it may have more."""

    name: Text
    arguments: dict[str, Any] = Field(default={})


class ToolCallsAssertion(_RunAssertion):
    """The tools that were called; compared as `AgentResult.tool_calls_match` does."""

    skipped_dry = "only a real model chooses the tools that it calls"

    type: Literal["tool_calls", "not_tool_calls"] = "tool_calls"
    calls: Annotated[tuple[ExpectedToolCall, ...], Field(json_schema_extra=or_text)]
    """The calls; the name of a tool alone stands for a call with any arguments."""
    mode: Mode = "strict"

    @pydantic.model_validator(mode="after")
    def _can_fail(self) -> ToolCallsAssertion:
        if not self.calls and self.mode == "superset":
            raise ValueError("no calls, mode superset: every run has at least none; name some, or leave the mode out")
        return self

    @pydantic.field_validator("calls", mode="before")
    @classmethod
    def _names_alone(cls, calls: Any) -> Any:
        if not isinstance(calls, (list, tuple)):
            return calls
        return [{"name": call} if isinstance(call, str) else call for call in calls]

    def mistake(self, context: RunContext) -> str | None:
        """A call that is expected of a tool that the agent does not offer."""
        if self.negated or context.offered is None:
            return None
        unknown = next((call.name for call in self.calls if call.name not in context.offered), None)
        if unknown is None:
            return None
        there = suggestion(unknown, context.offered) if context.offered else "; it offers no tools"
        return f"The agent offers no tool {shorten(unknown, 60)}{there}"

    def _check_run(self, result: AgentResult) -> Outcome:
        finding = result.tool_calls_match([(call.name, call.arguments) for call in self.calls], self.mode)
        if not finding:
            return Outcome(False, f"Tool calls: {finding.reason}")
        return Outcome(True, f"{finding.reason[:1].upper()}{finding.reason[1:]}")


class ToolNamesAssertion(_RunAssertion):
    """The names of the tools that were called. Unlike `tool_calls` it may name some that the agent does not offer."""

    skipped_dry = "only a real model chooses the tools that it calls"

    type: Literal["tool_names", "not_tool_names"] = "tool_names"
    names: tuple[Text, ...]
    mode: Literal["exactly", "at_least", "no_others", "in_order", "strict"] = "at_least"
    """`at_least`: each of these was called. `no_others`: none but these was. `exactly`: both. However often, all three;
    `in_order` and `strict` are those of `tool_calls`."""

    @pydantic.model_validator(mode="after")
    def _can_fail(self) -> ToolNamesAssertion:
        if not self.names and self.mode in ("at_least", "in_order"):
            raise ValueError(f"no names, mode {self.mode}: no run could fail; name some, or change the mode")
        return self

    def _check_run(self, result: AgentResult) -> Outcome:
        if self.mode in ("in_order", "strict"):
            finding = result.tool_calls_match(self.names, self.mode)
            return Outcome(bool(finding), f"Tool calls: {finding.reason}")
        called = result.tool_names_called
        missing = [name for name in self.names if name not in called and self.mode != "no_others"]
        more = [name for name in called if name not in self.names and self.mode != "at_least"]
        problems = [f"{shorten_name(name)} was not called" for name in missing[:1]]
        problems += [f"{shorten_name(name)} was not expected" for name in more[:1]]
        listed = shorten_name(", ".join(called), 120) or "none"
        return Outcome(not problems, f"Tools called: {listed}{''.join(f'; {problem}' for problem in problems)}")


class ReasoningBudgetAssertion(_RunAssertion):
    """The answer took at most so many reasoning tokens; a model that tells of none is within any budget."""

    skipped_dry = "only a real model reasons"

    type: Literal["reasoning_budget"] = "reasoning_budget"
    max_reasoning_tokens: Annotated[Whole, Field(ge=0)]

    def _check_run(self, result: AgentResult) -> Outcome:
        tokens = sum(_reasoning_tokens(turn.usage.details) for turn in result.turns)
        limit = self.max_reasoning_tokens
        return _limited(f"Took {tokens:,} reasoning tokens", f"{limit:,}", tokens <= limit)


def _reasoning_tokens(details: Any) -> int:
    """The reasoning tokens that the details of a usage tell, as the plugins of `llm` name them."""
    if not isinstance(details, dict):
        return 0
    own = [value for name, value in details.items() if name in _REASONING and isinstance(value, int)]
    return sum(own) + sum(map(_reasoning_tokens, details.values()))


class MaxTokensAssertion(_RunAssertion):
    """The answer took at most so many tokens, input and output together."""

    skipped_dry = "only a real model takes tokens"

    type: Literal["max_tokens"] = "max_tokens"
    value: Annotated[Whole, Field(ge=0)]

    def _check_run(self, result: AgentResult) -> Outcome:
        tokens = (result.usage.input or 0) + (result.usage.output or 0)
        within = _limited(f"Took {tokens:,} tokens", f"{self.value:,}", tokens <= self.value)
        return _unknown_tokens(result) or within


class MaxLatencyAssertion(_RunAssertion):
    """The answer took at most so many seconds, tools included."""

    skipped_dry = "only a real model takes time"

    def skipped_with(self, cassette: CassetteState) -> str | None:
        return "what is replayed takes no time" if cassette == "replayed" else None

    type: Literal["max_latency"] = "max_latency"
    value: Annotated[Number, Field(gt=0)]
    """Seconds."""

    def _check_run(self, result: AgentResult) -> Outcome:
        return _limited(f"Took {result.duration:.3g} s", f"{self.value:g} s", result.duration <= self.value)


class MaxCostAssertion(_RunAssertion):
    """The answer cost at most so much."""

    skipped_dry = "only a real model costs something"

    type: Literal["max_cost"] = "max_cost"
    value: Annotated[Number, Field(ge=0)]
    """US dollars."""

    def _check_run(self, result: AgentResult) -> Outcome:
        if (unknown := _unknown_tokens(result)) or result.cost is None:
            return unknown or _unknown_price(result)
        limit = Decimal(str(self.value))
        return _limited(f"Cost {dollars(result.cost)}", dollars(limit), result.cost <= limit)


def _limited(used: str, limit: str, within: bool) -> Outcome:
    return Outcome(within, f"{used}, {'at most' if within else 'more than'} {limit}")


def _unknown_tokens(result: AgentResult) -> Outcome | None:
    """What to say where the model did not tell its tokens; None where it did."""
    if all(turn.usage.input is not None or turn.usage.output is not None for turn in result.turns):
        return None
    return Outcome(None, f"The model {shorten_name(result.model)!r} did not say how many tokens it took")


def _unknown_price(result: AgentResult) -> Outcome:
    return Outcome(
        None,
        f"The price of the model {shorten_name(result.model)!r} is not known: give it (ini llm_mock_prices), or "
        "install the prices of the providers: pip install 'pytest-llm-mock[cost]'",
    )
