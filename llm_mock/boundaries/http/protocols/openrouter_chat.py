"""OpenRouter's chat completions, a variant of OpenAI's. See https://openrouter.ai/docs."""

from __future__ import annotations

from llm_mock.boundaries.http.chunks import ResponseContext
from llm_mock.boundaries.http.protocols.openai_chat import OpenAIChat
from llm_mock.boundaries.http.providers.openrouter import OPENROUTER
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject


class OpenRouterChat(OpenAIChat):
    """`POST …/chat/completions` of OpenRouter."""

    provider = OPENROUTER
    reasoning_field = "reasoning"

    def build_response_head(self, context: ResponseContext, kind: str) -> JSONObject:
        """Return the first fields of a response, including the provider that answered."""
        return {**super().build_response_head(context, kind), "provider": "llm-mock"}

    def build_unknown_model_error(self, model_id: str) -> WireError:
        """Return the provider's error for a model that does not exist."""
        message = f"{model_id} is not a valid model ID"
        return WireError(400, message)


PROTOCOL = OpenRouterChat()
