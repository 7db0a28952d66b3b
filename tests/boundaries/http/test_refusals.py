"""A refusal has the error format of its provider, so that the SDK shows our message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
REFUSED = "is not supported by llm_mock"
HELLO: Any = [{"role": "user", "content": "Hello"}]


def take_refusal(mock: LLMMock) -> str:
    """Return the refusal that the mock noted, which fails a test only if it is strict."""
    [problem] = mock.refusals
    mock.refusals.clear()
    return problem


SHAPES: dict[str, Callable[[Any], str]] = {
    "https://api.openai.com/v1/threads/t/messages": lambda body: body["error"]["message"],
    "https://api.openai.com/v1/messages": lambda body: body["error"]["message"],
    "https://x.openai.azure.com/openai/threads/t/messages": lambda body: body["error"]["message"],
    "https://api.groq.com/openai/v1/batches": lambda body: body["error"]["message"],
    "https://api.together.xyz/v1/rerank": lambda body: body["error"]["message"],
    "https://api.anthropic.com/v1/messages/batches": lambda body: (
        body["error"]["message"] * (body["type"] == "error")
    ),
    "https://generativelanguage.googleapis.com/v1beta/files": lambda body: (
        body["error"]["message"] * (body["error"]["status"] == "NOT_FOUND")
    ),
    "https://api.mistral.ai/v1/ocr": lambda body: body["message"] * (body["object"] == "error"),
    "https://bedrock-runtime.us-east-1.amazonaws.com/guardrail/g/version/1/apply": lambda body: (
        body["message"]
    ),
    "https://api.cohere.com/v1/chat": lambda body: body["message"],
    "https://ollama.com/api/pull": lambda body: body["error"],
    "https://api.replicate.com/v1/predictions": lambda body: body["detail"],
    "https://api-inference.huggingface.co/models/gpt2": lambda body: body["error"],
}


@pytest.mark.parametrize("url", SHAPES)
def test_a_refusal_has_the_shape_of_the_provider_that_was_asked(
    url: str, mock_llm_calls: LLMMock
) -> None:
    response = httpx.post(url, json={"model": "m", "messages": HELLO})
    assert REFUSED in take_refusal(mock_llm_calls)
    assert response.status_code == 404
    assert REFUSED in SHAPES[url](response.json())
    assert response.headers["x-should-retry"] == "false"


def list_permissions() -> None:
    path = "/fine_tuning/checkpoints/ft:gpt-4o:acme::9f/permissions"
    openai.OpenAI().get(path, cast_to=object)


def write_to_a_thread() -> None:
    openai.OpenAI().post(
        "/threads/t/messages", body={"role": "user", "content": "Hello"}, cast_to=object
    )


def list_batches() -> None:
    anthropic.Anthropic().messages.batches.list()


def list_files() -> None:
    with Mistral(api_key="any") as client:
        client.files.list()


def list_files_of_google() -> None:
    client = genai.Client()
    list(client.files.list())


def apply_a_guardrail() -> None:
    boto3 = pytest.importorskip("boto3")
    keys = {"aws_access_key_id": "any", "aws_secret_access_key": "any", "region_name": "us-east-1"}
    boto3.client("bedrock-runtime", **keys).apply_guardrail(
        guardrailIdentifier="g", guardrailVersion="1", source="INPUT", content=[]
    )


@pytest.mark.parametrize(
    "ask",
    [
        list_permissions,
        write_to_a_thread,
        list_batches,
        list_files,
        list_files_of_google,
        apply_a_guardrail,
    ],
)
def test_an_application_sees_why(ask: Callable[[], None], mock_llm_calls: LLMMock) -> None:
    with pytest.raises(Exception, match=REFUSED):
        ask()
    assert REFUSED in take_refusal(mock_llm_calls)


@pytest.mark.parametrize(
    "path", ["/v1/fine_tuning/checkpoints/ft:gpt-4o:acme::9f", "/v1/threads/t/messages"]
)
def test_the_server_tells_providers_by_more_than_a_colon(
    path: str, mock_llm_calls: LLMMock
) -> None:
    with (
        MockServer(lambda: mock_llm_calls) as server,
        openai.OpenAI(base_url=server.url, api_key="any") as client,
        pytest.raises(openai.NotFoundError) as raised,
    ):
        client.post(path, cast_to=object)
    assert REFUSED in take_refusal(mock_llm_calls)
    assert REFUSED in raised.value.message
    assert raised.value.type == "invalid_request_error"
