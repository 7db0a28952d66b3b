"""InvokeModel of Bedrock by botocore and by Anthropic's client, in the bodies of each company."""

from __future__ import annotations

import asyncio
import base64
import json
from typing import Any

import anthropic
import anthropic.types
import httpx
import pytest

from llm_mock import Latency, LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.event_stream import EventMessage, decode_messages
from llm_mock.boundaries.http.protocols.bedrock_invoke import InvokeRequest
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.core.provider_error import ProviderError
from tests.boundaries.http.request_senders import has_converse

if not has_converse():
    pytest.skip("needs botocore 1.40 or newer", allow_module_level=True)

import botocore.exceptions

from tests.boundaries.http.test_bedrock import make_client, make_error, no_account  # noqa: F401

CLAUDE = "us.anthropic.claude-opus-4-9-v1:0"
NOVA = "us.amazon.nova-lite-v1:0"
LLAMA = "meta.llama3-1-8b-instruct-v1:0"
MISTRAL = "mistral.mistral-7b-instruct-v0:2"
HELLO: Any = [{"role": "user", "content": "Hello"}]
TOOLS: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
BODIES: dict[str, Any] = {
    CLAUDE: {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": HELLO},
    NOVA: {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
    LLAMA: {"prompt": "Hello"},
    MISTRAL: {"prompt": "Hello"},
}
USAGE = {"input_tokens": 11, "output_tokens": 2}
METRICS = {
    "amazon-bedrock-invocationMetrics": {
        "inputTokenCount": 11,
        "outputTokenCount": 2,
        "invocationLatency": 1,
        "firstByteLatency": 1,
    }
}


def invoke(model: str, body: Any = None) -> Any:
    """Return the body of an answer in one piece."""
    given = json.dumps(body or BODIES[model])
    answer = make_client().invoke_model(modelId=model, body=given)
    assert answer["contentType"] == "application/json"
    return json.loads(answer["body"].read())


def stream(model: str) -> list[Any]:
    """Return the chunks of a streamed answer."""
    body = json.dumps(BODIES[model])
    answer = make_client().invoke_model_with_response_stream(modelId=model, body=body)
    assert answer["contentType"] == "application/json"
    return [json.loads(event["chunk"]["bytes"]) for event in answer["body"]]


NOVA_USAGE = {
    "inputTokens": 11,
    "outputTokens": 2,
    "totalTokens": 13,
    "cacheReadInputTokenCount": 0,
    "cacheWriteInputTokenCount": 0,
}
# See https://docs.aws.amazon.com/nova/latest/userguide/using-invoke-api.html,
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-meta.html and
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-mistral-text-completion.html.
WHOLE: dict[str, Any] = {
    NOVA: {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hello"}]}},
        "stopReason": "end_turn",
        "usage": NOVA_USAGE,
    },
    LLAMA: {
        "generation": "Hello",
        "prompt_token_count": 11,
        "generation_token_count": 2,
        "stop_reason": "stop",
    },
    MISTRAL: {"outputs": [{"text": "Hello", "stop_reason": "stop"}]},
}
CHUNKS: dict[str, Any] = {
    NOVA: [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hel"}}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "lo"}}},
        {"contentBlockStop": {"contentBlockIndex": 0}},
        {"messageStop": {"stopReason": "end_turn"}},
        {"metadata": {"usage": NOVA_USAGE, "metrics": {}, "trace": {}}, **METRICS},
    ],
    LLAMA: [
        {
            "generation": "Hel",
            "prompt_token_count": 11,
            "generation_token_count": 1,
            "stop_reason": None,
        },
        {
            "generation": "lo",
            "prompt_token_count": None,
            "generation_token_count": 2,
            "stop_reason": None,
        },
        {
            "generation": "",
            "prompt_token_count": None,
            "generation_token_count": 2,
            "stop_reason": "stop",
            **METRICS,
        },
    ],
    MISTRAL: [
        {"outputs": [{"text": "Hel", "stop_reason": None}]},
        {"outputs": [{"text": "lo", "stop_reason": None}]},
        {"outputs": [{"text": "", "stop_reason": "stop"}], **METRICS},
    ],
}
every_model = pytest.mark.parametrize("model", BODIES)
every_other = pytest.mark.parametrize("model", WHOLE)


@every_other
def test_the_bodies_are_those_of_the_company(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo"], usage=USAGE))
    assert invoke(model) == WHOLE[model]
    assert stream(model) == CHUNKS[model]


@every_other
def test_a_text_that_is_cut_ends_with_its_reason(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply("Hel", finish_reason="length"))
    reason = '"max_tokens"' if model == NOVA else '"length"'
    assert reason in json.dumps(invoke(model))
    assert reason in json.dumps(stream(model))


@every_other
def test_a_refusal_is_a_text(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(refusal="I can't."))
    assert '"I can\'t."' in json.dumps(invoke(model))
    assert '"I can\'t."' in json.dumps(stream(model))


@every_other
def test_usage_may_be_left_out(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply("Hello", usage=None))
    assert "usage" not in invoke(model)
    assert "amazon-bedrock-invocationMetrics" not in json.dumps(stream(model))


@every_model
def test_an_error_within_a_stream_is_an_event_of_aws(
    model: str, mock_llm_responses: LLMMock
) -> None:
    error = make_error("ModelTimeoutException")
    mock_llm_responses.set(model, Reply(chunks=["a", "b"], error=error, error_after=1))
    with pytest.raises(botocore.exceptions.EventStreamError, match="modelTimeoutException"):
        stream(model)


@every_model
def test_chunks_take_their_time(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo"], usage=USAGE))
    at_once = len(stream(model))
    latency = Latency(1, chunks_per_second=1)
    mock_llm_responses.set(model, Reply(chunks=["Hel", "lo"], usage=USAGE, latency=latency))
    assert len(stream(model)) == at_once
    assert mock_llm_responses.last_call.response == "Hello"


@every_model
def test_each_call_is_recorded(model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, Reply("Hello", usage=USAGE))
    invoke(model)
    stream(model)
    for call in mock_llm_responses.calls:
        assert (call.model, call.prompt, call.response) == (model, "Hello", "Hello")
        assert (call["api"], call["provider"]) == ("invoke_model", "bedrock")
        assert (call.usage, call["finish_reason"]) == (USAGE, "stop")


def test_tokens_are_told_in_headers(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(LLAMA, Reply("Hello", usage=USAGE))
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{LLAMA}/invoke"
    headers = httpx.post(url, json=BODIES[LLAMA]).headers
    assert headers["x-amzn-bedrock-input-token-count"] == "11"
    assert headers["x-amzn-bedrock-output-token-count"] == "2"
    answer = httpx.post(f"{url}-with-response-stream", json=BODIES[LLAMA])
    assert answer.headers["x-amzn-bedrock-content-type"] == "application/json"
    assert "x-amzn-bedrock-input-token-count" not in answer.headers


@pytest.mark.parametrize("further", [{"headers": {"x-own": "1"}}, {"body": WHOLE[LLAMA]}])
def test_tokens_are_told_beside_details_of_a_reply(
    further: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    text = () if "body" in further else ("Hello",)
    mock_llm_responses.set(LLAMA, Reply(*text, **further, usage=USAGE))
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{LLAMA}/invoke"
    headers = httpx.post(url, json=BODIES[LLAMA]).headers
    assert headers["x-amzn-bedrock-output-token-count"] == "2"
    assert headers.get("x-own") == further.get("headers", {}).get("x-own")


@every_model
def test_the_server_answers_by_path(
    model: str, llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(model, "Hello")
    url = f"{llm_mock_server.url}/model/{model}/invoke"
    answer = httpx.post(url, json=BODIES[model])
    assert "Hello" in answer.text
    streamed = httpx.post(f"{url}-with-response-stream", json=BODIES[model])
    messages, rest = decode_messages(streamed.content)
    payloads = [json.loads(message.payload)["bytes"] for message in messages]
    assert "Hello" in "".join(base64.b64decode(payload).decode() for payload in payloads)
    assert rest == b""


@pytest.mark.parametrize(
    ("model", "is_known"),
    [
        ("anthropic.claude-opus-4-9", True),
        ("global.anthropic.claude-opus-4-9", True),
        ("us-gov.anthropic.claude-opus-4-9", True),
        ("arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-opus-4-9", True),
        ("cohere.command-r-v1:0", False),
        ("anthropical.claude", False),
        ("xx.anthropic.claude", False),
    ],
)
def test_the_company_follows_from_the_model(
    model: str, is_known: bool, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.set("*", "Hi!")
    body = {"max_tokens": 9, "messages": HELLO}
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        invoke(model, body)
    known = "anthropic_version: Field required"
    unknown = f"InvokeModel is not supported by llm_mock for the model '{model}'"
    assert (known if is_known else unknown) in str(raised.value)


def test_nova_needs_a_message(mock_llm_calls: LLMMock) -> None:
    with pytest.raises(botocore.exceptions.ClientError, match="must start with a user message"):
        invoke(NOVA, {"schemaVersion": "messages-v1"})


@pytest.mark.parametrize("model", [LLAMA, MISTRAL])
def test_a_prompt_is_needed(model: str, mock_llm_calls: LLMMock) -> None:
    with pytest.raises(botocore.exceptions.ClientError, match="Value null at 'prompt' failed"):
        invoke(model, {"messages": HELLO})


def test_chunks_in_the_json_of_the_company_are_sent_as_they_are(
    mock_llm_responses: LLMMock,
) -> None:
    for model in WHOLE:
        mock_llm_responses.set(model, Reply(body=WHOLE[model], events=CHUNKS[model]))
        assert invoke(model) == WHOLE[model]
        assert stream(model) == CHUNKS[model]
        whole, streamed = mock_llm_responses.calls[-2:]
        assert (whole.response, streamed.response) == ("Hello", "Hello")
        assert streamed.usage == USAGE


@pytest.mark.parametrize("payload", ["text", {"other": 1}, {"bytes": 5}, {"bytes": "a"}])
def test_a_chunk_that_is_not_base64_is_recorded_as_it_came(payload: Any) -> None:
    sent = WireRequest("POST", "a.test", "/", "", {}, b"")
    request = InvokeRequest(CLAUDE, [], api="invoke_model", sent=sent)
    message = EventMessage({":event-type": "chunk"}, json.dumps(payload).encode())
    assert request.decode_event(message) == payload


# Token counts


def count(body: Any) -> httpx.Response:
    """Return the answer to a request for a count of tokens."""
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{CLAUDE}/count-tokens"
    return httpx.post(url, json=body)


def test_tokens_are_counted(mock_llm_calls: LLMMock) -> None:
    # Four characters are a token.
    messages = [{"role": "user", "content": [{"text": "Hello, world"}]}]
    assert count({"input": {"converse": {"messages": messages}}}).json() == {"inputTokens": 3}
    body = base64.b64encode(json.dumps(BODIES[CLAUDE]).encode()).decode()
    assert count({"input": {"invokeModel": {"body": body}}}).json() == {"inputTokens": 2}
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"input": "a"},
        {"input": {}},
        {"input": {"converse": "a"}},
        {"input": {"invokeModel": "a"}},
        {"input": {"invokeModel": {}}},
    ],
)
def test_nothing_to_count_is_refused(body: Any, mock_llm_calls: LLMMock) -> None:
    answer = count(body)
    assert answer.status_code == 400
    assert "Value null at 'input' failed to satisfy constraint" in answer.json()["message"]
    assert answer.headers["x-amzn-errortype"] == "ValidationException"


def test_a_counted_body_is_base64(mock_llm_calls: LLMMock) -> None:
    answer = count({"input": {"invokeModel": {"body": "a"}}})
    assert (answer.status_code, answer.json()) == (400, {"message": "Invalid base64 data."})


# Anthropic's client


def test_the_client_of_anthropic_is_answered(mock_llm_responses: LLMMock) -> None:
    mock = mock_llm_responses
    client = anthropic.AnthropicBedrock()
    mock.add(CLAUDE, "Hi!")
    message = client.messages.create(model=CLAUDE, max_tokens=9, messages=HELLO)
    assert message.content[0].text == "Hi!"  # type: ignore[union-attr]
    assert message.model == "claude-opus-4-9"
    mock.add(CLAUDE, Reply(chunks=["Hel", "lo"]))
    with client.messages.stream(model=CLAUDE, max_tokens=9, messages=HELLO) as answer:
        assert list(answer.text_stream) == ["Hel", "lo"]
    mock.add(CLAUDE, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    message = client.messages.create(model=CLAUDE, max_tokens=9, messages=HELLO, tools=TOOLS)
    assert message.content[0].input == {"city": "Bern"}  # type: ignore[union-attr]
    assert [call.model for call in mock.calls] == [CLAUDE] * 3
    assert mock.last_call["sdk"].startswith("AnthropicBedrock/Python")


def test_the_client_of_anthropic_may_call_the_server(
    llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(CLAUDE, "Hi!")
    with anthropic.AnthropicBedrock(base_url=llm_mock_server.bedrock_url) as client:
        message = client.messages.create(model=CLAUDE, max_tokens=9, messages=HELLO)
    assert message.model == "claude-opus-4-9"
    assert mock_llm_responses.last_call.model == CLAUDE


def test_the_asynchronous_client_of_anthropic_is_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(CLAUDE, Reply(chunks=["Hel", "lo"]))

    async def ask() -> list[str]:
        async with anthropic.AsyncAnthropicBedrock() as client:
            asked: Any = {"model": CLAUDE, "max_tokens": 9, "messages": HELLO}
            async with client.messages.stream(**asked) as answer:
                return [text async for text in answer.text_stream]

    assert asyncio.run(ask()) == ["Hel", "lo"]


def test_the_client_of_anthropic_retries_fast(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(CLAUDE, ProviderError("overloaded"))
    client = anthropic.AnthropicBedrock()
    with pytest.raises(anthropic.APIStatusError, match="Bedrock is unable to process"):
        client.messages.create(model=CLAUDE, max_tokens=9, messages=HELLO)
    assert len(mock_llm_responses.calls) == 3
    assert mock_llm_responses.last_call["status"] == 503
