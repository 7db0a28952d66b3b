"""Cohere."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.providers.descriptor import ClientKey, ProviderDescriptor
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

_COHERE = ClientKey(("CO_API_KEY", "COHERE_API_KEY"))


class MessageFormat(ErrorFormat):
    """The error format of Cohere."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"id": error.request_id, "message": error.message}


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
    errors=MessageFormat(),
)
PROVIDERS = (COHERE,)
