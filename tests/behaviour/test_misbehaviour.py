"""Misbehaviours: each change to a reply, in every way to call a model."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

import llm
import openai
import pytest
from llm.models import ToolCall
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from llm_mock import (
    BrokenToolCall,
    EndlessToolCalls,
    LLMMock,
    Misbehaviour,
    Reply,
    UnexpectedCall,
    UnknownMisbehaviour,
    create_mock_get_model,
)
from llm_mock.behaviour.catalogue import ANOTHER_LANGUAGE, CATALOGUE
from llm_mock.behaviour.provider_errors import make_provider_error
from llm_mock.core.settings import Settings

MODEL = "gpt-4o-mini"
ERRORS = {
    "rate-limit": openai.RateLimitError,
    "overloaded": openai.InternalServerError,
    "timeout": openai.APITimeoutError,
    "context-overflow": openai.BadRequestError,
    "invalid-key": openai.AuthenticationError,
}


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    age: int


class Team(BaseModel):
    title: str | None = None
    members: list[Person]


ADA = {"name": "Ada", "age": 36}


def weather(city: str) -> str:
    return f"{city}: sunny"


def now() -> str:
    return "noon"


def misbehaving(name: str, reply: Any = None, times: int | None = None) -> LLMMock:
    """Return a mock that answers with a reply, but misbehaves."""
    get_model = create_mock_get_model({} if reply is None else {MODEL: reply})
    get_model.misbehave(name, times)
    return get_model


def text_of(name: str, reply: Any, **arguments: Any) -> str:
    """Return the text of a misbehaving model's answer, the same in every way to ask it."""

    async def ask(get_model: LLMMock) -> str:
        return str(await get_model.get_async_model(MODEL).prompt("Hi", **arguments).text())

    get_model = misbehaving(name, reply)
    model = get_model(MODEL)
    # Only a stream can end too early.
    is_streamed = name == "truncated-stream"
    texts = [
        model.prompt("Hi", **arguments).text(),
        "".join(model.prompt("Hi", **arguments)),
        model.prompt("Hi", stream=is_streamed, **arguments).text(),
        model.conversation().prompt("Hi", **arguments).text(),
        asyncio.run(ask(get_model)),
    ]
    assert len(set(texts)) == 1
    assert calls_of(get_model) in ([], [1, 2, 3, 4, 5])
    return str(texts[0])


def calls_of(get_model: LLMMock) -> list[int]:
    """Return the numbers of the calls that misbehaved."""
    assert get_model.misbehaviour is not None
    return get_model.misbehaviour.calls


def is_unchanged(name: str, reply: Any, **arguments: Any) -> bool:
    """Return whether a misbehaviour does not apply."""
    get_model = misbehaving(name, reply)
    text = get_model(MODEL).prompt("Hi", **arguments).text()
    unchanged = (
        text == create_mock_get_model({MODEL: reply})(MODEL).prompt("Hi", **arguments).text()
    )
    assert unchanged == (not calls_of(get_model))
    return unchanged


# The catalogue


def test_the_catalogue_has_what_the_field_knows() -> None:
    assert list(CATALOGUE) == [
        *(
            "fenced-json",
            "prose-around-json",
            "truncated-json",
            "wrong-types",
            "missing-field",
            "extra-field",
        ),
        *("empty-text", "refusal", "wrong-language"),
        *("unknown-tool", "bad-tool-arguments", "endless-tool-calls", "repeated-answer"),
        *(
            "broken-stream",
            "truncated-stream",
            "malformed-chunk",
            "split-frames",
            "stalled",
            "slow-first-token",
            "error-event",
        ),
        *("content-filter", "length"),
        *("rate-limit", "overloaded", "timeout", "context-overflow", "invalid-key"),
    ]
    for kind in CATALOGUE.values():
        assert kind.description.endswith(".")
        assert "\n" not in kind.description


@pytest.mark.parametrize(
    ("name", "nearest"),
    [
        ("rate_limit", "rate-limit"),
        ("fence", "fenced-json"),
        ("empty", "empty-text"),
        ("slow", "slow-first-token"),
        ("chunk", "malformed-chunk"),
    ],
)
def test_an_unknown_name_is_refused_and_the_nearest_named(name: str, nearest: str) -> None:
    with pytest.raises(
        UnknownMisbehaviour, match=f"Unknown misbehaviour .*Did you mean '{nearest}"
    ):
        Misbehaviour(name)


@pytest.mark.parametrize("name", ["", "zzz", 3])
def test_no_name_is_suggested_that_is_not_near(name: Any) -> None:
    with pytest.raises(UnknownMisbehaviour, match=r"Unknown misbehaviour .*\. The command"):
        Misbehaviour(name)


@pytest.mark.parametrize("times", [0, -1, 1.5, "1"])
@pytest.mark.parametrize("make", [Misbehaviour, create_mock_get_model().misbehave])
def test_it_needs_at_least_one_call(make: Callable[..., object], times: Any) -> None:
    with pytest.raises(UnknownMisbehaviour, match="times is "):
        make("refusal", times)


def test_a_misbehaviour_says_what_it_is() -> None:
    misbehaviour = Misbehaviour("refusal")
    assert (misbehaviour.name, misbehaviour.description) == (
        "refusal",
        "The model declines to answer, in plain text.",
    )
    assert repr(misbehaviour) == "<Misbehaviour refusal: applied to calls []>"


# JSON


def test_fenced_json_is_valid_inside_its_fence() -> None:
    for arguments in ({}, {"schema": Person}):
        text = text_of("fenced-json", ADA, **arguments)
        assert text.startswith("```json\n")
        assert json.loads(text.removeprefix("```json\n").removesuffix("\n```")) == ADA


def test_prose_around_json_holds_the_json() -> None:
    text = text_of("prose-around-json", Person(name="Ada", age=36), schema=Person)
    before, rest = text.split("{", 1)
    inside, after = rest.rsplit("}", 1)
    assert before.strip()
    assert after.strip()
    assert json.loads("{" + inside + "}") == ADA


@pytest.mark.parametrize("data", [{}, [], ADA, [ADA, ADA], {"a": {"b": [1]}}], ids=json.dumps)
def test_truncated_json_is_no_json(data: Any) -> None:
    text = text_of("truncated-json", data)
    assert json.dumps(data).startswith(text)
    with pytest.raises(json.JSONDecodeError):
        json.loads(text)


def test_json_in_a_text_is_json_too() -> None:
    assert text_of("fenced-json", '{"a": 1}') == '```json\n{\n  "a": 1\n}\n```'


@pytest.mark.parametrize("name", [name for name, kind in CATALOGUE.items() if "JSON" in kind.needs])
@pytest.mark.parametrize("reply", ["Hello", "3", '"text"', None], ids=str)
def test_a_text_has_no_json_to_break(name: str, reply: Any) -> None:
    assert is_unchanged(name, {"success": True} if reply is None else reply) == (reply is not None)
    get_model = misbehaving(name)  # the default reply to a call for text is not meant as data
    assert get_model(MODEL).prompt("Hi").text() == '{"success": true}'


@pytest.mark.parametrize("name", ["wrong-types", "missing-field", "extra-field"])
def test_a_structured_answer_is_made_wrong(name: str) -> None:
    with pytest.raises(ValidationError):
        Person.model_validate_json(text_of(name, ADA, schema=Person))
    with pytest.raises(ValidationError):
        Person.model_validate_json(text_of(name, ADA, schema=Person.model_json_schema()))
    assert json.loads(text_of(name, ADA)) != ADA


@pytest.mark.parametrize("name", ["wrong-types", "missing-field"])
def test_an_inner_object_is_made_wrong_where_the_outer_one_cannot_be(name: str) -> None:
    class Loose(BaseModel):
        people: Any = None
        first: Person | None = None

    text = text_of(name, {"people": 1, "first": ADA}, schema=Loose)
    with pytest.raises(ValidationError):
        Loose.model_validate_json(text)
    team = text_of(name, [{"members": [ADA]}])
    assert isinstance(json.loads(team), list)


def test_every_value_with_a_type_gets_another() -> None:
    class Everything(BaseModel):
        text: str
        number: float
        flag: bool
        nothing: None
        items: list[int]
        inner: Person
        anything: Any

    data = {
        "text": "a",
        "number": 1.5,
        "flag": True,
        "nothing": None,
        "items": [1, 2],
        "inner": ADA,
        "anything": "free",
    }
    assert json.loads(text_of("wrong-types", data, schema=Everything)) == {
        "text": ["a"],
        "number": "about 1.5",
        "flag": "probably true",
        "nothing": {"value": None},
        "items": "1, 2",
        "inner": '{"name": "Ada", "age": 36}',
        "anything": "free",
    }


def test_a_type_that_allows_the_usual_mistake_gets_another_one() -> None:
    class Tags(BaseModel):
        tags: str | list[str]

    assert json.loads(text_of("wrong-types", {"tags": "x"}, schema=Tags)) == {
        "tags": {"value": "x"}
    }


def test_only_a_required_field_is_missing() -> None:
    assert json.loads(text_of("missing-field", {"title": "A", "members": []}, schema=Team)) == {
        "title": "A"
    }


@pytest.mark.parametrize("name", ["wrong-types", "missing-field"])
def test_a_schema_that_takes_anything_cannot_be_broken(name: str) -> None:
    assert is_unchanged(name, {"a": "b"}, schema={"type": "object"})
    assert is_unchanged(name, {}, schema={"type": "object"})


def test_an_extra_field_has_a_name_of_its_own() -> None:
    assert list(json.loads(text_of("extra-field", ADA))) == ["name", "age", "explanation"]
    taken = {"explanation": 1, "comment": 2, "additional_notes": 3}
    assert len(json.loads(text_of("extra-field", taken))) == 4
    assert json.loads(text_of("extra-field", [ADA, ADA]))[1] == ADA
    assert is_unchanged("extra-field", [1, 2])


def test_nothing_configured_for_a_schema_is_broken_too() -> None:
    get_model = misbehaving("missing-field")
    text = get_model(MODEL).prompt("Hi", schema=Person).text()
    assert list(json.loads(text)) == ["age"]


def test_a_schema_that_no_instance_is_found_for_has_the_default_reply_broken() -> None:
    get_model = misbehaving("fenced-json")
    impossible = {"type": "object", "properties": {"a": False}, "required": ["a"]}
    assert "success" in get_model(MODEL).prompt("Hi", schema=impossible).text()


# Text


@pytest.mark.parametrize("reply", ["Hello", ADA, Reply(chunks=["a", "b"])], ids=str)
def test_any_answer_may_be_empty_or_a_refusal(reply: Any) -> None:
    assert text_of("empty-text", reply) == ""
    assert text_of("refusal", reply) == "I'm sorry, but I can't help with that."


def test_another_language_takes_the_place_of_texts() -> None:
    class Label(BaseModel):
        label: str = Field(pattern="^(spam|ham)$")
        reasons: list[str]
        score: float

    assert text_of("wrong-language", "Hello") == ANOTHER_LANGUAGE
    data = {"label": "spam", "reasons": ["a", "b"], "score": 1}
    assert json.loads(text_of("wrong-language", data, schema=Label)) == {
        "label": "spam",
        "reasons": [ANOTHER_LANGUAGE, ANOTHER_LANGUAGE],
        "score": 1,
    }
    assert json.loads(text_of("wrong-language", [{"a": "x"}, "y"])) == [
        {"a": ANOTHER_LANGUAGE},
        ANOTHER_LANGUAGE,
    ]
    assert is_unchanged("wrong-language", {"score": 1})
    assert is_unchanged("wrong-language", "")


def test_an_answer_is_repeated_whatever_is_asked() -> None:
    get_model = create_mock_get_model()
    get_model.misbehave("repeated-answer")
    for reply in ("first", "second", ADA):
        get_model.add(MODEL, reply)
    get_model.set("other", "of another model")
    get_model.add(MODEL, "first")
    texts = [
        get_model(model).prompt("Hi").text() for model in (MODEL, "other", MODEL, MODEL, MODEL)
    ]
    assert texts == ["first", "of another model", "first", "first", "first"]
    assert calls_of(get_model) == [3, 4]


def test_repeated_data_are_data() -> None:
    get_model = create_mock_get_model()
    get_model.misbehave("repeated-answer")
    get_model.add(MODEL, ADA)
    get_model.add(MODEL, "second")
    assert [get_model(MODEL).prompt("Hi").json() for _ in range(2)] == [ADA, ADA]


def test_a_changed_reply_costs_what_it_was_to_cost() -> None:
    reply = Reply(data=ADA, usage={"input_tokens": 3, "output_tokens": 4}, resolved_model="m-2026")
    response = misbehaving("fenced-json", reply)(MODEL).prompt("Hi")
    response.text()
    assert (response.input_tokens, response.output_tokens, response.resolved_model) == (
        3,
        4,
        "m-2026",
    )


# Tools


def chain(get_model: LLMMock, asynchronous: bool, tools: Any = (weather,), **arguments: Any) -> Any:
    """Return the text of a chain."""
    if not asynchronous:
        return get_model(MODEL).conversation().chain("Hi", tools=list(tools), **arguments).text()

    async def ask() -> str:
        conversation = get_model.get_async_model(MODEL).conversation()
        return str(await conversation.chain("Hi", tools=list(tools), **arguments).text())

    return asyncio.run(ask())


def with_tool_call() -> LLMMock:
    get_model = create_mock_get_model()
    get_model.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Rome"}, "call_7")]))
    get_model.add(MODEL, lambda prompt: prompt.tool_results[0].output)
    return get_model


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("unknown-tool", 'Error: tool "weather_tool" does not exist'),
        ("bad-tool-arguments", "Error: weather() got an unexpected keyword argument 'city_value'"),
    ],
)
def test_a_tool_is_called_wrongly_and_the_chain_goes_on(
    name: str, result: str, asynchronous: bool
) -> None:
    for get_model in (
        with_tool_call(),
        create_mock_get_model({MODEL: lambda prompt: _result(prompt)}),
    ):
        get_model.misbehave(name)
        skipped = (
            asynchronous and name == "unknown-tool" and not hasattr(llm, "Message")
        )  # by llm before 0.32
        assert chain(get_model, asynchronous) == ("" if skipped else result)
        assert calls_of(get_model) == [1]
        assert not list(get_model.problems)


def _result(prompt: llm.Prompt) -> str:
    return prompt.tool_results[0].output if prompt.tool_results else "no tool was called"


@pytest.mark.parametrize("name", ["unknown-tool", "bad-tool-arguments"])
def test_each_tool_call_of_a_script_is_wrong(name: str) -> None:
    get_model = create_mock_get_model()
    call = ToolCall("weather", {"city": "Rome"})
    get_model.script(MODEL, Reply(tool_calls=[call]), Reply(tool_calls=[call]), "Sunny.")
    get_model.misbehave(name)
    assert chain(get_model, False) == "Sunny."
    assert calls_of(get_model) == [1, 2]


def test_a_tool_without_arguments_gets_one() -> None:
    get_model = misbehaving("bad-tool-arguments", _result)
    assert (
        chain(get_model, False, tools=[now])
        == "Error: now() got an unexpected keyword argument 'input_value'"
    )


def test_a_name_that_is_offered_is_no_unknown_tool() -> None:
    def weather_tool() -> str:
        return "called"

    get_model = misbehaving("unknown-tool", _result)
    assert (
        chain(get_model, False, tools=[weather, weather_tool])
        == 'Error: tool "weather_tool_tool" does not exist'
    )


def test_arguments_that_cannot_be_generated_are_left_out() -> None:
    get_model = misbehaving("endless-tool-calls", "x", times=1)
    tool = llm.Tool(
        "look_up", input_schema={"type": "object", "properties": {"a": False}, "required": ["a"]}
    )
    assert get_model(MODEL).prompt("Hi", tools=[tool]).tool_calls()[0].arguments == {}
    tool = llm.Tool("look_up", input_schema={"type": "string"})
    get_model = misbehaving("endless-tool-calls", "x", times=1)
    assert get_model(MODEL).prompt("Hi", tools=[tool]).tool_calls()[0].arguments == {}


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize("limit", [1, 3])
def test_endless_tool_calls_meet_the_limit_of_the_chain(asynchronous: bool, limit: int) -> None:
    get_model = with_tool_call()
    get_model.misbehave("endless-tool-calls")
    get_model.set(MODEL, "an answer")
    with pytest.raises(ValueError, match=f"Chain limit of {limit} exceeded"):
        chain(get_model, asynchronous, chain_limit=limit)
    calls = [call["response"]["tool_calls"] for call in get_model.calls]
    assert calls == [[{"name": "weather", "arguments": {"city": "Rome"}}]] * limit


def test_an_application_without_a_limit_is_stopped_and_told() -> None:
    get_model = misbehaving("endless-tool-calls", "an answer")
    with pytest.raises(EndlessToolCalls, match=r"called a tool 100 times, and.*chain_limit=10"):
        chain(get_model, False)
    assert len(get_model.problems) == 1


def test_a_call_that_was_scripted_for_tools_that_are_gone_is_not_repeated() -> None:
    get_model = misbehaving(
        "endless-tool-calls", Reply("x", tool_calls=[BrokenToolCall("weather", {"city": "Rome"})])
    )
    (call,) = get_model(MODEL).prompt("Hi", tools=[now]).tool_calls()
    assert (call.name, call.arguments) == ("now", {})


@pytest.mark.parametrize(
    "name", [name for name, kind in CATALOGUE.items() if "tools" in kind.needs]
)
def test_without_tools_none_is_called(name: str) -> None:
    assert is_unchanged(name, "Hello")


# Errors


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_is_the_providers(name: str) -> None:
    def ask(way: Callable[[LLMMock], Any]) -> None:
        get_model = misbehaving(name, "Hello")
        with pytest.raises(ERRORS[name]):
            way(get_model)
        assert get_model.calls[0]["error"]
        assert len(get_model.calls) == 1

    async def ask_async(get_model: LLMMock) -> None:
        await get_model.get_async_model(MODEL).prompt("Hi").text()

    ask(lambda get_model: get_model(MODEL).prompt("Hi"))
    ask(lambda get_model: list(get_model(MODEL).prompt("Hi", lazy=True)))
    ask(lambda get_model: get_model(MODEL).conversation().prompt("Hi").text())
    ask(lambda get_model: get_model(MODEL).chain("Hi", tools=[weather]).text())
    ask(lambda get_model: asyncio.run(ask_async(get_model)))


def test_an_error_leaves_the_queued_reply_to_the_call_that_tries_again() -> None:
    get_model = misbehaving("rate-limit", times=2)
    get_model.add(MODEL, "Hello")
    for _ in range(2):
        with pytest.raises(openai.RateLimitError) as caught:
            get_model(MODEL).prompt("Hi")
        assert caught.value.response.headers["retry-after"] == "1"
    assert get_model(MODEL).prompt("Hi").text() == "Hello"
    assert calls_of(get_model) == [1, 2]


def test_other_misbehaviour_uses_the_queued_reply_up() -> None:
    get_model = misbehaving("refusal", times=1)
    get_model.add(MODEL, "first")
    get_model.add(MODEL, "second")
    assert [get_model(MODEL).prompt("Hi").text() for _ in range(2)] == [
        "I'm sorry, but I can't help with that.",
        "second",
    ]


def test_an_error_that_the_test_configured_stays() -> None:
    get_model = misbehaving("refusal")
    get_model.set_error(MODEL, ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        get_model(MODEL).prompt("Hi")


@pytest.mark.parametrize(
    ("reply", "before"),
    [
        ("Hello!", ["Hel"]),
        ("H", ["H"]),
        (ADA, ['{"name": "Ada']),
        (Reply(chunks=["a", "b", "c", "d", "e"]), ["a", "b", "c"]),
        (Reply(chunks=["ab"]), ["a"]),
        (Reply(chunks=["a", "bcd"]), ["a"]),
    ],
    ids=str,
)
def test_a_stream_breaks_half_way(reply: Any, before: list[str]) -> None:
    broken = type(make_provider_error(MODEL, "broken_stream"))

    async def read_async(asked: Any) -> None:
        async for chunk in asked.prompt("Hi"):
            chunks.append(chunk)

    def read_from(asked: Any) -> None:
        for chunk in asked.prompt("Hi"):
            chunks.append(chunk)

    ways: list[Callable[[LLMMock], None]] = [
        lambda get_model: read_from(get_model(MODEL)),
        lambda get_model: read_from(get_model(MODEL).conversation()),
        lambda get_model: asyncio.run(read_async(get_model.get_async_model(MODEL))),
    ]
    for read in ways:
        get_model = misbehaving("broken-stream", reply)
        chunks = list[str]()
        with pytest.raises(broken, match="peer closed connection"):
            read(get_model)
        assert chunks == before
        assert get_model.calls[0]["response"] == "".join(before)
    assert is_unchanged("broken-stream", "")


def test_without_a_stream_the_connection_of_the_plugin_breaks_before_any_text() -> None:
    get_model = misbehaving("broken-stream", "Hello!")
    with pytest.raises(openai.APIConnectionError):
        get_model(MODEL).prompt("Hi", stream=False).text()


@pytest.mark.parametrize("name", ["truncated-stream", "error-event", "stalled"])
def test_what_happens_to_a_stream_does_not_happen_without_one(name: str) -> None:
    assert misbehaving(name, "Hello")(MODEL).prompt("Hi", stream=False).text() == "Hello"


@pytest.mark.parametrize("name", ["truncated-stream", "content-filter", "length"])
def test_half_of_an_answer_comes_without_an_error(name: str) -> None:
    assert text_of(name, Reply(chunks=["Once ", "upon ", "a ", "time"])) == "Once upon "
    assert text_of(name, "Hello") == "Hel"
    assert is_unchanged(name, "")


def test_a_provider_that_is_overloaded_within_a_stream_raises_its_error() -> None:
    response = misbehaving("error-event", "Hello")(MODEL).prompt("Hi", lazy=True)
    pieces = iter(response)
    assert next(pieces) == "Hel"
    with pytest.raises(openai.InternalServerError, match="overloaded"):
        next(pieces)


def test_a_stream_that_stalls_times_out_in_the_sdk_of_the_plugin() -> None:
    response = misbehaving("stalled", "Hello")(MODEL).prompt("Hi", lazy=True)
    pieces = iter(response)
    assert next(pieces) == "Hel"
    with pytest.raises(openai.APITimeoutError):
        next(pieces)


def test_a_slow_answer_is_the_same_on_the_virtual_clock() -> None:
    get_model = misbehaving("slow-first-token", Person(name="Ada", age=36))
    response = get_model(MODEL).prompt("Hi")
    assert response.json() == {"name": "Ada", "age": 36}
    assert 60_000 <= response.duration_ms() < 120_000


def test_an_event_that_is_no_json_is_nothing_that_llm_has() -> None:
    assert is_unchanged("malformed-chunk", "Hello")
    assert is_unchanged("split-frames", "Hello")


# In the mock


def test_a_wrong_reply_is_not_reported_as_one_that_the_test_got_wrong(
    recwarn: pytest.WarningsRecorder,
) -> None:
    for name in CATALOGUE:
        get_model = LLMMock(
            {MODEL: Person(name="Ada", age=36)}, settings=Settings(schema_check="error")
        )
        get_model.misbehave(name)
        if name not in (*ERRORS, "broken-stream", "error-event", "stalled"):
            get_model(MODEL).prompt("Hi", schema=Person, tools=[weather]).text()
        assert not get_model.problems
    assert not list(recwarn)


def test_a_reply_that_stays_as_it_was_is_still_checked() -> None:
    get_model = misbehaving("unknown-tool", {"name": 3})
    with pytest.warns(match="violates the schema"):
        get_model(MODEL).prompt("Hi", schema=Person).text()


def test_an_unexpected_call_stays_unexpected() -> None:
    get_model = LLMMock(settings=Settings(strict="error"))
    get_model.misbehave("refusal")
    with pytest.raises(UnexpectedCall):
        get_model(MODEL).prompt("Hi")


def test_replies_may_be_unused() -> None:
    get_model = misbehaving("invalid-key")
    get_model.add(MODEL, "Hello")
    get_model.assert_all_replies_used()
    get_model.misbehaviour = None
    assert get_model.unused_replies()


def test_a_reply_function_is_changed_too_sync_and_async() -> None:
    async def function(prompt: llm.Prompt) -> dict[str, Any]:
        return ADA

    assert text_of("fenced-json", function).startswith("```json")
    assert text_of("fenced-json", lambda prompt: ADA).startswith("```json")


def test_threads_share_the_number_of_times() -> None:
    get_model = misbehaving("refusal", "Hello", times=5)
    threads = [threading.Thread(target=lambda: get_model(MODEL).prompt("Hi")) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls_of(get_model)) == 5
    refused = [call for call in get_model.calls if call["response"] != "Hello"]
    assert sorted(call["number"] for call in refused) == sorted(calls_of(get_model))


ASK = """
import llm
for _ in range(3):
    try:
        print(llm.get_model("gpt-4o-mini").prompt("Hi").text())
    except Exception as error:
        print(type(error).__name__)
"""


def test_other_processes_misbehave_too(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set(MODEL, "Hello")
    environment = mock_llm_calls.environment()
    misbehaviour = mock_llm_calls.misbehave("rate-limit", times=2)
    command = [sys.executable, "-c", ASK]
    output = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert output.split() == ["RateLimitError", "RateLimitError", "Hello"]
    assert len(mock_llm_calls.calls) == 3
    assert misbehaviour.calls == [1, 2]


@pytest.mark.parametrize(
    ("name", "data", "text"),
    [
        ("fenced-json", {"city": "Köln"}, '```json\n{\n  "city": "Köln"\n}\n```'),
        ("extra-field", {}, '{"explanation": "I chose this because it fits the request best."}'),
        (
            "extra-field",
            {"explanation": 1, "comment": 2, "additional_notes": 3},
            '{"explanation": 1, "comment": 2, "additional_notes": 3, "notes_on_the_answer": '
            '"I chose this because it fits the request best."}',
        ),
        ("truncated-json", {"city": "Rom"}, '{"city": "'),
    ],
)
def test_the_text_of_changed_data_is_what_a_model_would_write(
    name: str, data: object, text: str
) -> None:
    assert text_of(name, data) == text


@pytest.mark.parametrize(
    ("value", "likeliest"),
    [
        ("Rom", ["Rom"]),
        (True, "probably true"),
        (3, "about 3"),
        (1.5, "about 1.5"),
        ([1, "a"], "1, a"),
        ({"city": "Köln"}, '{"city": "Köln"}'),
        (None, {"value": None}),
    ],
)
def test_a_wrong_type_is_what_a_model_writes_instead(value: Any, likeliest: Any) -> None:
    data = {"value": value}
    schemas = {str: "string", bool: "boolean", int: "integer", float: "number"}
    others = {list: "array", dict: "object", type(None): "null"}
    kind = {**schemas, **others}[type(value)]
    schema = {"type": "object", "properties": {"value": {"type": kind}}, "required": ["value"]}
    changed = json.loads(text_of("wrong-types", data, schema=schema))
    assert changed == {"value": likeliest}
    if isinstance(value, dict):
        assert "Köln" in text_of("wrong-types", data, schema=schema)
