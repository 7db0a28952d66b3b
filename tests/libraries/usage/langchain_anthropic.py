"""LangChain's package for Anthropic."""

from __future__ import annotations

from langchain_anthropic import ChatAnthropic

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain-anthropic>=1.7 langchain>=1.4"
ENVIRONMENT = "agents"
ASKS = "Anthropic"
MODEL = "claude-opus-4-6"
usage = ChatModelUsage(ChatAnthropic, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
