"""Dispatch a request to the mock, for all HTTP libraries and for the server.

Before, `interception.py` finds the provider of the request. Code that few requests need is in
`refusals.py`, `streaming.py`, `recording.py` and `replay.py`.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from llm_mock.boundaries.http.chunks import ResponseContext, collect_reply
from llm_mock.boundaries.http.errors import ReplyFunctionError, convert_to_wire_error
from llm_mock.boundaries.http.interception import TELEMETRY, sleep
from llm_mock.boundaries.http.request_rules.lookup import find_rules
from llm_mock.boundaries.http.routing import find_protocol, lacks_version
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.streaming import (
    add_provider_headers,
    apply_pace,
    choose_wait_type,
    encode_errors,
    start_stream,
)
from llm_mock.boundaries.http.supported_versions import explain_user_agent, outdated_call
from llm_mock.boundaries.http.wire import (
    PendingResponse,
    WireResponse,
    add_request_id,
    error_response,
    exception_response,
    json_response,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.answer import Answer
from llm_mock.core.context import passes_through
from llm_mock.core.script import Script

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.request import HTTPRequest
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.core.mock import Mock
    from llm_mock.core.protocols import AppliedQuotas, PassthroughCall


class ModelRequest(NamedTuple):
    """A parsed request that calls a model."""

    protocol: WireProtocol
    request: HTTPRequest
    sent: WireRequest
    mock: Mock
    """The mock that answers."""


def dispatch_request(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    clock: ClientClock,
    can_send: bool = True,
) -> WireResponse | WireRecording | None:
    """Return the mock's response to a request.

    Args:
        sent: the request.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that answers.
        clock: the time that the client waits for the response.
        can_send: False if no model passes through, so that the request is never sent.

    Returns:
        The response; a recording, if the library must send the request and pass the provider's
        response to the recording; or None, if the library must send it and nothing is recorded.

    Raises:
        ConnectionFailure: the connection fails, or the client times out.
    """
    parsed = _parse_or_respond(sent, provider, mock, can_send)
    if not isinstance(parsed, ModelRequest):
        return parsed.run() if isinstance(parsed, PendingResponse) else parsed
    if clock.read is None:
        parsed.request.waits_forever = clock.total is None
    try:
        _check_request(parsed)
        answer = mock.answer(parsed.request)
        _watch_timeout(parsed, answer, clock)
        response = _build_response(parsed, answer)
        if mock.quotas is not None:
            _add_quota_headers(mock.quotas, answer, response)
    except Exception as error:
        response = _build_failure_response(parsed, error)
    if response.delay:
        for seconds in clock.advance(response.delay):
            time.sleep(seconds)
    return response


async def dispatch_request_async(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    clock: ClientClock,
    can_send: bool = True,
) -> WireResponse | WireRecording | None:
    """Return the mock's response to a request; the asynchronous form of `dispatch_request`."""
    parsed = _parse_or_respond(sent, provider, mock, can_send)
    if not isinstance(parsed, ModelRequest):
        return await parsed.wait() if isinstance(parsed, PendingResponse) else parsed
    if clock.read is None:
        parsed.request.waits_forever = clock.total is None
    response = await respond_async(parsed, clock=clock)
    if response.delay:
        for seconds in clock.advance(response.delay):
            await sleep(seconds)
    return response


async def respond_async(
    parsed: ModelRequest,
    before_function: Callable[[], Awaitable[None]] | None = None,
    clock: ClientClock | None = None,
) -> WireResponse | WireRecording:
    """Return the mock's response to a request that calls a model.

    A reply function may be a coroutine function. An error becomes an error response in the
    provider's format.

    Args:
        parsed: the request.
        before_function: awaited before a reply function is called; nothing else waits.
        clock: the time that the client waits for the response; None if unknown.

    Returns:
        The response; or a recording, if the request is to be sent to the provider.

    Raises:
        ConnectionFailure: the reply is a failed connection.
    """
    mock = parsed.mock
    try:
        _check_request(parsed)
        answer = await mock.answer_async(parsed.request, before_function)
        _watch_timeout(parsed, answer, clock)
        response = _build_response(parsed, answer)
        if mock.quotas is not None:
            _add_quota_headers(mock.quotas, answer, response)
        return response
    except Exception as error:
        return _build_failure_response(parsed, error)


def _parse_or_respond(
    sent: WireRequest, provider: str, mock: Mock, can_send: bool
) -> ModelRequest | WireResponse | PendingResponse | WireRecording | None:
    """Parse a request to a model; return the response if no reply of the mock is needed.

    Returns None for a request that passes through to the provider.
    """
    # Before parsing, as every request of an outdated library is refused.
    outdated = outdated_call.get() or explain_user_agent(sent.headers.get("user-agent", ""))
    if outdated or provider == TELEMETRY or http_settings.mode == "error":
        # Imported late: few requests are refused.
        from llm_mock.boundaries.http.refusals import refuse_request

        refusal = refuse_request(sent, provider, mock, outdated)
        if refusal is not None:
            return refusal
    parsed = parse_request(sent, provider, mock)
    if not isinstance(parsed, ModelRequest):
        return parsed
    model = parsed.request.model_id
    # The test allowed this model to pass through, so this comes before the refusal.
    if can_send and passes_through(model):
        return None
    if http_settings.mode == "error":
        from llm_mock.boundaries.http.refusals import refuse_model_call

        return refuse_model_call(sent, model, parsed.protocol.provider.errors, mock)
    return parsed


def parse_request(
    sent: WireRequest,
    provider: str,
    mock: Mock,
    served: bool = False,
) -> ModelRequest | WireResponse | PendingResponse | WireRecording:
    """Parse a request; return the response if it does not call a model or is malformed.

    Returns a recording for a request that must be sent to the provider.

    Args:
        sent: the request.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that answers.
        served: True if the client sent it to the mock server, not to the provider.
    """
    if "content-encoding" in sent.headers:
        # Imported late: few clients compress their requests.
        from llm_mock.boundaries.http.content_encodings import decode_request

        decoded = decode_request(sent, provider, mock)
        if isinstance(decoded, WireResponse):
            return decoded
        sent = decoded
    if Script.has_endpoints:
        # Imported late: few tests configure endpoints.
        from llm_mock.boundaries.http.endpoint_requests import answer_configured_endpoint

        configured = answer_configured_endpoint(sent, provider, mock)
        if configured is not None:
            return configured
    host = "" if served else sent.host
    protocol = find_protocol(sent.method, sent.path, provider, host)
    if protocol is None:
        return _answer_other_request(sent, provider, mock, served)
    try:
        return ModelRequest(protocol, protocol.parse_request(sent, mock), sent, mock)
    except WireError as error:
        # With a cassette the provider itself judges what the mock cannot read.
        recorded = _answer_from_cassette(sent, provider, mock)
        if recorded is not None:
            return recorded
        # Imported late: few requests are malformed.
        from llm_mock.boundaries.http.refusals import note_malformed

        note_malformed(sent, error, mock)
        return error_response(protocol.provider.errors, error)


def _answer_other_request(
    sent: WireRequest, provider: str, mock: Mock, served: bool
) -> WireResponse | WireRecording:
    """Return the response to a request that does not call a model with a conversation."""
    recorded = _answer_from_cassette(sent, provider, mock)
    if recorded is not None:
        return recorded
    # Imported late: most programs only call models.
    from llm_mock.boundaries.http.other_endpoints import answer_other_endpoint
    from llm_mock.boundaries.http.refusals import (
        refuse_path_without_version,
        refuse_unknown_path,
    )

    # A client of the server may send any path before the path of the API.
    if not served and lacks_version(sent.host, sent.path):
        return refuse_path_without_version(sent, mock)
    response = answer_other_endpoint(sent, provider, mock)
    return response or refuse_unknown_path(sent, provider, mock, served)


def _answer_from_cassette(
    sent: WireRequest, provider: str, mock: Mock
) -> WireResponse | WireRecording | None:
    """Return the recorded response or the recording of a request; None without a cassette."""
    if mock.cassette is None:
        return None
    # Imported late: few tests have a cassette.
    from llm_mock.boundaries.http.endpoint_recording import answer_from_cassette

    return answer_from_cassette(sent, provider, mock)


def _check_request(parsed: ModelRequest) -> None:
    """Refuse a request that the provider would refuse.

    Raises:
        WireError: the provider's error.
    """
    mock = parsed.mock
    request = parsed.request
    # The test made the model unknown with `set_unknown`.
    if mock.is_unknown(request.model_id):
        raise parsed.protocol.build_unknown_model_error(request.model_id)
    settings = mock.settings
    # With a cassette, the provider checks the request, or did so when it was recorded.
    if not settings.autospec or mock.cassette is not None:
        return
    host = parsed.sent.host
    rules = find_rules(request.api, host)
    violation = rules and rules.find_violation(request, settings.disabled_rules)
    if violation:
        # Imported late: most requests are accepted.
        from llm_mock.boundaries.http.refusals import refuse_call

        raise refuse_call(request, host, violation, mock)


def _watch_timeout(
    parsed: ModelRequest, answer: Answer | PassthroughCall, clock: ClientClock | None
) -> None:
    """Let the clock of the client record a timeout of the client."""
    if clock is None or not isinstance(answer, Answer) or answer.waits is None:
        return
    # Imported late: few replies have a latency.
    from llm_mock.boundaries.http.client_timeouts import watch_timeout

    watch_timeout(clock, answer, bool(parsed.request.stream))


def _build_response(
    parsed: ModelRequest,
    answer: Answer | PassthroughCall,
) -> WireResponse | WireRecording:
    """Return the response for an answer; or a recording, if the call is made for real."""
    if not isinstance(answer, Answer):
        # Imported late: few tests record calls.
        from llm_mock.boundaries.http.recording import start_recording

        return start_recording(answer, parsed.request, parsed.sent, parsed.mock)
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
            events = encode_errors(protocol, context, response.body)
            return response._replace(body=apply_pace(answer, events))
    if answer.reply.is_special:
        return _build_special_response(protocol, context)
    descriptor = protocol.provider
    seconds = 0.0
    if parsed.request.stream:
        events = encode_errors(protocol, context, protocol.stream(context))
        response = start_stream(answer, events, descriptor.stream_type)
    else:
        reply = collect_reply(context)
        response = json_response(protocol.build_body(context, reply))
        seconds = reply.seconds
    add_request_id(response, descriptor.errors)
    if descriptor.build_headers is not None:
        add_provider_headers(response, descriptor.build_headers, context)
    if not seconds:
        return response
    return response._replace(delay=choose_wait_type(answer)(seconds))


def _add_quota_headers(
    quotas: AppliedQuotas,
    answer: Answer | PassthroughCall,
    response: WireResponse | WireRecording,
) -> None:
    """Add the rate-limit headers of a provider to a response of the mock."""
    if not isinstance(answer, Answer) or not isinstance(response, WireResponse):
        return
    headers = quotas.build_headers(answer.record)
    # A reply may set these headers itself.
    scripted = answer.reply.headers
    response.headers.extend(item for item in headers.items() if item[0] not in scripted)


def _build_special_response(protocol: WireProtocol, context: ResponseContext) -> WireResponse:
    """Return the response for a reply with candidates, details, or the provider's own JSON."""
    # Imported late: few replies are special.
    from llm_mock.boundaries.http.details.response import add_headers, build_detailed_response

    reply = context.answer.reply
    if reply.candidates:
        from llm_mock.boundaries.http.candidates import build_candidates_response

        response = build_candidates_response(protocol, context)
    elif reply.raw is not None:
        from llm_mock.boundaries.http.raw_answers import build_raw_response

        response = build_raw_response(protocol, context)
    else:
        response = build_detailed_response(protocol, context)
    build_headers = protocol.provider.build_headers
    if build_headers is not None:
        add_provider_headers(response, build_headers, context)
    return add_headers(response, context)


def _build_failure_response(parsed: ModelRequest, error: Exception) -> WireResponse:
    """Return the response for an exception, in the format of the provider.

    Raises:
        ConnectionFailure: the exception represents a failed connection.
    """
    wire_error = convert_to_wire_error(error)
    if isinstance(wire_error, ReplyFunctionError):
        # The test fails with this error, because the application may catch the SDK's exception.
        parsed.mock.note_problem(wire_error.explanation)
    return exception_response(parsed.protocol.provider.errors, wire_error, parsed.request.provider)
