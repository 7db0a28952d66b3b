"""Time the pieces of a reply: split it into chunks, wait before each, cut it at the timeout."""

from __future__ import annotations

import copy
import itertools
import json
from typing import TYPE_CHECKING, cast

from llm_mock.behaviour.provider_errors import make_provider_error
from llm_mock.core.events import is_reply_item
from llm_mock.core.latency import Latency
from llm_mock.core.reply import Reply
from llm_mock.core.tokens import CHARACTERS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from llm_mock.core.call import Call
    from llm_mock.core.value_types import ToolCallLike


class SlowStart(Latency):
    """The latency of a faulty provider; a server really waits for it."""


class SplitFrames(Latency):
    """A latency without waits, with stream chunks that begin and end within events."""


def apply_latency(reply: Reply, latency: Latency, call: Call) -> tuple[Reply, list[float]]:
    """Return a reply with its chunks and timeout applied, and the seconds before each piece."""
    reply = copy.copy(reply)
    if latency.chunks_per_second is not None and reply.chunks is None:
        tokens = _split_text(reply.content)
        # A `Reply` is frozen: writing to `__dict__` goes around its `__setattr__`.
        reply.__dict__["chunks"] = tuple(tokens)
        if reply.parts is not None:
            reply.__dict__["parts"] = tuple(_split_parts(reply.parts))
    sizes = _measure_pieces(reply)
    waits = latency.compute_waits(sizes, call["number"])
    timeout = latency.timeout
    if timeout is not None and sum(waits) > timeout:
        waits = _cut_at_timeout(reply, waits, timeout, call)
    return reply, waits


def _split_text(text: str) -> list[str]:
    pieces = []
    for start in range(0, len(text), CHARACTERS_PER_TOKEN):
        end = start + CHARACTERS_PER_TOKEN
        pieces.append(text[start:end])
    return pieces


def _split_parts(parts: Iterable[object]) -> Iterator[object]:
    """Yield the parts of a reply, the texts in pieces."""
    for part in parts:
        if isinstance(part, str):
            yield from _split_text(part)
        else:
            yield part


def _measure_pieces(reply: Reply) -> list[int]:
    """Return how many chunks each piece counts for: reasoning, chunks of text, tool calls."""
    reasoning = []
    if reply.reasoning is not None:
        reasoning.append(estimate_tokens(len(reply.reasoning)))
    if reply.raw is not None:
        return [1 for _ in reply.raw.events or ("",)]
    if reply.parts is not None and reply.error_after is None:
        sizes = map(_measure_part, reply.parts)
        return [*reasoning, *itertools.chain.from_iterable(sizes)]
    chunks = [1 for _ in reply.stream(stream=True)]
    # A reply that fails ends before its tool calls.
    if reply.error_after is not None:
        return reasoning + chunks[: reply.error_after]
    tool_calls = [_measure_call(call) for call in reply.tool_calls]
    return reasoning + chunks + tool_calls


def _measure_part(part: object) -> list[int]:
    """Return the sizes of the events of a part: one, or those of a call's name and arguments."""
    if isinstance(part, str) or is_reply_item(part):
        return [1]
    return [_measure_call(cast("ToolCallLike", part)), 0]


def _measure_call(call: ToolCallLike) -> int:
    arguments = json.dumps(call.arguments)
    return estimate_tokens(len(arguments))


def _cut_at_timeout(reply: Reply, waits: list[float], timeout: float, call: Call) -> list[float]:
    """End a reply with a timeout after the chunks that come before it; return the waits so far."""
    ends = list(itertools.accumulate(waits))
    arrived = sum(end <= timeout for end in ends)
    leading = 0 if reply.reasoning is None else 1
    all_chunks = tuple(reply.stream(stream=True))
    arrived_chunks = max(arrived - leading, 0)
    chunks = min(arrived_chunks, len(all_chunks))
    reasoning = reply.reasoning if arrived else None
    error = make_provider_error(call["model_id"], "timeout", provider=call.get("provider"))
    # Around the frozen `Reply`, as above.
    fields = reply.__dict__
    fields.update(error=error, error_after=chunks, notes=(), reasoning=reasoning)
    # Derived when it was created, and no longer true of a reply with an error.
    fields.update(is_text=False, is_text_alone=False, parts=None)
    # After the update, because `outcome` is only what came before the timeout.
    fields["estimated_tokens"] = estimate_tokens(len(reply.outcome))
    last_end = ends[arrived - 1] if arrived else 0
    return [*waits[:arrived], timeout - last_end]
