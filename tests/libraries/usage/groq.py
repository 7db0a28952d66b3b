"""Groq's SDK."""

from __future__ import annotations

from groq import AsyncGroq, Groq

from tests.libraries.chat_completions import ChatCompletionsUsage

REQUIREMENTS = "groq>=1"
ENVIRONMENT = "sdks"
ASKS = "Groq"
MODEL = "llama-3.3-70b-versatile"
usage = ChatCompletionsUsage(Groq, AsyncGroq, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
