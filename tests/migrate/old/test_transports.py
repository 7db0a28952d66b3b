"""Clients of SDKs whose HTTP client has a fake transport."""

import asyncio
import json

import anthropic
import httpx2
import openai
import pytest
from assistants import Assistant, ask_claude_async, embed, respond_with_text
from openai import OpenAI

FAULTS = ("", "prompt", "system", "answer", "model", "twice", "no call")
NO_CREDIT = {"error": {"code": "insufficient_quota", "message": "You have no credit."}}


def new_completion(text):
    message = {"role": "assistant", "content": text}
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1700000000,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }


def reply_briefly(request):
    return httpx2.Response(200, json=new_completion("Short"))


def test_a_function():
    def handler(request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(200, json=new_completion("Short"), request=request)

    client = OpenAI(
        api_key="test",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(handler)),
    )

    assert Assistant(client=client).answer("a question") == "Short"


def test_a_function_of_the_file():
    http = httpx2.Client(transport=httpx2.MockTransport(reply_briefly))
    with openai.OpenAI(api_key="test", http_client=http) as client:
        assert Assistant(client=client).answer("a question") == "Short"


def test_requests():
    requests = []

    def handler(request):
        requests.append(request)
        return httpx2.Response(200, json=new_completion("Short"))

    # No network.
    transport = httpx2.MockTransport(handler)
    client = OpenAI(api_key="test", http_client=httpx2.Client(transport=transport))
    assert Assistant(client=client).answer("a question") == "Short"
    assert len(requests) == 1
    body = json.loads(requests[0].content)
    assert body["model"] == "gpt-4o-mini"
    assert body["messages"][-1]["content"] == "Answer: a question"


def test_a_body():
    captured = {}

    def handler(request):
        captured["body"] = json.loads(request.content)
        captured["url"] = str(request.url)
        part = {"type": "output_text", "text": "Hi", "annotations": []}
        message = {"type": "message", "role": "assistant", "content": [part]}
        return httpx2.Response(200, json={"object": "response", "output": [message]})

    client = OpenAI(
        http_client=httpx2.Client(transport=httpx2.MockTransport(handler)), api_key="test"
    )
    assert respond_with_text("a question", client) == "Hi"
    assert captured["body"]["input"] == "a question"
    assert captured["body"]["instructions"] == "Be brief"


def test_an_async_client():
    async def handler(request):
        content = [{"type": "text", "text": "Hi"}]
        return httpx2.Response(
            200,
            json={
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": "claude-sonnet-4-5",
                "content": content,
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 3, "output_tokens": 4},
            },
        )

    http = httpx2.AsyncClient(transport=httpx2.MockTransport(handler))
    client = anthropic.AsyncAnthropic(api_key="test", http_client=http)
    assert asyncio.run(ask_claude_async("a question", client)) == "Hi"


def test_vectors():
    item = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
    vectors = {"object": "list", "data": [item], "model": "a", "usage": {}}
    transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=vectors))
    with httpx2.Client(transport=transport) as http:
        client = OpenAI(api_key="test", http_client=http)
        assert embed("a text", client=client) == [[0.5, 0.25]]


def test_a_limit():
    http = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(429)))
    client = OpenAI(api_key="test", max_retries=0, http_client=http)
    with pytest.raises(openai.RateLimitError):
        Assistant(client=client).answer("a question")


def test_an_error_that_the_test_reads():
    transport = httpx2.MockTransport(lambda request: httpx2.Response(402, json=NO_CREDIT))
    client = OpenAI(api_key="test", http_client=httpx2.Client(transport=transport), max_retries=0)
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model="gpt-4o-mini", messages=[])
    assert raised.value.code == "insufficient_quota"


def test_no_network():
    def handler(request):
        raise httpx2.ConnectError("no network", request=request)

    client = OpenAI(
        api_key="test",
        max_retries=0,
        http_client=httpx2.Client(transport=httpx2.MockTransport(handler)),
    )
    assert Assistant(client=client).answer_patiently("a question") == "gave up"
