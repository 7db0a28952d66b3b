"""Time the pieces of a reply: split it into chunks, wait before each, cut it at the timeout."""

from __future__ import annotations

import copy
import json
from itertools import accumulate
from typing import TYPE_CHECKING

from llm_mock.behaviour.provider_errors import make_provider_error
from llm_mock.core.latency import Latency
from llm_mock.core.reply import Reply
from llm_mock.core.tokens import CHARACTERS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from llm_mock.core.call import Call


class SlowStart(Latency):
    """The latency of a faulty provider; a server really waits for it."""


def apply_latency(reply: Reply, latency: Latency, call: Call) -> tuple[Reply, list[float]]:
    """Return a reply with its chunks and timeout applied, and the seconds before each piece."""
    reply = copy.copy(reply)
    if latency.chunks_per_second is not None and reply.chunks is None:
        starts = range(0, len(reply.content), CHARACTERS_PER_TOKEN)
        tokens = []
        for start in starts:
            end = start + CHARACTERS_PER_TOKEN
            tokens.append(reply.content[start:end])
        # A `Reply` is frozen: writing to `__dict__` goes around its `__setattr__`.
        reply.__dict__["chunks"] = tuple(tokens)
    sizes = _measure_pieces(reply)
    waits = latency.compute_waits(sizes, call["number"])
    timeout = latency.timeout
    if timeout is not None and sum(waits) > timeout:
        waits = _cut_at_timeout(reply, waits, timeout, call)
    return reply, waits


def _measure_pieces(reply: Reply) -> list[int]:
    """Return how many chunks each piece counts for: reasoning, chunks of text, tool calls."""
    reasoning = []
    if reply.reasoning is not None:
        reasoning.append(estimate_tokens(len(reply.reasoning)))
    chunks = [1 for _ in reply.stream(stream=True)]
    # A reply that fails does not come as far as its tool calls.
    if reply.error_after is not None:
        return reasoning + chunks[: reply.error_after]
    tool_calls = []
    for call in reply.tool_calls:
        arguments = json.dumps(call.arguments)
        tool_calls.append(estimate_tokens(len(arguments)))
    return reasoning + chunks + tool_calls


def _cut_at_timeout(reply: Reply, waits: list[float], timeout: float, call: Call) -> list[float]:
    """End a reply with a timeout after the chunks that come before it; return the waits so far."""
    ends = list(accumulate(waits))
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
    fields.update(is_text=False, is_text_alone=False)
    # After the update, because `outcome` is only what came before the timeout.
    fields["estimated_tokens"] = estimate_tokens(len(reply.outcome))
    last_end = ends[arrived - 1] if arrived else 0
    return [*waits[:arrived], timeout - last_end]
