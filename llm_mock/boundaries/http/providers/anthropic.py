"""Anthropic."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.error_formats import PYDANTIC_TERMS, ErrorFormat, choose_type
from llm_mock.boundaries.http.model_formats import CREATED, ModelFormat
from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

USAGE_DETAILS = ("cache_creation", "output_tokens_details", "server_tool_use")
"""The additional counts in the usage, which are left out unless they are scripted."""
_ANTHROPIC = ClientKey(
    (
        "ANTHROPIC_API_KEY",
        "ANTHROPIC_AUTH_TOKEN",
        "ANTHROPIC_PROFILE",
        "ANTHROPIC_IDENTITY_TOKEN",
        "ANTHROPIC_IDENTITY_TOKEN_FILE",
    ),
    ("auth_token", "credentials", "config", "profile"),
)
_FOUNDRY = ClientKey(("ANTHROPIC_FOUNDRY_API_KEY",), ("azure_ad_token_provider",))
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    # No standard status: only Anthropic has it.
    529: "overloaded_error",
}


class AnthropicFormat(ErrorFormat):
    """The error format of Anthropic."""

    request_id_header = "request-id"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        if isinstance(error.body, dict) and error.body.get("type") == "error":
            body = error.body
        else:
            kind = error.type
            # Clients would not recognize the error type of another provider.
            if kind not in ANTHROPIC_TYPES.values():
                other = "api_error" if error.status >= 500 else "invalid_request_error"
                kind = ANTHROPIC_TYPES.get(error.status, other)
            details = {"type": kind, "message": error.message}
            body = {"type": "error", "error": details, "request_id": "req_mock"}
        # Anthropic repeats the id from the header; a real error keeps its id.
        if body.get("request_id") == "req_mock" and error.request_id is not None:
            return {**body, "request_id": error.request_id}
        return body

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return WireError(400, f"{name}: Field required")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        steps = [str(step) for step in mismatch.path]
        path = ".".join(steps)
        kind = choose_type(mismatch.expected)
        term = PYDANTIC_TERMS[kind]
        return WireError(400, f"{path}: Input should be a valid {term}")


class AnthropicModelFormat(ModelFormat):
    """The format of Anthropic's models."""

    def describe(self, model: str) -> JSONObject:
        """Return the object that describes a model."""
        return {
            "type": "model",
            "id": model,
            "display_name": model,
            "created_at": datetime.fromtimestamp(CREATED).astimezone().isoformat(),
            "lifecycle": "active",
        }

    def build_list(self, models: Sequence[str]) -> JSONObject:
        """Return the body that lists models, all on one page."""
        return {
            "data": [self.describe(model) for model in models],
            "has_more": False,
            "first_id": models[0] if models else None,
            "last_id": models[-1] if models else None,
        }

    def build_unknown_error(self, model: str) -> WireError:
        """Return the error for the description of a model that does not exist."""
        return WireError(404, f"model: {model}")


ANTHROPIC = ProviderDescriptor(
    "anthropic",
    domains=(
        "api.anthropic.com",
        "claude.googleapis.com",
    ),
    host_patterns=(r"^aws-external-anthropic\.[a-z0-9-]+\.api\.aws$",),
    base_url_variables=(
        "ANTHROPIC_API_BASE",
        "ANTHROPIC_API_URL",
        "ANTHROPIC_AWS_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "ANTHROPIC_FOUNDRY_BASE_URL",
        "ANTHROPIC_GOOGLE_CLOUD_BASE_URL",
    ),
    user_agents=(r"(^|\s)\w*anthropic\w*/(python|js)\b",),
    clients={
        "anthropic": {
            "Anthropic": _ANTHROPIC,
            "AsyncAnthropic": _ANTHROPIC,
            "AnthropicFoundry": _FOUNDRY,
            "AsyncAnthropicFoundry": _FOUNDRY,
        }
    },
    errors=AnthropicFormat(),
    models=AnthropicModelFormat(),
    finish_reasons={
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "refusal",
    },
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="anthropic",
        base_urls={"ANTHROPIC_BASE_URL": "/anthropic"},
        optional_base_urls={"ANTHROPIC_API_URL": "/anthropic"},
        keys=("ANTHROPIC_API_KEY",),
        removed_keys=("ANTHROPIC_AUTH_TOKEN",),
    ),
)
PROVIDERS = (ANTHROPIC,)
