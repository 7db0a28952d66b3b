"""The endpoints that do not generate text: embeddings, models and token counts."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

from llm_mock.behaviour.refusals import find_error_dialect
from llm_mock.boundaries.http.body_types import EMBEDDINGS, GEMINI_EMBEDDINGS
from llm_mock.boundaries.http.embeddings import (
    EMBEDDINGS_PATH,
    GEMINI_EMBEDDINGS_PATH,
    embed_texts,
    has_named_embedding_model,
)
from llm_mock.boundaries.http.model_formats import OPENAI_MODELS, list_known_models
from llm_mock.boundaries.http.protocols.gemini import convert_to_camel_case
from llm_mock.boundaries.http.protocols.protocol import parse_json_body, read_model, validate_body
from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.providers.google import GOOGLE
from llm_mock.boundaries.http.providers.openai import OPENAI
from llm_mock.boundaries.http.providers.registry import (
    find_own_endpoint,
    find_provider,
    get_descriptor,
)
from llm_mock.boundaries.http.routing import (
    find_protocol,
    load_protocol,
    load_protocol_module,
)
from llm_mock.boundaries.http.wire import (
    WireRequest,
    WireResponse,
    add_request_id,
    error_response,
    exception_response,
    json_response,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.mock import Mock
from llm_mock.core.tokens import count_input_tokens, estimate_tokens
from llm_mock.core.vectors import find_dimensions
from llm_mock.support.json_types import JSONObject

MAX_DIMENSIONS = 100_000
FIXED_SIZE_MODEL = "text-embedding-ada-002"
"""The OpenAI model that does not accept a number of dimensions."""
DEFAULT_MODEL = "gpt-5"
"""The model for a token count without a model."""
MODEL_OWNERS = ("openai", "mistral")
"""The providers whose fine-tuned models can be deleted by this API."""
FINE_TUNED = "ft:"
"""The prefix of a fine-tuned model; other models cannot be deleted."""
SHORTENED_MODELS = ("text-embedding-3-small", "text-embedding-3-large")
"""The OpenAI models that return at most the default number of dimensions."""
TOKEN_COUNT_PATH = re.compile(
    r"(/messages/count_tokens|:countTokens|/responses/input_tokens|/model/.+/count-tokens"
    r"|/publishers/anthropic/models/count-tokens:rawPredict)$"
)
MEDIA_PATH = re.compile(
    r"/(moderations|images/(generations|edits|variations)"
    r"|audio/(speech|transcriptions|translations))$"
)
STORED_PATH = re.compile(r"/(responses/[^/]+|conversations|chat/completions)(/.*)?$")
MODEL_OF_PATH = re.compile(r"/models/([^/:]+)")
# Ids may have slashes and colons: `ft:gpt-4o:acme::9f`, `meta-llama/llama-4:free`.
MODEL_ID_OF_PATH = re.compile(r"/models/(.+)$")


def answer_embeddings(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST …/embeddings` of OpenAI and Mistral."""
    dialect = _find_chat_dialect(sent, provider)
    errors = dialect.errors
    body = parse_json_body(sent.body)
    model = read_model(body, sent)
    validate_body(body, EMBEDDINGS, errors, *(() if model else ("model",)))
    # Mistral accepts `inputs` too.
    inputs = body.get("input")
    if inputs is None:
        inputs = body.get("inputs")
    if not inputs:
        raise errors.build_missing_field_error("input")
    is_single = not isinstance(inputs, list) or _is_token_list(inputs)
    items = [inputs] if is_single else inputs
    dimensions = _find_requested_dimensions(body, model)
    texts = [_convert_to_text(item) for item in items]
    vectors, headers = embed_texts(sent, provider, mock, model, texts, dimensions)
    data = []
    for index, vector in enumerate(vectors):
        embedding = _encode_vector(vector, body.get("encoding_format"))
        data.append({"object": "embedding", "index": index, "embedding": embedding})
    tokens = sum(estimate_tokens(len(str(item))) for item in items)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    response: JSONObject = {"object": "list", "data": data, "model": model, "usage": usage}
    if dialect.embedding_id is not None:
        # Mistral uses one usage type for all endpoints.
        usage["completion_tokens"] = 0
        number = len(mock.embedding_state(mock.configurator.get_model_id(model)).calls)
        suffix = f"{mock.history.get_id_prefix()}{number}"
        response = {"id": f"{dialect.embedding_id.format(model=model)}_{suffix}", **response}
    return json_response(response, headers=headers)


def _find_requested_dimensions(body: JSONObject, model: str) -> int | None:
    """Return the requested number of dimensions, under the name of any provider.

    Raises:
        WireError: the model does not accept it, or it is not a number in the supported range.
    """
    for name in ("dimensions", "output_dimension"):
        if body.get(name) is None:
            continue
        if model == FIXED_SIZE_MODEL:
            raise WireError(400, "This model does not support specifying dimensions.")
        dimensions = _parse_dimensions(body[name], name)
        _check_dimensions(model, dimensions)
        return dimensions
    return None


def _check_dimensions(model: str, dimensions: int | None) -> None:
    """Raise a WireError if an OpenAI model has fewer dimensions than requested."""
    most = find_dimensions(model) if model in SHORTENED_MODELS else None
    if dimensions is not None and most is not None and dimensions > most:
        message = (
            f"Invalid value for 'dimensions' = {dimensions}. Must be less than or equal to {most}."
        )
        raise WireError(400, message)


def _find_chat_dialect(sent: WireRequest, provider: str) -> ProviderDescriptor:
    """Return the provider whose format the mock uses for OpenAI's paths.

    Most providers use OpenAI's format at these paths, even if their own APIs have another format.
    """
    protocol = find_protocol(sent.method, "/chat/completions", provider)
    return OPENAI if protocol is None else protocol.provider


def find_other_model(sent: WireRequest, provider: str) -> str | None:
    """Return the model of a request for embeddings or media; None for other requests."""
    if has_named_embedding_model(sent, provider):
        try:
            return str(parse_json_body(sent.body).get("model"))
        except WireError:
            # It is still a request for embeddings.
            return "unknown"
    if GEMINI_EMBEDDINGS_PATH.search(sent.path):
        return _parse_model_of_path(sent.path)
    if sent.method == "POST" and MEDIA_PATH.search(sent.path):
        # Imported late: few programs call these.
        from llm_mock.boundaries.http.endpoint_requests import EndpointRequest

        return str(EndpointRequest(sent).get_fields().get("model") or "unknown")
    return None


def answer_gemini_embeddings(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer `POST …/models/MODEL:embedContent` and `:batchEmbedContents` of Google."""
    body = validate_body(
        convert_to_camel_case(parse_json_body(sent.body)), GEMINI_EMBEDDINGS, GOOGLE.errors
    )
    batch = body.get("requests")
    requests = [body] if batch is None else batch
    model = _parse_model_of_path(sent.path)
    texts = [_parse_gemini_text(request.get("content")) for request in requests]
    # The dimensions of a batch are those of its first request.
    first = requests[0] if requests else {}
    config = first.get("embedContentConfig") or {}
    size = first.get("outputDimensionality", config.get("outputDimensionality"))
    dimensions = _parse_dimensions(size, "outputDimensionality")
    vectors, _ = embed_texts(sent, provider, mock, model, texts, dimensions)
    values = [{"values": vector} for vector in vectors]
    if batch is None:
        return json_response({"embedding": values[0]})
    return json_response({"embeddings": values})


def _parse_dimensions(value: object, name: str) -> int | None:
    """Return the requested number of dimensions; None for the default of the model.

    Raises:
        WireError: the value is not a number in the supported range.
    """
    if value is None:
        return None
    # `type`, because a bool is an `int` too.
    if type(value) is not int or not 0 < value <= MAX_DIMENSIONS:
        message = f"Invalid value for '{name}' = {value}. Must be between 1 and {MAX_DIMENSIONS}."
        raise WireError(400, message)
    return value


def _is_token_list(value: list[object]) -> bool:
    return bool(value) and all(isinstance(item, int) for item in value)


def _convert_to_text(item: object) -> str:
    """Return the text of an item; token ids become their digits, as there is no tokenizer."""
    if isinstance(item, list):
        return " ".join(map(str, item))
    return str(item)


def _encode_vector(vector: list[float], encoding: object) -> Any:
    if encoding != "base64":
        return vector
    # OpenAI's SDK asks for base64 by default: little-endian floats of 32 bits.
    packed = struct.pack(f"<{len(vector)}f", *vector)
    return base64.b64encode(packed).decode()


def _parse_gemini_text(content: str | JSONObject | list[object] | None) -> str:
    if isinstance(content, str):
        return content
    parts = content.get("parts") if isinstance(content, dict) else content
    if isinstance(parts, dict):
        parts = [parts]
    texts = []
    for part in parts or ():
        if isinstance(part, dict):
            texts.append(str(part.get("text", "")))
    return "\n".join(texts)


def _parse_model_of_path(path: str) -> str:
    match = MODEL_OF_PATH.search(path)
    return match[1] if match else ""


def answer_token_count(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Answer a request for the token count of a prompt."""
    if sent.path.endswith(":countTokens"):
        tokens = count_input_tokens(load_protocol("gemini").parse_request(sent, mock))
        return json_response({"totalTokens": tokens})
    if sent.path.endswith("/input_tokens"):
        # Imported late, as every protocol.
        from llm_mock.boundaries.http.protocols.openai_responses import parse_partial_request

        tokens = count_input_tokens(parse_partial_request(sent, mock, DEFAULT_MODEL))
        return json_response({"object": "response.input_tokens", "input_tokens": tokens})
    if sent.path.endswith("/count-tokens"):
        from llm_mock.boundaries.http.protocols.bedrock_invoke import parse_counted_request

        return json_response({"inputTokens": count_input_tokens(parse_counted_request(sent, mock))})
    try:
        request = load_protocol("anthropic_messages").parse_request(sent, mock)
    except WireError as error:
        # Vertex AI passes Claude's errors on; all other errors have Google's format.
        return error_response(ANTHROPIC.errors, error)
    return json_response({"input_tokens": count_input_tokens(request)})


def acknowledge_request(sent: WireRequest, provider: str, mock: Mock) -> WireResponse:
    """Accept and drop a request that needs no answer: traces, and connection warm-ups."""
    return json_response({})


def answer_models(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `GET …/models` and `GET …/models/MODEL`.

    The list has the models with configured replies and the models that were called. A single model
    exists unless the test made it unknown or the application deleted it.

    Raises:
        WireError: the single model does not exist.
    """
    models = get_descriptor(provider).models
    if models is None:
        return None
    match = MODEL_ID_OF_PATH.search(sent.path)
    if match:
        model = unquote(match[1])
        if mock.is_unknown(model):
            raise models.build_unknown_error(model)
        return json_response(models.describe(model))
    return json_response(models.build_list(list_known_models(mock)))


def delete_model(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer `DELETE …/models/MODEL` of OpenAI and Mistral for a fine-tuned model.

    From then on the model is unknown.

    Raises:
        WireError: the model does not exist.
    """
    match = MODEL_ID_OF_PATH.search(sent.path)
    model = unquote(match[1]) if match else ""
    if provider not in MODEL_OWNERS or not model.startswith(FINE_TUNED):
        return None
    if mock.is_unknown(model):
        raise OPENAI_MODELS.build_unknown_error(model)
    mock.configurator.set_unknown(model)
    return json_response({"id": model, "object": "model", "deleted": True})


def answer_media(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer a request for a moderation, an image or audio; None for an unknown one."""
    # Imported late: few programs call these.
    from llm_mock.boundaries.http import media_endpoints

    if sent.path.endswith("/moderations"):
        return media_endpoints.answer_moderations(sent, provider, mock)
    if "/images/" in sent.path:
        return media_endpoints.answer_images(sent, provider, mock)
    if sent.path.endswith("/speech"):
        return media_endpoints.answer_speech(sent, provider, mock)
    return media_endpoints.answer_transcription(sent, provider, mock)


def answer_stored_object(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer a request about an object that OpenAI stores; None for other requests."""
    protocol = find_protocol("POST", "/chat/completions", provider)
    if protocol is None or protocol.provider is not OPENAI:
        return None
    # Imported late: few programs use stored objects.
    from llm_mock.boundaries.http.stored_endpoints import answer_stored

    return answer_stored(sent, provider, mock)


def answer_stored_interaction(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Answer a request about an interaction that Google stores; None for other requests."""
    # Imported late: few applications use stored interactions.
    from llm_mock.boundaries.http.stored_interactions import answer_interaction

    return answer_interaction(sent, mock)


Handler = Callable[[WireRequest, str, Mock], WireResponse | None]
ENDPOINTS: tuple[tuple[str, re.Pattern[str], Handler], ...] = (
    ("POST", EMBEDDINGS_PATH, answer_embeddings),
    ("POST", GEMINI_EMBEDDINGS_PATH, answer_gemini_embeddings),
    ("POST", TOKEN_COUNT_PATH, answer_token_count),
    ("POST", MEDIA_PATH, answer_media),
    # The traces of the OpenAI Agents SDK.
    ("POST", re.compile(r"/v1/traces/ingest$"), acknowledge_request),
    # Sent by the SDK of Cerebras when a client is created.
    ("GET", re.compile(r"/v1/tcp_warming$"), acknowledge_request),
    ("GET", re.compile(r"/models(/.+)?$"), answer_models),
    ("DELETE", re.compile(r"/models/.+$"), delete_model),
    ("*", STORED_PATH, answer_stored_object),
    ("*", re.compile(r"/v1\w*/(.+/)?interactions/[^/]+(/cancel)?$"), answer_stored_interaction),
)
"""The method, the path and the handler of each endpoint."""


def answer_other_endpoint(sent: WireRequest, provider: str, mock: Mock) -> WireResponse | None:
    """Return the response to a request for one of these endpoints; None for other requests.

    Raises:
        ConnectionFailure: the reply is a failed connection.
    """
    handler = _find_handler(sent, provider)
    if handler is None:
        return None
    errors = get_descriptor(provider).errors
    try:
        response = handler(sent, provider, mock)
        return None if response is None else add_request_id(response, errors)
    except Exception as error:
        return exception_response(errors, error, find_error_dialect(provider))


def _find_handler(sent: WireRequest, provider: str) -> Handler | None:
    own = find_own_endpoint(find_provider(provider), sent.method, sent.path)
    if own is not None:
        module, _, name = own.handler.partition(":")
        own_handler: Handler = getattr(load_protocol_module(module), name)
        return own_handler
    for method, path, handler in ENDPOINTS:
        if method in (sent.method, "*") and path.search(sent.path):
            return handler
    return None
