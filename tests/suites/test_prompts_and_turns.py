"""Assertions on what was asked, and on the answer to each turn."""

from __future__ import annotations

import pytest

pytest.importorskip("mcp")

from llm_mock import ResponseConfigurator
from llm_mock.suites import load_suite
from tests.suites.conftest import HEAD, Project, statuses

APP = """
import llm

def answer(prompt):
    team = llm.get_model("gpt-4o-mini").prompt(f"Which team? {prompt}").text()
    return llm.get_model("gpt-4o").prompt(prompt, system=f"You are {team}.").text()
"""
TARGET = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: app}
target: {function: app.py:answer}
cases:
  - name: refund
    prompt: Money back.
    replies: [{model: gpt-4o-mini, text: billing}, {model: gpt-4o, text: Sure}]
    assertions:
      - {type: contains, of: prompt, value: "Which team? Money back.\\nMoney back."}
      - {type: equals, of: system, value: You are billing.}
      - {type: not_contains, of: prompt, value: Sure}
  - name: wrong
    prompt: Money back.
    replies: [{model: gpt-4o-mini, text: sales}, {model: gpt-4o, text: Sure}]
    assertions: [{type: contains, of: system, value: billing}]
"""


def test_what_an_application_asks_its_models_is_checked(project: Project) -> None:
    project.write("app.py", APP)
    project.write("app.yaml", TARGET)
    result = project.command("test", "-s", "app.yaml", "--dry-run")
    assert statuses(result.output) == {"refund": "PASS", "wrong": "FAIL"}
    assert "wrong: System prompt does not contain 'billing'" in result.output


def test_what_is_asked_of_the_model_of_a_role_is_checked(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Fine")
    project.write_cases("""
  - name: asked
    prompt: "How is ${who}?"
    variables: {who: Ada}
    assertions:
      - {type: equals, of: prompt, value: How is Ada?}
      - {type: regex, of: system, pattern: ^You}
      - {type: not_contains, of: prompt, value: "${"}
      - {type: equals, of: prompt, value: 'ADA', transform: "upper.py:name"}
""")
    project.write("upper.py", "def name(text):\n    return text.upper()[7:-1]\n")
    for result in (project.dry("-v"), project.test("-v")):
        assert result.exit_code == 0
        assert "✓ Prompt equals 'How is Ada?'" in result.output
        assert "✓ System prompt matches pattern '^You'" in result.output


def test_a_live_run_of_a_target_skips_what_it_cannot_see(project: Project) -> None:
    project.write("app.py", "def answer(prompt):\n    return prompt\n")
    project.write(
        "app.yaml",
        TARGET.replace("    replies: [", "    tags: [x]  # [").replace("not_contains", "contains"),
    )
    result = project.command("test", "-s", "app.yaml", "-v")
    assert statuses(result.output) == {"refund": "NOT CHECKED", "wrong": "NOT CHECKED"}
    # The words of a table are wrapped.
    words = result.output.replace("│", " ").split()
    assert "the prompt of this run, or of the application's model calls, is unknown" in " ".join(
        words
    )


def test_assertions_hold_for_each_turn(project: Project) -> None:
    project.write(
        "tests.yaml",
        HEAD.replace(
            "cases:", "defaults: {each_turn: [{type: not_contains, value: rival}]}\ncases:"
        )
        + """
  - name: talk
    variables: {word: please}
    each_turn: [{type: contains, value: "${word}"}]
    turns:
      - {prompt: Hi, expected_output: Come in please}
      - {prompt: So, expected_output: the rival, assertions: [{type: contains, value: the}]}
      - {prompt: Well, expected_output: please go}
  - {name: short, prompt: Hi, expected_output: the rival}
""",
    )
    result = project.dry()
    assert statuses(result.output) == {"talk": "FAIL", "short": "FAIL"}
    lines = [line.strip() for line in result.output.splitlines() if line.startswith("  ")]
    assert [line for line in lines if line[0] in "✓✗"] == [
        "✓ turn 1: Output does not contain 'rival'",
        "✓ turn 1: Output contains 'please'",
        "✗ turn 2: Output contains 'rival' (unexpected)",
        "✗ turn 2: Output does not contain 'please'",
        "✓ turn 2: Output contains 'the'",
        "✓ turn 3: Output does not contain 'rival'",
        "✓ turn 3: Output contains 'please'",
        "✗ Output contains 'rival' (unexpected)",
    ]


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("assertions: [{type: max_cost, value: 1, of: prompt}]", "unknown key 'of'"),
        (
            "assertions: [{type: contains, value: x, of: answer}]",
            "of: should be 'output', 'prompt' or 'system', not",
        ),
        (
            "each_turn: [{type: contain, value: x}]",
            "unknown type 'contain'; did you mean 'contains'?",
        ),
        ("turns: [{prompt: Hi, each_turn: []}]", "unknown key 'each_turn'"),
    ],
)
def test_what_cannot_be_looked_at_is_named_with_its_line(
    project: Project, key: str, said: str
) -> None:
    project.write_cases(f"  - name: one\n    prompt: Hi\n    {key}\n")
    output = project.command("validate", "tests.yaml").output
    assert "tests.yaml:8: " in output
    assert said in output


def test_variables_are_replaced_in_the_messages_before_the_prompt(project: Project) -> None:
    path = project.write(
        "tests.yaml",
        HEAD
        + """
  - name: chat
    variables: {word: please, price: 3}
    system: Say ${word}
    history:
      - {role: user, content: "Is it ${price}?"}
      - {role: assistant, content: "${word}, $${x}"}
    prompt: Go on
  - {name: plain, prompt: Go on}
""",
    )
    chat, plain = load_suite(path).cases
    assert chat.system == "Say please"
    assert [(each.role, each.content) for each in chat.history] == [
        ("user", "Is it 3?"),
        ("assistant", "please, ${x}"),
    ]
    assert (plain.system, plain.history) == (None, ())


IN_TURN = (
    "history: the messages must alternate, beginning with the user and ending with the assistant"
)


@pytest.mark.parametrize(
    ("roles", "problem"),
    [
        ("user", IN_TURN),
        ("assistant user", IN_TURN),
        ("user assistant user", IN_TURN),
        ("user user assistant assistant", IN_TURN),
        ("user assistant user assistant", ""),
        ("system assistant", "history.0.role: should be 'user' or 'assistant', not 'system'"),
    ],
)
def test_the_messages_of_a_history_come_in_pairs(
    project: Project, roles: str, problem: str
) -> None:
    messages = ", ".join(f"{{role: {role}, content: x}}" for role in roles.split())
    project.write_cases(f"  - name: one\n    prompt: Hi\n    history: [{messages}]\n")
    result = project.command("validate", "tests.yaml")
    assert result.exit_code == bool(problem)
    assert problem in result.output
    assert ("tests.yaml:8: case 'one': " in result.output) == bool(problem)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("system", "Be kind"),
        ("system", "''"),
        ("history", "[{role: user, content: x}, {role: assistant, content: y}]"),
    ],
)
def test_a_target_is_sent_no_other_messages(project: Project, key: str, value: str) -> None:
    case = f"  - name: one\n    prompt: Hi\n    {key}: {value}\n"
    for head, is_refused in (
        (HEAD, False),
        (HEAD.replace("cases:", "target: {function: app.py:answer}\ncases:"), True),
    ):
        project.write("tests.yaml", head + case)
        output = project.command("validate", "tests.yaml").output
        reason = "a target receives no system prompt and no scripted history"
        problem = f"case 'one': {key!r} needs a role: {reason}"
        assert (problem in output) == is_refused
        assert ("tests.yaml:9: " in output) == is_refused
