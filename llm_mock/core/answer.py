"""Answers: the events that a boundary turns into its library's response, with their times."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from llm_mock.core.events import Event, ItemEvent, MadeToolCall, Wait, is_reply_item
from llm_mock.core.tool_calls import get_further_attributes

if TYPE_CHECKING:
    from llm_mock.core.call import Call
    from llm_mock.core.events import Chunk
    from llm_mock.core.history import History
    from llm_mock.core.reply import Reply
    from llm_mock.core.value_types import ToolCallLike


class Answer(NamedTuple):
    """The answer to a call, as a stream of events that can be read once."""

    reply: Reply
    """The configured, generated or recorded reply. A boundary also reads fields of the whole answer
    from it, such as the usage."""
    record: Call
    """The complete record of the call, with the tokens of the answer."""
    history: History
    """The history with the record."""
    waits: Sequence[float] | None
    """The seconds before each event; None for no waits."""
    real_time: bool
    """Whether to really wait for these seconds."""
    raw_json: bool
    """Whether `response.json()` returns the provider's payload; see `Settings.raw_json`."""

    def make_id(self) -> str:
        """Return an id of the call that is unique in the run."""
        # The cached prefix first, because this runs in each call.
        prefix = self.history.id_prefix
        if prefix is None:
            prefix = self.history.get_id_prefix()
        return f"{prefix}{self.record['number']}"

    def events(self, stream: bool) -> Iterator[Chunk]:
        """Yield the events in order: `str`, `Event` (or a library's own), `MadeToolCall`, `Wait`.

        Args:
            stream: whether to stream the text in chunks.

        Raises:
            Exception: the error of the reply, after the events that come before it.
        """
        events = self._events(stream)
        # Most answers have no latency, and need no further generator around the events.
        if self.waits is None:
            return events
        waits = self.waits if stream else [sum(self.waits)]
        return _add_waits(events, waits)

    def _events(self, stream: bool) -> Iterator[Chunk]:
        __tracebackhide__ = True
        reply = self.reply
        error = None if reply.error is None else reply.exception()
        if reply.reasoning is not None:
            yield Event("reasoning", reply.reasoning)
        # A recorded reply fails only after all its recorded events.
        if error is not None and not reply.is_recorded:
            if stream:
                chunks = tuple(_iter_content(reply, stream))
                yield from chunks[: reply.error_after]
            raise error
        if reply.parts is not None:
            yield from _iter_part_events(reply.parts, self.make_id())
            return
        yield from _iter_content(reply, stream)
        if reply.tool_calls:
            yield from _iter_tool_call_events(reply, self.make_id())
        if error is not None:
            raise error


def _iter_content(reply: Reply, stream: bool) -> Iterable[Chunk]:
    """Return the chunks of the content; the chunks of a refusal are events."""
    chunks = reply.stream(stream)
    if reply.refusal is None:
        return chunks
    return (Event("refusal", chunk) for chunk in chunks)


def _iter_part_events(parts: Sequence[object], call_id_part: str) -> Iterator[Chunk]:
    """Yield the texts, tool call events and other items of a reply, in order."""
    position = 0
    for part in parts:
        if isinstance(part, str):
            yield part
            continue
        if is_reply_item(part):
            yield ItemEvent(part)
            continue
        call = cast("ToolCallLike", part)
        position += 1
        call_id = call.tool_call_id or f"call_{call_id_part}_{position}"
        yield from _iter_call_events(call, call_id)
        yield _make_tool_call(call, call_id)


def _iter_tool_call_events(reply: Reply, call_id_part: str) -> Iterator[Chunk]:
    """Yield the tool calls of a reply, each after its stream events."""
    has_stream_events = reply.is_recorded
    for chunk in reply.chunks or ():
        if getattr(chunk, "tool_call_id", None):
            has_stream_events = True
    for position, call in enumerate(reply.tool_calls, start=1):
        call_id = call.tool_call_id
        # A recorded call without an id stays without one, because the provider sent none.
        if not call_id and not reply.is_recorded:
            call_id = f"call_{call_id_part}_{position}"
        if not has_stream_events:
            yield from _iter_call_events(call, call_id)
        yield _make_tool_call(call, call_id)


def _iter_call_events(call: ToolCallLike, call_id: str | None) -> Iterator[Event]:
    """Yield the stream events that providers send for a tool call."""
    # A `BrokenToolCall` has a text that may not be JSON.
    arguments = getattr(call, "text", None) or json.dumps(call.arguments)
    yield Event("tool_call_name", call.name, tool_call_id=call_id)
    yield Event("tool_call_args", arguments, tool_call_id=call_id)


def _make_tool_call(call: ToolCallLike, call_id: str | None) -> MadeToolCall:
    # A copy, because the application may change the arguments, but must not change the reply.
    arguments = copy.deepcopy(call.arguments)
    return MadeToolCall(call.name, arguments, call_id, get_further_attributes(call))


def _add_waits(events: Iterator[Chunk], waits: Sequence[float]) -> Iterator[Chunk]:
    """Yield the events, each after its wait; the remaining waits come before the end or error."""
    __tracebackhide__ = True
    remaining = iter(waits)
    while True:
        try:
            event = next(events)
        except StopIteration:
            rest = sum(remaining)
            if rest:
                yield Wait(rest)
            return
        except Exception:
            rest = sum(remaining)
            if rest:
                yield Wait(rest)
            raise
        # A tool call comes with its last event, which already has a wait.
        seconds = 0.0 if type(event) is MadeToolCall else next(remaining, 0.0)
        if seconds:
            yield Wait(seconds)
        yield event
