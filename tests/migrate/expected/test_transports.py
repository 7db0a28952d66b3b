"""Clients of SDKs whose HTTP client has a fake transport."""

import asyncio

import anthropic
import openai
import pytest
from assistants import Assistant, ask_claude_async, embed, respond_with_text
from llm_mock import Reply, templates
from openai import OpenAI

FAULTS = ("", "prompt", "system", "answer", "model", "twice", "no call")
NO_CREDIT = {"error": {"code": "insufficient_quota", "message": "You have no credit."}}


def test_a_function(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    client = OpenAI(
        api_key="test",
        max_retries=0,
    )

    assert Assistant(client=client).answer("a question") == "Short"


def test_a_function_of_the_file(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    with openai.OpenAI(api_key="test") as client:
        assert Assistant(client=client).answer("a question") == "Short"


def test_requests(mock_llm_responses, mock_llm_calls):
    # No network.
    mock_llm_responses.set("*", "Short")
    client = OpenAI(api_key="test")
    assert Assistant(client=client).answer("a question") == "Short"
    assert len(mock_llm_calls.calls) == 1
    body = mock_llm_calls.calls[0].request.body
    assert body["model"] == "gpt-4o-mini"
    assert body["messages"][-1]["content"] == "Answer: a question"


def test_a_body(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    client = OpenAI(
        api_key="test"
    )
    assert respond_with_text("a question", client) == "Hi"
    assert mock_llm_calls.last_call.request.body["input"] == "a question"
    assert mock_llm_calls.last_call.request.body["instructions"] == "Be brief"


def test_an_async_client(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Hi", usage={"input": 3, "output": 4}))
    client = anthropic.AsyncAnthropic(api_key="test")
    assert asyncio.run(ask_claude_async("a question", client)) == "Hi"


def test_vectors(mock_llm_responses):
    item = {"object": "embedding", "index": 0, "embedding": [0.5, 0.25]}
    vectors = {"object": "list", "data": [item], "model": "a", "usage": {}}
    mock_llm_responses.on("POST", "/**/embeddings", vectors)
    client = OpenAI(api_key="test")
    assert embed("a text", client=client) == [[0.5, 0.25]]


def test_a_limit(mock_llm_responses):
    mock_llm_responses.set("*", templates.rate_limit())
    client = OpenAI(api_key="test", max_retries=0)
    with pytest.raises(openai.RateLimitError):
        Assistant(client=client).answer("a question")


def test_an_error_that_the_test_reads(mock_llm_responses):
    mock_llm_responses.on("POST", "/v1/chat/completions", NO_CREDIT, status=402)
    client = OpenAI(api_key="test", max_retries=0)
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model="gpt-4o-mini", messages=[])
    assert raised.value.code == "insufficient_quota"


def test_no_network(mock_llm_responses):
    mock_llm_responses.set_error("*", templates.no_connection())
    client = OpenAI(
        api_key="test",
        max_retries=0,
    )
    assert Assistant(client=client).answer_patiently("a question") == "gave up"
