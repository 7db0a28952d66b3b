"""Recognise SDKs by the headers they send, and model APIs by path and body."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

UNDERSTOOD = re.compile(
    r"(/chat/completions|/responses|/responses/input_tokens|/messages|/messages/count_tokens"
    r"|/embeddings|:(generateContent|streamGenerateContent|embedContent|batchEmbedContents|countTokens))$"
)
"""How the paths end that the mock answers."""
NOT_UNDERSTOOD = re.compile(
    r"(/completions|/images/(generations|edits|variations)|/audio/speech|/moderations|/rerank|/ocr"
    r"|/api/(chat|generate|embed)|/v2/chat|/fim/completions|/realtime"
    r"|/model/[^/]+/(converse|converse-stream|invoke|invoke-with-response-stream)"
    r"|[.]BidiGenerateContent)$"
)
"""How further paths of model APIs end, which are refused."""
GEMINI = re.compile(r":(\w*[gG]enerateContent|\w*[eE]mbedContents?|countTokens)$")
BEDROCK = re.compile(r"/model/[^/]+/(converse|invoke)[a-z-]*$")
REALTIME = re.compile(r"(/realtime|[.]BidiGenerateContent)$")
QUESTIONS = ("messages", "input", "inputs", "prompt", "contents", "query", "document", "text")
"""The keys of a body that hold what a model is asked."""
USER_AGENTS = (
    (re.compile(r"openai/(python|js)", re.IGNORECASE), "openai"),
    (re.compile(r"anthropic\w*/(python|js)", re.IGNORECASE), "anthropic"),
    (re.compile(r"google-genai-sdk/", re.IGNORECASE), "google"),
    (re.compile(r"mistral-client-python/|mistralai", re.IGNORECASE), "mistral"),
    (re.compile(r"^(async)?groq/", re.IGNORECASE), "groq"),
    (re.compile(r"^(async)?together/", re.IGNORECASE), "together"),
    (re.compile(r"^(async)?cerebras/", re.IGNORECASE), "cerebras"),
    (re.compile(r"^(async)?fireworks/", re.IGNORECASE), "fireworks"),
    (re.compile(r"^(async)?perplexity/", re.IGNORECASE), "perplexity"),
    (re.compile(r"^(async)?(writer|palmyra)/", re.IGNORECASE), "writer"),
    (re.compile(r"^cohere/", re.IGNORECASE), "cohere"),
    (re.compile(r"^ollama-python/", re.IGNORECASE), "ollama"),
    (re.compile(r"^replicate/|^replicate-python/", re.IGNORECASE), "replicate"),
    (re.compile(r"^dashscope/", re.IGNORECASE), "dashscope"),
)
"""What SDKs call themselves, and the provider whose dialect they speak."""
GENERATED = re.compile(r"^\w+/(Python|JS)\b")
"""What every SDK that Stainless generates calls itself: many are of no model provider."""
TELLING = {
    "user-agent",
    "content-type",
    "upgrade",
    "x-goog-api-client",
    "anthropic-version",
    "x-stainless-lang",
    "x-fern-sdk-name",
}


class Client(NamedTuple):
    """What the headers of a request say of its client."""

    sdk: str | None
    """The provider whose SDK it is; None for other clients."""
    sends_json: bool
    """False if the body is of another media type."""
    wants_socket: bool
    """True if the connection is to become a WebSocket."""


def read_client(headers: Iterable[tuple[Any, Any]]) -> Client:
    """Read the headers, whose names and values may be text or bytes."""
    found: dict[str, str] = {}
    for name, value in headers:
        text = _lower_name(name) if type(name) is bytes else str(name).lower()
        if text in TELLING:
            found[text] = value.decode("latin-1") if isinstance(value, bytes) else str(value)
    sends_json = "json" in found.get("content-type", "json")
    return Client(_identify_sdk(found), sends_json, found.get("upgrade", "").lower() == "websocket")


@functools.lru_cache(maxsize=256)
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
    if sdk is None and "x-stainless-lang" in headers and not GENERATED.match(user_agent):
        return "openai"  # its user agent was replaced
    return sdk


@functools.lru_cache(maxsize=256)
def _match_user_agent(user_agent: str) -> str | None:
    for pattern, provider in USER_AGENTS:
        if pattern.search(user_agent):
            return provider
    return None


@functools.lru_cache(maxsize=256)
def is_model_path(path: str) -> bool:
    """Return True if a path may be one of a model API."""
    return bool(UNDERSTOOD.search(path) or NOT_UNDERSTOOD.search(path))


def is_understood(path: str) -> bool:
    """Return True if the mock has an answer for requests to a path."""
    return UNDERSTOOD.search(path) is not None


def is_realtime(path: str) -> bool:
    """Return True if a WebSocket at a path talks to a model."""
    return REALTIME.search(path) is not None


def is_unmistakable(path: str) -> bool:
    """Return True if a path is that of a model API, whatever the body is."""
    return path.endswith("/chat/completions") or GEMINI.search(path) is not None


def is_model_body(path: str, body: bytes) -> bool:
    """Return True if a body asks a model something, at a path for which `is_model_path` holds."""
    if GEMINI.search(path):
        return True
    from pydantic_core import from_json

    try:
        content = from_json(body)
    except ValueError:
        return False
    if not isinstance(content, dict):
        return False
    names_model = isinstance(content.get("model"), str) or "/deployments/" in path
    if path.endswith("/chat/completions"):
        return isinstance(content.get("messages"), list) or names_model
    if BEDROCK.search(path):
        return True
    return names_model and any(name in content for name in QUESTIONS)


def choose_dialect(path: str, sdk: str | None) -> str:
    """Return the provider whose dialect a request speaks, where its host does not say so."""
    if path.endswith(("/messages", "/messages/count_tokens")) and "/threads/" not in path:
        return "anthropic"
    if GEMINI.search(path):
        return "google"
    if path.endswith("/responses"):
        return "openai"
    return sdk or "openai"
