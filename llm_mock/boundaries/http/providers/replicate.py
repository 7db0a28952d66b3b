"""Replicate."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject


class ProblemFormat(ErrorFormat):
    """The error format of Replicate: problem details by RFC 9457."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"title": error.message, "detail": error.message, "status": error.status}


REPLICATE = ProviderDescriptor(
    "replicate",
    domains=("api.replicate.com",),
    user_agents=("^(async)?replicate/", "^replicate-python/"),
    errors=ProblemFormat(),
    models=None,
    server=ServerAccess(optional_keys=("REPLICATE_API_TOKEN",)),
)
PROVIDERS = (REPLICATE,)
