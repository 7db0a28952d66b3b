"""Changed answers, requests and rules of prompts."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import llm
import openai
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.behaviour.changed_requests import (
    remove_message,
    remove_schema,
    remove_tools,
    replace_text,
)
from llm_mock.behaviour.changed_values import (
    OTHER_TEXT,
    SECOND_TEXT,
    change_data,
    change_json,
    change_text,
    empty_answer,
)
from llm_mock.behaviour.mutations import (
    CallChange,
    MutationObserver,
    ObservedCall,
    describe_change,
    list_changes,
)
from llm_mock.behaviour.prompt_rules import (
    change_number,
    list_rule_changes,
    negate,
    split_rules,
    weaken,
)
from llm_mock.cassettes import Cassette
from llm_mock.core.observation import observe
from llm_mock.core.request import Request
from llm_mock.support.schemas import find_violations


def make_request(schema: dict[str, Any] | None = None) -> Request:
    """Return a request, which may ask for a schema."""
    request = Request()
    request.schema = schema
    return request


@pytest.mark.parametrize(
    ("data", "changed"),
    [
        ("a", OTHER_TEXT),
        (OTHER_TEXT, SECOND_TEXT),
        (True, False),
        (False, True),
        (7, 8),
        (1.5, 2.5),
        (None, None),
        ({}, {}),
        ({"a": 1, "b": [True, {"c": "x"}]}, {"a": 2, "b": [False, {"c": OTHER_TEXT}]}),
    ],
)
def test_each_value_becomes_another_one_of_its_type(data: Any, changed: Any) -> None:
    before = repr(data)
    assert change_json(data, None) == changed
    assert repr(data) == before


@pytest.mark.parametrize(
    ("schema", "value", "changed"),
    [
        ({"enum": ["red", "green"]}, "red", "green"),
        ({"const": "red"}, "red", "red"),
        ({"anyOf": [{"enum": ["red"]}, {"const": "blue"}]}, "red", "blue"),
        ({"type": "integer", "maximum": 7}, 7, 6),
        ({"type": "integer", "maximum": 7, "minimum": 7}, 7, 7),
        ({"type": "integer", "enum": [0, 5]}, 5, 0),
        ({"type": "integer", "enum": [1, 5]}, 5, 1),
        ({"type": "number", "enum": [2.5, 5]}, 5, 2.5),
        ({"type": "string", "maxLength": 5}, "a", "other"),
        ({"type": "string", "maxLength": 2}, "ab", "ba"),
        ({"type": "string", "maxLength": 1}, "a", "a"),
    ],
)
def test_other_values_are_those_that_the_schema_permits(
    schema: dict[str, Any], value: Any, changed: Any
) -> None:
    whole = {"type": "object", "properties": {"value": schema}, "required": ["value"]}
    found = change_json({"value": value}, whole)
    assert found == {"value": changed}
    assert list(find_violations(whole, found)) == []
    assert change_json(value, schema) == changed


def test_a_text_in_json_stays_json_and_other_text_becomes_another() -> None:
    reply = change_data(make_request(), Reply('{"a": "é"}'))
    assert reply is not None
    assert reply.content == f'{{"a": "{OTHER_TEXT}"}}'
    assert change_text(make_request(), Reply('{"a": 1}')) is None
    # A number is a text, whatever a parser makes of it.
    assert change_data(make_request(), Reply("7")) is None
    changed = change_text(make_request(), Reply(OTHER_TEXT, usage={"input": 3, "output": 2}))
    assert changed is not None
    assert (changed.content, changed.given_tokens()) == (SECOND_TEXT, (3, 2))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(""),
        Reply(error=ValueError("no")),
        Reply("Some text", error=ValueError("no"), error_after=1),
        Reply(body={"a": 1}),
    ],
)
def test_what_has_no_answer_in_terms_of_the_mock_is_not_emptied(reply: Reply) -> None:
    assert empty_answer(make_request(), reply) is None
    assert change_text(make_request(), reply) is None
    assert change_data(make_request(), reply) is None


def test_a_tool_call_alone_is_an_answer() -> None:
    emptied = empty_answer(make_request(), Reply(tool_calls=[ToolCall("f", {})]))
    assert emptied is not None
    assert (emptied.content, emptied.tool_calls) == ("", ())


PROMPT = """# The rules of this poet
You are a poet. "Be brief."  Answer in
French! Is that clear?
- Always rhyme. In pairs.
* Use 3 lines
  at most.
2. Never swear
10) No jokes

```
not a rule.
```
OK.
Never swear
"""


def test_rules_are_sentences_and_list_items() -> None:
    rules = split_rules(PROMPT)
    assert rules == [
        "You are a poet.",
        '"Be brief.',
        "Answer in\nFrench!",
        "Always rhyme. In pairs.",
        "Use 3 lines\n  at most.",
        "Never swear",
        "No jokes",
    ]
    assert all(rule in PROMPT for rule in rules)


@pytest.mark.parametrize(
    ("rule", "negated"),
    [
        ("You must not ask.", "You must ask."),
        ("It should not end.", "It should end."),
        ("You may not ask.", "You may ask."),
        ("Do not ask.", "Do ask."),
        ("Don't ask.", "Do ask."),
        ("It cannot end.", "It can end."),
        ("Never ask.", "Always ask."),
        ("You always ask.", "You never ask."),
        ("You MUST ask.", "You Must not ask."),
        ("It should end.", "It should not end."),
        ("You may ask.", "You may not ask."),
        ("You can ask.", "You cannot ask."),
        ("It will end.", "It will not end."),
        ("You are a poet.", "You are not a poet."),
        ("This is it.", "This is not it."),
        ("Answer in JSON.", "Do not answer in JSON."),
        ("answer in JSON.", "Do not answer in JSON."),
        ("Island tales.", None),
        ("Answer", None),
    ],
)
def test_a_rule_is_negated(rule: str, negated: str | None) -> None:
    assert negate(rule) == negated


@pytest.mark.parametrize(
    ("rule", "weakened"),
    [
        ("You must ask.", "You may ask."),
        ("It shall end.", "It may end."),
        ("You should ask.", "You may ask."),
        ("Always ask.", "Sometimes ask."),
        ("You never ask.", "You rarely ask."),
        ("Do not ask.", "Try not to ask."),
        ("Don't ask.", "Try not to ask."),
        ("It cannot end.", "It should not end."),
        ("Only ask.", "Mainly ask."),
        ("Use exactly 3.", "Use about 3."),
        ("Use at most 3.", "Use about 3."),
        ("Use at least 3.", "Use about 3."),
        ("Rhyme every line.", "Rhyme almost every line."),
        ("Rhyme all lines.", "Rhyme most lines."),
        ("Be brief.", None),
    ],
)
def test_a_rule_is_weakened(rule: str, weakened: str | None) -> None:
    assert weaken(rule) == weakened


@pytest.mark.parametrize(
    ("rule", "changed"),
    [
        ("Use 3 lines, 4 words.", "Use 4 lines, 4 words."),
        ("Use 99.", "Use 100."),
        ("Use v2 of it.", None),
        ("Use gpt4.", None),
        ("Be brief.", None),
    ],
)
def test_the_number_of_a_rule_is_changed(rule: str, changed: str | None) -> None:
    assert change_number(rule) == changed


def test_a_prompt_of_one_rule_is_not_deleted() -> None:
    assert {change.kind for change in list_rule_changes("You must use 3 lines.\n")} == {
        "negated",
        "weakened",
        "number",
    }
    changes = list_rule_changes("You must use 3 lines. Be brief.")
    assert changes[0] == ("deleted", "You must use 3 lines.", "")


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        ("text", "assert the result of the application for '{\"a\": 1}'"),
        ("empty", "assert how the application handles an empty answer, or the result of"),
        ("no-tool-call", "assert the effect of the tool weather, or mock.calls[-1].tool_results"),
        ("error", "assert the result of this answer; test failures with mock.set_error('gpt-4o'"),
        ("no-error", "assert the error: with pytest.raises"),
        ("dropped-call", "assert_llm_called_times(mock, 'gpt-4o', "),
        ("prompt", "mock.assert_called_with(prompt='How is Rome?')"),
        ("system", "mock.assert_called_with(system='Be brief.')"),
        (
            "tool-results",
            'assert mock.calls[1].tool_results == [{"name": "weather", "output": "sunny"}]',
        ),
        ("model", "mock.assert_called_with(model='gpt-4o')"),
        ("tools", 'mock.assert_called_with(tools=["weather"])'),
        ("schema", "mock.assert_called_with(schema='City')"),
    ],
)
def test_the_advice_is_the_assertion_that_would_notice(kind: str, advice: str) -> None:
    request = make_request({"title": "City", "type": "object"})
    request.prompt = "How is Rome?"
    request.system = "Be brief."
    request.tools = [llm.Tool(name="weather")]
    request.tool_results = [llm.ToolResult(name="weather", output="sunny")]
    reply = Reply('{"a": 1}', tool_calls=[ToolCall("weather", {"city": "Rome"})])
    call = ObservedCall(2, "gpt-4o", "app.py:7", request, reply)
    described = describe_change(CallChange(kind, 2), [call])
    assert described["advice"].startswith(advice)
    assert described["call"] == {"number": 2, "model_id": "gpt-4o", "place": "app.py:7"}


def test_changed_data_keeps_its_letters() -> None:
    reply = change_data(make_request(), Reply('{"Größe": 1}'))
    assert reply is not None
    assert reply.content.startswith('{"Größe": ')
    assert reply.content != '{"Größe": 1}'


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
HISTORY: list[Any] = [
    {"role": "user", "content": [IMAGE]},
    {"role": "assistant", "content": "A bar."},
    {"role": "user", "content": "Why?"},
]


def ask(api: str = "chat", **options: Any) -> None:
    """Ask by the SDK of OpenAI, with a history that begins with an image."""
    with openai.OpenAI(api_key="any", max_retries=0) as client:
        if api == "chat":
            client.chat.completions.create(model="gpt-4o", messages=HISTORY, **options)
        else:
            client.responses.create(model="gpt-4o", input=HISTORY[1:], **options)


def read_body(request: Request) -> Any:
    """Return the body of a request over HTTP."""
    sent = request.get_sent_request()
    assert sent is not None
    return sent[3]


def test_a_message_is_removed_from_the_body_if_a_text_tells_it(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Because.")
    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        ask()
        ask("responses")
    in_chat, in_responses = [call.request for call in observer.calls]
    without_answer = remove_message(in_responses, 0)
    assert without_answer is not None
    assert read_body(without_answer)["input"] == HISTORY[2:]
    # An image has no text.
    without_image = remove_message(in_chat, 0)
    assert without_image is not None
    assert without_image.messages() == in_chat.messages()[1:]
    assert read_body(without_image)["messages"] == HISTORY


def test_a_changed_prompt_is_in_the_messages_and_in_the_body(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Because.")
    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        ask(temperature=0.5, store=False)
    [call] = observer.calls
    changed = replace_text(call.request, "Why", "How")
    assert changed is not None
    *history, last = changed.messages()
    assert history == call.request.messages()[:-1]
    assert (changed.prompt, last["parts"]) == ("How?", [{"type": "text", "text": "How?"}])
    assert read_body(changed) == {
        **read_body(call.request),
        "messages": [*HISTORY[:-1], {"role": "user", "content": "How?"}],
    }


def test_data_that_cannot_be_generated_is_not_changed(mock_llm_responses: LLMMock) -> None:
    possible = {"type": "object", "required": ["a"]}
    impossible = {"type": "object", "minProperties": 2, "additionalProperties": False}
    mock_llm_responses.set("gpt-4o", Reply('{"a": 1}', invalid=True))
    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        for schema in (possible, impossible):
            form = {"name": "Answer", "schema": schema}
            ask(response_format={"type": "json_schema", "json_schema": form})
    kinds = [{change.kind for change in list_changes([call])} for call in observer.calls]
    assert kinds[0] - kinds[1] == {"data"}


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
TOOL = {"type": "function", "function": {"name": "answer", "parameters": SCHEMA}}
CHOICE = {"type": "function", "function": {"name": "answer"}}
FORM = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA}}


def test_a_schema_that_is_a_tool_is_removed_with_the_tool(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"n": 1})
    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        ask(tools=[TOOL], tool_choice=CHOICE)
        observer.start(CallChange("schema", 1))
        ask(tools=[TOOL], tool_choice=CHOICE)
    unchanged, changed = mock_llm_responses.calls
    assert [offered["name"] for offered in unchanged.tools] == ["answer"]
    assert unchanged.schema == {"title": "answer", **SCHEMA}
    assert (changed.tools, changed.schema) == ([], None)


@pytest.mark.parametrize(
    ("remove", "fields", "kept"),
    [
        (remove_schema, {"response_format": FORM, "tools": [TOOL]}, ["tools"]),
        (remove_schema, {"tools": [TOOL], "tool_choice": CHOICE}, []),
        (
            remove_tools,
            {"response_format": FORM, "tools": [TOOL], "tool_choice": "auto"},
            ["response_format"],
        ),
    ],
)
def test_a_removed_schema_and_removed_tools_are_not_in_the_body(
    remove: Callable[[Request], Request | None],
    fields: dict[str, Any],
    kept: list[str],
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("gpt-4o", {"n": 1})
    observer = MutationObserver(lambda mock: False)
    with observe(observer):
        ask(**fields)
    changed = remove(observer.calls[0].request)
    assert changed is not None
    assert [name for name in read_body(changed) if name in fields] == kept


def test_the_calls_of_an_ignored_mock_are_neither_counted_nor_changed(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.add("gpt-4o", "Hello")
    observer = MutationObserver(lambda mock: mock is mock_llm_responses)
    observer.start(CallChange("prompt", 1))
    with observe(observer):
        ask()
    assert observer.calls == []
    assert [(each.prompt, each.response) for each in mock_llm_responses.calls] == [
        ("Why?", "Hello")
    ]


@pytest.mark.parametrize(("mode", "is_real"), [("once", True), ("none", False)])
def test_a_call_that_may_be_recorded_may_be_real(
    mode: Any,
    is_real: bool,
    mock_llm_responses: LLMMock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    mock_llm_responses.add("gpt-4o", "Hello")
    monkeypatch.setattr(mock_llm_responses, "cassette", Cassette(tmp_path / "a.yaml", mode))
    observer = MutationObserver(lambda mock: False)
    assert not observer.has_real_calls
    with observe(observer):
        ask()
    assert observer.has_real_calls is is_real
