"""OpenRouter's chat completions: OpenAI's, with the provider that answered. See https://openrouter.ai/docs."""

from __future__ import annotations

from typing import Any

from llm_mock.boundaries.http.chunks import ResponseContext
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat


class OpenRouterChat(OpenAIChat):
    """`POST …/chat/completions` of OpenRouter."""

    reasoning = "reasoning"

    def head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """What every body of an answer begins with."""
        return {**super().head(context, kind), "provider": "llm-mock"}

    def unknown_model_error(self, model_id: str) -> WireError:
        """What is answered where there is no such model."""
        message = f"{model_id} is not a valid model ID"
        return WireError(400, message, body={"error": {"message": message, "code": 400}})


PROTOCOL = OpenRouterChat()
