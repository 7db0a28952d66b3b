"""Replies that want something of a call, and what is said when none fits."""

from __future__ import annotations

import pickle
import re
from typing import Any

import llm
import openai
import pytest
from pydantic import BaseModel

from llm_mock import (
    InvalidReply,
    Latency,
    ListReplyWarning,
    LLMMock,
    Reply,
    ToolCall,
    UnexpectedCall,
    call,
    create_mock_get_model,
)
from llm_mock.core.script import Matchers


class Answer(BaseModel):
    value: int


def look_up(word: str) -> str:
    return word


FOUND = llm.ToolResult("look_up", "kiwi found")
MISSING = llm.ToolResult("look_up", "no")
PNG = llm.Attachment(type="image/png", content=b"png")

MATCHING: list[tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = [
    ({"prompt": "apples"}, {"prompt": "Count the apples"}, {"prompt": "Count the pears"}),
    ({"prompt": re.compile(r"^count", re.IGNORECASE)}, {"prompt": "Count"}, {"prompt": "Do count"}),
    ({"prompt": lambda text: len(text) > 3}, {"prompt": "long"}, {"prompt": "no"}),
    ({"system": "brief"}, {"prompt": "Hi", "system": "Be brief"}, {"prompt": "Hi"}),
    ({"schema": Answer}, {"prompt": "Hi", "schema": Answer}, {"prompt": "Hi"}),
    ({"tools": ["look_up"]}, {"prompt": "Hi", "tools": [look_up]}, {"prompt": "Hi"}),
    ({"tools": "look_up"}, {"prompt": "Hi", "tools": [look_up]}, {"prompt": "Hi"}),
    ({"attachments": ["image/png"]}, {"prompt": "Hi", "attachments": [PNG]}, {"prompt": "Hi"}),
    ({"attachments": []}, {"prompt": "Hi"}, {"prompt": "Hi", "attachments": [PNG]}),
    (
        {"options": {"temperature": 0.5}},
        {"prompt": "Hi", "temperature": 0.5},
        {"prompt": "Hi", "temperature": 0.6},
    ),
    ({"turn": 1, "prompt": "Hi"}, {"prompt": "Hi"}, {"prompt": "Ho"}),
    *(
        (wanted, {"prompt": "Hi", "tool_results": [FOUND]}, {"prompt": "Hi", **other})
        for wanted, other in (
            ({"tool_result": "found"}, {}),
            ({"tool_result": "found"}, {"tool_results": [MISSING]}),
            ({"tool_result": re.compile("^kiwi")}, {"tool_results": [MISSING]}),
            ({"tool_result": lambda text: len(text) > 9}, {"tool_results": [MISSING]}),
            ({"has_tool_result": True}, {}),
        )
    ),
    (
        {"tool_result": "found"},
        {"prompt": "Hi", "tool_results": [MISSING, FOUND]},
        {"prompt": "Hi", "tool_results": [MISSING]},
    ),
    (
        {"has_tool_result": False},
        {"prompt": "Hi"},
        {"prompt": "Hi", "tool_results": [FOUND]},
    ),
]


@pytest.mark.parametrize(
    ("wanted", "fitting", "other"), MATCHING, ids=[str(list(row[0])) for row in MATCHING]
)
def test_a_queued_reply_is_given_to_the_first_call_that_fits(
    wanted: dict[str, Any], fitting: dict[str, Any], other: dict[str, Any]
) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", {"value": 1}, **wanted)
    assert get_model("m").prompt(**other).json() == {"success": True}
    with pytest.raises(AssertionError, match="One queued reply was not used"):
        get_model.assert_all_replies_used()
    assert get_model("m").prompt(**fitting).json() == {"value": 1}
    assert get_model("m").prompt(**fitting).json() == {"success": True}
    get_model.assert_all_replies_used()


@pytest.mark.parametrize(
    ("wanted", "fitting", "other"), MATCHING, ids=[str(list(row[0])) for row in MATCHING]
)
def test_a_standing_answer_is_given_to_every_call_that_fits(
    wanted: dict[str, Any], fitting: dict[str, Any], other: dict[str, Any]
) -> None:
    get_model = create_mock_get_model({"m": {"value": 2}})
    get_model.set("m", {"value": 1}, **wanted)
    get_model.set("m", {"value": 3})  # what wants nothing stands behind, though it was set last
    answers = [get_model("m").prompt(**asked).json() for asked in (fitting, other, fitting)]
    assert answers == [{"value": 1}, {"value": 3}, {"value": 1}]


def test_of_standing_answers_the_one_that_wants_most_and_names_the_model_best_is_given() -> None:
    get_model = create_mock_get_model()
    steps: list[tuple[str, dict[str, Any]]] = [
        *(("*", {}), ("m*", {}), ("m-?", {}), ("m-1", {})),
        *(("*", {"schema": Answer}), ("m*", {"schema": Answer}), ("m-1", {"schema": Answer})),
        *(("*", {"prompt": "Hi"}), ("m*", {"prompt": "Hi"}), ("m-1", {"prompt": "Hi"})),
        ("m-1", {"system": "brief"}),  # wants as much: the one that was set last
        *(("*", {"prompt": "Hi", "schema": Answer}), ("m-1", {"prompt": "Hi", "schema": Answer})),
    ]
    model = get_model("m-1")
    for number, (name, wanted) in enumerate(steps):
        get_model.set(name, {"value": number}, **wanted)
        assert model.prompt("Hi", schema=Answer, system="Be brief").json() == {"value": number}
    for number, (name, wanted) in enumerate(
        reversed(steps), start=len(steps)
    ):  # the order of the calls is no matter
        get_model.set(name, {"value": number}, **wanted)
    answer = model.prompt("Hi", schema=Answer, system="Be brief")
    assert answer.json() == {"value": len(steps)}
    assert model.prompt("Hi").json() == {"value": len(steps) + 3}
    assert model.prompt("Ho", schema=Answer).json() == {"value": len(steps) + 6}
    assert model.prompt("Ho").json() == {"value": len(steps) + 9}


def test_a_standing_answer_replaces_the_one_for_the_same_calls() -> None:
    get_model = create_mock_get_model()
    for answer in ("first", "second"):
        get_model.set("m", answer, prompt=re.compile("a"), options={"seed": 1})
    get_model.set("m", "other", prompt=re.compile("b"))
    assert [reply.answer.content for reply in get_model.configurator.replies.get_configured()] == [
        "other",
        "second",
    ]


@pytest.mark.parametrize(
    ("first", "same", "other"),
    [
        ({"options": {"stop": ["a"]}}, {"options": {"stop": ["a"]}}, {"options": {"stop": ["b"]}}),
        (
            {"options": {"seed": 1, "top_p": 0.5}},
            {"options": {"top_p": 0.5, "seed": 1.0}},
            {"options": {"seed": 1}},
        ),
        ({"tools": ["a", "b"]}, {"tools": ("a", "b")}, {"tools": ["b", "a"]}),
        ({"prompt": str.isupper}, {"prompt": str.isupper}, {"prompt": str.islower}),
        ({"prompt": "a", "schema": Answer}, {"prompt": "a", "schema": "Answer"}, {"prompt": "a"}),
    ],
    ids=["lists", "numbers", "tools", "functions", "schema"],
)
def test_conditions_are_the_same_if_they_are_equal(
    first: dict[str, Any], same: dict[str, Any], other: dict[str, Any]
) -> None:
    mock = create_mock_get_model()
    mock.set("m", "first", **first)
    mock.set("m", "other", **other)
    mock.set("m", "same", **same)
    replies = mock.configurator.replies.get_configured()
    assert sorted(reply.answer.content for reply in replies) == ["other", "same"]


class CountingMatcher:
    """A matcher that counts how often it is called and compared."""

    def __init__(self, count: dict[str, int], word: str) -> None:
        self.count = count
        self.word = word

    def __call__(self, text: str) -> bool:
        self.count["called"] += 1
        return self.word in text

    def __eq__(self, other: object) -> bool:
        self.count["compared"] += 1
        return self is other

    def __hash__(self) -> int:
        return hash(self.word)


@pytest.mark.parametrize("method", ["set", "add"])
def test_many_replies_are_not_compared_with_each_other(method: str) -> None:
    count = {"called": 0, "compared": 0}
    mock = create_mock_get_model()
    for number in range(200):
        getattr(mock, method)("m", "x", prompt=CountingMatcher(count, f"<{number}>"))
    # Of each pair once it would be 19,900.
    assert count["compared"] <= 1_000
    assert mock("m").prompt("<7>").text() == "x"
    # Queued replies are tried from the first one on, standing ones from the latest.
    assert count["called"] == (8 if method == "add" else 193)


@pytest.mark.parametrize("method", ["set", "add"])
@pytest.mark.parametrize(
    "missed", [{"model": "n"}, {"schema": Answer}, {"prompt": "other"}], ids=str
)
def test_a_function_is_not_asked_once_something_else_does_not_fit(
    method: str, missed: dict[str, Any]
) -> None:
    count = {"called": 0, "compared": 0}
    conditions = {"model": "m", "system": CountingMatcher(count, "brief"), **missed}
    mock = create_mock_get_model({"m": "default"})
    getattr(mock, method)(response="x", **conditions)
    assert mock("m").prompt("Hi", system="Be brief").text() == "default"
    assert count["called"] == 0


@pytest.mark.parametrize(
    ("conditions", "asked", "other"), MATCHING, ids=[str(list(row[0])) for row in MATCHING]
)
def test_a_call_is_answered_exactly_if_no_miss_is_explained(
    strict: LLMMock, conditions: dict[str, Any], asked: dict[str, Any], other: dict[str, Any]
) -> None:
    strict.set("m", {"value": 1}, **conditions)
    assert strict("m").prompt(**asked).json() == {"value": 1}
    with pytest.raises(UnexpectedCall, match="does not match: "):
        strict("m").prompt(**other)


def test_what_a_standing_answer_wants_is_shown_with_the_nearest_miss(strict: LLMMock) -> None:
    strict.set("gpt-*", "red", prompt="apple")
    with pytest.raises(UnexpectedCall) as caught:
        strict("gpt-4o").prompt("a pear")
    place = r"test_matchers\.py:\d+"
    assert re.search(
        rf"- gpt-\*  prompt contains 'apple'  → 'red'  \(.*{place}\)", str(caught.value)
    )
    assert "does not match: the prompt 'a pear' does not contain 'apple'" in str(caught.value)
    with pytest.raises(UnexpectedCall, match=r"the model is claude, not gpt-\*"):
        strict("claude").prompt("an apple")


def test_a_glob_names_models_for_every_kind_of_reply() -> None:
    get_model = create_mock_get_model()
    get_model.set("*", "any")
    get_model.add("gpt-*", "queued", prompt="apple")
    get_model.set_error("o?-*", ConnectionError)
    get_model.set_error("o1-mini", TimeoutError)
    get_model.set_unknown("text-*")
    assert get_model("claude").prompt("an apple").text() == "any"
    assert [get_model("gpt-4o").prompt("an apple").text() for _ in range(2)] == ["queued", "any"]
    for model, error in (("o3-mini", ConnectionError), ("o1-mini", TimeoutError)):
        with pytest.raises(error):
            get_model(model).prompt("Hi")
    get_model.set_error("o?-*", None)
    assert get_model("o3-mini").prompt("Hi").text() == "any"
    with pytest.raises(llm.UnknownModelError):
        get_model("text-davinci")
    get_model.set("m[1]", "brackets stand for themselves")
    assert get_model("m1").prompt("Hi").text() == "any"
    assert get_model("m[1]").prompt("Hi").text() == "brackets stand for themselves"


def test_of_globs_the_one_that_was_set_last_is_given_in_copies_too() -> None:
    get_model = create_mock_get_model({"gpt-*": "a", "gpt-4*": "b"})
    get_model.set_latency("gpt-*", Latency(first_chunk=1))
    assert get_model("gpt-4o").prompt("Hi").text() == "b"
    get_model.set("gpt-*", "c")
    get_model.add("gpt-4*", "d", optional=True, prompt="never")
    assert get_model("gpt-4o").prompt("Hi").text() == "c"
    script = pickle.loads(pickle.dumps(get_model.configurator.replies))
    assert script.find(get_model.calls[-1]).answer.content == "c"
    assert script.latencies.find("gpt-4o") == Latency(first_chunk=1)


def test_replies_in_a_list_are_given_one_after_the_other() -> None:
    get_model = create_mock_get_model({"*": "any"})
    get_model.script("m-*", ConnectionError("try again"), "first", Reply("second"), prompt="Count")
    with pytest.raises(ConnectionError):
        get_model("m-1").prompt("Count")
    asked = [("m-1", "Count"), ("m-1", "Hi"), ("m-2", "Count"), ("m-1", "Count")]
    assert [get_model(name).prompt(text).text() for name, text in asked] == [
        "first",
        "any",
        "second",
        "any",
    ]
    get_model.script("m", "unused")
    with pytest.raises(AssertionError, match="One queued reply was not used"):
        get_model.assert_all_replies_used()


def test_a_script_has_replies() -> None:
    with pytest.raises(InvalidReply, match=r"script\('m'\) has no replies: pass one for each call"):
        create_mock_get_model().script("m")


def test_a_script_is_the_run_of_an_agent() -> None:
    get_model = create_mock_get_model()
    get_model.script("*", call("look_up", word="kiwi"), call("look_up", word="fig"), "Done.")
    chain = get_model("m").chain("Look them up", tools=[look_up])
    assert chain.text() == "Done."
    outputs = [record.tool_results for record in get_model.calls]
    assert outputs == [
        [],
        [{"name": "look_up", "output": "kiwi"}],
        [{"name": "look_up", "output": "fig"}],
    ]
    get_model.assert_all_replies_used()


def test_a_call_may_have_arguments_of_any_name() -> None:
    made = call("f", name="a", tool="b", self="c", arguments={"d": 1})
    assert made.name == "f"
    assert made.arguments == {"name": "a", "tool": "b", "self": "c", "arguments": {"d": 1}}


def test_a_list_of_texts_is_data_and_hints_at_the_other_meaning() -> None:
    get_model = create_mock_get_model()
    for method in (get_model.set, get_model.add, get_model.set_response):
        with pytest.warns(
            ListReplyWarning, match=r"list \[\"a\", \"b\"\]\. For .* script\('m'"
        ) as caught:
            method("m", ["a", "b"])
        assert caught[0].filename == __file__
        assert get_model("m").prompt("Hi").json() == ["a", "b"]
    get_model.set("m", Reply(data=["a"]))  # it says so, and nothing is warned of
    get_model.set("m", [1])
    get_model.set("m", ["a"], schema="Names")
    with pytest.raises(
        InvalidReply, match=r"For one reply per call, write script\('m', first, second\)"
    ):
        get_model.set("m", [ConnectionError("down"), "up"])


def test_all_that_is_wanted_must_hold() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "found", prompt="apples", system="brief", options={"temperature": 0})
    for arguments in (
        {"system": "brief"},
        {"temperature": 0},
        {"system": "brief", "temperature": 1},
    ):
        assert get_model("m").prompt("apples", **arguments).text() != "found"
    assert get_model("m").prompt("apples", system="Be brief", temperature=0).text() == "found"


def test_replies_that_do_not_fit_wait_behind_those_that_do() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "pears", prompt="pears", times=2)
    get_model.add("*", "apples", prompt="apples")
    get_model.add("m", "any")
    asked = ["apples", "pears", "plums", "pears"]
    assert [get_model("m").prompt(text).text() for text in asked] == [
        "apples",
        "pears",
        "any",
        "pears",
    ]


def test_an_optional_reply_may_be_unused() -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "perhaps", optional=True)
    get_model.assert_all_replies_used()
    assert get_model("m").prompt("Hi").text() == "perhaps"


def test_matchers_say_what_they_want() -> None:
    wanted = Matchers(
        prompt="apples",
        system=re.compile("^Be"),
        tools=["look_up"],
        turn=2,
        attachments=["image/png"],
        options={"temperature": 0.5},
    )
    assert str(wanted) == (
        "prompt contains 'apples', system matches /^Be/, tools [\"look_up\"], turn 2, "
        'attachments ["image/png"], options {"temperature": 0.5}'
    )
    assert str(Matchers(prompt=str.isupper)) == "prompt satisfies str.isupper()"


@pytest.fixture
def strict() -> LLMMock:
    """Return a mock that answers nothing that was not configured."""
    get_model = create_mock_get_model()
    get_model.settings = get_model.settings._replace(strict="error")
    return get_model


def test_an_unexpected_call_explains_itself_by_the_nearest_miss(strict: LLMMock) -> None:
    strict.set("other", "x", schema=Answer)
    strict.set_error("third", ValueError("bad"))
    strict.set("fourth", Reply("Sunny", error=OSError("cut"), error_after=1))
    strict.add("m", "a", prompt="apples", system="brief")
    strict.add("m", "b", prompt=re.compile("pears"), turn=1)
    with pytest.raises(UnexpectedCall) as caught:
        strict("m").prompt("Count the plums")
    message = re.sub(r"\(\S+test_matchers\.py:\d+\)", "(HERE)", str(caught.value))
    assert message.splitlines() == [
        "No reply was configured for this call:",
        "  m  'Count the plums'",
        "Configured replies:",
        "  - m  prompt matches /pears/, turn 1  → 'b'  (HERE)",
        "    does not match: the prompt 'Count the plums' does not match /pears/",
        "  - third  → raises ValueError('bad')  (HERE)",
        "  - fourth  → 'Sunny', then raises OSError('cut')  (HERE)",
        "  - m  prompt contains 'apples', system contains 'brief'  → 'a'  (HERE)",
        "  - other  schema Answer  → 'x'  (HERE)",
        "Configure one with the fixture mock_llm_responses: "
        'mock_llm_responses.set("m", "…"), or set("*", "…") for any model.',
    ]
    assert strict.calls[0]["error"] == str(caught.value)


def test_an_unexpected_call_shows_20_replies_and_counts_the_others(strict: LLMMock) -> None:
    for number in range(21):
        strict.set(f"other-{number}", "x")
    with pytest.raises(UnexpectedCall) as caught:
        strict("m").prompt("Hello")
    lines = str(caught.value).splitlines()
    assert sum(line.startswith("  - ") for line in lines) == 20
    assert lines[-2] == "  … 1 more"


TOKENS = (
    " If these numbers are tokens of a text, send the text instead. In LangChain, use "
    "OpenAIEmbeddings(check_embedding_ctx_length=False)."
)


@pytest.mark.parametrize(
    ("item", "shown"),
    [
        ("a plum", "'a plum'."),
        ("7 plums", "'7 plums'."),
        ("33 1004", f"'33 1004'.{TOKENS}"),
        ("33", f"'33'.{TOKENS}"),
        (b"a plum", "6 bytes."),
    ],
)
def test_an_unexpected_item_to_embed_is_shown(
    strict: LLMMock, item: str | bytes, shown: str
) -> None:
    model = strict.get_embedding_model("e")
    with pytest.raises(UnexpectedCall) as caught:
        model.embed(item)
    assert f"this input of the embedding model 'e': {shown} Set one with" in str(caught.value)


def test_an_unexpected_call_says_that_nothing_was_configured(strict: LLMMock) -> None:
    with pytest.raises(UnexpectedCall, match=r"No reply was configured before this call\."):
        strict("m").prompt("Hi")


def test_a_default_response_that_was_given_is_a_configured_reply(strict: LLMMock) -> None:
    strict("m").default_response = "default"
    assert strict("m").prompt("Hi").text() == "default"


async def later(text: str) -> bool:
    return bool(text)


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"prompt": ""},
            "prompt='' matches every text: remove it, or pass a part of the prompt. To match an ",
        ),
        ({"system": re.compile("")}, "system=re.compile('') matches every text"),
        (
            {"options": {"top_p": float("nan")}},
            'options={"top_p": NaN}: no call matches NaN, which equals nothing',
        ),
        (
            {"options": {"a": {"b": [float("nan")]}}},
            'options={"a": {"b": [NaN]}}: no call matches NaN',
        ),
        (
            {"prompt": 5},
            ("prompt=5: pass a text that the prompt contains, a compiled pattern, or a function"),
        ),
        ({"prompt": re.compile(b"x")}, "prompt=an object of type Pattern: pass a text"),
        ({"system": ["x"]}, 'system=["x"]: pass a text that the system contains'),
        (
            {"prompt": lambda: True},
            "prompt=test_what_no_call_can_be_like_is_refused_by_add.<locals>",
        ),
        ({"prompt": later}, "prompt=later() is async: pass a sync function"),
        ({"tools": [later]}, "tools=[later()]: pass a list of names of tools, such as ['search']."),
        ({"tools": 5}, "tools=5: pass a list of names of tools"),
        ({"turn": 0}, "turn=0: pass a whole number of at least 1."),
        ({"turn": True}, "turn=True: pass a whole number of at least 1."),
        ({"turn": "1"}, "turn='1': pass a whole number of at least 1."),
        (
            {"attachments": "image/png"},
            "attachments='image/png': pass a list of the types of all attachments",
        ),
        (
            {"attachments": [5]},
            "attachments=[5]: pass a list of the types of all attachments, such as ['image/png'], "
            "with None for an attachment with a URL.",
        ),
        ({"options": "x"}, "options='x': pass a mapping of names to values"),
        (
            {"times": "2"},
            "times='2': pass a whole number of at least 1.",
        ),
        ({"times": 0}, "times=0: pass a whole number"),
        ({"times": True}, "times=True: pass a whole number"),
    ],
)
def test_what_no_call_can_be_like_is_refused_by_add(wanted: dict[str, Any], message: str) -> None:
    mock = create_mock_get_model()
    with pytest.raises(InvalidReply) as caught:
        mock.add("m", "x", **wanted)
    assert str(caught.value).startswith(message.partition("=test_")[0])
    assert mock("m").prompt("anything").json() == {"success": True}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"times": 2},
            (
                "set() has no argument 'times', because its reply answers every call. To queue a "
                "reply, write add(…, times=…)."
            ),
        ),
    ],
)
def test_set_refuses_an_argument_of_add(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        create_mock_get_model().set("m", "x", **given)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("conditions", "asked", "miss"),
    [
        ({"tool_result": "found"}, {}, "it has no tool result"),
        ({"has_tool_result": True}, {}, "it has no tool result"),
        (
            {"has_tool_result": False},
            {"tool_results": [FOUND]},
            "it has a tool result",
        ),
        (
            {"tool_result": "found"},
            {"tool_results": [MISSING]},
            "the tool result 'no' does not contain 'found'",
        ),
    ],
)
def test_a_message_says_which_result_of_a_tool_was_missed(
    conditions: dict[str, Any], asked: dict[str, Any], miss: str
) -> None:
    get_model = create_mock_get_model()
    get_model.add("m", "done", **conditions)
    get_model("m").prompt("Hi", **asked)
    with pytest.raises(AssertionError) as caught:
        get_model.assert_all_replies_used()
    [condition] = conditions
    assert condition in str(caught.value)
    assert f"but {miss}" in str(caught.value)


@pytest.mark.parametrize(
    ("conditions", "problem"),
    [
        ({"has_tool_result": "yes"}, "has_tool_result='yes': pass True or False"),
        ({"tool_result": ""}, "tool_result='' matches every text"),
        ({"tool_result": 5}, "tool_result=5: pass a text that the tool_result contains"),
        ({"tool_result": "a", "has_tool_result": False}, "No call can match both"),
    ],
)
def test_a_condition_on_results_of_tools_can_hold(conditions: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        create_mock_get_model().set("m", "done", **conditions)


@pytest.mark.parametrize(
    ("prompt", "hint"),
    [
        ("*rain*", " (leave out the *: a text matches anywhere in the prompt)"),
        ("rain*", " (leave out the *: a text matches anywhere in the prompt)"),
        ("*snow*", ""),
        ("*", " (leave out the condition: without it, any prompt matches)"),
        ("snow", ""),
    ],
)
def test_a_text_with_stars_is_explained_if_the_prompt_has_the_text(
    prompt: str, hint: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        import llm

        def test_it(mock_llm_responses):
            mock_llm_responses.set("gpt-4o", "Yes.", prompt={prompt!r})
            llm.get_model("gpt-4o").prompt("Does it rain?").text()
            assert False
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    [line] = [line for line in result.outlines if line.startswith("    nearest call: 1, but")]
    assert line.endswith(f"contain {prompt!r}{hint}")


@pytest.mark.parametrize(
    ("first", "hint"),
    [
        (
            "It is ",
            ". One call uses one reply: for several chunks of a stream, write "
            "Reply(chunks=['It is ', 'sunny.'])",
        ),
        (call("look_up"), ""),
    ],
)
def test_only_texts_may_be_meant_as_the_chunks_of_one_stream(
    first: str | ToolCall, hint: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("gpt-5", first)
    mock_llm_responses.add("gpt-5", "sunny.")
    tools: Any = [{"type": "function", "name": "look_up", "parameters": {}}]
    with openai.OpenAI(api_key="none") as client:
        list(client.responses.create(model="gpt-5", input="Hi", tools=tools, stream=True))
    with pytest.raises(AssertionError) as caught:
        mock_llm_responses.assert_all_replies_used()
    *_, answered = re.findall("    another reply answered .*", str(caught.value))
    assert answered.partition(")")[2] == hint
    mock_llm_responses.reset()
