"""LangChain and LangGraph, whose agents call tools."""

from __future__ import annotations

from langchain_openai import ChatOpenAI

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain>=1.4 langgraph>=1.2 langchain-openai>=1.7"
ENVIRONMENT = "agents"
ASKS = "OpenAI (Chat Completions)"
MODEL = "gpt-5"
VARIABLES = {"OPENAI_API_KEY": "test"}
usage = ChatModelUsage(ChatOpenAI, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
