"""The steps from a request to its response, for all HTTP libraries and for the server."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple, cast

from llm_mock.behaviour.pacing import SlowStart
from llm_mock.behaviour.provider_errors import StreamEnds, StreamStalls
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.error_formats import ErrorFormat, get_error_format
from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    ReplyFunctionError,
    WireError,
    convert_to_wire_error,
    refusal_headers,
)
from llm_mock.boundaries.http.providers import find_provider_of_host
from llm_mock.boundaries.http.routing import (
    add_request_id,
    error_response,
    exception_response,
    find_protocol,
)
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    event_stream_response,
    json_response,
)
from llm_mock.core.answer import Answer
from llm_mock.core.events import RealWait, Silence, Wait
from llm_mock.core.protocols import PassthroughCall
from llm_mock.core.source_location import find_project_line
from llm_mock.errors import LLMMockError, RealModelCall

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.core.mock import Mock


class ModelRequest(NamedTuple):
    """A parsed request that calls a model."""

    protocol: WireProtocol
    request: HTTPRequest
    sent: WireRequest


def parse_request(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    served: bool = False,
) -> ModelRequest | WireResponse:
    """Parse a request; return the response if it does not call a model or is malformed.

    Args:
        sent: the request.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that answers.
        served: True if the client sent it to the mock server, not to the provider.
    """
    protocol = find_protocol(sent, provider)
    if protocol is None:
        # Imported late: most programs call models alone.
        from llm_mock.boundaries.http.other_endpoints import answer_other_endpoint

        response = answer_other_endpoint(sent, provider, mock)
        return response or _refuse_unknown_path(sent, provider, mock, served)
    try:
        return ModelRequest(protocol, protocol.parse_request(sent), sent)
    except WireError as error:
        return error_response(protocol.errors, error)


def respond(parsed: ModelRequest, mock: Mock) -> WireResponse | WireRecording:
    """Return the mock's response to a request that calls a model.

    An error becomes an error response in the provider's format.

    Returns:
        The response; or a recording, if the request is to be sent to the provider.

    Raises:
        ConnectionFailure: the reply is that the connection fails.
    """
    try:
        _check_model_is_known(parsed, mock)
        return _build_response(parsed, mock.answer(parsed.request))
    except Exception as error:
        return _build_failure_response(parsed, error, mock)


async def respond_async(parsed: ModelRequest, mock: Mock) -> WireResponse | WireRecording:
    """Return the mock's response; the asynchronous form of `respond`.

    Here a reply function may be a coroutine function.
    """
    try:
        _check_model_is_known(parsed, mock)
        return _build_response(parsed, await mock.answer_async(parsed.request))
    except Exception as error:
        return _build_failure_response(parsed, error, mock)


def _build_failure_response(parsed: ModelRequest, error: Exception, mock: Mock) -> WireResponse:
    wire_error = convert_to_wire_error(error)
    if isinstance(wire_error, ReplyFunctionError):
        # The test fails with it, because the application may catch the SDK's exception.
        mock.note_problem(wire_error.explanation)
    return exception_response(parsed.protocol.errors, wire_error, parsed.request.provider)


def _check_model_is_known(parsed: ModelRequest, mock: Mock) -> None:
    """Raise the provider's error for a model that `set_unknown` made unknown."""
    model = parsed.request.model_id
    if mock.is_unknown(model):
        raise parsed.protocol.build_unknown_model_error(model)


def refuse_model_call(
    sent: WireRequest,
    model: str,
    errors: ErrorFormat,
    mock: Mock,
) -> WireResponse:
    """Refuse a call of a model, and note it for the test to fail with.

    Args:
        sent: the request.
        model: the model that it calls.
        errors: the format of the provider's errors.
        mock: the mock that notes it.
    """
    message = (
        f"A call of the model {model!r} was about to reach {sent.host}{sent.path}. Ini "
        "llm_mock_http = error refuses it; with llm_mock_http = answer the mock answers it. To "
        "reach the provider, mark the test with @pytest.mark.llm_live."
    )
    mock.note_problem(message)
    wire_error = cast("WireError", convert_to_wire_error(RealModelCall(message)))
    return error_response(errors, wire_error)


def refuse_client_version(message: str, provider: str, mock: Mock) -> WireResponse:
    """Refuse a request of a library that is too old, and note it for the test to fail with."""
    mock.note_problem(message)
    wire_error = WireError(400, message, headers=refusal_headers(message))
    return error_response(get_error_format(provider), wire_error)


def drop_telemetry(sent: WireRequest) -> WireResponse:
    """Accept a usage report of a framework without sending it anywhere."""
    if sent.method == "POST":
        return json_response({})
    return json_response({}, 404)


def _refuse_unknown_path(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    served: bool,
) -> WireResponse:
    problem = f"{sent.method} {sent.path} of {sent.host} is not supported by llm_mock"
    if served:
        message = (
            f"{problem}. The server supports chat/completions, responses, messages, "
            "generateContent, embeddings, models and token counts. Check the base URL that the "
            "program was given."
        )
    else:
        message = (
            f"{problem}; nothing was sent. {_describe_caller()}To reach the provider, mark the "
            f"test with @pytest.mark.llm_live; if {sent.host} is not a provider, add "
            f"!{sent.host} to ini llm_mock_hosts."
        )
    mock.note_refusal(message)
    wire_error = WireError(404, message, headers=refusal_headers(message))
    return error_response(get_error_format(provider), wire_error)


def _describe_caller() -> str:
    """Return a sentence with the caller's line; empty if another thread calls."""
    location = find_project_line()
    return f"Requested at {location}. " if location else ""


def _build_response(
    parsed: ModelRequest,
    answer: Answer | PassthroughCall,
) -> WireResponse | WireRecording:
    if not isinstance(answer, Answer):
        return _start_recording(parsed, answer)
    protocol = parsed.protocol
    context = ResponseContext(parsed.request, answer)
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
        return add_request_id(_start_stream(answer, events), protocol.errors)
    reply = collect_reply(context)
    response = json_response(protocol.build_body(context, reply))
    add_request_id(response, protocol.errors)
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
    return WireRecording(call, parsed.request, parsed.sent)


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
