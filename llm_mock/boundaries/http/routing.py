"""Routing of a request to the protocol of its API, and the error responses of each provider."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.error_formats import ErrorFormat, make_request_id
from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    WireError,
    add_fast_retry_header,
    convert_to_wire_error,
)
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.readers.reader import ResponseReader

MODEL_PATHS = (
    (re.compile(r"/chat/completions$"), "openai_chat"),
    (re.compile(r"/responses$"), "openai_responses"),
    # OpenAI's Assistants API has `/threads/ID/messages`, which is something else.
    (re.compile(r"^(?!.*/threads/).*/messages$"), "anthropic_messages"),
    (re.compile(r":(generateContent|streamGenerateContent)$"), "gemini"),
)
"""The paths of the APIs that call a model, with their modules in `protocols`."""
CHAT_VARIANTS = {"mistral": "mistral_chat", "openrouter": "openrouter_chat"}
"""The modules of providers whose Chat Completions differ from OpenAI's."""
WITHOUT_MESSAGES = ("mistral", "openai")
"""The providers that do not offer Anthropic's Messages at their hosts."""
READERS = {
    "chat.completions": "openai_chat",
    "responses": "openai_responses",
    "messages": "anthropic_messages",
    "generate_content": "gemini",
}
"""The modules in `readers`, by the name of the API in `HTTPRequest.api`."""


def find_protocol(sent: WireRequest, provider: str) -> WireProtocol | None:
    """Return the protocol of a request that calls a model; None for other requests."""
    if sent.method != "POST":
        return None
    name = _find_protocol_name(sent.path, provider)
    if name is None:
        return None
    return load_protocol(name)


# An application calls few paths, and each of them often.
@functools.lru_cache(maxsize=256)
def _find_protocol_name(path: str, provider: str) -> str | None:
    for pattern, name in MODEL_PATHS:
        if not pattern.search(path):
            continue
        if name == "anthropic_messages" and provider in WITHOUT_MESSAGES:
            return None
        if name == "openai_chat":
            return CHAT_VARIANTS.get(provider, name)
        return name
    return None


def load_protocol(name: str) -> WireProtocol:
    """Return the protocol of a module in `protocols`."""
    # Not cached: after each of its tests pytester drops the modules that the test imported. A
    # cached one would not know the responses that a module imported later has stored.
    module: Any = importlib.import_module(f"{__package__}.protocols.{name}")
    protocol: WireProtocol = module.PROTOCOL
    return protocol


def create_reader(api: str) -> ResponseReader:
    """Return a new parser for a response of an API.

    Args:
        api: the API, as `HTTPRequest.api` names it.
    """
    name = READERS[api]
    module: Any = importlib.import_module(f"{__package__}.readers.{name}")
    reader: ResponseReader = module.READER()
    return reader


def error_response(errors: ErrorFormat, error: WireError) -> WireResponse:
    """Return the response for an error, in the format of a provider."""
    error.request_id = make_request_id()
    return json_response(errors.build_body(error), error.status, errors.build_headers(error))


def add_request_id(response: WireResponse, errors: ErrorFormat) -> WireResponse:
    """Add a request id to the headers of a response, if the provider sends one."""
    if errors.request_id_header is not None:
        response.headers.append((errors.request_id_header, make_request_id()))
    return response


def exception_response(
    errors: ErrorFormat,
    error: Exception,
    provider: str | None = None,
) -> WireResponse:
    """Return the response for an exception.

    Args:
        errors: the format of the provider's errors.
        error: the exception.
        provider: the provider of the model that was called; None for other requests, which get
            no header for fast retries.

    Raises:
        ConnectionFailure: the exception stands for a failed connection.
    """
    wire_error = convert_to_wire_error(error)
    if isinstance(wire_error, ConnectionFailure):
        raise wire_error from None
    wire_error.headers = add_fast_retry_header(wire_error, provider)
    return error_response(errors, wire_error)
