"""Models of Anthropic and Mistral at Vertex AI, by their own clients, without credentials."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import anthropic
import httpx
import pytest

from llm_mock import Citation, LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.clients import choose_dialect, is_model_path
from llm_mock.boundaries.http.routing import find_protocol
from llm_mock.boundaries.http.server import MockServer
from llm_mock.core.provider_error import ProviderError

pytest.importorskip("google.auth")

MODEL = "claude-opus-4-9"
HELLO: Any = [{"role": "user", "content": "Hello"}]
TOOLS: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
HOST = "https://aiplatform.googleapis.com"
PLACE = "/v1/projects/p/locations/global/publishers/anthropic/models"
VERSION = {"anthropic_version": "vertex-2023-10-16"}
BODY = {**VERSION, "max_tokens": 9, "messages": HELLO}
ASKED: Any = {"model": MODEL, "max_tokens": 9, "messages": HELLO}


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Hide credentials of this machine."""
    monkeypatch.delenv("GOOGLE_APPLICATION_CREDENTIALS", raising=False)
    monkeypatch.setenv("CLOUDSDK_CONFIG", str(tmp_path))


def make_client() -> anthropic.AnthropicVertex:
    """Return a client without credentials."""
    return anthropic.AnthropicVertex(region="us-east5", project_id="p")


def post(body: Any, method: str = "rawPredict", model: str = MODEL) -> httpx.Response:
    """Send a body to a model."""
    return httpx.post(f"{HOST}{PLACE}/{model}:{method}", json=body)


REPLIES = {
    "text": Reply(chunks=["Hel", "lo"]),
    "call": Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]),
    "reasoning": Reply("Hello", reasoning="They greet."),
    "refusal": Reply(refusal="I can't."),
    "citation": Reply("Hello", citations=[Citation("https://a/b", "A")]),
    "length": Reply("Hello", finish_reason="length"),
}


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("name", REPLIES)
def test_an_answer_is_that_of_anthropic(
    name: str, stream: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, REPLIES[name])
    fields = {"max_tokens": 9, "messages": HELLO, "tools": TOOLS, "stream": stream}
    url = "https://api.anthropic.com/v1/messages"
    expected = httpx.post(url, json={**fields, "model": MODEL})
    given = post({**fields, **VERSION}, "streamRawPredict" if stream else "rawPredict")
    assert given.headers["content-type"] == expected.headers["content-type"]
    assert given.headers["request-id"]
    assert given.text.replace("_2", "_1") == expected.text
    first, second = mock_llm_responses.calls
    assert (first.model, first["api"], first["provider"]) == (MODEL, "messages", "anthropic")
    assert (second.model, second["api"], second["provider"]) == (MODEL, "messages", "vertex")


def test_the_client_of_anthropic_is_answered(mock_llm_responses: LLMMock) -> None:
    mock = mock_llm_responses
    client = make_client()
    mock.add(MODEL, "Hi!")
    assert client.messages.create(**ASKED).content[0].text == "Hi!"  # type: ignore[union-attr]
    mock.add(MODEL, Reply(chunks=["Hel", "lo"]))
    with client.messages.stream(**ASKED) as answer:
        assert list(answer.text_stream) == ["Hel", "lo"]
    mock.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    message = client.messages.create(**ASKED, tools=TOOLS)
    assert message.content[0].input == {"city": "Bern"}  # type: ignore[union-attr]
    assert mock.last_call["sdk"].startswith("AnthropicVertex/Python")
    assert mock.last_call["key"] is None


def test_the_asynchronous_client_of_anthropic_is_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo"]))

    async def ask() -> list[str]:
        async with (
            anthropic.AsyncAnthropicVertex(region="global", project_id="p") as client,
            client.messages.stream(**ASKED) as answer,
        ):
            return [text async for text in answer.text_stream]

    assert asyncio.run(ask()) == ["Hel", "lo"]


def test_the_client_of_mistral_is_answered(mock_llm_responses: LLMMock) -> None:
    gcp = pytest.importorskip("mistralai.gcp.client")
    mock_llm_responses.set("mistral-medium-3", Reply(chunks=["Hel", "lo"]))
    client = gcp.MistralGCP(project_id="p", region="europe-west4")
    asked = {"model": "mistral-medium-3", "messages": HELLO}
    assert client.chat.complete(**asked).choices[0].message.content == "Hello"
    chunks = client.chat.stream(**asked)
    texts = [chunk.data.choices[0].delta.content for chunk in chunks]
    assert "".join(texts) == "Hello"
    assert mock_llm_responses.last_call["provider"] == "mistral"


# Errors


QUOTA = (
    "Quota exceeded for aiplatform.googleapis.com/online_prediction_requests_per_base_model with "
    f"base model: anthropic-{MODEL}. Please submit a quota increase request. "
    "https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai."
)
TOO_LONG = "prompt is too long: 250000 tokens > 200000 maximum"
NO_TOKEN = (
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie "
    "or other valid authentication credential. See "
    "https://developers.google.com/identity/sign-in/web/devconsole-project."
)


# Google checks credentials and quotas, Claude itself says the rest.
@pytest.mark.parametrize(
    ("kind", "status", "error", "calls"),
    [
        ("rate_limit", 429, {"code": 429, "message": QUOTA, "status": "RESOURCE_EXHAUSTED"}, 3),
        ("overloaded", 529, {"type": "overloaded_error", "message": "Overloaded"}, 3),
        ("context_overflow", 400, {"type": "invalid_request_error", "message": TOO_LONG}, 1),
        ("invalid_key", 401, {"code": 401, "message": NO_TOKEN, "status": "UNAUTHENTICATED"}, 1),
    ],
)
def test_an_error_is_that_of_google_or_of_anthropic(
    kind: str, status: int, error: dict[str, Any], calls: int, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, ProviderError(kind))
    with pytest.raises(anthropic.APIStatusError) as raised:
        make_client().messages.create(**ASKED)
    body: Any = raised.value.body
    assert (raised.value.status_code, body["error"]) == (status, error)
    assert body.get("type") == ("error" if "type" in error else None)
    assert len(mock_llm_responses.calls) == calls


BEGUN: Any = [*HELLO, {"role": "assistant", "content": "Hi"}]
INSTRUCTED: Any = [*HELLO, {"role": "system", "content": "Be brief."}, *HELLO]


@pytest.mark.parametrize("version", ["", "@20250514", "@default"])
@pytest.mark.parametrize(
    ("model", "fields", "message"),
    [
        ("claude-opus-4-6", {"messages": BEGUN}, "This model does not support assistant message"),
        ("claude-opus-4-7", {"temperature": 0.5}, "`temperature` is deprecated for this model."),
        ("claude-sonnet-5", {"top_p": 0.5}, "`top_p` is deprecated for this model."),
        ("claude-sonnet-4", {"messages": INSTRUCTED}, "role 'system' is not supported on this"),
        (
            "claude-sonnet-4-5",
            {"temperature": 1, "top_p": 0.5},
            "`temperature` and `top_p` cannot both be specified",
        ),
    ],
)
def test_a_version_of_a_model_has_the_rules_of_the_model(
    model: str, version: str, fields: dict[str, Any], message: str, mock_llm_calls: LLMMock
) -> None:
    answer = post({**BODY, **fields}, model=f"{model}{version}")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(message)
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(
    ("limit", "metric"),
    [
        ({"rpm": 1}, "online_prediction_requests_per_base_model"),
        ({"tpm": 1}, "online_prediction_input_tokens_per_minute_per_base_model"),
    ],
)
def test_a_quota_names_its_metric(
    limit: dict[str, int], metric: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hi!")
    mock_llm_responses.set_quota(MODEL, **limit)
    answers = [post(BODY), post(BODY)]
    error = answers[1].json()["error"]
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert f"aiplatform.googleapis.com/{metric} with base model" in error["message"]


def test_an_error_within_a_stream_is_an_event_of_anthropic(mock_llm_responses: LLMMock) -> None:
    error = ProviderError("rate_limit")
    mock_llm_responses.set(MODEL, Reply(chunks=["a", "b"], error=error, error_after=1))
    answer = post({**BODY, "stream": True}, "streamRawPredict")
    *_, last, _ = answer.text.split("\n\n")
    head, data = last.split("\n")
    assert head == "event: error"
    assert json.loads(data.removeprefix("data: "))["error"]["type"] == "rate_limit_error"


def test_an_unknown_model_is_none_of_a_publisher(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set_unknown(MODEL)
    answer = post(BODY)
    assert answer.status_code == 404
    error = answer.json()["error"]
    assert error["status"] == "NOT_FOUND"
    assert f"publishers/anthropic/models/{MODEL}` was not found" in error["message"]


@pytest.mark.parametrize("missing", ["anthropic_version", "max_tokens", "messages"])
def test_a_required_field_is_missed(missing: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "Hi!")
    answer = post({name: BODY[name] for name in BODY if name != missing})
    assert answer.status_code == 400
    assert answer.json()["error"] == {
        "type": "invalid_request_error",
        "message": f"{missing}: Field required",
    }


# Further endpoints


def test_tokens_are_counted(mock_llm_calls: LLMMock) -> None:
    # Four characters are a token.
    messages: Any = [{"role": "user", "content": "Hello, world"}]
    counted = make_client().messages.count_tokens(model=MODEL, messages=messages)
    assert counted.input_tokens == 3
    assert mock_llm_calls.calls == []


def test_a_count_without_messages_is_refused(mock_llm_calls: LLMMock) -> None:
    answer = post({"model": MODEL}, model="count-tokens")
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "messages: Field required"


def test_another_method_is_refused_in_the_words_of_google(mock_llm_calls: LLMMock) -> None:
    answer = post(BODY, "predict")
    assert answer.status_code == 404
    assert answer.json()["error"]["status"] == "NOT_FOUND"
    assert "mock.on('POST', '/v1/projects/p/" in answer.json()["error"]["message"]


@pytest.mark.parametrize("prefix", ["", "/vertex"])
def test_the_server_answers(
    prefix: str, llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hello")
    answer = httpx.post(f"{llm_mock_server.url}{prefix}{PLACE}/{MODEL}:rawPredict", json=BODY)
    assert answer.json()["content"] == [{"type": "text", "text": "Hello"}]
    assert mock_llm_responses.last_call.request.url.startswith(f"{HOST}{PLACE}/")
    assert llm_mock_server.vertex_url == f"{llm_mock_server.url}/vertex/v1"
    assert llm_mock_server.environment()["ANTHROPIC_VERTEX_BASE_URL"] == llm_mock_server.vertex_url


@pytest.mark.parametrize(
    ("location", "host"),
    [
        ("global", "aiplatform.googleapis.com"),
        ("eu", "aiplatform.eu.rep.googleapis.com"),
        ("us", "aiplatform.us.rep.googleapis.com"),
        ("us-east5", "us-east5-aiplatform.googleapis.com"),
    ],
)
def test_the_server_knows_the_host_of_a_location(
    location: str, host: str, llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hello")
    client = anthropic.AnthropicVertex(region=location, project_id="p")
    client.messages.create(**ASKED)
    expected = mock_llm_responses.last_call.request.url
    served = client.copy(base_url=llm_mock_server.vertex_url)
    served.messages.create(**ASKED)
    assert mock_llm_responses.last_call.request.url == expected
    assert httpx.URL(expected).host == host


@pytest.mark.parametrize("publisher", ["anthropic", "mistralai"])
@pytest.mark.parametrize("method", ["rawPredict", "streamRawPredict"])
def test_a_gateway_is_recognised_by_the_path(
    publisher: str, method: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hello")
    path = f"{PLACE}/m:{method}".replace("anthropic", publisher)
    answer = httpx.post(f"https://gateway.invalid/vertex{path}", json={**BODY, "model": "m"})
    assert "Hello" in answer.text
    assert mock_llm_responses.last_call.model == "m"


@pytest.mark.parametrize(
    "path",
    [
        "/publishers/meta/models/m:rawPredict",
        "/publishers/anthropic/models/m:predict",
        "/publishers/anthropic/models/m:rawPredict/x",
        "/publishers/anthropic/endpoints/m:rawPredict",
        "/endpoints/m:rawPredict",
    ],
)
def test_a_path_of_something_else_is_none_of_a_model(path: str) -> None:
    assert not is_model_path(path)
    assert find_protocol("POST", path, "google") is None


@pytest.mark.parametrize(
    ("path", "dialect"),
    [
        (f"{PLACE}/m:rawPredict", "vertex"),
        (f"{PLACE}/count-tokens:rawPredict", "vertex"),
        ("/publishers/mistralai/models/m:streamRawPredict", "vertex"),
        ("/publishers/google/models/m:generateContent", "google"),
    ],
)
def test_the_path_tells_the_dialect(path: str, dialect: str) -> None:
    assert choose_dialect(path, "anthropic") == dialect
