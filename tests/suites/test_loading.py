"""Suites: what a file becomes when it is read. What is wrong with one is in `test_broken_files`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.suites import schema
from llm_mock.suites.loading import expand_suite, load_suite
from llm_mock.suites.schema import CaseTurn, Defaults, TestCase, TestSuiteDefinition

HEAD = "apiVersion: initrunner/v1\nkind: TestSuite\nmetadata:\n  name: greeting-tests\n"
GREETING = (
    HEAD
    + """\
cases:
  - name: says-hello
    prompt: "Hi there!"
    expected_output: "Hello! How can I help you today?"
    assertions:
      - type: contains
        value: "Hello"
      - type: not_contains
        value: "error"
  - name: says-nothing
    prompt: ""
    expected_output: ""
"""
)


def suite_of(tmp_path: Path, cases: str, defaults: str = "") -> TestSuiteDefinition:
    path = tmp_path / "suite.yaml"
    path.write_text(f"{HEAD}{defaults}cases:\n{cases}")
    return load_suite(path)


def texts(suite: TestSuiteDefinition) -> list[tuple[str, str | None]]:
    return [(case.name, case.prompt) for case in suite.cases]


def python_suite(*cases: TestCase, defaults: Defaults | None = None) -> TestSuiteDefinition:
    metadata = schema.Metadata(name="from-python")
    return TestSuiteDefinition(
        apiVersion="llm-mock/v1",
        kind="TestSuite",
        metadata=metadata,
        cases=cases,
        defaults=defaults or Defaults(),
    )


@pytest.mark.parametrize("as_given", [str, Path])
def test_a_suite_is_read_with_its_path_and_the_lines_of_its_cases(
    tmp_path: Path, as_given: Any
) -> None:
    path = tmp_path / "tests.yaml"
    path.write_text(GREETING)
    suite = load_suite(as_given(path))
    assert (suite.metadata.name, suite.path) == ("greeting-tests", path)
    assert [(case.name, case.line) for case in suite.cases] == [
        ("says-hello", 6),
        ("says-nothing", 14),
    ]
    assert suite.cases[0].assertions == (
        schema.ContainsAssertion(value="Hello"),
        schema.ContainsAssertion(type="not_contains", value="error"),
    )
    assert (suite.cases[1].prompt, suite.cases[1].expected_output) == ("", "")


@pytest.mark.parametrize("version", ["initrunner/v1", "llm-mock/v1"])
def test_a_suite_may_have_no_cases(tmp_path: Path, version: str) -> None:
    path = tmp_path / "tests.yaml"
    path.write_text(f"apiVersion: {version}\nkind: TestSuite\nmetadata: {{name: none}}\n")
    assert load_suite(path).cases == ()


def test_texts_of_files_beside_the_suite_are_read(tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/prompt.md").write_bytes("Grüße\r\n\r\nBye\r\n".encode())
    (tmp_path / "answer.txt").write_text("Hello, ${who}")
    suite = suite_of(
        tmp_path,
        """\
  - {name: one, prompt_file: texts/prompt.md, expected_output_file: answer.txt}
  - name: two
    variables: {who: Ann}
    turns:
      - {prompt_file: texts/prompt.md, expected_output_file: answer.txt}
      - {prompt: Again}
""",
    )
    one, two = suite.cases
    assert (one.prompt, one.expected_output) == ("Grüße\n\nBye", "Hello, ${who}")
    assert [(turn.prompt, turn.expected_output) for turn in two.all_turns] == [
        ("Grüße\n\nBye", "Hello, Ann"),
        ("Again", None),
    ]
    assert {one.prompt_file, one.expected_output_file, two.turns[0].prompt_file} == {None}


def test_variables_are_replaced_in_texts_and_nowhere_else(tmp_path: Path) -> None:
    case = suite_of(
        tmp_path,
        """\
  - name: about ${city}
    prompt: Is $${city} ${city}? ${number} ${share} ${yes} [${nothing}] ${no-name} $city
    expected_output: "${city}"
    variables: {city: Rome, number: 5, share: 1.5, "yes": true, nothing: null}
    assertions:
      - {type: contains_any, values: ["${city}", x]}
      - {type: regex, pattern: "^${number}$"}
      - {type: json, schema: {const: "${city}"}}
      - type: tool_calls
        calls:
          - "find_${city}"
          - {name: find, arguments: {city: "${city}", n: "${number}", all: {deep: ["${yes}", "n=${number}"]}}}
""",  # noqa: E501
    ).cases[0]
    assert (case.name, case.expected_output, case.variables) == ("about Rome", "Rome", {})
    assert case.prompt == "Is ${city} Rome? 5 1.5 true [] ${no-name} $city"
    contains, regex, json, calls = case.assertions
    assert isinstance(contains, schema.ContainsAnyAssertion)
    assert contains.values == ("Rome", "x")
    assert isinstance(regex, schema.RegexAssertion)
    assert regex.pattern == "^5$"
    assert isinstance(json, schema.JSONAssertion)
    assert json.json_schema == {"const": "${city}"}
    assert isinstance(calls, schema.ToolCallsAssertion)
    assert [(call.name, call.arguments) for call in calls.calls] == [
        ("find_Rome", {}),
        ("find", {"city": "Rome", "n": 5, "all": {"deep": [True, "n=5"]}}),
    ]


def test_names_of_variables_may_have_dots(tmp_path: Path) -> None:
    cases = suite_of(
        tmp_path,
        "- {name: 'a ${user.name}', prompt: '${user.name} ${shell.x} ${user}', "
        "variables: {user.name: Ann, user: 1}}\n"
        "- {name: 'b ${user.name}', prompt: x, rows: [{user.name: Ann}, {user.name: Bob}]}",
    ).cases
    assert [case.name for case in cases] == ["a Ann", "b Ann", "b Bob"]
    assert cases[0].prompt == "Ann ${shell.x} 1"


def test_without_variables_a_text_stays_as_it_is(tmp_path: Path) -> None:
    assert texts(suite_of(tmp_path, "  - {name: 'a ${b}', prompt: '${PATH} $${x}'}\n")) == [
        ("a ${b}", "${PATH} $${x}")
    ]


def test_rows_make_a_case_each(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """\
  - name: add
    prompt: ${a} + ${b} in ${unit}
    variables: {unit: cm, b: 0}
    rows:
      - {a: 1, b: 2}
      - {a: 3}
      - {a: 3}
      - {a: 3 2}
      - {a: x y, b: true}
  - name: ask for ${city}
    prompt: Where is ${city}?
    rows: [{city: Rome}, {city: Oslo}]
""",
    )
    assert texts(suite) == [
        ("add[1]", "1 + 2 in cm"),
        ("add[2]", "3 + 0 in cm"),
        ("add[3]", "3 + 0 in cm"),
        ("add[4]", "3 2 + 0 in cm"),
        ("add[5]", "x y + true in cm"),
        ("ask for Rome", "Where is Rome?"),
        ("ask for Oslo", "Where is Oslo?"),
    ]
    assert {case.line for case in suite.cases} == {6, 15}


def test_references_of_yaml_share_what_cases_have_in_common(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        """\
  - &first
    name: one
    prompt: Hi
    assertions: &polite [{type: contains, value: please}]
  - {name: two, prompt: Ho, assertions: *polite}
  - {<<: *first, name: three}
""",
    )
    assert texts(suite) == [("one", "Hi"), ("two", "Ho"), ("three", "Hi")]
    assert [case.assertions for case in suite.cases] == [suite.cases[0].assertions] * 3


def test_keys_of_the_author_s_own_hold_what_anchors_name(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    own = "x-polite: &polite\n  - {type: contains, value: please}\n"
    path.write_text(
        f"{own}{HEAD}cases:\n- {{name: a, prompt: p, assertions: *polite}}\n"
        f"- {{name: b, prompt: p, x-a: 1}}\n"
    )
    with pytest.raises(InvalidFile) as raised:
        load_suite(path)
    assert str(raised.value).startswith(f"{path}:9: case 'b': unknown key 'x-a'; known are ")
    path.write_text(path.read_text().replace(", x-a: 1", ""))
    assert len(load_suite(path).cases[0].assertions) == 1


def test_a_suite_made_in_python_is_expanded_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hi.txt").write_text("Hi ${who}\n")
    defaults = Defaults(
        variables={"who": "all"}, assertions=(schema.ContainsAssertion(value="${who}"),)
    )
    cases = (
        TestCase(name="ask", prompt_file="hi.txt", rows=({"who": "Ann"}, {"who": "Bob"})),
        TestCase(name="talk", turns=(CaseTurn(prompt="a"), CaseTurn(prompt="b"))),
    )
    suite = expand_suite(python_suite(*cases, defaults=defaults))
    assert texts(suite) == [("ask[1]", "Hi Ann"), ("ask[2]", "Hi Bob"), ("talk", None)]
    assert suite.cases[1].assertions == (schema.ContainsAssertion(value="Bob"),)
    assert suite.cases[2].turns[1].assertions == (schema.ContainsAssertion(value="all"),)
    assert suite.cases[1].line is None


def test_a_suite_that_is_expanded_stays_as_it_is(tmp_path: Path) -> None:
    suite = suite_of(
        tmp_path,
        (
            "  - {name: a, prompt: '$${x} ${x}', rows: [{x: 1}, {x: 2}]}\n"
            "  - {name: b, turns: [{prompt: '$${y}'}]}\n"
        ),
        "defaults: {tags: [t], repeat: 2, assertions: [{type: contains, value: v}]}\n",
    )
    assert expand_suite(suite) is suite
    # Its expanded cases in another tuple, so that they are expanded again.
    again = expand_suite(suite.model_copy(update={"cases": (*suite.cases[:1], *suite.cases[1:])}))
    assert again.cases == suite.cases
    assert [case.line for case in again.cases] == [case.line for case in suite.cases]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"cases": (TestCase(name="b", prompt="${x}", variables={"x": 1}),)}, [("b", "1")]),
        ({"defaults": Defaults(variables={"x": 2})}, [("a", "2")]),
    ],
    ids=["cases", "defaults"],
)
def test_a_changed_copy_of_an_expanded_suite_is_expanded(
    tmp_path: Path, changes: Any, expected: list[tuple[str, str]]
) -> None:
    suite = suite_of(tmp_path, "  - {name: a, prompt: '${x}'}\n")
    assert texts(expand_suite(suite.model_copy(update=changes))) == expected


def test_files_of_a_suite_lie_beside_it_wherever_it_is_read_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hi.txt").write_text("Hi")
    (tmp_path / "suite.yaml").write_text(f"{HEAD}cases: [{{name: a, prompt_file: hi.txt}}]\n")
    monkeypatch.chdir(tmp_path.parent)
    assert load_suite(f"{tmp_path.name}/suite.yaml").cases[0].prompt == "Hi"


def test_what_is_wrong_with_a_suite_made_in_python_is_said_with_its_name() -> None:
    with pytest.raises(InvalidFile) as caught:
        expand_suite(
            python_suite(
                TestCase(name="a"), TestCase(name="b", prompt="x"), TestCase(name="b", prompt="y")
            )
        )
    assert str(caught.value) == (
        "suite 'from-python': case 'a': 'prompt' is missing\n"
        "suite 'from-python': duplicate name 'b'"
    )
