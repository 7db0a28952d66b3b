"""An answer on its way: the events that a boundary plays, once, and their times.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.events import End, Event, MadeToolCall, Wait

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply


class Answer:
    """What a call is answered with.

    Args:
        reply: what was configured, generated or recorded.
        record: the record of the call, complete.
        waits: the seconds before each piece; None where it comes at once.
        real_time: whether these are really waited for.
    """

    __slots__ = ("real_time", "record", "reply", "waits")

    def __init__(
        self, reply: Reply, record: CallRecord, waits: Sequence[float] | None = None, real_time: bool = False
    ) -> None:
        self.reply = reply
        self.record = record
        self.waits = waits
        self.real_time = real_time

    def events(self, stream: bool) -> Iterator[Any]:
        """The pieces in order: `str`, `Event` (or a library's own), `MadeToolCall`, `Wait`, last an `End`.

        Args:
            stream: whether the text comes in pieces.

        Raises:
            Exception: the error of the reply, where it comes.
        """
        __tracebackhide__ = True
        events = self._events(stream)
        return events if self.waits is None else _timed(events, self.waits if stream else [sum(self.waits)])

    def _events(self, stream: bool) -> Iterator[Any]:
        __tracebackhide__ = True
        reply, record = self.reply, self.record
        error = None if reply.error is None else reply.exception()
        if reply.reasoning is not None:
            yield Event("reasoning", reply.reasoning)
        for position, chunk in enumerate(reply.stream(stream)):
            if error is not None and (not stream or position == reply.error_after):
                raise error
            yield chunk
        if error is not None:
            raise error
        if reply.tool_calls:
            yield from _tool_calls(reply, record["number"])
        details = None if reply.usage is None else reply.usage_details()
        yield End(
            record["input_tokens"],
            record["output_tokens"],
            details,
            reply.attachments,
            reply.resolved_model,
            reply.raw_json(),
        )


def _tool_calls(reply: Reply, number: int) -> Iterator[Any]:
    """The calls, each streamed as the providers do, unless the script did so itself."""
    scripted = any(getattr(chunk, "tool_call_id", None) for chunk in reply.chunks or ())
    for position, call in enumerate(reply.tool_calls, start=1):
        call_id = call.tool_call_id or f"call_{number}_{position}"
        if not scripted:
            yield Event("tool_call_name", call.name, tool_call_id=call_id)
            text = getattr(call, "text", None) or json.dumps(call.arguments)
            yield Event("tool_call_args", text, tool_call_id=call_id)
        yield MadeToolCall(call.name, copy.deepcopy(call.arguments), call_id)


def _timed(events: Iterator[Any], waits: Sequence[float]) -> Iterator[Any]:
    """The events with the wait before each piece; what is left of the waits comes before the end, or the error."""
    __tracebackhide__ = True
    remaining = iter(waits)
    error = None
    while True:
        try:
            event = next(events)
        except Exception as problem:
            error, event = problem, None
        last = error is not None or type(event) is End
        seconds = 0.0 if type(event) is MadeToolCall else sum(remaining) if last else next(remaining, 0.0)
        if seconds:
            yield Wait(seconds)
        if error is not None:
            raise error
        yield event
        if last:
            return
