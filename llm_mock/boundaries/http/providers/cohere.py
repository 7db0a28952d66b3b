"""Cohere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.behaviour.refusals import Refusal
from llm_mock.boundaries.http.error_formats import ErrorFormat, choose_type, format_path
from llm_mock.boundaries.http.model_formats import ModelFormat
from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ModelAPI,
    OwnEndpoint,
    ProviderDescriptor,
    ServerAccess,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

_COHERE = ClientKey(("CO_API_KEY", "COHERE_API_KEY"))
JSON_TERMS = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float64",
    list: "array",
    dict: "object",
}
"""Cohere's terms for the types of JSON values."""


class CohereFormat(ErrorFormat):
    """The error format of Cohere: a message and the id of the response.

    For the format and the messages, see https://docs.cohere.com/reference/errors.
    """

    request_id_header = "x-debug-trace-id"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"id": error.request_id, "message": error.message}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        if name == "model":
            return WireError(400, "a model parameter is required for this endpoint.")
        return WireError(400, f"invalid request: required '{name}' param is missing or empty.")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        value = mismatch.value
        got = "null" if value is None else JSON_TERMS[type(value)]
        expected = JSON_TERMS[choose_type(mismatch.expected)]
        message = (
            f"invalid type: parameter {format_path(mismatch.path)} is of type {got} but should be "
            f"of type {expected}."
        )
        return WireError(400, message)


class CohereModelFormat(ModelFormat):
    """The format of Cohere's models."""

    def describe(self, model: str) -> JSONObject:
        """Return the object that describes a model."""
        return {
            "name": model,
            "endpoints": ["chat"],
            "finetuned": False,
            "context_length": 256000,
            "is_deprecated": False,
        }

    def build_list(self, models: Sequence[str]) -> JSONObject:
        """Return the body that lists models."""
        return {"models": [self.describe(model) for model in models]}


COHERE = ProviderDescriptor(
    "cohere",
    domains=(
        "api.cohere.ai",
        "api.cohere.com",
    ),
    base_url_variables=(
        "COHERE_BASE_URL",
        "CO_API_URL",
    ),
    user_agents=("^cohere/",),
    clients={"cohere": {"Client": _COHERE, "AsyncClient": _COHERE}},
    errors=CohereFormat(),
    models=CohereModelFormat(),
    finish_reasons={
        "stop": "COMPLETE",
        "tool_calls": "TOOL_CALL",
        "length": "MAX_TOKENS",
        # Cohere has no specific finish reason for a filter.
        "content_filter": "ERROR",
    },
    apis=(ModelAPI("cohere.chat", "/v2/chat$", "cohere_chat", rules="cohere_chat"),),
    endpoints=(
        OwnEndpoint("POST", "/v[12]/embed$", "cohere_chat:answer_embed"),
        OwnEndpoint("POST", "/v[12]/rerank$", "cohere_chat:answer_rerank"),
    ),
    refusals={
        "rate_limit": Refusal(
            429,
            None,
            "You are past the per minute request limit, please wait and try again later.",
        ),
        "overloaded": Refusal(
            503, None, "The service is currently unavailable, please try again later."
        ),
        "server_error": Refusal(500, None, "internal server error"),
        "context_overflow": Refusal(
            400,
            None,
            "too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer "
            "inputs.",
        ),
        "invalid_key": Refusal(401, None, "invalid api token"),
    },
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="cohere",
        host="api.cohere.com",
        base_urls={"CO_API_URL": "/cohere"},
        keys=("CO_API_KEY",),
    ),
)
PROVIDERS = (COHERE,)
