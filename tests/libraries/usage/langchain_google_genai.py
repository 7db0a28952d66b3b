"""LangChain's package for Gemini."""

from __future__ import annotations

from langchain_google_genai import ChatGoogleGenerativeAI

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain-google-genai>=4 langchain>=1.4"
ENVIRONMENT = "agents"
ASKS = "Gemini"
MODEL = "gemini-2.5-pro"
VARIABLES = {"GOOGLE_API_KEY": "test"}
usage = ChatModelUsage(ChatGoogleGenerativeAI, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
