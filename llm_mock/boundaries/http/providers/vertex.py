"""Vertex AI, for the models of Anthropic; those of Google are in `google.py`."""

from __future__ import annotations

import re

from llm_mock.behaviour.refusals import Refusal
from llm_mock.boundaries.http.error_formats import get_details
from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC, AnthropicFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess
from llm_mock.boundaries.http.providers.google import GOOGLE
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

LOCATION = re.compile(r"/locations/([a-z0-9-]+)/")
GATEWAY_STATUSES = (401, 403, 404, 429, 503)
"""The statuses of Google, which checks credentials, models and quotas before it calls Claude."""


class VertexFormat(AnthropicFormat):
    """The error format of Vertex AI: Google's for its own errors, otherwise Anthropic's."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body if isinstance(error.body, dict) else {}
        is_of_anthropic = body.get("type") == "error"
        is_of_google = "status" in get_details(body) or error.status in GATEWAY_STATUSES
        if is_of_google and not is_of_anthropic:
            return GOOGLE.errors.build_body(error)
        return super().build_body(error)


def find_host(path: str) -> str:
    """Return the host of a location, as in Anthropic's client."""
    match = LOCATION.search(path)
    location = match[1] if match else "global"
    if location == "global":
        return "aiplatform.googleapis.com"
    if location in ("eu", "us"):
        return f"aiplatform.{location}.rep.googleapis.com"
    return f"{location}-aiplatform.googleapis.com"


VERTEX = ProviderDescriptor(
    "vertex",
    base_url_variables=("ANTHROPIC_VERTEX_BASE_URL",),
    errors=VertexFormat(),
    finish_reasons=ANTHROPIC.finish_reasons,
    # The error format sets the types.
    refusals={
        "rate_limit": Refusal(
            429,
            None,
            "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model"
            " with base model: anthropic-{model}. Please submit a quota increase request. "
            "https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.",
        ),
        "overloaded": Refusal(529, None, "Overloaded"),
        "server_error": Refusal(500, None, "Internal server error"),
        "context_overflow": Refusal(
            400, None, "prompt is too long: 250000 tokens > 200000 maximum"
        ),
        "invalid_key": Refusal(
            401,
            None,
            "Request had invalid authentication credentials. Expected OAuth 2 access token, login "
            "cookie or other valid authentication credential. See "
            "https://developers.google.com/identity/sign-in/web/devconsole-project.",
        ),
    },
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="vertex",
        host="aiplatform.googleapis.com",
        base_urls={"ANTHROPIC_VERTEX_BASE_URL": "/vertex/v1"},
    ),
)
PROVIDERS = (VERTEX,)
