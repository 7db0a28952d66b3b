"""What providers are asked beside answers: embeddings, lists of models, counts of tokens."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import unquote

from llm_mock.behaviour.provider_errors import raised_for
from llm_mock.boundaries.http.body_types import EMBEDDINGS, GEMINI_EMBEDDINGS
from llm_mock.boundaries.http.error_formats import GOOGLE, MISTRAL, OPENAI, get_error_format
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.gemini import camel_case
from llm_mock.boundaries.http.protocols.protocol import validate_body
from llm_mock.boundaries.http.routing import add_request_id, exception_response, load_protocol
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response
from llm_mock.core.keys import PassedKey
from llm_mock.core.mock import Mock
from llm_mock.core.model_names import is_glob
from llm_mock.core.tokens import estimate_tokens, input_tokens
from llm_mock.core.vectors import EmbeddingRecord

MOST_DIMENSIONS = 100_000
CREATED = 1_700_000_000
"""When models were made, in seconds, where an API says so."""
GEMINI_EMBEDDING_PATH = re.compile(r":(embedContent|batchEmbedContents)$")
MODEL_OF_PATH = re.compile(r"/models/([^/:]+)")
MODEL_ID_OF_PATH = re.compile(r"/models/(.+)$")
"""Ids have slashes and colons in them: `ft:gpt-4o:acme::9f`, `meta-llama/llama-4:free`."""


def answer_embeddings(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """`POST …/embeddings` of OpenAI and Mistral."""
    errors = MISTRAL if provider == "mistral" else OPENAI
    body = validate_body(sent.json(), EMBEDDINGS, errors, "model")
    given = body.get("inputs") if body.get("input") is None else body["input"]
    if not given:
        raise errors.missing_field("input")
    items = given if isinstance(given, list) and not _is_tokens(given) else [given]
    model = body["model"]
    size = _dimensions(body.get("dimensions"), "dimensions")
    vectors = _embed(sent, provider, mock, model, [_embeddable(item) for item in items], size)
    data = [
        {"object": "embedding", "index": index, "embedding": _encoded(vector, body.get("encoding_format"))}
        for index, vector in enumerate(vectors)
    ]
    tokens = sum(estimate_tokens(len(str(item))) for item in items)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    listed = {"object": "list", "data": data, "model": model, "usage": usage}
    return json_response({"id": f"embd_mock_{model}", **listed} if provider == "mistral" else listed)


def find_embedding_model(sent: WireRequest) -> str | None:
    """Return the model that a request asks for embeddings; None if it asks for none."""
    if sent.path.endswith("/embeddings"):
        return str(sent.json().get("model"))
    return _model_in(sent.path) if GEMINI_EMBEDDING_PATH.search(sent.path) else None


def answer_gemini_embeddings(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """`POST …/models/MODEL:embedContent` and `:batchEmbedContents` of Google."""
    body = validate_body(camel_case(sent.json()), GEMINI_EMBEDDINGS, GOOGLE)
    batch = body.get("requests")
    requests = [body] if batch is None else batch
    model = _model_in(sent.path)
    texts = [_gemini_text(request.get("content")) for request in requests]
    first = requests[0] if requests else {}
    size = first.get("outputDimensionality") or (first.get("embedContentConfig") or {}).get("outputDimensionality")
    vectors = _embed(sent, provider, mock, model, texts, _dimensions(size, "outputDimensionality"))
    values = [{"values": vector} for vector in vectors]
    return json_response({"embedding": values[0]} if batch is None else {"embeddings": values})


def _embed(
    sent: WireRequest, provider: str, mock: Mock, model: str, items: list[str], dimensions: int | None
) -> list[list[float]]:
    """The vectors of a batch, which is recorded as one of `llm` is."""
    state = mock.embedding_state(mock.responses.model_id_of(model))
    key = PassedKey.of(sent.key) if sent.key else None
    record = EmbeddingRecord(timestamp=datetime.now().isoformat(), model_id=model, items=items, key=key, error=None)
    state.calls.append(record)
    try:
        mock.check_embedded(mock.responses.model_id_of(model), items, dimensions)
        return [state.embed(item, dimensions) for item in items]
    except Exception as configured:
        error = raised_for(configured, model, provider if provider in ("google", "mistral") else "openai")
        record["error"] = str(error) or type(error).__name__
        raise error from None


def _dimensions(given: Any, name: str) -> int | None:
    """Return the number of dimensions that is asked for; None for that of the model.

    Raises:
        WireError: no model has so many.
    """
    if given is None:
        return None
    if type(given) is not int or not 0 < given <= MOST_DIMENSIONS:
        raise WireError(400, f"Invalid value for '{name}' = {given}. Must be between 1 and {MOST_DIMENSIONS}.")
    return given


def _is_tokens(given: list[Any]) -> bool:
    return bool(given) and all(isinstance(item, int) for item in given)


def _embeddable(item: Any) -> str:
    return item if isinstance(item, str) else " ".join(map(str, item)) if isinstance(item, list) else str(item)


def _encoded(vector: list[float], encoding: Any) -> Any:
    if encoding != "base64":
        return vector
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _gemini_text(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content.get("parts") if isinstance(content, dict) else content
    parts = [parts] if isinstance(parts, dict) else parts
    return "\n".join(str(part.get("text", "")) for part in parts or () if isinstance(part, dict))


def _model_in(path: str) -> str:
    found = MODEL_OF_PATH.search(path)
    return found[1] if found else ""


def answer_token_count(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Count the tokens that a call would take, as OpenAI, Anthropic and Google do."""
    if sent.path.endswith(":countTokens"):
        return json_response({"totalTokens": input_tokens(load_protocol("gemini").parse_request(sent))})
    if sent.path.endswith("/input_tokens"):
        tokens = input_tokens(load_protocol("openai_responses").parse_request(sent))
        return json_response({"object": "response.input_tokens", "input_tokens": tokens})
    return json_response({"input_tokens": input_tokens(load_protocol("anthropic_messages").parse_request(sent))})


def acknowledge(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Accept and drop what asks for nothing: traces, and requests that only warm up a connection."""
    return json_response({})


def answer_models(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """`GET …/models` and `GET …/models/MODEL`: those that replies are configured for, and those that were asked."""
    named = {name for name in mock.named() if not is_glob(name)}
    known = sorted({*named, *(call["model_id"] for call in mock.calls)})
    if found := MODEL_ID_OF_PATH.search(sent.path):
        return json_response(_model(provider, unquote(found[1])))
    listed = [_model(provider, model) for model in known]
    if provider == "google":
        return json_response({"models": listed})
    if provider == "anthropic":
        ends = {"first_id": known[0] if known else None, "last_id": known[-1] if known else None}
        return json_response({"data": listed, "has_more": False, **ends})
    return json_response({"object": "list", "data": listed})


def _model(provider: str, model: str) -> dict[str, Any]:
    if provider == "google":
        return {"name": f"models/{model}", "displayName": model, "supportedGenerationMethods": ["generateContent"]}
    if provider == "anthropic":
        created = datetime.fromtimestamp(CREATED).astimezone().isoformat()
        return {"type": "model", "id": model, "display_name": model, "created_at": created, "lifecycle": "active"}
    described = {"id": model, "object": "model", "created": CREATED, "owned_by": "llm-mock"}
    if provider == "mistral":
        return {**described, "type": "base", "capabilities": {"completion_chat": True}}
    return described


ENDPOINTS: tuple[tuple[str, re.Pattern[str], Callable[[WireRequest, str, Mock], WireResponse]], ...] = (
    ("POST", re.compile(r"/embeddings$"), answer_embeddings),
    ("POST", GEMINI_EMBEDDING_PATH, answer_gemini_embeddings),
    ("POST", re.compile(r"(/messages/count_tokens|:countTokens|/responses/input_tokens)$"), answer_token_count),
    ("POST", re.compile(r"/v1/traces/ingest$"), acknowledge),
    ("GET", re.compile(r"/v1/tcp_warming$"), acknowledge),
    ("GET", re.compile(r"/models(/.+)?$"), answer_models),
)
"""The method and the path of each."""


def answer_other_endpoint(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """The response to such a request; None where it is another one.

    Raises:
        ConnectionFailure: the reply is that the connection fails.
    """
    for method, path, function in ENDPOINTS:
        if sent.method == method and path.search(sent.path):
            try:
                return add_request_id(function(sent, provider, mock), get_error_format(provider))
            except Exception as error:
                return exception_response(get_error_format(provider), error)
    return None
