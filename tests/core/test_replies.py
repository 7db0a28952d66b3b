"""Valid replies, and the choice of the reply to a call."""

from __future__ import annotations

import asyncio
import functools
import json
from collections.abc import Callable
from datetime import datetime
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import llm
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from llm_mock import InvalidReply, LLMMock, MockLLMModel, Reply, create_mock_get_model


class Person(BaseModel):
    name: str
    born: int = 1900


class Aliased(BaseModel):
    name: str = Field(alias="workflowName")


class Animal(BaseModel):
    legs: int


async def answer_later(prompt: llm.Prompt) -> dict[str, str]:
    await asyncio.sleep(0)
    return {"asked": prompt.prompt}


REPLIES: dict[str, tuple[Any, str]] = {
    "text": ("Hello", "Hello"),
    "empty text": ("", ""),
    "dict": ({"a": [1, None]}, '{"a": [1, null]}'),
    "empty dict": ({}, "{}"),
    "list": ([1, "ü"], '[1, "ü"]'),
    "pydantic instance": (Person(name="Ada"), '{"name": "Ada", "born": 1900}'),
    "pydantic instances in a list": ([Person(name="Ada")], '[{"name": "Ada", "born": 1900}]'),
    "pydantic instance with an alias": (Aliased(workflowName="w"), '{"workflowName": "w"}'),
    "function": (lambda prompt: f"You said {prompt.prompt}", "You said Hi"),
    "async function": (answer_later, '{"asked": "Hi"}'),
    "Reply": (Reply("Hello"), "Hello"),
    "Reply with data": (Reply(data=None), "null"),
    "Reply with chunks": (Reply(chunks=["Hel", "lo"]), "Hello"),
    "function that returns a Reply": (lambda prompt: Reply(chunks=["a", "b"]), "ab"),
}
each_reply = pytest.mark.parametrize(("reply", "text"), REPLIES.values(), ids=REPLIES.keys())


@each_reply
def test_a_reply_is_given_sync(reply: Any, text: str) -> None:
    assert MockLLMModel("m", reply).prompt("Hi").text() == text


@each_reply
def test_a_reply_is_given_async(reply: Any, text: str) -> None:
    get_model = create_mock_get_model({"m": reply})

    async def ask() -> str:
        return str(await get_model.get_async_model("m").prompt("Hi").text())

    assert asyncio.run(ask()) == text
    assert len(get_model.calls_of("m")) == 1


@pytest.mark.parametrize("error", [ValueError("bad"), ValueError], ids=["instance", "class"])
@pytest.mark.parametrize("configure", [LLMMock.set, LLMMock.add, LLMMock.set_error])
def test_an_exception_is_raised(configure: Callable[..., None], error: Any) -> None:
    get_model = create_mock_get_model()
    configure(get_model, "m", error)
    with pytest.raises(ValueError, match="bad" if isinstance(error, ValueError) else "^$"):
        get_model("m").prompt("Hi")
    assert get_model("m").call_history[0]["error"] == (
        "bad" if isinstance(error, ValueError) else "ValueError"
    )


def test_the_same_exception_can_be_raised_many_times() -> None:
    get_model = create_mock_get_model({"m": ValueError("bad")})
    depths = []
    for _ in range(3):
        with pytest.raises(ValueError, match="bad") as caught:
            get_model("m").prompt("Hi")
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1


def test_a_function_that_raises_is_recorded_as_an_error() -> None:
    def fail(prompt: llm.Prompt) -> str:
        raise ConnectionError(f"no route for {prompt.prompt}")

    model = MockLLMModel("m", fail)
    with pytest.raises(ConnectionError, match="no route for Hi"):
        model.prompt("Hi")
    assert model.call_history[0]["error"] == "no route for Hi"


def test_an_async_function_cannot_answer_a_sync_call_inside_a_loop() -> None:
    async def ask() -> None:
        MockLLMModel("m", answer_later).prompt("Hi")

    with pytest.raises(InvalidReply, match=r"answer_later\(\) is async.*llm.get_async_model"):
        asyncio.run(ask())


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (object(), "not a reply: an object of type object"),
        (None, "not a reply: None"),
        (3, "not a reply: 3"),
        (Person, "not a reply: the class Person"),
        (
            {"a": [{"b": datetime(2000, 1, 1)}]},
            r"reply\['a'\]\[0\]\['b'\] is not a JSON value: an object of type datetime",
        ),
        (
            functools.reduce(lambda value, _: [value], range(45), datetime(2000, 1, 1)),
            r"reply(\[0\]){45} is not a JSON value: an object of type datetime",
        ),
        (
            functools.reduce(lambda value, _: {"a": value}, range(45), datetime(2000, 1, 1)),
            r"reply(\['a'\]){45} is not a JSON value: an object of type datetime",
        ),
        ({("a", 1): 2}, "A key of reply is not a JSON value: an object of type tuple"),
        (UnicodeDecodeError, "UnicodeDecodeError cannot be raised without arguments"),
    ],
)
@pytest.mark.parametrize("configure", [LLMMock.set, LLMMock.add])
def test_what_is_no_reply_is_refused_at_once(
    configure: Callable[..., None], reply: Any, message: str
) -> None:
    with pytest.raises(InvalidReply, match=message):
        configure(create_mock_get_model(), "m", reply)


@pytest.mark.parametrize("configure", [LLMMock.set, LLMMock.add, LLMMock.set_error])
def test_the_model_comes_first(configure: Callable[..., None]) -> None:
    with pytest.raises(
        InvalidReply, match=r'not the name of a model: {"x": 1}\. Pass the model first'
    ):
        configure(create_mock_get_model(), {"x": 1}, ValueError("bad"))


def test_data_that_contains_itself_is_refused() -> None:
    circular: dict[str, Any] = {}
    circular["self"] = circular
    with pytest.raises(InvalidReply, match="Circular reference"):
        create_mock_get_model({"m": circular})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"text": "a", "data": {}}, "either text or data"),
        ({"text": "a", "chunks": ["a"]}, "either text or chunks"),
        ({"chunks": ["a", 1]}, "not a chunk: 1"),
        ({"error": "no"}, "not an exception: 'no'"),
        ({"error_after": 1}, "error_after=1"),
        ({"error": ValueError, "error_after": "1"}, "error_after='1'"),
        (
            {"chunks": ["a", "b"], "error": ValueError, "error_after": 3},
            "error_after=3 is more than the number of chunks, 2. Pass at most 2.",
        ),
        ({"text": {"a": 1}}, r"not text: {"),
        ({"text": b"x"}, "not text: b'x'"),
        ({"usage": {"prompt": 3}}, "Unknown name 'prompt' in usage"),
        ({"usage": 5}, "usage=5: pass a dict such as"),
        ({"tool_calls": [{"name": "x"}]}, "not a tool call: {"),
        ({"tool_calls": 5}, "not a tool call: 5"),
        ({"tool_calls": SimpleNamespace(name="x")}, "not a tool call: an object of type Simple"),
        ({"tool_calls": [SimpleNamespace(arguments={})]}, "not a tool call: an object of type "),
        ({"chunks": "Hello"}, "must be a list of texts, but got a text"),
        ({"chunks": 5}, "not a chunk: 5"),
        ({"response_json": object()}, "not a JSON value"),
        ({"data": float("nan")}, "Out of range float"),
        ({"error": ValueError, "error_after": -1}, "error_after=-1"),
    ],
)
def test_a_reply_that_contradicts_itself_is_refused(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidReply, match=message):
        Reply(**arguments)


@pytest.mark.parametrize("error", ["text", 3, object(), dict])
def test_what_is_no_exception_is_no_error(error: Any) -> None:
    for configure in (
        lambda: create_mock_get_model(side_effect=error),
        lambda: create_mock_get_model().set_error("m", error),
    ):
        with pytest.raises(InvalidReply, match="This is not an exception"):
            configure()


@pytest.mark.parametrize(
    "result", [None, 3, lambda prompt: "x"], ids=["nothing", "a number", "a function"]
)
def test_a_function_must_return_a_reply(result: Any) -> None:
    def answer(prompt: llm.Prompt) -> Any:
        return result

    with pytest.raises(
        InvalidReply,
        match=r"function .*answer\(\) \(tests/core/test_replies.py:\d+\) returned something that",
    ):
        MockLLMModel("m", answer).prompt("Hi")


def test_a_missing_return_is_pointed_out() -> None:
    with pytest.raises(InvalidReply, match=r"Is a return statement missing\?"):
        MockLLMModel("m", lambda prompt: None).prompt("Hi")


def test_a_reply_is_a_snapshot() -> None:
    data = {"a": [1]}
    get_model = create_mock_get_model({"m": data})
    data["a"].append(2)
    assert get_model("m").prompt("Hi").json() == {"a": [1]}
    get_model("m").prompt("Hi").json()["a"].append(3)
    assert get_model("m").prompt("Hi").json() == {"a": [1]}
    assert [call["response"] for call in get_model.calls] == [{"a": [1]}] * 3


def test_an_error_after_some_chunks_breaks_the_stream() -> None:
    reply = Reply(chunks=["Hel", "lo"], error=ConnectionError("cut"), error_after=1)
    model = MockLLMModel("m", reply)
    chunks = iter(model.prompt("Hi"))
    assert next(chunks) == "Hel"
    with pytest.raises(ConnectionError, match="cut"):
        next(chunks)
    assert (model.call_history[0]["response"], model.call_history[0]["error"]) == ("Hel", "cut")
    with pytest.raises(ConnectionError, match="cut"):
        model.prompt("Hi", stream=False).text()


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 3, "output_tokens": 4},
        MockLLMModel("m", "xxxx" * 4).prompt("x" * 9).usage(),
    ],
)
def test_usage_can_be_set(usage: Any) -> None:
    response = MockLLMModel("m", Reply("Hello", usage=usage)).prompt("Hi")
    assert response.usage == {"input_tokens": 3, "output_tokens": 4}
    assert (response.usage().input, response.usage().output) == (3, 4)


def test_resolved_model_and_raw_payload_can_be_set() -> None:
    reply = Reply(data={"a": 1}, resolved_model="m-2026", response_json={"id": "r1"})
    response = MockLLMModel("m", reply).prompt("Hi")
    assert response.json() == {"id": "r1"}
    assert response.text() == '{"a": 1}'
    assert response.resolved_model == "m-2026"


def test_a_tool_is_called_by_the_real_chain() -> None:
    def shout(text: str) -> str:
        return text.upper()

    get_model = create_mock_get_model()
    get_model.add(
        "m",
        Reply("Let me see.", tool_calls=[llm.models.ToolCall("shout", {"text": "hi"}, "call-1")]),
    )
    get_model.add("m", lambda prompt: f"It says {prompt.tool_results[0].output}.")
    assert get_model("m").chain("Shout hi", tools=[shout]).text().endswith("It says HI.")
    first, second = get_model.calls
    assert first["response"] == {
        "text": "Let me see.",
        "tool_calls": [{"name": "shout", "arguments": {"text": "hi"}}],
    }
    assert second["kwargs"]["tool_results"] == [{"name": "shout", "output": "HI"}]


class Tree(BaseModel):
    name: str
    children: list[Tree] = []


class Titled(BaseModel):
    model_config = ConfigDict(json_schema_extra={"title": "Renamed"})
    name: str


@pytest.mark.parametrize("schema", [Tree, Titled], ids=["recursive", "with a title of its own"])
def test_every_class_is_known_by_the_name_in_its_schema(schema: type[BaseModel]) -> None:
    get_model = create_mock_get_model()
    get_model.set("m", {"name": "x"}, schema=schema)
    assert get_model("m").prompt("Hi", schema=schema).json() == {"name": "x"}
    assert get_model("m").conversation().prompt("Hi", schema=schema).text() == '{"name": "x"}'


@pytest.mark.parametrize("schema", [5, Person(name="Ada"), TypeAdapter(int), int])
@pytest.mark.parametrize(
    "use",
    [
        lambda schema: create_mock_get_model().set("m", "x", schema=schema),
        lambda schema: MockLLMModel("m").assert_called_with(schema=schema),
    ],
)
def test_what_is_no_schema_is_refused(use: Callable[[Any], None], schema: Any) -> None:
    with pytest.raises(InvalidReply, match="This is not a schema"):
        use(schema)


def test_changing_the_history_changes_no_reply_and_no_other_record() -> None:
    get_model = create_mock_get_model({"m": {"a": 1}})
    for name in ("m", "other"):
        get_model(name).prompt("Hi")
        get_model(name).call_history[0]["response"].clear()
        assert get_model(name).prompt("Hi").json()
        assert get_model(name).call_history[1]["response"]


def test_an_exception_is_raised_without_what_happened_to_it_before() -> None:
    error = ValueError("bad")
    get_model = create_mock_get_model({"m": error})

    def ask_while_handling_another() -> None:
        try:
            raise KeyError("earlier")
        except KeyError:
            get_model("m").prompt("Hi")

    with pytest.raises(ValueError, match="bad"):
        ask_while_handling_another()
    error.__notes__ = ["seen"]  # what add_note does, from Python 3.11 on
    with pytest.raises(ValueError, match="bad") as caught:
        get_model("m").prompt("Hi")
    assert caught.value is error
    assert (error.__context__, error.__notes__) == (None, [])


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_that_cannot_be_printed_is_raised_all_the_same() -> None:
    model = MockLLMModel("m", Unprintable())
    with pytest.raises(Unprintable):
        model.prompt("Hi")
    assert model.call_history[0]["error"] == "Unprintable"


def test_a_mock_of_unittest_is_a_function() -> None:
    assert MockLLMModel("m", Mock(return_value="Hello")).prompt("Hi").text() == "Hello"


def test_responses_must_be_a_mapping() -> None:
    with pytest.raises(InvalidReply, match="must be a mapping of model names to replies"):
        create_mock_get_model(["x"])  # type: ignore[arg-type]


LEVELS = ("model and schema", "any model and schema", "model", "any model")


def configure_level(get_model: LLMMock, level: str) -> None:
    model = "*" if level.startswith("any") else "m"
    get_model.set(
        model, Reply(level, invalid=True), schema=Person if level.endswith("schema") else None
    )


@given(st.permutations(LEVELS), st.sets(st.sampled_from(LEVELS)), st.booleans(), st.booleans())
def test_standing_answers_are_tried_in_order(
    order: list[str], levels: set[str], error: bool, queued: bool
) -> None:
    get_model = create_mock_get_model()
    for level in order:
        if level in levels:
            configure_level(get_model, level)
    if error:
        get_model.set_error("m", ValueError("error of the model"))
    if queued:
        get_model.add("m", Reply("queued", invalid=True))
    expected = [level for level in LEVELS if level in levels]
    if queued:
        assert get_model("m").prompt("Hi", schema=Person).text() == "queued"
    if error:
        with pytest.raises(ValueError, match="error of the model"):
            get_model("m").prompt("Hi", schema=Person)
    else:
        assert (
            get_model("m").prompt("Hi", schema=Person).text()
            == (expected or ['{"success": true}'])[0]
        )


@given(
    st.recursive(
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=8,
    )
)
def test_any_json_value_makes_the_round_trip(value: Any) -> None:
    response = MockLLMModel("m", Reply(data=value)).prompt("Hi")
    assert response.json() == json.loads(response.text()) == value


@pytest.mark.parametrize(
    "schema", [Person, Person.model_json_schema(), "Person"], ids=["class", "dict", "name"]
)
@pytest.mark.parametrize("asked", [Person, Person.model_json_schema()], ids=["class", "dict"])
def test_a_schema_is_known_by_its_name(schema: Any, asked: Any) -> None:
    get_model = create_mock_get_model()
    get_model.set("m", Person(name="Ada"), schema=schema)
    assert get_model("m").prompt("Hi", schema=asked).json()["name"] == "Ada"
    assert (
        get_model("m").conversation().prompt("Hi", schema=asked).text()
        == '{"name": "Ada", "born": 1900}'
    )
    assert get_model("m").prompt("Hi", schema=Animal).json() == {"success": True}
    assert get_model("m").prompt("Hi").json() == {"success": True}


def test_a_schema_without_a_name_is_known_by_its_content() -> None:
    get_model = create_mock_get_model()
    get_model.set("m", {"name": "Rex", "age": 3}, schema=llm.schema_dsl("name, age int"))
    assert (
        get_model("m").prompt("Hi", schema=llm.schema_dsl("name, age int")).json()["name"] == "Rex"
    )
    assert get_model("m").prompt("Hi", schema=llm.schema_dsl("name")).json() == {"success": True}


def test_queued_replies_are_used_in_order_across_models_and_schemas() -> None:
    get_model = create_mock_get_model({"m": {"name": "standing"}})
    get_model.add("m", {"name": "first"})
    get_model.add("*", {"name": "second"}, schema=Person)
    get_model.add("m", {"name": "third"}, times=2)
    get_model.add("other", "for another model")
    answers = [get_model("m").prompt("Hi", schema=Person).json()["name"] for _ in range(5)]
    assert answers == ["first", "second", "third", "third", "standing"]
    with pytest.raises(
        AssertionError,
        match="One queued reply was not used:\n  - other  → 'for another model'",
    ):
        get_model.assert_all_replies_used()


def test_a_queued_reply_for_a_schema_waits_for_it() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", Person(name="Ada"), schema=Person)
    assert get_model("m").prompt("Hi").json() == {"success": True}
    assert get_model("m").prompt("Hi", schema=Person).json()["name"] == "Ada"
    get_model.assert_all_replies_used()


@pytest.mark.parametrize("times", [0, -1, 1.5, None])
def test_a_queued_reply_is_used_at_least_once(times: Any) -> None:
    with pytest.raises(InvalidReply, match=f"times={times}"):
        create_mock_get_model().add("m", "x", times=times)


def test_set_error_goes_before_standing_answers_until_it_is_ended() -> None:
    get_model = create_mock_get_model()
    get_model.set_error("*", ValueError("any model"))
    get_model.set("m", "standing")
    with pytest.raises(ValueError, match="any model"):
        get_model("m").prompt("Hi")
    get_model.set_error("*", None)
    assert get_model("m").prompt("Hi").text() == "standing"


def test_an_explicit_empty_default_response_stays_empty() -> None:
    assert MockLLMModel("m", {}).prompt("Hi").json() == {}
    assert MockLLMModel("m").default_response == {"success": True}


def test_the_default_response_can_be_assigned() -> None:
    model = create_mock_get_model()("m")
    model.default_response = Person(name="Ada")
    assert model.prompt("Hi").json()["name"] == "Ada"
    assert model.default_response == Person(name="Ada")
