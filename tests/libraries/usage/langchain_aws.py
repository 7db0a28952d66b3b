"""LangChain's package for Amazon Bedrock."""

from __future__ import annotations

from langchain_aws import ChatBedrockConverse

from tests.libraries.chat_models import ChatModelUsage

REQUIREMENTS = "langchain-aws>=1.9 langchain>=1.4"
ENVIRONMENT = "agents"
ASKS = "Bedrock (Converse)"
MODEL = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
usage = ChatModelUsage(ChatBedrockConverse, MODEL)
plain, streamed, tools, structured, asynchronous, retried = usage.functions
