"""Transforms of an output before checks: of a suite, a case, a turn and an assertion."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

from tests.suites.conftest import HEAD, Project, statuses

CLEANING = """
def shout(output):
    return output.upper()

def parsed(output):
    return {"words": output.split()}

def crash(output):
    raise KeyError("no number")

def nothing(output):
    pass
"""
SUITE = HEAD.replace(
    "cases:",
    """\
defaults: {transform: $.answer}
cases:
  - name: by-the-defaults
    prompt: Hi
    expected_output: '{"answer": "yes", "why": "no"}'
    assertions:
      - {type: equals, value: yes!!}
      - {type: not_contains, value: why}
  - name: by-the-case
    prompt: Hi
    expected_output: yes it is
    transform: cleaning.py:parsed
    assertions:
      - {type: equals, value: it, transform: "words[1]"}
      - {type: json, path: words.0, value: "yes"}
  - name: by-the-turn
    turns:
      - {prompt: Hi, expected_output: hello, transform: "cleaning.py:shout", assertions: [{type: equals, value: HELLO}]}
      - {prompt: Hi, expected_output: '{"b": 7}', assertions: [{type: equals, value: "7"}]}
    transform: b
""",  # noqa: E501
)


def test_assertions_look_at_what_was_made_of_the_output(project: Project) -> None:
    project.write("cleaning.py", CLEANING)
    project.write("tests.yaml", SUITE)
    result = project.dry("-o", "results.json", "-o", "results.xml", "-o", "results.html")
    assert statuses(result.output) == {
        "by-the-defaults": "FAIL",
        "by-the-case": "PASS",
        "by-the-turn": "PASS",
    }
    assert (
        """\
  output: {"answer": "yes", "why": "no"}
  checked: yes
  ✗ Output does not equal 'yes!!', it is 'yes'
  ✓ Output does not contain 'why'
"""
        in result.output
    )
    first, second, third = json.loads((project.path / "results.json").read_text())["suites"][0][
        "cases"
    ]
    assert first["attempts"][0]["turns"][0]["transformed"] == "yes"
    assert second["attempts"][0]["turns"][0]["transformed"] == '{"words": ["yes", "it", "is"]}'
    assert [turn["transformed"] for turn in third["attempts"][0]["turns"]] == ["HELLO", "7"]
    assert "checked: yes" in (project.path / "results.xml").read_text()
    assert '"checked": "yes"' in (project.path / "results.html").read_text()


@pytest.mark.parametrize(
    ("transform", "said"),
    [
        (
            "cleaning.py:crash",
            "The transform cleaning.py:crash raised KeyError: no number (cleaning.py:9)",
        ),
        (
            "cleaning.py:nothing",
            "The transform cleaning.py:nothing returned None. Is a return statement missing?",
        ),
        ("cleaning.py:shuot", "cleaning.py has no function 'shuot'; did you mean 'shout'?"),
        ("$.answer", "The transform $.answer: there is no 'answer' in $; known are b"),
    ],
)
def test_a_transform_that_fails_fails_the_case_and_says_why(
    project: Project, transform: str, said: str
) -> None:
    project.write("cleaning.py", CLEANING)
    project.write_cases(f"""
  - name: one
    prompt: Hi
    expected_output: '{{"b": 7}}'
    transform: {transform}
    assertions: [{{type: contains, value: b}}]
  - {{name: other, prompt: Hi, expected_output: Hi, transform: "cleaning.py:shout"}}
""")
    result = project.dry()
    assert statuses(result.output) == {"one": "FAIL", "other": "PASS"}
    assert (
        f"tests.yaml:7: one: {said}" in result.output
        or f"one: The transform {transform}: {said}" in result.output
    )
    assert 'output: {"b": 7}' in result.output


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        (
            "transform",
            "$.a b",
            "'$.a b' is not a path of keys and positions, such as choices.0.message.content",
        ),
        (
            "transform",
            "../clean.py:f",
            "'../clean.py' is outside of the suite's folder; use a module instead: pa",
        ),
        ("assertions", "[{type: max_cost, value: 1, transform: a}]", "unknown key 'transform'"),
        ("assertions", "[{type: json, path: '', value: 1}]", "is not a path of keys and positions"),
    ],
)
def test_a_transform_that_is_none_is_named_with_its_line(
    project: Project, key: str, value: str, said: str
) -> None:
    project.write_cases(f"  - name: one\n    prompt: Hi\n    {key}: {value}\n")
    result = project.command("validate", "tests.yaml")
    assert "tests.yaml:8: case 'one': " in result.output
    assert said in result.output


def test_a_link_out_of_the_folder_is_not_followed(project: Project) -> None:
    outside = project.path.parent / "outside.py"
    outside.write_text("def shout(output): return output.upper()")
    (project.path / "link.py").symlink_to(outside)
    project.write_cases(
        "  - {name: one, prompt: Hi, expected_output: Hi, transform: 'link.py:shout'}\n"
    )
    assert f"link.py leads to {outside}, outside of the suite's folder" in project.dry().output


def test_values_of_json_keep_the_type_of_a_variable(project: Project) -> None:
    project.write_cases("""
  - name: count
    prompt: How many ${what}?
    expected_output: '{"${what}": ${number}}'
    rows: [{what: cats, number: 2}, {what: dogs, number: 3}]
    assertions: [{type: json, path: "${what}", value: "${number}"}]
""")
    assert project.dry().exit_code == 0
