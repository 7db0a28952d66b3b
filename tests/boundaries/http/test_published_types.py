"""Answers fit what the providers publish: the types of their SDKs, and their OpenAPI documents.

Nothing may be missing, unknown, of another type or none of the named values. What answers of the
providers have in spite of that stands in `sdk_types.DIFFERENCES` and in `PUBLISHERS`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import httpx
import pytest

from llm_mock import LLMMock
from tests.boundaries.http import sdk_types
from tests.boundaries.http.exchanges import (
    EXCHANGES,
    JSON_LINES,
    Ask,
    Exchange,
    is_error,
    read_events,
)
from tests.boundaries.http.openapi_documents import (
    PUBLISHERS,
    Document,
    Publisher,
    load_document,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
EVENTS = "text/event-stream"
UNDOCUMENTED = {
    "DELETE /v1/responses/[^/]+": "the document says nothing of the body",
    "GET /v1/chat/completions/[^/]+/messages": (
        "the schema has the role of answers alone, the example beside it that of a user"
    ),
}
"""Endpoints whose answers are not compared with a document, with the reason."""


def split_request(response: httpx.Response) -> tuple[str, str, str]:
    """Return method, host and path of the request for a response."""
    request = response.request
    return request.method, request.url.host, request.url.path


def get_media_type(response: httpx.Response) -> str:
    """Return the media type of a response, without parameters."""
    return response.headers["content-type"].partition(";")[0]


def check_by_types(response: httpx.Response) -> Iterator[str]:
    """Yield what the types of the SDK find wrong in a response."""
    endpoint = split_request(response)
    media_type = get_media_type(response)
    if response.status_code >= 400:
        yield from sdk_types.find_error_problems(endpoint[1], response.json())
    elif media_type in (EVENTS, JSON_LINES):
        for event in read_events(response):
            yield from sdk_types.find_event_problems(*endpoint, event.data)
    elif media_type == "application/json":
        yield from sdk_types.find_problems(*endpoint, response.json())


def check_by_document(document: Document, response: httpx.Response) -> Iterator[str]:
    """Yield what a document finds wrong in a response."""
    method, host, path = split_request(response)
    media_type = get_media_type(response)
    status = response.status_code
    if any(re.fullmatch(each, f"{method} {path}") for each in UNDOCUMENTED) and status < 400:
        return
    schema = document.find_schema(method, path, status, media_type)
    if schema is None:
        # Mistral's document has no schema for its errors.
        if status < 400 and media_type in ("application/json", EVENTS):
            yield f"no schema for {media_type}"
    elif media_type != EVENTS:
        yield from document.find_problems(response.json(), schema)
    else:
        for event in read_events(response):
            value = event.as_object() if PUBLISHERS[host].has_event_names else event.data
            if not is_error(event.data):
                yield from document.find_problems(value, schema)


def send(
    exchange: Exchange, mock: LLMMock, check: Callable[[httpx.Response], Iterable[str]]
) -> str:
    """Make the requests of an exchange, and return what a check finds wrong in the answers."""
    problems: list[str] = []
    answered = []

    def collect(response: httpx.Response) -> None:
        method, host, path = split_request(response)
        answered.append(host)
        assert get_media_type(response) not in (EVENTS, JSON_LINES) or any(read_events(response))
        for problem in check(response):
            problems.append(f"{method} {path} {response.status_code}: {problem}")

    exchange.send(Ask(collect), mock)
    assert exchange.host in answered
    # Some requests are refused on purpose, and some replies do not fit.
    mock.refusals.clear()
    mock.problems.clear()
    return "\n".join(problems)


def list_documented() -> list[object]:
    """Return the exchanges with providers whose documents are there."""
    parameters: list[object] = []
    for host, publisher in PUBLISHERS.items():
        if load_document(host) is None:
            reason = f"set {publisher.variable} to the path of {publisher.source}"
            parameters.append(pytest.param(host, None, marks=pytest.mark.skip(reason), id=host))
            continue
        for exchange in EXCHANGES:
            if host == exchange.host:
                parameters.append(pytest.param(host, exchange, id=exchange.name))
    return parameters


@pytest.mark.parametrize("exchange", EXCHANGES, ids=lambda each: each.name)
def test_answers_fit_the_types_of_the_sdk(exchange: Exchange, mock_llm_calls: LLMMock) -> None:
    assert send(exchange, mock_llm_calls, check_by_types) == ""


@pytest.mark.parametrize(("host", "exchange"), list_documented())
def test_answers_fit_the_published_document(
    host: str, exchange: Exchange, mock_llm_calls: LLMMock
) -> None:
    document = load_document(host)
    assert document is not None
    assert send(exchange, mock_llm_calls, partial(check_by_document, document)) == ""


CALL = {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
MESSAGE = {"role": "assistant", "content": None, "refusal": None, "tool_calls": [CALL]}
CHOICE = {"index": 0, "message": MESSAGE, "logprobs": None, "finish_reason": "tool_calls"}
COMPLETION = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [CHOICE],
}
ANSWER = {"$ref": "#/components/schemas/Answer"}
DOCUMENT = {
    "paths": {
        "/v1/answers": {
            "post": {
                "responses": {
                    "200": {
                        "content": {
                            "application/json": {"schema": ANSWER},
                            "text/event-stream": {"schema": {"type": "object"}},
                        }
                    }
                }
            }
        },
        "/v1/answers/{answer_id}": {
            "get": {"responses": {"200": {"content": {"application/json": {"schema": ANSWER}}}}}
        },
    },
    "components": {
        "schemas": {
            "Answer": {
                "allOf": [
                    {"$ref": "#/components/schemas/Base"},
                    {
                        "type": "object",
                        "required": ["items", "unsent"],
                        "properties": {
                            "items": {
                                "type": "array",
                                "items": {
                                    "oneOf": [
                                        {"$ref": "#/components/schemas/Text"},
                                        {"$ref": "#/components/schemas/Call"},
                                    ]
                                },
                            },
                            "count": {"type": "integer", "nullable": True},
                            "kind": {"enum": ["a", "b"]},
                        },
                    },
                ]
            },
            "Base": {
                "type": "object",
                "required": ["id"],
                "properties": {
                    "id": {"type": "string"},
                    "metadata": {"type": "object"},
                    "note": {"type": "string"},
                    "list": {"type": "array", "items": {"properties": {"a": {"const": 1}}}},
                    "error": {"anyOf": [ANSWER, {"type": "null"}]},
                },
            },
            "Text": {
                "type": "object",
                "required": ["type", "text"],
                "properties": {"type": {"const": "text"}, "text": {"type": "string"}},
            },
            "Call": {
                "type": "object",
                "required": ["type", "name"],
                "properties": {"type": {"enum": ["call"]}, "name": {"type": "string"}},
            },
            "Problem": {"type": "object", "properties": {"message": {"type": "string"}}},
        }
    },
}
"""A document with all that those of providers use."""
PUBLISHER = Publisher(
    "UNUSED",
    "nowhere",
    prefix="/prefix",
    error="Problem",
    nullable={"Base.note": "it is", "Missing.note": "of a later document"},
    unknown={"Answer.extra": "it is sent", "Base.list[].more": "it is sent"},
    optional={"Answer.1.unsent": "it is not sent"},
)
TEXT = {"type": "text", "text": "Hello"}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, ""),
        ({"x": 1}, "$.x is unknown to ChatCompletion"),
        ({"object": "answer"}, "$.object: 'answer' is none of ('chat.completion',)"),
        ({"created": "1"}, "$.created: '1': Input should be a valid integer"),
        ({"model": None}, "$.model: None: Input should be a valid string"),
        ({"usage": {}}, "$.usage.completion_tokens of CompletionUsage is missing"),
        ({"choices": [{**CHOICE, "x": 1}]}, "$.choices[0].x is unknown to Choice"),
        (
            {"choices": [{**CHOICE, "message": {**MESSAGE, "tool_calls": [{**CALL, "x": 1}]}}]},
            "$.choices[0].message.tool_calls[0].x is unknown to "
            "ChatCompletionMessageFunctionToolCall",
        ),
        ({"choices": [{**CHOICE, "message": "Hello"}]}, "'Hello' is no ChatCompletionMessage"),
    ],
)
def test_the_types_notice_each_kind_of_fault(change: dict[str, object], problem: str) -> None:
    url = ("POST", "api.openai.com", "/v1/chat/completions")
    found = "\n".join(sdk_types.find_problems(*url, {**COMPLETION, **change}))
    assert problem in found
    assert bool(found) == bool(problem)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"metadata": {"any": 1}, "extra": {"any": 1}, "note": None, "count": None}, None),
        ({"items": [TEXT, {"type": "call", "name": "f"}], "kind": "b", "error": None}, None),
        ({"error": {"id": "b", "items": []}, "list": [{"a": 1, "more": 2}]}, None),
        ({"list": [{"a": 2}]}, "$.list[0].a: 1 was expected"),
        ({"id": None}, "$.id: None is not of type 'string'"),
        ({"x": 1}, "$: Unevaluated properties are not allowed ('x' was unexpected)"),
        ({"count": "1"}, "$.count: '1' is not of type 'integer'"),
        ({"kind": "c"}, "$.kind: 'c' is not one of ['a', 'b']"),
        ({"items": [TEXT, {"type": "text"}]}, "$.items[1]: 'text' is a required property"),
        ({"items": [{"type": "call", "name": 1}]}, "$.items[0].name: 1 is not of type 'string'"),
        (
            {"items": [{**TEXT, "x": 1}]},
            "$.items[0]: Unevaluated properties are not allowed ('x' was unexpected)",
        ),
        ({"error": {"id": "b"}}, "$.error: 'items' is a required property"),
        (
            {"error": {"id": "b", "items": [], "x": 1}},
            "$.error: Unevaluated properties are not allowed ('x' was unexpected)",
        ),
    ],
)
def test_a_document_notices_each_kind_of_fault(
    change: dict[str, object], problem: str | None
) -> None:
    document = Document(copy.deepcopy(DOCUMENT), PUBLISHER)
    answer = {"id": "a", "items": [], **change}
    assert document.find_problems(answer, ANSWER) == ([] if problem is None else [problem])


def test_a_document_has_the_schema_of_each_answer() -> None:
    document = Document(copy.deepcopy(DOCUMENT), PUBLISHER)
    find = document.find_schema
    assert find("POST", "/prefix/v1/answers", 200, "application/json") == ANSWER
    assert find("GET", "/prefix/v1/answers/a-1", 200, "application/json") == ANSWER
    assert find("POST", "/prefix/v1/answers", 200, EVENTS) == {"type": "object"}
    error = {"$ref": "#/components/schemas/Problem"}
    assert find("POST", "/prefix/v1/answers", 404, "application/json") == error
    for method, path in (("GET", "answers"), ("POST", "answers/a"), ("GET", "answers/a/b")):
        assert find(method, f"/prefix/v1/{path}", 200, "application/json") is None
