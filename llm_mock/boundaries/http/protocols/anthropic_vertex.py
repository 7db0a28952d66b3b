"""Anthropic's Messages at Vertex AI, which has the model in the path.

See https://docs.anthropic.com/en/api/claude-on-vertex-ai.
"""

from __future__ import annotations

import re
from urllib.parse import unquote

from llm_mock.boundaries.http.body_types import MESSAGES
from llm_mock.boundaries.http.protocols.anthropic_messages import (
    PROTOCOL as ANTHROPIC_MESSAGES,
)
from llm_mock.boundaries.http.protocols.anthropic_messages import (
    AnthropicMessages,
    build_request,
)
from llm_mock.boundaries.http.protocols.protocol import parse_json_body, validate_body
from llm_mock.boundaries.http.providers.vertex import VERTEX
from llm_mock.boundaries.http.request import HTTPRequest
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.mock import Mock

MODEL_OF_PATH = re.compile(r"/models/([^/]+):\w+$")
PARENT = "projects/project-mock/locations/global/publishers/anthropic"
"""The parent of models in error messages."""
VERSIONS = "https://cloud.google.com/vertex-ai/generative-ai/docs/learn/model-versions"
"""The URL in Google's error messages."""


class AnthropicVertex(AnthropicMessages):
    """`POST …/publishers/anthropic/models/MODEL:rawPredict` and `:streamRawPredict`."""

    provider = VERTEX

    def parse_request(self, sent: WireRequest, mock: Mock) -> HTTPRequest:
        """Parse the body of a request."""
        body = validate_body(
            parse_json_body(sent.body),
            MESSAGES,
            self.provider.errors,
            "anthropic_version",
            "messages",
        )
        match = MODEL_OF_PATH.search(sent.path)
        model = unquote(match[1]) if match else ""
        fields = {name: body[name] for name in body if name != "anthropic_version"}
        named = {**fields, "model": model}
        request = build_request(HTTPRequest, named, sent, "messages", self.provider.name)
        request.body = body
        return request

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = (
            f"Publisher Model `{PARENT}/models/{model_id}` was not found or your project does not "
            "have access to it. Please ensure you are using a valid model version. For more "
            f"information, see: {VERSIONS}"
        )
        return WireError(404, message)

    def encode_error_event(self, error: WireError, number: int) -> bytes:
        """Encode an error within a stream, always in Anthropic's format."""
        return ANTHROPIC_MESSAGES.encode_error_event(error, number)


PROTOCOL = AnthropicVertex()
