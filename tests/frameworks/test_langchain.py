"""LangChain's own standard tests of integrations, with the mock as every provider.

With `-o llm_mock_http=error` they ask the server, as no other way is left.
"""

from __future__ import annotations

import os
import re
from typing import Any, ClassVar

import pytest

pytest.importorskip("langchain_tests")
for name in (
    "langchain_openai",
    "langchain_anthropic",
    "langchain_google_genai",
    "langchain_mistralai",
):
    pytest.importorskip(name)

import httpx
from langchain_anthropic import ChatAnthropic
from langchain_google_genai import ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings
from langchain_mistralai import ChatMistralAI, MistralAIEmbeddings
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from langchain_tests.integration_tests import ChatModelIntegrationTests, EmbeddingsIntegrationTests

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.behaviour.generate import generate_instance

IMAGE = b"\x89PNG\r\n\x1a\n"
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(autouse=True)
def answers(
    request: pytest.FixtureRequest, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Answer every call by its request, and provide the images that the suites download."""
    if request.config.getini("llm_mock_http") == "error":
        for name, value in request.getfixturevalue("llm_mock_server").environment().items():
            monkeypatch.setenv(name, value)
    mock_llm_responses.set("*", _plausible)
    monkeypatch.setattr("httpx.get", lambda url, **more: httpx.Response(200, content=IMAGE))


def _plausible(asked: Any) -> Any:
    """Return an instance of the schema, a tool call before its result, or a text."""
    if asked.schema and asked.tool_choice not in {tool.name for tool in asked.tools}:
        return generate_instance(asked.schema)
    if asked.tools and not asked.tool_results and asked.tool_choice != "none":
        tool = next(
            (tool for tool in asked.tools if tool.name == asked.tool_choice), asked.tools[0]
        )
        return Reply(
            tool_calls=[
                ToolCall(
                    tool.name, _arguments(tool.input_schema or {"type": "object"}, asked.prompt)
                )
            ]
        )
    if "JSON" in asked.prompt:
        return {"setup": "Why?", "punchline": "Because."}
    return Reply(chunks=["Hello, ", "wor", "ld."])


def _arguments(schema: dict[str, Any], prompt: str) -> Any:
    made = generate_instance(schema)
    if isinstance(made.get("customer_name"), str):
        return {"customer_name": prompt.split("'")[1], "description": prompt}
    number = re.search(r"\d+", prompt)
    return {
        name: int(number[0]) if number and name in ("input", "_input") else value
        for name, value in made.items()
    }


class ChatSuite(ChatModelIntegrationTests):
    """Common settings of the five chat models."""

    supports_image_inputs = supports_json_mode = True
    name: str
    more: ClassVar[dict[str, Any]] = {}

    @property
    def chat_model_params(self) -> dict[str, Any]:
        return {"model": self.name, **self.more}


class TestChatCompletions(ChatSuite):
    chat_model_class = ChatOpenAI
    name = "gpt-4o"
    more: ClassVar = {
        "stream_usage": True
    }  # which it does not ask another host than OpenAI's for by itself


class TestResponses(ChatSuite):
    chat_model_class = ChatOpenAI
    name = "gpt-5"
    more: ClassVar = {"use_responses_api": True}


class TestAnthropic(ChatSuite):
    chat_model_class = ChatAnthropic
    name = "claude-opus-4-9"
    supports_json_mode = False
    supports_anthropic_inputs = True


class TestGoogle(ChatSuite):
    chat_model_class = ChatGoogleGenerativeAI
    name = "gemini-3-pro"


class TestMistral(ChatSuite):
    chat_model_class = ChatMistralAI
    name = "mistral-large"


class TestOpenAIEmbeddings(EmbeddingsIntegrationTests):
    embeddings_class = OpenAIEmbeddings
    embedding_model_params: ClassVar = {
        "model": "text-embedding-3-small",
        "check_embedding_ctx_length": False,
    }


class TestGoogleEmbeddings(EmbeddingsIntegrationTests):
    embeddings_class = GoogleGenerativeAIEmbeddings
    embedding_model_params: ClassVar = {"model": "gemini-embedding-001"}


class TestMistralEmbeddings(EmbeddingsIntegrationTests):
    embeddings_class = MistralAIEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        # This class looks at no environment variable for its base URL.
        base_url = os.environ.get("MISTRAL_BASE_URL")
        return {"model": "mistral-embed", **({"endpoint": f"{base_url}/"} if base_url else {})}
