"""The types of the SDKs, by which answers are validated: strictly, without unknown fields."""

from __future__ import annotations

import importlib
import json
import re
import types
import typing
from collections.abc import Sequence
from enum import Enum
from functools import cache
from typing import Any, Literal, NamedTuple

import anthropic.pagination
import anthropic.types
import anthropic.types.beta
import openai.pagination
import openai.types.audio
import openai.types.chat
import openai.types.conversations
import openai.types.responses
from google.genai import types as google
from mistralai.client import models as mistral
from openai.types.chat.chat_completion_store_message import ChatCompletionStoreMessage
from pydantic import BaseModel, TypeAdapter, ValidationError

from tests.boundaries.http.exchanges import is_error
from tests.boundaries.http.request_senders import has_cohere, has_ollama

try:
    from google.genai import interactions
except ImportError:
    interactions = None  # type: ignore[assignment]

DIFFERENCES = {
    "ChatCompletionMessage.reasoning_content": "sent by others who speak OpenAI's protocol",
    "ChoiceDelta.reasoning_content": "sent by others who speak OpenAI's protocol",
    "ChatCompletionStoreMessage.role": "OpenAI's example has the role of the request",
    "ChatCompletionStoreMessage.name": "in OpenAI's example, not in its SDK",
    "ChoiceDelta.annotations": "as OpenAI and OpenRouter send them",
    **{
        f"ChatMessageStartEventDeltaMessage.{name}": "in recorded streams of Cohere"
        for name in ("content", "tool_plan", "tool_calls", "citations")
    },
    "Interaction.object": "in Google's reference, not in its SDK",
    "ToolCall.id": "in Ollama's api/types.go, not in its SDK",
    "Function.index": "in Ollama's api/types.go, not in its SDK",
    "Model.name": "in Ollama's documentation, not in its SDK",
    "Logprob.bytes": "the types of deltas leave them out",
    "LogprobTopLogprob.bytes": "the types of deltas leave them out",
    "Response.store": "in OpenAI's reference, not in its SDK",
    "ResponseFunctionCallArgumentsDoneEvent.name": "required in openai 2, not in openai 3",
    "SyncCursorPage.object": "in OpenAI's reference; the SDK reads what it needs",
    "SyncCursorPage.first_id": "in OpenAI's reference; the SDK reads what it needs",
    "SyncCursorPage.last_id": "in OpenAI's reference; the SDK reads what it needs",
}
"""The fields in which answers differ from the types of an SDK, with the reason."""


def problems(value: Any, annotation: Any, path: str = "$") -> list[str]:
    """Yield unknown keys, missing keys and values of wrong types, by the types of an SDK."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is Any or annotation is object or isinstance(annotation, typing.TypeVar):
        return []
    if origin is typing.Annotated:
        return problems(value, arguments[0], path)
    if hasattr(annotation, "__value__"):  # a `type` statement
        return problems(value, annotation.__value__, path)
    if origin in (typing.Union, types.UnionType):
        return min(
            (problems(value, argument, path) for argument in _of_type(value, arguments)), key=len
        )
    if origin is Literal:
        return [] if value in arguments else [f"{path}: {value!r} is none of {arguments}"]
    if origin is list and isinstance(value, list):
        return [
            found
            for i, item in enumerate(value)
            for found in problems(item, arguments[0], f"{path}[{i}]")
        ]
    if origin is dict and isinstance(value, dict):
        return [
            found
            for key, item in value.items()
            for found in problems(item, arguments[1], f"{path}.{key}")
        ]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _problems_of_object(value, annotation, path)
    return _problems_of_leaf(value, annotation, path)


def _problems_of_leaf(value: Any, annotation: Any, path: str) -> list[str]:
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        # The enumerations of google-genai take any value, with a warning.
        names = [member.value for member in annotation]
        return [] if value in names else [f"{path}: {value!r} is none of {names}"]
    try:
        _make_adapter(annotation).validate_json(json.dumps(value), strict=True)
    except ValidationError as error:
        return [f"{path}: {value!r}: {error.errors()[0]['msg']}"]
    return []


@cache
def _make_adapter(annotation: Any) -> TypeAdapter[Any]:
    """Return what validates a type; to make it takes longer than to validate an answer."""
    return TypeAdapter(annotation)


def _of_type(value: Any, union: tuple[Any, ...]) -> Sequence[Any]:
    """Return the members of a union whose `type` is that of a value; all of them, where none is."""

    def says(member: Any) -> Any:
        field = getattr(member, "model_fields", {}).get("type")
        return typing.get_args(field.annotation) if field else ()

    if value is not None:
        union = tuple(member for member in union if member is not types.NoneType)
    kind = value.get("type") if isinstance(value, dict) else None
    return [member for member in union if kind in says(member)] or union


def _problems_of_object(value: Any, model: type[BaseModel], path: str) -> list[str]:
    if not isinstance(value, dict):
        return [f"{path}: {value!r} is no {model.__name__}"]
    fields = {field.alias or name: field for name, field in model.model_fields.items()}
    unknown = [
        f"{path}.{key} is unknown to {model.__name__}"
        for key in value.keys() - fields.keys()
        if not _is_different(model, key)
    ]
    missing = [
        f"{path}.{name} of {model.__name__} is missing"
        for name, field in fields.items()
        if field.is_required() and name not in value and not _is_different(model, name)
    ]
    inner = [
        found
        for name, item in value.items()
        if name in fields and not _is_different(model, name)
        for found in problems(item, fields[name].annotation, f"{path}.{name}")
    ]
    return unknown + missing + inner


def _is_different(model: type[BaseModel], name: str) -> bool:
    """Return True for a field in which answers are known to differ from the SDK's type."""
    return f"{model.__name__.partition('[')[0]}.{name}" in DIFFERENCES


class AnswerType(NamedTuple):
    """The type of the answers of an endpoint."""

    url: str
    """A regular expression for the host and the path."""
    method: str
    body: Any
    """The type of an answer in one piece; None if the SDK has none."""
    event: Any = None
    """The type of an event of a stream."""


def list_cohere_types() -> list[AnswerType]:
    """Return the types of Cohere; None where a version with all types is not installed."""
    if not has_cohere():
        return [AnswerType(r"api\.cohere\.com/.*", "POST", None)]
    import cohere
    import cohere.v2

    return [
        AnswerType(
            r"api\.cohere\.com/v2/chat",
            "POST",
            cohere.v2.V2ChatResponse,
            cohere.v2.V2ChatStreamResponse,
        ),
        AnswerType(r"api\.cohere\.com/v2/embed", "POST", cohere.EmbedByTypeResponse),
        AnswerType(r"api\.cohere\.com/v2/rerank", "POST", cohere.v2.V2RerankResponse),
        AnswerType(r"api\.cohere\.com/v1/rerank", "POST", cohere.RerankResponse),
        AnswerType(r"api\.cohere\.com/v1/embed", "POST", cohere.EmbedResponse),
        AnswerType(r"api\.cohere\.com/v1/models", "GET", cohere.ListModelsResponse),
        AnswerType(r"api\.cohere\.com/v1/models/.+", "GET", cohere.GetModelResponse),
    ]


def list_ollama_types() -> list[AnswerType]:
    """Return the types of Ollama; None where a version with all types is not installed."""
    if not has_ollama():
        return [AnswerType(r"ollama\.com/.*", "POST|GET", None)]
    ollama = importlib.import_module("ollama")
    generated = ollama.GenerateResponse
    return [
        AnswerType(r"ollama\.com/api/chat", "POST", ollama.ChatResponse, ollama.ChatResponse),
        AnswerType(r"ollama\.com/api/generate", "POST", generated, generated),
        AnswerType(r"ollama\.com/api/embed", "POST", ollama.EmbedResponse),
        AnswerType(r"ollama\.com/api/embeddings", "POST", ollama.EmbeddingsResponse),
        AnswerType(r"ollama\.com/api/tags", "GET", ollama.ListResponse),
        AnswerType(r"ollama\.com/api/show", "POST", ollama.ShowResponse),
    ]


GEMINI = r"generativelanguage\.googleapis\.com/v1beta/models"
TYPES = (
    AnswerType(
        r"api\.openai\.com/v1/chat/completions",
        "POST",
        openai.types.chat.ChatCompletion,
        openai.types.chat.ChatCompletionChunk,
    ),
    AnswerType(
        r"api\.openai\.com/v1/chat/completions",
        "GET",
        openai.pagination.SyncCursorPage[openai.types.chat.ChatCompletion],
    ),
    AnswerType(
        r"api\.openai\.com/v1/chat/completions/[^/]+",
        "GET|POST",
        openai.types.chat.ChatCompletion,
    ),
    AnswerType(
        r"api\.openai\.com/v1/chat/completions/[^/]+",
        "DELETE",
        openai.types.chat.ChatCompletionDeleted,
    ),
    AnswerType(
        r"api\.openai\.com/v1/chat/completions/[^/]+/messages",
        "GET",
        openai.pagination.SyncCursorPage[ChatCompletionStoreMessage],
    ),
    AnswerType(
        r"api\.openai\.com/v1/responses(/[^/]+/cancel)?",
        "POST",
        openai.types.responses.Response,
        openai.types.responses.ResponseStreamEvent,
    ),
    AnswerType(r"api\.openai\.com/v1/responses/[^/]+", "GET", openai.types.responses.Response),
    # Its method returns None.
    AnswerType(r"api\.openai\.com/v1/responses/[^/]+", "DELETE", None),
    AnswerType(
        r"api\.openai\.com/v1/responses/[^/]+/input_items",
        "GET",
        openai.types.responses.ResponseItemList,
    ),
    AnswerType(
        r"api\.openai\.com/v1/responses/input_tokens",
        "POST",
        openai.types.responses.InputTokenCountResponse,
    ),
    # The type has no messages of users, which OpenAI's example has.
    AnswerType(r"api\.openai\.com/v1/responses/compact", "POST", None),
    AnswerType(
        r"api\.openai\.com/v1/conversations(/[^/]+)?",
        "GET|POST",
        openai.types.conversations.Conversation,
    ),
    AnswerType(
        r"api\.openai\.com/v1/conversations/[^/]+",
        "DELETE",
        openai.types.conversations.ConversationDeletedResource,
    ),
    AnswerType(
        r"api\.openai\.com/v1/conversations/[^/]+/items",
        "GET|POST",
        openai.types.conversations.ConversationItemList,
    ),
    AnswerType(
        r"api\.openai\.com/v1/conversations/[^/]+/items/[^/]+",
        "GET",
        openai.types.conversations.ConversationItem,
    ),
    AnswerType(
        r"api\.openai\.com/v1/conversations/[^/]+/items/[^/]+",
        "DELETE",
        openai.types.conversations.Conversation,
    ),
    AnswerType(r"api\.openai\.com/v1/embeddings", "POST", openai.types.CreateEmbeddingResponse),
    AnswerType(
        r"api\.openai\.com/v1/models", "GET", openai.pagination.SyncPage[openai.types.Model]
    ),
    AnswerType(r"api\.openai\.com/v1/models/.+", "GET", openai.types.Model),
    AnswerType(r"api\.openai\.com/v1/models/.+", "DELETE", openai.types.ModelDeleted),
    AnswerType(r"api\.openai\.com/v1/moderations", "POST", openai.types.ModerationCreateResponse),
    AnswerType(
        r"api\.openai\.com/v1/images/(generations|variations)",
        "POST",
        openai.types.ImagesResponse,
        openai.types.ImageGenStreamEvent,
    ),
    AnswerType(
        r"api\.openai\.com/v1/images/edits",
        "POST",
        openai.types.ImagesResponse,
        openai.types.ImageEditStreamEvent,
    ),
    # The SDK has no types for the events of speech.
    AnswerType(r"api\.openai\.com/v1/audio/speech", "POST", None),
    AnswerType(
        r"api\.openai\.com/v1/audio/transcriptions",
        "POST",
        openai.types.audio.TranscriptionCreateResponse,
        openai.types.audio.TranscriptionStreamEvent,
    ),
    AnswerType(
        r"api\.openai\.com/v1/audio/translations",
        "POST",
        openai.types.audio.TranslationCreateResponse,
    ),
    AnswerType(
        r"api\.anthropic\.com/v1/messages",
        "POST",
        # MCP servers are part of the beta alone.
        typing.Union[anthropic.types.Message, anthropic.types.beta.BetaMessage],  # noqa: UP007
        typing.Union[  # noqa: UP007
            anthropic.types.RawMessageStreamEvent,
            anthropic.types.beta.BetaRawMessageStreamEvent,
        ],
    ),
    AnswerType(
        r"api\.anthropic\.com/v1/messages/count_tokens",
        "POST",
        anthropic.types.MessageTokensCount,
    ),
    AnswerType(
        r"api\.anthropic\.com/v1/models",
        "GET",
        anthropic.pagination.SyncPage[anthropic.types.ModelInfo],
    ),
    AnswerType(r"api\.anthropic\.com/v1/models/.+", "GET", anthropic.types.ModelInfo),
    AnswerType(
        f"{GEMINI}/[^/]+:(generateContent|streamGenerateContent)",
        "POST",
        google.GenerateContentResponse,
        google.GenerateContentResponse,
    ),
    AnswerType(f"{GEMINI}/[^/]+:countTokens", "POST", google.CountTokensResponse),
    AnswerType(f"{GEMINI}/[^/]+:batchEmbedContents", "POST", google.EmbedContentResponse),
    AnswerType(
        r"generativelanguage\.googleapis\.com/v1beta/interactions(/[^/]+)?",
        "POST|GET",
        interactions and interactions.Interaction,
        interactions and interactions.InteractionSSEEvent,
    ),
    # The SDK has no type for the answer to a deletion.
    AnswerType(r"generativelanguage\.googleapis\.com/v1beta/interactions/[^/]+", "DELETE", None),
    # The SDK renames the fields of models before it validates them.
    AnswerType(f"{GEMINI}(/[^/:]+)?", "GET", None),
    AnswerType(
        r"api\.mistral\.ai/v1/chat/completions",
        "POST",
        mistral.ChatCompletionResponse,
        mistral.CompletionChunk,
    ),
    AnswerType(r"api\.mistral\.ai/v1/embeddings", "POST", mistral.EmbeddingResponse),
    AnswerType(r"api\.mistral\.ai/v1/models", "GET", mistral.ModelList),
    AnswerType(
        r"api\.mistral\.ai/v1/models/[^/]+", "GET", mistral.BaseModelCard | mistral.FTModelCard
    ),
    AnswerType(r"api\.mistral\.ai/v1/models/[^/]+", "DELETE", mistral.DeleteModelResponse),
    AnswerType(r"api\.mistral\.ai/v1/moderations", "POST", mistral.ModerationResponse),
    AnswerType(
        r"api\.mistral\.ai/v1/audio/transcriptions",
        "POST",
        mistral.TranscriptionResponse,
        mistral.TranscriptionStreamEventsData,
    ),
    AnswerType(r"api\.mistral\.ai/v1/audio/speech", "POST", mistral.SpeechResponse),
    *list_cohere_types(),
    *list_ollama_types(),
)
"""The types of answers; of several that fit, the last one counts."""


def find_type(method: str, host: str, path: str) -> AnswerType:
    """Return the types of the answers of an endpoint."""
    found = [
        each
        for each in TYPES
        if re.fullmatch(each.url, host + path) and re.fullmatch(each.method, method)
    ]
    assert found, f"{method} {host}{path} is missing in TYPES"
    return found[-1]


def find_problems(method: str, host: str, path: str, body: Any) -> list[str]:
    """Return what the type of an answer in one piece finds wrong."""
    annotation = find_type(method, host, path).body
    return [] if annotation is None else problems(body, annotation)


def find_event_problems(method: str, host: str, path: str, event: Any) -> list[str]:
    """Return what the type of an event finds wrong."""
    if host == "api.anthropic.com" and event == {"type": "ping"}:
        # In Anthropic's reference; the SDK drops it before it validates.
        return []
    if is_error(event):
        return find_error_problems(host, event)
    annotation = find_type(method, host, path).event
    return [] if annotation is None else problems(event, annotation, event.get("type", "$"))


def find_error_problems(host: str, body: Any) -> list[str]:
    """Return what the type of an error finds wrong; the SDKs of others have no such type."""
    if host == "api.anthropic.com":
        return problems(body, anthropic.types.ErrorResponse)
    if host == "api.openai.com":
        unknown = body.keys() - {"error", "type", "sequence_number"}
        return problems(body["error"], openai.types.ErrorObject) + sorted(unknown)
    return []
