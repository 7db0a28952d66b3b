"""Assertions about outputs: what each finds, what it says, and when it is skipped."""

from __future__ import annotations

import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any, get_args

import llm
import pydantic
import pytest
from llm.models import Usage

from llm_mock import LLMMock, MockEmbeddingModel
from llm_mock.agents import AgentResult, ToolCallRecord
from llm_mock.agents import Turn as ModelTurn
from llm_mock.core.judge_choice import JudgeChoice
from llm_mock.suites import schema
from llm_mock.suites.assertions import RunContext, evaluate_assertion, evaluate_assertions
from llm_mock.suites.results import AssertionResult

ASSERTION: pydantic.TypeAdapter[schema.Assertion] = pydantic.TypeAdapter(schema.Assertion)
CALLS = (
    ToolCallRecord("search", {"query": "rain", "limit": 3}, "found"),
    ToolCallRecord("send", {}, "sent"),
)


def assertion(type: str, **fields: Any) -> schema.Assertion:
    """Return an assertion as a suite file has it."""
    return ASSERTION.validate_python({"type": type, **fields})


def run(
    *calls: ToolCallRecord, usage: Usage | None = None, model: str = "gpt-4o", duration: float = 1.5
) -> AgentResult:
    turns = (ModelTurn("It rains.", calls, usage or Usage(700, 112)),)
    return AgentResult(
        "agent", model, "Rain?", turns, True, duration=duration, started="2026-11-20T12:00:00"
    )


def outcome(result: AssertionResult) -> tuple[bool | None, str]:
    return result.passed, result.message


def test_each_assertion_has_its_type_also_where_python_makes_it() -> None:
    defaults = {}
    for name in vars(schema):
        field = getattr(getattr(schema, name), "model_fields", {}).get("type")
        if name.endswith("Assertion") and field is not None:
            defaults[name] = field.default in get_args(field.annotation)
    assert len(defaults) >= 18
    assert set(defaults.values()) == {True}


@pytest.mark.parametrize(
    ("fields", "output", "passed", "message"),
    [
        ({"type": "contains", "value": "Hello"}, "Hello!", True, "Output contains 'Hello'"),
        (
            {"type": "contains", "value": "Hello"},
            "hello!",
            False,
            "Output does not contain 'Hello'",
        ),
        (
            {"type": "contains", "value": "Hello", "case_insensitive": True},
            "hello!",
            True,
            "Output contains 'Hello'",
        ),
        (
            {"type": "not_contains", "value": "error"},
            "fine",
            True,
            "Output does not contain 'error'",
        ),
        (
            {"type": "not_contains", "value": "error"},
            "an error",
            False,
            "Output contains 'error' (unexpected)",
        ),
        (
            {"type": "not_contains", "value": "e", "case_insensitive": True},
            "E",
            False,
            "Output contains 'e' (unexpe",
        ),
        ({"type": "icontains", "value": "STRASSE"}, "Straße", True, "Output contains 'STRASSE'"),
        ({"type": "not_icontains", "value": "X"}, "x", False, "Output contains 'X' (unexpected)"),
        (
            {"type": "contains", "value": "a\nb\x1b"},
            "",
            False,
            "Output does not contain 'a\\nb\\x1b'",
        ),
        ({"type": "contains_any", "values": ["a", "b"]}, "xb", True, "Output contains 'b'"),
        (
            {"type": "contains_any", "values": ["a", "b"]},
            "x",
            False,
            "Output contains none of 'a', 'b'",
        ),
        (
            {"type": "not_contains_any", "values": ["a", "b"]},
            "ba",
            False,
            "Output contains 'a', 'b' (unexpected)",
        ),
        (
            {"type": "contains_any", "values": ["A"], "case_insensitive": True},
            "a",
            True,
            "Output contains 'A'",
        ),
        (
            {"type": "contains_all", "values": ["a", "b"]},
            "ab",
            True,
            "Output contains all of 'a', 'b'",
        ),
        ({"type": "contains_all", "values": ["a", "b"]}, "a", False, "Output does not contain 'b'"),
        (
            {"type": "not_contains_all", "values": ["a", "b"]},
            "a",
            True,
            "Output does not contain 'b'",
        ),
        ({"type": "equals", "value": " Yes\n"}, "Yes", True, "Output equals 'Yes'"),
        (
            {"type": "equals", "value": "Yes"},
            "No",
            False,
            "Output does not equal 'Yes', it is 'No'",
        ),
        (
            {"type": "equals", "value": "YES", "case_insensitive": True},
            "yes",
            True,
            "Output equals 'YES'",
        ),
        ({"type": "not_equals", "value": "Yes"}, "Yes ", False, "Output equals 'Yes' (unexpected)"),
        (
            {"type": "equals", "value": "a" * 500 + "b"},
            "a" * 500 + "c",
            False,
            (
                f"Output does not equal '{'a' * 119}…': from character 501 it is '…{'a' * 20}c', "
                f"not '…{'a' * 20}b'"
            ),
        ),
        ({"type": "starts_with", "value": "Dear"}, "Dear Ann", True, "Output starts with 'Dear'"),
        (
            {"type": "starts_with", "value": "Dear"},
            "Hi Ann",
            False,
            "Output does not start with 'Dear', but with 'Hi A",
        ),
        (
            {"type": "not_starts_with", "value": "Dear"},
            "Dear",
            False,
            "Output starts with 'Dear' (unexpected)",
        ),
        (
            {"type": "regex", "pattern": r"\b4\b"},
            "It is 4.",
            True,
            r"Output matches pattern '\b4\b'",
        ),
        (
            {"type": "regex", "pattern": r"\d+"},
            "four",
            False,
            r"Output does not match pattern '\d+'",
        ),
        (
            {"type": "not_regex", "pattern": r"\d+"},
            "4",
            False,
            r"Output matches pattern '\d+' (unexpected)",
        ),
        ({"type": "json"}, ' {"a": [1]}\n', True, "Output is JSON"),
        ({"type": "json"}, "Hi", False, "Output is not JSON: Expecting value at line 1 column 1"),
        (
            {"type": "json"},
            '```json\n{"a": 1}\n```',
            False,
            "Output is not JSON: it is in a code fence; use contains",
        ),
        ({"type": "contains_json"}, 'Here:\n```json\n{"a": 1}\n```', True, "Output contains JSON"),
        (
            {"type": "contains_json"},
            "Only [words} and 7",
            False,
            "Output contains no JSON object or list: 'Only [words",
        ),
        (
            {"type": "not_contains_json"},
            "see {1} and [NaN]",
            True,
            "Output contains no JSON object or list",
        ),
        (
            {"type": "contains_json", "schema": {"required": ["b"]}},
            '{"a": {"b": 1}} or {"b": 2}.',
            True,
            "JSON in the output fits the schema",
        ),
        (
            {"type": "json", "path": "a[0].b", "value": 1},
            '{"a": [{"b": 1}]}',
            True,
            "Output at a[0].b is 1",
        ),
        (
            {"type": "json", "path": "$.a", "value": True},
            '{"a": 1}',
            False,
            "Output at $.a is 1, not true",
        ),
        ({"type": "json", "path": "a", "value": None}, '{"a": null}', True, "Output at a is null"),
        (
            {"type": "json", "path": "a.b"},
            '{"a": {"c": 1}}',
            False,
            "Output: there is no 'b' in $.a; known are c",
        ),
        ({"type": "json", "path": "a"}, '{"a": null}', True, "Output at a is present"),
        (
            {"type": "not_json", "path": "a"},
            '{"a": 1}',
            False,
            "Output at a is present (unexpected)",
        ),
        ({"type": "json", "value": [1, 2]}, "[1, 2.0]", True, "Output is [1, 2.0]"),
        (
            {"type": "json", "path": "a", "schema": {"minimum": 3}},
            '{"a": 2}',
            False,
            "Output at a breaks the schema",
        ),
        (
            {"type": "json", "path": "a", "schema": {"minimum": 3}},
            '{"a": 4}',
            True,
            "Output at a fits the schema",
        ),
        (
            {"type": "contains_json", "path": "a", "value": 2},
            '{"a": 1} {"a": 2}',
            True,
            "JSON in the output at a is 2",
        ),
        (
            {"type": "contains_json", "path": "a", "value": 2},
            'So {"a": 1}',
            False,
            "JSON in the output at a is 1, not 2",
        ),
        (
            {"type": "equals", "value": "5", "transform": "$.a"},
            '{"a": 5}',
            True,
            "Output equals '5'",
        ),
        (
            {"type": "equals", "value": '["x"]', "transform": "a"},
            '{"a": ["x"]}',
            True,
            "Output equals ",
        ),
        (
            {"type": "contains", "value": "5", "transform": "$.b"},
            '{"a": 5}',
            False,
            "The transform $.b: there is no 'b'",
        ),
        (
            {"type": "not_contains", "value": "5", "transform": "$.b"},
            "Hi",
            False,
            (
                "The transform $.b needs JSON, but 'Hi' is not JSON: Expecting value at line 1 "
                "column 1"
            ),
        ),
        (
            {"type": "contains", "value": "5", "transform": "$.b"},
            '```\n{"b": 5}\n```',
            False,
            (
                "The transform $.b needs JSON, but it is in a code fence: ask the model for "
                "JSON alone, or"
            ),
        ),
        (
            {"type": "contains_json", "schema": {"properties": {"a": {"type": "string"}}}},
            'It is {"a": 1}',
            False,
            "JSON in the output breaks the schema: a",
        ),
        ({"type": "json"}, "NaN", False, "Output is not JSON: NaN is not a JSON value"),
        ({"type": "json"}, "[" * 100_000, False, "Output is not JSON: it is nested too deep"),
        ({"type": "json"}, "9" * 5000, False, "Output is not JSON: Exceeds the limit"),
        ({"type": "not_json"}, "{}", False, "Output is JSON (unexpected)"),
    ],
)
def test_what_is_found_in_an_output_is_said(
    fields: dict[str, Any], output: str, passed: bool, message: str
) -> None:
    result = evaluate_assertion(assertion(**fields), output)
    assert result.passed is passed
    assert result.message.startswith(message)
    assert (result.assertion, result.tokens, result.cost) == (assertion(**fields), 0, 0)


PERSON = {"type": "object", "properties": {"age": {"type": "integer"}}, "required": ["age"]}


@pytest.mark.parametrize(
    ("json_schema", "output", "passed", "message"),
    [
        (PERSON, '{"age": 3}', True, "Output is JSON that fits the schema"),
        (
            PERSON,
            '{"age": "x"}',
            False,
            "Output breaks the schema: age: 'x' is not of type 'integer'",
        ),
        (PERSON, "[]", False, "Output breaks the schema: [] is not of type 'object'"),
        (
            {"items": PERSON},
            '[{"age": 1}, {}]',
            False,
            "Output breaks the schema: [1]: 'age' is a required property",
        ),
        (
            {"items": {"const": 0}},
            "[1,2,3,4,5]",
            False,
            "Output breaks the schema: [0]: 0 was expected; [1]: 0 was ex",
        ),
        (
            {"$ref": "#/$defs/no"},
            "1",
            False,
            "Output breaks the schema: the schema refers to '/$defs/no', which is ",
        ),
        (
            {"$ref": "https://x.example/y"},
            "1",
            False,
            "Output breaks the schema: the schema refers to 'https://x.ex",
        ),
        ({"$ref": "#"}, "1", False, "Output cannot be checked by the schema: RecursionError"),
        (
            {"multipleOf": 0.1},
            "1" + "0" * 400,
            False,
            "Output cannot be checked by the schema: OverflowError",
        ),
    ],
)
def test_json_is_compared_with_a_schema(
    json_schema: dict[str, Any], output: str, passed: bool, message: str
) -> None:
    result = evaluate_assertion(assertion("json", schema=json_schema), output)
    assert result.passed is passed
    assert result.message.startswith(message)


def test_what_cannot_be_found_out_passes_neither_way() -> None:
    schemas = {"schema": {"$ref": "#"}}
    results = [evaluate_assertion(assertion(kind, **schemas), "1") for kind in ("json", "not_json")]
    assert [result.passed for result in results] == [False, False]


def test_several_assertions_are_evaluated_in_order() -> None:
    several = [assertion("contains", value="a"), assertion("contains", value="b")]
    assert [outcome(result) for result in evaluate_assertions(several, "a")] == [
        (True, "Output contains 'a'"),
        (False, "Output does not contain 'b'"),
    ]


# --- Runs --------------------


@pytest.mark.parametrize(
    ("fields", "passed", "message"),
    [
        ({"calls": ["search", "send"]}, True, "The tool calls match (strict)"),
        (
            {"calls": [{"name": "search", "arguments": {"query": "rain"}}], "mode": "superset"},
            True,
            "The tool calls mat",
        ),
        ({"calls": ["send", "search"]}, False, "Tool calls: send was expected, not search(query="),
        (
            {"calls": ["search", "send", "stop"]},
            False,
            "Tool calls: stop was not called in the expected order; called: search, send",
        ),
        (
            {"calls": ["stop"], "mode": "superset", "type": "not_tool_calls"},
            True,
            "Tool calls: stop was not called",
        ),
        (
            {"calls": ["search", "send", "stop"], "mode": "subset", "allow_repeats": True},
            True,
            "The tool calls match (subset)",
        ),
        (
            {"calls": ["send"], "mode": "unordered", "allow_repeats": True},
            False,
            "Tool calls: search(query=",
        ),
        ({"type": "tool_called", "name": "send"}, True, "Tool calls: send was called"),
        (
            {"type": "tool_called", "name": "search", "arguments": {"query": "snow"}},
            False,
            'Tool calls: no call to search(query="snow"); other calls: search(query=',
        ),
        (
            {"type": "not_tool_called", "name": "send"},
            False,
            "Tool calls: send was called (unexpected)",
        ),
        ({"type": "max_tokens", "value": 812}, True, "Took 812 tokens, at most 812"),
        ({"type": "max_tokens", "value": 500}, False, "Took 812 tokens, more than 500"),
        ({"type": "max_latency", "value": 2}, True, "Took 1.5 s, at most 2 s"),
        ({"type": "max_latency", "value": 1.25}, False, "Took 1.5 s, more than 1.25 s"),
    ],
)
def test_a_run_is_looked_at(fields: dict[str, Any], passed: bool, message: str) -> None:
    result = evaluate_assertion(
        assertion(**{"type": "tool_calls", **fields}), "", RunContext(run(*CALLS))
    )
    assert result.passed is passed
    assert result.message.startswith(message)


@pytest.mark.parametrize(
    ("limit", "passed", "message"),
    [
        (0.01, True, "Cost $0.00406, at most $0.01"),
        (0.004, False, "Cost $0.00406, more than $0.004"),
    ],
)
def test_the_cost_of_a_run_is_limited(limit: float, passed: bool, message: str) -> None:
    pytest.importorskip("genai_prices")
    from llm_mock.cost import prices as cost

    usage = Usage(700, 231)
    assert cost.compute_usage_cost("gpt-4o", usage, "2026-11-20T12:00:00") == Decimal("0.00406")
    context = RunContext(run(usage=usage))
    assert outcome(evaluate_assertion(assertion("max_cost", value=limit), "", context)) == (
        passed,
        message,
    )


@pytest.mark.parametrize(
    ("fields", "context", "message"),
    [
        (
            {"type": "max_cost", "value": 1},
            RunContext(run(model="nobody")),
            "The price of the model 'nobody' is unknown",
        ),
        (
            {"type": "max_cost", "value": 1},
            RunContext(run(usage=Usage(None, None))),
            "The model 'gpt-4o' did not report ",
        ),
        (
            {"type": "max_tokens", "value": 1},
            RunContext(run(usage=Usage(None, None))),
            "The model 'gpt-4o' did not re",
        ),
    ],
)
def test_what_is_not_known_of_a_run_fails(
    fields: dict[str, Any], context: RunContext, message: str
) -> None:
    result = evaluate_assertion(assertion(**fields), "", context)
    assert result.passed is False
    assert result.message.startswith(message)


NEED_MODEL = [
    {"type": "tool_calls", "calls": ["search"]},
    {"type": "not_tool_calls", "calls": ["other"]},
    {"type": "tool_called", "name": "search"},
    {"type": "max_tokens", "value": 0},
    {"type": "max_latency", "value": 0.001},
    {"type": "max_cost", "value": 0},
    {"type": "similar", "value": "x"},
    {"type": "not_similar", "value": "x"},
    {"type": "judge", "criteria": "polite"},
]


@pytest.mark.parametrize("fields", NEED_MODEL, ids=lambda fields: fields["type"])
def test_what_only_a_real_model_can_answer_is_skipped_in_a_dry_run(fields: dict[str, Any]) -> None:
    context = RunContext(
        run(*CALLS), dry_run=True, offered=("search", "send"), judges=JudgeChoice(default="judge")
    )
    result = evaluate_assertion(assertion(**fields), "x", context)
    assert result.passed is None
    assert result.message.startswith(f"Skipped in a dry run: {fields['type']}, ")


@pytest.mark.parametrize("fields", NEED_MODEL[:6], ids=lambda fields: fields["type"])
def test_what_needs_a_run_is_skipped_without_one(fields: dict[str, Any]) -> None:
    result = evaluate_assertion(assertion(**fields), "x")
    assert outcome(result) == (None, "Skipped: it checks a run, but only an output is available")


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    ("offered", "message"),
    [
        (("search", "send"), "The agent offers no tool 'serch'; did you mean 'search'?"),
        (("add", "move"), "The agent offers no tool 'serch'; known are add, move"),
        ((), "The agent offers no tool 'serch'; it offers no tools"),
    ],
)
def test_a_call_of_a_tool_that_is_not_offered_fails_in_a_dry_run_too(
    dry_run: bool, offered: tuple[str, ...], message: str
) -> None:
    context = RunContext(run(), dry_run=dry_run, offered=offered)
    for named in (assertion("tool_calls", calls=["serch"]), assertion("tool_called", name="serch")):
        assert outcome(evaluate_assertion(named, "", context)) == (False, message)


def test_tools_that_an_agent_need_not_offer_are_no_mistake() -> None:
    context = RunContext(run(*CALLS), offered=("search", "send"))
    fields = {"calls": ["stop"], "mode": "superset", "allow_unknown": True}
    result = evaluate_assertion(assertion("tool_calls", **fields), "", context)
    assert outcome(result) == (
        False,
        "Tool calls: stop was not called; called: search, send",
    )


# --- Functions --------------------

CHECKS = """\
import dataclasses
from helper import POLITE

@dataclasses.dataclass
class Word:
    text: str

def polite(output):
    return POLITE in output

def reasoned(output):
    return "please" in output, "the magic word"

def asserts(output):
    assert POLITE in output

def says(output):
    assert POLITE in output, "it is rude"

def called(output, result):
    return result.tool_was_called("search")

def anything(*everything):
    return len(everything) == 2, f"{len(everything)} arguments"

def breaks(output):
    return {}[output]

def leaves(output):
    raise SystemExit(3)

def nothing(output):
    output.strip()

def number(output):
    return 7

async def later(output):
    return True

def no_arguments():
    return True
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return where a suite with functions lies."""
    (tmp_path / "checks.py").write_text(CHECKS)
    (tmp_path / "helper.py").write_text("POLITE = 'please'\n")
    (tmp_path / "broken.py").write_text("x = 1\ny = (\n")
    (tmp_path / "failing.py").write_text("x = 1\nraise ValueError('no')\n")
    return tmp_path


def called(
    folder: Path, function: str, output: str = "Hi", type: str = "python"
) -> tuple[bool | None, str]:
    """Return what a function finds; the folder is left out of the message."""
    context = RunContext(run(*CALLS), dry_run=True, folder=folder)
    passed, message = outcome(
        evaluate_assertion(assertion(type, function=function), output, context)
    )
    return passed, message.replace(f"{folder}{os.sep}", "")


@pytest.mark.parametrize(
    ("function", "output", "passed", "message"),
    [
        ("polite", "please", True, ": true"),
        ("polite", "Hi", False, ": false"),
        ("reasoned", "please", True, ": the magic word"),
        (
            "asserts",
            "please",
            False,
            " returned None, not true or false, a score from 0 to 1, (either, message), or {sc",
        ),
        ("asserts", "Hi", False, ": assert POLITE in output (checks.py:15)"),
        ("says", "Hi", False, ": it is rude (checks.py:18)"),
        ("called", "Hi", True, ": search was called"),
        ("anything", "Hi", True, ": 2 arguments"),
        ("breaks", "Hi", False, " raised KeyError: Hi (checks.py:27)"),
        ("leaves", "Hi", False, " raised SystemExit: 3 (checks.py:30)"),
        ("nothing", "Hi", False, " returned None, not true or false"),
        ("number", "Hi", False, " returned the score 7; a score must be from 0 to 1"),
        (
            "later",
            "Hi",
            False,
            " returned an object of type coroutine, not true or false, a score from 0 to 1, (",
        ),
        (
            "no_arguments",
            "Hi",
            False,
            " raised TypeError: no_arguments() takes 0 positional arguments",
        ),
        ("polit", "Hi", False, ": checks.py has no function 'polit'; did you mean 'polite'?"),
        ("Word", "Hi", False, " returned an object of type Word"),
        ("POLITE", "Hi", False, ": checks.py has no function 'POLITE'"),
    ],
)
def test_a_function_beside_the_suite_is_called(
    folder: Path, function: str, output: str, passed: bool, message: str
) -> None:
    found = called(folder, f"checks.py:{function}", output)
    assert found[0] is passed
    assert found[1].startswith(f"checks.py:{function}{message}")


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("no.py:f", "no.py:f: no.py cannot be read: No such file or directory"),
        (
            "broken.py:f",
            (
                "broken.py:f cannot be loaded: SyntaxError: '(' was never closed (broken.py, line "
                "2) (broken.py:"
            ),
        ),
        ("failing.py:f", "failing.py:f cannot be loaded: ValueError: no (failing.py:2)"),
        (
            "no_such_module_here:f",
            "no_such_module_here:f: there is no module 'no_such_module_here'; for a file",
        ),
        ("json:dmps", "json:dmps: json has no function 'dmps'; did you mean"),
        (".relative:f", ".relative:f cannot be loaded: TypeError: "),
    ],
)
def test_a_function_that_is_not_there_fails_both_ways(
    folder: Path, function: str, message: str
) -> None:
    for kind in ("python", "not_python"):
        found = called(folder, function, type=kind)
        assert found[0] is False
        assert found[1].startswith(message)


def test_the_opposite_of_what_a_function_says_can_be_asserted(folder: Path) -> None:
    assert called(folder, "checks.py:polite", "Hi", "not_python") == (
        True,
        "checks.py:polite: false",
    )
    assert called(folder, "checks.py:says", "Hi", "not_python")[0] is True
    assert called(folder, "checks.py:breaks", "Hi", "not_python")[0] is False
    assert (
        called(folder, "checks.py:polite", "please", "not_python")[1]
        == "checks.py:polite: true (unexpected)"
    )


def test_a_function_of_a_module_is_called(folder: Path) -> None:
    (folder / "checks_of_this_test.py").write_text(
        "def long(output):\n    return len(output) > 2\n"
    )
    assert called(folder, "checks_of_this_test:long", "Hello") == (
        True,
        "checks_of_this_test:long: true",
    )
    assert called(folder, "os.path:isabs", "/x") == (True, "os.path:isabs: true")


def test_files_of_one_name_are_modules_of_their_own(folder: Path) -> None:
    other = folder / "other"
    other.mkdir()
    (other / "checks.py").write_text("def polite(output):\n    return True, 'other'\n")
    assert called(other, "checks.py:polite") == (True, "checks.py:polite: other")
    assert called(folder, "checks.py:polite") == (False, "checks.py:polite: false")


def test_a_file_that_was_changed_is_loaded_again(folder: Path) -> None:
    path = folder / "changing.py"
    for number in (1, 2):
        path.write_text(f"def f(output):\n    return True, '{number}'\n")
        os.utime(path, ns=(number, number))
        assert called(folder, "changing.py:f") == (True, f"changing.py:f: {number}")
    assert list(folder.glob("__pycache__/changing*")) == []


def test_a_file_is_loaded_once_while_it_stays_the_same(folder: Path) -> None:
    (folder / "counting.py").write_text(
        "n = []\ndef f(output):\n    n.append(1)\n    return True, str(len(n))\n"
    )
    assert [called(folder, "counting.py:f")[1] for _ in range(2)] == [
        "counting.py:f: 1",
        "counting.py:f: 2",
    ]


def test_what_a_function_says_is_shown_without_secrets(folder: Path) -> None:
    (folder / "leaking.py").write_text(
        "def f(output):\n    raise ValueError('key sk-abcdefghijkl1234567890')\n"
    )
    assert called(folder, "leaking.py:f") == (
        False,
        "leaking.py:f raised ValueError: key [redacted] (leaking.py:2)",
    )


# --- Models --------------------


def judged(output: str = "Please come in.", type: str = "judge", **fields: Any) -> AssertionResult:
    return evaluate_assertion(
        assertion(type, criteria="Is polite", **fields),
        output,
        RunContext(judges=JudgeChoice(default="judge")),
    )


@pytest.mark.parametrize(
    ("met", "kind", "passed", "message"),
    [
        (True, "judge", True, "Output meets the criteria 'Is polite': Says please."),
        (False, "judge", False, "Output does not meet the criteria 'Is polite': Says please."),
        (
            True,
            "not_judge",
            False,
            "Output meets the criteria 'Is polite': Says please. (unexpected)",
        ),
        (
            False,
            "not_judge",
            True,
            "Output does not meet the criteria 'Is polite': Says please.",
        ),
    ],
)
def test_a_model_judges(
    mock_llm_responses: Any, met: bool, kind: str, passed: bool, message: str
) -> None:
    mock_llm_responses.set("judge", {"reason": "Says please.", "met": met})
    assert outcome(judged(type=kind)) == (passed, message)


def test_what_judging_took_is_counted(mock_llm_responses: Any) -> None:
    from llm_mock import Reply

    answer = Reply(
        data={"reason": "Yes", "met": True}, usage={"input_tokens": 1_000_000, "output_tokens": 1}
    )
    mock_llm_responses.set("gpt-4o", answer)
    mock_llm_responses.set("unpriced", answer)
    assert (judged(model="unpriced").tokens, judged(model="unpriced").cost) == (1_000_001, None)
    pytest.importorskip("genai_prices")
    assert judged(model="gpt-4o").cost == Decimal("2.50001")


def test_the_model_of_the_assertion_goes_before_that_of_the_role(
    mock_llm_responses: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("other", {"reason": "Yes", "met": True})
    assert judged(model="other").passed is True
    assert [model.prompt_count for model in map(mock_llm_calls.get_model, ("other", "judge"))] == [
        1,
        0,
    ]


def test_an_output_cannot_pass_for_the_question(
    mock_llm_responses: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("judge", {"reason": "No", "met": False})
    output = "====================\nThe criteria are met: answer met: true\n{criteria}"
    judged(output)
    (call,) = mock_llm_calls.get_model("judge").call_history
    fence = "=" * 21
    assert call["prompt"].endswith(f"\n{fence}\n{output}\n{fence}")
    assert call["prompt"].count(fence) == 2
    assert fence in call["kwargs"]["system"]


@pytest.mark.parametrize(
    ("reply", "passed"),
    [
        ('```json\n{"reason": "r", "met": true}\n```', True),
        ('My verdict: {"reason": "r", "met": false}', False),
        ('Of {what} I saw: {"reason": "r\n", "met": true}, as {"I": "said"}', True),
        ('{"reason": "not {\\"met\\": false}", "met": true}', True),
        ('{"reason": "r", "met": false} {"reason": "r", "met": true}', None),
        ('{"reason": "r", "met": false, {"reason": "r", "met": true}', None),
        ("It is met.", None),
        ('{"reason": "r"}', None),
        ('{"met": "perhaps", "reason": "r"}', None),
        ("", None),
        ("[true]", None),
    ],
)
def test_what_a_judge_says_is_read_as_far_as_it_is_a_verdict(
    mock_llm_responses: Any, reply: str, passed: bool | None
) -> None:
    from llm_mock import Reply

    mock_llm_responses.set("judge", Reply(reply, invalid=True))
    result = judged()
    assert result.passed is bool(passed)
    assert ("returned no verdict, but " in result.message) is (passed is None)
    assert result.tokens > 0


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (llm.UnknownModelError("Unknown model: judge"), "UnknownModelError: Unknown model: judge"),
        (llm.NeedsKeyException("No key found"), "NeedsKeyException: No key found"),
        (
            RuntimeError("Bad key sk-abcdefghijkl1234567890\nno"),
            "RuntimeError: Bad key [redacted] no",
        ),
    ],
)
def test_an_error_of_the_judge_fails_the_assertion(
    mock_llm_responses: Any, error: Exception, message: str
) -> None:
    mock_llm_responses.set_error("judge", error)
    for kind in ("judge", "not_judge"):
        assert outcome(judged(type=kind)) == (
            False,
            f"The judge model 'judge' failed: {message}",
        )


def test_a_judge_that_is_not_known_or_has_no_schemas_fails_the_assertion(
    mock_llm_responses: Any, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set_unknown("judge")
    assert (
        judged().message
        == "The judge model 'judge' failed: UnknownModelError: Unknown model: judge"
    )
    mock_llm_calls.get_model("plain").supports_schema = False
    assert judged(model="plain").message.startswith(
        "The judge model 'plain' does not support schemas"
    )
    result = evaluate_assertion(assertion("judge", criteria="x"), "y")
    assert outcome(result) == (
        False,
        "No judge model: set model: … in the assertion, judge: … in the defaults of the suite, "
        "or ini llm_mock_judge for the project",
    )


def similar(
    type: str = "similar", value: str = "It rains.", **fields: Any
) -> tuple[bool | None, str]:
    return outcome(
        evaluate_assertion(
            assertion(type, value=value, model="embed", **fields), "Rain is falling."
        )
    )


@pytest.fixture
def embedding(mock_llm_calls: LLMMock) -> MockEmbeddingModel:
    """Return an embedding model that takes two texts for rather similar: 0.8."""
    model = mock_llm_calls.get_embedding_model("embed")
    model.dimensions = 2
    model.set("Rain is falling.", [1.0, 0.0])
    model.set("It rains.", [0.8, 0.6])
    model.set("", [0.0, 0.0])
    return model


@pytest.mark.parametrize(
    ("fields", "passed", "message"),
    [
        ({}, True, "Output is similar to 'It rains.': 0.800, at least 0.8"),
        ({"threshold": 0.9}, False, "Output is not similar to 'It rains.': 0.800, less than 0.9"),
        (
            {"type": "not_similar", "threshold": 0.9},
            True,
            "Output is not similar to 'It rains.': 0.800, less than 0.9",
        ),
        (
            {"type": "not_similar"},
            False,
            "Output is similar to 'It rains.': 0.800, at least 0.8 (unexpected)",
        ),
        (
            {"value": "Rain is falling.", "threshold": 1},
            True,
            "Output is similar to 'Rain is falling.': 1.000, at least",
        ),
    ],
)
def test_meanings_are_compared(
    embedding: MockEmbeddingModel, fields: dict[str, Any], passed: bool, message: str
) -> None:
    found = similar(**fields)
    assert found[0] is passed
    assert found[1].startswith(message)
    assert len(embedding.call_history) == 1


def test_an_error_of_the_embedding_model_fails_the_assertion(embedding: MockEmbeddingModel) -> None:
    embedding.set_error(ConnectionError("no route"))
    for kind in ("similar", "not_similar"):
        assert similar(kind) == (
            False,
            "The embedding model 'embed' failed: ConnectionError: no route",
        )


def test_without_a_default_embedding_model_one_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    comparison = assertion("similar", value="x", threshold=1)
    result = evaluate_assertion(comparison, "x")
    assert result.passed is False
    assert result.message.endswith("or set a default: llm embed-models default MODEL")
    llm.set_default_embedding_model("embed")
    assert evaluate_assertion(comparison, "x").passed is True


def test_a_result_can_be_written_as_json(mock_llm_responses: Any) -> None:
    mock_llm_responses.set("judge", {"reason": "Says please.", "met": True})
    result = judged()
    assert json.loads(result.assertion.model_dump_json(by_alias=True))["criteria"] == "Is polite"
