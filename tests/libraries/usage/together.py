"""Together's SDK."""

from __future__ import annotations

from together import AsyncTogether, Together

from tests.libraries.chat_completions import ChatCompletionsUsage

REQUIREMENTS = "together>=3"
ENVIRONMENT = "sdks"
ASKS = "Together"
MODEL = "meta-llama/Llama-3.3-70B-Instruct-Turbo"
usage = ChatCompletionsUsage(Together, AsyncTogether, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
