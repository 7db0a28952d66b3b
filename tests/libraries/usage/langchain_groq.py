"""LangChain's package for Groq."""

from __future__ import annotations

from langchain_groq import ChatGroq

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain-groq>=1.1 langchain>=1.4"
ENVIRONMENT = "agents"
ASKS = "Groq"
MODEL = "llama-3.3-70b-versatile"
usage = ChatModelUsage(ChatGroq, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
