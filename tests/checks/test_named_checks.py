"""The checks as functions, about every subject that they may be asked about."""

from __future__ import annotations

import asyncio
import inspect
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args

import llm
import pytest
from llm.models import Usage
from pydantic import BaseModel

from llm_mock import LLMMock, Reply, ToolCall, checks
from llm_mock.agents import AgentResult, ToolCallRecord, Turn
from llm_mock.agents.result import ExpectedModel
from llm_mock.checks import (
    check,
    contains,
    contains_all,
    contains_any,
    contains_json,
    equals,
    icontains,
    judge,
    max_cost,
    max_latency,
    max_tokens,
    python,
    reasoning_budget,
    regex,
    similar,
    starts_with,
    tool_called,
    tool_calls,
    trajectory,
)
from llm_mock.checks.schema import Assertion

SEARCH = ToolCallRecord("search", {"query": "rain"}, "wet")
SEND = ToolCallRecord("send", {"to": "Ada"}, "ok")


def run(text: str = "Hello, Ada", **fields: Any) -> AgentResult:
    """Return a run that called two tools."""
    turn = Turn(text, (SEARCH, SEND), Usage(10, 5, {"reasoning_tokens": 3}))
    values = {"success": True, "duration": 1.5, **fields}
    return AgentResult("agent", "gpt-4o", "Greet Ada", (turn,), **values)


HOLDING: dict[str, Any] = {
    "contains": contains("Hello"),
    "contains in any case": contains("hELLO", case_insensitive=True),
    "icontains": icontains("hELLO"),
    "contains_any": contains_any(["Bye", "Hello"]),
    "contains_any in any case": contains_any(["bYE", "hELLO"], case_insensitive=True),
    "contains_all": contains_all(["Hello", "Ada"]),
    "contains_all in any case": contains_all(["hELLO", "aDA"], case_insensitive=True),
    "equals": equals("Hello, Ada "),
    "equals in any case": equals("hello, ada", case_insensitive=True),
    "starts_with": starts_with("Hello"),
    "starts_with in any case": starts_with("hello", case_insensitive=True),
    "regex": regex("^Hello, [A-Z]"),
    "of the prompt": contains("Greet", of="prompt"),
    "tool_called": tool_called("search", query="rain"),
    "tool_calls": tool_calls(["search", ("send", {"to": "Ada"})]),
    "tool_calls in any order": tool_calls(["send", "search"], "unordered"),
    "tool_calls repeated": tool_calls(["send", "search"], "subset", allow_repeats=True),
    "trajectory": trajectory([ExpectedModel("gpt-*"), "search", ("send", {"to": "Ada"})]),
    "trajectory in length": trajectory(max_steps=3),
    "reasoning_budget": reasoning_budget(3),
    "max_tokens": max_tokens(15),
    "max_latency": max_latency(1.5),
}
FAILING: dict[str, tuple[Any, str]] = {
    "contains": (contains("hello"), "Output does not contain 'hello'"),
    "icontains": (icontains("bye"), "Output does not contain 'bye'"),
    "contains_any": (contains_any(["Bye"]), "Output contains none of 'Bye'"),
    "contains_all": (contains_all(["Hello", "Bye"]), "Output does not contain 'Bye'"),
    "equals": (equals("Hello"), "Output does not equal 'Hello', it is 'Hello, Ada'"),
    "starts_with": (starts_with("Ada"), "Output does not start with 'Ada'"),
    "regex": (regex("^Ada"), "Output does not match pattern '^Ada'"),
    "json": (checks.json(), "Output is not JSON"),
    "contains_json": (contains_json(), "Output contains no JSON object or list"),
    "of the prompt": (contains("Hello", of="prompt"), "Prompt does not contain 'Hello'"),
    "tool_called": (tool_called("search", query="snow"), "Tool calls: no call to search("),
    "tool_calls": (tool_calls(["search"]), 'Tool calls: send(to="Ada") was not expected'),
    "trajectory": (trajectory(["search", "send"]), "Trajectory: search was expected, not the"),
    "trajectory in length": (trajectory(max_steps=2), "Trajectory: 3 steps, more than 2"),
    "reasoning_budget": (reasoning_budget(2), "Took 3 reasoning tokens, more than 2"),
    "max_tokens": (max_tokens(14), "Took 15 tokens, more than 14"),
    "max_latency": (max_latency(1.4), "Took 1.5 s, more than 1.4 s"),
    "max_cost": (max_cost(0), "Cost $"),
}


@pytest.mark.parametrize("name", HOLDING)
def test_a_check_that_holds_is_true(name: str) -> None:
    finding = HOLDING[name](run())
    assert finding
    assert finding.outcome == "passed"


@pytest.mark.parametrize("name", FAILING)
def test_a_check_that_fails_is_false_and_says_why(name: str) -> None:
    if name == "max_cost":
        pytest.importorskip("genai_prices")
    failing, reason = FAILING[name]
    finding = failing(run())
    assert not finding
    assert finding.outcome == "failed"
    assert finding.reason.startswith(reason)


LIMITS = {"max_cost", "max_latency", "max_tokens", "reasoning_budget"}


@pytest.mark.parametrize("name", sorted(({*HOLDING, *FAILING} & {*checks.__all__}) - LIMITS))
def test_the_opposite_holds_where_the_check_fails(name: str) -> None:
    if name in FAILING:
        assert (~FAILING[name][0])(run())
    if name in HOLDING:
        assert not (~HOLDING[name])(run())
        assert (~~HOLDING[name])(run())


@pytest.mark.parametrize("limit", [max_tokens(1), max_latency(1), reasoning_budget(1)])
def test_a_limit_has_no_opposite(limit: Any) -> None:
    with pytest.raises(TypeError, match=f"{limit.type} has no opposite"):
        assert ~limit


def test_a_check_shows_itself_as_it_is_written() -> None:
    assert repr(contains("Hello")) == "contains(value='Hello')"
    assert repr(~contains("a", case_insensitive=True)) == (
        "not_contains(case_insensitive=True, value='a')"
    )
    assert str(max_tokens(3)) == "max_tokens(value=3)"


PRICE = '{"items": [{"price": 9}], "vat": null}'


@pytest.mark.parametrize(
    ("holding", "failing"),
    [
        (checks.json("items[0].price", value=9), checks.json("items[0].price", value=8)),
        (checks.json("vat", value=None), checks.json("items", value=None)),
        (checks.json(schema={"required": ["vat"]}), checks.json(schema={"required": ["tax"]})),
        (contains("9", transform="items[0].price"), contains("8", transform="items[0].price")),
        (contains_json("vat"), contains_json("tax")),
        (contains_json(schema={"type": "object"}), contains_json(schema={"type": "string"})),
        (contains_json("vat", value=None), contains_json("vat", value=1)),
    ],
)
@pytest.mark.parametrize("subject", [PRICE, {"items": [{"price": 9}], "vat": None}])
def test_data_is_checked_as_its_json(subject: object, holding: Any, failing: Any) -> None:
    assert holding(subject)
    assert not failing(subject)


class Price(BaseModel):
    amount: int


def test_an_object_of_pydantic_is_data() -> None:
    assert checks.json("amount", value=3)(Price(amount=3))
    assert equals("true")(True)


@pytest.mark.parametrize("subject", [None, object(), b"Hello", max])
def test_what_cannot_be_checked_is_an_error(subject: object) -> None:
    with pytest.raises(TypeError, match="The subject must be a text, data, an AgentResult"):
        contains("Hello")(subject)


@pytest.mark.parametrize("limit", [max_cost(1), max_tokens(1), tool_called("search")])
def test_a_text_has_no_run(limit: Any) -> None:
    finding = limit("Hello")
    assert not finding
    assert finding.outcome == "not checked"
    assert repr(finding) == "<not checked: it checks a run, but only an output is available>"
    if not limit.type.startswith("max_"):
        assert not (~limit)("Hello")


@pytest.mark.parametrize("subject", ["Hello", run()])
@pytest.mark.parametrize("named", [contains("x", of="system"), ~contains("x", of="system")])
def test_a_prompt_that_is_not_known_is_not_checked(named: Any, subject: Any) -> None:
    finding = named(subject)
    assert finding.outcome == "not checked"
    assert finding.reason.startswith(
        "the prompt of this run, or of the application's model calls, is unknown"
    )


@pytest.mark.parametrize("negated", [False, True])
def test_nothing_is_checked_of_a_run_that_failed(negated: bool) -> None:
    failed = run(success=False, error="max_turns=2 was reached")
    named = contains("Hello")
    finding = (~named if negated else named)(failed)
    assert finding.outcome == "not checked"
    assert not finding
    assert finding.reason == "the run failed: max_turns=2 was reached"


def test_what_cannot_be_evaluated_never_holds() -> None:
    unknown = run(duration=math.nan)
    assert max_latency(1)(unknown).reason == "The duration of the run is unknown"
    assert not max_latency(1)(unknown)
    for named in (python("nowhere.py:f"), ~python("nowhere.py:f"), similar("x", model="none")):
        assert not named("Hello")


UNSUPPORTED = " returned an object of type {}, not true or false, a score from 0 to 1, "


@pytest.mark.parametrize(
    ("result", "reason"),
    [
        ("(True, 'a', 'b')", UNSUPPORTED.format("tuple")),
        ("{'pass': 'yes'}", UNSUPPORTED.format("dict")),
        ("{'score': True}", UNSUPPORTED.format("dict")),
        ("contains('Hello', of='system')(output)", " could not check it: the prompt of this run"),
    ],
)
def test_a_function_without_a_verdict_never_holds(
    result: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code = f"from llm_mock.checks import contains\ndef f(output):\n    return {result}\n"
    (tmp_path / "rules.py").write_text(code)
    named = python("rules.py:f")
    for finding in (named("Hello"), (~named)("Hello")):
        assert not finding
        assert finding.reason.startswith(f"rules.py:f{reason}")


def test_a_function_may_be_written_in_c() -> None:
    assert python("builtins:bool")("Hello")
    assert not python("builtins:bool")("")
    # It has no line to show.
    reason = "builtins:int raised ValueError: invalid literal for int() with base 10: 'Hello'"
    assert python("builtins:int")("Hello").reason == reason


def test_a_transform_is_a_plain_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.py").write_text("async def upper(output):\n    return output.upper()\n")
    finding = contains("HELLO", transform="rules.py:upper")("Hello")
    assert not finding
    assert finding.reason == "The transform rules.py:upper is async: use a plain function"


def test_an_empty_vector_is_similar_to_nothing(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.get_embedding_model("embed").set("", [0.0, 0.0])
    mock_llm_calls.get_embedding_model("embed").set("Hello", [0.8, 0.6])
    finding = similar("Hello", model="embed")("")
    assert finding.reason == "Output is not similar to 'Hello': 0.000, less than 0.8"


def test_an_error_of_the_default_embedding_model_has_no_name(
    mock_llm_calls: LLMMock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    mock_llm_calls.get_embedding_model("embed").set_error(ConnectionError("no route"))
    llm.set_default_embedding_model("embed")
    finding = similar("Hello")("Hello")
    assert not finding
    assert finding.reason == "The embedding model failed: ConnectionError: no route"


def ask(mock: LLMMock, **options: Any) -> Any:
    """Return a response that calls a tool."""
    call = ToolCall("search", {"query": "rain"})
    mock.configurator.set(
        "gpt-4o", Reply("Hello", tool_calls=[call], usage={"input_tokens": 10, "output_tokens": 5})
    )

    def search(query: str) -> str:
        """Search."""
        return query

    return llm.get_model("gpt-4o").prompt("Hi", system="Be kind", tools=[search], **options)


ABOUT_A_RESPONSE = [
    equals("Hello"),
    contains("Hi", of="prompt"),
    contains("kind", of="system"),
    tool_called("search", query="rain"),
    tool_calls(["search"]),
    max_tokens(15),
    ~contains("Bye"),
]


def test_a_response_of_llm_is_a_subject(mock_llm_responses: LLMMock) -> None:
    response = ask(mock_llm_responses)
    check(response, *ABOUT_A_RESPONSE, max_latency(60))
    assert not max_tokens(14)(response)
    assert not tool_called("send")(response)


def test_a_call_of_the_mock_is_a_subject(mock_llm_responses: LLMMock) -> None:
    ask(mock_llm_responses).text()
    [call] = mock_llm_responses.calls
    check(call, *ABOUT_A_RESPONSE)
    assert not max_tokens(14)(call)
    assert not tool_called("send")(call)
    assert not max_latency(60)(call)


def test_a_call_may_have_data_or_an_error(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("data", {"price": 9})
    mock_llm_responses.set("broken", ValueError("no route"))
    llm.get_model("data").prompt("Hi").text()
    with pytest.raises(ValueError, match="no route"):
        llm.get_model("broken").prompt("Hi").text()
    with_data, broken = mock_llm_responses.calls
    assert checks.json("price", value=9)(with_data)
    assert contains("Hello")(broken).reason == "the run failed: no route"


def test_an_async_response_is_a_subject_once_it_is_awaited(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hello")

    async def ask_async() -> None:
        response: Any = llm.get_async_model("gpt-4o").prompt("Hi")
        with pytest.raises(TypeError, match=r"await response\.text\(\) first"):
            contains("Hello")(response)
        await response.text()
        assert contains("Hello")(response)
        assert max_latency(60)(response).reason.startswith("The duration of the run")

    asyncio.run(ask_async())


def test_a_judge_is_asked(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("strict", {"reason": "No please.", "met": False})
    mock_llm_responses.add("mild", {"reason": "Fine.", "score": 0.6}, times=2)
    finding = judge("Is polite", model="strict")("Come in.")
    assert finding.reason == "Output does not meet the criteria 'Is polite': No please."
    assert judge("Is polite", model="mild", threshold=0.5)("Come in.")
    assert not judge("Is polite", model="mild", threshold=0.7)("Come in.")
    mock_llm_responses.add("vague", Reply(data={"opinion": "Fine."}, invalid=True), times=2)
    for threshold in (None, 0.5):
        finding = judge("Is polite", model="vague", threshold=threshold)("Come in.")
        assert not finding
        assert finding.reason == (
            """The judge model 'vague' returned no verdict, but '{"opinion": "Fine."}'"""
        )


def test_all_failures_are_reported_at_once() -> None:
    with pytest.raises(AssertionError) as raised:
        check("Hello, Ada", contains("Bye"), starts_with("Hello"), max_cost(1), regex("x"))
    assert str(raised.value) == (
        "3 of 4 checks did not pass:\n"
        "  ✗ Output does not contain 'Bye'\n"
        "  ✓ Output starts with 'Hello'\n"
        "  ? not checked: it checks a run, but only an output is available\n"
        "  ✗ Output does not match pattern 'x'\n"
        "output: Hello, Ada"
    )
    check("Hello, Ada", contains("Hello"), starts_with("Hello"))


@pytest.mark.parametrize("given", [(), (True,), (contains,), (contains("a")("a"),)])
def test_check_needs_checks(given: Any) -> None:
    with pytest.raises(TypeError, match=r"contains\('Hello'\)"):
        check("Hello", *given)


def test_an_expected_call_has_one_of_two_forms() -> None:
    with pytest.raises(TypeError, match="Invalid expected call"):
        tool_calls([{"name": "search"}])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "make",
    [
        lambda: contains(""),
        lambda: contains_any("ab"),
        lambda: contains_all([]),
        lambda: regex(".*"),
        lambda: max_latency(0),
        lambda: judge(" "),
        lambda: tool_calls([], "superset"),
        lambda: contains("a", of="answer"),  # type: ignore[arg-type]
    ],
)
def test_a_check_that_no_output_could_fail_is_an_error(make: Any) -> None:
    with pytest.raises(ValueError, match="validation error"):
        make()


def test_a_pattern_that_is_too_large_has_no_position() -> None:
    with pytest.raises(ValueError, match=r"expression: the repetition number is too large \["):
        regex("a{99999999999999999999}")


def test_pytest_shows_the_reason(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from llm_mock.checks import check, contains, max_cost

        def test_one():
            assert contains("Bye")("Hello")

        def test_unknown():
            assert max_cost(1)("Hello")

        def test_several():
            check("Hello", contains("Bye"), contains("He"))
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=3)
    result.stdout.fnmatch_lines(
        [
            "E *assert <False: Output does not contain 'Bye'>",
            "E *where <False: *> = contains(value='Bye')('Hello')",
            "E *assert <not checked: it checks a run, but only an output is available>",
            "E *AssertionError: 1 of 2 checks did not pass:",
            "E *✗ Output does not contain 'Bye'",
        ]
    )


def test_the_names_load_nothing_until_they_are_used() -> None:
    code = (
        "import sys, llm_mock.checks as c; dir(c)\n"
        "heavy = {'pydantic', 'llm', 'jsonschema', 'yaml'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
        "c.contains('a')('a'); assert 'llm' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_each_check_of_yaml_has_its_function_and_its_row_in_the_documentation() -> None:
    union = get_args(Assertion)[0]
    types = {kind.model_fields["type"].default for kind in get_args(union)}
    assert types - {"skipped"} == {*checks.__all__} - {"check"}
    page = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
    rows = [line.partition(" | ")[0] for line in page.splitlines() if line.startswith("| `")]
    assert types <= {name for row in rows for name in re.findall("`([a-z_]+)`", row)}


CHECKS_OF_TEXT: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("contains", "icontains", "equals", "starts_with", "regex"), ("a",)),
    **dict.fromkeys(("contains_any", "contains_all"), (["a"],)),
    **dict.fromkeys(("json", "contains_json"), ()),
    **dict.fromkeys(("similar", "levenshtein", "rouge_n", "bleu", "judge"), ("a",)),
    "python": ("checks.py:is_polite",),
    "javascript": ("output",),
}


@pytest.mark.parametrize("name", CHECKS_OF_TEXT)
def test_each_check_of_a_text_has_its_options(name: str) -> None:
    make = getattr(checks, name)
    accepted = inspect.signature(make).parameters
    options = {"transform": "items[0]", "of": "prompt"}
    values = {"case_insensitive": True, "threshold": 0.25, "model": "m", "n": 2, "max_distance": 7}
    options |= {key: value for key, value in values.items() if key in accepted}
    made = make(*CHECKS_OF_TEXT[name], **options)
    assert {key: getattr(made, key) for key in options} == options


def test_every_check_that_takes_options_is_tried_with_them() -> None:
    names = {name for name in checks.__all__ if name != "check"}
    takes_options = {
        name for name in names if "options" in inspect.signature(getattr(checks, name)).parameters
    }
    assert takes_options == {*CHECKS_OF_TEXT}


def test_a_list_at_a_path_is_compared_as_it_is_written() -> None:
    output = '{"names": ["Zoë", "Ana"]}'
    check(output, equals('["Zoë", "Ana"]', transform="names"))
