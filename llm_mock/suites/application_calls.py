"""Model calls of the application under test, read from the mock that answered or observed them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from llm_mock.agents.result import AgentResult, ToolCallRecord, Turn
from llm_mock.boundaries.llm.parts import create_usage
from llm_mock.core.records import format_call
from llm_mock.core.request import to_plain_json
from llm_mock.cost.prices import compute_usage_cost

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.call_log import Details
    from llm_mock.core.mock import Mock
    from llm_mock.support.json_types import JSONObject


@dataclass(frozen=True)
class ModelCall:
    """A model call made by the application."""

    model: str
    system: str
    prompt: str
    output: str
    """The text of the reply, or its data as JSON; empty for an error."""
    line: str
    """A one-line summary of the call."""
    tool_calls: tuple[ToolCallRecord, ...] = ()
    """The tool calls of the reply, with the results that the application sent back."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    details: JSONObject | None = None
    """Further usage, such as reasoning tokens, under the provider's names."""
    cost: Decimal | None = None
    """The cost in US dollars; None if the price or the token counts are unknown."""
    error: str | None = None

    def as_turn(self) -> Turn:
        """Return the call as a turn of an agent, which run checks can read."""
        usage = create_usage(self.input_tokens, self.output_tokens, self.details)
        return Turn(self.output, self.tool_calls, usage, model=self.model)


class ModelCallReader:
    """Reads the calls of each turn from a mock.

    Args:
        mock: the mock that answers or observes the application's models.
    """

    def __init__(self, mock: Mock) -> None:
        self._mock = mock
        self._first = 0
        # Only the detailed log has the tool calls of replies, also those of other processes.
        mock.history.keep_log(detailed=True)

    def begin_turn(self) -> None:
        """Start a new turn: `read` leaves out all calls made so far, by earlier turns or checks."""
        self._first = len(self._mock.logged_calls())

    def read(self) -> tuple[ModelCall, ...]:
        """Return the calls since `begin_turn`, in order."""
        calls = []
        pending: list[_PendingToolCall] = []
        for call, details in self._mock.logged_calls(self._first):
            _add_results(pending, call)
            requested = _read_tool_calls(details)
            pending += requested
            calls.append((call, details, requested))
        return tuple(_read_call(*each) for each in calls)


@dataclass
class _PendingToolCall:
    """A tool call in a reply; a later request may contain its result."""

    record: ToolCallRecord
    call_id: str | None
    has_result: bool = False


def _read_tool_calls(details: Details) -> list[_PendingToolCall]:
    response = details.get("response") or {}
    requested = []
    for call in response.get("tool_calls", ()):
        record = ToolCallRecord(call["name"], call["arguments"], None)
        requested.append(_PendingToolCall(record, call["tool_call_id"]))
    return requested


def _add_results(pending: Sequence[_PendingToolCall], call: Call) -> None:
    """Add the tool results of a request to the tool calls of earlier replies."""
    if not pending or not call.tool_results:
        return
    ids = _read_result_ids(call)
    for position, result in enumerate(call.tool_results):
        waiting = [each for each in pending if not each.has_result]
        owner = _find_owner(waiting, result["name"], ids[position])
        if owner is not None:
            owner.has_result = True
            output = _format_text(result["output"])
            owner.record = replace(owner.record, result=output)


def _read_result_ids(call: Call) -> list[str | None]:
    """Return the tool call id of each new tool result in a request."""
    ids: list[str | None] = []
    for message in call.messages:
        for result in message.get("tool_results", ()):
            ids.append(result.get("tool_call_id"))
    number = len(call.tool_results)
    # The new results are the last ones; the results before them belong to the history.
    return ([None] * number + ids)[-number:]


def _find_owner(
    waiting: Sequence[_PendingToolCall],
    name: str | None,
    call_id: str | None,
) -> _PendingToolCall | None:
    """Return the tool call of a result: the one with its id, else the first one to its tool."""
    for each in waiting:
        if call_id is not None and each.call_id == call_id:
            return each
    for each in waiting:
        if each.record.name == name:
            return each
    return None


def _read_call(
    call: Call,
    details: Details,
    requested: Sequence[_PendingToolCall],
) -> ModelCall:
    response = details.get("response") or {}
    usage_details = response.get("usage_details")
    input_tokens, output_tokens = call["input_tokens"], call["output_tokens"]
    return ModelCall(
        model=call.model,
        system=call.system,
        prompt=call.prompt,
        output=_format_text(call.response),
        line=format_call(call),
        tool_calls=tuple(each.record for each in requested),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        details=usage_details,
        cost=_compute_cost(call, input_tokens, output_tokens),
        error=call.error,
    )


def _compute_cost(
    call: Call,
    input_tokens: int | None,
    output_tokens: int | None,
) -> Decimal | None:
    if input_tokens is None and output_tokens is None:
        # A failed call used no tokens; any other call did not report them.
        return None if call.error is None else Decimal(0)
    usage = create_usage(input_tokens, output_tokens)
    return compute_usage_cost(call.model, usage, call["timestamp"])


def _format_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(to_plain_json(value), ensure_ascii=False)


def create_result(
    label: str,
    prompt: str,
    output: str,
    duration: float,
    calls: Sequence[ModelCall],
) -> AgentResult:
    """Return the run of an application as an `AgentResult`, which run checks can read.

    Args:
        label: the name of the application.
        prompt: the prompt of the turn.
        output: the output of the application.
        duration: the duration in seconds.
        calls: its model calls; if there are none, the output is the only turn.
    """
    if calls:
        turns = tuple(call.as_turn() for call in calls)
    else:
        turns = (Turn(output, (), create_usage(0, 0), duration),)
    models = dict.fromkeys(call.model for call in calls)
    return AgentResult(
        label,
        ", ".join(models),
        prompt,
        turns,
        True,
        duration=duration,
        output=output,
    )
