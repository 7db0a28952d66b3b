"""Realtime sessions with text and tools, by the SDK of OpenAI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import openai
import pytest
import websockets.sync.client
from openai.types.realtime import RealtimeServerEvent
from pydantic import TypeAdapter

from llm_mock import Latency, LLMMock, Reply, ToolCall
from llm_mock.core.context import activate
from llm_mock.templates import rate_limit

# OpenAI's SDK asks for websockets 15, and works with later versions but for this warning.
pytestmark = pytest.mark.filterwarnings(
    "ignore:connect.. must be used as a context:DeprecationWarning"
)

MODEL = "gpt-realtime"
URL = f"wss://api.openai.com/v1/realtime?model={MODEL}"
Event = dict[str, Any]
Converse = Callable[..., list[Event]]
"""Sends some events, and returns all events up to the end of what they ask for."""
TEXT_SESSION = {"type": "session.update", "session": {"type": "realtime"}}
TEXT_SESSION["session"]["output_modalities"] = ["text"]  # type: ignore[index]
TOOL = {
    "type": "function",
    "name": "weather",
    "description": "Look the weather up.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
ENDS = {
    "session.update": "session.updated",
    "conversation.item.create": "conversation.item.done",
    "conversation.item.retrieve": "conversation.item.retrieved",
    "conversation.item.delete": "conversation.item.deleted",
    "response.create": "response.done",
}
"""The last event that answers one of the client; an error ends each."""


def make_message(text: str, role: str = "user", **fields: Any) -> Event:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    item = {"type": "message", "role": role, "content": content, **fields}
    return {"type": "conversation.item.create", "item": item}


ASK: Event = {"type": "response.create"}
HELLO = (TEXT_SESSION, make_message("Hello"), ASK)
TEXT = {"output_modalities": ["text"]}


def is_end(event: Event, sent: Event) -> bool:
    return event["type"] in ("error", ENDS.get(sent["type"]))


def by_openai(*events: Event) -> list[Event]:
    received = []
    with openai.OpenAI().realtime.connect(model=MODEL) as connection:
        received.append(connection.recv().to_dict(mode="json"))
        for event in events:
            connection.send(event)  # type: ignore[arg-type]
            for answer in connection:
                received.append(answer.to_dict(mode="json"))
                if is_end(received[-1], event):
                    break
    return received


def by_openai_async(*events: Event) -> list[Event]:
    async def converse() -> list[Event]:
        received = []
        async with openai.AsyncOpenAI().realtime.connect(model=MODEL) as connection:
            received.append((await connection.recv()).to_dict(mode="json"))
            for event in events:
                await connection.send(event)  # type: ignore[arg-type]
                async for answer in connection:
                    received.append(answer.to_dict(mode="json"))
                    if is_end(received[-1], event):
                        break
        return received

    return asyncio.run(converse())


def by_websockets(*events: Event, url: str = URL) -> list[Event]:
    with websockets.sync.client.connect(url) as connection:
        received = [json.loads(connection.recv(timeout=10))]
        for event in events:
            connection.send(json.dumps(event))
            received.append(json.loads(connection.recv(timeout=10)))
            while not is_end(received[-1], event):
                received.append(json.loads(connection.recv(timeout=10)))
    return received


every_client = pytest.mark.parametrize("converse", [by_openai, by_openai_async, by_websockets])


def get_types(events: list[Event]) -> list[str]:
    return [event["type"] for event in events]


def get_text(event: Event) -> str:
    return str(event["response"]["output"][-1]["content"][0]["text"])


def validate(events: list[Event]) -> None:
    """Check events against the SDK's types."""
    for event in events:
        TypeAdapter(RealtimeServerEvent).validate_python(event)


@every_client
def test_a_text_has_the_events_of_a_recorded_session(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hello ", "there!"]))
    events = converse(*HELLO)
    assert get_types(events) == [
        "session.created",
        "session.updated",
        "conversation.item.added",
        "conversation.item.done",
        "response.created",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "conversation.item.done",
        "response.output_item.done",
        "response.done",
    ]
    validate(events)
    assert len({event["event_id"] for event in events}) == len(events)
    assert get_text(events[-1]) == "Hello there!"
    response = events[-1]["response"]
    assert response["status"] == "completed"
    assert response["usage"]["total_tokens"] == (
        response["usage"]["input_tokens"] + response["usage"]["output_tokens"]
    )
    assert events[6]["previous_item_id"] == events[2]["item"]["id"]
    assert events[6]["item"]["id"] == events[12]["item"]["id"] == events[8]["item_id"]


@every_client
def test_a_response_is_a_call_with_the_items_of_the_conversation(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    update = {**TEXT_SESSION["session"], "instructions": "Be kind."}  # type: ignore[dict-item]
    converse(
        {"type": "session.update", "session": update},
        make_message("Hello"),
        ASK,
        make_message("Bye"),
        {"type": "response.create", "response": {"instructions": "Be short."}},
    )
    first, second = mock_llm_responses.calls
    assert (first.model, first.system, first.prompt) == (MODEL, "Be kind.", "Hello")
    assert (second.system, second.prompt, second.response) == ("Be short.", "Bye", "Hi!")
    assert [message["role"] for message in second.messages][1:] == ["user", "assistant", "user"]
    assert second.request.url == "wss://api.openai.com/v1/responses"


@every_client
def test_a_tool_is_called_over_two_responses(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    call = ToolCall("weather", {"city": "Oslo"}, tool_call_id="call_1")
    mock_llm_responses.add(MODEL, Reply(chunks=["Let me see."], tool_calls=[call]))
    mock_llm_responses.add(MODEL, "It is sunny.", tool_result="Sunny")
    update = {**TEXT_SESSION["session"], "tools": [TOOL]}  # type: ignore[dict-item]
    item = {"type": "function_call_output", "call_id": "call_1", "output": "Sunny"}
    events = converse(
        {"type": "session.update", "session": update},
        make_message("How is the weather?"),
        ASK,
        {"type": "conversation.item.create", "item": item},
        ASK,
    )
    validate(events)
    (arguments,) = [e for e in events if e["type"] == "response.function_call_arguments.done"]
    assert (arguments["call_id"], arguments["name"]) == ("call_1", "weather")
    assert json.loads(arguments["arguments"]) == {"city": "Oslo"}
    assert arguments["output_index"] == 1
    done = [event for event in events if event["type"] == "response.done"]
    kinds = [item["type"] for item in done[0]["response"]["output"]]
    assert kinds == ["message", "function_call"]
    assert get_text(done[1]) == "It is sunny."


AUDIO_ITEM = {
    "type": "message",
    "role": "user",
    "content": [{"type": "input_audio", "audio": "AAAA"}],
}
TRANSCRIPTION = {"type": "session.update", "session": {"type": "transcription"}}


@every_client
@pytest.mark.parametrize(
    "refused",
    [
        {"type": "input_audio_buffer.append", "audio": "AAAA"},
        {"type": "input_audio_buffer.commit"},
        {"type": "input_audio_buffer.clear"},
        {"type": "output_audio_buffer.clear"},
        {
            "type": "conversation.item.truncate",
            "item_id": "i",
            "content_index": 0,
            "audio_end_ms": 1,
        },
        {"type": "conversation.item.create", "item": AUDIO_ITEM},
        {"type": "response.create", "response": {"input": [AUDIO_ITEM]}},
        {"type": "response.create", "response": {"output_modalities": ["audio"]}},
        TRANSCRIPTION,
    ],
)
def test_audio_is_refused_in_the_form_of_the_api(
    refused: Event, converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    events = converse(TEXT_SESSION, {**refused, "event_id": "mine"}, make_message("Hello"), ASK)
    validate(events)
    error = events[2]["error"]
    assert error["type"] == "invalid_request_error"
    assert error["event_id"] == "mine"
    assert "llm_mock supports only text in Realtime sessions" in error["message"]
    assert len(mock_llm_responses.refusals) == 1
    # The session stays usable.
    assert get_text(events[-1]) == "Hi!"
    mock_llm_responses.refusals.clear()


def test_a_session_that_asks_for_no_text_gets_none(mock_llm_responses: LLMMock) -> None:
    events = by_openai(make_message("Hello"), ASK)
    assert events[0]["session"]["output_modalities"] == ["audio"]
    assert "A response with ['audio'] is not supported" in events[-1]["error"]["message"]
    assert mock_llm_responses.calls == []
    mock_llm_responses.refusals.clear()


@pytest.mark.parametrize(
    ("sent", "code", "param"),
    [
        ({"type": "session.refresh"}, "invalid_value", "type"),
        ({}, "invalid_value", "type"),
        ({"type": "session.update"}, "missing_required_parameter", "session"),
        ({"type": "conversation.item.create"}, "missing_required_parameter", "item"),
        ({**make_message("x"), "previous_item_id": "no"}, "item_not_found", "previous_item_id"),
        ({"type": "conversation.item.retrieve", "item_id": "no"}, "item_not_found", "item_id"),
        ({"type": "conversation.item.delete", "item_id": "no"}, "item_not_found", "item_id"),
        ({"type": "response.cancel"}, "response_cancel_not_active", None),
        ({**ASK, "response": {**TEXT, "input": ["Hello"]}}, "invalid_type", "response.input"),
        ({**ASK, "response": {**TEXT, "input": "Hello"}}, "invalid_type", "response.input"),
        ({**ASK, "response": {**TEXT, "tools": ["now"]}}, "invalid_type", "response.tools"),
        ({"type": "session.update", "session": {"audio": []}}, "invalid_type", "session.audio"),
        ({"type": "session.update", "session": {"tools": {}}}, "invalid_type", "session.tools"),
    ],
)
def test_an_event_that_cannot_be_obeyed_is_an_error(
    sent: Event, code: str, param: str | None, mock_llm_responses: LLMMock
) -> None:
    with websockets.sync.client.connect(URL) as connection:
        connection.recv(timeout=10)
        connection.send(json.dumps({**sent, "event_id": "mine"}))
        event = json.loads(connection.recv(timeout=10))
    validate([event])
    assert event["type"] == "error"
    assert (event["error"]["code"], event["error"]["param"]) == (code, param)
    assert event["error"]["event_id"] == "mine"
    assert mock_llm_responses.calls == []


def test_a_message_that_is_no_json_is_an_error(mock_llm_responses: LLMMock) -> None:
    with websockets.sync.client.connect(URL) as connection:
        connection.recv(timeout=10)
        connection.send("{")
        assert json.loads(connection.recv(timeout=10))["error"]["code"] == "invalid_json"


def test_items_have_places_in_the_conversation(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    events = by_openai(
        TEXT_SESSION,
        make_message("two", id="two"),
        {**make_message("one", id="one"), "previous_item_id": "root"},
        {**make_message("between", id="between"), "previous_item_id": "one"},
        make_message("three", id="three"),
        {"type": "conversation.item.retrieve", "item_id": "two"},
        {"type": "conversation.item.delete", "item_id": "two"},
        ASK,
    )
    validate(events)
    added = [event for event in events if event["type"] == "conversation.item.added"]
    assert [event["previous_item_id"] for event in added] == [None, None, "one", "two", "three"]
    (retrieved,) = [e for e in events if e["type"] == "conversation.item.retrieved"]
    assert retrieved["item"]["content"][0]["text"] == "two"
    texts = [message["text"] for message in mock_llm_responses.last_call.messages]
    assert texts == ["one", "between", "three"]


def test_a_response_out_of_band_leaves_the_conversation_alone(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    reference = {"type": "item_reference", "id": "first"}
    item = make_message("Summarise.")["item"]
    out_of_band = {"conversation": "none", "input": [reference, item], "metadata": {"a": "b"}}
    events = by_openai(
        TEXT_SESSION,
        make_message("First", id="first"),
        make_message("Second"),
        {"type": "response.create", "response": out_of_band},
        ASK,
    )
    validate(events)
    first, second = mock_llm_responses.calls
    assert [message["text"] for message in first.messages] == ["First", "Summarise."]
    assert [message["text"] for message in second.messages] == ["First", "Second"]
    done = [event["response"] for event in events if event["type"] == "response.done"]
    assert (done[0]["conversation_id"], done[0]["metadata"]) == (None, {"a": "b"})
    assert done[1]["conversation_id"] is not None
    assert get_types(events).count("conversation.item.added") == 3


@every_client
def test_an_error_of_the_provider_fails_the_response(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, rate_limit())
    mock_llm_responses.add(MODEL, "Hi!")
    events = converse(*HELLO, ASK)
    validate(events)
    failed, done = [event["response"] for event in events if event["type"] == "response.done"]
    assert failed["status"] == "failed"
    error = failed["status_details"]["error"]
    assert (error["type"], error["code"]) == ("requests", "rate_limit_exceeded")
    assert done["status"] == "completed"


@every_client
def test_an_error_within_a_stream_fails_the_response(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hello there, how are you?")
    mock_llm_responses.misbehave("error-event")
    events = converse(*HELLO)
    validate(events)
    assert events[-1]["response"]["status"] == "failed"


@every_client
def test_a_response_takes_its_time(converse: Converse, mock_llm_responses: LLMMock) -> None:
    latency = Latency(1, chunks_per_second=1)
    mock_llm_responses.set(MODEL, Reply(chunks=["Hello ", "there!"], latency=latency))
    events = converse(*HELLO)
    assert get_types(events).count("response.output_text.delta") == 2
    assert get_text(events[-1]) == "Hello there!"


@every_client
def test_a_response_that_fails_by_an_event_of_its_own_says_why(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    error = {"code": "server_error", "message": "Something broke."}
    started = {"type": "response.created", "response": {"id": "resp_1"}}
    failed = {"type": "response.failed", "response": {"id": "resp_1", "error": error}}
    mock_llm_responses.set(MODEL, Reply(events=[started, failed]))
    events = converse(*HELLO)
    response = events[-1]["response"]
    assert (response["id"], response["status"]) == ("resp_1", "failed")
    assert response["status_details"]["error"] == {**error, "type": None}


def test_the_session_of_another_moment_is_refused(mock_llm_responses: LLMMock) -> None:
    with websockets.sync.client.connect(URL) as connection:
        connection.recv(timeout=10)
        previous = activate(None)
        try:
            connection.send(json.dumps(ASK))
        finally:
            activate(previous)
        error = json.loads(connection.recv(timeout=10))["error"]
    assert "No mock is active" in error["message"]
    assert (error["type"], error["event_id"]) == ("invalid_request_error", None)


@every_client
def test_a_refused_request_is_an_error(converse: Converse, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_unknown(MODEL)
    events = converse(*HELLO)
    validate(events)
    assert events[-1]["error"]["code"] == "model_not_found"


def test_an_incomplete_answer_says_why(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hello", finish_reason="length"))
    events = by_openai(*HELLO)
    validate(events)
    response = events[-1]["response"]
    assert response["status"] == "incomplete"
    assert response["status_details"] == {"type": "incomplete", "reason": "max_output_tokens"}


def test_reasoning_is_not_shown_and_a_refusal_is_a_text(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add(MODEL, Reply("Hi!", reasoning="Let me think."))
    mock_llm_responses.add(MODEL, Reply(refusal="I cannot help."))
    events = by_openai(*HELLO, ASK)
    validate(events)
    done = [event for event in events if event["type"] == "response.done"]
    assert [get_text(event) for event in done] == ["Hi!", "I cannot help."]
    assert [len(event["response"]["output"]) for event in done] == [1, 1]


def test_the_limit_of_tokens_and_the_tool_choice_are_sent(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Oslo"})]))
    settings = {"max_output_tokens": 50, "tools": [TOOL], "tool_choice": "required"}
    by_openai(
        TEXT_SESSION, make_message("Hello"), {"type": "response.create", "response": settings}
    )
    call = mock_llm_responses.last_call
    assert call.options["max_output_tokens"] == 50
    assert call["tool_choice"] == "required"
    assert call.tools[0]["name"] == "weather"


@pytest.mark.parametrize(
    ("url", "model"),
    [
        ("wss://ada.openai.azure.com/openai/v1/realtime?model=my-model", "my-model"),
        ("wss://ada.openai.azure.com/openai/realtime?deployment=my-model", "my-model"),
        ("wss://gateway.corp.test/v1/realtime?model=my-model", "my-model"),
        ("wss://api.x.ai/v1/realtime?model=grok-voice", "grok-voice"),
    ],
)
def test_other_hosts_have_the_same_api(url: str, model: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(model, "Hi!")
    assert get_text(by_websockets(*HELLO, url=url)[-1]) == "Hi!"
    assert mock_llm_responses.last_call.model == model
