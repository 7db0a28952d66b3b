"""Assertions about the calls of a model, and of all models."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import llm
import pytest
from pydantic import BaseModel

from llm_mock import (
    InvalidReply,
    LLMMock,
    MockLLMModel,
    ToolCall,
    assert_prompt_contains,
    create_mock_get_model,
)
from llm_mock.errors import InvalidMock


class Answer(BaseModel):
    value: int


def look_up(word: str) -> str:
    return word


PNG = llm.Attachment(type="image/png", content=b"png")


def test_all_that_is_wanted_must_hold_in_one_call() -> None:
    model = MockLLMModel("m", {"value": 1})
    model.prompt("Count the apples", schema=Answer)
    model.prompt("Count the pears")
    model.assert_called_with()
    model.assert_called_with("apples", schema=Answer)
    model.assert_called_with("pears")
    model.assert_called_with(schema=Answer.model_json_schema())
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with("pears", schema=Answer, system="Be brief")
    assert str(caught.value) == (
        "No call to model 'm' matches: schema Answer, prompt contains 'pears', system contains "
        "'Be brief'.\n"
        "The nearest is call 2, but the schema is none, not Answer and the system prompt '' does "
        "not contain 'Be brief'.\n"
        "Calls that were made:\n"
        "  1. m  'Count the apples'  schema Answer  → {\"value\": 1}\n"
        "  2. m  'Count the pears'  → {\"value\": 1}"
    )


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("m", "The first argument is a text in the prompt. For a model, write model='m'."),
        ("Be brief", " (the system prompt contains it: write system='Be brief')"),
        ("brief", " (the system prompt contains it: write system='brief')"),
        ("Be long", ""),
        (re.compile("brief"), ""),
    ],
)
def test_a_text_that_is_no_prompt_is_recognised(text: Any, hint: str) -> None:
    model = MockLLMModel("m", "Hello")
    model.prompt("Count", system="Be brief")
    with pytest.raises(AssertionError) as caught:
        model.assert_called_once_with(text, temperature=0.7)
    assert hint in str(caught.value)
    assert bool(hint) == ("write " in str(caught.value))


@pytest.mark.parametrize("text", ["[[ ## answer", "[a--b]", "(a+)+$", "(a*)*b", "(", "b{2}"])
def test_a_text_that_would_be_a_bad_pattern_is_only_a_text(text: str) -> None:
    # Warnings are errors here, and the repeated groups would take for ever.
    model = MockLLMModel("m", "Hello")
    model.prompt("a" * 100 + "c")
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(text)
    assert "re.compile" not in str(caught.value)


@pytest.mark.parametrize(
    ("wanted", "other"),
    [
        ({"prompt_contains": "Apples"}, {"prompt_contains": "Pears"}),
        ({"prompt_contains": re.compile("^Count")}, {"prompt_contains": re.compile("^apples")}),
        ({"prompt_contains": str.istitle}, {"prompt_contains": str.isupper}),
        ({"prompt_equals": "Count The Apples"}, {"prompt_equals": "Count The"}),
        ({"schema": "Answer"}, {"schema": "Other"}),
        ({"system": "brief"}, {"system": "long"}),
        ({"tools": ["look_up"]}, {"tools": ["look"]}),
        ({"turn": 1}, {"turn": 2}),
        ({"attachments": ["image/png"]}, {"attachments": []}),
        ({"options": {"temperature": 0.5}}, {"options": {"temperature": 0.6}}),
    ],
    ids=lambda wanted: str(wanted),
)
def test_what_the_only_call_was_like_is_asserted(
    wanted: dict[str, Any], other: dict[str, Any]
) -> None:
    get_model = create_mock_get_model({"m": {"value": 1}})
    asked = {
        "system": "Be brief",
        "temperature": 0.5,
        "schema": Answer,
        "tools": [look_up],
        "attachments": [PNG],
    }
    get_model("m").prompt("Count The Apples", **asked)
    for calls in (get_model("m"), get_model):
        calls.assert_called_with(**wanted)
        calls.assert_called_once_with(**wanted)
        for refused in (calls.assert_called_with, calls.assert_called_once_with):
            with pytest.raises(AssertionError, match=r"matches: .*\nThe nearest is call 1, but "):
                refused(**other)


@pytest.mark.parametrize(
    ("conditions", "nearest"),
    [
        ({"prompt": "How is the weather in Bern?"}, 2),
        ({"prompt_equals": "Count the aples"}, 1),
        ({"messages": ["Be kind", "How is the weather in Roma?"]}, 2),
        ({"tool_results": ["sunny!"]}, 3),
        # Nothing tells these calls apart.
        ({"prompt": re.compile("weather in Bern")}, 1),
        ({"turn": 7}, 1),
    ],
)
def test_of_equally_near_calls_the_one_with_the_nearest_texts_is_shown(
    mock_llm_responses: LLMMock, conditions: dict[str, Any], nearest: int
) -> None:
    model = mock_llm_responses.get_model("m")
    model.prompt("Count the apples").text()
    model.prompt("How is the weather in Rome?", system="Be kind").text()
    result = llm.ToolResult(name="look_up", output="sunny", tool_call_id="1")
    model.prompt("", tool_results=[result]).text()
    with pytest.raises(AssertionError, match=rf"\nThe nearest is call {nearest}, but "):
        mock_llm_responses.assert_called_with(**conditions)


def test_one_call_is_neither_none_nor_two() -> None:
    get_model = create_mock_get_model()
    model, fine = get_model("m"), get_model("other")
    with pytest.raises(AssertionError, match=r"^Model 'm' was never called\. Does the code under"):
        model.assert_called_once()
    fine.prompt("Hi")
    fine.assert_called_once()
    model.assert_not_called()
    never: list[Callable[[], object]] = [
        *(
            model.assert_called_once,
            model.assert_called_with,
            model.assert_called_once_with,
            lambda: model.last_call,
        )
    ]
    message = "Model 'm' was never called. Models that were called: other."
    for assertion in never:
        with pytest.raises(AssertionError, match=f"^{re.escape(message)}$"):
            assertion()
    for prompt in ("a", "b"):
        model.prompt(prompt)
    assert (model.last_call["prompt"], get_model.last_call["prompt"]) == ("b", "b")
    made = "\nCalls that were made:\n  1. m  'a'  → {\"success\": true}"
    for assertion, message in (
        (model.assert_called_once, f"Expected 1 call to model 'm', got 2.{made}"),
        (lambda: model.assert_called_once_with("a"), f"Expected 1 call to model 'm', got 2.{made}"),
        (model.assert_not_called, f"Expected no call to model 'm', got 2.{made}"),
        (
            get_model.assert_not_called,
            "Expected no call to any model, got 3.\nCalls that were made:\n  1. other ",
        ),
        (get_model.assert_called_once, "Expected 1 call to any model, got 3."),
    ):
        with pytest.raises(AssertionError) as caught:
            assertion()
        assert str(caught.value).startswith(message)
    with pytest.raises(AssertionError) as caught:
        get_model.assert_called_once_with(model="other")
    assert str(caught.value).splitlines()[-1] == (
        "The conditions match 1 call. To check that at least one call matches, use "
        "assert_called_with()."
    )
    with pytest.raises(AssertionError) as caught:
        get_model.assert_called_once_with("b", model="m")
    assert str(caught.value).splitlines()[-2] == (
        "This assertion counts the calls to all models: 1 to other, 2 to m. To count the calls to "
        "one model, use "
        "get_model('m')."
    )
    with pytest.raises(AssertionError) as caught:
        get_model.assert_called_once_with("c")
    assert str(caught.value).splitlines()[-1].endswith("use get_model('other').")


def test_the_calls_of_a_single_model_are_not_counted_by_model() -> None:
    get_model = create_mock_get_model({"m": "Hi"})
    for _ in range(2):
        get_model("m").prompt("a").text()
    assertions: list[Callable[[], object]] = [
        get_model.assert_called_once,
        lambda: get_model.assert_called_once_with("b"),
    ]
    for assertion in assertions:
        with pytest.raises(AssertionError) as caught:
            assertion()
        assert str(caught.value) == (
            "Expected 1 call to any model, got 2.\nCalls that were made:\n  1. m  'a'  → 'Hi'\n"
            "  2. m  'a'  → 'Hi'"
        )


def test_a_mock_that_nobody_called_says_so() -> None:
    get_model = create_mock_get_model()
    get_model.assert_not_called()
    with pytest.raises(AssertionError, match=r"^No model was called\.$"):
        get_model.assert_called_once()
    with pytest.raises(AssertionError, match=r"^No model was called\.$"):
        get_model.last_call  # noqa: B018


def test_an_assertion_about_calls_names_the_embedding_model_that_was_called() -> None:
    get_model = create_mock_get_model()
    get_model.get_embedding_model("unused")
    get_model.get_embedding_model("first").embed("Hello")
    get_model.get_embedding_model("second").embed("Hello")
    found = (
        "Only embedding models were called: 'first' last embedded [\"Hello\"]. For all calls, see "
        "get_embedding_model('first').call_history."
    )
    with pytest.raises(AssertionError) as raised:
        get_model.assert_called_once()
    assert str(raised.value) == found
    with pytest.raises(AssertionError) as raised:
        get_model.assert_not_called()
    assert str(raised.value) == (
        f"Expected no call to any model. {found} For one model, use "
        "get_model(…).assert_not_called()."
    )
    get_model("m").assert_not_called()
    (record,) = get_model.get_embedding_model("first").call_history
    assert record["items"] == ["Hello"]


class Different:
    """An object with its own `==`, which is no list."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return False

    def __repr__(self) -> str:
        return "different"


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [
        (["rainy"], ""),
        ((), ""),
        (Different(), ""),
        ([{"output": "rainy"}], ""),
        ([{"output": "rainy", "name": "look_up", "is_error": True}], ""),
        # A mapping of other keys is the output itself.
        ([{"sky": "blue"}], ""),
        ([{"name": "look_up", "text": "x"}], "text"),
        (["x", {"text": "x", "output": "x"}], "text"),
    ],
)
def test_a_key_that_no_tool_result_has_is_told(wanted: Any, hint: str) -> None:
    model = MockLLMModel("m", "Hi")
    result = llm.ToolResult(name="look_up", output="sunny", tool_call_id="1")
    model.prompt("", tool_results=[result]).text()
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(tool_results=wanted)
    nearest = str(caught.value).splitlines()[1]
    if hint:
        assert nearest.endswith(
            f" (a tool result has no key {hint!r}, but name, output, is_error)."
        )
    else:
        assert nearest.endswith(("].", " not different."))
        assert "None" not in nearest


class HasLength:
    """A value that equals each list of a length."""

    def __init__(self, length: int) -> None:
        self.length = length

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and len(other) == self.length


PRICE = '{"price": 12}'
OTHER_FORM = f"Call 2 has these tool results in another form: write tool_results=['{PRICE}']."
NO_FIELD = (
    "A tool result has the fields name, output, is_error, not 'price'. To compare the output, pass "
    f"its text. The output in call 2 is '{PRICE}'."
)
NO_PROMPT = (
    "Call 2 returns tool results, so its prompt is empty. Leave out the prompt, or check "
    "the text in messages[1] of that call."
)


@pytest.mark.parametrize(
    ("conditions", "hints"),
    [
        ({"tool_results": [{"price": 12}]}, [OTHER_FORM]),
        ({"tool_results": ['{"price":12}']}, [OTHER_FORM]),
        ({"tool_results": [{"output": {"price": 12}}]}, [OTHER_FORM]),
        ({"tool_results": [{"name": "look_up", "output": {"price": 12}}]}, [OTHER_FORM]),
        ({"tool_results": [{"price": 13}]}, [NO_FIELD]),
        ({"tool_results": [{"price": 12}], "prompt": "a lamp"}, [OTHER_FORM, NO_PROMPT]),
        ({"tool_results": [PRICE], "prompt": "a lamp"}, [NO_PROMPT]),
        ({"tool_results": [{"name": "look_up"}], "prompt": "a lamp"}, [NO_PROMPT]),
        ({"tool_results": [PRICE], "prompt": re.compile("^What is")}, [NO_PROMPT]),
        ({"tool_results": [PRICE], "prompt_equals": "What is a lamp?"}, [NO_PROMPT]),
        ({"tool_results": HasLength(1), "prompt": "a lamp"}, [NO_PROMPT]),
        ({"turn": 2, "prompt": "a lamp"}, [NO_PROMPT]),
        # These calls may just be wrong.
        ({"tool_results": [PRICE], "prompt": "a chair"}, []),
        ({"tool_results": [PRICE], "prompt": str.isupper}, []),
        ({"tool_results": ["12"], "prompt": "a lamp"}, []),
        ({"tool_results": [PRICE], "prompt": "a lamp", "model": "other"}, []),
        ({"tool_results": [{"name": "search", "output": {"price": 12}}]}, []),
        ({"tool_results": ['{"name": "look_up"}']}, []),
        ({"tool_results": HasLength(2)}, []),
        ({"tool_results": HasLength(2), "prompt": "a lamp"}, []),
        ({"tool_results": [{"price": 12}, {"price": 12}], "turn": 1}, [NO_FIELD]),
        ({"turn": 2, "prompt": "a chair"}, []),
        ({"prompt": "a chair"}, []),
    ],
)
def test_what_a_call_with_tool_results_cannot_have_is_told(
    conditions: dict[str, Any], hints: list[str]
) -> None:
    mock = create_mock_get_model()
    mock.script("m", ToolCall("look_up", {"word": "lamp"}), "12 francs.")
    chain = mock("m").chain("What is a lamp?", tools=[look_up_price], system="Be brief")
    assert chain.text() == "12 francs."
    with pytest.raises(AssertionError) as caught:
        mock.assert_called_with(**conditions)
    assert list_hints(caught.value) == hints


def look_up_price(word: str) -> str:
    return PRICE


look_up_price.__name__ = "look_up"


def list_hints(error: AssertionError) -> list[str]:
    """Return the lines between the nearest call and the calls that were made."""
    _, _, *lines = str(error).partition("\nCalls that were made:")[0].split("\n")
    return lines


@pytest.mark.parametrize("output", ["a  b" * 60, {"price": 12}])
def test_a_tool_result_that_may_be_data_or_is_long_has_no_wrong_hint(output: Any) -> None:
    model = MockLLMModel("m", "Hi")
    result = llm.ToolResult(name="look_up", output=output, tool_call_id="1")
    model.prompt("", tool_results=[result]).text()
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(tool_results=[{"price": 13}])
    shown = [line for line in list_hints(caught.value) if "…" not in line]
    assert shown == []


def test_a_tool_result_that_is_data_is_not_given_as_text() -> None:
    model = MockLLMModel("m", "Hi")
    result: Any = llm.ToolResult(name="look_up", output="", tool_call_id="1")
    result.output = {"price": 12, "sold": True}
    model.prompt("", tool_results=[result]).text()
    model.assert_called_with(tool_results=[{"price": 12, "sold": True}])
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(tool_results=['{"price": 12, "sold": true}'])
    assert list_hints(caught.value) == [
        "Call 1 has these tool results in another form: "
        "write tool_results=[{'price': 12, 'sold': True}]."
    ]


@pytest.mark.parametrize("key", ["sk-proj-" + "a1B2" * 10, "x" * 200])
def test_a_tool_result_that_cannot_be_shown_is_not_to_be_written(key: str) -> None:
    model = MockLLMModel("m", "Hi")
    result = llm.ToolResult(name="look_up", output=f'{{"key": "{key}"}}', tool_call_id="1")
    model.prompt("", tool_results=[result]).text()
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(tool_results=[{"key": key}])
    [hint] = list_hints(caught.value)
    assert hint.startswith("Call 1 has these tool results in another form: the outputs are [")


@pytest.mark.parametrize(
    ("conditions", "is_told"),
    [
        ({"prompt": "A drink?", "system": "pirate"}, True),
        ({"system": re.compile("^You are"), "turn": 2}, True),
        # The first call is as near to these as the second one.
        ({"prompt": re.compile("drink"), "system": "pirate"}, True),
        ({"prompt": "A drink?", "system": "sailor"}, False),
        ({"prompt": "A drink?", "system": str.isupper}, False),
        ({"prompt": "A meal?", "system": "pirate"}, False),
    ],
)
def test_the_system_prompt_of_an_earlier_turn_is_found(
    conditions: dict[str, Any], is_told: bool
) -> None:
    mock = create_mock_get_model()
    mock.script("m", "Arr!", "Rum!")
    conversation = mock("m").conversation()
    conversation.prompt("Hello", system="You are a pirate.").text()
    conversation.prompt("A drink?").text()
    assert mock.last_call.messages[0] == {"role": "system", "text": "You are a pirate."}
    with pytest.raises(AssertionError) as caught:
        mock.assert_called_with(**conditions)
    hint = (
        "Call 2 has this system prompt only as its first message. Leave out system, and check "
        "messages[0] of that call."
    )
    assert list_hints(caught.value) == [hint] * is_told


CASE_DIFFERS = "(upper and lower case differ)"


@pytest.mark.parametrize(
    ("conditions", "nearest", "is_told"),
    [
        ({"prompt": "Weather in Rome"}, 2, True),
        ({"prompt_equals": "Weather in Rome"}, 2, True),
        ({"messages": ["Weather in Rome"]}, 2, True),
        ({"prompt": "Weather of Oslo"}, 1, False),
        ({"prompt": "weather of", "model": "other"}, 1, False),
    ],
)
def test_the_nearest_call_may_differ_in_case_alone(
    conditions: dict[str, Any], nearest: int, is_told: bool
) -> None:
    mock = create_mock_get_model({"*": "Hi"})
    for prompt in ("weather of Paris", "WEATHER IN ROME", "weather of Rome in May"):
        mock("m").prompt(prompt).text()
    with pytest.raises(AssertionError, match=rf"\nThe nearest is call {nearest}, but ") as caught:
        mock.assert_called_with(**conditions)
    assert (CASE_DIFFERS in str(caught.value)) == is_told


def test_a_call_that_differs_in_case_alone_is_nearer_than_one_with_more_words_alike() -> None:
    mock = create_mock_get_model({"*": "Hi"})
    for prompt in ("Weather of Rome", "TELL ME THE WEATHER IN ROME ON A DAY IN MAY"):
        mock("m").prompt(prompt).text()
    with pytest.raises(AssertionError, match=r"\nThe nearest is call 2, but "):
        mock.assert_called_with(prompt="weather in Rome")


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("hello", " The prompt of call 2 contains it in another case."),
        ("hallo", ""),
    ],
)
def test_a_prompt_that_contains_a_text_in_another_case_is_told(text: str, hint: str) -> None:
    mock = create_mock_get_model({"*": "Hi"})
    for prompt in ("Bye", "Say Hello"):
        mock("m").prompt(prompt).text()
    with pytest.raises(AssertionError) as caught:
        assert_prompt_contains(mock, "m", text)
    assert str(caught.value).startswith(f"No prompt contained '{text}'.{hint}\nCalls that")


@pytest.mark.parametrize(
    ("model", "is_told"),
    [("openai/gpt-4o", True), ("openai:gpt-4o", True), ("my-gpt-4o", False), ("openai/o3", False)],
)
def test_a_model_with_a_prefix_that_was_not_sent_is_told(model: str, is_told: bool) -> None:
    mock = create_mock_get_model({"*": "Hi"})
    mock(CALLED).prompt("Hi").text()
    with pytest.raises(AssertionError) as caught:
        mock.assert_called_with(model=model)
    hint = "(leave out the prefix, which the request does not have)"
    assert (hint in str(caught.value)) == is_told


def test_a_failed_call_is_a_call() -> None:
    get_model = create_mock_get_model()
    get_model.set_error("m", ConnectionError("down"))
    with pytest.raises(ConnectionError):
        get_model("m").prompt("Hi")
    get_model("m").assert_called_once_with(prompt_equals="Hi")
    assert get_model.last_call["error"] == "down"


def test_what_no_call_can_have_been_is_refused() -> None:
    model = MockLLMModel("m")
    model.prompt("Hi")
    with pytest.raises(InvalidReply, match="turn=0: pass a whole number of at least 1"):
        model.assert_called_with(turn=0)


def test_a_prompt_that_is_given_twice_is_refused() -> None:
    model = MockLLMModel("m", "x")
    model.prompt("Count the apples")
    with pytest.raises(TypeError) as caught:
        model.assert_called_with("m", prompt="apples")
    assert str(caught.value) == (
        "Got two prompts, the first argument ('m') and prompt=: pass only one. For a model, use "
        "model=."
    )


CALLED = "gpt-4o"
ASSERTIONS = {
    "calls_of": lambda mock, name: mock.calls_of(name),
    "assert_not_called": lambda mock, name: mock.get_model(name).assert_not_called(),
    "assert_not_called_with": lambda mock, name: mock.assert_not_called_with(model=name),
}


@pytest.mark.parametrize("look", ASSERTIONS.values(), ids=ASSERTIONS)
@pytest.mark.parametrize("name", ["gpt4o", "openai:gpt-4o", "GPT_4o"])
def test_another_spelling_of_a_called_model_is_told(
    look: Callable[[LLMMock, str], object], name: str
) -> None:
    mock = create_mock_get_model()
    mock(CALLED).prompt("Hi").text()
    problem = f"No call to '{name}' was made, but calls to 'gpt-4o' were. Write 'gpt-4o'."
    with pytest.raises((AssertionError, InvalidMock), match=re.escape(problem)):
        look(mock, name)


@pytest.mark.parametrize("look", ASSERTIONS.values(), ids=ASSERTIONS)
@pytest.mark.parametrize("name", ["gpt-4", "gpt-4o-mini", "o-gpt-4", "azure/gpt-4o"])
def test_another_model_that_was_not_called_is_none(
    look: Callable[[LLMMock, str], object], name: str
) -> None:
    mock = create_mock_get_model()
    mock(CALLED).prompt("Hi").text()
    assert not look(mock, name)


def test_a_model_of_another_provider_is_another_model() -> None:
    mock = create_mock_get_model()
    mock("openai/gpt-4o").prompt("Hi").text()
    assert mock.calls_of("azure/gpt-4o") == []
    assert mock.calls_of("gpt-4o") == []
    with pytest.raises(
        InvalidMock, match=r"but calls to 'openai/gpt-4o' were. Write 'openai/gpt-4o'"
    ):
        mock.calls_of("openai/gpt4o")


@pytest.mark.parametrize("name", ["gpt-*", "*", "gpt-4?"])
def test_a_pattern_is_not_the_name_of_a_model(name: str) -> None:
    mock = create_mock_get_model()
    mock(CALLED).prompt("Hi").text()
    message = f"calls_of('{name}'): a pattern is not supported. Pass the name of one model, or "
    with pytest.raises(InvalidMock, match=re.escape(message)):
        mock.calls_of(name)


def test_two_models_of_one_spelling_may_both_be_called() -> None:
    mock = create_mock_get_model()
    for name in ("a/gpt-4o", CALLED):
        mock(name).prompt("Hi").text()
    assert [len(mock.calls_of(name)) for name in ("a/gpt-4o", CALLED)] == [1, 1]
    with pytest.raises(AssertionError, match=r"^Expected no call to any model that matches"):
        mock.assert_not_called_with(model=CALLED)


def test_a_token_limit_that_no_call_has_is_told_without_another_one() -> None:
    model = MockLLMModel("m", "Hi")
    model.prompt("Hello", temperature=0.5).text()
    with pytest.raises(AssertionError) as caught:
        model.assert_called_with(max_tokens=5)
    nearest = str(caught.value).splitlines()[1]
    assert nearest == "The nearest is call 1, but max_tokens was not sent, expected 5."
