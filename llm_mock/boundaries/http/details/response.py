"""Build responses for replies with details that few replies have."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.chunks import collect_reply
from llm_mock.boundaries.http.streaming import choose_wait_type, encode_errors, start_stream
from llm_mock.boundaries.http.wire import WireResponse, add_request_id, json_response

if TYPE_CHECKING:
    from llm_mock.boundaries.http.chunks import ResponseContext
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol

GEMINI_TIER_HEADER = "x-gemini-service-tier"
MODULES = {
    "AnthropicMessages": "anthropic_messages",
    "AnthropicVertex": "anthropic_vertex",
    "CerebrasChat": "cerebras_chat",
    "CohereChat": "cohere_chat",
    "Gemini": "gemini",
    "MistralChat": "mistral_chat",
    "OpenAIChat": "openai_chat",
    "OpenAIResponses": "openai_responses",
    "OpenRouterChat": "openrouter_chat",
}
"""The modules of this package, by the class of the protocol without details."""


def find_detailed_protocol(protocol: WireProtocol) -> WireProtocol:
    """Return the protocol that encodes the details, beyond the fields that every response has."""
    name = MODULES.get(type(protocol).__name__)
    if name is None:
        return protocol
    module = importlib.import_module(f"{__package__}.{name}")
    detailed: WireProtocol = module.PROTOCOL
    return detailed


def build_detailed_response(protocol: WireProtocol, context: ResponseContext) -> WireResponse:
    """Return the response for a reply with details.

    Args:
        protocol: the API that is called.
        context: the call and its reply.
    """
    protocol = find_detailed_protocol(protocol)
    answer = context.answer
    errors = protocol.provider.errors
    if context.request.stream:
        events = encode_errors(protocol, context, protocol.stream(context))
        response = start_stream(answer, events, protocol.provider.stream_type)
        add_request_id(response, errors)
    else:
        reply = collect_reply(context)
        response = add_request_id(json_response(protocol.build_body(context, reply)), errors)
        if reply.seconds:
            response = response._replace(delay=choose_wait_type(answer)(reply.seconds))
    return response


def add_headers(response: WireResponse, context: ResponseContext) -> WireResponse:
    """Return a response with the headers of the reply, which replace headers of the same name."""
    reply = context.answer.reply
    headers: Mapping[str, str] = reply.headers
    if reply.service_tier is not None and context.request.api == "generate_content":
        # The other APIs have a field for the tier.
        headers = {GEMINI_TIER_HEADER: reply.service_tier, **headers}
    if not headers:
        return response
    kept = [item for item in response.headers if item[0] not in headers]
    return response._replace(headers=[*kept, *headers.items()])
