"""Details of a reply reach the SDKs whose API can say them, and are refused by the others."""

from __future__ import annotations

import importlib
import pickle
import pkgutil
import re
import sys
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import llm
import openai
import pytest
from cerebras.cloud.sdk import Cerebras

from llm_mock import (
    Audio,
    Citation,
    CodeInterpreter,
    FileSearch,
    ImageGeneration,
    InvalidReply,
    Latency,
    LLMMock,
    Logprob,
    McpCall,
    Reply,
    ToolCall,
    WebSearch,
)
from llm_mock.boundaries.http import protocols
from llm_mock.boundaries.http.details.response import find_detailed_protocol
from llm_mock.boundaries.serialization import serialize
from llm_mock.core.reply_items import ReplyItem
from tests.boundaries.http.request_senders import (
    make_anthropic,
    make_gemini,
    make_openai,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
GEMINI = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent"
GEMINI_STREAM = GEMINI.replace(":generate", ":streamGenerate")
VERTEX = (
    "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1"
    "/publishers/google/models/gemini-3:generateContent"
)
CONTENTS = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
CHAT = {"model": "gpt-5", "messages": HELLO}
RESPONSES = {"model": "gpt-5", "input": "Hello"}
MESSAGES = {"model": "claude-opus-4-9", "max_tokens": 100, "messages": HELLO}
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "Chat Completions": ("https://api.openai.com/v1/chat/completions", CHAT),
    "Responses": ("https://api.openai.com/v1/responses", RESPONSES),
    "Anthropic": ("https://api.anthropic.com/v1/messages", MESSAGES),
    "Gemini": (GEMINI, CONTENTS),
    "Vertex AI": (VERTEX, CONTENTS),
    "Mistral": ("https://api.mistral.ai/v1/chat/completions", CHAT),
    "Bedrock": (
        "https://bedrock-runtime.us-east-1.amazonaws.com/model/amazon.nova-lite/converse",
        {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
    ),
    "Groq": ("https://api.groq.com/openai/v1/chat/completions", CHAT),
    "Interactions": (
        "https://generativelanguage.googleapis.com/v1beta/interactions",
        {"model": "gemini-3", "input": "Hello"},
    ),
}
"""The URL and the body of a request, by the name of its API."""


def read_problem(mock: LLMMock) -> str:
    """Return the only problem of a test, which is expected."""
    [problem] = mock.problems
    mock.problems.clear()
    return problem


TIERS = {
    "Chat Completions": ("auto", "default", "flex", "scale", "priority"),
    "Responses": ("auto", "default", "flex", "scale", "priority", "ultrafast"),
    "Anthropic": ("standard", "priority", "batch"),
    "Gemini": ("standard", "flex", "priority"),
    "Vertex AI": (),
    "Mistral": ("standard", "priority"),
    "Groq": ("default", "on_demand", "performance"),
}


@pytest.mark.parametrize(
    ("name", "tier"), [(name, tier) for name, tiers in TIERS.items() for tier in tiers]
)
def test_a_service_tier_of_the_provider_is_answered(
    name: str, tier: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier=tier))
    url, body = REQUESTS[name]
    response = httpx.post(url, json=body)
    assert response.status_code == 200
    assert tier in response.text or response.headers["x-gemini-service-tier"] == tier


@pytest.mark.parametrize(
    ("name", "tier", "known"),
    [
        ("Chat Completions", "fast", "'auto' or 'default' or 'flex' or 'scale' or 'priority'"),
        ("Responses", "standard", "'priority' or 'ultrafast'"),
        ("Anthropic", "flex", "'standard' or 'priority' or 'batch'"),
        ("Gemini", "default", "'standard' or 'flex' or 'priority'"),
        ("Vertex AI", "standard", "no service tiers"),
        ("Mistral", "flex", "'standard' or 'priority'"),
        ("Bedrock", "flex", "no service tiers"),
        ("Interactions", "flex", "no service tiers"),
    ],
)
def test_a_service_tier_of_another_provider_is_an_error(
    name: str, tier: str, known: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier=tier))
    url, body = REQUESTS[name]
    assert httpx.post(url, json=body).status_code == 400
    problem = read_problem(mock_llm_responses)
    assert problem.startswith("The reply (tests/boundaries/http/test_reply_details.py:")
    assert f"has service_tier={tier!r}, but {name} " in problem
    assert problem.endswith(f"{known}.")


def test_a_service_tier_is_checked_in_candidates_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=["a", "b"], service_tier="batch"))
    url, body = REQUESTS["Chat Completions"]
    assert httpx.post(url, json={**body, "n": 2}).status_code == 400
    assert "has service_tier='batch'" in read_problem(mock_llm_responses)


def read_openai_headers(server_url: str | None) -> Any:
    client = make_openai(server_url)
    return client.chat.completions.with_raw_response.create(model="gpt-5", messages=HELLO).headers


def read_openai_stream_headers(server_url: str | None) -> Any:
    client = make_openai(server_url)
    with client.responses.with_streaming_response.create(
        model="gpt-5", input="Hello", stream=True
    ) as response:
        return response.headers


def read_anthropic_headers(server_url: str | None) -> Any:
    client = make_anthropic(server_url)
    return client.messages.with_raw_response.create(
        model="claude-opus-4-9", max_tokens=100, messages=HELLO
    ).headers


def read_gemini_headers(server_url: str | None) -> Any:
    client = make_gemini(server_url)
    answer = client.models.generate_content(model="gemini-3", contents="Hi")
    return answer.sdk_http_response.headers


@pytest.mark.parametrize(
    "read_headers",
    [
        read_openai_headers,
        read_openai_stream_headers,
        read_anthropic_headers,
        read_gemini_headers,
    ],
)
def test_headers_reach_the_sdk(
    read_headers: Callable[[str | None], Any], server_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", headers={"Deprecation": "true", "x-left": 0}))
    headers = read_headers(server_url)
    assert (headers["deprecation"], headers["x-left"]) == ("true", "0")


@pytest.mark.parametrize("stream", [False, True])
def test_headers_belong_to_own_json_too(stream: bool, mock_llm_responses: LLMMock) -> None:
    reply = Reply(body={"id": "mine"}, events=[{"id": "mine"}], headers={"x-left": "1"})
    mock_llm_responses.set("*", reply)
    url, body = REQUESTS["Chat Completions"]
    response = httpx.post(url, json={**body, "stream": stream})
    assert "mine" in response.text
    assert response.headers["x-left"] == "1"


def test_headers_replace_those_of_the_mock(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("*", rpm=9)
    headers = {"X-Request-ID": "req_1", "x-ratelimit-remaining-requests": "3"}
    mock_llm_responses.set("*", Reply("Hi", headers=headers))
    url, body = REQUESTS["Chat Completions"]
    found = httpx.post(url, json=body).headers
    assert found.get_list("x-request-id") == ["req_1"]
    assert found.get_list("x-ratelimit-remaining-requests") == ["3"]
    assert found["x-ratelimit-limit-requests"] == "9"


def test_a_reply_with_details_takes_its_time(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier="flex", latency=9))
    with openai.OpenAI(api_key="none", timeout=2, max_retries=0) as client:
        for stream in (False, True):
            with pytest.raises(openai.APITimeoutError):
                client.chat.completions.create(model="m", messages=HELLO, stream=stream)  # type: ignore[call-overload]


def test_a_reply_with_details_may_break_off(mock_llm_responses: LLMMock) -> None:
    error = ConnectionError("cut")
    reply = Reply(chunks=["Hel", "lo"], error=error, error_after=1, headers={"x-left": "1"})
    mock_llm_responses.set("*", reply)
    with anthropic.Anthropic(api_key="none", max_retries=0) as client:
        events = client.messages.create(**MESSAGES, stream=True)
        assert events.response.headers["x-left"] == "1"
        with pytest.raises(Exception, match="cut"):
            list(events)


def test_llm_reads_the_text_alone(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", service_tier="flex", headers={"x-left": "1"}))
    assert llm.get_model("gpt-4o-mini").prompt("Hello").text() == "Hi"
    assert mock_llm_responses.last_call.response == "Hi"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"headers": 5}, "These are not headers: 5"),
        ({"headers": {"a": None}}, "This is not a header: 'a': None"),
        ({"headers": {5: "a"}}, "This is not a header: 5: 'a'"),
        ({"headers": {"a": "ü"}}, "This is not a header: 'a': 'ü'"),
        ({"headers": {"a": "b\nc"}}, "This is not a header: 'a'"),
        *(
            ({"headers": {name: "9"}}, f"The mock sets the header '{name}' itself")
            for name in ("Connection", "Content-Encoding", "Content-Length", "Transfer-Encoding")
        ),
        ({"headers": {"a": "b"}, "error": ValueError("c")}, "headers= is for answers"),
        ({"service_tier": 5}, "service_tier=5 must be a str"),
        ({"service_tier": ""}, "service_tier='' must be a str"),
        ({"service_tier": "flex", "body": {}}, "service_tier= cannot be combined"),
    ],
)
def test_details_are_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Reply(**arguments)
    assert str(caught.value).startswith(problem)


@pytest.mark.parametrize("details", [{"service_tier": "flex"}, {"headers": {"a": "b"}}])
def test_a_candidate_has_no_details_of_the_response(details: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply, match="This is not a candidate"):
        Reply(candidates=["a", Reply("b", **details)])


def test_tool_calls_have_details_too(mock_llm_responses: LLMMock) -> None:
    reply = Reply(tool_calls=ToolCall("weather", {"city": "Rome"}), service_tier="flex")
    mock_llm_responses.set("*", reply)
    tools = [{"type": "function", "function": {"name": "weather"}}]
    url, body = REQUESTS["Chat Completions"]
    answer = httpx.post(url, json={**body, "tools": tools}).json()
    assert answer["choices"][0]["finish_reason"] == "tool_calls"
    assert answer["service_tier"] == "flex"


PAGE = Citation("https://a.example", "A")
FILE = Citation(file_id="file-1", filename="a.txt")
DOCUMENT = Citation(document_index=0, cited_text="It is hot.")


@pytest.mark.parametrize(
    ("name", "citation", "problem"),
    [
        ("Chat Completions", FILE, "has a citation with file_id, but Chat Completions supports "),
        ("Chat Completions", DOCUMENT, "with document_index, but Chat Completions supports only"),
        ("Responses", DOCUMENT, "Responses supports only url or file_id."),
        ("Anthropic", FILE, "Anthropic supports only url or document_index."),
        ("Gemini", DOCUMENT, "Gemini supports only url or file_id."),
        ("Vertex AI", DOCUMENT, "Vertex AI supports only url or file_id."),
        ("Mistral", PAGE, "has a citation with url, but Mistral has no citations."),
        ("Bedrock", PAGE, "has a citation with url, but Bedrock has no citations."),
        ("Interactions", PAGE, "has a citation with url, but Interactions has no citations."),
        ("Anthropic", DOCUMENT, "cites document 0, but the request has 0 documents;"),
    ],
)
def test_a_source_that_the_api_cannot_cite_is_an_error(
    name: str, citation: Citation, problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=[citation]))
    url, body = REQUESTS[name]
    assert httpx.post(url, json=body).status_code == 400
    assert problem in read_problem(mock_llm_responses)


SUN = {"type": "text", "media_type": "text/plain", "data": "The sun shines."}
PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}
ENABLED = {"enabled": True}


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"source": SUN}, "the request does not enable citations for it"),
        ({"source": SUN, "citations": {"enabled": False}}, "does not enable citations for it"),
        ({"source": PDF, "citations": ENABLED}, "document 0, which is not plain text"),
        ({"source": SUN, "citations": ENABLED}, "cites 'It is hot.', which is not in document 0"),
        ({"source": {"type": "text"}, "citations": ENABLED}, "which is not in document 0"),
    ],
)
def test_a_document_that_cannot_be_cited_so_is_an_error(
    document: dict[str, Any], problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=[DOCUMENT]))
    content = [{"type": "document", **document}, {"type": "text", "text": "Hi"}]
    messages = [{"role": "user", "content": content}]
    response = httpx.post(REQUESTS["Anthropic"][0], json={**MESSAGES, "messages": messages})
    assert response.status_code == 400
    assert problem in read_problem(mock_llm_responses)


def test_documents_of_tool_results_count_too(mock_llm_responses: LLMMock) -> None:
    hot = {"type": "text", "media_type": "text/plain", "data": "It is hot."}
    reply = Reply("Hi", citations=[Citation(document_index=1, cited_text="hot")])
    mock_llm_responses.set("*", reply)
    documents = [{"type": "document", "source": s, "citations": ENABLED} for s in (SUN, hot)]
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": [documents[1]]}
    messages = [
        {"role": "user", "content": [documents[0], {"type": "text", "text": "Hi"}]},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}}],
        },
        {"role": "user", "content": [result]},
    ]
    tools = [{"name": "look", "input_schema": {"type": "object"}}]
    body = {**MESSAGES, "messages": messages, "tools": tools}
    [block] = httpx.post(REQUESTS["Anthropic"][0], json=body).json()["content"]
    [citation] = block["citations"]
    assert (citation["document_index"], citation["start_char_index"]) == (1, 6)


def cite_by_chat(server_url: str | None) -> Any:
    client = make_openai(server_url)
    [choice] = client.chat.completions.create(model="gpt-5", messages=HELLO).choices
    assert choice.message.annotations is not None
    [annotation] = choice.message.annotations
    found = annotation.url_citation
    return found.url, found.title, (choice.message.content or "")[found.start_index :]


def cite_by_responses(server_url: str | None) -> Any:
    response = make_openai(server_url).responses.create(model="gpt-5", input="Hello")
    return read_response_citation(response)


def cite_by_responses_stream(server_url: str | None) -> Any:
    with make_openai(server_url).responses.stream(model="gpt-5", input="Hello") as stream:
        added = [event for event in stream if "annotation" in event.type]
        assert len(added) == 1
        return read_response_citation(stream.get_final_response())


def read_response_citation(response: Any) -> Any:
    [part] = response.output[0].content
    [annotation] = part.annotations
    return annotation.url, annotation.title, part.text[annotation.start_index :]


def cite_by_anthropic(server_url: str | None) -> Any:
    return read_block_citation(make_anthropic(server_url).messages.create(**MESSAGES))


def cite_by_anthropic_stream(server_url: str | None) -> Any:
    with make_anthropic(server_url).messages.stream(**MESSAGES) as stream:
        return read_block_citation(stream.get_final_message())


def read_block_citation(message: Any) -> Any:
    _, block = message.content
    [citation] = block.citations
    return citation.url, citation.title, block.text


def cite_by_gemini(server_url: str | None) -> Any:
    client = make_gemini(server_url)
    answer = client.models.generate_content(model="gemini-3", contents="Hi")
    return read_grounding(answer.candidates[0].grounding_metadata)


def cite_by_gemini_stream(server_url: str | None) -> Any:
    client = make_gemini(server_url)
    *_, last = client.models.generate_content_stream(model="gemini-3", contents="Hi")
    return read_grounding(last.candidates[0].grounding_metadata)


def read_grounding(metadata: Any) -> Any:
    [chunk] = metadata.grounding_chunks
    [support] = metadata.grounding_supports
    return chunk.web.uri, chunk.web.title, support.segment.text


@pytest.mark.parametrize(
    "read_citation",
    [
        cite_by_chat,
        cite_by_responses,
        cite_by_responses_stream,
        cite_by_anthropic,
        cite_by_anthropic_stream,
        cite_by_gemini,
        cite_by_gemini_stream,
    ],
)
def test_citations_reach_the_sdk(
    read_citation: Callable[[str | None], Any],
    server_url: str | None,
    mock_llm_responses: LLMMock,
) -> None:
    citation = Citation("https://a.example", "A", text="sunny.")
    mock_llm_responses.set("*", Reply(chunks=["It is s", "unny."], citations=[citation]))
    assert read_citation(server_url) == ("https://a.example", "A", "sunny.")


def test_gemini_cites_a_part_after_texts_that_are_joined(mock_llm_responses: LLMMock) -> None:
    citation = Citation("https://a.example", "A", text="Sun.")
    parts = ["I ", "run ", "it.", RUN, "Sun."]
    mock_llm_responses.set("*", Reply(parts=parts, citations=[citation]))
    [candidate] = httpx.post(GEMINI, json={**CONTENTS, **CODE_TOOL["Gemini"]}).json()["candidates"]
    [support] = candidate["groundingMetadata"]["groundingSupports"]
    index = support["segment"]["partIndex"]
    assert candidate["content"]["parts"][index]["text"] == "Sun."


@pytest.mark.parametrize("api", ["Chat Completions", "Responses"])
def test_a_stored_answer_has_its_citations(api: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=[PAGE]))
    url, body = REQUESTS[api]
    answer = httpx.post(url, json={**body, "store": True}).json()
    stored = httpx.get(f"{url}/{answer['id']}").json()
    name = "choices" if api == "Chat Completions" else "output"
    assert "a.example" in str(stored[name])
    assert stored[name] == answer[name]


def test_a_response_in_the_background_has_its_citations(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=[PAGE]))
    url, body = REQUESTS["Responses"]
    response = httpx.post(url, json={**body, "background": True}).json()
    assert response["status"] == "queued"
    while response["status"] != "completed":
        response = httpx.get(f"{url}/{response['id']}").json()
    assert "a.example" in str(response["output"])


def test_a_streamed_chat_without_its_citations_at_the_end_has_waits(
    mock_llm_responses: LLMMock,
) -> None:
    latency = Latency(1, chunks_per_second=1)
    mock_llm_responses.set("*", Reply("Hi there", citations=[PAGE], latency=latency))
    for name in ("Chat Completions", "Responses", "Anthropic"):
        url, body = REQUESTS[name]
        text = httpx.post(url, json={**body, "stream": True}).text
        assert "a.example" in text


@pytest.mark.parametrize("api", ["Responses", "Anthropic", "Chat Completions", "Gemini"])
def test_a_refusal_with_another_detail_stays_a_refusal(
    api: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(refusal="No.", headers={"x-left": "1"}))
    url, body = REQUESTS[api]
    stream_url, stream_body = url, {**body, "stream": True}
    if api == "Gemini":
        stream_url, stream_body = f"{GEMINI_STREAM}?alt=sse", CONTENTS
    for response in (httpx.post(url, json=body), httpx.post(stream_url, json=stream_body)):
        assert response.headers["x-left"] == "1"
        assert "No." in response.text
        assert '"text":"No."' not in response.text


def test_an_empty_answer_with_a_detail_has_an_empty_text(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("", headers={"x-left": "1"}))
    with make_anthropic(None).messages.stream(**MESSAGES) as stream:
        assert stream.get_final_message().content[0].text == ""
    [block] = httpx.post(REQUESTS["Anthropic"][0], json=MESSAGES).json()["content"]
    assert block == {"type": "text", "text": ""}


DEFAULTS: list[tuple[Any, dict[str, Any]]] = [
    (
        Citation(file_id="a"),
        {
            "url": None,
            "title": "",
            "text": None,
            "cited_text": "",
            "filename": "",
            "document_index": None,
        },
    ),
    (Citation("https://a.example"), {"file_id": None}),
    (Logprob("a", -1), {"top_logprobs": {}}),
    (WebSearch("a"), {"sources": ()}),
    (CodeInterpreter("1"), {"output": "", "error": None}),
    (McpCall("a", "b"), {"arguments": {}, "result": "", "error": None}),
    (FileSearch("a"), {"results": ()}),
    (ImageGeneration(b"a"), {"revised_prompt": "", "media_type": "image/png"}),
    (Audio(b"a"), {"transcript": "", "media_type": "audio/wav"}),
]


@pytest.mark.parametrize(("item", "defaults"), DEFAULTS)
def test_a_detail_that_is_left_out_has_its_documented_default(
    item: Any, defaults: dict[str, Any]
) -> None:
    assert {name: getattr(item, name) for name in defaults} == defaults


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "A Citation needs one source, but got none"),
        ({"url": "a", "file_id": "b"}, "one source, but got url and file_id"),
        ({"url": 5}, "url=5 of a Citation must be a str"),
        ({"file_id": 5}, "file_id=5 of a Citation must be a str"),
        ({"url": "a", "title": None}, "title=None of a Citation must be a str"),
        ({"url": "a", "text": 5}, "text=5 of a Citation must be a str"),
        ({"url": "a", "cited_text": 5}, "cited_text=5 of a Citation must be a str"),
        ({"url": "a", "filename": 5}, "filename=5 of a Citation must be a str"),
        ({"document_index": -1}, "document_index=-1: pass a whole number"),
    ],
)
def test_a_citation_is_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Citation(**arguments)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"text": "a", "citations": 5}, "These are not citations: 5"),
        ({"text": "a", "citations": {"url": "b"}}, "These are not citations"),
        ({"text": "a", "citations": ["https://b"]}, "This is not a citation: 'https://b'"),
        (
            {"text": "a", "citations": [Citation("b", text="c")]},
            "text of a Citation, 'c', is not in",
        ),
        (
            {"parts": ["a", ToolCall("f"), "b"], "citations": [Citation("b", text="ab")]},
            "text of a Citation, 'ab', is not in the answer",
        ),
        (
            {"candidates": ["a", "b"]},
            "has several candidates: pass them to the Reply of each candidate",
        ),
        ({"body": {}}, "is the provider's own JSON"),
        ({"refusal": "a"}, "has no text"),
        ({"error": ValueError("a")}, "has no text"),
        ({"tool_calls": ToolCall("f")}, "has no text"),
    ],
)
def test_citations_belong_to_a_text(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Reply(**{"citations": [PAGE], **arguments})
    assert problem in str(caught.value)


CERTAIN = Reply("Hi", logprobs=[Logprob("H", -0.5), Logprob("i", -1.0)])
ASKED_LOGPROBS: dict[str, dict[str, Any]] = {
    "Chat Completions": {"model": "gpt-4o", "logprobs": True},
    "Responses": {"model": "gpt-4o", "include": ["message.output_text.logprobs"]},
    "Gemini": {"generationConfig": {"responseLogprobs": True}},
    "Vertex AI": {"generationConfig": {"responseLogprobs": True}},
    "Mistral": {"logprobs": True},
}


@pytest.mark.parametrize(
    ("name", "fields"),
    [*ASKED_LOGPROBS.items(), ("Responses", {"model": "gpt-4o", "top_logprobs": 0})],
)
def test_log_probabilities_that_are_asked_for_are_answered(
    name: str, fields: dict[str, Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", CERTAIN)
    url, body = REQUESTS[name]
    response = httpx.post(url, json={**body, **fields})
    assert response.status_code == 200
    assert "-0.5" in response.text


@pytest.mark.parametrize(
    ("name", "fields", "problem"),
    [
        (
            "Chat Completions",
            {"logprobs": False},
            "does not ask for them. Set logprobs=True in the request.",
        ),
        ("Chat Completions", {}, "the request to Chat Completions does not ask for them."),
        (
            "Responses",
            {},
            'include=["message.output_text.logprobs"] or top_logprobs in the request.',
        ),
        ("Gemini", {}, "does not ask for them. Set responseLogprobs in the request."),
        ("Vertex AI", {}, "does not ask for them. Set responseLogprobs in the request."),
        ("Mistral", {}, "does not ask for them. Set logprobs=True in the request."),
        ("Anthropic", {}, "has logprobs, but Anthropic does not send any."),
        ("Bedrock", {}, "has logprobs, but Bedrock does not send any."),
    ],
)
def test_log_probabilities_that_are_not_asked_for_are_an_error(
    name: str, fields: dict[str, Any], problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", CERTAIN)
    url, body = REQUESTS[name]
    assert httpx.post(url, json={**body, "model": "gpt-4o", **fields}).status_code == 400
    assert problem in read_problem(mock_llm_responses)


def test_details_of_data_that_become_arguments_are_an_error(mock_llm_responses: LLMMock) -> None:
    schema = {"type": "object", "properties": {"a": {}}}
    tools = [{"type": "function", "function": {"name": "look", "parameters": schema}}]
    mock_llm_responses.set("*", Reply(data={"a": 1}, citations=[PAGE]))
    url, body = REQUESTS["Chat Completions"]
    assert httpx.post(url, json={**body, "tools": tools}).status_code == 400
    assert "its data are the arguments of the tool 'look'" in read_problem(mock_llm_responses)


def test_data_has_log_probabilities(mock_llm_responses: LLMMock) -> None:
    tokens = [Logprob("{", -1), Logprob("}", -2)]
    mock_llm_responses.set("*", Reply(data={}, logprobs=tokens))
    client = make_openai(None)
    asked: dict[str, Any] = {"model": "gpt-4o", "messages": HELLO, "logprobs": True}
    [choice] = client.chat.completions.create(**asked).choices
    assert choice.logprobs is not None
    assert choice.logprobs.content is not None
    assert [token.logprob for token in choice.logprobs.content] == [-1, -2]
    with client.chat.completions.stream(**asked) as stream:
        tokens_seen = [event.content for event in stream if event.type == "logprobs.content.delta"]
        final = stream.get_final_completion().choices[0]
    assert [[token.token for token in tokens] for tokens in tokens_seen] == [["{"], ["}"]]
    assert final.logprobs is not None
    assert final.logprobs.content is not None
    assert [token.token for token in final.logprobs.content] == ["{", "}"]


def test_chunks_have_the_log_probabilities_of_their_tokens(mock_llm_responses: LLMMock) -> None:
    tokens = [Logprob(token, -1) for token in ("a", "b", "c")]
    mock_llm_responses.set("*", Reply(chunks=["ab", "c"], logprobs=tokens))
    asked: dict[str, Any] = {"model": "gpt-4o", "input": "Hi", "top_logprobs": 0}
    with make_openai(None).responses.stream(**asked) as stream:
        deltas = [event for event in stream if event.type == "response.output_text.delta"]
    found = [[token.token for token in delta.logprobs] for delta in deltas]
    assert found == [["a", "b"], ["c"]]


LOGPROB_STREAMS: dict[str, tuple[str, dict[str, Any]]] = {
    "Cohere": (
        "https://api.cohere.com/v2/chat",
        {"model": "command-a", "messages": HELLO, "stream": True, "logprobs": True},
    ),
    "Gemini": (f"{GEMINI_STREAM}?alt=sse", {**CONTENTS, **ASKED_LOGPROBS["Gemini"]}),
    "Mistral": (REQUESTS["Mistral"][0], {**CHAT, "stream": True, "logprobs": True}),
}


@pytest.mark.parametrize("name", LOGPROB_STREAMS)
def test_chunks_with_log_probabilities_take_their_time(
    name: str, mock_llm_responses: LLMMock
) -> None:
    latency = Latency(1, chunks_per_second=0.5)
    tokens = [Logprob("so ", -0.5), Logprob("far", -0.25)]
    reply = Reply(chunks=["so ", "far"], logprobs=tokens, latency=latency)
    mock_llm_responses.set("*", reply)
    url, body = LOGPROB_STREAMS[name]
    text = httpx.post(url, json=body, timeout=3).text
    assert (text.count("-0.5"), text.count("-0.25")) == (1, 1)
    # The second chunk comes 2 s after the first one.
    with pytest.raises(httpx.ReadTimeout):
        httpx.post(url, json=body, timeout=1.5)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"token": 5, "logprob": -1}, "token=5 of a Logprob must be a str"),
        ({"token": "a", "logprob": 0.1}, "The log probability of 'a' is 0.1"),
        ({"token": "a", "logprob": "b"}, "The log probability of 'a' is 'b'"),
        ({"token": "a", "logprob": float("nan")}, "The log probability of 'a' is nan"),
        ({"token": "a", "logprob": -1, "top_logprobs": ["b"]}, "must be a dict"),
        ({"token": "a", "logprob": -1, "top_logprobs": {"b": 1}}, "probability of 'b' is 1"),
        ({"token": "a", "logprob": -1, "top_logprobs": {5: -1}}, "probability of 5 is -1"),
    ],
)
def test_a_log_probability_is_checked(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Logprob(**arguments)
    assert problem in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"logprobs": 5}, "These are not log probabilities: 5"),
        ({"logprobs": [-1]}, "logprobs[0] is -1: pass a Logprob, such as Log"),
        ({"text": "Ho"}, "The tokens of logprobs join to 'Hi', but the text is 'Ho'"),
        ({"text": None, "chunks": ["Hi"], "logprobs": [Logprob("Hi", -1)]}, ""),
        ({"text": None, "chunks": ["H", "i"], "logprobs": [Logprob("Hi", -1)]}, "within a token"),
        ({"text": None, "parts": ["Hi"]}, "this Reply has parts"),
        ({"text": None, "refusal": "Hi"}, "has no text"),
    ],
)
def test_log_probabilities_belong_to_a_text(arguments: dict[str, Any], problem: str) -> None:
    given = {"text": "Hi", "logprobs": CERTAIN.logprobs, **arguments}
    if not problem:
        assert Reply(**given).content == "Hi"
        return
    with pytest.raises(InvalidReply) as caught:
        Reply(**given)
    assert problem in str(caught.value)


SEARCH = WebSearch("rome", ["https://a.example"])
RUN = CodeInterpreter("print(1)", "1")
ASK = McpCall("wiki", "ask", {"q": 1}, "42")
FIND = FileSearch("rome", [FILE])
IMAGE = ImageGeneration(b"png")
SPEECH = Audio(b"wav", "Hello!")
SEARCH_TOOL: dict[str, dict[str, Any]] = {
    "Responses": {"tools": [{"type": "web_search"}]},
    "Anthropic": {"tools": [{"type": "web_search_20250305", "name": "web_search"}]},
    "Gemini": {"tools": [{"google_search": {}}]},
    "Vertex AI": {"tools": {"googleSearch": {}}},
}
CODE_TOOL: dict[str, dict[str, Any]] = {
    "Responses": {"tools": [{"type": "code_interpreter", "container": {"type": "auto"}}]},
    "Anthropic": {"tools": [{"type": "code_execution_20250825", "name": "code_execution"}]},
    "Gemini": {"tools": [{"codeExecution": {}}]},
    "Vertex AI": {"tools": [{"codeExecution": {}}]},
}
MCP_TOOL: dict[str, dict[str, Any]] = {
    "Responses": {
        "tools": [{"type": "mcp", "server_label": "wiki", "server_url": "https://w.example"}]
    },
    "Anthropic": {"mcp_servers": [{"type": "url", "url": "https://w.example", "name": "wiki"}]},
}
FILE_TOOL: dict[str, dict[str, Any]] = {
    "Responses": {"tools": [{"type": "file_search", "vector_store_ids": ["vs_1"]}]},
    "Gemini": {"tools": [{"fileSearch": {"fileSearchStoreNames": ["fileSearchStores/a"]}}]},
}
IMAGE_TOOL: dict[str, dict[str, Any]] = {
    "Responses": {"tools": [{"type": "image_generation"}]},
    "Gemini": {},
    "Vertex AI": {},
}
AUDIO_OPTIONS: dict[str, dict[str, Any]] = {
    "Chat Completions": {
        "model": "gpt-4o-audio-preview",
        "modalities": ["text", "audio"],
        "audio": {"voice": "alloy", "format": "wav"},
    },
    "Gemini": {"generationConfig": {"responseModalities": ["AUDIO"]}},
    "Vertex AI": {"generationConfig": {"responseModalities": ["AUDIO"]}},
}
ITEMS: dict[str, tuple[ReplyItem, dict[str, dict[str, Any]]]] = {
    "WebSearch": (SEARCH, SEARCH_TOOL),
    "CodeInterpreter": (RUN, CODE_TOOL),
    "McpCall": (ASK, MCP_TOOL),
    "FileSearch": (FIND, FILE_TOOL),
    "ImageGeneration": (IMAGE, IMAGE_TOOL),
    "Audio": (SPEECH, AUDIO_OPTIONS),
}
"""Each item and the fields of the requests that can be answered with it, by API."""
APIS = [name for name in REQUESTS if name != "Groq"]


@pytest.mark.parametrize(
    ("item", "name"), [(item, name) for item, (_, fields) in ITEMS.items() for name in fields]
)
def test_an_item_that_the_request_allows_is_answered(
    item: str, name: str, mock_llm_responses: LLMMock
) -> None:
    part, fields = ITEMS[item]
    mock_llm_responses.set("*", Reply(parts=[part, "Sun."]))
    url, body = REQUESTS[name]
    response = httpx.post(url, json={**body, **fields[name]})
    assert response.status_code == 200
    if item != "Audio" or name != "Chat Completions":
        assert "Sun." in response.text
    assert mock_llm_responses.last_call.response == "Sun."


@pytest.mark.parametrize("name", APIS)
def test_attachments_are_an_error_over_http(name: str, mock_llm_responses: LLMMock) -> None:
    image = llm.Attachment(type="image/png", content=b"...")
    mock_llm_responses.set("*", Reply("Sun.", attachments=[image]))
    url, body = REQUESTS[name]
    assert httpx.post(url, json=body).status_code == 400
    assert read_problem(mock_llm_responses).endswith(
        " has attachments, which only a call through `llm` can return. Over HTTP, use "
        "Reply(parts=[ImageGeneration(data)]), Reply(parts=[Audio(data)]) or the provider's own "
        "JSON as body."
    )


def test_a_candidate_with_attachments_is_an_error_too(mock_llm_responses: LLMMock) -> None:
    image = llm.Attachment(type="image/png", content=b"...")
    candidates = ["Sun.", Reply("Rain.", attachments=[image])]
    mock_llm_responses.set("*", Reply(candidates=candidates))
    url, body = REQUESTS["Chat Completions"]
    assert httpx.post(url, json={**body, "n": 2}).status_code == 400
    assert " has attachments, which only " in read_problem(mock_llm_responses)


@pytest.mark.parametrize("stream", [True, False])
def test_attachments_are_returned_through_llm(stream: bool, mock_llm_responses: LLMMock) -> None:
    image = llm.Attachment(type="image/png", content=b"...")
    mock_llm_responses.set("*", Reply("Sun.", attachments=[image]))
    response = llm.get_model("gpt-4o-mini").prompt("Draw", stream=stream)
    assert response.text() == "Sun."
    assert response.attachments == [image]


@pytest.mark.parametrize(
    ("item", "name"),
    [(item, name) for item, (_, fields) in ITEMS.items() for name in APIS if name not in fields],
)
def test_an_item_that_the_api_cannot_say_is_an_error(
    item: str, name: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(parts=[ITEMS[item][0], "Sun."]))
    url, body = REQUESTS[name]
    assert httpx.post(url, json=body).status_code == 400
    problem = read_problem(mock_llm_responses)
    assert problem.startswith("The reply (tests/boundaries/http/test_reply_details.py:")
    assert problem.endswith(f"has a part {item}, which {name} does not support.")


@pytest.mark.parametrize(
    ("item", "name", "fields", "problem"),
    [
        ("WebSearch", "Responses", {}, "the request offers no tool web_search."),
        ("WebSearch", "Responses", CODE_TOOL["Responses"], "offers no tool web_search."),
        ("WebSearch", "Anthropic", {}, "the request offers no tool web_search."),
        ("WebSearch", "Gemini", {}, "the request offers no tool googleSearch."),
        ("WebSearch", "Vertex AI", {}, "the request offers no tool googleSearch."),
        ("CodeInterpreter", "Responses", {}, "the request offers no tool code_interpreter."),
        ("CodeInterpreter", "Anthropic", {}, "the request offers no tool code_execution."),
        ("CodeInterpreter", "Gemini", {}, "the request offers no tool codeExecution."),
        ("CodeInterpreter", "Vertex AI", {}, "the request offers no tool codeExecution."),
        ("McpCall", "Responses", {}, "the request has no MCP server 'wiki'."),
        ("McpCall", "Anthropic", {}, "the request has no MCP server 'wiki'."),
        (
            "McpCall",
            "Anthropic",
            {"mcp_servers": [{"type": "url", "url": "https://a", "name": "a"}]},
            "the request has no MCP server 'wiki'; it has a.",
        ),
        ("FileSearch", "Responses", {}, "the request offers no tool file_search."),
        ("FileSearch", "Gemini", {}, "the request offers no tool fileSearch."),
        ("ImageGeneration", "Responses", {}, "the request offers no tool image_generation."),
        ("Audio", "Chat Completions", {}, "does not list audio in its modalities."),
        ("Audio", "Gemini", {}, "does not list audio in its modalities."),
    ],
)
def test_an_item_that_the_request_does_not_allow_is_an_error(
    item: str, name: str, fields: dict[str, Any], problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(parts=[ITEMS[item][0], "Sun."]))
    url, body = REQUESTS[name]
    assert httpx.post(url, json={**body, **fields}).status_code == 400
    found = read_problem(mock_llm_responses)
    assert f"has a part {item}, but the request " in found
    assert found.endswith(problem)


def test_a_prompt_template_may_have_the_tools(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(parts=[SEARCH, "Sun."]))
    response = make_openai(None).responses.create(prompt={"id": "pmpt_1"})
    assert [item.type for item in response.output] == ["web_search_call", "message"]


TURN: dict[str, Any] = {
    "tools": [*SEARCH_TOOL["Responses"]["tools"], *CODE_TOOL["Responses"]["tools"]],
    "model": "gpt-5",
}
TURN["tools"] += MCP_TOOL["Responses"]["tools"]
PARTS = ["I look.", SEARCH, RUN, ASK, "Sun."]


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_with_items_is_sent_back_to_openai(
    streamed: bool, server_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", Reply(parts=PARTS, reasoning="Hm"))
    mock_llm_responses.add("*", "Done.")
    client = make_openai(server_url)
    asked = {**TURN, "include": ["reasoning.encrypted_content"]}
    if streamed:
        with client.responses.stream(input="Hi", **asked) as stream:
            first = list(stream.get_final_response().output)
    else:
        first = list(client.responses.create(input="Hi", **asked).output)
    kinds = ["reasoning", "message", "web_search_call", "code_interpreter_call", "mcp_call"]
    assert [item.type for item in first] == [*kinds, "message"]
    items = [item.model_dump(exclude_none=True, exclude={"parsed"}) for item in first]
    for item in items:
        for part in item.get("content", ()):
            part.pop("parsed", None)
    conversation: Any = [*HELLO, *items, {"role": "user", "content": "Go on"}]
    assert client.responses.create(input=conversation, **asked).output_text == "Done."
    history = str(mock_llm_responses.last_call.messages)
    for text in ("Hello", "Hm", "I look.", "Sun.", "Go on"):
        assert text in history


@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_with_items_is_sent_back_to_anthropic(
    streamed: bool, server_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", Reply(parts=PARTS))
    mock_llm_responses.add("*", "Done.")
    client = make_anthropic(server_url)
    tools = [*SEARCH_TOOL["Anthropic"]["tools"], *CODE_TOOL["Anthropic"]["tools"]]
    asked: dict[str, Any] = {**MESSAGES, **MCP_TOOL["Anthropic"], "tools": tools}
    if streamed:
        with client.beta.messages.stream(**asked) as stream:
            first = stream.get_final_message()
    else:
        first = client.beta.messages.create(**asked)
    assert [block.type for block in first.content] == [
        "text",
        "server_tool_use",
        "web_search_tool_result",
        "server_tool_use",
        "bash_code_execution_tool_result",
        "mcp_tool_use",
        "mcp_tool_result",
        "text",
    ]
    assert [block.input for block in first.content if "tool_use" in block.type] == [
        {"query": "rome"},
        {"command": "print(1)"},
        {"q": 1},
    ]
    assert first.usage.server_tool_use is not None
    assert first.usage.server_tool_use.web_search_requests == 1
    blocks = [block.model_dump(exclude_none=True) for block in first.content]
    asked["messages"] = [*HELLO, {"role": "assistant", "content": blocks}, *HELLO]
    [last] = client.beta.messages.create(**asked).content
    assert last.text == "Done."


def test_scripted_counts_of_searches_win(mock_llm_responses: LLMMock) -> None:
    count = {"web_search_requests": 7, "web_fetch_requests": 1}
    usage = {"input": 1, "output": 2, "details": {"server_tool_use": count}}
    mock_llm_responses.set("*", Reply(parts=[SEARCH], usage=usage))
    answer = httpx.post(REQUESTS["Anthropic"][0], json={**MESSAGES, **SEARCH_TOOL["Anthropic"]})
    assert answer.json()["usage"]["server_tool_use"] == count


CACHED, REASONED = {"cached_tokens": 5}, {"reasoning_tokens": 5}
USAGE_DETAILS: list[tuple[str, str, object]] = [
    ("Chat Completions", "prompt_tokens_details", CACHED),
    ("Chat Completions", "completion_tokens_details", REASONED),
    ("Responses", "input_tokens_details", CACHED),
    ("Responses", "output_tokens_details", REASONED),
    ("Anthropic", "cache_read_input_tokens", 5),
    ("Anthropic", "cache_creation_input_tokens", 5),
    ("Anthropic", "cache_creation", {"ephemeral_5m_input_tokens": 5}),
    ("Anthropic", "output_tokens_details", REASONED),
    ("Anthropic", "server_tool_use", {"web_search_requests": 5}),
    *((api, "cachedContentTokenCount", 5) for api in ("Gemini", "Vertex AI")),
    *((api, "thoughtsTokenCount", 5) for api in ("Gemini", "Vertex AI")),
    *((api, "toolUsePromptTokenCount", 5) for api in ("Gemini", "Vertex AI")),
    ("Bedrock", "cacheReadInputTokens", 5),
    ("Bedrock", "cacheWriteInputTokens", 5),
]


@pytest.mark.parametrize(("name", "known", "value"), USAGE_DETAILS)
def test_usage_details_have_the_names_of_the_api(
    name: str, known: str, value: object, mock_llm_responses: LLMMock
) -> None:
    url, body = REQUESTS[name]
    usage: dict[str, Any] = {"input": 9, "output": 9, "details": {"cached": 5}}
    mock_llm_responses.set("*", Reply("Hi", usage=usage))
    assert httpx.post(url, json=body).status_code == 400
    problem = read_problem(mock_llm_responses)
    _, listed = problem.split(": ")
    assert known in re.split(r", |\.", listed)
    # Beside a name of the API, those of others are allowed.
    usage["details"][known] = value
    mock_llm_responses.set("*", Reply("Hi", usage=usage))
    answer = httpx.post(url, json=body)
    assert answer.status_code == 200
    assert known in answer.text


@pytest.mark.parametrize(
    ("known", "sent"),
    [
        ("cache_read_input_tokens", "cacheReadInputTokens"),
        ("cache_creation_input_tokens", "cacheWriteInputTokens"),
    ],
)
def test_bedrock_takes_the_names_of_anthropic(
    known: str, sent: str, mock_llm_responses: LLMMock
) -> None:
    url, body = REQUESTS["Bedrock"]
    usage = {"input": 9, "output": 9, "details": {known: 5}}
    mock_llm_responses.set("*", Reply("Hi", usage=usage))
    assert httpx.post(url, json=body).json()["usage"][sent] == 5


def test_llm_and_some_apis_take_any_usage_details(mock_llm_responses: LLMMock) -> None:
    usage = {"input": 9, "output": 9, "details": {"cached": 5}}
    mock_llm_responses.set("*", Reply("Hi", usage=usage))
    url, body = REQUESTS["Interactions"]
    assert httpx.post(url, json=body).json()["usage"]["cached"] == 5
    response = llm.get_model("gpt-4o").prompt("Hello")
    assert response.text() == "Hi"
    assert response.usage().details == {"cached": 5}


def test_items_take_their_time(mock_llm_responses: LLMMock) -> None:
    latency = Latency(1, chunks_per_second=1)
    parts = ["abcdefgh", SEARCH, ToolCall("f"), "b"]
    mock_llm_responses.set("*", Reply(parts=parts, latency=latency))
    function = {"type": "function", "name": "f", "parameters": None, "strict": None}
    tools = [*SEARCH_TOOL["Responses"]["tools"], function]
    with openai.OpenAI(api_key="none", timeout=4.5, max_retries=0) as client:
        with pytest.raises(openai.APITimeoutError):
            client.responses.create(model="gpt-5", input="Hi", tools=tools)  # type: ignore[arg-type]
        patient = client.with_options(timeout=5.5)
        patient.responses.create(model="gpt-5", input="Hi", tools=tools)  # type: ignore[arg-type]


def test_llm_reads_texts_and_calls_alone(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(parts=[*PARTS, IMAGE, SPEECH, FIND]))
    response = llm.get_model("gpt-4o-mini").prompt("Hello")
    assert list(response) == ["I look.", "Sun."]
    assert mock_llm_responses.last_call.response == "I look.Sun."


def test_a_list_with_an_item_is_the_parts_of_a_reply(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", [SEARCH, "Sun."])
    response = make_openai(None).responses.create(
        model="gpt-5", input="Hi", tools=[{"type": "web_search"}]
    )
    assert response.output_text == "Sun."


def test_items_reach_other_processes(mock_llm_responses: LLMMock) -> None:
    reply = Reply(parts=PARTS, citations=[PAGE], service_tier="flex", headers={"x-left": "1"})
    copied = pickle.loads(serialize(reply))
    assert copied.parts == reply.parts
    assert copied.citations == reply.citations
    assert copied.headers == reply.headers


def test_candidates_have_items_of_their_own(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(candidates=[Reply(parts=[RUN, "a"]), "b"]))
    fields = {"generationConfig": {"candidateCount": 2}, **CODE_TOOL["Gemini"]}
    whole = httpx.post(GEMINI, json={**CONTENTS, **fields}).json()["candidates"]
    assert [len(candidate["content"]["parts"]) for candidate in whole] == [3, 1]
    text = httpx.post(f"{GEMINI_STREAM}?alt=sse", json={**CONTENTS, **fields}).text
    assert text.count("executableCode") == 1


def test_what_was_passed_may_change_afterwards() -> None:
    arguments: dict[str, Any] = {"q": [1]}
    pages = ["https://a.example"]
    call, search = McpCall("wiki", "ask", arguments), WebSearch("rome", pages)
    arguments["q"].append(2)
    pages.clear()
    assert call.arguments == {"q": [1]}
    assert [page.url for page in search.sources] == ["https://a.example"]


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: WebSearch(5), "query=5 of a WebSearch must be a str"),  # type: ignore[arg-type]
        (lambda: WebSearch("a", "b"), "sources='b' must be a list of addresses"),
        (lambda: WebSearch("a", 5), "sources=5 must be a list"),  # type: ignore[arg-type]
        (lambda: WebSearch("a", {"b": 1}), "must be a list of addresses"),  # type: ignore[arg-type]
        (lambda: WebSearch("a", [5]), "This is not a source of a web search: 5"),
        (lambda: WebSearch("a", [FILE]), "This is not a source of a web search"),
        (lambda: CodeInterpreter(None), "code=None of a CodeInterpreter"),  # type: ignore[arg-type]
        (lambda: CodeInterpreter("a", None), "output=None of a"),  # type: ignore[arg-type]
        (lambda: CodeInterpreter("a", error=5), "error=5 of a"),  # type: ignore[arg-type]
        (lambda: McpCall(5, "a"), "server=5 of a McpCall"),  # type: ignore[arg-type]
        (lambda: McpCall("a", 5), "tool=5 of a McpCall"),  # type: ignore[arg-type]
        (lambda: McpCall("a", "b", []), "arguments=[] must be a dict"),  # type: ignore[arg-type]
        (lambda: McpCall("a", "b", {"c": {1}}), "not a JSON value"),
        (lambda: McpCall("a", "b", result=5), "result=5 of a McpCall"),  # type: ignore[arg-type]
        (lambda: McpCall("a", "b", error=5), "error=5 of a McpCall"),  # type: ignore[arg-type]
        (lambda: FileSearch(5), "query=5 of a FileSearch"),  # type: ignore[arg-type]
        (lambda: FileSearch("a", 5), "results=5 must be a list"),  # type: ignore[arg-type]
        (lambda: FileSearch("a", [PAGE]), "This is not a result of a file search"),
        (lambda: FileSearch("a", ["b"]), "This is not a result"),  # type: ignore[list-item]
        (lambda: ImageGeneration("ü"), "data must be bytes or a base64 text"),
        (lambda: ImageGeneration(5), "data must be bytes or a base64 text"),  # type: ignore[arg-type]
        (lambda: ImageGeneration("", 5), "revised_prompt=5"),  # type: ignore[arg-type]
        (lambda: ImageGeneration("", "", 5), "media_type=5"),  # type: ignore[arg-type]
        (lambda: Audio("!"), "data must be bytes or a base64 text"),
        (lambda: Audio("", 5), "transcript=5 of a Audio"),  # type: ignore[arg-type]
        (lambda: Audio("", "", 5), "media_type=5"),  # type: ignore[arg-type]
    ],
)
def test_an_item_is_checked(make: Callable[[], Any], problem: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        make()
    assert problem in str(caught.value)


def test_items_of_a_module_that_was_imported_anew_are_accepted(
    monkeypatch: pytest.MonkeyPatch, mock_llm_responses: LLMMock
) -> None:
    # As `pytester` imports what a test in the same process imports.
    for name in list(sys.modules):
        if name.startswith(("llm_mock.core.reply_items", "llm_mock.boundaries.http.details")):
            monkeypatch.delitem(sys.modules, name)
    items = [WebSearch("rome", [PAGE]), RUN, IMAGE, FIND, "Sun."]
    mock_llm_responses.set("*", Reply(parts=items, citations=[PAGE]))
    tools = {"tools": [{"googleSearch": {}}, {"codeExecution": {}}, {"fileSearch": {}}]}
    [candidate] = httpx.post(GEMINI, json={**CONTENTS, **tools}).json()["candidates"]
    assert len(candidate["content"]["parts"]) == 4
    assert len(candidate["groundingMetadata"]["groundingChunks"]) == 2
    mock_llm_responses.set("*", Reply("Hi", logprobs=CERTAIN.logprobs))
    url, body = REQUESTS["Chat Completions"]
    asked = {**body, **ASKED_LOGPROBS["Chat Completions"]}
    assert httpx.post(url, json=asked).status_code == 200


def test_each_protocol_encodes_details_or_refuses_them() -> None:
    for module in pkgutil.iter_modules(protocols.__path__, f"{protocols.__name__}."):
        protocol = getattr(importlib.import_module(module.name), "PROTOCOL", None)
        if protocol is None or protocol.provider.name in ("bedrock", "ollama"):
            continue
        if module.name.endswith("interactions"):
            continue
        detailed = find_detailed_protocol(protocol)
        assert isinstance(detailed, type(protocol))
        assert type(detailed) is not type(protocol)


@pytest.mark.parametrize("method", ["converse", "converse-stream"])
def test_bedrock_sends_headers_too(method: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", headers={"x-left": "1"}))
    url, body = REQUESTS["Bedrock"]
    response = httpx.post(url.replace("converse", method), json=body)
    assert response.headers["x-left"] == "1"
    assert b"Hi" in response.content


def test_openrouter_has_citations(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=[PAGE]))
    url = "https://openrouter.ai/api/v1/chat/completions"
    answer = httpx.post(url, json=CHAT).json()
    assert answer["provider"] == "llm-mock"
    [annotation] = answer["choices"][0]["message"]["annotations"]
    assert annotation["url_citation"]["title"] == "A"


CITED = {
    "Chat Completions": [PAGE],
    "Responses": [PAGE, FILE],
    "Anthropic": [PAGE],
    "Gemini": [PAGE, FILE],
    "Vertex AI": [PAGE, FILE],
}


@pytest.mark.parametrize("name", CITED)
def test_a_source_that_the_api_can_cite_is_answered(name: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", citations=CITED[name]))
    url, body = REQUESTS[name]
    text = httpx.post(url, json=body).text
    assert "https://a.example" in text
    assert ("a.txt" in text) == (FILE in CITED[name])


@pytest.mark.parametrize(
    "details", [{}, {"logprobs": [Logprob("Hi", -0.1)]}], ids=["plain", "details"]
)
def test_cerebras_reads_a_stream(details: dict[str, Any], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply("Hi", **details))
    with Cerebras(warm_tcp_connection=False) as client:
        stream = client.chat.completions.create(
            model="gpt-oss-120b",
            messages=[{"role": "user", "content": "Hello"}],
            stream=True,
            logprobs=bool(details),
        )
        # A chunk without a fingerprint has dicts in place of objects.
        assert [chunk.choices[0].delta.content for chunk in stream if chunk.choices][1] == "Hi"
