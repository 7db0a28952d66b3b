"""Mistral."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.error_formats import PYDANTIC_TERMS, ErrorFormat, choose_type
from llm_mock.boundaries.http.model_formats import ModelFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

PYDANTIC_TYPES = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float",
    list: "list",
    dict: "dict",
}


class MistralFormat(ErrorFormat):
    """The error format of Mistral, which reports a malformed body in the format of FastAPI."""

    request_id_header = "mistral-correlation-id"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body
        if isinstance(body, dict) and (body.get("object") == "error" or "detail" in body):
            return body
        default = "internal_server_error" if error.status >= 500 else "invalid_request_error"
        return {
            "object": "error",
            "message": error.message,
            "type": error.type or default,
            "param": None,
            "code": error.code,
            "raw_status_code": error.status,
        }

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return self._build_validation_error("missing", (name,), "Field required")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        kind = choose_type(mismatch.expected)
        message = f"Input should be a valid {PYDANTIC_TERMS[kind]}"
        return self._build_validation_error(f"{PYDANTIC_TYPES[kind]}_type", mismatch.path, message)

    def _build_validation_error(
        self,
        kind: str,
        path: Sequence[str | int],
        message: str,
    ) -> WireError:
        detail = {"type": kind, "loc": ["body", *path], "msg": message}
        return WireError(422, message, body={"detail": [detail]})


class MistralModelFormat(ModelFormat):
    """The format of Mistral's models."""

    def describe(self, model: str) -> JSONObject:
        """Return the object that describes a model."""
        # Mistral's SDK chooses the class of a model by its type.
        further = {"type": "base", "capabilities": {"completion_chat": True}}
        return {**super().describe(model), **further}


MISTRAL = ProviderDescriptor(
    "mistral",
    domains=(
        "api.eu.mistral.ai",
        "api.mistral.ai",
        "api.us.mistral.ai",
        "codestral.mistral.ai",
    ),
    base_url_variables=(
        "MISTRAL_API_BASE",
        "MISTRAL_AUDIO_BASE_URL",
        "MISTRAL_BASE_URL",
        "MISTRAL_ENDPOINT",
    ),
    user_agents=(
        "^mistral-client-python/",
        r"^speakeasy-sdk/.* (@mistralai/)?mistralai[\w-]*$",
    ),
    errors=MistralFormat(),
    models=MistralModelFormat(),
    embedding_id="embd_mock_{model}",
    finish_reasons={"content_filter": "error"},
    protocols={"openai_chat": "mistral_chat", "anthropic_messages": None},
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="mistral",
        host="api.mistral.ai",
        base_urls={"MISTRAL_BASE_URL": "/mistral/v1"},
        keys=("MISTRAL_API_KEY",),
    ),
)
PROVIDERS = (MISTRAL,)
