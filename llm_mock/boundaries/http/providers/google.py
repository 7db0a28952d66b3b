"""Google: the Gemini API and Vertex AI."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.error_formats import (
    ErrorFormat,
    choose_type,
    format_path,
    get_details,
)
from llm_mock.boundaries.http.model_formats import ModelFormat
from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

USAGE_PARTS = ("cachedContentTokenCount", "thoughtsTokenCount", "toolUsePromptTokenCount")
"""The counts in the usage that are left out if they are zero."""
_GOOGLE = ClientKey(
    ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    ("credentials", "enterprise", "vertexai", "project", "location"),
    ("GOOGLE_GENAI_USE_ENTERPRISE", "GOOGLE_GENAI_USE_VERTEXAI"),
)
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
GOOGLE_TYPES = {str: "TYPE_STRING", bool: "TYPE_BOOL", int: "TYPE_INT32", float: "TYPE_FLOAT"}


class GoogleFormat(ErrorFormat):
    """The error format of Google."""

    request_id_header = None

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body
        if isinstance(body, dict) and "status" in get_details(body):
            return body
        status = GOOGLE_STATUSES.get(error.status, "UNKNOWN")
        details = {"code": error.status, "message": error.message, "status": status}
        return {"error": details}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        # The API ends this message with a newline, as it may list several fields.
        message = f"* GenerateContentRequest.{name}: {name} is not specified\n"
        return WireError(400, message)

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        path = format_path(mismatch.path)
        kind = GOOGLE_TYPES.get(choose_type(mismatch.expected))
        if kind is None:
            # Google has no name for the types of lists and objects.
            message = f"Invalid JSON payload received. Unexpected type of value at '{path}'."
            return WireError(400, message)
        text = json.dumps(mismatch.value, ensure_ascii=False)
        return WireError(400, f"Invalid value at '{path}' ({kind}), {text}")


class GoogleModelFormat(ModelFormat):
    """The format of Google's models."""

    def describe(self, model: str) -> JSONObject:
        """Return the object that describes a model."""
        return {
            "name": f"models/{model}",
            "displayName": model,
            "supportedGenerationMethods": ["generateContent"],
        }

    def build_list(self, models: Sequence[str]) -> JSONObject:
        """Return the body that lists models."""
        return {"models": [self.describe(model) for model in models]}


GOOGLE = ProviderDescriptor(
    "google",
    domains=(
        "cloudcode-pa.googleapis.com",
        "generativelanguage.googleapis.com",
    ),
    host_patterns=(r"(^|[.-])(aiplatform|generativelanguage)[a-z0-9.-]*\.googleapis\.com$",),
    base_url_variables=(
        "GEMINI_API_BASE",
        "GEMINI_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "GOOGLE_VERTEX_BASE_URL",
    ),
    user_agents=(r"(^|\s)google-genai-sdk/",),
    clients={"google.genai": {"Client": _GOOGLE}},
    errors=GoogleFormat(),
    models=GoogleModelFormat(),
    finish_reasons={
        "stop": "STOP",
        "tool_calls": "STOP",
        "length": "MAX_TOKENS",
        "content_filter": "SAFETY",
    },
    server=ServerAccess(
        prefix="gemini",
        host="generativelanguage.googleapis.com",
        base_urls={"GOOGLE_GEMINI_BASE_URL": "/gemini"},
        keys=("GEMINI_API_KEY",),
        removed_keys=("GOOGLE_API_KEY",),
    ),
)
PROVIDERS = (GOOGLE,)
