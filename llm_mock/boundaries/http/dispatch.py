"""Answer a request, for every HTTP library, sync or async, once `interception.py` has found its provider."""

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
from llm_mock.boundaries.http.supported_versions import explain_request
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.core.context import current_mock, passes_through

if TYPE_CHECKING:
    from llm_mock.boundaries.http.client_clock import ClientClock
    from llm_mock.boundaries.http.recording import WireRecording
    from llm_mock.boundaries.http.wire import WireRequest, WireResponse


def dispatch_request(sent: WireRequest, provider: str, clock: ClientClock) -> WireResponse | WireRecording | None:
    """The response to a request.

    Where the library is to send it that is None, as its model passes through, or what takes in the real response.

    Args:
        sent: the request.
        provider: as `provider_of` names it.
        clock: how long the client waits for the response.

    Raises:
        ConnectionFailure: the connection is to fail, or the client does not wait as long.
    """
    asked = _asked(sent, provider)
    if not isinstance(asked, ModelRequest):
        return asked
    response = respond(asked, current_mock())
    if response.delay:
        for seconds in clock.waits(response.delay):
            time.sleep(seconds)
    return response


async def dispatch_request_async(
    sent: WireRequest, provider: str, clock: ClientClock
) -> WireResponse | WireRecording | None:
    """The asynchronous twin of `dispatch_request`."""
    asked = _asked(sent, provider)
    if not isinstance(asked, ModelRequest):
        return asked
    response = await respond_async(asked, current_mock())
    if response.delay:
        for seconds in clock.waits(response.delay):
            await sleep(seconds)
    return response


def _asked(sent: WireRequest, provider: str) -> ModelRequest | WireResponse | None:
    if provider == TELEMETRY:
        return drop_telemetry(sent)
    mock = current_mock()
    if message := explain_request(sent.headers.get("user-agent", "")):
        return refuse_client_version(message, provider, mock)
    if Wanted.mode == "refuse":
        from llm_mock.boundaries.http.other_endpoints import find_embedding_model

        model = find_embedding_model(sent)
        if model is not None:
            return refuse_model_call(sent, model, get_error_format(provider), mock)
    asked = parse_request(sent, provider, mock)
    if not isinstance(asked, ModelRequest):
        return asked
    if passes_through(asked.request.model_id):
        return None
    return (
        refuse_model_call(sent, asked.request.model_id, asked.protocol.errors, mock)
        if Wanted.mode == "refuse"
        else asked
    )
