"""Recognize SDKs by their headers, and model APIs by path and body."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from llm_mock.boundaries.http.providers.registry import find_owner, get_registry

ANSWERED_PATH = re.compile(
    r"(/chat/completions|/responses|/responses/input_tokens|/messages|/messages/count_tokens"
    r"|/embeddings|/moderations|/images/(generations|edits|variations)|/audio/speech"
    r"|:(generateContent|streamGenerateContent|embedContent|batchEmbedContents|countTokens)"
    r"|/publishers/(anthropic|mistralai)/models/[^/]+:(rawPredict|streamRawPredict)"
    r"|/v1\w*/(.+/)?interactions"
    r"|/model/[^/]+/(converse(-stream)?|invoke(-with-response-stream)?|count-tokens))$"
)
"""Matches the end of a path that the mock answers."""
REFUSED_PATH = re.compile(
    r"(/completions|/rerank|/ocr|/fim/completions|/realtime"
    r"|[.]BidiGenerateContent)$"
)
"""Matches the end of another path of a model API, to which requests are refused."""
GEMINI_PATH = re.compile(r":(\w*[gG]enerateContent|\w*[eE]mbedContents?|countTokens)$")
BEDROCK_PATH = re.compile(r"/model/[^/]+/(converse|invoke|count-tokens)[a-z-]*$")
VERTEX_PATH = re.compile(r"/publishers/(anthropic|mistralai)/models/[^/]+:\w*[rR]awPredict$")
"""Matches a path of Vertex AI for a model of another company, in that company's format."""
CLOUD_PATH = re.compile(f"{BEDROCK_PATH.pattern}|{VERTEX_PATH.pattern}")
"""Matches a path that contains a cloud's model; the body may be any object."""
REALTIME_PATH = re.compile(r"(/realtime|/v\d+/responses|[.]BidiGenerateContent)$")
WEBSOCKET_PATH = re.compile(r"/(responses|realtime)$")
"""Matches the end of a WebSocket path that the mock answers."""
INPUT_FIELDS = (
    "messages",
    "input",
    "inputs",
    "prompt",
    "contents",
    "query",
    "document",
    "text",
    "texts",
)
"""The fields of a body that hold the input of a model."""
GENERATED_USER_AGENT = re.compile(r"^\w+/(Python|JS)\b")
"""Matches the user agent of every SDK that Stainless generates, also for other services."""
CLIENT_HEADERS = {
    "user-agent",
    "content-type",
    "upgrade",
    "x-goog-api-client",
    "anthropic-version",
    "x-stainless-lang",
    "x-fern-sdk-name",
}
"""The headers that identify a client; the others are not read."""


class Client(NamedTuple):
    """The client of a request, as its headers describe it."""

    sdk: str | None
    """The provider of its SDK; None for other clients."""
    sends_json: bool
    """False if the body has another media type."""
    wants_websocket: bool
    """True if the connection is to become a WebSocket."""


def read_client(headers: Iterable[tuple[Any, Any]]) -> Client:
    """Identify the client by its headers, whose names and values may be str or bytes."""
    values: dict[str, str] = {}
    for name, value in headers:
        lower_name = _lower_name(name) if type(name) is bytes else str(name).lower()
        if lower_name in CLIENT_HEADERS:
            text = value.decode("latin-1") if isinstance(value, bytes) else str(value)
            values[lower_name] = text
    return Client(
        sdk=_identify_sdk(values),
        # Clients that send no content type may send JSON.
        sends_json="json" in values.get("content-type", "json"),
        wants_websocket=values.get("upgrade", "").lower() == "websocket",
    )


# Cached: clients send the same few names with every request.
@functools.lru_cache
def _lower_name(name: bytes) -> str:
    return name.decode("latin-1").lower()


def _identify_sdk(headers: dict[str, str]) -> str | None:
    if "anthropic-version" in headers:
        return "anthropic"
    if "genai" in headers.get("x-goog-api-client", ""):
        return "google"
    if headers.get("x-fern-sdk-name") == "cohere":
        return "cohere"
    user_agent = headers.get("user-agent", "")
    sdk = _match_user_agent(user_agent)
    if sdk is None and "x-stainless-lang" in headers:
        # The application replaced the user agent; OpenAI's SDK is the most likely one.
        return None if GENERATED_USER_AGENT.match(user_agent) else "openai"
    return sdk


@functools.lru_cache
def _match_user_agent(user_agent: str) -> str | None:
    for pattern, provider in get_registry().user_agents:
        if pattern.search(user_agent):
            return provider
    return None


@functools.lru_cache
def is_model_path(path: str) -> bool:
    """Return True if a path may belong to a model API."""
    known = ANSWERED_PATH.search(path) or REFUSED_PATH.search(path)
    return known is not None or find_owner(path) is not None


def is_realtime_path(path: str) -> bool:
    """Return True if a WebSocket at a path talks to a model."""
    return REALTIME_PATH.search(path) is not None


def is_websocket_path(path: str) -> bool:
    """Return True if the mock answers WebSockets at a path."""
    return WEBSOCKET_PATH.search(path) is not None


def is_unmistakable_path(path: str) -> bool:
    """Return True if a path belongs to a model API, regardless of the body."""
    return path.endswith("/chat/completions") or GEMINI_PATH.search(path) is not None


def is_model_body(path: str, body: bytes) -> bool:
    """Return True if a body is a request to a model.

    Args:
        path: the path of the request, for which `is_model_path` is true.
        body: the body.
    """
    if GEMINI_PATH.search(path):
        return True
    # Imported here, as most requests are recognized without their body.
    from pydantic_core import from_json

    try:
        content = from_json(body)
    except ValueError:
        return False
    if not isinstance(content, dict):
        return False
    # Azure names the model in the path.
    names_model = isinstance(content.get("model"), str) or "/deployments/" in path
    if path.endswith("/chat/completions"):
        return isinstance(content.get("messages"), list) or names_model
    if CLOUD_PATH.search(path):
        return True
    return names_model and any(field in content for field in INPUT_FIELDS)


def choose_dialect(path: str, sdk: str | None) -> str:
    """Return the provider whose API format a request uses, if its host is not a provider's.

    Args:
        path: the path of the request, which takes precedence.
        sdk: the provider of the client's SDK; None for other clients.
    """
    # OpenAI's Assistants API has `/threads/ID/messages`, which is something else.
    if path.endswith(("/messages", "/messages/count_tokens")) and "/threads/" not in path:
        return "anthropic"
    if GEMINI_PATH.search(path) or path.endswith("/interactions"):
        return "google"
    if BEDROCK_PATH.search(path):
        return "bedrock"
    if VERTEX_PATH.search(path):
        return "vertex"
    if path.endswith("/responses"):
        return "openai"
    # Most gateways and local servers offer OpenAI's API.
    return find_owner(path) or sdk or "openai"
