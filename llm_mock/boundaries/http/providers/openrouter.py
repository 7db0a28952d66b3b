"""OpenRouter."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import ErrorFormat, get_details
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject


class OpenRouterFormat(ErrorFormat):
    """The errors of OpenRouter. See https://openrouter.ai/docs/api-reference/errors."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; a body in this format is kept."""
        body = error.body
        # The code is the status as a number, while OpenAI sends a string.
        if isinstance(body, dict) and isinstance(get_details(body).get("code"), int):
            return body
        return {"error": {"message": error.message, "code": error.status}}


OPENROUTER = ProviderDescriptor(
    "openrouter",
    domains=("openrouter.ai",),
    base_url_variables=(
        "OPENROUTER_API_BASE",
        "OPENROUTER_BASE_URL",
    ),
    errors=OpenRouterFormat(),
    protocols={"openai_chat": "openrouter_chat"},
)
PROVIDERS = (OPENROUTER,)
