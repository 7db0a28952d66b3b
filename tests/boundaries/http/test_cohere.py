"""Cohere's SDK gets what Cohere sends, and raises its own exceptions."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
import time
from typing import Any, cast

import httpx
import pytest

from llm_mock import Citation, LLMMock, Logprob, Reply, ToolCall
from llm_mock.boundaries.http.routing import load_protocol
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.wire import WireRequest
from tests.boundaries.http.request_senders import has_cohere

if not has_cohere():
    pytest.skip("needs cohere 7 or newer", allow_module_level=True)

import cohere

pytestmark = [
    pytest.mark.filterwarnings("ignore:The `__fields__` attribute is deprecated"),
    pytest.mark.filterwarnings("ignore:The `parse_obj` method is deprecated"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_fields' attribute on the instance"),
]
MODEL = "command-a-03-2025"
HELLO: Any = [{"role": "user", "content": "Hello"}]
TOOLS: Any = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        },
    }
]


def read_text(stream: Any) -> str:
    """Return the text of a stream."""
    events = [event for event in stream if event.type == "content-delta"]
    return "".join(event.delta.message.content.text for event in events)


def test_a_text_whole_and_streamed(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))
    client = cohere.ClientV2()
    assert client.chat(model=MODEL, messages=HELLO).message.content[0].text == "Hello!"
    assert read_text(client.chat_stream(model=MODEL, messages=HELLO)) == "Hello!"
    whole, streamed = mock_llm_responses.calls
    assert (whole["stream"], streamed["stream"]) == (False, True)
    assert whole["sdk"].startswith("cohere/")


def test_an_asynchronous_client_gets_the_same(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo!"]))

    async def ask() -> tuple[str, str]:
        client = cohere.AsyncClientV2()
        answer = await client.chat(model=MODEL, messages=HELLO)
        text = ""
        async for event in client.chat_stream(model=MODEL, messages=HELLO):
            if event.type == "content-delta":
                text += event.delta.message.content.text
        return answer.message.content[0].text, text

    assert asyncio.run(ask()) == ("Hello!", "Hello!")


def test_where_citations_are_asked_for(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hello!")
    client = cohere.ClientV2()
    client.chat(model=MODEL, messages=HELLO, citation_options={"mode": "FAST"})
    [call] = mock_llm_responses.calls
    assert call.request.body["citation_options"] == {"mode": "FAST"}


def test_an_agent_of_three_turns(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(
        MODEL, Reply("I look.", tool_calls=[ToolCall("weather", {"city": "Bern"})])
    )
    mock_llm_responses.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Basel"})]))
    mock_llm_responses.add(MODEL, "Both are sunny.")
    client = cohere.ClientV2()
    messages = list(HELLO)
    for _ in range(3):
        answer = client.chat(model=MODEL, messages=messages, tools=TOOLS)
        messages.append(answer.message)
        for call in answer.message.tool_calls or ():
            messages.append({"role": "tool", "tool_call_id": call.id, "content": "Sunny."})
    assert answer.message.content[0].text == "Both are sunny."
    first, _, last = mock_llm_responses.calls
    assert first.tools[0]["name"] == "weather"
    assert last.turn == 3
    assert last.tool_results == [{"name": "weather", "output": "Sunny."}]
    plans = [each.get("text") for each in last.messages if each["role"] == "assistant"]
    assert plans == ["I look.", ""]


def test_a_required_tool_must_be_called(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "No tool.")
    with pytest.raises(cohere.BadRequestError, match='tool_choice="REQUIRED"'):
        cohere.ClientV2().chat(model=MODEL, messages=HELLO, tools=TOOLS, tool_choice="REQUIRED")
    [problem] = mock_llm_responses.problems
    assert 'tool_choice="REQUIRED"' in problem
    mock_llm_responses.problems.clear()


def test_data_answers_a_format_with_a_schema(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, {"city": "Bern"})
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    response_format: Any = {"type": "json_object", "json_schema": schema}
    answer = cohere.ClientV2().chat(model=MODEL, messages=HELLO, response_format=response_format)
    assert answer.message.content[0].text == '{"city": "Bern"}'
    [call] = mock_llm_responses.calls
    assert call.schema == schema


@pytest.mark.parametrize(
    ("response_format", "options"),
    [
        ({"type": "json_object"}, {"json_object": True}),
        ({"type": "json_object", "schema": {"type": "object"}}, {}),
        ({"type": "text"}, {}),
    ],
)
def test_a_format_is_an_option_of_llm_unless_it_has_a_schema(
    response_format: Any, options: Any, mock_llm_calls: LLMMock
) -> None:
    body = {"model": MODEL, "messages": HELLO, "response_format": response_format}
    content = json.dumps(body).encode()
    sent = WireRequest("POST", "api.cohere.com", "/v2/chat", "", {}, content)
    request = load_protocol("cohere_chat").parse_request(sent, cast("Any", mock_llm_calls))
    assert request.common_options() == options


@pytest.mark.parametrize(
    ("kind", "status", "exception", "message"),
    [
        ("rate-limit", 429, "TooManyRequestsError", "You are past the per minute request limit"),
        ("overloaded", 503, "ServiceUnavailableError", "unavailable"),
        ("context-overflow", 400, "BadRequestError", "too many tokens: "),
        ("invalid-key", 401, "UnauthorizedError", "invalid api token"),
    ],
)
def test_a_failure_is_the_exception_of_the_sdk(
    kind: str, status: int, exception: str, message: str, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(kind)
    with pytest.raises(getattr(cohere, exception)) as caught:
        cohere.ClientV2(max_retries=0).chat(model=MODEL, messages=HELLO)
    error: Any = caught.value
    assert error.status_code == status
    assert message in error.body["message"]
    assert error.body["id"] == error.headers["x-debug-trace-id"]


def test_a_failure_is_retried_fast(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.misbehave("rate-limit", times=2)
    mock_llm_responses.set(MODEL, "Hi!")
    start = time.perf_counter()
    assert cohere.ClientV2().chat(model=MODEL, messages=HELLO).message.content[0].text == "Hi!"
    # The SDK waits for 1 s and 2 s by itself.
    assert time.perf_counter() - start < 2
    assert [call["error"] is None for call in mock_llm_responses.calls] == [False, False, True]


def test_an_unexpected_exception_is_a_server_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, RuntimeError("broken"))
    with pytest.raises(cohere.InternalServerError, match="RuntimeError: broken"):
        cohere.ClientV2(max_retries=0).chat(model=MODEL, messages=HELLO)


@pytest.mark.parametrize("headers", [None, {"retry-after": "7", "content-length": "5"}])
def test_an_exception_of_the_sdk_is_raised_again(
    headers: dict[str, str] | None, mock_llm_responses: LLMMock
) -> None:
    scripted = cohere.TooManyRequestsError(body={"message": "Slow down."}, headers=headers)
    mock_llm_responses.set(MODEL, scripted)
    with pytest.raises(cohere.TooManyRequestsError) as caught:
        cohere.ClientV2(max_retries=0).chat(model=MODEL, messages=HELLO)
    error: Any = caught.value
    assert error.body["message"] == "Slow down."
    assert error.headers.get("retry-after") == (headers and "7")


def test_an_exception_without_a_body_is_named(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, cohere.core.ApiError(status_code=504))
    with pytest.raises(cohere.GatewayTimeoutError) as caught:
        cohere.ClientV2(max_retries=0).chat(model=MODEL, messages=HELLO)
    error: Any = caught.value
    assert "status_code: 504" in error.body["message"]


def test_an_error_within_a_stream_is_its_end(mock_llm_responses: LLMMock) -> None:
    reply = Reply(chunks=["Hel", "lo!"], error=RuntimeError("broken"), error_after=1)
    mock_llm_responses.set(MODEL, reply)
    *_, last = cohere.ClientV2().chat_stream(model=MODEL, messages=HELLO)
    assert (last.delta.finish_reason, last.delta.error) == ("ERROR", "RuntimeError: broken")


def test_chat_of_version_1_is_refused(mock_llm_calls: LLMMock) -> None:
    with pytest.raises(cohere.NotFoundError) as caught:
        cohere.Client().chat(message="Hello")
    error: Any = caught.value
    assert "POST /v1/chat of api.cohere.com is not supported" in error.body["message"]
    [refusal] = mock_llm_calls.refusals
    assert "mock.on('POST', '/v1/chat', …)" in refusal
    mock_llm_calls.refusals.clear()


@pytest.mark.parametrize(
    ("reply", "phrase"),
    [
        (Reply("a", service_tier="priority"), "Cohere has no service tiers"),
        (
            Reply("a", logprobs=[Logprob("a", -1.0)]),
            "does not ask for them. Set logprobs=True in the request.",
        ),
    ],
)
def test_details_that_are_not_sent_are_refused(
    reply: Reply, phrase: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, reply)
    with pytest.raises(cohere.BadRequestError):
        cohere.ClientV2().chat(model=MODEL, messages=HELLO)
    [problem] = mock_llm_responses.problems
    assert phrase in problem
    mock_llm_responses.problems.clear()


def test_limits_are_counted(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    mock_llm_responses.set_quota(MODEL, rpm=1)
    client = cohere.ClientV2(max_retries=0)
    client.chat(model=MODEL, messages=HELLO)
    with pytest.raises(cohere.TooManyRequestsError, match="past the per minute request limit"):
        client.chat(model=MODEL, messages=HELLO)


# Whole documents, as https://docs.cohere.com/reference/chat, …/chat-stream and
# https://docs.cohere.com/docs/rag-citations have them


URL = "https://api.cohere.com/v2/chat"
USAGE = {"input_tokens": 7, "output_tokens": 3}
USAGE_FIELD = {"billed_units": USAGE, "tokens": USAGE}
START = {
    "type": "message-start",
    "id": "chat-mock-2",
    "delta": {
        "message": {
            "role": "assistant",
            "content": [],
            "tool_plan": "",
            "tool_calls": [],
            "citations": [],
        }
    },
}
PENGUINS: Any = [
    {"data": {"title": "Tall", "snippet": "Emperor penguins are the tallest."}},
    {"id": "cold", "data": {"text": "They live in Antarctica."}},
    "A text.",
]
TALLEST = {"id": "doc:0", **PENGUINS[0]["data"]}
COLD = {"id": "cold", **PENGUINS[1]["data"]}


def ask(stream: bool, **fields: Any) -> list[Any]:
    """Return the body of an answer, or the data of its events."""
    body = {"model": MODEL, "messages": HELLO, "stream": stream, **fields}
    response = httpx.post(URL, json=body)
    if not stream:
        return [response.json()]
    *events, last = response.text.removesuffix("\n\n").split("\n\n")
    assert last == "data: [DONE]"
    bodies = []
    for event in events:
        name, data = event.split("\n")
        bodies.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {bodies[-1]['type']}"
    return bodies


def make_event(kind: str, index: int, **message: Any) -> Any:
    return {"type": kind, "index": index, "delta": {"message": message}}


def make_end(reason: str) -> Any:
    return {"type": "message-end", "delta": {"finish_reason": reason, "usage": USAGE_FIELD}}


def test_the_documents_of_a_text_with_details(mock_llm_responses: LLMMock) -> None:
    reply = Reply(
        "Emperor penguins",
        reasoning="Hm.",
        usage=USAGE,
        logprobs=[Logprob("Emperor", -0.25), Logprob(" penguins", -0.5)],
        citations=[
            Citation(document_index=0, text="Emperor", cited_text="tallest"),
            Citation(document_index=1),
        ],
    )
    mock_llm_responses.set(MODEL, reply)
    emperor = {"text": "Emperor", "token_ids": [98825], "logprobs": [-0.25]}
    penguins = {"text": " penguins", "token_ids": [17086], "logprobs": [-0.5]}
    place = {"content_index": 1, "type": "TEXT_CONTENT"}
    tall = {"type": "document", "id": "doc:0", "document": TALLEST}
    cold = {"type": "document", "id": "cold", "document": COLD}
    first = {"start": 0, "end": 7, "text": "Emperor", "sources": [tall], **place}
    second = {"start": 0, "end": 16, "text": "Emperor penguins", "sources": [cold], **place}
    assert ask(False, documents=PENGUINS, logprobs=True) == [
        {
            "id": "chat-mock-1",
            "message": {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Hm."},
                    {"type": "text", "text": "Emperor penguins"},
                ],
                "citations": [first, second],
            },
            "finish_reason": "COMPLETE",
            "usage": USAGE_FIELD,
            "logprobs": [emperor, penguins],
        }
    ]
    assert ask(True, documents=PENGUINS, logprobs=True) == [
        START,
        make_event("content-start", 0, content={"type": "thinking", "thinking": ""}),
        make_event("content-delta", 0, content={"thinking": "Hm."}),
        {"type": "content-end", "index": 0},
        make_event("content-start", 1, content={"type": "text", "text": ""}),
        {**make_event("content-delta", 1, content={"text": "Emperor"}), "logprobs": emperor},
        {**make_event("content-delta", 1, content={"text": " penguins"}), "logprobs": penguins},
        make_event("citation-start", 0, citations=first),
        {"type": "citation-end", "index": 0},
        make_event("citation-start", 1, citations=second),
        {"type": "citation-end", "index": 1},
        {"type": "content-end", "index": 1},
        make_end("COMPLETE"),
    ]


def test_the_documents_of_tool_calls_with_a_cited_plan(mock_llm_responses: LLMMock) -> None:
    calls = [ToolCall("weather", {"city": city}) for city in ("Rome", "Oslo")]
    cited = Citation(document_index=1)
    mock_llm_responses.set(
        MODEL, Reply("I look.", tool_calls=calls, usage=USAGE, citations=[cited])
    )
    source = {"type": "document", "id": "cold", "document": COLD}
    citation = {"start": 0, "end": 7, "text": "I look.", "sources": [source], "type": "PLAN"}

    def make_call(call_id: str, arguments: str) -> Any:
        function = {"name": "weather", "arguments": arguments}
        return {"id": call_id, "type": "function", "function": function}

    rome, oslo = '{"city": "Rome"}', '{"city": "Oslo"}'
    assert ask(False, documents=PENGUINS, tools=TOOLS) == [
        {
            "id": "chat-mock-1",
            "message": {
                "role": "assistant",
                "tool_plan": "I look.",
                "tool_calls": [make_call("call_1_1", rome), make_call("call_1_2", oslo)],
                "citations": [citation],
            },
            "finish_reason": "TOOL_CALL",
            "usage": USAGE_FIELD,
        }
    ]
    assert ask(True, documents=PENGUINS, tools=TOOLS) == [
        START,
        {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": "I look."}}},
        make_event("citation-start", 0, citations=citation),
        {"type": "citation-end", "index": 0},
        make_event("tool-call-start", 0, tool_calls=make_call("call_2_1", "")),
        make_event("tool-call-delta", 0, tool_calls={"function": {"arguments": rome}}),
        {"type": "tool-call-end", "index": 0},
        make_event("tool-call-start", 1, tool_calls=make_call("call_2_2", "")),
        make_event("tool-call-delta", 1, tool_calls={"function": {"arguments": oslo}}),
        {"type": "tool-call-end", "index": 1},
        make_end("TOOL_CALL"),
    ]


def test_a_citation_is_found_in_all_texts_of_a_message(mock_llm_responses: LLMMock) -> None:
    cited = Citation(document_index=0, text="Two.")
    parts = ["One. ", ToolCall("weather", {"city": "Rome"}), "Two."]
    mock_llm_responses.set(MODEL, Reply(parts=parts, citations=[cited]))
    [answer] = ask(False, documents=PENGUINS, tools=TOOLS)
    assert answer["message"]["tool_plan"] == "One. Two."
    [citation] = answer["message"]["citations"]
    assert (citation["start"], citation["end"], citation["type"]) == (5, 9, "PLAN")


def test_the_sdk_reads_citations_and_log_probabilities(mock_llm_responses: LLMMock) -> None:
    cited = Citation(document_index=0, text="penguins")
    tokens = [Logprob("Emperor", -0.25), Logprob(" penguins", -0.5)]
    mock_llm_responses.set(MODEL, Reply("Emperor penguins", citations=[cited], logprobs=tokens))
    client = cohere.ClientV2()
    fields: Any = {"model": MODEL, "messages": HELLO, "documents": PENGUINS, "logprobs": True}
    answer = client.chat(**fields)
    [citation] = answer.message.citations or ()
    assert (citation.start, citation.end, citation.text) == (8, 16, "penguins")
    assert [item.logprobs for item in answer.logprobs or ()] == [[-0.25], [-0.5]]
    events = [event for event in client.chat_stream(**fields) if event.type == "citation-start"]
    assert [event.delta.message.citations for event in events] == [citation]


@pytest.mark.parametrize(
    ("citation", "fields", "problem"),
    [
        (Citation("https://a/b"), {}, "with url, but Cohere supports only document_index."),
        (Citation(document_index=0), {}, "cites document 0, but the request has 0 documents;"),
        (
            Citation(document_index=3),
            {"documents": PENGUINS},
            "cites document 3, but the request has 3 documents; the first has index 0.",
        ),
        (
            Citation(document_index=2),
            {"documents": PENGUINS},
            "cites document 2, which is a string. llm_mock supports citations only of documents",
        ),
        (
            Citation(document_index=1, cited_text="tallest"),
            {"documents": PENGUINS},
            "cites 'tallest', which is not in document 1 of the request.",
        ),
        (
            Citation(document_index=0),
            {"documents": PENGUINS, "citation_options": {"mode": "OFF"}},
            'but the request turns citations off with "citation_options": {"mode": "OFF"}.',
        ),
        (
            Citation(document_index=0),
            {"documents": PENGUINS, "citation_options": {"mode": "DISABLED"}},
            'but the request turns citations off with "citation_options": {"mode": "DISABLED"}.',
        ),
    ],
)
def test_a_document_that_cannot_be_cited_is_an_error(
    citation: Citation, fields: Any, problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, Reply("Hi", citations=[citation]))
    response = httpx.post(URL, json={"model": MODEL, "messages": HELLO, **fields})
    assert response.status_code == 400
    assert problem in response.json()["message"]
    mock_llm_responses.problems.clear()


# Embeddings


def embed(**fields: Any) -> Any:
    body = {"model": "embed-v4.0", "input_type": "search_query", **fields}
    return cohere.ClientV2().embed(**body)


def test_vectors_have_the_length_that_cohere_documents(mock_llm_calls: LLMMock) -> None:
    answer = embed(texts=["a", "b"], embedding_types=["float"])
    assert [len(vector) for vector in answer.embeddings.float_] == [1536, 1536]
    assert answer.texts == ["a", "b"]
    assert answer.meta.billed_units.input_tokens == 2
    assert len(embed(texts=["a"], output_dimension=256).embeddings.float_[0]) == 256
    [first, _] = mock_llm_calls.get_embedding_model("embed-v4.0").call_history
    assert first["items"] == ["a", "b"]


def test_a_vector_in_each_type(mock_llm_responses: LLMMock) -> None:
    vector = [1.0, -1.0, 0.5, 0.0, 0.25, -0.5, 0.0, 0.125, 1.0]
    mock_llm_responses.set_embedding("embed-v4.0", "a", vector)
    kinds = ["float", "int8", "uint8", "binary", "ubinary", "base64"]
    found = embed(texts=["a"], embedding_types=kinds, output_dimension=9).embeddings
    assert found.float_ == [vector]
    assert found.int8 == [[127, -127, 64, 0, 32, -64, 0, 16, 127]]
    assert found.uint8 == [[255, 1, 192, 128, 160, 64, 128, 144, 255]]
    assert found.ubinary == [[0b10101001, 0b1]]
    assert found.binary == [[0b10101001 - 128, 1 - 128]]
    assert struct.unpack("<9f", base64.b64decode(found.base64[0])) == tuple(vector)


def test_numbers_beyond_a_byte_are_cut(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_embedding("embed-v4.0", "a", [9.0, -9.0])
    found = embed(texts=["a"], embedding_types=["int8", "uint8"], output_dimension=2).embeddings
    assert (found.int8, found.uint8) == ([[127, -128]], [[255, 0]])


def test_pictures_and_inputs_have_vectors(mock_llm_calls: LLMMock) -> None:
    picture = "data:image/png;base64,iVBORw0KGgo="
    assert embed(images=[picture]).texts == []
    parts: Any = [
        {"type": "text", "text": "a"},
        {"type": "image_url", "image_url": {"url": picture}},
    ]
    embed(inputs=[{"content": parts}])
    history = mock_llm_calls.get_embedding_model("embed-v4.0").call_history
    assert [each["items"] for each in history] == [[picture], [f"a\n{picture}"]]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"texts": ["a"] * 97}, "total number of texts must be at most 96 - received 97"),
        ({"texts": []}, "required 'texts' param is missing or empty"),
        ({"texts": ["a"], "embedding_types": ["float16"]}, "'float16' is not supported"),
    ],
)
def test_malformed_requests_for_embeddings_are_refused(fields: Any, message: str) -> None:
    body = {"model": "m", "input_type": "search_query", **fields}
    response = httpx.post("https://api.cohere.com/v2/embed", json=body)
    assert response.status_code == 400
    assert message in response.json()["message"]


def test_an_error_of_an_embedding_model_is_in_the_words_of_cohere(mock_llm_calls: LLMMock) -> None:
    from llm_mock import templates

    mock_llm_calls.get_embedding_model("embed-v4.0").set_error(templates.rate_limit())
    response = httpx.post(
        "https://api.cohere.com/v2/embed", json={"model": "embed-v4.0", "texts": ["a"]}
    )
    assert response.status_code == 429
    assert response.json()["message"].startswith("You are past the per minute request limit")


def test_embeddings_of_version_1_are_lists(mock_llm_calls: LLMMock) -> None:
    client = cohere.Client()
    plain: Any = client.embed(texts=["a"], model="embed-english-v3.0", input_type="search_query")
    assert (plain.response_type, len(plain.embeddings[0])) == ("embeddings_floats", 1024)
    typed: Any = client.embed(
        texts=["a"],
        model="embed-english-v3.0",
        input_type="search_query",
        embedding_types=["float"],
    )
    assert typed.embeddings.float_ == plain.embeddings
    assert plain.meta.api_version.version == "1"


# Ranking


DOCUMENTS = ["Boots for winter", "How to return an invoice", "An invoice"]


def test_documents_that_share_words_with_the_query_come_first(mock_llm_calls: LLMMock) -> None:
    client = cohere.ClientV2()
    found = client.rerank(model="rerank-v3.5", query="Where is my invoice?", documents=DOCUMENTS)
    assert [each.index for each in found.results] == [1, 2, 0]
    scores = [each.relevance_score for each in found.results]
    assert 1 >= scores[0] > scores[1] > scores[2] >= 0
    again = client.rerank(
        model="rerank-v3.5", query="Where is my invoice?", documents=DOCUMENTS, top_n=1
    )
    assert [each.relevance_score for each in again.results] == scores[:1]
    assert again.meta.billed_units.search_units == 1
    assert again.id != found.id


def test_vectors_of_the_test_decide_the_rank(mock_llm_responses: LLMMock) -> None:
    vectors = {"query": [1.0, 0.0], "near": [1.0, 0.1], "off": [0.0, 1.0], "away": [-1.0, 0.0]}
    for text, vector in vectors.items():
        mock_llm_responses.set_embedding("rerank-v3.5", text, vector)
    mock_llm_responses.set_embedding("rerank-v3.5", "nothing", [0.0, 0.0])
    documents = ["off", "away", "nothing", "near"]
    answer = cohere.ClientV2().rerank(model="rerank-v3.5", query="query", documents=documents)
    assert [(each.index, each.relevance_score) for each in answer.results] == [
        (3, 0.995037),
        (0, 0.0),
        (1, 0.0),
        (2, 0.0),
    ]


def test_a_configured_ranking_goes_first(mock_llm_responses: LLMMock) -> None:
    results = [{"index": 1, "relevance_score": 0.9}]
    mock_llm_responses.on("POST", "/v2/rerank", {"id": "1", "results": results})
    answer = cohere.ClientV2().rerank(model="rerank-v3.5", query="a", documents=["a", "b"])
    assert [each.index for each in answer.results] == [1]


def test_ranking_of_version_1_returns_documents(mock_llm_calls: LLMMock) -> None:
    documents: Any = ["A boot", {"text": "An invoice", "id": "7"}, {"title": "invoice"}]
    answer = cohere.Client().rerank(
        model="rerank-v3.5", query="invoice", documents=documents, return_documents=True
    )
    assert [each.index for each in answer.results] == [1, 2, 0]
    assert [each.document.dict() for each in answer.results] == [
        {"text": "An invoice", "id": "7"},
        {"title": "invoice"},
        {"text": "A boot"},
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"query": None}, "required 'query' param is missing or empty"),
        ({"documents": []}, "list of documents must not be empty"),
        ({"documents": None}, "required 'documents' param is missing or empty"),
    ],
)
def test_malformed_requests_for_a_ranking_are_refused(fields: Any, message: str) -> None:
    body = {"model": "m", "query": "a", "documents": ["a"], **fields}
    response = httpx.post("https://api.cohere.com/v2/rerank", json=body)
    assert response.status_code == 400
    assert message in response.json()["message"]


# The server, and the mode that refuses


def test_the_server_answers_by_the_documented_variable(
    llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    url = llm_mock_server.environment()["CO_API_URL"]
    client = cohere.ClientV2("any", base_url=url)
    assert client.chat(model=MODEL, messages=HELLO).message.content[0].text == "Hi!"
    assert read_text(client.chat_stream(model=MODEL, messages=HELLO)) == "Hi!"
    found = client.rerank(model="rerank-v3.5", query="a", documents=["b", "a"])
    assert [each.index for each in found.results] == [1, 0]
    assert [model.name for model in client.models.list().models] == [MODEL]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v2/chat", {"model": "m", "messages": HELLO}),
        ("/v2/embed", {"model": "m", "texts": ["a"]}),
        ("/v2/rerank", {"model": "m", "query": "a", "documents": ["a"]}),
    ],
)
def test_a_project_that_forbids_calls_forbids_each_of_them(
    path: str, body: Any, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    from llm_mock.boundaries.http.settings import http_settings

    monkeypatch.setattr(http_settings, "mode", "error")
    response = httpx.post(f"https://api.cohere.com{path}", json=body)
    assert response.status_code == 400
    assert "A call to the model 'm'" in response.json()["message"]
    mock_llm_calls.problems.clear()
