"""Responses over WebSockets, by the SDK of OpenAI and by the libraries below it."""

from __future__ import annotations

import asyncio
import json
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from types import ModuleType, SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import openai
import pytest
import websockets.asyncio.client
import websockets.asyncio.server
import websockets.datastructures
import websockets.sync.client
from openai.types.responses.responses_server_event import ResponsesServerEvent
from pydantic import TypeAdapter
from websockets.exceptions import ConnectionClosed, ConnectionClosedError, InvalidStatus

from llm_mock import Latency, LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.transports import websockets as transport
from llm_mock.core.context import activate, pass_through, set_passthrough
from tests.process_state import StateWatch, assert_nothing_left

# OpenAI's SDK asks for websockets 15, and works with later versions but for this warning.
pytestmark = pytest.mark.filterwarnings(
    "ignore:connect.. must be used as a context:DeprecationWarning"
)

HOST = "api.openai.com"
URL = f"wss://{HOST}/v1/responses"
GATEWAY_URL = "wss://llm-gateway.corp.test/openai/v1/responses"
HELLO = {"model": "gpt-5", "input": "Hello"}
LAST = ("response.completed", "response.incomplete", "response.failed", "error")
TOOL = {
    "type": "function",
    "name": "weather",
    "description": "Look the weather up.",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
}
Event = dict[str, Any]
Turn = dict[str, Any] | Callable[[list[Event]], dict[str, Any]]
"""The fields of a `response.create`, or a function of the events of the turn before."""
Converse = Callable[..., list[list[Event]]]
"""Makes some turns over one connection, and returns the events that answer each."""


def make_turn(turn: Turn, answers: list[list[Event]]) -> dict[str, Any]:
    return turn(answers[-1]) if callable(turn) else turn


def by_openai(*turns: Turn) -> list[list[Event]]:
    answers: list[list[Event]] = []
    with openai.OpenAI().responses.connect() as connection:
        for turn in turns:
            connection.response.create(**make_turn(turn, answers))
            answers.append([])
            for event in connection:
                answers[-1].append(event.to_dict(mode="json"))
                if event.type in LAST:
                    break
    return answers


def by_openai_async(*turns: Turn, client: openai.AsyncOpenAI | None = None) -> list[list[Event]]:
    async def converse() -> list[list[Event]]:
        answers: list[list[Event]] = []
        responses = (client or openai.AsyncOpenAI()).responses
        async with responses.connect() as connection:
            for turn in turns:
                await connection.response.create(**make_turn(turn, answers))
                answers.append([])
                async for event in connection:
                    answers[-1].append(event.to_dict(mode="json"))
                    if event.type in LAST:
                        break
        return answers

    return asyncio.run(converse())


def by_websockets(*turns: Turn, url: str = URL) -> list[list[Event]]:
    answers: list[list[Event]] = []
    with websockets.sync.client.connect(url) as connection:
        for turn in turns:
            fields = {"type": "response.create", **make_turn(turn, answers)}
            connection.send(json.dumps(fields))
            answers.append([])
            while not answers[-1] or answers[-1][-1]["type"] not in LAST:
                answers[-1].append(json.loads(connection.recv(timeout=10)))
    return answers


def by_websockets_async(*turns: Turn, url: str = URL) -> list[list[Event]]:
    async def converse() -> list[list[Event]]:
        answers: list[list[Event]] = []
        async with websockets.asyncio.client.connect(url) as connection:
            for turn in turns:
                fields = {"type": "response.create", **make_turn(turn, answers)}
                await connection.send(json.dumps(fields))
                answers.append([])
                while not answers[-1] or answers[-1][-1]["type"] not in LAST:
                    answers[-1].append(json.loads(await connection.recv()))
        return answers

    return asyncio.run(converse())


def by_aiohttp(*turns: Turn, url: str = URL) -> list[list[Event]]:
    async def converse() -> list[list[Event]]:
        answers: list[list[Event]] = []
        async with aiohttp.ClientSession() as session, session.ws_connect(url) as connection:
            for turn in turns:
                fields = {"type": "response.create", **make_turn(turn, answers)}
                await connection.send_json(fields)
                answers.append([])
                while not answers[-1] or answers[-1][-1]["type"] not in LAST:
                    answers[-1].append(await connection.receive_json())
        return answers

    return asyncio.run(converse())


SDKS = (by_openai, by_openai_async)
LIBRARIES = (by_websockets, by_websockets_async, by_aiohttp)
every_client = pytest.mark.parametrize("converse", [*SDKS, *LIBRARIES])
every_library = pytest.mark.parametrize("converse", LIBRARIES)


def get_types(events: list[Event]) -> list[str]:
    return [event["type"].removeprefix("response.") for event in events]


def get_text(events: list[Event]) -> str:
    content = events[-1]["response"]["output"][-1]["content"]
    return str(content[0]["text"])


@every_client
def test_an_answer_has_the_events_of_a_stream(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hi there!")
    (events,) = converse(HELLO)
    assert get_types(events) == [
        "created",
        "in_progress",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "completed",
    ]
    assert get_text(events) == "Hi there!"
    for event in events:
        TypeAdapter(ResponsesServerEvent).validate_python(event)


@every_client
def test_a_call_is_recorded_as_over_http(converse: Converse, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi there!")
    fields = {**HELLO, "instructions": "Be kind.", "max_output_tokens": 50}
    converse(fields)
    call = mock_llm_responses.last_call
    assert (call.model, call.prompt, call.system) == ("gpt-5", "Hello", "Be kind.")
    assert call.options == {"max_output_tokens": 50}
    assert call.response == "Hi there!"
    assert call.stream is True
    assert (call.request.method, call.request.url) == ("POST", URL)
    assert call.request.body == {**fields, "stream": True}


@every_client
def test_several_answers_come_over_one_connection(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    for text in ("one", "two", "three"):
        mock_llm_responses.add("gpt-5", text)
    answers = converse(HELLO, HELLO, HELLO)
    assert [get_text(events) for events in answers] == ["one", "two", "three"]


def continue_with(**fields: Any) -> Callable[[list[Event]], dict[str, Any]]:
    def make_turn(events: list[Event]) -> dict[str, Any]:
        previous = events[-1]["response"]["id"]
        return {"model": "gpt-5", "previous_response_id": previous, **fields}

    return make_turn


def give_result(events: list[Event]) -> dict[str, Any]:
    (call,) = events[-1]["response"]["output"]
    result = {"type": "function_call_output", "call_id": call["call_id"], "output": "Sunny"}
    return continue_with(input=[result], tools=[TOOL])(events)


@every_client
@pytest.mark.parametrize("store", [True, False])
def test_a_tool_is_called_over_two_turns(
    converse: Converse, store: bool, mock_llm_responses: LLMMock
) -> None:
    reply = Reply(tool_calls=[ToolCall("weather", {"city": "Oslo"})])
    mock_llm_responses.add("gpt-5", reply)
    mock_llm_responses.add("gpt-5", "It is sunny.", tool_result="Sunny")
    called, answered = converse({**HELLO, "tools": [TOOL], "store": store}, give_result)
    assert "function_call_arguments.done" in get_types(called)
    assert get_text(answered) == "It is sunny."
    assert [message["role"] for message in mock_llm_responses.last_call.messages] == [
        "user",
        "assistant",
        "tool",
    ]


@every_client
def test_an_unknown_earlier_response_is_an_error(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    answers = converse({**HELLO, "previous_response_id": "resp_none"}, HELLO)
    (event,) = answers[0]
    assert (event["type"], event["status"]) == ("error", 400)
    assert event["error"]["code"] == "previous_response_not_found"
    assert event["error"]["message"] == "Previous response with id 'resp_none' not found."
    # The connection stays usable.
    assert get_text(answers[1]) == "Hi!"
    TypeAdapter(ResponsesServerEvent).validate_python(event)
    mock_llm_responses.problems.clear()


def test_a_response_that_is_not_stored_belongs_to_its_connection(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    not_stored, stored = by_websockets({**HELLO, "store": False}, HELLO)
    for events, kind in ((not_stored, "error"), (stored, "completed")):
        (answer,) = by_websockets(continue_with(input="Go on.")(events))
        assert get_types(answer)[-1] == kind
    mock_llm_responses.problems.clear()


# Errors


@every_client
def test_a_request_that_production_refuses_is_refused(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    ((event,),) = converse({**HELLO, "temperature": 0.5})
    assert (event["type"], event["status"]) == ("error", 400)
    assert event["error"]["message"].startswith("Unsupported parameter: 'temperature'")
    assert event["error"]["param"] == "temperature"
    assert mock_llm_responses.last_call.error


@every_client
def test_an_error_of_the_provider_is_an_event(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.misbehave("rate-limit", times=1)
    mock_llm_responses.set("gpt-5", "Hi!")
    (event,), answered = converse(HELLO, HELLO)
    TypeAdapter(ResponsesServerEvent).validate_python(event)
    assert event["status"] == 429
    assert event["error"]["code"] == "rate_limit_exceeded"
    assert event["error"]["headers"]["retry-after"]
    assert "content-type" not in event["error"]["headers"]
    assert get_text(answered) == "Hi!"


@every_library
@pytest.mark.parametrize("body", ["<h1>Bad gateway</h1>", '"Bad gateway"', '{"error": "Bad"}'])
def test_an_error_without_details_is_an_event(
    body: str, converse: Converse, mock_llm_responses: LLMMock
) -> None:
    request = httpx2.Request("POST", URL)
    response = httpx2.Response(502, request=request, text=body, headers={"content-type": "text/x"})
    error = openai.InternalServerError("Bad", response=response, body=None)
    mock_llm_responses.add("gpt-5", error)
    ((event,),) = converse(HELLO)
    TypeAdapter(ResponsesServerEvent).validate_python(event)
    assert (event["type"], event["status"]) == ("error", 502)


@pytest.mark.parametrize("converse", SDKS)
@pytest.mark.parametrize("misbehaviour", ["truncated-stream", "broken-stream"])
def test_a_stream_that_ends_early_closes_the_connection(
    misbehaviour: str, converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hello there, how are you?")
    mock_llm_responses.misbehave(misbehaviour)
    with pytest.raises(ConnectionClosedError) as raised:
        converse(HELLO)
    assert raised.value.rcvd is None
    assert mock_llm_responses.last_call.error


@pytest.mark.parametrize("misbehaviour", ["truncated-stream", "broken-stream", "stalled"])
def test_what_comes_before_the_end_arrives(misbehaviour: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hello there, how are you?")
    mock_llm_responses.misbehave(misbehaviour)
    message = json.dumps({"type": "response.create", **HELLO})
    with websockets.sync.client.connect(URL, close_timeout=0.01) as connection:
        connection.send(message)
        events = [json.loads(connection.recv(timeout=10)) for _ in range(5)]
    assert get_types(events)[-1] == "output_text.delta"

    async def receive() -> list[str]:
        async with websockets.asyncio.client.connect(URL, close_timeout=0.01) as connection:
            await connection.send(message)
            return get_types([json.loads(await connection.recv()) for _ in range(5)])

    assert asyncio.run(receive())[-1] == "output_text.delta"


@every_library
def test_a_broken_event_is_no_json(converse: Converse, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hello there, how are you?")
    mock_llm_responses.misbehave("malformed-chunk")
    with pytest.raises(json.JSONDecodeError):
        converse({**HELLO, "stream_id": "a"})


@every_client
def test_events_that_arrive_in_pieces_are_whole(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Größe: 12 m²")
    mock_llm_responses.misbehave("split-frames")
    (events,) = converse(HELLO)
    assert get_text(events) == "Größe: 12 m²"


@every_client
def test_an_error_within_a_stream_is_its_last_event(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hello there, how are you?")
    mock_llm_responses.misbehave("error-event")
    (events,) = converse(HELLO)
    assert events[0]["type"] == "response.created"
    assert events[-1]["type"] == "error"


@pytest.mark.parametrize("reply", [TimeoutError("slow"), None])
def test_a_provider_that_falls_silent_leaves_the_timeout_to_the_client(
    reply: Exception | None, mock_llm_responses: LLMMock
) -> None:
    if reply is None:
        mock_llm_responses.misbehave("stalled")
    mock_llm_responses.set("gpt-5", reply or "Hello there, how are you?")
    message = json.dumps({"type": "response.create", **HELLO})

    def receive() -> None:
        with websockets.sync.client.connect(URL, close_timeout=0.01) as connection:
            connection.send(message)
            while True:
                connection.recv(timeout=0.05)

    async def receive_async() -> None:
        async with websockets.asyncio.client.connect(URL, close_timeout=0.01) as connection:
            await connection.send(message)
            while True:
                await asyncio.wait_for(connection.recv(), 0.05)

    with pytest.raises(TimeoutError):
        receive()
    with pytest.raises((TimeoutError, asyncio.TimeoutError)):
        asyncio.run(receive_async())


@every_library
@pytest.mark.parametrize("message", ["{", "[]", json.dumps({"type": "session.update"}), "{}"])
def test_a_message_that_is_no_request_is_an_error(
    message: str, converse: Converse, mock_llm_responses: LLMMock
) -> None:
    with websockets.sync.client.connect(URL) as connection:
        connection.send(message)
        event = json.loads(connection.recv(timeout=10))
        TypeAdapter(ResponsesServerEvent).validate_python(event)
        assert (event["type"], event["status"]) == ("error", 400)
        assert event["error"]["type"] == "invalid_request_error"
    assert mock_llm_responses.calls == []


@every_client
def test_the_background_is_refused(converse: Converse, mock_llm_responses: LLMMock) -> None:
    ((event,),) = converse({**HELLO, "background": True})
    assert event["error"]["param"] == "background"
    assert mock_llm_responses.calls == []


def test_steering_is_refused_in_the_words_of_the_api(mock_llm_responses: LLMMock) -> None:
    steer = {"type": "response.steer", "previous_response_id": "resp_1", "input": "Stop"}
    with websockets.sync.client.connect(URL) as connection:
        connection.send(json.dumps(steer))
        event = json.loads(connection.recv(timeout=10))
    TypeAdapter(ResponsesServerEvent).validate_python(event)
    assert event["type"] == "response.steer.failed"
    assert event["error"]["code"] == "steering_not_supported"
    assert event["steer"] == {"previous_response_id": "resp_1", "input": "Stop"}
    assert mock_llm_responses.refusals
    mock_llm_responses.problems.clear()


# Replies


@every_client
def test_each_event_names_the_lane_of_its_request(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("gpt-5", "Hi!")
    mock_llm_responses.add("gpt-5", ValueError("boom"))
    mock_llm_responses.add("gpt-5", "Ho!")
    first, failed, other = converse(
        {**HELLO, "stream_id": "a"}, {**HELLO, "stream_id": "b"}, {**HELLO}
    )
    assert {event["stream_id"] for event in first} == {"a"}
    assert {event["stream_id"] for event in failed} == {"b"}
    assert not any("stream_id" in event for event in other)
    assert "stream_id" not in mock_llm_responses.calls[0].request.body


@pytest.mark.parametrize("converse", [by_openai_async, by_websockets_async, by_aiohttp])
def test_a_reply_function_may_be_async(converse: Converse, mock_llm_responses: LLMMock) -> None:
    async def reply(request: Any) -> str:
        await asyncio.sleep(0)
        return f"You said: {request.prompt}"

    mock_llm_responses.set("gpt-5", reply)
    answers = converse(HELLO, {**HELLO, "input": "Bye"})
    assert [get_text(events) for events in answers] == ["You said: Hello", "You said: Bye"]


@every_client
def test_a_pace_in_real_time_is_kept(converse: Converse, mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=0.01, chunks_per_second=500, real_time=True)
    mock_llm_responses.set("gpt-5", Reply(chunks=["a"] * 10, latency=latency))
    answers = converse(HELLO, HELLO)
    assert [get_text(events) for events in answers] == ["a" * 10] * 2


@every_client
def test_virtual_time_costs_nothing(converse: Converse, mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=1000, chunks_per_second=0.001)
    mock_llm_responses.set("gpt-5", Reply(chunks=["a"] * 10, latency=latency))
    (events,) = converse(HELLO)
    assert get_text(events) == "a" * 10


@every_client
def test_a_long_answer_and_a_long_question_arrive(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", Reply(chunks=["word " * 20] * 2_000))
    (events,) = converse({**HELLO, "input": "word " * 50_000})
    assert get_text(events) == "word " * 40_000
    assert mock_llm_responses.last_call.prompt == "word " * 50_000


def test_a_message_may_come_in_fragments(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    message = json.dumps({"type": "response.create", **HELLO})
    with websockets.sync.client.connect(URL) as connection:
        connection.send([message[:10], message[10:]])
        connection.send(message.encode())
        texts = [json.loads(connection.recv(timeout=10))["type"] for _ in range(18)]
    assert texts.count("response.completed") == 2


@every_client
@pytest.mark.parametrize(
    "fields", [{"generate": False}, {"generate": True, "prompt_cache_options": {"prewarm": True}}]
)
@pytest.mark.parametrize("store", [True, False])
def test_a_request_may_prepare_a_response_without_output(
    store: bool, fields: Event, converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("gpt-5", "Hi!")
    prepared, answered = converse({**HELLO, **fields, "store": store}, continue_with(input="Now."))
    for event in prepared:
        TypeAdapter(ResponsesServerEvent).validate_python(event)
    assert get_types(prepared) == ["created", "completed"]
    assert prepared[-1]["response"]["output"] == []
    assert get_text(answered) == "Hi!"
    (call,) = mock_llm_responses.calls
    assert [message["text"] for message in call.messages] == ["Hello", "Now."]


@every_library
def test_a_preparation_may_be_malformed(converse: Converse, mock_llm_responses: LLMMock) -> None:
    ((event,),) = converse({"model": "gpt-5", "generate": False, "stream_id": "a"})
    assert event["error"]["code"] == "missing_required_parameter"
    assert event["stream_id"] == "a"
    mock_llm_responses.problems.clear()


def test_an_output_may_be_asked_for_explicitly(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    (events,) = by_openai({**HELLO, "generate": True})
    assert get_text(events) == "Hi!"
    assert "generate" not in mock_llm_responses.last_call.request.body


# Connections


def test_requests_may_be_sent_before_their_answers_are_read(mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=0.001, chunks_per_second=1000, real_time=True)
    for number in range(4):
        mock_llm_responses.add("gpt-5", Reply(f"answer {number}", latency=latency))
    message = json.dumps({"type": "response.create", **HELLO})

    def receive() -> list[str]:
        with websockets.sync.client.connect(URL) as connection:
            connection.send(message)
            connection.send(message)
            return read_texts(json.loads(connection.recv(timeout=10)) for _ in iter(int, 1))

    async def receive_async() -> list[str]:
        async with websockets.asyncio.client.connect(URL) as connection:
            await asyncio.gather(connection.send(message), connection.send(message))
            events = []
            while sum(event["type"] == "response.completed" for event in events) < 2:
                events.append(json.loads(await connection.recv()))
            return read_texts(iter(events))

    assert receive() == ["answer 0", "answer 1"]
    assert asyncio.run(receive_async()) == ["answer 2", "answer 3"]


def read_texts(events: Iterator[Event]) -> list[str]:
    """Return the texts of two answers, whose events may not mix."""
    texts = []
    number = 0
    for event in events:
        assert event["sequence_number"] == number
        number += 1
        if event["type"] == "response.completed":
            texts.append(get_text([event]))
            number = 0
            if len(texts) == 2:
                break
    return texts


@every_client
def test_connections_at_once_do_not_mix(converse: Converse, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", lambda request: f"You said: {request.prompt}")
    texts: dict[int, list[str]] = {}

    def run(number: int) -> None:
        turns = [{**HELLO, "input": f"{number} {turn}"} for turn in range(3)]
        texts[number] = [get_text(events) for events in converse(*turns)]

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(8):
        assert texts[number] == [f"You said: {number} {turn}" for turn in range(3)]


def test_a_closed_connection_takes_no_more(mock_llm_responses: LLMMock) -> None:
    connection = websockets.sync.client.connect(URL)
    connection.close()
    with pytest.raises(ConnectionClosed) as raised:
        connection.send("{}")
    assert raised.value.rcvd is not None
    assert raised.value.rcvd.code == 1000

    async def close() -> None:
        connection = await websockets.asyncio.client.connect(URL)
        await connection.ping()
        await connection.close()
        with pytest.raises(ConnectionClosed) as raised:
            await connection.send("{}")
        assert raised.value.rcvd is not None
        assert raised.value.rcvd.code == 1000

    asyncio.run(close())


def test_a_connection_is_kept_alive_by_pings(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    with websockets.sync.client.connect(URL) as connection:
        assert connection.ping().wait(10)

    async def ping() -> None:
        async with websockets.asyncio.client.connect(URL) as connection:
            await asyncio.wait_for(await connection.ping(), 10)

    asyncio.run(ping())


LEFT_OPEN = """
import asyncio, gc, json
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.sync.client import connect

MESSAGE = json.dumps({"type": "response.create", "model": "gpt-5", "input": "Hello"})

@pytest.mark.filterwarnings("ignore:connect.. must be used as a context:DeprecationWarning")
@pytest.mark.parametrize("n", range(5))
def test_threads(n, mock_llm_responses):
    mock_llm_responses.set("gpt-5", "Hi!")
    connection = connect("wss://api.openai.com/v1/responses")
    connection.send(MESSAGE)
    assert "created" in connection.recv()

@pytest.mark.parametrize("n", range(5))
def test_tasks(n, mock_llm_responses):
    async def run():
        connection = await connect_async("wss://api.openai.com/v1/responses")
        await connection.send(MESSAGE)
        assert "created" in await connection.recv()
    mock_llm_responses.set("gpt-5", "Hi!")
    asyncio.run(run())
    gc.collect()
"""


def test_connections_that_stay_open_hold_up_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(LEFT_OPEN)
    result = pytester.runpytest_subprocess("-W", "error", "-p", "no:randomly", timeout=60)
    result.assert_outcomes(passed=10)


SHARED = """
import json
import pytest
from websockets.sync.client import connect

@pytest.fixture(scope="session")
def connection():
    with connect("wss://api.openai.com/v1/responses") as connection:
        yield connection

@pytest.mark.filterwarnings("ignore:connect.. must be used as a context:DeprecationWarning")
@pytest.mark.parametrize("text", ["one", "two"])
def test_shared(text, connection, mock_llm_responses):
    mock_llm_responses.set("gpt-5", text)
    connection.send(json.dumps({"type": "response.create", "model": "gpt-5", "input": "Hello"}))
    while (event := json.loads(connection.recv(timeout=10)))["type"] != "response.completed":
        pass
    assert event["response"]["output"][0]["content"][0]["text"] == text
    assert len(mock_llm_responses.calls) == 1
"""


def test_each_test_answers_on_a_shared_connection(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(SHARED)
    pytester.runpytest_inprocess().assert_outcomes(passed=2)


# Escapes


@every_library
def test_the_path_names_the_api_at_a_gateway(
    converse: Converse, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    (events,) = converse(HELLO, url=GATEWAY_URL)
    assert get_text(events) == "Hi!"
    assert mock_llm_responses.last_call.request.url == GATEWAY_URL


EARLY = """
import asyncio, json
import early

def test_tasks(mock_llm_responses):
    async def run():
        async with early.connect_async("wss://api.openai.com/v1/responses") as connection:
            await connection.send("{}")
            return await connection.recv()
    assert json.loads(asyncio.run(run()))["type"] == "error"

def test_threads(mock_llm_responses):
    with early.connect("wss://api.openai.com/v1/responses") as connection:
        connection.send("{}")
        assert json.loads(connection.recv(timeout=10))["type"] == "error"
"""


def test_an_early_import_does_not_escape(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Import the library in a plugin that is loaded before this one."""
    # With it, the mock starts with the process.
    monkeypatch.delenv("PFLOW_TESTING")
    imports = (
        "import sys",
        "assert 'llm_mock.boundaries.http.attach' not in sys.modules",
        "from websockets.asyncio.client import connect as connect_async",
        "from websockets.sync.client import connect",
    )
    pytester.makepyfile(early="\n".join(imports))
    pytester.makepyfile(EARLY)
    result = pytester.runpytest_subprocess("-p", "early", timeout=60)
    if hasattr(websockets.sync.client, "reconnect"):
        result.assert_outcomes(passed=2)
    else:
        # Before websockets 17 a function connects, which is bound already.
        result.assert_outcomes(passed=1, failed=1)
        result.stdout.fnmatch_lines([f"Connection to {HOST} refused*"])


@pytest.mark.parametrize("mode", ["off", "answer"])
def test_local_servers_are_left_alone(
    mode: str, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "mode", mode)

    async def echo(connection: Any) -> None:
        async for message in connection:
            await connection.send(message)

    async def run() -> None:
        async with websockets.asyncio.server.serve(echo, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            url = f"ws://127.0.0.1:{port}/v1/responses"
            async with websockets.asyncio.client.connect(url) as connection:
                await connection.send("{}")
                assert await connection.recv() == "{}"
            assert await asyncio.to_thread(ask, url) == "{}"
            async with aiohttp.ClientSession() as session, session.ws_connect(url) as client:
                await client.send_str("{}")
                assert await client.receive_str() == "{}"

    def ask(url: str) -> Any:
        with websockets.sync.client.connect(url) as connection:
            connection.send("{}")
            return connection.recv(timeout=10)

    asyncio.run(run())
    assert mock_llm_calls.calls == []


def test_a_server_on_this_machine_is_answered_if_it_is_listed(
    mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "hosts", ("localhost:9",))
    mock_llm_responses.set("gpt-5", "Hi!")
    for converse in (by_websockets, by_websockets_async, by_aiohttp):
        (events,) = converse(HELLO, url="ws://localhost:9/v1/responses")
        assert get_text(events) == "Hi!"


def test_calls_are_refused_where_the_project_refuses_them(
    mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "mode", "error")
    ((event,),) = by_websockets(HELLO)
    assert "Ini llm_mock_http = error refuses it" in event["error"]["message"]
    assert mock_llm_calls.problems
    mock_llm_calls.problems.clear()


def test_a_model_that_passes_through_is_refused_over_a_websocket(
    mock_llm_calls: LLMMock,
) -> None:
    previous = set_passthrough(["gpt-5"])
    try:
        for converse in (by_openai, by_openai_async):
            ((event,),) = converse(HELLO)
            assert "cannot be sent to the provider or recorded" in event["error"]["message"]
    finally:
        set_passthrough(previous)
    assert len(mock_llm_calls.problems) == 2
    mock_llm_calls.problems.clear()


RECORDED = """
import openai

def test_recorded(mock_llm_calls):
    with openai.OpenAI(api_key="sk-ada").responses.connect() as connection:
        connection.response.create(model="gpt-5", input="Hello")
        assert next(iter(connection)).type == "error"
"""


def test_a_call_that_would_be_recorded_is_refused(pytester: pytest.Pytester) -> None:
    marker = "import pytest\npytestmark = pytest.mark.llm_mock_cassette('it')\n"
    pytester.makepyfile(marker + RECORDED)
    result = pytester.runpytest_inprocess("--llm-mock-record", "once", "-W", "default")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*A call over a WebSocket cannot be sent to the provider*"])


def test_the_connection_of_another_moment_is_refused(mock_llm_responses: LLMMock) -> None:
    with websockets.sync.client.connect(URL) as connection:
        previous = activate(None)
        try:
            connection.send(json.dumps({"type": "response.create", **HELLO}))
        finally:
            activate(previous)
        event = json.loads(connection.recv(timeout=10))
    assert "No mock is active" in event["error"]["message"]


def test_nothing_is_left_of_a_connection(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    watch = StateWatch(kinds=("thread", "descriptor"))
    for converse in (*SDKS, *LIBRARIES):
        converse(HELLO)
    assert_nothing_left(watch.take_changes())


def test_a_version_with_other_names_is_refused_for_providers_alone(
    mock_llm_calls: LLMMock,
) -> None:
    class connect:
        def __init__(self, uri: str) -> None:
            self.uri = uri

    module: Any = ModuleType("websockets.asyncio.client")
    module.connect = connect
    transport.attach(module)
    assert module.connect("ws://127.0.0.1:9/v1/responses").uri == "ws://127.0.0.1:9/v1/responses"
    with pytest.raises(ConnectionRefusedError, match=f"Connection to {HOST} refused"):
        module.connect(URL)
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


def test_a_function_that_connects_by_itself_gets_a_socket(mock_llm_calls: LLMMock) -> None:
    # As before websockets 17.
    def connect(uri: str, **options: object) -> tuple[str, dict[str, object]]:
        return uri, options

    module: Any = ModuleType("websockets.sync.client")
    module.connect = connect
    transport.attach(module)
    gateway = "wss://gateway.corp.test/responses"
    assert module.connect(gateway, ssl_context=1) == (gateway, {"ssl_context": 1})
    uri, options = module.connect(URL, ssl_context=1, open_timeout=2)
    assert (uri, options.keys()) == (URL, {"open_timeout", "sock", "ssl"})
    assert isinstance(options["sock"], transport.MockSocket)
    assert options["ssl"] is not None
    options["sock"].close()
    for headers in (
        {"additional_headers": {"User-Agent": USER_AGENT}},
        {"user_agent_header": USER_AGENT},
    ):
        _, options = module.connect(gateway.replace("wss", "ws"), **headers)
        assert isinstance(options["sock"], transport.MockSocket)
        assert options["ssl"] is None
        options["sock"].close()


def test_the_headers_of_an_older_version_are_read(mock_llm_calls: LLMMock) -> None:
    # As before websockets 15.
    class connect:
        def __init__(self, uri: str, *arguments: object) -> None:
            self.uri = uri
            self.handshake_args = arguments

        async def create_connection(self) -> str:
            return "real"

        def protocol_factory(self, uri: object) -> Any:
            return SimpleNamespace(connection_made=lambda transport: None)

    module: Any = ModuleType("websockets.asyncio.client")
    module.connect = connect
    transport.attach(module)
    gateway = "wss://gateway.corp.test/responses"
    for arguments, is_real in (
        ((None, None), True),
        ((None, USER_AGENT), False),
        (({"User-Agent": USER_AGENT}, None), False),
    ):
        connection = asyncio.run(module.connect(gateway, *arguments).create_connection())
        assert (connection == "real") is is_real


def test_aiohttp_needs_the_other_library_for_the_framing(
    mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llm_mock.boundaries.http.websockets.session", None)
    with pytest.raises(aiohttp.ClientConnectorError, match="needs the library websockets"):
        by_aiohttp(HELLO)
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


USER_AGENT = "OpenAI/Python 3.54.0"


@pytest.mark.parametrize(
    "headers",
    [
        {"User-Agent": USER_AGENT},
        [("User-Agent", USER_AGENT)],
        websockets.datastructures.Headers({"User-Agent": USER_AGENT}),
    ],
)
def test_an_sdk_is_known_by_its_user_agent(headers: Any, mock_llm_responses: LLMMock) -> None:
    url = "wss://gateway.corp.test/responses"
    assert transport.open_session(url, headers, None) is not None
    assert transport.open_session(url, None, USER_AGENT) is not None
    assert transport.open_session(url, None, None) is None
    # What the application says counts.
    assert transport.open_session(url, {"user-agent": "curl/8"}, USER_AGENT) is None


@pytest.mark.parametrize("url", [f"wss://{HOST}/v1/other", f"wss://{HOST}", f"ws://{HOST}/"])
def test_another_path_of_a_provider_is_refused(url: str, mock_llm_calls: LLMMock) -> None:
    for converse in (by_websockets, by_websockets_async):
        with pytest.raises(ConnectionRefusedError, match=f"Connection to {HOST} refused"):
            converse(url=url)
    with pytest.raises(aiohttp.WSServerHandshakeError):
        by_aiohttp(url=url)
    mock_llm_calls.problems.clear()


def make_socket() -> transport.MockSocket:
    session = transport.open_session(URL, None, None)
    assert session is not None
    return transport.MockSocket(session)


def test_a_socket_reads_what_was_sent_in_any_size(mock_llm_calls: LLMMock) -> None:
    sock = make_socket()
    sock.settimeout(0.01)
    assert sock.gettimeout() == 0.01
    assert sock.getsockname() == sock.getpeername() == ("127.0.0.1", 0)
    with pytest.raises(TimeoutError):
        sock.recv(100)
    assert sock.send(b"GET /v1/responses HTTP/1.1\r\nHost: x\r\n\r\n") == 39
    received = [sock.recv(4), sock.recv(5)]
    assert received == [b"HTTP", b"/1.1 "]
    while received[-1]:
        received.append(sock.recv(10_000))
    # The end is read again and again.
    assert sock.recv(10) == b""
    assert b"Upgrade" in b"".join(received)
    sock.close()
    sock.close()
    for use in (lambda: sock.sendall(b""), lambda: sock.recv(1)):
        with pytest.raises(OSError, match=r"closed|descriptor"):
            use()


@pytest.mark.parametrize("how", [socket.SHUT_WR, socket.SHUT_RDWR])
def test_a_socket_that_is_shut_down_has_an_end(how: int, mock_llm_calls: LLMMock) -> None:
    sock = make_socket()
    sock.settimeout(1)
    sock.shutdown(how)
    while sock.recv(1000):
        pass
    sock.close()


def test_a_transport_of_asyncio_tells_what_it_does(mock_llm_calls: LLMMock) -> None:
    async def connect() -> None:
        async with websockets.asyncio.client.connect(URL, close_timeout=0.01) as connection:
            transport: Any = connection.transport
            assert transport.get_protocol() is connection
            assert transport.get_write_buffer_size() == 0
            assert (transport.is_reading(), transport.is_closing()) == (True, False)
            transport.pause_reading()
            assert not transport.is_reading()
            transport.resume_reading()
            assert transport.is_reading()
            transport.close()
            assert (transport.is_reading(), transport.is_closing()) == (False, True)

    asyncio.run(connect())


# The server


@pytest.fixture
def server(mock_llm_responses: LLMMock) -> Iterator[MockServer]:
    with MockServer(lambda: mock_llm_responses) as server:
        yield server


def by_openai_at(server: MockServer, *turns: Turn) -> list[list[Event]]:
    client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="sk-ada")
    return by_openai_async(*turns, client=client)


def test_the_server_answers_websockets(server: MockServer, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("gpt-5", Reply(tool_calls=[ToolCall("weather", {"city": "Oslo"})]))
    mock_llm_responses.add("gpt-5", "It is sunny.", tool_result="Sunny")
    mock_llm_responses.add("gpt-5", ValueError("boom"))
    turns = ({**HELLO, "tools": [TOOL]}, give_result, HELLO)
    called, answered, failed = by_openai_at(server, *turns)
    for event in (*called, *answered, *failed):
        TypeAdapter(ResponsesServerEvent).validate_python(event)
    assert get_text(answered) == "It is sunny."
    assert failed[0]["status"] == 500
    first = mock_llm_responses.calls[0]
    assert (first.prompt, first.request.url) == ("Hello", URL)


@every_library
def test_every_library_reaches_the_server(
    converse: Converse, server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "word " * 40_000)
    url = f"{server.url}/v1/responses".replace("http", "ws")
    answers = converse(HELLO, {**HELLO, "input": "word " * 40_000}, url=url)
    assert [get_text(events) for events in answers] == ["word " * 40_000] * 2
    assert mock_llm_responses.last_call.prompt == "word " * 40_000


def test_the_server_keeps_the_pace(server: MockServer, mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=0.01, chunks_per_second=500, real_time=True)
    mock_llm_responses.add("gpt-5", Reply(chunks=["a"] * 10, latency=latency))
    mock_llm_responses.add("gpt-5", Reply("b", latency=Latency(first_chunk=1000)))
    answers = by_openai_at(server, HELLO, HELLO)
    assert [get_text(events) for events in answers] == ["a" * 10, "b"]


@pytest.mark.parametrize("misbehaviour", ["truncated-stream", "broken-stream"])
def test_the_server_drops_a_connection(
    misbehaviour: str, server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-5", "Hello there, how are you?")
    mock_llm_responses.misbehave(misbehaviour)
    with pytest.raises(ConnectionClosedError) as raised:
        by_openai_at(server, HELLO)
    assert raised.value.rcvd is None


def test_the_server_ends_with_its_connections(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-5", "Hi!")
    with MockServer(lambda: mock_llm_responses) as server:
        url = f"{server.url}/openai/v1/responses".replace("http", "ws")
        connection = websockets.sync.client.connect(url)
        connection.send(json.dumps({"type": "response.create", **HELLO}))
        connection.recv(timeout=10)
    with pytest.raises(ConnectionClosedError):
        list(connection)
    connection.close()


def test_the_server_says_that_nothing_is_mocked() -> None:
    with MockServer(lambda: None) as server:
        url = f"{server.url}/openai/v1/responses".replace("http", "ws")
        ((event,),) = by_websockets(HELLO, url=url)
    assert "No mock is active" in event["error"]["message"]


@pytest.mark.parametrize("converse", [by_websockets, by_websockets_async])
def test_the_server_needs_the_library(
    converse: Converse, server: MockServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llm_mock.boundaries.http.websockets.served", None)
    url = f"{server.url}/openai/v1/responses".replace("http", "ws")
    with pytest.raises(InvalidStatus) as raised:
        converse(HELLO, url=url)
    assert raised.value.response.status_code == 426
    body = json.loads(raised.value.response.body or b"")
    assert "pip install 'websockets>=13.1'" in body["error"]["message"]


def test_the_server_refuses_pages_of_other_hosts(
    server: MockServer, mock_llm_responses: LLMMock
) -> None:
    port = server.url.rpartition(":")[2]
    url = f"ws://rebound.test:{port}/v1/responses"
    sock = socket.create_connection(("127.0.0.1", int(port)))
    # Without it, the URL is that of a model API, and never reaches the server.
    with pass_through(), pytest.raises(InvalidStatus) as raised:
        websockets.sync.client.connect(url, sock=sock)
    assert raised.value.response.status_code == 421
    mock_llm_responses.problems.clear()


@pytest.mark.parametrize("url", [URL, GATEWAY_URL])
def test_a_connection_of_trio_is_refused(url: str, mock_llm_calls: LLMMock) -> None:
    trio = pytest.importorskip("trio")
    client = pytest.importorskip("websockets.trio.client")

    async def connect() -> None:
        async with client.connect(url):
            pass

    with pytest.raises(ConnectionRefusedError, match=r"Connection to .* refused"):
        trio.run(connect)
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()
