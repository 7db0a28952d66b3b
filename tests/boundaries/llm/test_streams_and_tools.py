"""Streams, tool calls, reasoning and several turns: `llm`'s own machinery, fed by the script."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import llm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llm.models import Toolbox, ToolCall

from llm_mock import (
    BrokenToolCall,
    EndlessToolCalls,
    Event,
    InvalidReply,
    InvalidToolCall,
    LLMMock,
    LLMTooOld,
    MockLLMModel,
    Reply,
    create_mock_get_model,
)
from llm_mock import ToolCall as OwnToolCall

NEW_LLM = hasattr(llm, "Message")
new_llm = pytest.mark.skipif(not NEW_LLM, reason="stream events came with llm 0.32")


def weather(city: str, days: int = 1) -> str:
    return f"{city}: sunny for {days}"


def ask_everywhere(get_model: LLMMock, **arguments: Any) -> list[Any]:
    """Return the responses of one question asked in every way, each read to its end."""

    async def ask(stream: bool) -> Any:
        response = get_model.get_async_model("m").prompt("Hi", stream=stream, **arguments)
        await response.text()
        return await response.to_sync_response()

    model = get_model("m")
    responses: list[Any] = []
    for stream in (True, False):
        responses += [model.prompt("Hi", stream=stream, **arguments), asyncio.run(ask(stream))]
        responses += [model.conversation().prompt("Hi", stream=stream, **arguments)]
    for response in responses:
        response.text()
    return responses


def test_the_same_reply_gives_the_same_result_everywhere() -> None:
    reply = Reply(
        chunks=["It ", "is ", "sunny."],
        tool_calls=[
            ToolCall("weather", {"city": "Rome"}, "c1"),
            ToolCall("weather", {"city": "Oslo", "days": 2}, "c2"),
        ],
        usage={"input_tokens": 3, "output_tokens": 4},
        resolved_model="m-2026",
        response_json={"id": "r1"},
        attachments=[llm.Attachment(type="image/png", content=b"png")],
    )
    get_model = create_mock_get_model({"m": reply})
    for response in ask_everywhere(get_model, tools=[weather]):
        assert str(response) == "It is sunny."
        assert response.tool_calls() == list(reply.tool_calls)
        assert (response.input_tokens, response.output_tokens) == (3, 4)
        assert (response.resolved_model, response.response_json) == ("m-2026", {"id": "r1"})
        assert [attachment.content for attachment in response.attachments] == [b"png"]


@new_llm
def test_reasoning_text_and_tool_calls_stream_as_events() -> None:
    reply = Reply(
        "Sunny.", reasoning="Look it up.", tool_calls=[ToolCall("weather", {"city": "Rome"})]
    )
    get_model = create_mock_get_model({"m": reply})
    expected = [
        ("reasoning", "Look it up.", None),
        ("text", "Sunny.", None),
        ("tool_call_name", "weather", "call_1_1"),
        ("tool_call_args", '{"city": "Rome"}', "call_1_1"),
    ]
    response = get_model("m").prompt("Hi", tools=[weather])
    assert [
        (event.type, event.chunk, event.tool_call_id) for event in response.stream_events()
    ] == expected

    async def events() -> list[Any]:
        asked = get_model.get_async_model("m").prompt("Hi", tools=[weather])
        return [(event.type, event.chunk) async for event in asked.astream_events()]

    assert asyncio.run(events()) == [(kind, chunk) for kind, chunk, _ in expected]
    (message,) = response.messages()
    assert [type(part).__name__ for part in message.parts] == [
        "ReasoningPart",
        "TextPart",
        "ToolCallPart",
    ]


def stream_event(**fields: Any) -> Any:
    from llm.parts import StreamEvent

    return StreamEvent(**fields)


@new_llm
@pytest.mark.parametrize("make", [stream_event, Event], ids=["of llm", "our own"])
def test_stream_events_are_passed_on_as_they_are(make: Callable[..., Any]) -> None:
    scripted = [
        make(type="reasoning", chunk="", redacted=True),
        make(type="text", chunk="Hel", provider_metadata={"id": 1}),
        "lo",
    ]
    get_model = create_mock_get_model({"m": Reply(chunks=scripted)})
    for _ in range(2):
        events = list(get_model("m").prompt("Hi").stream_events())
        assert [
            (event.type, event.chunk, event.redacted, event.provider_metadata) for event in events
        ] == [
            ("reasoning", "", True, None),
            ("text", "Hel", False, {"id": 1}),
            ("text", "lo", False, None),
        ]
    assert [response.text() for response in ask_everywhere(get_model)] == ["Hello"] * 6
    assert scripted[0].part_index is None


@pytest.mark.skipif(NEW_LLM, reason="for an llm without stream events")
def test_an_old_llm_streams_the_text_of_events() -> None:
    chunks = [Event("reasoning", "Hm."), Event("text", "Hel"), "lo"]
    assert list(create_mock_get_model({"m": Reply(chunks=chunks)})("m").prompt("Hi")) == [
        "Hel",
        "lo",
    ]


def test_an_event_is_shown_with_what_it_says() -> None:
    assert (
        repr(Event("reasoning", "Hm.", redacted=True))
        == "Event(type='reasoning', chunk='Hm.', redacted=True)"
    )


@pytest.mark.parametrize("make", [ToolCall, OwnToolCall], ids=["of llm", "our own"])
def test_a_scripted_tool_call_may_be_of_llm_or_our_own(make: Callable[..., Any]) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", Reply(tool_calls=[make("weather", {"city": "Rome"})]))
    get_model.add("m", "Sunny.")
    chain = get_model("m").chain("How is it?", tools=[weather])
    assert chain.text() == "Sunny."
    assert get_model.calls[1]["kwargs"]["tool_results"] == [
        {"name": "weather", "output": "Rome: sunny for 1"}
    ]


@pytest.mark.skipif(NEW_LLM, reason="for an llm without stream events")
def test_an_old_llm_says_which_version_reasoning_needs() -> None:
    with pytest.raises(
        LLMTooOld,
        match=r"Reply\(reasoning=…\) needs llm 0\.32 or newer, but llm 0\.\d+ is installed",
    ):
        create_mock_get_model({"m": Reply("x", reasoning="y")})("m").prompt("Hi").text()


@given(st.lists(st.text()))
def test_the_concatenated_stream_is_the_text(chunks: list[str]) -> None:
    get_model = create_mock_get_model({"m": Reply(chunks=chunks)})

    async def stream() -> list[str]:
        return [chunk async for chunk in get_model.get_async_model("m").prompt("Hi")]

    assert list(get_model("m").prompt("Hi")) == asyncio.run(stream()) == chunks
    assert get_model("m").prompt("Hi").text() == "".join(chunks)


class Counter(Toolbox):
    """A toolbox with state."""

    def __init__(self) -> None:
        self.total = 0

    def add(self, number: int) -> str:
        self.total += number
        return str(self.total)


def test_a_chain_runs_functions_toolboxes_and_hooks() -> None:
    get_model = create_mock_get_model()
    calls = [ToolCall("weather", {"city": "Rome"}), ToolCall("Counter_add", {"number": 2})]
    get_model.add("m", Reply(tool_calls=calls))
    get_model.add("m", Reply(tool_calls=[ToolCall("Counter_add", {"number": 3})]), turn=2)
    get_model.add("m", lambda prompt: f"The sum is {prompt.tool_results[0].output}.")
    counter, hooks = Counter(), []
    chain = get_model("m").chain(
        "Go",
        tools=[weather, counter],
        before_call=lambda tool, call: hooks.append(("before", call.name)),
        after_call=lambda tool, call, result: hooks.append(("after", result.output)),
    )
    assert chain.text().endswith("The sum is 5.")
    assert counter.total == 5
    assert hooks[:2] == [("before", "weather"), ("after", "Rome: sunny for 1")]
    assert [call["turn"] for call in get_model.calls] == [1, 2, 3]
    get_model.assert_all_replies_used()


def test_a_chain_has_its_limit() -> None:
    get_model = create_mock_get_model(
        {"m": Reply(tool_calls=[ToolCall("weather", {"city": "Rome"})])}
    )
    with pytest.raises(ValueError, match="Chain limit"):
        get_model("m").conversation().chain("Go", tools=[weather], chain_limit=3).text()
    assert get_model("m").prompt_count == 3


def test_an_async_chain_runs_async_tools() -> None:
    async def later(city: str) -> str:
        await asyncio.sleep(0)
        return f"{city} later"

    get_model = create_mock_get_model()
    get_model.add(
        "m", Reply(tool_calls=[ToolCall("later", {"city": name}) for name in ("Rome", "Oslo")])
    )
    get_model.add("m", lambda prompt: ", ".join(result.output for result in prompt.tool_results))

    async def ask() -> str:
        return str(await get_model.get_async_model("m").chain("Go", tools=[later]).text())

    assert asyncio.run(ask()) == "Rome later, Oslo later"


@new_llm
def test_a_paused_chain_resumes() -> None:
    allowed: list[str] = []

    def send(text: str) -> str:
        if not allowed:
            raise llm.PauseChain("ask a person")
        return f"sent {text}"

    get_model = create_mock_get_model()
    get_model.add("m", Reply(tool_calls=[ToolCall("send", {"text": "hi"})]))
    get_model.add("m", lambda prompt: f"Done: {prompt.tool_results[0].output}")
    chain = get_model("m").chain("Go", tools=[send])
    with pytest.raises(llm.PauseChain):
        chain.text()
    allowed.append("yes")
    paused = chain._responses[0]
    messages = [*paused.prompt.messages, *paused.messages()]
    assert get_model("m").chain(messages=messages, tools=[send]).text() == "Done: sent hi"


@new_llm
def test_server_side_tools_are_accepted() -> None:
    class Search(llm.ServerSideTool):
        name = "search"

    model = MockLLMModel("m", "found")
    assert model.prompt("Hi", tools=[Search(), llm.ServerSideTool({"type": "x"})]).text() == "found"
    assert model.call_history[0]["kwargs"]["tools"] == ["search", "server_side_tool"]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            ToolCall("wether", {"city": "Rome"}),
            "the tool 'wether', which the call does not offer; did you mean 'weather'? Offered",
        ),
        (ToolCall("weather", {}), "the arguments: 'city' is a required property"),
        (ToolCall("weather", {"city": 1}), "the arguments.city: 1 is not of type 'string'"),
        (
            ToolCall("weather", {"city": "Rome", "days": "two"}),
            "the arguments.days: 'two' is not of type 'integer'",
        ),
    ],
)
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
def test_a_tool_call_that_could_not_be_made_is_an_error_of_the_script(
    call: Any, message: str, asynchronous: bool
) -> None:
    get_model = create_mock_get_model({"m": Reply(tool_calls=[call])})

    async def ask() -> None:
        await get_model.get_async_model("m").prompt("Hi", tools=[weather]).text()

    with pytest.raises(InvalidToolCall) as caught:
        asyncio.run(ask()) if asynchronous else get_model("m").prompt("Hi", tools=[weather])
    assert message in str(caught.value)
    assert "BrokenToolCall" in str(caught.value)
    assert get_model.calls[0]["error"]


def test_a_tool_call_without_tools_is_an_error_of_the_script() -> None:
    model = MockLLMModel("m", Reply(tool_calls=[ToolCall("weather", {"city": "Rome"})]))
    with pytest.raises(InvalidToolCall, match="offers no tools: pass tools="):
        model.prompt("Hi")


@pytest.mark.parametrize(
    ("call", "result"),
    [
        (BrokenToolCall("wether", {"city": "Rome"}), 'Error: tool "wether" does not exist'),
        (
            BrokenToolCall("weather", {}),
            "Error: weather() missing 1 required positional argument: 'city'",
        ),
        (
            BrokenToolCall("weather", '{"city": '),
            "Error: weather() got an unexpected keyword argument '_raw'",
        ),
    ],
    ids=["unknown tool", "missing argument", "malformed arguments"],
)
def test_a_tool_call_that_is_broken_on_purpose_reaches_the_application(
    call: Any, result: str
) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", Reply(tool_calls=[call]))
    get_model.add("m", lambda prompt: prompt.tool_results[0].output)
    assert get_model("m").chain("Go", tools=[weather]).text().endswith(result)


@new_llm
def test_malformed_arguments_stream_as_they_are() -> None:
    model = MockLLMModel("m", Reply(tool_calls=[BrokenToolCall("weather", '{"city": ', "c1")]))
    response = model.prompt("Hi", tools=[weather])
    assert [event.chunk for event in response.stream_events()] == ["weather", '{"city": ']
    assert response.tool_calls()[0].arguments == {"_raw": '{"city": '}


def test_what_is_neither_text_nor_event_is_no_chunk() -> None:
    with pytest.raises(
        InvalidReply, match=r"not a chunk: 3\. The chunks of a Reply are a list of str or Event"
    ):
        Reply(chunks=["a", 3])  # type: ignore[list-item]


def conversation(get_model: LLMMock) -> list[str]:
    talk = get_model("m").conversation()
    return [talk.prompt(text).text() for text in ("one", "two", "three")]


def async_conversation(get_model: LLMMock) -> list[str]:
    async def ask() -> list[str]:
        talk = get_model.get_async_model("m").conversation()
        return [str(await talk.prompt(text).text()) for text in ("one", "two", "three")]

    return asyncio.run(ask())


def replies(get_model: LLMMock) -> list[str]:
    first = get_model("m").prompt("one")
    second = first.reply("two")
    return [str(first), str(second), str(second.reply("three"))]


def explicit_messages(get_model: LLMMock) -> list[str]:
    answers: list[str] = []
    messages: list[Any] = []
    for text in ("one", "two", "three"):
        messages.append(llm.user(text))
        answers.append(get_model("m").prompt(messages=messages).text())
        messages.append(llm.assistant(answers[-1]))
    return answers


@pytest.mark.parametrize(
    "talk",
    [
        conversation,
        async_conversation,
        pytest.param(replies, marks=new_llm),
        pytest.param(explicit_messages, marks=new_llm),
    ],
)
def test_replies_depend_on_the_turn(talk: Callable[[LLMMock], list[str]]) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "third", turn=3)
    get_model.add("m", "first", turn=1)
    get_model.add("m", "second", prompt="two", turn=2)
    assert talk(get_model) == ["first", "second", "third"]
    assert [(call["turn"], call["prompt"]) for call in get_model.calls] == [
        (1, "one"),
        (2, "two"),
        (3, "three"),
    ]


@new_llm
def test_replies_depend_on_the_messages_so_far() -> None:
    def recall(prompt: Any) -> str:
        return " ".join(
            part.text
            for message in prompt.messages
            for part in message.parts
            if message.role == "user"
        )

    talk = create_mock_get_model({"m": recall})("m").conversation()
    talk.prompt("My name is Ada").text()
    assert talk.prompt("Who am I?").text() == "My name is Ada Who am I?"


@new_llm
def test_a_response_survives_being_written_down() -> None:
    get_model = create_mock_get_model(
        {"m": lambda prompt: f"answer to {prompt.messages[-1].parts[0].text}"}
    )
    first = get_model("m").prompt("one", system="Be brief")
    restored = llm.Response.from_dict(first.to_dict(), model=get_model("m"))
    assert restored.text() == "answer to one"
    assert restored.reply("two").text() == "answer to two"
    assert get_model.calls[1]["turn"] == 2


def chain(get_model: LLMMock, limit: int | None = None) -> str:
    conversation = get_model("m").conversation()
    return str(conversation.chain("Go", tools=[weather], chain_limit=limit).text())


ENDLESS = OwnToolCall("weather", {"city": "Rome"})
ENDLESS_ADVICE = (
    " called a tool 100 times in one conversation, so the conversation never ends. Queue the tool "
    "call, and set "
    "the text that follows it: mock.add(model, Reply(tool_calls=[…])), then mock.set(model, "
    "text). Or limit the number of turns in the application, such as with chain_limit=10 of llm."
)


def test_a_tool_call_that_stays_does_not_hang_an_application_without_a_limit() -> None:
    get_model = LLMMock()
    get_model.set("m", Reply(tool_calls=[ENDLESS]))
    with pytest.raises(EndlessToolCalls) as caught:
        chain(get_model)
    message = str(caught.value)
    assert message.startswith("The reply (")
    assert "test_streams_and_tools.py:" in message
    assert message.endswith(f"){ENDLESS_ADVICE}")
    assert len(get_model.calls) == 101
    assert get_model.problems == [message]


def test_a_default_response_that_calls_a_tool_does_not_hang_either() -> None:
    get_model = LLMMock()
    get_model("m").default_response = Reply(tool_calls=[ENDLESS])
    with pytest.raises(EndlessToolCalls) as caught:
        chain(get_model)
    assert str(caught.value) == f"The reply{ENDLESS_ADVICE}"


def test_an_application_with_a_limit_of_its_own_may_call_a_tool_as_often() -> None:
    get_model = LLMMock()
    get_model.set("m", Reply(tool_calls=[ENDLESS]))
    with pytest.raises(ValueError, match="Chain limit of 100 exceeded"):
        chain(get_model, 100)
    assert get_model.problems == []


def test_queued_tool_calls_end_by_themselves() -> None:
    get_model = LLMMock()
    get_model.add("m", Reply(tool_calls=[ENDLESS]), times=101)
    get_model.set("m", "Done")
    assert chain(get_model).endswith("Done")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("arguments", "recorded"), [({"stream": False}, False), ({"stream": True}, None), ({}, None)]
)
def test_a_call_tells_that_no_stream_was_wanted(
    arguments: dict[str, bool], recorded: bool | None, is_async: bool
) -> None:
    get_model = LLMMock({"m": "Hello"})
    if is_async:
        asked = get_model.get_async_model("m").prompt("Hi", system="Be brief", **arguments)
        asyncio.run(asked.text())
    else:
        get_model("m").prompt("Hi", system="Be brief", **arguments).text()
    [call] = get_model.calls
    assert call.stream is recorded
    assert ("stream" in call) is (recorded is False)


@new_llm
@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("is_read", [True, False])
def test_the_events_of_a_text_are_there_after_it_was_read(stream: bool, is_read: bool) -> None:
    response = MockLLMModel("m", Reply(chunks=["Hel", "lo"])).prompt("Hi", stream=stream)
    if is_read:
        assert response.text == "Hello"
    chunks = ["Hel", "lo"] if stream else ["Hello"]
    seen = [(event.type, event.chunk, event.part_index) for event in response.stream_events()]
    assert seen == [("text", chunk, 0) for chunk in chunks]
    (message,) = response.messages()
    assert [part.text for part in message.parts] == ["Hello"]
