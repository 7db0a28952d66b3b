"""Route a request to the protocol of its API."""

from __future__ import annotations

import functools
import importlib
import re
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.providers.registry import (
    find_own_api,
    find_provider,
    get_registry,
)

if TYPE_CHECKING:
    from llm_mock.boundaries.http.protocols.protocol import WireProtocol
    from llm_mock.boundaries.http.readers.reader import ResponseReader

MODEL_PATHS = (
    (re.compile(r"/chat/completions$"), "openai_chat"),
    (re.compile(r"/responses$"), "openai_responses"),
    # OpenAI's Assistants API has `/threads/ID/messages`, which is something else.
    (re.compile(r"^(?!.*/threads/).*/messages$"), "anthropic_messages"),
    (re.compile(r":(generateContent|streamGenerateContent)$"), "gemini"),
    (
        re.compile(r"/anthropic/models/(?!count-tokens:)[^/]+:(rawPredict|streamRawPredict)$"),
        "anthropic_vertex",
    ),
    (re.compile(r"/v1\w*/(.+/)?interactions$"), "gemini_interactions"),
    (re.compile(r"/mistralai/models/[^/]+:(rawPredict|streamRawPredict)$"), "mistral_chat"),
    (re.compile(r"/model/.+/converse(-stream)?$"), "bedrock_converse"),
    (re.compile(r"/model/.+/invoke(-with-response-stream)?$"), "bedrock_invoke"),
)
"""The paths of APIs for calls to models, with their modules in `protocols`.

An API that only one provider offers is in the provider's descriptor.
"""
OPENAI_HOST = "api.openai.com"
OPENAI_PATHS = (
    "/audio/",
    "/chat/completions",
    "/conversations",
    "/embeddings",
    "/images/",
    "/models",
    "/moderations",
    "/responses",
)
"""The first segments of OpenAI's paths after the version."""
READERS = {
    "chat.completions": "openai_chat",
    "responses": "openai_responses",
    "messages": "anthropic_messages",
    "generate_content": "gemini",
    "interactions": "gemini_interactions",
    "converse": "bedrock_converse",
    "invoke_model": "bedrock_invoke",
    "endpoint": "endpoint",
}
"""The modules in `readers`, by the name of the API in `HTTPRequest.api`."""


# An application calls few paths, and each of them often.
@functools.lru_cache
def find_protocol(method: str, path: str, provider: str, host: str = "") -> WireProtocol | None:
    """Return the protocol of a request that calls a model; None for other requests."""
    if method != "POST" or lacks_version(host, path):
        return None
    descriptor = find_provider(provider)
    own = find_own_api(descriptor, path)
    if own is not None:
        return load_protocol(own.protocol)
    for pattern, name in MODEL_PATHS:
        if not pattern.search(path):
            continue
        variant = name if descriptor is None else descriptor.protocols.get(name, name)
        return None if variant is None else load_protocol(variant)
    return None


def lacks_version(host: str, path: str) -> bool:
    """Return whether a path is an OpenAI path that lacks the version `/v1`."""
    return host == OPENAI_HOST and path.startswith(OPENAI_PATHS)


def load_protocol(name: str) -> WireProtocol:
    """Return the protocol of a module in `protocols`."""
    protocol: WireProtocol = load_protocol_module(name).PROTOCOL
    return protocol


def load_protocol_module(name: str) -> Any:
    """Return a module in `protocols`, and import it when it is first needed."""
    return importlib.import_module(f"{__package__}.protocols.{name}")


def create_reader(api: str) -> ResponseReader:
    """Return a new parser for a response of an API.

    Args:
        api: the API, as `HTTPRequest.api` names it.
    """
    name = READERS.get(api)
    if name is None:
        folder, name = "protocols", get_registry().apis[api].protocol
    else:
        folder = "readers"
    module: Any = importlib.import_module(f"{__package__}.{folder}.{name}")
    reader: ResponseReader = module.READER()
    return reader


def list_apis() -> list[str]:
    """Return the names of all APIs whose responses can be recorded."""
    return [*READERS, *get_registry().apis]
