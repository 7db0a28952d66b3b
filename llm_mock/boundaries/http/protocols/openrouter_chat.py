"""OpenRouter's chat completions, a variant of OpenAI's. See https://openrouter.ai/docs."""

from __future__ import annotations

from typing import Any

from llm_mock.boundaries.http.chunks import ResponseContext
from llm_mock.boundaries.http.errors import WireError
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat


class OpenRouterChat(OpenAIChat):
    """`POST …/chat/completions` of OpenRouter."""

    reasoning_field = "reasoning"

    def response_head(self, context: ResponseContext, kind: str) -> dict[str, Any]:
        """Return the first fields of a response, among them the provider that answered."""
        return {**super().response_head(context, kind), "provider": "llm-mock"}

    def unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = f"{model_id} is not a valid model ID"
        # OpenRouter repeats the status as a number, where OpenAI has a word.
        return WireError(400, message, body={"error": {"message": message, "code": 400}})


PROTOCOL = OpenRouterChat()
