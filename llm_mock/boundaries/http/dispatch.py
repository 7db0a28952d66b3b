"""Dispatch of a request to the mock, for all HTTP libraries and for the server.

`interception.py` finds the provider of the request before, `responder.py` builds the response.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.interception import TELEMETRY, sleep
from llm_mock.boundaries.http.responder import (
    ModelRequest,
    build_failure_response,
    build_response,
)
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.supported_versions import explain_user_agent, outdated_call
from llm_mock.boundaries.http.wire import error_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.context import passes_through

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse
    from llm_mock.core.mock import Mock


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
        The response; a recording, for which the library sends the request and which takes in the
        provider's response; or None, if the library sends the request and nothing is recorded.

    Raises:
        ConnectionFailure: the connection fails, or the client does not wait long enough.
    """
    parsed = _parse_or_respond(sent, provider, mock, can_send)
    if not isinstance(parsed, ModelRequest):
        return parsed
    try:
        # `set_unknown` made the model unknown.
        if mock.is_unknown(parsed.request.model_id):
            raise parsed.protocol.build_unknown_model_error(parsed.request.model_id)
        response = build_response(parsed, mock.answer(parsed.request))
    except Exception as error:
        response = build_failure_response(parsed, error)
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
        return parsed
    response = await respond_async(parsed)
    if response.delay:
        for seconds in clock.advance(response.delay):
            await sleep(seconds)
    return response


async def respond_async(
    parsed: ModelRequest, before_function: Callable[[], Awaitable[None]] | None = None
) -> WireResponse | WireRecording:
    """Return the mock's response to a request that calls a model.

    A reply function may be a coroutine function. An error becomes an error response in the
    provider's format.

    Args:
        parsed: the request.
        before_function: is awaited before a reply function is called; nothing else waits.

    Returns:
        The response; or a recording, if the request is to be sent to the provider.

    Raises:
        ConnectionFailure: the reply is that the connection fails.
    """
    mock = parsed.mock
    try:
        if mock.is_unknown(parsed.request.model_id):
            raise parsed.protocol.build_unknown_model_error(parsed.request.model_id)
        answer = await mock.answer_async(parsed.request, before_function)
        return build_response(parsed, answer)
    except Exception as error:
        return build_failure_response(parsed, error)


def _parse_or_respond(
    sent: WireRequest, provider: str, mock: Mock, can_send: bool
) -> ModelRequest | WireResponse | None:
    """Parse a request to a model; return the response if no reply of the mock is needed.

    None stands for a request that passes through to the provider.
    """
    # Before parsing: an old library is refused whatever it sends.
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
    # A model that passes through was allowed on purpose, so that this goes before the refusal.
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
) -> ModelRequest | WireResponse:
    """Parse a request; return the response if it does not call a model or is malformed.

    Args:
        sent: the request.
        provider: its provider, as `find_provider_of_host` names it.
        mock: the mock that answers.
        served: True if the client sent it to the mock server, not to the provider.
    """
    protocol = find_protocol(sent.method, sent.path, provider)
    if protocol is None:
        # Imported late: most programs call models alone.
        from llm_mock.boundaries.http.other_endpoints import answer_other_endpoint
        from llm_mock.boundaries.http.refusals import refuse_unknown_path

        response = answer_other_endpoint(sent, provider, mock)
        return response or refuse_unknown_path(sent, provider, mock, served)
    try:
        return ModelRequest(protocol, protocol.parse_request(sent, mock), sent, mock)
    except WireError as error:
        return error_response(protocol.provider.errors, error)
