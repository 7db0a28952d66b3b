"""Routing of a request to the protocol of its API."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.providers.registry import find_provider

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.readers.reader import ResponseReader

MODEL_PATHS = (
    (re.compile(r"/chat/completions$"), "openai_chat"),
    (re.compile(r"/responses$"), "openai_responses"),
    # OpenAI's Assistants API has `/threads/ID/messages`, which is something else.
    (re.compile(r"^(?!.*/threads/).*/messages$"), "anthropic_messages"),
    (re.compile(r":(generateContent|streamGenerateContent)$"), "gemini"),
    (re.compile(r"/model/.+/converse(-stream)?$"), "bedrock_converse"),
    (re.compile(r"/model/.+/invoke(-with-response-stream)?$"), "bedrock_invoke"),
)
"""The paths of the APIs that call a model, with their modules in `protocols`."""
READERS = {
    "chat.completions": "openai_chat",
    "responses": "openai_responses",
    "messages": "anthropic_messages",
    "generate_content": "gemini",
    "converse": "bedrock_converse",
    "invoke_model": "bedrock_invoke",
}
"""The modules in `readers`, by the name of the API in `HTTPRequest.api`."""


# An application calls few paths, and each of them often.
@functools.lru_cache(maxsize=256)
def find_protocol(method: str, path: str, provider: str) -> WireProtocol | None:
    """Return the protocol of a request that calls a model; None for other requests."""
    if method != "POST":
        return None
    for pattern, name in MODEL_PATHS:
        if not pattern.search(path):
            continue
        descriptor = find_provider(provider)
        variant = name if descriptor is None else descriptor.protocols.get(name, name)
        return None if variant is None else load_protocol(variant)
    return None


def load_protocol(name: str) -> WireProtocol:
    """Return the protocol of a module in `protocols`."""
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
