"""Suites that are wrong: one error, with a line for each problem, and never a traceback."""

from __future__ import annotations

import functools
import time
from collections.abc import Iterator
from pathlib import Path

import pydantic
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from llm_mock.errors import InvalidFile
from llm_mock.suites.loading import load_suite
from llm_mock.suites.schema import TestSuiteDefinition
from llm_mock.support.yaml_files import dump

ASSERTION_TYPES = [
    name
    for definition in TestSuiteDefinition.model_json_schema()["$defs"].values()
    if "Assertion" in definition["title"]
    for name in definition["properties"]["type"].get(
        "enum", [definition["properties"]["type"].get("const")]
    )
]
HEAD = "apiVersion: initrunner/v1\nkind: TestSuite\nmetadata: {name: x}\n"
VALID = f"""\
{HEAD}defaults:
  tags: [daily]
  variables: {{who: Ann}}
  assertions: [{{type: not_contains, value: error}}]
cases:
  - name: one
    prompt: Hi ${{who}}
    expected_output: "Hello ${{who}}"
    repeat: 2
    assertions:
      - type: regex
        pattern: '\\d+ ${{who}}'
      - {{type: json, schema: {{type: object}}}}
      - type: tool_calls
        calls: [a, {{name: b, arguments: {{x: "${{who}}"}}}}]
        mode: subset
      - {{type: python, function: "checks.py:polite"}}
  - name: two
    rows: [{{a: 1}}, {{a: 2}}]
    turns: [{{prompt: "${{a}}"}}, {{prompt_file: suite.yaml}}]
"""


@pytest.fixture(scope="module", autouse=True)
def schemas_are_generated_once() -> Iterator[None]:
    """Keep generated schemas: most of the time of a broken suite, and always the same."""
    of_models = functools.cache(pydantic.BaseModel.model_json_schema.__func__)  # type: ignore[attr-defined]
    of_types = functools.cache(pydantic.TypeAdapter.json_schema)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pydantic.BaseModel, "model_json_schema", classmethod(of_models))
        patch.setattr(pydantic.TypeAdapter, "json_schema", lambda self: of_types(self))
        yield


def problem_of(path: Path) -> str:
    try:
        load_suite(path)
    except InvalidFile as error:
        return str(error)
    return "none"


def problems(tmp_path: Path, text: str) -> list[str]:
    """Return the lines of the error, without the path."""
    path = tmp_path / "suite.yaml"
    path.write_text(text)
    return [line.removeprefix(f"{path}:") for line in problem_of(path).splitlines()]


def case(text: str) -> str:
    """Return a suite of one case, which begins in line 5."""
    return f"{HEAD}cases:\n- name: one\n{text}"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "1: the file is empty; a suite has apiVersion, kind: TestSuite, metadata and cases"),
        ("- a\n", "1: this is a list; a suite has"),
        ("hello\n", "1: this is 'hello'; a suite has"),
        (
            "apiVersion: x\nkind: Agent\nspec: {}\n",
            "2: this is a role (kind: Agent), not a suite (kind: TestSuite)",
        ),
        (
            HEAD.replace("initrunner/v1", "v2"),
            "1: apiVersion: should be 'initrunner/v1' or 'llm-mock/v1', not 'v2'",
        ),
        (HEAD.replace("TestSuite", "TestSuit"), "2: kind: should be 'TestSuite', not 'TestSuit'"),
        (HEAD + "casse: []\n", "4: unknown key 'casse'; did you mean 'cases'?"),
        ("kind: TestSuite\napiVersion: llm-mock/v1\n", "1: 'metadata' is missing"),
        (HEAD + "cases: {}\n", "4: cases: should be a list, not a mapping"),
        (HEAD + "cases:\n- hello\n", "5: case 1: should be a mapping (key: value), not 'hello'"),
        (HEAD + "cases:\n- prompt: x\n", "5: case 1: 'name' is missing"),
        (HEAD + "cases:\n- {name: '', prompt: x}\n", "5: case 1: name: should not be empty"),
        (HEAD + "defaults:\n  tag: [x]\n", "5: unknown key 'tag'; did you mean 'tags'?"),
        (HEAD + "kind: TestSuite\n", "4: is not valid YAML: duplicate key 'kind'"),
        (HEAD + "cases:\n\t- name: x\n", "5: is not valid YAML"),
        (HEAD + "cases: [\n", "5: is not valid YAML"),
        (HEAD + "a: &a [*a]\n", "4: is not valid YAML: its references are circular"),
        (HEAD + "cases: " + "[" * 100_000, "4: is not valid YAML: it is nested too deep"),
        (
            HEAD + "\n".join(f"{' ' * i}a:" for i in range(2_000)),
            "304: is not valid YAML: it is nested too deep",
        ),
        (
            HEAD + f"x: {'9' * 5000}\n",
            "4: is not valid YAML: not a whole number, or too large",
        ),
        (
            HEAD + f"x: 0x{'F' * 5000}\n",
            "4: is not valid YAML: not a whole number, or too large",
        ),
        (HEAD + "a: \x00\n", "4: is not valid YAML"),
    ],
)
def test_what_is_no_suite_is_an_error_with_its_line(
    tmp_path: Path, text: str, problem: str
) -> None:
    found = problems(tmp_path, text)
    assert len(found) == 1
    assert found[0].startswith(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "5: case 'one': 'prompt' is missing"),
        ("  promt: x\n", "6: case 'one': unknown key 'promt'; did you mean 'prompt'?"),
        (
            "  prompt: 5\n",
            "6: case 'one': prompt: should be text, not the number 5; put it in quotes",
        ),
        (
            "  prompt: 2024-01-01\n",
            "6: case 'one': prompt: should be text, not a date; put it in quotes",
        ),
        ("  prompt: yes\n", "6: case 'one': prompt: should be text, not true; put it in quotes"),
        ("  prompt: [a]\n", "6: case 'one': prompt: should be text, not a list"),
        ("  prompt: x\n  tags: daily\n", "7: case 'one': tags: should be a list, not 'daily'"),
        ("  prompt: x\n  repeat: 0\n", "7: case 'one': repeat: should be at least 1"),
        (
            "  prompt: x\n  repeat: often\n",
            "7: case 'one': repeat: should be a whole number, not 'often'",
        ),
        ("  prompt: x\n  threshold: 2\n", "7: case 'one': threshold: should be at most 1"),
        ("  prompt: x\n  rows: []\n", "7: case 'one': rows: should not be empty"),
        (
            "  prompt: x\n  variables: {1: x}\n",
            "7: case 'one': variables.1.(key): should be text, not the number 1",
        ),
        (
            "  prompt: x\n  variables: {a: [1]}\n",
            "7: case 'one': the variable 'a' must be text, a number, true",
        ),
        (
            "  prompt: x\n  variables: {a-b: 1}\n",
            "7: case 'one': invalid variable name 'a-b'",
        ),
        (
            "  prompt: x\n  variables: {a..b: 1}\n",
            "7: case 'one': invalid variable name 'a..b': use letters, digits, _ and single",
        ),
        (
            "  prompt: x\n  prompt_file: binary\n",
            "7: case 'one': 'prompt' and 'prompt_file' cannot be combined",
        ),
        (
            "  prompt: x\n  turns: [{prompt: y}]\n",
            "7: case 'one': 'prompt' and 'turns' cannot be combined",
        ),
        (
            "  prompt: x\n  expected_output: ''\n  expected_output_file: y\n",
            "8: case 'one': 'expected_output' and",
        ),
        (
            "  turns: [{prompt: x}]\n  expected_output: y\n",
            "7: case 'one': add 'expected_output' to the turns, not to",
        ),
        ("  turns:\n  - prompt: x\n  - assertions: []\n", "8: case 'one': 'prompt' is missing"),
        (
            "  prompt_file: no.txt\n",
            "6: case 'one': prompt_file: {folder}/no.txt: cannot be read: No such file",
        ),
        (
            "  turns:\n  - prompt: x\n  - prompt_file: no.txt\n",
            "8: case 'one': prompt_file: {folder}/no.txt: cannot be read: No such file",
        ),
        (
            "  prompt_file: .\n",
            "6: case 'one': prompt_file: {folder}: cannot be read: Is a directory",
        ),
        (
            '  prompt_file: "a\\0b"\n',
            "6: case 'one': prompt_file: {folder}/a\\x00b: cannot be read: embedded null byte",
        ),
        (
            "  prompt_file: binary\n",
            "6: case 'one': prompt_file: {folder}/binary:1: is not UTF-8 text",
        ),
        (
            "  prompt: ${nmae}\n  variables: {name: x}\n",
            "5: case 'one': unknown variable ${nmae}; did you mean 'name'?",
        ),
        (
            "  prompt: ${user.nmae}\n  variables: {user.name: x}\n",
            "5: case 'one': unknown variable ${user.nmae}; did you mean 'user.name'?",
        ),
        (
            "  prompt: ${a}\n  rows: [{a: 1}, {b: 1}]\n",
            "5: case 'one': ${a} has no value in some rows",
        ),
        (
            "  prompt: x\n- name: one\n  prompt: y\n",
            "7: duplicate name 'one': the case at line 5 has the same name",
        ),
        (
            "  prompt: x\n- name: ${a}\n  prompt: y\n  rows: [{a: 1}, {a: 1}]\n",
            "7: two rows have the name '1'",
        ),
        (
            "  prompt: x\n- name: ${a}\n  prompt: y\n  rows: [{a: ''}]\n",
            "7: case 2: the name is empty",
        ),
    ],
)
def test_what_is_wrong_with_a_case_is_said_with_its_line_and_its_name(
    tmp_path: Path, text: str, problem: str
) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    found = problems(tmp_path, case(text))
    assert len(found) == 1
    assert found[0].startswith(problem.replace("{folder}", str(tmp_path)))


@pytest.mark.parametrize(
    ("assertion", "problem"),
    [
        ("type: contains", "8: case 'one': 'value' is missing"),
        ("value: x", "8: case 'one': 'type' is missing; known are bleu, contains, "),
        (
            "{type: contians, value: x}",
            "8: case 'one': unknown type 'contians'; did you mean 'contains'? Known are ",
        ),
        (
            "{type: 5, value: x}",
            "8: case 'one': unknown type the number 5; known are bleu, contains, ",
        ),
        (
            "contains",
            "8: case 'one': assertions.0: should be a mapping (key: value), not 'contains'",
        ),
        (
            "{type: contains, value: x, case_insensitve: true}",
            "8: case 'one': unknown key 'case_insensitve'; did you ",
        ),
        (
            "{type: icontains, value: x, xyz: true}",
            "8: case 'one': unknown key 'xyz'; known are type, ",
        ),
        (
            "{type: not_contains, value: 5}",
            "8: case 'one': assertions.0.value: should be text, not the number 5; put",
        ),
        (
            "{type: contains_any, values: []}",
            "8: case 'one': assertions.0.values: should not be empty",
        ),
        (
            "{type: regex,\n     pattern: '(a'}",
            "9: case 'one': assertions.0.pattern: '(a' is not a valid regular expression: mis",
        ),
        (
            "{type: not_regex, pattern: 'a**'}",
            "8: case 'one': assertions.0.pattern: 'a**' is not a valid regular expression: m",
        ),
        (
            "{type: json,\n     schema: {type: text}}",
            "9: case 'one': assertions.0.schema: is not a valid JSON schema: type: 'te",
        ),
        (
            "{type: json, schema: {const: 2024-01-01}}",
            "8: case 'one': assertions.0.schema: is not a valid JSON schema: it contain",
        ),
        (
            "{type: json, schema: {$schema: 5}}",
            "8: case 'one': assertions.0.schema: is not a valid JSON schema: $schema: must",
        ),
        (
            "{type: tool_calls, calls: [{nam: x, name: y}]}",
            "8: case 'one': unknown key 'nam'; did you mean 'name'?",
        ),
        (
            "{type: tool_calls, calls: [a], mode: x}",
            "8: case 'one': assertions.0.mode: should be 'strict', 'in_order'",
        ),
        (
            "{type: tool_calls, calls: a}",
            "8: case 'one': assertions.0.calls: should be a list, not 'a'",
        ),
        (
            "{type: max_tokens, value: 1.5}",
            "8: case 'one': assertions.0.value: should be a whole number, not the numb",
        ),
        (
            "{type: max_latency, value: 0}",
            "8: case 'one': assertions.0.value: should be more than 0",
        ),
        (
            "{type: python, function: checks.py}",
            "8: case 'one': assertions.0.function: should be file.py:function or ",
        ),
    ],
)
def test_what_is_wrong_with_an_assertion_is_said_with_its_line(
    tmp_path: Path, assertion: str, problem: str
) -> None:
    found = problems(tmp_path, case(f"  prompt: x\n  assertions:\n  - {assertion}\n"))
    assert len(found) == 1
    assert found[0].startswith(problem)


def test_data_of_python_that_is_no_suite_is_an_error_with_this_data() -> None:
    with pytest.raises(pydantic.ValidationError) as raised:
        TestSuiteDefinition.model_validate(["a"])
    (problem,) = raised.value.errors()
    assert (problem["type"], problem["loc"], problem["input"]) == ("model_type", (), ["a"])


def test_an_unknown_type_is_answered_with_all_that_are_known(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, case("  prompt: x\n  assertions: [{type: xyz}]\n"))
    assert set(found.partition("known are ")[2].split(", ")) == set(ASSERTION_TYPES)


def test_a_pattern_is_validated_again_where_variables_were_replaced(tmp_path: Path) -> None:
    defaults = "defaults:\n  assertions:\n  - {type: regex, pattern: 'a${x}'}\n"
    own = "  prompt: x\n  variables: {x: '('}\n  assertions:\n  - type: contains\n    value: y\n"
    again = "  - type: regex\n    pattern: ${x}b\n"
    assert problems(tmp_path, case(own + again).replace("cases:", f"{defaults}cases:")) == [
        "6: case 'one': pattern: 'a(' is not a valid regular expression: "
        "missing ), unterminated subpattern (position 1)",
        "15: case 'one': pattern: '(b' is not a valid regular expression: "
        "missing ), unterminated subpattern (position 0)",
    ]


def test_all_problems_of_a_file_are_said_at_once_in_its_order(tmp_path: Path) -> None:
    text = case(
        "  promt: x\n  assertions:\n  - {type: regx}\n  - {type: equals}\n- prompt: 5\n"
    ).replace("v1", "v9")
    assert [line.split(":")[0] for line in problems(tmp_path, text)] == [
        "1",
        "6",
        "8",
        "9",
        "10",
        "10",
    ]


def test_of_very_many_problems_the_first_are_shown(tmp_path: Path) -> None:
    found = problems(tmp_path, HEAD + "cases:\n" + "- {nam: x}\n" * 1_000)
    assert len(found) == 51
    assert found[-1].endswith(" … and 1950 more problems")


@pytest.mark.parametrize("name", [".", "missing.yaml", "binary.yaml"])
def test_what_is_no_text_file_is_an_error_with_its_path(tmp_path: Path, name: str) -> None:
    (tmp_path / "binary.yaml").write_bytes(bytes(range(256)))
    assert problem_of(tmp_path / name).startswith(f"{tmp_path / name}:")


def test_a_very_large_file_is_read_in_seconds(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(f"{HEAD}cases:\n- name: long\n  prompt: |\n" + "    x [ - {\n" * 450_000)
    started = time.monotonic()
    assert len(load_suite(path).cases[0].prompt or "") == 3_600_000
    assert time.monotonic() - started < 15


PIECES = (
    "&a ",
    "*a",
    "!!int ",
    "!!set {a}",
    "? ",
    "- ",
    ": ",
    "<<: ",
    "|\n",
    "~",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "\t",
    "\0",
)
WORDS = (
    "${x}",
    "$${who}",
    "contains",
    "null",
    "1e999",
    ".nan",
    "0",
    "true",
    "2026-01-01",
    "type: ",
    "rows: ",
    "    ",
)
quick = settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])


def assert_read_or_refused(folder: Path, text: str) -> None:
    path = folder / "suite.yaml"
    path.write_bytes(text.encode(errors="surrogatepass"))
    problem = problem_of(path)
    assert problem == "none" or all(line.startswith(str(path)) for line in problem.splitlines())


@quick
@given(
    st.lists(
        st.tuples(
            st.integers(0, len(VALID)),
            st.integers(0, 40),
            st.sampled_from(PIECES + WORDS) | st.text(max_size=3),
        ),
        min_size=1,
        max_size=4,
    )
)
def test_whatever_was_done_to_its_characters_a_suite_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[int, int, str]]
) -> None:
    text = VALID
    for start, length, piece in changes:
        text = text[:start] + piece + text[start + length :]
    assert_read_or_refused(tmp_path, text)


LINES = VALID.splitlines(keepends=True)


@quick
@given(
    st.lists(
        st.tuples(st.sampled_from(["leave out", "repeat", "indent"]), st.integers(0, len(LINES))),
        max_size=5,
    )
)
def test_whatever_was_done_to_its_lines_a_suite_is_read_or_refused(
    tmp_path: Path, changes: list[tuple[str, int]]
) -> None:
    lines = [*LINES]
    for change, at in changes:
        part = lines[at : at + 1]
        lines[at : at + 1] = {
            "leave out": [],
            "repeat": part * 2,
            "indent": [f"  {line}" for line in part],
        }[change]
    assert_read_or_refused(tmp_path, "".join(lines))


KEYS = st.sampled_from(
    [
        "name",
        "prompt",
        "turns",
        "assertions",
        "type",
        "value",
        "rows",
        "variables",
        "schema",
        "calls",
        "arguments",
        "x",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([*ASSERTION_TYPES, "${x}", "(", "a.py:f"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(KEYS | st.integers(), inner, max_size=5)
    ),
    max_leaves=20,
)


@quick
@given(VALUES)
def test_whatever_data_the_cases_are_a_suite_is_read_or_refused(
    tmp_path: Path, value: object
) -> None:
    assert_read_or_refused(
        tmp_path, HEAD + dump({"cases": value if isinstance(value, list) else [value]})
    )


@quick
@given(VALUES)
def test_whatever_data_an_assertion_is_a_suite_is_read_or_refused(
    tmp_path: Path, value: object
) -> None:
    case = {"name": "a", "prompt": "x ${y}", "variables": {"x": "("}, "assertions": [value]}
    assert_read_or_refused(tmp_path, HEAD + dump({"cases": [case]}))


@pytest.mark.parametrize(
    ("matrix", "case", "start"),
    [
        ("", "prompt: Hi, rows_file: NAME", "rows_file: "),
        ("", "prompt_file: NAME", "prompt_file: "),
        ("matrix: {system_prompts: [{name: a, file: NAME}]}", "prompt: Hi", "system_prompts: "),
        ("matrix: {roles: [NAME]}", "prompt: Hi", "matrix.roles: "),
    ],
)
def test_the_message_of_a_file_with_a_long_name_is_cut(
    matrix: str, case: str, start: str, tmp_path: Path
) -> None:
    head = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: s}\n"
    text = f"{head}{matrix}\ncases: [{{name: c, {case}}}]\n".replace("NAME", "x" * 700)
    (tmp_path / "s.yaml").write_text(text)
    with pytest.raises(InvalidFile) as raised:
        load_suite(tmp_path / "s.yaml")
    message = str(raised.value).partition(start)[2].partition("\n")[0]
    assert len(message) == 500
    assert message.endswith("x…")
