"""Offer the tools of servers to `llm`, and record each tool call."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.agents.result import ToolCallRecord
from llm_mock.boundaries.llm.chains import accepts_attachment
from llm_mock.boundaries.llm.execution_guard import is_async
from llm_mock.core.request import to_plain_json
from llm_mock.support.deadline import Deadline

if TYPE_CHECKING:
    from llm_mock.agents.tools import AgentTool, ToolAnswer

OnToolCall = Callable[[ToolCallRecord], object]
"""A callback for each finished tool call."""


class ToolFailed(Exception):
    """A tool failure, raised so that `llm` passes its message to the model."""


@dataclass
class _Call:
    """A tool call that the model requested, and its outcome."""

    requested: Any
    answer: ToolAnswer | None = None
    duration: float = 0.0


# The call whose tool is about to run. A context variable, because `llm` runs the tools of
# asynchronous models as concurrent tasks.
_current: ContextVar[_Call | None] = ContextVar(__name__, default=None)


class ToolCalls:
    """The tools of a run, and the tool calls of its current turn.

    Args:
        tools: the tools of servers and skills.
        model: the `llm` model.
        deadline: the deadline of the run.
        on_tool_call: a callback for each finished call.
    """

    def __init__(
        self,
        tools: Sequence[AgentTool],
        model: object,
        deadline: Deadline,
        on_tool_call: OnToolCall | None = None,
    ) -> None:
        self._model = model
        self._deadline = deadline
        self._on_tool_call = on_tool_call
        self._turn: list[_Call] = []
        self.tools = [self._new_tool(tool) for tool in tools]
        """The tools for `llm`."""

    def _new_tool(self, tool: AgentTool) -> llm.Tool:
        if is_async(self._model):
            implementation = self._new_async_call(tool)
        else:
            implementation = self._new_call(tool)
        return llm.Tool(
            tool.name,
            tool.description or None,
            tool.input_schema,
            implementation,
        )

    def begin(self, requested: Sequence[object]) -> None:
        """Start a turn with the `llm` tool calls that the model requested."""
        self._turn = [_Call(call) for call in requested]

    def before_call(self, tool: object, requested: object) -> None:
        """Handle the callback of `llm` before a call; `tool` is None if it does not exist."""
        # `llm` does not call an unknown tool, nor `after_call` for it.
        if tool is not None:
            _current.set(self._find(requested))

    def after_call(self, tool: object, requested: object, result: object) -> None:
        """Handle the callback of `llm` after a call."""
        _current.set(None)
        if self._on_tool_call is not None:
            self._on_tool_call(_new_record(self._find(requested), result))

    def _find(self, requested: object) -> _Call:
        for call in self._turn:
            # Two calls may be equal, so identity decides.
            if call.requested is requested:
                return call
        return _Call(requested)

    def records(self, results: Sequence[object]) -> tuple[ToolCallRecord, ...]:
        """Return the calls of the turn in the order of the requests.

        Args:
            results: the `llm` results.
        """
        remaining = list(results)
        records = []
        for call in self._turn:
            # Before llm 0.32 an asynchronous model gets no result for an unknown tool.
            result = _take_result(remaining, call.requested)
            records.append(_new_record(call, result))
        return tuple(records)

    def _new_call(self, tool: AgentTool) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            start = time.perf_counter()
            timeout = self._deadline.limit(tool.timeout)
            return self._finish(tool.call(arguments, timeout), start)

        return call

    def _new_async_call(self, tool: AgentTool) -> Callable[..., Any]:
        async def call(**arguments: Any) -> Any:
            start = time.perf_counter()
            timeout = self._deadline.limit(tool.timeout)
            return self._finish(await tool.call_async(arguments, timeout), start)

        return call

    def _finish(self, answer: ToolAnswer, start: float) -> Any:
        """Record an answer and return it as the output for `llm`."""
        call = _current.get()
        assert call is not None, "llm did not call before_call"
        call.answer = answer
        call.duration = time.perf_counter() - start
        if answer.is_error:
            raise ToolFailed(answer.text)
        attachments = []
        lines = [output_text(answer.text, answer.structured)]
        for attachment in answer.attachments:
            if accepts_attachment(self._model, attachment.type):
                attachments.append(attachment)
            else:
                lines.append(_describe_left_out(attachment))
        return llm.ToolOutput("\n".join(filter(None, lines)), attachments)


def _describe_left_out(attachment: Any) -> str:
    kind = attachment.type or "an attachment"
    if attachment.content:
        size = f", {len(attachment.content):,} bytes"
    else:
        size = ""
    return f"[{kind}{size}: left out, the model does not take it]"


def _take_result(results: list[Any], requested: Any) -> Any:
    """Remove and return the result of a call; None if the list has none."""
    for position, result in enumerate(results):
        # Some providers send no ids, so the names are compared too.
        if (result.name, result.tool_call_id) == (requested.name, requested.tool_call_id):
            return results.pop(position)
    return None


def _new_record(call: _Call, result: Any) -> ToolCallRecord:
    if result is None:
        output = f'tool "{call.requested.name}" does not exist'
    else:
        output = str(result.output)
    failed = result is None or result.exception is not None
    answer = call.answer
    arguments = to_plain_json(call.requested.arguments)
    if not isinstance(arguments, dict):
        # A model may send any JSON value.
        arguments = {"_raw": arguments}
    return ToolCallRecord(
        name=call.requested.name,
        arguments=arguments,
        result=None if failed else output,
        error=output.removeprefix("Error: ") if failed else None,
        duration=call.duration,
        structured=answer.structured if answer else None,
        attachments=tuple(answer.attachments) if answer else (),
    )


def output_text(text: str, structured: object) -> str:
    """Return the output for the model: the text, plus structured content that is not in it.

    MCP asks servers to send structured content as text too, but not all do.
    """
    if structured is None or _has_same_content(text, structured):
        return text
    dumped = json.dumps(structured, ensure_ascii=False)
    return "\n".join(filter(None, [text, dumped]))


def _has_same_content(text: str, structured: object) -> bool:
    value = structured
    # The MCP SDK wraps a value that is not an object.
    if isinstance(structured, Mapping) and list(structured) == ["result"]:
        value = structured["result"]
    if text == value:
        return True
    if isinstance(value, list) and text == "\n".join(map(_as_text, value)):
        return True
    try:
        parsed = json.loads(text)
    except ValueError:
        return False
    return bool(parsed in (structured, value))


def _as_text(value: object) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
