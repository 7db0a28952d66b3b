"""Build the response from the answer of the mock, for all HTTP libraries and for the server."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from llm_mock.behaviour.pacing import SlowStart
from llm_mock.behaviour.provider_errors import StreamEnds, StreamStalls
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    ReplyFunctionError,
    convert_to_wire_error,
)
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    add_request_id,
    event_stream_response,
    exception_response,
    json_response,
)
from llm_mock.core.answer import Answer
from llm_mock.core.events import RealWait, Silence, Wait
from llm_mock.core.protocols import PassthroughCall
from llm_mock.errors import LLMMockError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.request import HTTPRequest


class ModelRequest(NamedTuple):
    """A parsed request that calls a model."""

    protocol: WireProtocol
    request: HTTPRequest
    sent: WireRequest
    mock: Any
    """The mock that answers."""


def build_failure_response(parsed: ModelRequest, error: Exception) -> WireResponse:
    """Return the response for an exception, in the format of the provider.

    Raises:
        ConnectionFailure: the exception stands for a failed connection.
    """
    wire_error = convert_to_wire_error(error)
    if isinstance(wire_error, ReplyFunctionError):
        # The test fails with it, because the application may catch the SDK's exception.
        parsed.mock.note_problem(wire_error.explanation)
    return exception_response(parsed.protocol.provider.errors, wire_error, parsed.request.provider)


def build_response(
    parsed: ModelRequest,
    answer: Answer | PassthroughCall,
) -> WireResponse | WireRecording:
    """Return the response for an answer; or a recording, if the call is made for real."""
    if not isinstance(answer, Answer):
        return _start_recording(parsed, answer)
    protocol = parsed.protocol
    context = ResponseContext(parsed.request, answer, parsed.mock)
    if answer.reply.is_recorded:
        # Imported late: it needs the readers, and most replies are scripted.
        from llm_mock.boundaries.http.replay import read_finish_reason, replay_response

        context.recorded_reason = read_finish_reason(answer.reply)
        response = replay_response(context)
        if response:
            if isinstance(response.body, bytes):
                return response
            events = _encode_errors(protocol, context, response.body)
            return response._replace(body=events)
    if parsed.request.stream:
        events = _encode_errors(protocol, context, protocol.stream(context))
        return add_request_id(_start_stream(answer, events), protocol.provider.errors)
    reply = collect_reply(context)
    response = json_response(protocol.build_body(context, reply))
    add_request_id(response, protocol.provider.errors)
    if not reply.seconds:
        return response
    return response._replace(delay=_choose_wait_type(answer)(reply.seconds))


def _choose_wait_type(answer: Answer) -> type[Wait]:
    if answer.real_time:
        return RealWait
    # A slow first token is silence, in which a read timeout runs out.
    return Silence if isinstance(answer.reply.latency, SlowStart) else Wait


def _start_stream(answer: Answer, events: Iterator[bytes | Wait]) -> WireResponse:
    """Return a streamed response that starts with its first chunk, as those of providers do.

    The wait before the first chunk becomes the delay of the response.
    """
    if not (answer.waits and answer.waits[0]):
        return event_stream_response(events)
    events_before: list[bytes | Wait] = []
    for event in events:
        if isinstance(event, Wait):
            response = event_stream_response(itertools.chain(events_before, events))
            return response._replace(delay=event)
        events_before.append(event)
    return event_stream_response(events_before)


def _start_recording(parsed: ModelRequest, call: PassthroughCall) -> WireRecording:
    from llm_mock.boundaries.http.recording import WireRecording

    host = parsed.sent.host
    secrets = parsed.sent.secrets()
    has_placeholder = any(PLACEHOLDER_KEY in secret for secret in secrets)
    # A server of the application's own may do without a key.
    if has_placeholder and find_provider_of_host(host, None):
        problem = LLMMockError(
            f"There is no key for {host}, so nothing was sent: set the environment variable "
            "in which the SDK looks for it, and record again."
        )
        call.report_not_made(problem)
        raise problem
    return WireRecording(call, parsed.request, parsed.sent, parsed.mock)


def _encode_errors(
    protocol: WireProtocol,
    context: ResponseContext,
    chunks: Iterable[bytes | Wait],
) -> Iterator[bytes | Wait]:
    """Yield the events of a stream, in which an error is the last event or ends the connection."""
    wait_type = _choose_wait_type(context.answer)
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
            # Half an event, which the SDK finds but cannot parse.
            yield event[: len(event) // 2].rstrip() + b"\n\n"
    except Exception as error:
        wire_error = convert_to_wire_error(error)
        if isinstance(wire_error, ConnectionFailure):
            raise wire_error from None
        yield protocol.encode_error_event(wire_error, count)
