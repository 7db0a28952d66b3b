"""Evaluates assertions about outputs. A failed one is a result, and nothing is raised."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NoReturn

from llm_mock.agents.result import AgentResult
from llm_mock.suites import explain_assertions as explain
from llm_mock.suites import functions, judge, schema
from llm_mock.suites.outcome import Outcome
from llm_mock.suites.results import AssertionResult
from llm_mock.suites.schema import Assertion
from llm_mock.support import schemas


@dataclass(frozen=True)
class RunContext:
    """What assertions may look at besides the output."""

    result: AgentResult | None = None
    """The run that gave the output: that of one turn."""
    dry_run: bool = False
    """Whether no real model was asked: what only one can show is skipped."""
    offered: tuple[str, ...] | None = None
    """The names of the tools that the agent offers; None where they are not known."""
    judge: str | None = None
    """The id of the model that judges where an assertion names none."""
    folder: Path | None = None
    """Where the files of Python functions lie; by default the working directory."""


def evaluate_assertions(
    assertions: Iterable[Assertion], output: str, context: RunContext | None = None
) -> list[AssertionResult]:
    """Evaluate several assertions about one output; see `evaluate_assertion`."""
    return [evaluate_assertion(assertion, output, context) for assertion in assertions]


def evaluate_assertion(assertion: Assertion, output: str, context: RunContext | None = None) -> AssertionResult:
    """Evaluate one assertion.

    Args:
        assertion: what the output must be like.
        output: what the model answered.
        context: what else is known; by default nothing.

    Returns:
        The result: passed, failed, or skipped where only a real model or a run could answer. What cannot be found out,
        as a function is missing or the judge gives no verdict, has failed.
    """
    context = context or RunContext()
    message = _unknown_tools(assertion, context)
    if message is not None:
        return AssertionResult(assertion, False, message)
    message = _reason_to_skip(assertion, context)
    if message is not None:
        return AssertionResult(assertion, None, message)
    outcome = _CHECKS[type(assertion)](assertion, output, context)
    passed = outcome.holds is not None and outcome.holds != assertion.negated
    message = explain.unexpected(outcome.message) if outcome.holds and assertion.negated else outcome.message
    return AssertionResult(assertion, passed, message, tokens=outcome.tokens, cost=outcome.cost)


def _unknown_tools(assertion: Assertion, context: RunContext) -> str | None:
    """What to say where calls are expected of tools that the agent does not offer; None for nothing."""
    if not isinstance(assertion, schema.ToolCallsAssertion) or assertion.negated or context.offered is None:
        return None
    unknown = [call.name for call in assertion.calls if call.name not in context.offered]
    return explain.tool_not_offered(unknown[0], context.offered) if unknown else None


_NEED_MODEL = (schema.SimilarAssertion, schema.LLMJudgeAssertion)
_NEED_RUN = (
    schema.ToolCallsAssertion,
    schema.MaxTokensAssertion,
    schema.MaxLatencyAssertion,
    schema.MaxCostAssertion,
)


def _reason_to_skip(assertion: Assertion, context: RunContext) -> str | None:
    if context.dry_run and isinstance(assertion, (*_NEED_MODEL, *_NEED_RUN)):
        return explain.skipped_dry(assertion.type)
    if context.result is None and isinstance(assertion, _NEED_RUN):
        return explain.skipped_without_run()
    return None


# --- Texts ----------------------------------------------------------------------------------------------------------


def _contains(assertion: Any, output: str, context: RunContext) -> Outcome:
    found = _folded(assertion.value, assertion) in _folded(output, assertion)
    return Outcome(found, explain.contains(assertion.value, found))


def _contains_any(assertion: schema.ContainsAnyAssertion, output: str, context: RunContext) -> Outcome:
    text = _folded(output, assertion)
    found = [value for value in assertion.values if _folded(value, assertion) in text]
    return Outcome(bool(found), explain.contains_any(assertion.values, found))


def _contains_all(assertion: schema.ContainsAllAssertion, output: str, context: RunContext) -> Outcome:
    text = _folded(output, assertion)
    missing = [value for value in assertion.values if _folded(value, assertion) not in text]
    return Outcome(not missing, explain.contains_all(assertion.values, missing))


def _equals(assertion: schema.EqualsAssertion, output: str, context: RunContext) -> Outcome:
    value, output = assertion.value.strip(), output.strip()
    holds = _folded(value, assertion) == _folded(output, assertion)
    return Outcome(holds, explain.equals(value, output, holds))


def _starts_with(assertion: schema.StartsWithAssertion, output: str, context: RunContext) -> Outcome:
    holds = _folded(output, assertion).startswith(_folded(assertion.value, assertion))
    return Outcome(holds, explain.starts_with(assertion.value, output, holds))


def _folded(text: str, assertion: Any) -> str:
    """A text as it is compared."""
    return text.casefold() if getattr(assertion, "case_insensitive", True) else text


def _regex(assertion: schema.RegexAssertion, output: str, context: RunContext) -> Outcome:
    found = re.search(assertion.pattern, output) is not None
    return Outcome(found, explain.matches(assertion.pattern, found))


def _json(assertion: schema.JSONAssertion, output: str, context: RunContext) -> Outcome:
    try:
        value = json.loads(output, parse_constant=_no_constant)
    except ValueError as error:
        return Outcome(False, explain.not_json(error))
    except RecursionError:
        return Outcome(False, explain.not_json(ValueError("it is nested too deep")))
    return Outcome(True, explain.is_json()) if assertion.json_schema is None else _fits(assertion.json_schema, value)


def _fits(json_schema: dict[str, Any], value: Any) -> Outcome:
    try:
        problems = list(schemas.violations(json_schema, value, called="", strict=True))
    except (ArithmeticError, RecursionError, ValueError) as error:  # a schema without end, an address that is none
        return Outcome(None, explain.unusable_schema(error))
    return Outcome(not problems, explain.fits_schema(problems))


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


# --- Runs -----------------------------------------------------------------------------------------------------------


def _tool_calls(assertion: schema.ToolCallsAssertion, output: str, context: RunContext) -> Outcome:
    expected = [(call.name, call.arguments) for call in assertion.calls]
    finding = _run(context).tool_calls_match(expected, assertion.mode)
    return Outcome(bool(finding), explain.tool_calls(finding.reason, bool(finding)))


def _max_tokens(assertion: schema.MaxTokensAssertion, output: str, context: RunContext) -> Outcome:
    usage = _run(context).usage
    tokens = (usage.input or 0) + (usage.output or 0)
    if not _tokens_are_known(_run(context)):
        return Outcome(None, explain.unknown_tokens(_run(context).model))
    return Outcome(tokens <= assertion.value, explain.took_tokens(tokens, assertion.value))


def _max_latency(assertion: schema.MaxLatencyAssertion, output: str, context: RunContext) -> Outcome:
    duration = _run(context).duration
    return Outcome(duration <= assertion.value, explain.took_seconds(duration, assertion.value))


def _max_cost(assertion: schema.MaxCostAssertion, output: str, context: RunContext) -> Outcome:
    cost, limit = _run(context).cost, Decimal(str(assertion.value))
    if not _tokens_are_known(_run(context)):
        return Outcome(None, explain.unknown_tokens(_run(context).model))
    if cost is None:
        return Outcome(None, explain.unknown_price(_run(context).model))
    return Outcome(cost <= limit, explain.took_dollars(cost, limit))


def _run(context: RunContext) -> AgentResult:
    assert context.result is not None  # else these assertions are skipped
    return context.result


def _tokens_are_known(result: AgentResult) -> bool:
    return all(turn.usage.input is not None or turn.usage.output is not None for turn in result.turns)


# --- What others say ------------------------------------------------------------------------------------------------


def _similar(assertion: schema.SimilarAssertion, output: str, context: RunContext) -> Outcome:
    return judge.compare(output, assertion.value, assertion.threshold, assertion.model)


def _llm_judge(assertion: schema.LLMJudgeAssertion, output: str, context: RunContext) -> Outcome:
    return judge.ask(output, assertion.criteria, assertion.model or context.judge)


def _python(assertion: schema.PythonAssertion, output: str, context: RunContext) -> Outcome:
    return functions.call(assertion.function, output, context.result, context.folder or Path())


_CHECKS: dict[type[Any], Callable[[Any, str, RunContext], Outcome]] = {
    schema.ContainsAssertion: _contains,
    schema.IContainsAssertion: _contains,
    schema.ContainsAnyAssertion: _contains_any,
    schema.ContainsAllAssertion: _contains_all,
    schema.EqualsAssertion: _equals,
    schema.StartsWithAssertion: _starts_with,
    schema.RegexAssertion: _regex,
    schema.JSONAssertion: _json,
    schema.ToolCallsAssertion: _tool_calls,
    schema.MaxTokensAssertion: _max_tokens,
    schema.MaxLatencyAssertion: _max_latency,
    schema.MaxCostAssertion: _max_cost,
    schema.SimilarAssertion: _similar,
    schema.LLMJudgeAssertion: _llm_judge,
    schema.PythonAssertion: _python,
}
