"""Answer requests over a WebSocket that prepare a response without output (`generate: false`)."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

from llm_mock.boundaries.http.dispatch import ModelRequest, parse_request
from llm_mock.boundaries.http.protocols.openai_responses import (
    build_response_object,
    store_response,
)
from llm_mock.boundaries.http.websockets.events import build_error_event
from llm_mock.boundaries.http.wire import WireResponse

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.boundaries.http.wire import WireRequest
    from llm_mock.core.mock import Mock
    from llm_mock.support.json_types import JSONObject

NO_TOKENS = {
    "input_tokens": 0,
    "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
    "output_tokens": 0,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 0,
}


def prepare_response(sent: WireRequest, provider: str, mock: Mock) -> list[JSONObject]:
    """Return the events for a request that calls no model, and store its response.

    A later request can continue from the response: see `ResponseCreate.generate` in OpenAI's SDK.

    Args:
        sent: the request.
        provider: its provider.
        mock: the mock that stores the response.
    """
    parsed = parse_request(sent, provider, mock)
    if isinstance(parsed, WireResponse):
        return [build_error_event(parsed)]
    assert isinstance(parsed, ModelRequest)
    request = parsed.request
    mock.stored_count += 1
    prefix = mock.history.get_id_prefix()
    # These are all fields of the object, as there is no answer.
    context = cast(
        "ResponseContext",
        SimpleNamespace(
            request=request,
            number=f"{prefix}prepared_{mock.stored_count}",
            created=int(time.time()),
            model=request.model_id,
            answer=SimpleNamespace(reply=SimpleNamespace(service_tier=None)),
        ),
    )
    created = build_response_object(context, "in_progress", [])
    completed = build_response_object(context, "completed", [])
    completed["usage"] = NO_TOKENS
    store_response(mock, request, completed)
    return [
        {"type": "response.created", "sequence_number": 0, "response": created},
        {"type": "response.completed", "sequence_number": 1, "response": completed},
    ]
