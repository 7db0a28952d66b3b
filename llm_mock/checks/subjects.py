"""Read the subject of a check: a text, data, a run, a response or a call."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.checks.base import RunContext
from llm_mock.checks.transforms import to_text
from llm_mock.core.call import Call
from llm_mock.errors import LLMMockError
from llm_mock.support.text import described

SHOWN_OUTPUT = 500


def read_subject(subject: object) -> tuple[str, RunContext]:
    """Return the output of a subject, and the other facts that are known about it.

    Raises:
        TypeError: the subject has an unsupported type.
    """
    __tracebackhide__ = True
    if isinstance(subject, AgentResult):
        return _read_result(subject, None)
    if isinstance(subject, Call):
        return _read_result(_convert_call(subject), subject.system)
    # A caller with a response of `llm` has already imported `llm`.
    llm = sys.modules.get("llm")
    if llm is not None and isinstance(subject, (llm.Response, llm.AsyncResponse)):
        return _read_result(_convert_response(subject), subject.prompt.system or "")
    try:
        return to_text(subject), RunContext()
    except LLMMockError:
        raise TypeError(
            "The subject must be a text, data, an AgentResult, a response of llm or a Call, "
            f"not {described(subject)}."
        ) from None


def _read_result(result: AgentResult, system: str | None) -> tuple[str, RunContext]:
    context = RunContext(result, prompt=result.prompt, system=system)
    return result.final_response, context


def _convert_response(response: Any) -> AgentResult:
    """Return the run of a response: a sync one is read, an async one must have been awaited."""
    __tracebackhide__ = True
    model = response.model.model_id
    text, requested, seconds = _read_response(response)
    calls = [ToolCallRecord(each.name, each.arguments, None) for each in requested]
    usage = create_usage(response.input_tokens, response.output_tokens, response.token_details)
    turn = Turn(text, tuple(calls), usage)
    prompt = response.prompt.prompt or ""
    return AgentResult(model, model, prompt, (turn,), success=True, duration=seconds)


def _read_response(response: Any) -> tuple[str, list[Any], float]:
    """Return the text, the tool calls and the seconds of a response."""
    __tracebackhide__ = True
    try:
        text = response.text_or_raise()
        calls = response.tool_calls_or_raise()
    except ValueError:
        raise TypeError("The response was not awaited: await response.text() first.") from None
    duration = response.duration_ms()
    if isinstance(duration, int):
        return text, calls, duration / 1000
    # Only async code can read the duration of an async response.
    duration.close()
    return text, calls, math.nan


def _convert_call(call: Call) -> AgentResult:
    """Return the run of a recorded call of a model."""
    answer = call.response
    requested: Sequence[Mapping[str, Any]] = ()
    # Other data may have a key of this name, too, but with other keys next to it.
    if isinstance(answer, dict) and {"tool_calls"} <= answer.keys() <= {"text", "tool_calls"}:
        requested = answer["tool_calls"]
        answer = answer.get("text", "")
    text = "" if answer is None else to_text(answer)
    calls = [ToolCallRecord(each["name"], each["arguments"], None) for each in requested]
    usage = create_usage(call.usage["input_tokens"], call.usage["output_tokens"])
    turn = Turn(text, tuple(calls), usage)
    return AgentResult(
        call.model,
        call.model,
        call.prompt,
        (turn,),
        success=call.error is None,
        error=call.error,
        # A record has no duration.
        duration=math.nan,
    )
