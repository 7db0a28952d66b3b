"""Sessions over WebSockets have the events that are checked in, in each field.

`REWRITE_EXPECTED=1` rewrites the files of the folder `sessions`; read the difference.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.templates import rate_limit
from tests.boundaries.http import test_realtime as realtime
from tests.boundaries.http import test_websockets as responses
from tests.boundaries.http.test_recorded_answers import fix
from tests.expected import compare_json

FOLDER = Path(__file__).with_name("sessions")
HELLO = realtime.HELLO
CALL = ToolCall("weather", {"city": "Oslo"}, tool_call_id="call_1")
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "Sunny"}
MODALITIES = {"type": "realtime", "output_modalities": ["text"]}
USAGE = {
    "input_tokens": 7,
    "output_tokens": 3,
    "details": {"input_tokens_details": {"cached_tokens": 2}},
}
OUT_OF_BAND = {
    "conversation": "none",
    "input": [{"type": "item_reference", "id": "first"}],
    "metadata": {"a": "b"},
    "max_output_tokens": 50,
}


class Session(NamedTuple):
    """The replies of the mock, and the events that the client sends."""

    configure: Callable[[LLMMock], object]
    sent: tuple[dict[str, Any], ...]


def update(**session: Any) -> dict[str, Any]:
    return {"type": "session.update", "session": {**MODALITIES, **session}}


def misbehave(name: str) -> Callable[[LLMMock], object]:
    def configure(mock: LLMMock) -> None:
        mock.set("*", "Hello there, how are you?")
        mock.misbehave(name)

    return configure


REALTIME = {
    "a text": Session(
        lambda mock: mock.set("*", Reply(chunks=["Hello ", "there!"])),
        (*HELLO, realtime.make_message("Hi!", "assistant"), realtime.ASK),
    ),
    "a tool": Session(
        lambda mock: mock.script("*", Reply("See:", tool_calls=[CALL]), "Sun."),
        (
            update(tools=[realtime.TOOL], instructions="Be kind.", audio={"output": None}),
            realtime.make_message("How is the weather?"),
            realtime.ASK,
            {"type": "conversation.item.create", "item": RESULT},
            realtime.ASK,
        ),
    ),
    "a refusal": Session(lambda mock: mock.set("*", Reply(refusal="No.", reasoning="Hm")), HELLO),
    "usage": Session(
        lambda mock: mock.set("*", Reply("Hi!", usage=USAGE)),
        HELLO,
    ),
    "no usage": Session(lambda mock: mock.set("*", Reply("Hi!", usage=None)), HELLO),
    "a limit": Session(lambda mock: mock.set("*", Reply("He", finish_reason="length")), HELLO),
    "a filter": Session(
        lambda mock: mock.set("*", Reply("He", finish_reason="content_filter")), HELLO
    ),
    "too many requests": Session(lambda mock: mock.set("*", rate_limit()), HELLO),
    "an unknown model": Session(lambda mock: mock.set_unknown("*"), HELLO),
    "an error event": Session(misbehave("error-event"), HELLO),
    "out of band": Session(
        lambda mock: mock.set("*", "Hi!"),
        (
            update(),
            realtime.make_message("First", id="first"),
            {"type": "response.create", "response": OUT_OF_BAND},
            realtime.ASK,
        ),
    ),
    "places": Session(
        lambda mock: mock.set("*", "Hi!"),
        (
            update(),
            realtime.make_message("two", id="two"),
            {**realtime.make_message("one", id="one"), "previous_item_id": "root"},
            {**realtime.make_message("between", id="between"), "previous_item_id": "one"},
            {"type": "conversation.item.retrieve", "item_id": "two"},
            {"type": "conversation.item.delete", "item_id": "two"},
            realtime.make_message("three"),
        ),
    ),
    "errors": Session(
        lambda mock: mock.set("*", "Hi!"),
        (
            realtime.ASK,
            update(),
            {"type": "session.refresh", "event_id": "mine"},
            {"type": 5},
            {"type": "session.update"},
            realtime.TRANSCRIPTION,
            {"type": "conversation.item.create"},
            {"type": "conversation.item.create", "item": realtime.AUDIO_ITEM},
            {**realtime.make_message("x"), "previous_item_id": "no"},
            {"type": "conversation.item.retrieve", "item_id": "no"},
            {"type": "conversation.item.delete", "item_id": "no"},
            {"type": "response.create", "response": {"input": [realtime.AUDIO_ITEM]}},
            {"type": "response.create", "response": {"output_modalities": ["audio"]}},
            {"type": "response.cancel"},
            {"type": "input_audio_buffer.append", "audio": "AAAA"},
            {"type": "input_audio_buffer.commit"},
            {"type": "input_audio_buffer.clear"},
            {"type": "output_audio_buffer.clear"},
            {"type": "conversation.item.truncate"},
        ),
    ),
}
"""Sessions of Realtime."""
RESPONSES = {
    "a text": Session(
        lambda mock: mock.set("*", Reply(chunks=["Hello ", "there!"])),
        (responses.HELLO, {**responses.HELLO, "stream_id": "b"}),
    ),
    "a tool": Session(
        lambda mock: mock.set("*", Reply("See:", tool_calls=[CALL])),
        ({**responses.HELLO, "tools": [responses.TOOL]},),
    ),
    "a preparation": Session(
        lambda mock: mock.set("*", "Hi!"),
        (
            {**responses.HELLO, "generate": False},
            {**responses.HELLO, "prompt_cache_options": {"prewarm": True}, "stream_id": "b"},
            responses.HELLO,
        ),
    ),
    "too many requests": Session(
        lambda mock: mock.set("*", rate_limit()),
        (responses.HELLO, {**responses.HELLO, "stream_id": "b"}),
    ),
    "errors": Session(
        lambda mock: mock.set("*", "Hi!"),
        (
            {"type": "response.other"},
            {**responses.HELLO, "background": True, "stream_id": "b"},
            {"model": "gpt-5"},
            {**responses.HELLO, "previous_response_id": "resp_x"},
        ),
    ),
    "an error event": Session(misbehave("error-event"), (responses.HELLO,)),
}
"""Sessions of Responses."""
NUMBERS = re.compile(r"(?<=_mock_)\d+$|(?<=_rt)\d+(?=_)")
"""The parts of ids that count the sessions of the process."""
LINES = re.compile(r"(?<=\.py:)\d+(?=\.$)")
"""The line of the tests at the end of a refusal."""


def mask(value: Any) -> Any:
    """Return JSON values without the numbers of sessions, but with those of their events."""
    if isinstance(value, dict):
        return {name: mask(item) for name, item in value.items()}
    if isinstance(value, list):
        return [mask(item) for item in value]
    if isinstance(value, str) and not value.startswith("event_"):
        return NUMBERS.sub("n", value)
    return value


def compare(name: str, received: list[Any], mock: LLMMock) -> None:
    """Compare the events of a session with the checked-in ones, and its refusals."""
    refusals = [LINES.sub("n", refusal) for refusal in mock.refusals]
    mock.refusals.clear()
    mock.problems.clear()
    compare_json(FOLDER / f"{name}.json", mask(fix({"events": received, "refusals": refusals})))


@pytest.mark.parametrize("name", REALTIME)
def test_a_realtime_session_is_as_recorded(name: str, mock_llm_responses: LLMMock) -> None:
    session = REALTIME[name]
    session.configure(mock_llm_responses)
    received = realtime.by_websockets(*session.sent)
    compare(f"realtime-{name.replace(' ', '-')}", received, mock_llm_responses)


@pytest.mark.parametrize("name", RESPONSES)
def test_a_session_of_responses_is_as_recorded(name: str, mock_llm_responses: LLMMock) -> None:
    session = RESPONSES[name]
    session.configure(mock_llm_responses)
    received = responses.by_websockets(*session.sent)
    compare(f"responses-{name.replace(' ', '-')}", received, mock_llm_responses)
