"""A suite with everything that is expanded, and the cases that come of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llm_mock.suites import load_suite
from llm_mock.suites.schema import CaseTurn, Defaults

SUITE = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: shop}
target: {command: [cat]}
defaults:
  tags: [daily, all]
  variables: {shop: Corner, currency: EUR}
  assertions:
    - {type: contains, value: "${currency}"}
    - {type: judge, criteria: "Is of ${shop}"}
  each_turn:
    - {type: max_latency, value: 9}
  transform: $.answer
  judge: gpt-judge
  repeat: 3
  threshold: 0.5
cases:
  - name: plain
    prompt: "${shop} $${shop}"
    expected_output_file: answer.txt
    tags: [slow, daily]
    variables: {shop: Own}
    assertions:
      - {type: judge, criteria: "${currency}", model: own-judge}
    repeat: 1
    threshold: 1.0
    min_score: 0.7
    timeout: 9
    transform: $.own
  - name: row
    prompt_file: question.txt
    rows:
      - {city: Bern, number: 2}
      - {city: Lyon}
      - {city: Lyon}
    variables: {number: 1}
  - name: about ${city}
    prompt: Hi
    rows_file: "rows/*.csv"
  - name: talk to ${shop}
    each_turn:
      - {type: contains, value: "${shop}"}
    turns:
      - prompt: "In ${shop}?"
        expected_output: "In ${shop}."
        assertions: [{type: contains, value: "In"}]
        transform: $.own
      - prompt_file: question.txt
        replies: [{text: "${shop}", tool_calls: [{name: find, arguments: {shop: "${shop}"}}]}]
        assertions: [{type: contains, value: "Last"}]
    assertions: [{type: contains, value: "End"}]
    variables: {city: Rome, number: 3}
"""
FILES = {
    "suite.yaml": SUITE,
    "answer.txt": "It is ${shop}.\n\n",
    "question.txt": "${number} to ${city} for ${currency}\n",
    "rows/a.csv": "city,shop\nOslo,Fish\n",
    "rows/b.csv": "city,shop\nKyiv,Books\n",
}


# The assertions of the defaults, for cases of other shops.
COMMON = {"transform": "$.answer", "tags": ["daily", "all"], "repeat": 3, "threshold": 0.5}


def shared(shop: str) -> list[list[Any]]:
    judge = ["judge", f"Is of {shop}", "gpt-judge"]
    return [["contains", "EUR"], judge, ["max_latency", 9.0]]


def row(name: str, prompt: str, line: int, **values: Any) -> dict[str, Any]:
    return {
        **COMMON,
        "name": name,
        "prompt": prompt,
        "assertions": shared(values["shop"]),
        "line": line,
        "values": {"currency": "EUR", **values},
    }


CASES = [
    {
        "name": "plain",
        "prompt": "Own ${shop}",
        "expected_output": "It is Own.\n",
        "transform": "$.own",
        "tags": ["daily", "all", "slow"],
        "assertions": [*shared("Own"), ["judge", "EUR", "own-judge"]],
        "repeat": 1,
        "threshold": 1.0,
        "min_score": 0.7,
        "timeout": 9.0,
        "line": 18,
        "values": {"shop": "Own", "currency": "EUR"},
    },
    row("row[1]", "2 to Bern for EUR", 30, shop="Corner", number=2, city="Bern"),
    row("row[2]", "1 to Lyon for EUR", 30, shop="Corner", number=1, city="Lyon"),
    row("row[3]", "1 to Lyon for EUR", 30, shop="Corner", number=1, city="Lyon"),
    row("about Oslo", "Hi", 37, shop="Fish", city="Oslo"),
    row("about Kyiv", "Hi", 37, shop="Books", city="Kyiv"),
    {
        **COMMON,
        "name": "talk to Corner",
        "turns": [
            {
                "prompt": "In Corner?",
                "expected_output": "In Corner.",
                "transform": "$.own",
                "assertions": [["max_latency", 9.0], ["contains", "Corner"], ["contains", "In"]],
            },
            {
                "prompt": "3 to Rome for EUR",
                "replies": [
                    {
                        "text": "Corner",
                        "tool_calls": [{"name": "find", "arguments": {"shop": "Corner"}}],
                    }
                ],
                "transform": "$.answer",
                "assertions": [
                    *shared("Corner"),
                    ["contains", "Corner"],
                    ["contains", "Last"],
                    ["contains", "End"],
                ],
            },
        ],
        "line": 40,
        "values": {"shop": "Corner", "currency": "EUR", "city": "Rome", "number": 3},
    },
]


def describe(turn: CaseTurn) -> dict[str, Any]:
    """Return what a case or a turn says, an assertion as its type and its values."""
    fields = turn.model_dump(mode="json", exclude_defaults=True)
    fields.pop("assertions", None)
    assertions = []
    for assertion in turn.assertions:
        values = assertion.model_dump(exclude_defaults=True, exclude={"type"})
        assertions.append([assertion.type, *values.values()])
    if assertions:
        fields["assertions"] = assertions
    return fields


def test_every_part_of_a_suite_is_expanded(tmp_path: Path) -> None:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    suite = load_suite(tmp_path / "suite.yaml")
    assert suite.defaults == Defaults()
    cases = []
    for case in suite.cases:
        fields = {**describe(case), "line": case.line, "values": dict(case.values)}
        if case.turns:
            fields["turns"] = [describe(turn) for turn in case.turns]
        cases.append(fields)
    assert cases == CASES
