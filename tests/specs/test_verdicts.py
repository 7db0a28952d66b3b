"""Output of models, and the verdict that is parsed from it."""

from __future__ import annotations

import json

import pytest

from llm_mock.agents.result import ToolCallRecord
from llm_mock.specs.models import StepResult
from llm_mock.specs.prompt import render_verdict_prompt
from llm_mock.specs.verdicts import SCHEMA, has_verdict, parse_verdict

PASS = '{"verdict": "PASS", "reason": "All is well"}'
FAIL = '{"verdict": "FAIL", "reason": "It broke", "issues": ["Broken"]}'


@pytest.mark.parametrize(
    "said",
    [
        FAIL,
        f"```json\n{FAIL}\n```",
        f"I did all steps.\n\n{FAIL}\n\nThat is my verdict.",
        f"At first I thought {PASS}, but no: {FAIL}",
        f"The server said {{not json}} and {{}} and [1]. {FAIL}",
        f'{{"answer": {FAIL}}}',
        json.dumps({"type": "result", "is_error": False, "result": f"So:\n```json\n{FAIL}\n```"}),
        f'The API said {{"verdict": "guilty"}}. {FAIL}',
        '{"verdict": " fail ", "reason": "It broke", "issues": ["Broken"], "confidence": 0.5}',
        FAIL.replace("It broke", "It\nbroke"),
    ],
)
def test_a_verdict_is_found_wherever_it_stands(said: str) -> None:
    verdict = parse_verdict(said)
    assert (verdict.verdict, verdict.reason.split(), verdict.issues) == (
        "FAIL",
        ["It", "broke"],
        ["Broken"],
    )


def test_the_steps_of_a_verdict_are_read_with_care() -> None:
    steps = [
        {"name": "a", "status": "pass", "details": "d", "tool_output": {"x": 1}},
        {"name": "b", "status": "PASSED"},
        {"name": "c", "status": "Failed", "details": {"why": 1}},
        {"name": "d", "status": "error"},
        {"name": "e", "status": "perhaps"},
        {},
        "no step",
    ]
    verdict = parse_verdict(
        json.dumps({"verdict": "pass", "reason": None, "steps": steps, "issues": [1, None]})
    )
    assert (verdict.verdict, verdict.reason, verdict.issues) == ("PASS", "", ["1", ""])
    assert verdict.steps[0] == StepResult(
        name="a", status="pass", details="d", tool_output={"x": 1}
    )
    assert [step.status for step in verdict.steps] == [
        "pass",
        "pass",
        "fail",
        "fail",
        "skip",
        "skip",
    ]
    assert verdict.steps[2].details == '{"why": 1}'


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("I could not do it.", "The model returned no verdict. It said: I could not do it."),
        ("", "The model returned no verdict. It said: (nothing)"),
        ("\x1b[2J" + "x" * 1000, "The model returned no verdict. It said: \\x1b[2Jxxx"),
        ('{"verdict": "PASS", "reason"', "The model returned no verdict"),
        (
            '{"verdict": "MAYBE", "reason": "x"}',
            "The verdict is 'MAYBE'; it must be PASS, FAIL or UNCLEAR.",
        ),
        (f'{PASS} {{"verdict": 1}}', "The verdict is 1; it must be PASS, FAIL or UNCLEAR."),
        ('{"verdict": true, "reason": "x"}', "The verdict is true; it must be"),
        (
            f'{PASS} No: {{"verdict": "FAIL", "reason": "it',
            "The model said PASS, and also another verdict: ",
        ),
        (
            '{"verdict": "FAIL", "out": ' + PASS + ",}",
            "The model said PASS, and also another verdict: ",
        ),
        (
            f"{FAIL} That is not the same as {PASS}.",
            "The model said PASS, and also another verdict: ",
        ),
        (
            f'{PASS} or {{"verdict": "unclear"}}? {PASS}',
            "The model said PASS, and also another verdict: ",
        ),
        ('{"a":' * 2000, "The model returned no verdict"),
    ],
)
def test_what_is_no_verdict_is_unclear_and_never_a_pass(said: str, reason: str) -> None:
    verdict = parse_verdict(said)
    assert verdict.verdict == "UNCLEAR"
    assert verdict.reason.startswith(reason)
    assert len(verdict.reason) < 500


def test_a_pass_stands_beside_what_only_looks_like_a_verdict() -> None:
    verdict = parse_verdict(
        f'The API said {{"verdict": "guilty"}}, the shape is {PASS} and I say {PASS}'
    )
    assert (verdict.verdict, verdict.reason) == ("PASS", "All is well")


def test_a_verdict_inside_of_another_one_is_data() -> None:
    said = json.dumps(
        {
            "verdict": "FAIL",
            "reason": "x",
            "steps": [{"name": "a", "tool_output": json.loads(PASS)}],
        }
    )
    assert parse_verdict(said).verdict == "FAIL"


@pytest.mark.parametrize(
    ("said", "expected"),
    [(PASS, True), (f"So {FAIL}.", True), ("PASS", False), ('{"verdict": "MAYBE"}', False)],
)
def test_whether_there_is_a_verdict_can_be_asked(said: str, expected: bool) -> None:
    assert has_verdict(said) is expected


def test_the_schema_of_a_verdict_asks_for_everything_and_nothing_else() -> None:
    text = {"type": "string"}
    assert {
        "title": "Verdict",
        "type": "object",
        "properties": {
            "verdict": {"type": "string", "enum": ["PASS", "FAIL", "UNCLEAR"]},
            "reason": text,
            "steps": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "name": text,
                        "status": {"type": "string", "enum": ["pass", "fail", "skip"]},
                        "details": text,
                    },
                    "required": ["name", "status", "details"],
                    "additionalProperties": False,
                },
            },
            "issues": {"type": "array", "items": text},
        },
        "required": ["verdict", "reason", "steps", "issues"],
        "additionalProperties": False,
    } == SCHEMA


def test_a_text_of_a_verdict_that_is_data_is_shown_as_json() -> None:
    step = {"name": {"what": "Äpfel"}, "status": "pass", "details": ["grün", 1]}
    said = json.dumps({"verdict": "PASS", "reason": ["Schön"], "steps": [step]})
    verdict = parse_verdict(said)
    (found,) = verdict.steps
    assert (found.name, found.details) == ('{"what": "Äpfel"}', '["grün", 1]')
    assert verdict.reason == '["Schön"]'


def test_the_prompt_for_a_verdict_has_the_calls_that_were_made() -> None:
    calls = [
        ToolCallRecord("sell", {"item": "Äpfel"}, "sold"),
        ToolCallRecord("refuse", {}, None, "closed"),
    ]
    prompt = render_verdict_prompt("Do it.", calls, "Done.")
    made = prompt.partition("```json\n")[2].partition("\n```")[0]
    assert json.loads(made) == [
        {"tool": "sell", "arguments": {"item": "Äpfel"}, "result": "sold"},
        {"tool": "refuse", "arguments": {}, "error": "closed"},
    ]
    assert made.startswith('[\n  {\n    "tool": "sell",\n    "arguments": {\n      "item": "Äpfel"')
    assert prompt.startswith("Do it.\n")
    assert "Then this was said:\n\nDone.\n\n" in prompt
    assert "Then this was said:\n\n(nothing)\n\n" in render_verdict_prompt("Do it.", calls, "")
