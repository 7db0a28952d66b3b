"""Dispatch of a request to the mock, for all HTTP libraries, synchronous or not.

`interception.py` finds the provider of the request before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.error_formats import get_error_format
from llm_mock.boundaries.http.interception import TELEMETRY, sleep
from llm_mock.boundaries.http.responder import (
    ModelRequest,
    drop_telemetry,
    parse_request,
    refuse_client_version,
    refuse_model_call,
    respond,
    respond_async,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.supported_versions import explain_request
from llm_mock.core.context import current_mock, passes_through

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse


def dispatch_request(
    sent: WireRequest,
    provider: str,
    clock: ClientClock,
) -> WireResponse | WireRecording | None:
    """Return the mock's response to a request.

    Args:
        sent: the request.
        provider: its provider, as `find_provider_of_host` names it.
        clock: the time that the client waits for the response.

    Returns:
        The response; a recording, for which the library sends the request and which takes in the
        provider's response; or None, if the library sends the request and nothing is recorded.

    Raises:
        ConnectionFailure: the connection fails, or the client does not wait long enough.
    """
    parsed = _parse_or_respond(sent, provider)
    if not isinstance(parsed, ModelRequest):
        return parsed
    response = respond(parsed, current_mock())
    if response.delay:
        for seconds in clock.advance(response.delay):
            time.sleep(seconds)
    return response


async def dispatch_request_async(
    sent: WireRequest,
    provider: str,
    clock: ClientClock,
) -> WireResponse | WireRecording | None:
    """Return the mock's response to a request; the asynchronous form of `dispatch_request`."""
    parsed = _parse_or_respond(sent, provider)
    if not isinstance(parsed, ModelRequest):
        return parsed
    response = await respond_async(parsed, current_mock())
    if response.delay:
        for seconds in clock.advance(response.delay):
            await sleep(seconds)
    return response


def _parse_or_respond(sent: WireRequest, provider: str) -> ModelRequest | WireResponse | None:
    """Parse a request to a model; return the response if no reply of the mock is needed.

    None stands for a request that passes through to the provider.
    """
    if provider == TELEMETRY:
        return drop_telemetry(sent)
    mock = current_mock()
    # Before parsing: an old library is refused whatever it sends.
    message = explain_request(sent.headers.get("user-agent", ""))
    if message:
        return refuse_client_version(message, provider, mock)
    is_refused = http_settings.mode == "error"
    if is_refused:
        # Imported late: few projects refuse calls, and the module needs the vectors of the core.
        from llm_mock.boundaries.http.other_endpoints import find_embedding_model

        embedding_model = find_embedding_model(sent)
        if embedding_model is not None:
            return refuse_model_call(sent, embedding_model, get_error_format(provider), mock)
    parsed = parse_request(sent, provider, mock)
    if not isinstance(parsed, ModelRequest):
        return parsed
    model = parsed.request.model_id
    # A model that passes through was allowed on purpose, so that this goes before the refusal.
    if passes_through(model):
        return None
    if is_refused:
        return refuse_model_call(sent, model, parsed.protocol.errors, mock)
    return parsed
