"""OpenRouter's chat completions with details of replies."""

from __future__ import annotations

from llm_mock.boundaries.http.details.openai_chat import DetailedChat
from llm_mock.boundaries.http.protocols.openrouter_chat import OpenRouterChat


class DetailedOpenRouterChat(DetailedChat, OpenRouterChat):
    """`POST …/chat/completions` of OpenRouter, with details."""


PROTOCOL = DetailedOpenRouterChat()
