"""Which protocol a request speaks, and in whose words it is answered that something went wrong."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any, cast

from llm_mock.boundaries.http.error_formats import ErrorFormat, next_request_id
from llm_mock.boundaries.http.errors import ConnectionFails, WireError, on_the_wire, with_fast_retries
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import Protocol
    from llm_mock.boundaries.http.readers.reader import Reader

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


def protocol_of(sent: WireRequest, provider: str) -> Protocol | None:
    """The protocol by which a request asks a model for an answer; None where it does not."""
    name = _protocol_at(sent.path, provider) if sent.method == "POST" else None
    return None if name is None else protocol_module(name)


@functools.lru_cache(maxsize=256)
def _protocol_at(path: str, provider: str) -> str | None:
    name = next((name for ending, name in CONVERSATIONS if ending.search(path)), None)
    if name == "anthropic_messages" and provider in WITHOUT_MESSAGES:
        return None
    return DIALECTS.get(provider, name) if name == "openai_chat" else name


def protocol_module(name: str) -> Protocol:
    """The protocol of a module of `protocols`.

    It is not kept: pytester, with each of its tests, drops the modules that were imported in it, and a kept one would
    know nothing of what those imported after it remember.
    """
    module: Any = importlib.import_module(f"{__package__}.protocols.{name}")
    return cast("Protocol", module.PROTOCOL)


def reader_of(api: str) -> Reader:
    """What reads an answer of an API, which is named as `HTTPRequest.api` names it."""
    module: Any = importlib.import_module(f"{__package__}.readers.{READERS[api]}")
    return cast("Reader", module.READER())


def error_response(errors: ErrorFormat, error: WireError) -> WireResponse:
    """Return an error as the provider words it."""
    error.request_id = next_request_id()
    return json_response(errors.body(error), error.status, errors.headers(error))


def identified(response: WireResponse, errors: ErrorFormat) -> WireResponse:
    """Add the id of the request, where the provider sends one, to the headers of a response."""
    if errors.request_id_header is not None:
        response.headers.append((errors.request_id_header, next_request_id()))
    return response


def failed(errors: ErrorFormat, error: Exception, provider: str | None = None) -> WireResponse:
    """Return the response that an exception is.

    Args:
        errors: how the provider tells what went wrong.
        error: the exception.
        provider: whose API was asked for an answer; None where it was something else.

    Raises:
        ConnectionFails: it is that there is none.
    """
    wire_error = on_the_wire(error)
    if isinstance(wire_error, ConnectionFails):
        raise wire_error from None
    wire_error.headers = with_fast_retries(wire_error, provider)
    return error_response(errors, wire_error)
