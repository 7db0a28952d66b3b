"""Cerebras's SDK."""

from __future__ import annotations

from cerebras.cloud.sdk import AsyncCerebras, Cerebras

from tests.libraries.chat_completions import ChatCompletionsUsage

REQUIREMENTS = "cerebras-cloud-sdk>=1.90"
ENVIRONMENT = "sdks"
ASKS = "Cerebras"
MODEL = "llama-3.3-70b"
usage = ChatCompletionsUsage(Cerebras, AsyncCerebras, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
