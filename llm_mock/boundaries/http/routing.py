"""Which protocol a request speaks, and in whose words it is answered that something went wrong."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any, cast

from llm_mock.boundaries.http.error_formats import ErrorFormat, next_request_id
from llm_mock.boundaries.http.errors import ConnectionFailure, WireError, add_fast_retry_header, to_wire_error
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.readers.reader import ResponseReader

CONVERSATIONS = (
    (re.compile(r"/chat/completions$"), "openai_chat"),
    (re.compile(r"/responses$"), "openai_responses"),
    (re.compile(r"^(?!.*/threads/).*/messages$"), "anthropic_messages"),
    (re.compile(r":(generateContent|streamGenerateContent)$"), "gemini"),
)
"""The APIs that a model is asked for an answer by: how their paths end, and their modules in `protocols`."""
DIALECTS = {"mistral": "mistral_chat", "openrouter": "openrouter_chat"}
"""The modules of providers who speak OpenAI's Chat Completions with differences."""
WITHOUT_MESSAGES = ("mistral", "openai")
"""Providers at whose own hosts nobody offers Anthropic's Messages."""
READERS = {
    "chat.completions": "openai_chat",
    "responses": "openai_responses",
    "messages": "anthropic_messages",
    "generate_content": "gemini",
}
"""The modules of `readers` by the API."""


def find_protocol(sent: WireRequest, provider: str) -> WireProtocol | None:
    """The protocol by which a request asks a model for an answer; None where it does not."""
    name = _protocol_at(sent.path, provider) if sent.method == "POST" else None
    return None if name is None else load_protocol(name)


@functools.lru_cache(maxsize=256)
def _protocol_at(path: str, provider: str) -> str | None:
    name = next((name for ending, name in CONVERSATIONS if ending.search(path)), None)
    if name == "anthropic_messages" and provider in WITHOUT_MESSAGES:
        return None
    return DIALECTS.get(provider, name) if name == "openai_chat" else name


def load_protocol(name: str) -> WireProtocol:
    """The protocol of a module of `protocols`.

    It is not kept: pytester, with each of its tests, drops the modules that were imported in it, and a kept one would
    know nothing of what those imported after it store_provider_response.
    """
    module: Any = importlib.import_module(f"{__package__}.protocols.{name}")
    return cast("WireProtocol", module.PROTOCOL)


def create_reader(api: str) -> ResponseReader:
    """What reads an answer of an API, which is named as `HTTPRequest.api` names it."""
    module: Any = importlib.import_module(f"{__package__}.readers.{READERS[api]}")
    return cast("ResponseReader", module.READER())


def error_response(errors: ErrorFormat, error: WireError) -> WireResponse:
    """Return an error as the provider words it."""
    error.request_id = next_request_id()
    return json_response(errors.body(error), error.status, errors.headers(error))


def add_request_id(response: WireResponse, errors: ErrorFormat) -> WireResponse:
    """Add the id of the request, where the provider sends one, to the headers of a response."""
    if errors.request_id_header is not None:
        response.headers.append((errors.request_id_header, next_request_id()))
    return response


def exception_response(errors: ErrorFormat, error: Exception, provider: str | None = None) -> WireResponse:
    """Return the response that an exception is.

    Args:
        errors: how the provider tells what went wrong.
        error: the exception.
        provider: whose API was asked for an answer; None where it was something else.

    Raises:
        ConnectionFailure: it is that there is none.
    """
    wire_error = to_wire_error(error)
    if isinstance(wire_error, ConnectionFailure):
        raise wire_error from None
    wire_error.headers = add_fast_retry_header(wire_error, provider)
    return error_response(errors, wire_error)
