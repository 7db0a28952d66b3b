"""Anthropic's Messages at Vertex AI with details of replies, as at Anthropic itself."""

from __future__ import annotations

from llm_mock.boundaries.http.details.anthropic_messages import DetailedMessages
from llm_mock.boundaries.http.protocols.anthropic_vertex import AnthropicVertex


class DetailedVertex(DetailedMessages, AnthropicVertex):
    """Anthropic's Messages at Vertex AI with details."""


PROTOCOL = DetailedVertex()
