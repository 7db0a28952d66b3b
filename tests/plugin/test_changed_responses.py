"""The responses of doubles of SDK clients are changed in a copy."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace as Part
from typing import Any
from unittest.mock import AsyncMock, MagicMock, Mock, PropertyMock

import pytest
from pydantic import BaseModel

from llm_mock.plugin.changed_responses import ChangedAnswer, change_response

OTHER = ChangedAnswer("text", "Other", [])
EMPTY = ChangedAnswer("empty", "", [])
DATA = ChangedAnswer("data", '{"n": 2}', [])
ARGUMENTS = ChangedAnswer("arguments", "", [{"n": 2}, {"n": 3}])
NO_CALL = ChangedAnswer("no-tool-call", "Other", [])


class Answer(BaseModel):
    n: int


@dataclass(frozen=True)
class Frozen:
    content: str


class Slots:
    __slots__ = ("text",)

    def __init__(self) -> None:
        self.text = "Hello"


class WithDefault:
    content = "Hello"


def new_completion(message: object, **more: object) -> Part:
    return Part(choices=[Part(message=message, **more)])


def new_magic_mock() -> MagicMock:
    response = MagicMock()
    response.choices[0].message.content = "Hello"
    return response


def read_completion(response: Any) -> object:
    return response.choices[0].message.content


def read_key(response: Any) -> object:
    return response["choices"][0]["message"]["content"]


def read_message(response: Any) -> object:
    return [block.text for block in response.content]


def read_content(response: Any) -> object:
    return [part.text for part in response.candidates[0].content.parts], response.text


def new_content(*parts: Part, **more: object) -> Part:
    return Part(candidates=[Part(content=Part(parts=list(parts)))], **more)


TEXTS: dict[str, tuple[Callable[[], object], Callable[[Any], object], object]] = {
    "a completion": (lambda: new_completion(Part(content="Hello")), read_completion, "Other"),
    "a mock": (
        lambda: Mock(choices=[Mock(message=Mock(content="Hello"))]),
        read_completion,
        "Other",
    ),
    "a mock of a list": (new_magic_mock, read_completion, "Other"),
    "a tuple": (
        lambda: Part(choices=(Part(message=Part(content="Hello")),)),
        read_completion,
        "Other",
    ),
    "dicts": (lambda: {"choices": [{"message": {"content": "Hello"}}]}, read_key, "Other"),
    "a frozen object": (lambda: new_completion(Frozen("Hello")), read_completion, "Other"),
    "an attribute of a class": (lambda: new_completion(WithDefault()), read_completion, "Other"),
    "a message": (
        lambda: Part(content=[Part(text="Hello")]),
        read_message,
        ["Other"],
    ),
    "a message with a reasoning": (
        lambda: Part(content=[Part(text="", thinking="Hm"), Part(text="Hello")]),
        read_message,
        ["", "Other"],
    ),
    "a response": (lambda: Mock(output_text="Hello"), lambda each: each.output_text, "Other"),
    "the output of a response": (
        lambda: Part(output=[Part(content=[Part(text="Hello")])]),
        lambda each: each.output[0].content[0].text,
        "Other",
    ),
    "content at two places": (
        lambda: new_content(Part(text="Hello"), text="Hello"),
        read_content,
        (["Other"], "Other"),
    ),
    # These cannot be changed.
    "a text that a mock computes": (
        lambda: type("Computed", (Mock,), {"text": PropertyMock(return_value="Hello")})(),
        lambda each: each.text,
        "Hello",
    ),
    "slots": (Slots, lambda each: each.text, "Hello"),
    "no text": (lambda: new_completion(Part(content=None)), read_completion, None),
    "a mock as text": (
        lambda: Mock(choices=[Mock(message=Mock())]),
        lambda each: isinstance(read_completion(each), Mock),
        True,
    ),
    "another thing": (lambda: 5, lambda each: each, 5),
    "a text": (lambda: "Hello", lambda each: each, "Hello"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_the_text_of_a_copy_is_changed(name: str) -> None:
    new_response, read, expected = TEXTS[name]
    response = new_response()
    before = read(response)
    assert read(change_response(response, OTHER)) == expected
    assert read(response) == before


def test_a_copy_of_a_mock_has_the_other_parts_of_the_mock() -> None:
    response = new_magic_mock()
    response.usage.total_tokens = 5
    role = response.choices[0].message.role
    changed = change_response(response, OTHER)
    assert changed.usage.total_tokens == 5
    assert changed.choices[0].message.role is role
    assert isinstance(changed, MagicMock)
    assert changed.choices[0].message is not response.choices[0].message


def test_a_type_of_an_sdk_stays_one() -> None:
    chat = pytest.importorskip("openai.types.chat")
    message = {"role": "assistant", "content": "Hello"}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    response = chat.ChatCompletion(
        id="a", created=1, model="m", object="chat.completion", choices=[choice]
    )
    changed = change_response(response, OTHER)
    assert isinstance(changed, chat.ChatCompletion)
    assert (read_completion(changed), read_completion(response)) == ("Other", "Hello")


def test_data_that_the_sdk_parsed_are_changed() -> None:
    response = new_completion(Part(content='{"n": 1}', parsed=Answer(n=1)), finish_reason="stop")
    message = change_response(response, DATA).choices[0].message
    assert (message.content, message.parsed) == ('{"n": 2}', Answer(n=2))
    assert change_response(Part(text='{"n": 1}', parsed={"n": 1}), DATA).parsed == {"n": 2}
    # What no parser makes of JSON stays.
    assert change_response(Part(text='{"n": 1}', parsed=1), DATA).parsed == 1
    # A text may not be such data.
    assert change_response(response, OTHER).choices[0].message.parsed == Answer(n=1)


def new_call(arguments: object) -> Part:
    return Part(function=Part(name="f", arguments=arguments))


def test_the_arguments_of_tool_calls_are_changed_in_their_order() -> None:
    calls = [new_call('{"n": 0}'), new_call({"n": 1})]
    changed = change_response(new_completion(Part(content=None, tool_calls=calls)), ARGUMENTS)
    first, second = changed.choices[0].message.tool_calls
    assert json.loads(first.function.arguments) == {"n": 2}
    assert second.function.arguments == {"n": 3}
    assert calls[0].function.arguments == '{"n": 0}'


@pytest.mark.parametrize(
    ("response", "read"),
    [
        (Part(content=[Part(input={})]), lambda each: each.content[0].input),
        (
            Part(output=[Part(arguments="{}")]),
            lambda each: json.loads(each.output[0].arguments),
        ),
        (
            new_content(Part(function_call=Part(args={}))),
            lambda each: each.candidates[0].content.parts[0].function_call.args,
        ),
        (Part(function_calls=[Part(args={})]), lambda each: each.function_calls[0].args),
    ],
    ids=["message", "response", "content", "calls of content"],
)
def test_the_arguments_of_each_api_are_changed(
    response: object, read: Callable[[Any], object]
) -> None:
    assert read(change_response(response, ARGUMENTS)) == {"n": 2}


@pytest.mark.parametrize("answer", [NO_CALL, EMPTY], ids=["another text", "no text"])
def test_a_text_replaces_the_tool_calls_of_a_completion(answer: ChangedAnswer) -> None:
    message = Part(content=None, tool_calls=[new_call("{}")])
    response = new_completion(message, finish_reason="tool_calls")
    [choice] = change_response(response, answer).choices
    expected = (answer.text, None, "stop")
    assert (choice.message.content, choice.message.tool_calls, choice.finish_reason) == expected
    # Another end stays.
    other = new_completion(message, finish_reason="length")
    assert change_response(other, answer).choices[0].finish_reason == "length"


def test_a_text_replaces_the_tool_calls_of_each_api() -> None:
    for name in ("anthropic", "openai", "google.genai"):
        pytest.importorskip(name)
    message = change_response(Part(content=[Part(input={})], stop_reason="tool_use"), NO_CALL)
    assert (read_message(message), message.stop_reason) == (["Other"], "end_turn")
    response = change_response(Part(output=[Part(arguments="{}")]), NO_CALL)
    assert (response.output_text, response.output[0].content[0].text) == ("Other", "Other")
    content = change_response(new_content(Part(function_call=Part(args={}))), NO_CALL)
    assert read_content(content) == (["Other"], "Other")
    assert content.candidates[0].content.parts[0].function_call is None
    calls = change_response(Part(function_calls=[Part(args={})]), NO_CALL)
    assert (calls.text, calls.function_calls) == ("Other", None)


def test_tool_calls_stay_if_a_mock_is_in_the_place_of_the_sdk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "anthropic.types", Mock())
    response = Part(content=[Part(input={})])
    assert change_response(response, NO_CALL) is response


@pytest.mark.parametrize(
    "response",
    [
        None,
        "Hello",
        Part(),
        Part(choices=None),
        Part(choices=[]),
        Part(choices=[Part(message=None)]),
        Part(content="Hello"),
        Part(candidates={"content": "Hello"}),
        Part(choices=MagicMock()),
        MagicMock(name="response"),
    ],
    ids=lambda response: type(response).__name__,
)
@pytest.mark.parametrize("answer", [OTHER, EMPTY, DATA, ARGUMENTS, NO_CALL])
def test_a_response_without_a_known_part_is_returned_as_it_is(
    response: object, answer: ChangedAnswer
) -> None:
    assert change_response(response, answer) is response


def new_chunk(text: str | None) -> Part:
    return Part(choices=[Part(delta=Part(content=text))])


def read_chunks(chunks: Any) -> list[object]:
    return [chunk.choices[0].delta.content for chunk in chunks]


def new_chunks() -> list[Part]:
    return [new_chunk(None), new_chunk("Hel"), new_chunk("lo")]


def generate() -> Iterator[Part]:
    yield from new_chunks()


class Iterable:
    closed = False

    def __iter__(self) -> Iterator[Part]:
        return iter(new_chunks())


class Iterating:
    def __init__(self) -> None:
        self.chunks = new_chunks()

    def __iter__(self) -> Iterating:
        return self

    def __next__(self) -> Part:
        if not self.chunks:
            raise StopIteration
        return self.chunks.pop(0)


def new_mock_stream() -> MagicMock:
    stream = MagicMock()
    stream.__iter__.return_value = new_chunks()
    return stream


@pytest.mark.parametrize(
    "new_stream",
    [
        new_chunks,
        lambda: tuple(new_chunks()),
        lambda: iter(new_chunks()),
        generate,
        Iterable,
        Iterating,
        new_mock_stream,
    ],
    ids=["list", "tuple", "iterator", "generator", "class", "class of an iterator", "mock"],
)
def test_the_first_text_of_a_stream_is_the_whole_one(new_stream: Callable[[], object]) -> None:
    assert read_chunks(change_response(new_stream(), OTHER)) == [None, "Other", ""]
    assert read_chunks(change_response(new_stream(), EMPTY)) == [None, "", ""]
    assert read_chunks(new_stream()) == [None, "Hel", "lo"]


def test_an_object_with_chunks_stays_of_its_class() -> None:
    changed = change_response(Iterable(), OTHER)
    assert isinstance(changed, Iterable)
    assert not changed.closed


class AsyncIterable:
    async def __aiter__(self) -> AsyncIterator[Part]:
        for chunk in new_chunks():
            yield chunk


class AsyncIterating:
    def __init__(self) -> None:
        self.chunks = new_chunks()

    def __aiter__(self) -> AsyncIterating:
        return self

    async def __anext__(self) -> Part:
        if not self.chunks:
            raise StopAsyncIteration
        return self.chunks.pop(0)


async def generate_async() -> AsyncIterator[Part]:
    for chunk in new_chunks():
        yield chunk


def new_async_mock() -> AsyncMock:
    stream = AsyncMock()
    stream.__aiter__.return_value = new_chunks()
    return stream


@pytest.mark.parametrize(
    "new_stream",
    [AsyncIterable, AsyncIterating, generate_async, new_async_mock],
    ids=["class", "class of an iterator", "generator", "mock"],
)
def test_the_first_text_of_an_async_stream_is_the_whole_one(
    new_stream: Callable[[], object],
) -> None:
    async def read() -> list[Any]:
        stream: Any = change_response(new_stream(), OTHER)
        return [chunk async for chunk in stream]

    assert read_chunks(asyncio.run(read())) == [None, "Other", ""]


def test_the_events_of_a_streamed_response_are_changed() -> None:
    events = [Part(type="response.created"), Part(delta="Hel"), Part(delta="lo")]
    changed: Any = change_response(events, OTHER)
    assert [event.delta for event in changed[1:]] == ["Other", ""]


def test_a_response_of_mocks_is_no_stream() -> None:
    response = MagicMock()
    response.content = [Part(text="Hello")]
    assert read_message(change_response(response, OTHER)) == ["Other"]
    assert list(change_response(response, OTHER)) == []
