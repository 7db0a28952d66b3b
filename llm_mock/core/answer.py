"""An answer on its way: the events that a boundary plays, once, and their times."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.core.events import Event, MadeToolCall, Wait
from llm_mock.core.tool_calls import further_attributes

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply


class Answer:
    """What a call is answered with.

    Args:
        reply: what was configured, generated or recorded; what it says of the answer as a whole counts at the end.
        record: the record of the call, complete, with the tokens of the answer.
        waits: the seconds before each piece; None where it comes at once.
        real_time: whether these are really waited for.
        raw_json: whether the provider's payload is wanted beside it; see `Settings.raw_json`.
    """

    __slots__ = ("raw_json", "real_time", "record", "reply", "waits")

    def __init__(
        self,
        reply: Reply,
        record: CallRecord,
        waits: Sequence[float] | None = None,
        real_time: bool = False,
        raw_json: bool = False,
    ) -> None:
        self.reply = reply
        self.record = record
        self.waits = waits
        self.real_time = real_time
        self.raw_json = raw_json

    def events(self, stream: bool) -> Iterator[Any]:
        """The pieces in order: `str`, `Event` (or a library's own), `MadeToolCall` and `Wait`.

        Args:
            stream: whether the text comes in pieces.

        Raises:
            Exception: the error of the reply, where it comes.
        """
        __tracebackhide__ = True
        if self.waits is None:
            return self._events(stream)
        return _timed(self._events(stream), self.waits if stream else [sum(self.waits)])

    def _events(self, stream: bool) -> Iterator[Any]:
        __tracebackhide__ = True
        reply = self.reply
        error = None if reply.error is None else reply.exception()
        if reply.reasoning is not None:
            yield Event("reasoning", reply.reasoning)
        for position, chunk in enumerate(reply.stream(stream)):
            if error is not None and not reply.is_recorded and (not stream or position == reply.error_after):
                raise error
            yield chunk
        if reply.tool_calls and (error is None or reply.is_recorded):
            yield from _tool_calls(reply, self.record["number"])
        if error is not None:
            raise error


def _tool_calls(reply: Reply, number: int) -> Iterator[Any]:
    """The calls, each streamed as the providers do, unless the script did so itself; recorded ones as they were."""
    scripted = reply.is_recorded or any(getattr(chunk, "tool_call_id", None) for chunk in reply.chunks or ())
    for position, call in enumerate(reply.tool_calls, start=1):
        call_id = call.tool_call_id if reply.is_recorded else call.tool_call_id or f"call_{number}_{position}"
        if not scripted:
            yield Event("tool_call_name", call.name, tool_call_id=call_id)
            text = getattr(call, "text", None) or json.dumps(call.arguments)
            yield Event("tool_call_args", text, tool_call_id=call_id)
        yield MadeToolCall(call.name, copy.deepcopy(call.arguments), call_id, further_attributes(call))


def _timed(events: Iterator[Any], waits: Sequence[float]) -> Iterator[Any]:
    """The events with the wait before each piece; what is left of the waits comes before the end, or the error."""
    __tracebackhide__ = True
    remaining = iter(waits)
    error = None
    while error is None:
        event = None
        try:
            event = next(events)
        except Exception as problem:  # at the end StopIteration
            error = problem
        seconds = 0.0 if type(event) is MadeToolCall else next(remaining, 0.0) if error is None else sum(remaining)
        if seconds:
            yield Wait(seconds)
        if error is None:
            yield event
    if not isinstance(error, StopIteration):
        raise error
