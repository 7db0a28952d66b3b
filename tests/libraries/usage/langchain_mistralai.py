"""LangChain's package for Mistral."""

from __future__ import annotations

from langchain_mistralai import ChatMistralAI

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain-mistralai>=1.1 langchain>=1.4"
ENVIRONMENT = "agents"
ASKS = "Mistral"
MODEL = "mistral-large-latest"
usage = ChatModelUsage(ChatMistralAI, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
