"""Find the fields of a request body for which the SDK's method has no argument."""

from __future__ import annotations

import importlib

from llm_mock.boundaries.http.sdk_fields import find_sdk_fields
from llm_mock.support.json_types import JSONObject

_RULES = {
    "chat.completions": "openai_chat",
    "responses": "openai_responses",
    "messages": "anthropic_messages",
}
"""The modules with the parameters of each API, by the name of the API."""
_EMBEDDING_FIELDS = ("input", "model", "dimensions", "encoding_format", "user")
_EMBEDDING_TYPES = (("openai.types.embedding_create_params", "EmbeddingCreateParams"),)
_SENT_BY_SDKS = ("stream", "anthropic_version", "anthropic_beta")
"""The fields that SDKs send without a field in those types."""


def find_extra_fields(api: str, body: JSONObject) -> JSONObject | None:
    """Return the fields of a body that an application sent with `extra_body`.

    Args:
        api: the API, as `HTTPRequest.api` names it.
        body: the body as it was sent.

    Returns:
        The fields; None if the API is not one of OpenAI's or Anthropic's SDK.
    """
    module = _RULES.get(api)
    if module is not None:
        # Imported late: few tests ask for these fields.
        rules = importlib.import_module(f"llm_mock.boundaries.http.request_rules.{module}")
        known = rules.FIELDS
        types = rules.SDK_TYPES
    elif api.endswith("/embeddings"):
        known = _EMBEDDING_FIELDS
        types = _EMBEDDING_TYPES
    else:
        return None
    # The installed SDK may be older or newer than the rules.
    arguments = find_sdk_fields(*types) or {*known}
    extra = {}
    for name, value in body.items():
        if name not in arguments and name not in _SENT_BY_SDKS:
            extra[name] = value
    return extra
