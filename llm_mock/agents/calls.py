"""Between `llm` and the servers: their tools as `llm` tools, and what each call of one was like."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import llm

from llm_mock.agents.deadline import Deadline
from llm_mock.agents.result import ToolCallRecord
from llm_mock.boundaries.llm.chains import takes_attachment
from llm_mock.boundaries.llm.executing import is_async
from llm_mock.core.request import plain

if TYPE_CHECKING:
    from llm_mock.agents.tools import Tool, ToolAnswer

OnToolCall = Callable[[ToolCallRecord], object]
"""Is told a call of a tool that was made."""


class ToolFailed(Exception):
    """Tells `llm` that a tool failed; the model is told the message."""


@dataclass
class _Call:
    """A call that the model asked for: the `llm` tool call, and how it went."""

    asked: Any
    answer: ToolAnswer | None = None
    duration: float = 0.0


_current: ContextVar[_Call] = ContextVar("llm_mock_tool_call")
"""The call whose tool is about to run; `llm` runs tools of asynchronous models as tasks, each with a context."""


class ToolCalls:
    """The tools of a run, and the calls of its current turn; `on_tool_call` is told each call once it was made."""

    def __init__(self, tools: Sequence[Tool], model: Any, on_tool_call: OnToolCall | None = None) -> None:
        self._model = model
        self.deadline = Deadline(None)
        """When the run must be over."""
        self._on_tool_call = on_tool_call
        self._turn: list[_Call] = []
        called = self._call_async if is_async(model) else self._call
        self.tools = [llm.Tool(tool.name, tool.description or None, tool.input_schema, called(tool)) for tool in tools]
        """Tools for `llm`."""

    def begin(self, asked: Sequence[Any]) -> None:
        """The model asked for these `llm` tool calls; they are about to be made."""
        self._turn = [_Call(call) for call in asked]

    def before_call(self, tool: Any, asked: Any) -> None:
        """What `llm` tells of a call before it makes it."""
        _current.set(self._of(asked))

    def after_call(self, tool: Any, asked: Any, result: Any) -> None:
        """What `llm` tells of a call after it made it."""
        if self._on_tool_call is not None:
            self._on_tool_call(_record(self._of(asked), result))

    def _of(self, asked: Any) -> _Call:
        return next((call for call in self._turn if call.asked is asked), None) or _Call(asked)

    def records(self, results: Sequence[Any]) -> tuple[ToolCallRecord, ...]:
        """The calls of the turn, in the order in which the model asked for them, by the `llm` results."""
        remaining = list(results)  # before 0.32 an asynchronous model gets none for what is no tool
        return tuple(_record(call, _taken(remaining, call.asked)) for call in self._turn)

    def _call(self, tool: Tool) -> Callable[..., Any]:
        def call(**arguments: Any) -> Any:
            start = time.perf_counter()
            return self._given(tool.call(arguments, self.deadline.for_call(tool.timeout)), start)

        return call

    def _call_async(self, tool: Tool) -> Callable[..., Any]:
        async def call(**arguments: Any) -> Any:
            start = time.perf_counter()
            return self._given(await tool.call_async(arguments, self.deadline.for_call(tool.timeout)), start)

        return call

    def _given(self, answer: ToolAnswer, start: float) -> Any:
        """What `llm` is given as the output of a tool."""
        call = _current.get()
        call.answer, call.duration = answer, time.perf_counter() - start
        if answer.is_error:
            raise ToolFailed(answer.text)
        taken = [item for item in answer.attachments if takes_attachment(self._model, item.type)]
        notes = [_left_out(item) for item in answer.attachments if item not in taken]
        return llm.ToolOutput("\n".join(filter(None, [output_text(answer.text, answer.structured), *notes])), taken)


def _left_out(attachment: Any) -> str:
    size = f", {len(attachment.content):,} bytes" if attachment.content else ""
    return f"[{attachment.type or 'an attachment'}{size}: left out, the model does not take it]"


def _taken(results: list[Any], asked: Any) -> Any:
    """The result of a call, which is taken out; None where there is none. Some providers give no ids."""
    called = (asked.name, asked.tool_call_id)
    position = next((at for at, result in enumerate(results) if (result.name, result.tool_call_id) == called), None)
    return None if position is None else results.pop(position)


def _record(call: _Call, result: Any) -> ToolCallRecord:
    failed = result is None or result.exception is not None
    output = f'tool "{call.asked.name}" does not exist' if result is None else str(result.output)
    answer, arguments = call.answer, plain(call.asked.arguments)
    return ToolCallRecord(
        name=call.asked.name,
        arguments=arguments if isinstance(arguments, dict) else {"_raw": arguments},  # a model may give any JSON value
        result=None if failed else output,
        error=output.removeprefix("Error: ") if failed else None,
        duration=call.duration,
        structured=answer.structured if answer else None,
        attachments=tuple(answer.attachments) if answer else (),
    )


def output_text(text: str, structured: Any) -> str:
    """What the model is told of a result: its text, and its structured content where the text does not say the same.

    The protocol wants servers to say both alike; an SDK puts what is no object under the name `result`.
    """
    if structured is None or _says_the_same(text, structured):
        return text
    return "\n".join(filter(None, [text, json.dumps(structured, ensure_ascii=False)]))


def _says_the_same(text: str, structured: Any) -> bool:
    bare = structured["result"] if isinstance(structured, Mapping) and list(structured) == ["result"] else structured
    if text == bare or (isinstance(bare, list) and text == "\n".join(map(_as_text, bare))):
        return True
    try:
        said = json.loads(text)
    except ValueError:
        return False
    return bool(said in (structured, bare))


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
