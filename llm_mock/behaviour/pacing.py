"""The times at which the pieces of a reply come."""

from __future__ import annotations

import copy
import json
from itertools import accumulate
from typing import TYPE_CHECKING

from llm_mock.behaviour.provider_errors import provider_error
from llm_mock.core.latency import Latency
from llm_mock.core.reply import Reply
from llm_mock.core.tokens import CHARACTERS_PER_TOKEN, estimate_tokens

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord


class SlowStart(Latency):
    """The latency of a provider that is at fault: a server really waits for it."""


def paced(reply: Reply, latency: Latency, call: CallRecord) -> tuple[Reply, list[float]]:
    """A reply as it comes with a latency, cut where the timeout ends it; and the seconds before each of its pieces."""
    reply = copy.copy(reply)
    if latency.chunks_per_second is not None and reply.chunks is None:
        starts = range(0, len(reply.content), CHARACTERS_PER_TOKEN)
        tokens = tuple(reply.content[start : start + CHARACTERS_PER_TOKEN] for start in starts)
        reply.__dict__["chunks"] = tokens  # the way around `__setattr__`
    waits = latency.waits(_sizes(reply), call["number"])
    if latency.timeout is not None and sum(waits) > latency.timeout:
        waits = _cut(reply, waits, latency.timeout, call)
    return reply, waits


def _sizes(reply: Reply) -> list[int]:
    """For how many chunks each piece of a reply counts: its reasoning, its chunks, its tool calls."""
    reasoning = [] if reply.reasoning is None else [estimate_tokens(len(reply.reasoning))]
    chunks = [1 for _ in reply.stream(stream=True)]
    if reply.error_after is not None:
        return reasoning + chunks[: reply.error_after]
    return reasoning + chunks + [estimate_tokens(len(json.dumps(call.arguments))) for call in reply.tool_calls]


def _cut(reply: Reply, waits: list[float], timeout: float, call: CallRecord) -> list[float]:
    """End a reply with a timeout, after the chunks that come before. Returns the waits up to there."""
    ends = list(accumulate(waits))
    arrived = sum(end <= timeout for end in ends)
    lead = 0 if reply.reasoning is None else 1
    chunks = min(max(arrived - lead, 0), len(tuple(reply.stream(stream=True))))
    fields, reasoning = reply.__dict__, reply.reasoning if arrived else None
    error = provider_error(call["model_id"], "timeout", provider=call.get("provider"))
    fields.update(error=error, error_after=chunks, notes=(), reasoning=reasoning)
    fields["estimated_tokens"] = estimate_tokens(len(reply.outcome))
    return [*waits[:arrived], timeout - (ends[arrived - 1] if arrived else 0)]
