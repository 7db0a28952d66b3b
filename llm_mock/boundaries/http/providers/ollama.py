"""Ollama, on this machine and in its cloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.behaviour.refusals import Refusal
from llm_mock.boundaries.http.error_formats import TextFormat, choose_type, format_path
from llm_mock.boundaries.http.providers.descriptor import (
    ModelAPI,
    OwnEndpoint,
    ProviderDescriptor,
    ServerAccess,
)
from llm_mock.boundaries.http.wire_error import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

JSON_LINES = "application/x-ndjson"
"""The media type of streams, whose events are lines of JSON."""
JSON_TERMS = {
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
    list: "array",
    dict: "object",
}
GO_TYPES = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
"""The Go terms for types, by the types of JSON values."""


class OllamaFormat(TextFormat):
    """The error format of Ollama: a text, for decoding errors in Go's words.

    See https://github.com/ollama/ollama: docs/api/errors.mdx and server/routes.go.
    """

    request_id_header = None

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return WireError(400, f"{name} is required")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        value = mismatch.value
        got = "null" if value is None else JSON_TERMS[type(value)]
        expected = GO_TYPES[choose_type(mismatch.expected)]
        path = format_path(mismatch.path)
        message = f"json: cannot unmarshal {got} into Go struct field {path} of type {expected}"
        return WireError(400, message)


OLLAMA = ProviderDescriptor(
    "ollama",
    domains=("ollama.com",),
    base_url_variables=(
        "OLLAMA_API_BASE",
        "OLLAMA_BASE_URL",
        "OLLAMA_HOST",
    ),
    user_agents=("^ollama-python/",),
    errors=OllamaFormat(),
    # A reply with tool calls ends like any other.
    finish_reasons={"tool_calls": "stop"},
    apis=(
        ModelAPI("ollama.chat", "/api/chat$", "ollama", rules="ollama", is_local=True),
        ModelAPI("ollama.generate", "/api/generate$", "ollama", rules="ollama", is_local=True),
    ),
    endpoints=(
        OwnEndpoint("POST", "/api/embed$", "ollama:answer_embed"),
        OwnEndpoint("POST", "/api/embeddings$", "ollama:answer_embeddings"),
        OwnEndpoint("GET", "/api/tags$", "ollama:answer_tags", calls_model=False),
        OwnEndpoint("POST", "/api/show$", "ollama:answer_show", calls_model=False),
        OwnEndpoint("GET", "/api/version$", "ollama:answer_version", calls_model=False),
    ),
    refusals={
        "rate_limit": Refusal(429, None, "too many requests"),
        "overloaded": Refusal(
            503, None, "server busy, please try again.  maximum pending requests exceeded"
        ),
        "server_error": Refusal(
            500,
            None,
            "model runner has unexpectedly stopped, this may be due to resource limitations or an "
            "internal error, check ollama server logs for details",
        ),
        "context_overflow": Refusal(
            400,
            None,
            "the prompt is longer than the context length currently available to the model; "
            "shorten the prompt, adjust the context length in settings, or use a model with a "
            "longer context length",
        ),
        "invalid_key": Refusal(401, None, "unauthorized"),
    },
    stream_type=JSON_LINES,
    server=ServerAccess(
        prefix="ollama",
        host="ollama.com",
        # Replaced only if set: it is also the address on which `ollama serve` listens.
        optional_base_urls={"OLLAMA_HOST": "/ollama"},
    ),
)
PROVIDERS = (OLLAMA,)
