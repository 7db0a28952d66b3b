"""A provider's own JSON is sent as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import llm
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import InvalidReply, Latency, LLMMock, Reply
from llm_mock.commands.serve_script import ServeScript
from llm_mock.core.settings import Settings
from tests.boundaries.http.request_senders import make_anthropic, make_openai

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
CHAT_USAGE = {"prompt_tokens": 30, "completion_tokens": 4, "total_tokens": 34}
CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "gpt-4o-audio",
    "choices": [
        {
            "index": 0,
            "message": {
                "role": "assistant",
                "content": "Hello!",
                "annotations": [
                    {
                        "type": "url_citation",
                        "url_citation": {
                            "url": "https://example.com",
                            "title": "A page",
                            "start_index": 0,
                            "end_index": 5,
                        },
                    }
                ],
            },
            "logprobs": {
                "content": [{"token": "Hello", "logprob": -0.1, "bytes": None, "top_logprobs": []}],
                "refusal": None,
            },
            "finish_reason": "length",
        }
    ],
    "usage": CHAT_USAGE,
    "x_of_a_gateway": {"any": ["thing"]},
}
HEAD = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
CHAT_EVENTS: list[Any] = [
    {**HEAD, "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}}]},
    {**HEAD, "choices": [{"index": 0, "delta": {"content": "lo!"}, "finish_reason": "stop"}]},
    {**HEAD, "choices": [], "usage": CHAT_USAGE},
    "[DONE]",
]
SEARCH: dict[str, Any] = {
    "id": "srvtoolu_1",
    "type": "server_tool_use",
    "name": "web_search",
    "input": {"query": "weather"},
}
MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5",
    "content": [SEARCH, {"type": "text", "text": "It is sunny."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": {"input_tokens": 7, "output_tokens": 3},
}
MESSAGE_EVENTS: list[Any] = [
    {"type": "message_start", "message": {**MESSAGE, "content": [], "stop_reason": None}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
    {"type": "content_block_stop", "index": 0},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
]


def test_a_body_is_sent_as_it_is(server_url: str | None, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=CHAT))
    completions = make_openai(server_url).chat.completions
    raw = completions.with_raw_response.create(model="gpt-4o", messages=HELLO)
    assert json.loads(raw.content) == CHAT
    completion = raw.parse()
    [annotation] = completion.choices[0].message.annotations or []
    assert annotation.url_citation.title == "A page"
    assert completion.choices[0].logprobs is not None


def test_events_are_sent_as_they_are(server_url: str | None, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(events=CHAT_EVENTS))
    chunks = list(
        make_openai(server_url).chat.completions.create(model="gpt-4o", messages=HELLO, stream=True)
    )
    texts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
    assert texts == ["Hel", "lo!"]
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.total_tokens == 34


def test_one_reply_may_have_both(server_url: str | None, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=MESSAGE, events=MESSAGE_EVENTS))
    messages = make_anthropic(server_url).messages
    whole = messages.create(model="claude-opus-5", max_tokens=9, messages=HELLO)
    assert [block.type for block in whole.content] == ["server_tool_use", "text"]
    with messages.stream(model="claude-opus-5", max_tokens=9, messages=HELLO) as stream:
        assert stream.get_final_text() == "Hi"
    first, second = mock_llm_responses.calls
    assert (first.response, second.response) == ("It is sunny.", "Hi")


@pytest.mark.parametrize(
    ("body", "events", "names"),
    [
        (CHAT, CHAT_EVENTS, [""] * 4),
        (MESSAGE, MESSAGE_EVENTS, [event["type"] for event in MESSAGE_EVENTS]),
    ],
    ids=["chat", "messages"],
)
def test_events_have_the_names_of_their_api(
    body: Any, events: list[Any], names: list[str], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(body=body, events=events))
    urls = {CHAT["id"]: "https://api.openai.com/v1/chat/completions"}
    url = urls.get(body["id"], "https://api.anthropic.com/v1/messages")
    asked = {"model": "m", "max_tokens": 9, "messages": HELLO, "stream": True}
    blocks = httpx.post(url, json=asked).text.removesuffix("\n\n").split("\n\n")
    found = [block.rpartition("data: ")[0].removeprefix("event: ").strip() for block in blocks]
    assert found == names
    data = [block.rpartition("data: ")[2] for block in blocks]
    assert [item if item == "[DONE]" else json.loads(item) for item in data] == events


def test_gemini_and_mistral_get_theirs(mock_llm_responses: LLMMock) -> None:
    gemini = {
        "candidates": [
            {
                "content": {"role": "model", "parts": [{"text": "Hi"}]},
                "finishReason": "STOP",
                "groundingMetadata": {"webSearchQueries": ["weather"]},
            }
        ]
    }
    mock_llm_responses.set("gemini-3", Reply(body=gemini))
    client = genai.Client(api_key="none")
    answer = client.models.generate_content(model="gemini-3", contents="Hi")
    [candidate] = answer.candidates or []
    assert candidate.grounding_metadata is not None
    assert candidate.grounding_metadata.web_search_queries == ["weather"]
    mock_llm_responses.set("mistral-large", Reply(body={**CHAT, "model": "mistral-large"}))
    with Mistral(api_key="none") as mistral:
        completion = mistral.chat.complete(model="mistral-large", messages=HELLO)
    assert completion.choices[0].message.content == "Hello!"


@pytest.mark.parametrize("kind", [{"object": "response"}, {}])
def test_a_response_of_its_own_can_be_continued(
    kind: dict[str, str], mock_llm_responses: LLMMock
) -> None:
    item = {
        "id": "ig_1",
        "type": "image_generation_call",
        "status": "completed",
        "result": "aW1hZ2U=",
    }
    body = {"id": "resp_1", **kind, "created_at": 1, "model": "gpt-5"}
    mock_llm_responses.add("*", Reply(body={**body, "status": "completed", "output": [item]}))
    mock_llm_responses.add("*", "A cat.")
    with openai.OpenAI(api_key="none") as client:
        first = client.responses.create(model="gpt-5", input="Draw a cat")
        assert first.output[0].type == "image_generation_call"
        second = client.responses.create(
            model="gpt-5", input="What is it?", previous_response_id=first.id
        )
    assert second.output_text == "A cat."


def test_events_of_its_own_may_be_other_than_responses(mock_llm_responses: LLMMock) -> None:
    message = {"type": "message", "role": "assistant", "content": [], "id": "msg_1"}
    events = [
        "plain",
        {"type": "response.created", "response": None},
        {"type": "response.completed", "response": {"id": "resp_1", "output": [message]}},
        {"object": "gateway.metadata", "id": "resp_1", "output": [{"type": "other"}]},
    ]
    mock_llm_responses.set("*", Reply(events=events))
    url = "https://api.openai.com/v1/responses"
    body = {"model": "gpt-5", "input": "Draw a cat"}
    assert httpx.post(url, json={**body, "stream": True}).status_code == 200
    assert httpx.get(f"{url}/resp_1").json()["output"] == [message]


def test_the_call_is_recorded_with_the_text_and_usage_in_it(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=CHAT))
    make_openai(None).chat.completions.create(model="gpt-4o", messages=HELLO)
    call = mock_llm_responses.last_call
    assert call.response == "Hello!"
    assert call.usage == {"input_tokens": 30, "output_tokens": 4}
    assert call["finish_reason"] == "length"


@pytest.mark.parametrize("body", [{"any": "thing"}, ["a"], "text", None, 5], ids=repr)
def test_what_nobody_can_read_is_sent_and_recorded(body: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=body))
    url = "https://api.openai.com/v1/chat/completions"
    answer = httpx.post(url, json={"model": "gpt-4o", "messages": HELLO})
    assert (answer.status_code, answer.json()) == (200, body)
    assert mock_llm_responses.last_call.response == body


@pytest.mark.parametrize(
    ("reply", "stream", "problem"),
    [
        (Reply(body=CHAT), True, "has a body, but the request streams: pass Reply(events=[…])"),
        (
            Reply(events=CHAT_EVENTS),
            False,
            "has events, but the request does not stream: pass Reply(body=…)",
        ),
    ],
)
def test_the_form_that_is_asked_for_must_be_there(
    reply: Reply, stream: bool, problem: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", reply)
    url = "https://api.openai.com/v1/chat/completions"
    answer = httpx.post(url, json={"model": "gpt-4o", "messages": HELLO, "stream": stream})
    assert answer.status_code >= 400
    [noted] = mock_llm_responses.problems
    mock_llm_responses.problems.clear()
    assert noted.startswith("The reply (tests/boundaries/http/test_raw_answers.py:")
    assert problem in noted


@pytest.mark.parametrize("reply", [Reply(body=CHAT), Reply(events=CHAT_EVENTS)])
@pytest.mark.parametrize("lazy", [False, True])
def test_llm_cannot_get_it(reply: Reply, lazy: bool, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", reply)
    mock_llm_responses.settings = Settings(lazy=lazy)
    with pytest.raises(
        InvalidReply, match="are sent only over HTTP, but the model was called through"
    ):
        llm.get_model("gpt-4o").prompt("Hi").text()
    [noted] = mock_llm_responses.problems
    mock_llm_responses.problems.clear()
    assert "Use a text, data or tool calls" in noted


@pytest.mark.parametrize("events", [CHAT_EVENTS, []])
def test_an_answer_takes_its_time(events: list[Any], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=CHAT, events=events, latency=Latency(9)))
    with openai.OpenAI(api_key="none", timeout=2, max_retries=0) as client:
        for stream in (False, True):
            with pytest.raises(openai.APITimeoutError):
                client.chat.completions.create(model="m", messages=HELLO, stream=stream)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"body": {}, "text": "a"}, "either text or body or events"),
        ({"events": [], "refusal": "a"}, "either refusal or body or events"),
        ({"body": object()}, "reply is not a JSON value"),
        ({"events": {"a": 1}}, "These are not events"),
        ({"events": "a"}, "These are not events: 'a'"),
        ({"events": [object()]}, "is not a JSON value"),
    ],
)
def test_a_body_is_json_alone(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply(**arguments)


def test_a_body_is_a_copy(mock_llm_responses: LLMMock) -> None:
    body = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}}]}
    mock_llm_responses.set("*", Reply(body=body))
    body.clear()
    completion = make_openai(None).chat.completions.create(model="gpt-4o", messages=HELLO)
    assert completion.choices[0].message.content == "Hi"


def test_a_yaml_script_has_bodies_and_events(mock_llm_responses: LLMMock, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    reply = json.dumps({"body": CHAT, "events": CHAT_EVENTS})
    script.write_text(f"replies:\n  - {reply}\n")
    ServeScript(str(script)).configure(mock_llm_responses.configurator)
    completions = make_openai(None).chat.completions
    assert completions.create(model="m", messages=HELLO).id == "chatcmpl-1"
    assert len(list(completions.create(model="m", messages=HELLO, stream=True))) == 3


def test_a_misbehaviour_comes_before_it(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(body=CHAT))
    mock_llm_responses.misbehave("rate-limit", times=1)
    with openai.OpenAI(api_key="none") as client:
        assert client.chat.completions.create(model="m", messages=HELLO).id == "chatcmpl-1"
    assert [call.error is None for call in mock_llm_responses.calls] == [False, True]
