"""APIs that are not supported are refused in their own error shape, so that SDKs raise their error.

The rest of an SDK works: Hugging Face's client chats through the router, without asking the hub.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.cassettes.cassette import Cassette

# Some tests are about refusals, and ask nothing else.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
HELLO: Any = [{"role": "user", "content": "Hello"}]
MODEL = "meta-llama/Llama-3.3-70B-Instruct"


def explain(method: str, host: str, path: str) -> tuple[str, str]:
    """Return the parts of each message: the problem, and what to do."""
    problem = f"{method} {path} of {host} is not supported by llm_mock; nothing was sent."
    return problem, f"Configure a response with mock.on('{method}', '{path}', …)."


ENDPOINTS = {
    "https://api.mistral.ai/v1/agents/completions": "message",
    "https://api.mistral.ai/v1/conversations": "message",
    "https://api.mistral.ai/v1/conversations/conv_1": "message",
    "https://api.mistral.ai/v1/ocr": "message",
    "https://api.replicate.com/v1/predictions": "detail",
    "https://api.replicate.com/v1/models/meta/llama/predictions": "detail",
    "https://router.huggingface.co/hf-inference/models/m/pipeline/feature-extraction": "error",
    "https://router.huggingface.co/fal-ai/m": "error",
    "https://router.huggingface.co/replicate/v1/models/m/predictions": "error",
}
"""The addresses, and the fields of their errors that SDKs show."""


@pytest.mark.parametrize("url", ENDPOINTS)
def test_an_endpoint_is_refused_in_its_own_shape(url: str, mock_llm_calls: LLMMock) -> None:
    answer = httpx.post(url, json={"model": "m", "messages": HELLO, "inputs": "Hello"})
    assert answer.status_code == 404
    body = answer.json()
    parsed = httpx.URL(url)
    for part in explain("POST", parsed.host, parsed.path):
        assert part in body[ENDPOINTS[url]]
    (refusal,) = mock_llm_calls.refusals
    assert parsed.path in refusal


@pytest.mark.parametrize("url", ENDPOINTS)
def test_a_refused_endpoint_can_be_configured(url: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.on("POST", httpx.URL(url).path, {"text": "Hi!"})
    assert httpx.post(url, json={"inputs": "Hello"}).json() == {"text": "Hi!"}


@pytest.mark.parametrize("path", ["/v1/models", "/v1/models/meta/llama"])
def test_a_model_of_replicate_is_none_of_openai(path: str, mock_llm_calls: LLMMock) -> None:
    body = httpx.get(f"https://api.replicate.com{path}").json()
    assert body["status"] == 404
    assert explain("GET", "api.replicate.com", path)[0] in body["detail"]


# The SDKs


def test_mistrals_client_raises_its_own_error(mock_llm_calls: LLMMock) -> None:
    sdk = pytest.importorskip("mistralai.client")
    errors = pytest.importorskip("mistralai.client.errors")
    client = sdk.Mistral(api_key="none")
    document = {"type": "document_url", "document_url": "https://a/b.pdf"}
    for path, send in {
        "/v1/agents/completions": lambda: client.agents.complete(agent_id="a", messages=HELLO),
        "/v1/conversations": lambda: client.beta.conversations.start(inputs="Hello", model="m"),
        "/v1/ocr": lambda: client.ocr.process(model="m", document=document),
    }.items():
        with pytest.raises(errors.SDKError, match=f"POST {path} of api.mistral.ai is not supp"):
            send()


def test_replicates_client_raises_its_own_error(mock_llm_calls: LLMMock) -> None:
    replicate = pytest.importorskip("replicate")
    client = replicate.Client(api_token="none")
    with pytest.raises(replicate.exceptions.ReplicateError, match="is not supported by llm_mock"):
        client.run("meta/llama", input={"prompt": "Hello"})


# Hugging Face


@pytest.fixture
def hub() -> Any:
    """Return the package of Hugging Face's client, which has asked for no model yet."""
    package = pytest.importorskip("huggingface_hub", "1.0")
    return package


PROVIDERS = ["auto", "hf-inference", "together", "groq", "novita", "cerebras"]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_chat_is_answered_through_the_router(
    provider: str, hub: Any, mock_llm_responses: LLMMock
) -> None:
    mock = mock_llm_responses
    client = hub.InferenceClient(provider=provider, api_key="hf_none")
    mock.add(MODEL, "Hi!")
    assert client.chat_completion(HELLO, model=MODEL).choices[0].message.content == "Hi!"
    mock.add(MODEL, Reply(chunks=["Hel", "lo"]))
    chunks = list(client.chat_completion(HELLO, model=MODEL, stream=True))
    assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices][1:3] == [
        "Hel",
        "lo",
    ]
    mock.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "weather", "parameters": schema}}]
    answer = client.chat_completion(HELLO, model=MODEL, tools=tools)
    (call,) = answer.choices[0].message.tool_calls
    assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Bern"}')
    assert [call.model for call in mock.calls] == [MODEL] * 3


@pytest.mark.parametrize("provider", ["auto", "hf-inference"])
def test_a_task_without_the_format_of_openai_is_refused(
    provider: str, hub: Any, mock_llm_calls: LLMMock
) -> None:
    client = hub.InferenceClient(provider=provider, api_key="hf_none")
    with pytest.raises(hub.errors.HfHubHTTPError, match="is not supported by llm_mock"):
        client.feature_extraction("Hello", model="intfloat/e5")


@pytest.mark.parametrize("provider", ["hf-inference", "groq"])
def test_the_hub_is_asked_where_a_model_may_be_called_for_real(
    provider: str, hub: Any, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def ask(*args: object, **kwargs: object) -> None:
        raise LookupError("The hub was asked.")

    monkeypatch.setattr("huggingface_hub.hf_api.HfApi.model_info", ask)
    cassette = Cassette(tmp_path / "calls.yaml", mode="once")
    monkeypatch.setattr(mock_llm_calls, "cassette", cassette)
    client = hub.InferenceClient(provider=provider, api_key="hf_none")
    with pytest.raises(LookupError, match="The hub was asked"):
        client.chat_completion(HELLO, model=MODEL)
    with pytest.raises(LookupError, match="The hub was asked"):
        hub.InferenceClient(api_key="hf_none").feature_extraction("Hello", model=MODEL)
