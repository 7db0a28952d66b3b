"""Prompts that functions of the project write, in Python and in JavaScript."""

from __future__ import annotations

import shutil
from typing import Any

import llm
import pytest

pytest.importorskip("mcp")

from llm_mock.agents import Agent
from llm_mock.checks.model_guard import refuse_models
from llm_mock.errors import LLMMockError
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.case import CaseRunner
from llm_mock.suites.results import CaseResult
from tests.suites.conftest import HEAD, Project, statuses

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
PYTHON = """
import json

CHAT = [
    {"role": "system", "content": "Be kind"},
    {"role": "user", "content": "Hello"},
    {"role": "assistant", "content": "Hi"},
]

def text(context):
    return f"Greet {context['vars']['who']}"

def chat(context):
    return [*CHAT, {"role": "user", "content": text(context)}]

def history(context):
    return chat(context)[1:]

def dumped(context):
    return json.dumps(chat(context))

def settings(context):
    return {"prompt": text(context), "config": {"temperature": 0}}

def data(context):
    return {"question": "Wer?", "known": ["ä"]}

def number_text(context):
    return "17"

def prompt_text(context):
    return "a prompt"

def list_text(context):
    return "[1, 2]"

def provider(context):
    assert sorted(context) == ["config", "provider", "vars"]
    assert context["config"] == {}
    return str(context["provider"])

def nothing(context):
    print("no return")

def broken(context):
    return context["vars"]["nobody"]

def unsupported(context):
    return chat(context)[:1]

def ask(context):
    import llm
    return llm.get_model("gpt-4o-mini").prompt("Hi").text()

def visit(output):
    import socket
    socket.create_connection(("192.0.2.1", 80))
"""
JAVASCRIPT = """
const text = ({ vars }) => `Greet ${vars.who}`;
const chat = (context) => [
  { role: 'system', content: 'Be kind' },
  { role: 'user', content: 'Hello' },
  { role: 'assistant', content: 'Hi' },
  { role: 'user', content: text(context) },
];
module.exports = text;
Object.assign(module.exports, {
  text,
  chat,
  dumped: async (context) => JSON.stringify(chat(context)),
  provider: ({ provider }) => `${provider.id} ${provider.label}`,
  nothing: () => {},
  broken: () => nobody,
  unsupported: (context) => chat(context).slice(0, 1),
  ask: () => fetch('http://127.0.0.1:8123'),
});
"""
AGENT = Agent("m", name="greeter", system_prompt="Be brief")
FORM = (
    "the messages must be texts: optionally one system message, then user and assistant messages "
    "in turn, with a user message at the end"
)


@pytest.fixture
def prompts(project: Project) -> Project:
    """Return a project with functions that write prompts."""
    project.write("p.py", PYTHON)
    project.write("p.js", JAVASCRIPT)
    return project


def run(function: str, target: str = "", **fields: Any) -> CaseResult:
    """Run a case with a prompt function dry."""
    lines = f"{HEAD}  - name: c\n    prompt_function: {function}\n    variables: {{who: Ada}}\n"
    for key, value in fields.items():
        lines += f"    {key}: {value}\n"
    lines = lines.replace("cases:", f"{target}cases:")
    with open("f.yaml", "w") as file:
        file.write(lines)
    agent = None if target else AGENT
    (result,) = run_suite(agent, load_suite("f.yaml"), dry_run=True).case_results
    return result


def says(result: CaseResult) -> str | None:
    """Return the prompt that a case was run with."""
    assert result.error is None
    (turn,) = result.decisive_attempt.turns
    return turn.prompt


@pytest.mark.parametrize(
    ("function", "prompt", "system"),
    [
        ("p.py:text", "Greet Ada", "Be brief"),
        ("p.py:chat", "Greet Ada", "Be kind"),
        ("p.py:history", "Greet Ada", "Be brief"),
        ("p.py:dumped", "Greet Ada", "Be kind"),
        ("p.py:settings", "Greet Ada", "Be brief"),
        ("p.py:data", '{"question": "Wer?", "known": ["ä"]}', "Be brief"),
        ("p.py:number_text", "17", "Be brief"),
        ("p.py:prompt_text", "a prompt", "Be brief"),
        ("p.py:list_text", "[1, 2]", "Be brief"),
        ("p.py:provider", "{'id': 'm', 'label': 'm'}", "Be brief"),
        pytest.param("p.js", "Greet Ada", "Be brief", marks=needs_node),
        pytest.param("p.js:text", "Greet Ada", "Be brief", marks=needs_node),
        pytest.param("p.js:chat", "Greet Ada", "Be kind", marks=needs_node),
        pytest.param("p.js:dumped", "Greet Ada", "Be kind", marks=needs_node),
        pytest.param("p.js:provider", "m m", "Be brief", marks=needs_node),
    ],
)
def test_a_function_writes_the_messages(
    prompts: Project, function: str, prompt: str, system: str
) -> None:
    checks = f"[{{type: equals, of: system, value: {system}}}]"
    result = run(function, assertions=checks, expected_output="Fine")
    assert (result.status, says(result)) == ("passed", prompt)
    assert result.decisive_attempt.turns[0].output == "Fine"


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("p.py:nothing", " returned None. Is a return statement missing?"),
        ("p.py:broken", " raised KeyError: nobody ("),
        ("p.py:unsupported", f" returned an unsupported chat: {FORM}"),
        ("p.py:missing", ": p.py has no function 'missing'"),
        pytest.param("p.js:nothing", " returned None. Is a return", marks=needs_node),
        pytest.param("p.js:broken", " threw ReferenceError: nobody is not", marks=needs_node),
        pytest.param("none.js", ": there is no file none.js beside the suite", marks=needs_node),
    ],
)
def test_a_function_that_fails_fails_its_case(prompts: Project, function: str, error: str) -> None:
    result = run(function, expected_output="Fine")
    assert result.status == "failed"
    assert (result.error or "").startswith(f"The prompt function {function}{error}")
    assert result.decisive_attempt.turns == ()
    assert result.decisive_attempt.duration > 0


def test_a_function_is_in_a_file_beside_the_suite(prompts: Project) -> None:
    prompts.write("sub/q.py", PYTHON)
    path = prompts.write("sub/f.yaml", f"{HEAD}  - {{name: c, prompt_function: q.py:list_text}}\n")
    (result,) = run_suite(AGENT, load_suite(path), dry_run=True).case_results
    assert says(result) == "[1, 2]"


NO_MODEL = "its function asks a model or another machine"
NO_CONNECTION = "its code opens a connection"


@pytest.mark.parametrize("checks", ["", ", assertions: [{type: contains, value: dry}]"])
@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ("prompt_function: p.py:ask", f"the prompt function p.py:ask, {NO_MODEL}"),
        ("prompt: Hi, transform: p.py:ask", f"the transform p.py:ask, {NO_MODEL}"),
        ("prompt: Hi, transform: p.py:visit", f"the transform p.py:visit, {NO_MODEL}"),
        pytest.param(
            "prompt_function: p.js:ask",
            f"the prompt function p.js:ask, {NO_CONNECTION}",
            marks=needs_node,
        ),
        pytest.param(
            "prompt: Hi, transform: p.js:ask",
            f"the transform p.js:ask, {NO_CONNECTION}",
            marks=needs_node,
        ),
    ],
)
def test_code_that_asks_in_a_dry_run_leaves_its_case_not_checked(
    prompts: Project, fields: str, reason: str, checks: str
) -> None:
    prompts.write("f.yaml", f"{HEAD}  - {{name: c, {fields}{checks}}}\n")
    (result,) = run_suite(AGENT, load_suite("f.yaml"), dry_run=True).case_results
    assert (result.status, result.score) == ("not checked", None)
    messages = [each.message for each in result.assertion_results]
    assert messages == [f"Skipped in a dry run: {reason}"]


def test_a_function_is_refused_models_after_another_one_has_ended() -> None:
    with refuse_models() as get_refusals:
        with refuse_models():
            pass
        with pytest.raises(LLMMockError):
            llm.get_model("gpt-4o").prompt("Hi").text()
        assert len(get_refusals()) == 1


@needs_node
def test_a_function_opens_no_connection_where_answers_are_replayed(
    prompts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CaseRunner, "cassette_state", "replayed")
    prompts.write("f.yaml", f"{HEAD}  - {{name: c, prompt_function: p.js:ask}}\n")
    (result,) = run_suite(AGENT, load_suite("f.yaml")).case_results
    assert result.status == "not checked"
    reason = "Skipped: the prompt function p.js:ask, its code opens a connection"
    assert [each.message for each in result.assertion_results] == [reason]


def test_a_target_is_sent_messages_as_json(prompts: Project) -> None:
    prompts.write("app.py", "def answer(prompt):\n    return prompt\n")
    target = "target: {function: app.py:answer}\n"
    assert says(run("p.py:text", target)) == "Greet Ada"
    sent = says(run("p.py:history", target)) or ""
    assert sent.startswith('[{"role": "user", "content": "Hello"}, {"role": "assistant"')
    assert says(run("p.py:provider", target)) == "{'id': None, 'label': None}"


def test_without_node_a_case_is_not_checked(
    prompts: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    reason = "The prompt function needs node, which is not installed: install Node.js"
    for fields in ({"assertions": "[{type: contains, value: x}]", "each_turn": "[]"}, {}):
        result = run("p.js", **fields)
        assert result.status == "not checked"
        assert [each.message for each in result.assertion_results] == [reason]
    assert run("p.py:text").status == "passed"


@pytest.mark.parametrize(
    ("key", "problem"),
    [
        ("prompt_function: p.txt:f", "The prompt function p.txt:f: there is no module 'p.txt'"),
        ("prompt_function: p.py", "prompt_function: should be file.py:function or package"),
        ("prompt_function: 'p.js:a b'", "prompt_function: should be file.js or file.js:function"),
        ("prompt_function: ../p.mjs", "'../p.mjs' is outside of the suite's folder"),
        (
            "prompt: Hi\n    prompt_function: p.js",
            "'prompt' and 'prompt_function' cannot be combined",
        ),
    ],
)
def test_a_wrong_reference_is_named_with_its_line(prompts: Project, key: str, problem: str) -> None:
    prompts.write_cases(f"  - name: one\n    {key}\n")
    result = prompts.command("test", "role.yaml", "-s", "tests.yaml", "--dry-run")
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())


def test_a_command_runs_such_a_suite(prompts: Project) -> None:
    prompts.write_cases("  - {name: one, prompt_function: p.py:number_text}\n")
    assert statuses(prompts.dry().output) == {"one": "PASS"}
