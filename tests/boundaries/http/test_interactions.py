"""Google's Interactions by its SDK: state, the background, errors."""

from __future__ import annotations

import asyncio
import functools
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.body_types import INTERACTION
from llm_mock.boundaries.http.protocols.gemini_interactions import get_code
from llm_mock.core.provider_error import ProviderError

genai = pytest.importorskip("google.genai")
if not hasattr(genai.Client, "interactions"):
    pytest.skip("needs a google-genai with interactions", allow_module_level=True)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
MODEL = "gemini-3.8-flash"
URL = "https://generativelanguage.googleapis.com/v1beta/interactions"
TOOL = {
    "type": "function",
    "name": "weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
WEATHER = ToolCall("weather", {"city": "Bern"})


@functools.lru_cache
def make_client() -> Any:
    """Return a client, which must be kept as long as what it offers is used."""
    return genai.Client()


def create(text: Any = "Hello", **fields: Any) -> Any:
    """Return the answer of a model."""
    return make_client().interactions.create(model=MODEL, input=text, **fields)


@pytest.mark.parametrize("stream", [False, True])
def test_an_interaction_continues_an_earlier_one(stream: bool, mock_llm_responses: LLMMock) -> None:
    mock = mock_llm_responses
    mock.add(MODEL, Reply(chunks=["Let me", " see."], reasoning="Where?"))
    mock.add(MODEL, Reply(tool_calls=[WEATHER]))
    mock.add(MODEL, "Sunny.")
    inputs: list[Any] = ["Hello", "How is it?", []]
    fields: dict[str, Any] = {"tools": [TOOL], "stream": stream}
    for text in inputs:
        answer = create(text, **fields)
        if stream:
            *_, last = answer
            answer = last.interaction
        stored = make_client().interactions.get(answer.id)
        for step in stored.steps:
            if step.type == "function_call":
                result = {"content": [{"type": "text", "text": "21 degrees"}]}
                found = {"type": "function_result", "call_id": step.id, "name": step.name}
                inputs[2].append({**found, "result": result})
        fields["previous_interaction_id"] = answer.id
    assert stored.output_text == "Sunny."
    call = mock.last_call
    assert call.turn == 3
    assert call.tool_results == [{"name": "weather", "output": "21 degrees"}]
    assert [(each["role"], each["text"]) for each in call.messages] == [
        ("user", "Hello"),
        ("assistant", "Let me see."),
        ("user", "How is it?"),
        ("assistant", ""),
        ("tool", ""),
    ]
    assert call.messages[3]["tool_calls"][0]["arguments"] == {"city": "Bern"}


def test_an_interaction_that_is_not_stored_is_unknown(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    answer = create(store=False)
    assert httpx.get(f"{URL}/{answer.id}").status_code == 404
    missing = httpx.post(
        URL, json={"model": MODEL, "input": "Hello", "previous_interaction_id": answer.id}
    )
    assert missing.json() == {
        "error": {"message": f"Interaction '{answer.id}' not found.", "code": "not_found"}
    }


def test_an_interaction_is_deleted(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    interactions = make_client().interactions
    answer = create()
    interactions.delete(answer.id)
    for method in ("GET", "DELETE"):
        assert httpx.request(method, f"{URL}/{answer.id}").status_code == 404


def test_an_interaction_in_the_background_is_there_when_it_is_asked_for(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("deep-research-pro-preview", "It rains.")
    interactions = make_client().interactions
    started = interactions.create(
        agent="deep-research-pro-preview", input="Why?", background=True, store=True
    )
    assert (started.status, started.steps) == ("in_progress", None)
    finished = interactions.get(started.id)
    assert (finished.status, finished.output_text) == ("completed", "It rains.")
    assert finished.agent == "deep-research-pro-preview"
    body = httpx.post(f"{URL}/{started.id}/cancel").json()
    assert body["error"]["message"] == f"Interaction '{started.id}' is not in progress."


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "?stream=true"), ("GET", "/cancel"), ("PATCH", "")]
)
def test_what_is_not_supported_is_refused(
    method: str, path: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    answer = httpx.request(method, f"{URL}/{create().id}{path}")
    assert answer.status_code == 404
    assert "is not supported by llm_mock" in answer.json()["error"]["message"]


def test_the_asynchronous_client_is_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo"]))

    async def ask() -> list[str]:
        client = genai.Client().aio
        events = await client.interactions.create(model=MODEL, input="Hello", stream=True)
        texts = [event.delta.text async for event in events if event.event_type == "step.delta"]
        await client.aclose()
        return texts

    assert asyncio.run(ask()) == ["Hel", "lo"]


@pytest.mark.parametrize(
    ("kind", "code", "is_retried"),
    [
        ("rate_limit", "too_many_requests", True),
        ("overloaded", "service_unavailable", True),
        ("invalid_key", "invalid_request", False),
        ("context_overflow", "invalid_request", False),
    ],
)
def test_an_error_has_a_word_for_its_code(
    kind: str, code: str, is_retried: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, ProviderError(kind))
    answer = httpx.post(URL, json={"model": MODEL, "input": "Hello"})
    assert answer.json()["error"].keys() == {"message", "code"}
    assert answer.json()["error"]["code"] == code
    assert answer.headers.get("retry-after-ms") == ("50" if is_retried else None)


def test_an_error_keeps_the_body_that_it_was_given(mock_llm_responses: LLMMock) -> None:
    body = {"error": {"message": "Gone.", "code": "interaction_expired"}}
    mock_llm_responses.set_error(MODEL, genai.errors.ClientError(404, body))
    answer = httpx.post(URL, json={"model": MODEL, "input": "Hello"})
    assert (answer.status_code, answer.json()) == (404, body)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, "invalid_request"),
        (404, "not_found"),
        (429, "too_many_requests"),
        (500, "internal_error"),
        (504, "gateway_timeout"),
        (599, "unknown"),
    ],
)
def test_each_status_has_a_code(status: int, code: str) -> None:
    assert get_code(status) == code


def test_usage_may_be_left_out(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hello", usage=None))
    assert create().usage is None


@pytest.mark.parametrize("name", sorted(INTERACTION.fields))
def test_a_value_of_the_wrong_type_is_refused(name: str, mock_llm_calls: LLMMock) -> None:
    body = {"model": MODEL, "input": "Hello", name: 1.5}
    answer = httpx.post(URL, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")
    assert name in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "is_known"),
    [
        ("/v1beta/interactions", True),
        ("/proxy/v1beta1/projects/p/locations/l/interactions", True),
        ("/api/interactions", False),
    ],
)
def test_a_gateway_is_recognised_by_path_and_body(path: str, is_known: bool) -> None:
    from llm_mock.boundaries.http.clients import choose_dialect, is_model_body, is_model_path

    assert is_model_path(path) is is_known
    assert is_model_body(path, b'{"model": "m", "input": "Hello"}')
    assert not is_model_body(path, b'{"input": "Hello"}')
    assert choose_dialect(path, "openai") == "google"
