"""Conversations with an application: the id of the session, the history, and a simulated user."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock import LLMMock
from llm_mock.agents import Agent
from llm_mock.cost.prices import compute_cost
from llm_mock.suites import load_suite, run_suite
from llm_mock.suites.results import CaseResult
from llm_mock.suites.runner import run_case
from tests.suites.cases import case
from tests.suites.conftest import Project

HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: talk}\n"
APP = """
import json, os, sys

def remembers(prompt, history, session_id):
    history.append("of its own")
    said = [message["content"] for message in history[:-1] if message["role"] == "user"]
    return {"id": session_id, "said": said, "n": len(history) - 1, "prompt": prompt}

def knows_only_the_prompt(prompt):
    return prompt

if __name__ == "__main__":
    history = json.loads(os.environ["LLM_MOCK_HISTORY"])
    said = [message["content"] for message in history if message["role"] == "user"]
    found = {"id": os.environ["LLM_MOCK_SESSION_ID"], "said": said, "n": len(history)}
    print(json.dumps({**found, "prompt": sys.stdin.read(), "words": sys.argv[1:]}))
"""
TURNS = "cases:\n  - {name: c, repeat: 2, turns: [{prompt: One}, {prompt: 'Two {history}'}]}\n"
SAID = [[], ["One"]]


@pytest.fixture
def application(project: Project) -> Project:
    """Return a project with an application."""
    project.write("app.py", APP)
    return project


def run(project: Project, target: str, cases: str = TURNS, **options: Any) -> CaseResult:
    """Run a suite of one case."""
    project.write("s.yaml", f"{HEAD}target: {target}\n{cases}")
    options.setdefault("dry_run", True)
    [result] = run_suite(None, load_suite("s.yaml"), **options).case_results
    return result


def check_sessions(result: CaseResult) -> None:
    """Check what the application was told in two runs of two turns."""
    assert result.status == "passed", result.error
    ids = []
    for attempt in result.attempts:
        outputs = [json.loads(turn.output) for turn in attempt.turns]
        assert [output["said"] for output in outputs] == SAID
        assert [output["n"] for output in outputs] == [0, 2]
        assert [output["prompt"] for output in outputs] == ["One", "Two {history}"]
        assert outputs[0]["id"] == outputs[1]["id"]
        ids.append(outputs[0]["id"])
    assert ids[0] != ids[1]


@pytest.mark.parametrize("dry_run", [True, False])
@pytest.mark.parametrize(
    "target", ["{function: 'app.py:remembers'}", f"{{command: ['{sys.executable}', app.py]}}"]
)
def test_each_run_has_a_session_and_each_turn_its_history(
    application: Project, target: str, dry_run: bool
) -> None:
    check_sessions(run(application, target, dry_run=dry_run))


def test_a_function_without_such_parameters_is_given_the_prompt_alone(application: Project) -> None:
    result = run(application, "{function: 'app.py:knows_only_the_prompt'}")
    assert [turn.output for turn in result.attempts[0].turns] == ["One", "Two {history}"]


def test_the_words_of_a_command_can_have_the_session(application: Project) -> None:
    words = "'{session_id}', '{history}', 'as {prompt}'"
    result = run(application, f"{{command: ['{sys.executable}', app.py, {words}]}}")
    outputs = [json.loads(turn.output) for turn in result.attempts[0].turns]
    for output in outputs:
        assert output["words"][0] == output["id"]
    assert outputs[0]["words"][1:] == ["[]", "as One"]
    assert json.loads(outputs[1]["words"][1]) == [
        {"role": "user", "content": "One"},
        {"role": "assistant", "content": result.attempts[0].turns[0].output},
    ]
    # What stands in a prompt is no place.
    assert outputs[1]["words"][2] == "as Two {history}"


class _Echo(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        body = json.loads(self.rfile.read(length))
        history = body["messages"]
        said = [message["content"] for message in history if message["role"] == "user"]
        found = {"id": self.headers["X-Session"], "said": said, "n": len(history)}
        assert body["as_text"] == f"{found['id']} {json.dumps(history)}"
        answer = json.dumps({**found, "prompt": body["prompt"]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    """Return the URL of an application that says what it was told."""
    server = HTTPServer(("127.0.0.1", 0), _Echo)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_request_has_the_session_where_its_templates_say(project: Project, endpoint: str) -> None:
    body = "{prompt: '{prompt}', messages: '{history}', as_text: '{session_id} {history}'}"
    headers = "{X-Session: '{session_id}'}"
    target = f"{{url: '{endpoint}', mocked: true, headers: {headers}, body: {body}}}"
    check_sessions(run(project, target))


# A user whose messages depend on the answers.


@pytest.mark.parametrize(
    ("replies", "lines"),
    [
        ("{text: a}, {text: b}", ["prompt 2: Two", "output 2: b", "turn 2: Output does not co"]),
        ("{text: a}", ["prompt 2: Two", "No reply was configured for this call"]),
    ],
)
def test_a_conversation_that_fails_is_shown_in_every_output(
    project: Project, replies: str, lines: list[str]
) -> None:
    check = "assertions: [{type: contains, value: yes it is}]"
    fields = f"user: {{script: [One, Two]}}, replies: [{replies}], {check}"
    project.write("t.yaml", f"{HEAD}cases:\n  - {{name: c, {fields}}}\n")
    outputs = [word for name in ("o.json", "o.md", "o.xml", "o.html") for word in ("-o", name)]
    ended = project.dry("-v", *outputs, suite="t.yaml")
    assert ended.exit_code == 1
    for line in lines:
        assert line in ended.output
    for name in ("o.json", "o.md", "o.xml", "o.html"):
        text = (project.path / name).read_text()
        assert "One" in text
        assert "Two" in text


def talk(user: dict[str, Any], **fields: Any) -> CaseResult:
    """Run a case with a simulated user dry."""
    checked = case("c", **fields)
    values = checked.model_dump(exclude_unset=True, by_alias=True)
    if "prompt" not in fields:
        del values["prompt"]
    checked = type(checked).model_validate({**values, "user": user})
    return run_case(Agent("gpt-5"), checked, dry_run=True)


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ({"script": ["One", "Two"]}, ["One", "Two"]),
        ({"script": ["One", "bye ###STOP###", "Two"]}, ["One"]),
        ({"script": ["One", "END", "Two"], "stop": "END"}, ["One"]),
        ({"script": ["One", "Two", "Three"], "max_turns": 2}, ["One", "Two"]),
        ({"script": ["One"], "max_turns": 1}, ["One"]),
        ({"script": ["One"], "instructions": "Be Ada.", "model": "gpt-5"}, ["One"]),
    ],
)
def test_a_scripted_user_talks_until_the_end_a_stop_word_or_the_most_turns(
    user: dict[str, Any], said: list[str]
) -> None:
    result = talk(user, expected_output="Yes")
    assert result.status == "passed", result.error
    found = [(turn.prompt, turn.output) for turn in result.attempts[0].turns]
    assert found == [(text, "Yes") for text in said]


def test_the_prompt_of_a_case_is_the_first_message_of_its_user() -> None:
    result = talk({"script": ["Two"], "max_turns": 5}, prompt="One")
    assert [turn.prompt for turn in result.attempts[0].turns] == ["One", "Two"]


@pytest.mark.parametrize(
    ("answers", "status"),
    [(["a", "b", "done"], "passed"), (["a", "b", "c"], "failed"), (["done", "b", "c"], "failed")],
)
def test_assertions_are_about_the_last_answer_and_each_turn_about_all(
    answers: list[str], status: str
) -> None:
    result = talk(
        {"script": ["One", "Two", "Three"]},
        replies=[{"text": answer} for answer in answers],
        assertions=[{"type": "equals", "value": "done"}],
        each_turn=[{"type": "regex", "pattern": "^[a-d]"}],
    )
    assert result.status == status, result.error
    assert [found.turn for found in result.assertion_results] == [0, 1, 2, 2]


@pytest.mark.parametrize(
    "user", [{"script": ["One", "Two"]}, {"script": ["One", "Two", "Three"], "max_turns": 2}]
)
def test_the_replies_of_a_conversation_must_be_used_by_its_end(user: dict[str, object]) -> None:
    replies = [{"text": "a"}, {"text": "b"}, {"text": "c"}]
    result = talk(user, replies=replies)
    assert "One queued reply was not used" in (result.error or "")
    assert len(result.attempts[0].turns) == 2


def test_a_user_who_ends_the_conversation_before_it_begins_is_an_error() -> None:
    result = talk({"script": ["###STOP###"]}, assertions=[{"type": "contains", "value": "a"}])
    assert result.status == "failed"
    assert result.error == "The simulated user ends the conversation before it begins."


@pytest.mark.parametrize("assertions", [[{"type": "contains", "value": "a"}], []])
def test_a_dry_run_does_not_ask_the_model_that_plays_the_user(assertions: list[Any]) -> None:
    user = {"instructions": "Be Ada.", "model": "gpt-5"}
    result = talk(user, assertions=assertions)
    assert (result.status, result.score) == ("not checked", None)
    assert result.attempts[0].turns == ()
    message = result.assertion_results[0].message
    assert message == "Skipped in a dry run: a model plays the user; add a 'script' to the user"


def test_a_model_plays_the_user_in_a_live_run(
    application: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.script("gpt-4o", " A table? ", "For two.", "Thanks ###STOP###")
    user = "{instructions: 'You want ${what}.', model: gpt-4o}"
    checks = "assertions: [{type: contains, value: For two}]"
    cases = f"cases: [{{name: c, variables: {{what: a table}}, user: {user}, {checks}}}]\n"
    target = "{function: 'app.py:remembers'}"
    result = run(application, target, cases, dry_run=False)
    assert result.status == "passed", result.error
    assert [turn.prompt for turn in result.attempts[0].turns] == ["A table?", "For two."]
    first, second, last = mock_llm_responses.calls
    assert first["prompt"] == "The conversation begins."
    assert "You want a table." in first["kwargs"]["system"]
    assert "###STOP###" in first["kwargs"]["system"]
    assert second["prompt"].startswith('User: A table?\n\nAssistant: {"id": "llm-mock-')
    assert "User: For two." in last["prompt"]


def test_what_a_model_that_plays_the_user_takes_is_counted(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.script("gpt-4o", "Hi there", "Go on", "###STOP###")
    mock_llm_responses.set("gpt-5", "Hello")
    user = {"instructions": "Be Ada.", "model": "gpt-4o"}
    values = {"name": "c", "user": user, "prompt": None}
    checked = type(case()).model_validate(values)
    result = run_case(Agent("gpt-5"), checked)
    calls = mock_llm_responses.calls
    assert [call["model_id"] for call in calls] == ["gpt-4o", "gpt-5", "gpt-4o", "gpt-5", "gpt-4o"]
    # The message that follows an answer belongs to its turn, as the first one does.
    for turn, taken in zip(result.attempts[0].turns, (calls[:3], calls[3:]), strict=True):
        assert turn.input_tokens == sum(call["input_tokens"] for call in taken)
        assert turn.output_tokens == sum(call["output_tokens"] for call in taken)
    assert result.cost == sum(compute_cost(call) for call in calls)


def test_a_model_that_plays_the_user_and_fails_ends_the_case(
    application: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.script("gpt-4o", "Hi", ConnectionError("gone"))
    cases = "cases: [{name: c, user: {instructions: Be Ada., model: gpt-4o}}]\n"
    result = run(application, "{function: 'app.py:remembers'}", cases, dry_run=False)
    assert result.status == "failed"
    problem = "The model 'gpt-4o' that plays the user failed: ConnectionError: gone"
    assert result.error == problem


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("user: {}", "needs a 'script', or 'instructions' and a 'model'"),
        ("user: {script: [Hi], model: gpt-5}", "'instructions' and 'model' must be set together"),
        ("user: {instructions: Hi}", "'instructions' and 'model' must be set together"),
        ("user: {script: []}", "needs a 'script'"),
        ("user: {script: [Hi], max_turns: 0}", "should be at least 1"),
        ("user: {script: [Hi], turns: 3}", "turns"),
        ("user: {script: [Hi]}, turns: [{prompt: a}]", "cannot be combined"),
        ("user: {script: ['${who}']}, variables: {a: b}", "unknown variable ${who}"),
    ],
)
def test_a_mistake_in_a_user_is_told_with_its_line(
    project: Project, fields: str, problem: str
) -> None:
    project.write("t.yaml", f"{HEAD}cases:\n  - {{name: c, {fields}}}\n")
    ended = project.command("validate", "t.yaml")
    assert ended.exit_code == 1
    assert problem in " ".join(ended.output.split())


def test_a_case_without_a_user_needs_a_prompt(project: Project) -> None:
    project.write("t.yaml", f"{HEAD}cases:\n  - {{name: c}}\n")
    assert "'prompt' is missing" in project.command("validate", "t.yaml").output


def test_the_history_has_letters_of_all_languages(application: Project) -> None:
    cases = "cases: [{name: c, turns: [{prompt: Äpfel}, {prompt: Two}]}]\n"
    target = f"{{command: ['{sys.executable}', app.py, '{{history}}']}}"
    result = run(application, target, cases)
    (word,) = json.loads(result.attempts[0].turns[1].output)["words"]
    assert word.startswith('[{"role": "user", "content": "Äpfel"}, {"role": "assistant", ')
