"""Streamed responses: their start, their waits, and errors during the stream."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from llm_mock.behaviour.pacing import SlowStart, SplitFrames
from llm_mock.behaviour.provider_errors import StreamEnds, StreamStalls
from llm_mock.boundaries.http.errors import ConnectionFailure, convert_to_wire_error
from llm_mock.boundaries.http.wire import WireResponse, event_stream_response
from llm_mock.core.events import RealWait, Silence, Wait

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.providers.descriptor import HeaderBuilder
    from llm_mock.core.answer import Answer


JSON_STRING = re.compile(rb'"((?:[^"\\]|\\.)*)"')
"""Matches a JSON string."""
FIRST_OF_SEVERAL_BYTES = re.compile(rb"[\xc0-\xff]")
"""Matches the first byte of a multi-byte character in UTF-8."""


def choose_wait_type(answer: Answer) -> type[Wait]:
    """Return the type of an answer's waits, which determines how the client perceives them."""
    if answer.real_time:
        return RealWait
    # Until a slow first token, nothing is sent, so that a read timeout can expire.
    return Silence if isinstance(answer.reply.latency, SlowStart) else Wait


def start_stream(answer: Answer, events: Iterator[bytes | Wait], media_type: str) -> WireResponse:
    """Return a streamed response that starts with its first chunk, as with real providers.

    The wait before the first chunk becomes the delay of the response.
    """
    if not answer.waits:
        return event_stream_response(events, media_type)
    events = apply_pace(answer, events)
    if not answer.waits[0]:
        return event_stream_response(events, media_type)
    events_before: list[bytes | Wait] = []
    for event in events:
        if isinstance(event, Wait):
            response = event_stream_response(itertools.chain(events_before, events), media_type)
            return response._replace(delay=event)
        events_before.append(event)
    return event_stream_response(events_before, media_type)


def apply_pace(answer: Answer, events: Iterator[bytes | Wait]) -> Iterator[bytes | Wait]:
    """Return the events of a stream, split differently if a misbehaviour requires it."""
    return split_frames(events) if isinstance(answer.reply.latency, SplitFrames) else events


def add_provider_headers(
    response: WireResponse, build_headers: HeaderBuilder, context: ResponseContext
) -> None:
    """Add the headers that only this provider sends with an answer."""
    request = context.request
    tokens = (context.input_tokens, context.output_tokens)
    headers = build_headers(request.api, bool(request.stream), *tokens)
    response.headers.extend(headers.items())


def encode_errors(
    protocol: WireProtocol,
    context: ResponseContext,
    chunks: Iterable[bytes | Wait],
) -> Iterator[bytes | Wait]:
    """Yield the events of a stream; an error becomes the last event or ends the connection."""
    wait_type = choose_wait_type(context.answer)
    event = b""
    count = 0
    try:
        for chunk in chunks:
            if isinstance(chunk, bytes):
                event = chunk
                count += 1
                yield chunk
            else:
                yield wait_type(chunk)
    except StreamStalls:
        yield Silence(math.inf)
    except StreamEnds as end:
        if end.malformed:
            # The SDK receives the event, but cannot parse it.
            yield context.request.break_event(event)
    except Exception as error:
        wire_error = convert_to_wire_error(error)
        if isinstance(wire_error, ConnectionFailure):
            raise wire_error from None
        yield protocol.encode_error_event(wire_error, count)


def split_frames(chunks: Iterable[bytes | Wait]) -> Iterator[bytes | Wait]:
    """Yield the bytes of a stream in chunks that start and end within its events.

    Networks deliver bytes, not events: a chunk may end inside a string or a character.
    """
    rest = b""
    for chunk in chunks:
        if not isinstance(chunk, bytes):
            # All that came before the wait arrives before it.
            if rest:
                yield rest
            rest = b""
            yield chunk
            continue
        start = 0
        for position in _find_cuts(chunk):
            yield rest + chunk[start:position]
            rest = b""
            start = position
        rest += chunk[start:]
    if rest:
        yield rest


def _find_cuts(event: bytes) -> list[int]:
    """Return positions in the longest string of an event, and in its first long character."""
    strings = [match.span(1) for match in JSON_STRING.finditer(event)]
    cuts = set()
    if strings:
        start, end = max(strings, key=lambda span: span[1] - span[0])
        cuts.add((start + end) // 2)
    character = FIRST_OF_SEVERAL_BYTES.search(event)
    if character is not None:
        cuts.add(character.start() + 1)
    return sorted(cuts)
