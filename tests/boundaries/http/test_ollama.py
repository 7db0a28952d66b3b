"""Ollama's SDK gets what Ollama sends, and raises its own exceptions."""

from __future__ import annotations

import asyncio
import json
import re
import zlib
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply, ToolCall, templates
from llm_mock.boundaries.http.routing import load_protocol
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire import WireRequest
from tests.boundaries.http.request_senders import has_ollama

if not has_ollama():
    pytest.skip("needs ollama 0.5 or newer", allow_module_level=True)

ollama: Any = pytest.importorskip("ollama")

CLOUD = "https://ollama.com"
LOCAL = "127.0.0.1:11434"
MODEL = "llama3.2"
HELLO = [{"role": "user", "content": "Hello"}]
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "Says the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


@pytest.fixture
def client() -> Any:
    return ollama.Client(CLOUD)


def test_a_text_whole_and_streamed(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))
    assert client.chat(MODEL, HELLO).message.content == "Hello!"
    lines = list(client.chat(MODEL, HELLO, stream=True))
    assert [line.message.content for line in lines] == ["Hel", "lo!", ""]
    assert [line.done for line in lines] == [False, False, True]
    assert [call["stream"] for call in mock_llm_responses.calls] == [False, True]


def test_an_asynchronous_client_gets_the_same(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))

    async def ask() -> tuple[str | None, list[str | None]]:
        client = ollama.AsyncClient(CLOUD)
        answer = await client.chat(MODEL, HELLO)
        stream = await client.chat(MODEL, HELLO, stream=True)
        return answer.message.content, [line.message.content async for line in stream]

    assert asyncio.run(ask()) == ("Hello!", ["Hel", "lo!", ""])


def test_a_completion_whole_and_streamed(client: Any, mock_llm_responses: LLMMock) -> None:
    reply = Reply(
        chunks=["Hel", "lo!"], reasoning="Hm.", usage={"input_tokens": 7, "output_tokens": 3}
    )
    mock_llm_responses.set(MODEL, reply)
    answer = client.generate(MODEL, "Hello", think=True)
    assert (answer.response, answer.thinking, answer.done_reason) == ("Hello!", "Hm.", "stop")
    assert (answer.prompt_eval_count, answer.eval_count) == (7, 3)
    lines = list(client.generate(MODEL, "Hello", think=True, stream=True))
    assert [line.response for line in lines] == ["", "Hel", "lo!", ""]
    assert [line.thinking for line in lines] == ["Hm.", None, None, None]
    assert (lines[-1].eval_count, lines[-1].done) == (3, True)


def test_an_agent_of_three_turns(client: Any, mock_llm_responses: LLMMock) -> None:
    for city in ("Bern", "Basel"):
        mock_llm_responses.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": city})]))
    mock_llm_responses.add(MODEL, "Both are sunny.")
    messages: list[Any] = list(HELLO)
    for _ in range(3):
        message = client.chat(MODEL, messages, tools=TOOLS).message
        messages.append(message)
        for call in message.tool_calls or ():
            name = call.function.name
            messages.append({"role": "tool", "tool_name": name, "content": "Sunny."})
    assert message.content == "Both are sunny."
    last = mock_llm_responses.calls[-1]
    assert (last.turn, last.tool_results) == (3, [{"name": "weather", "output": "Sunny."}])
    calls = [each.get("tool_calls") for each in last.messages if each["role"] == "assistant"]
    assert [made["arguments"] for [made] in calls] == [{"city": "Bern"}, {"city": "Basel"}]


def test_a_call_of_a_tool_comes_whole_in_a_stream(client: Any, mock_llm_responses: LLMMock) -> None:
    calls = [ToolCall("weather", {"city": city}) for city in ("Bern", "Basel")]
    mock_llm_responses.set(MODEL, Reply("I look.", tool_calls=calls))
    text, first, second, end = client.chat(MODEL, HELLO, tools=TOOLS, stream=True)
    assert text.message.content == "I look."
    for line, city in ((first, "Bern"), (second, "Basel")):
        [made] = line.message.tool_calls or ()
        assert made.function.arguments == {"city": city}
    assert (end.done, end.done_reason) == (True, "stop")
    assert mock_llm_responses.calls[0]["finish_reason"] == "tool_calls"


@pytest.mark.parametrize(
    ("kind", "status", "message"),
    [
        ("rate-limit", 429, "too many requests"),
        ("overloaded", 503, "server busy, please try again.  maximum pending requests exceeded"),
        ("invalid-key", 401, "unauthorized"),
        ("context-overflow", 400, "the prompt is longer than the context length"),
    ],
)
def test_a_failure_is_the_exception_of_the_sdk(
    kind: str, status: int, message: str, client: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(kind)
    with pytest.raises(ollama.ResponseError) as caught:
        client.chat(MODEL, HELLO)
    assert caught.value.status_code == status
    assert caught.value.error.startswith(message)


def test_a_connection_that_fails_is_the_error_of_the_sdk(
    client: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, httpx.ConnectError("refused"))
    with pytest.raises(ConnectionError, match="Failed to connect to Ollama"):
        client.chat(MODEL, HELLO)


def test_an_exception_of_the_sdk_is_raised_again(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, ollama.ResponseError("model is loading", 503))
    with pytest.raises(ollama.ResponseError, match="model is loading") as caught:
        client.chat(MODEL, HELLO)
    assert caught.value.status_code == 503


def test_an_error_within_a_stream_is_raised(client: Any, mock_llm_responses: LLMMock) -> None:
    reply = Reply(chunks=["Hel", "lo!"], error=RuntimeError("broken"), error_after=1)
    mock_llm_responses.set(MODEL, reply)
    stream = client.chat(MODEL, HELLO, stream=True)
    assert next(stream).message.content == "Hel"
    with pytest.raises(ollama.ResponseError, match="RuntimeError: broken"):
        next(stream)


def test_a_malformed_line_cannot_be_parsed(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "Hi!")
    mock_llm_calls.misbehave("malformed-chunk")
    body = {"model": MODEL, "messages": HELLO}
    lines = httpx.post(f"{CLOUD}/api/chat", json=body).text.splitlines()
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        httpx.Response(200, text=lines[-1]).json()


def test_a_model_that_does_not_exist(client: Any, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set_unknown("mistral")
    for ask in (lambda: client.chat("mistral", HELLO), lambda: client.show("mistral")):
        with pytest.raises(ollama.ResponseError, match="model 'mistral' not found") as caught:
            ask()
        assert caught.value.status_code == 404


def test_the_time_of_an_answer_is_told(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hi!", latency=0.25))
    answer = client.chat(MODEL, HELLO)
    assert (answer.eval_duration, answer.total_duration) == (250_000_000, 252_000_000)
    *_, last = client.chat(MODEL, HELLO, stream=True)
    assert last.eval_duration == 250_000_000


def test_an_answer_without_usage(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hi!", usage=None))
    answer = client.chat(MODEL, HELLO)
    assert (answer.prompt_eval_count, answer.eval_count, answer.done) == (None, None, True)


@pytest.mark.parametrize(
    ("response_format", "options"),
    [("json", {"json_object": True}), ("", {}), ({"type": "object"}, {}), (None, {})],
)
def test_a_format_of_json_is_an_option_of_llm(
    response_format: Any, options: Any, mock_llm_calls: LLMMock
) -> None:
    from pydantic_core import to_json

    content = to_json({"model": MODEL, "messages": HELLO, "format": response_format})
    sent = WireRequest("POST", "ollama.com", "/api/chat", "", {}, content)
    mock: Any = mock_llm_calls
    request = load_protocol("ollama").parse_request(sent, mock)
    assert request.common_options() == options


# Whole documents, with the fields of ChatResponse, GenerateResponse, EmbedResponse, ListResponse
# and ShowResponse in api/types.go of https://github.com/ollama/ollama


CREATED = re.compile(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ")
DETAILS = {
    "parent_model": "",
    "format": "gguf",
    "family": "llm-mock",
    "families": ["llm-mock"],
    "parameter_size": "1B",
    "quantization_level": "Q4_K_M",
}
END = {
    "done": True,
    "done_reason": "stop",
    "total_duration": 3_000_000,
    "load_duration": 1_000_000,
    "prompt_eval_count": 7,
    "prompt_eval_duration": 1_000_000,
    "eval_count": 3,
    "eval_duration": 1_000_000,
}
CALLED = {"index": 0, "name": "weather", "arguments": {"city": "Bern"}}


def post_lines(path: str, **fields: Any) -> list[Any]:
    """Return the lines of an answer, without the model and the time that each of them has."""
    response = httpx.post(f"{CLOUD}{path}", json={"model": MODEL, **fields})
    lines = [json.loads(line) for line in response.text.splitlines()]
    for line in lines:
        assert line.pop("model") == MODEL
        assert CREATED.fullmatch(line.pop("created_at"))
    return lines


def test_the_documents_of_a_chat(mock_llm_responses: LLMMock) -> None:
    call = ToolCall("weather", {"city": "Bern"})
    usage = {"input_tokens": 7, "output_tokens": 3}
    mock_llm_responses.set(MODEL, Reply("Hi!", reasoning="Hm.", tool_calls=[call], usage=usage))
    calls = [{"id": "call_1_1", "function": CALLED}]
    message = {"role": "assistant", "content": "Hi!", "thinking": "Hm.", "tool_calls": calls}
    whole = post_lines("/api/chat", messages=HELLO, tools=TOOLS, stream=False)
    assert whole == [{"message": message, **END}]
    thinking, text, called, end = post_lines("/api/chat", messages=HELLO, tools=TOOLS)
    empty = {"role": "assistant", "content": ""}
    assert thinking == {"message": {**empty, "thinking": "Hm."}, "done": False}
    assert text == {"message": {**empty, "content": "Hi!"}, "done": False}
    calls = [{"id": "call_2_1", "function": CALLED}]
    assert called == {"message": {**empty, "tool_calls": calls}, "done": False}
    assert end == {"message": empty, **END}


def test_the_documents_of_a_completion(mock_llm_responses: LLMMock) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3}
    mock_llm_responses.set(MODEL, Reply("Hi!", reasoning="Hm.", usage=usage))
    whole = post_lines("/api/generate", prompt="Hello", stream=False)
    assert whole == [{"response": "Hi!", "thinking": "Hm.", **END}]
    assert post_lines("/api/generate", prompt="Hello") == [
        {"response": "", "thinking": "Hm.", "done": False},
        {"response": "Hi!", "done": False},
        {"response": "", **END},
    ]


def test_the_documents_of_models(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    entry = {
        "name": MODEL,
        "model": MODEL,
        "modified_at": "2025-01-01T00:00:00Z",
        "size": 1_000_000_000,
        "digest": f"{zlib.crc32(MODEL.encode()):064x}",
        "details": DETAILS,
    }
    assert httpx.get(f"{CLOUD}/api/tags").json() == {"models": [entry]}
    assert httpx.get(f"{CLOUD}/api/version").json() == {"version": "0.12.6"}
    assert httpx.post(f"{CLOUD}/api/show", json={"model": MODEL}).json() == {
        "parameters": "",
        "license": "",
        "modified_at": "2025-01-01T00:00:00Z",
        "details": DETAILS,
        "template": "{{ .Prompt }}",
        "capabilities": ["completion", "tools", "vision", "thinking"],
        "model_info": {
            "general.architecture": "llm-mock",
            "llm-mock.context_length": 131_072,
        },
    }


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/api/tags", 200),
        ("POST", "/api/show", 200),
        ("GET", "/api/version", 200),
        ("POST", "/api/embed", 400),
        ("POST", "/api/embeddings", 400),
    ],
)
def test_only_what_calls_a_model_is_refused_as_a_call(
    method: str,
    path: str,
    status: int,
    mock_llm_responses: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "mode", "error")
    mock_llm_responses.set(MODEL, "Hi!")
    body = {"model": MODEL, "input": "Hello"}
    response = httpx.request(method, CLOUD + path, json=body if method == "POST" else None)
    refused = [problem for problem in mock_llm_responses.problems if MODEL in problem]
    mock_llm_responses.problems.clear()
    assert (response.status_code, len(refused)) == (status, status // 400)


def test_the_document_of_embeddings(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("nomic-embed-text", "Hello you", [1.0, 0.5])
    body = {"model": "nomic-embed-text", "input": "Hello you"}
    assert httpx.post(f"{CLOUD}/api/embed", json=body).json() == {
        "model": "nomic-embed-text",
        "embeddings": [[1.0, 0.5]],
        "total_duration": 2_000_000,
        "load_duration": 1_000_000,
        "prompt_eval_count": 3,
    }


# Embeddings and models


def test_texts_have_vectors(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("nomic-embed-text", "a", [1.0, 0.0])
    answer = client.embed("nomic-embed-text", ["a", "b"])
    assert answer.embeddings[0] == [1.0, 0.0]
    assert (len(answer.embeddings), answer.prompt_eval_count) == (2, 2)
    assert client.embed("nomic-embed-text", "a").embeddings == [[1.0, 0.0]]
    assert len(client.embed("other", "a", dimensions=8).embeddings[0]) == 8
    assert client.embed("other", []).embeddings == []
    assert client.embeddings("nomic-embed-text", "a").embedding == [1.0, 0.0]
    assert client.embeddings("nomic-embed-text").embedding == []


def test_an_embedding_model_fails_in_the_words_of_ollama(
    client: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.get_embedding_model("m").set_error(templates.rate_limit())
    with pytest.raises(ollama.ResponseError, match="too many requests"):
        client.embed("m", "a")
    with pytest.raises(ollama.ResponseError, match="too many requests"):
        client.embeddings("m", "a")


def test_models_are_listed_and_described(client: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    mock_llm_responses.set("glob-*", "Hi!")
    mock_llm_responses.set("*", "Hi!")
    client.chat("phi4", HELLO)
    models = client.list().models
    assert [model.model for model in models] == [MODEL, "phi4"]
    assert len({model.digest for model in models}) == 2
    described = client.show(MODEL)
    assert "tools" in (described.capabilities or ())
    lengths = [
        value for name, value in (described.modelinfo or {}).items() if name.endswith("length")
    ]
    assert lengths == [131_072]
    assert httpx.post(f"{CLOUD}/api/show", json={"name": MODEL}).status_code == 200
    assert httpx.post(f"{CLOUD}/api/show", json={}).json() == {"error": "model is required"}
    assert httpx.get(f"{CLOUD}/api/version").json() == {"version": "0.12.6"}


def test_other_endpoints_are_refused(client: Any, mock_llm_calls: LLMMock) -> None:
    with pytest.raises(ollama.ResponseError, match=r"POST /api/pull of ollama\.com is not supp"):
        client.pull(MODEL)
    mock_llm_calls.refusals.clear()


# This machine


def test_a_local_ollama_is_answered_where_the_project_lists_it(
    mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "hosts", (LOCAL,))
    mock_llm_responses.set(MODEL, "Hi!")
    client = ollama.Client(LOCAL)
    assert client.chat(MODEL, HELLO).message.content == "Hi!"
    assert len(client.embed("m", "a").embeddings) == 1
    assert [model.model for model in client.list().models] == [MODEL]
    body = {"model": MODEL, "prompt": "a", "stream": False}
    assert httpx.post(f"http://{LOCAL}/api/generate", json=body).json()["response"] == "Hi!"
    with pytest.raises(ollama.ResponseError, match="invalid think value"):
        client.chat(MODEL, HELLO, think="much")
    mock_llm_responses.refusals.clear()


def test_a_local_ollama_that_is_not_listed_is_reported(mock_llm_calls: LLMMock) -> None:
    with pytest.raises(ConnectionError):
        ollama.Client("127.0.0.1:9").chat(MODEL, HELLO)
    [refusal] = mock_llm_calls.refusals
    assert "not mocked: POST http://127.0.0.1:9/api/chat" in refusal
    assert "add 127.0.0.1:9 to ini llm_mock_hosts" in refusal
    mock_llm_calls.refusals.clear()


def test_rules_of_ollama_hold_at_no_gateway(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    body = {"model": MODEL, "messages": HELLO, "think": "much", "stream": False}
    assert httpx.post("https://gateway.test/api/chat", json=body).status_code == 200
    assert httpx.post(f"{CLOUD}/api/chat", json=body).status_code == 400
    mock_llm_responses.refusals.clear()


def test_the_server_answers_by_the_documented_variable(
    llm_mock_server: MockServer, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))
    monkeypatch.setenv("OLLAMA_HOST", "127.0.0.1:11434")
    host = llm_mock_server.environment()["OLLAMA_HOST"]
    assert host == f"{llm_mock_server.url}/ollama"
    client = ollama.Client(host)
    assert client.chat(MODEL, HELLO).message.content == "Hello!"
    lines = [line.message.content for line in client.chat(MODEL, HELLO, stream=True)]
    assert lines == ["Hel", "lo!", ""]
    assert ollama.Client(llm_mock_server.url).generate(MODEL, "Hello").response == "Hello!"
    assert [model.model for model in client.list().models] == [MODEL]
