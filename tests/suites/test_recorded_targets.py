"""`llm-mock test --cassette` with an application as the target."""

from __future__ import annotations

import contextvars
import json
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.cassettes import Cassette
from llm_mock.core.context import ContextMocks
from llm_mock.errors import LLMMockError
from llm_mock.suites.endpoint_recording import replay_or_record
from llm_mock.suites.target import Target
from tests.boundaries.http.test_forwarding import provider as provider
from tests.openai_server import QuietServer, served
from tests.provider_server import KEY, TEXT, ProviderServer
from tests.suites.conftest import HEAD, Project, statuses
from tests.suites.recorded import CASES, Parrot, recorded
from tests.suites.recorded import parrot as parrot

TARGETS = HEAD.replace("initrunner/v1", "llm-mock/v1")
APP = """\
import asyncio, subprocess, sys, threading
import llm

def ask(question):
    return llm.get_model("parrot").prompt(question).text()

def answer(question):
    return ask(ask(question))

def answer_in_session(question, session_id):
    return ask(f"{question} in {session_id}")

async def answer_async(question):
    return await asyncio.to_thread(ask, question)

def answer_in_thread(question):
    answers = []
    thread = threading.Thread(target=lambda: answers.append(ask(question)))
    thread.start()
    thread.join()
    return answers[0]

def answer_elsewhere(question):
    code = "import llm; print(llm.get_model('gpt-4o-mini').prompt('Hi').text())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout
"""


def target(project: Project, function: str) -> Callable[..., Any]:
    """Run a suite of two cases with a function of `app.py` as the target."""
    project.write("app.py", APP)
    text = TARGETS.replace("cases:", f"target: {{function: 'app.py:{function}'}}\ncases:") + CASES
    project.write("app.yaml", text.replace("Answer 2", "Answer"))
    return lambda *arguments: project.command("test", "-s", "app.yaml", "--cassette", *arguments)


@pytest.mark.parametrize(
    "function", ["answer", "answer_in_session", "answer_async", "answer_in_thread"]
)
def test_what_a_function_asks_is_recorded_and_replayed_while_the_function_runs(
    function: str, project: Project, parrot: Parrot, mock_llm_calls: LLMMock
) -> None:
    test = target(project, function)
    first = test()
    # The calls of a case are those of the test that runs it, too.
    assert [call["prompt"] for call in mock_llm_calls.calls] == parrot.asked
    assert first.exit_code == 0, first.output
    asked = 2 if function == "answer" else 1
    assert [len(prompts) for prompts in recorded(project, "app").values()] == [asked, asked]
    assert test("--record", "none").exit_code == 0
    project.write("app.py", APP.replace(".text()\n", '.text().replace("Answer", "Nothing")\n'))
    assert test("--record", "none").exit_code == 1
    assert len(parrot.asked) == 2 * asked


def test_functions_run_at_once_and_a_thread_without_a_case_is_told_to_run_alone(
    project: Project, parrot: Parrot
) -> None:
    assert target(project, "answer_async")("-j", "2").exit_code == 0
    assert [prompts[0] for prompts in recorded(project, "app").values()] == ["One", "Two"]
    several = ContextMocks("Run them alone.")
    with several.use(LLMMock()), several.use(LLMMock()):
        context = contextvars.Context()
        with pytest.raises(
            LLMMockError,
            match=r"2 cases run in parallel, and it is unknown .*\. Run them alone\.",
        ):
            context.run(several.get)


def test_a_process_that_a_function_starts_is_refused(project: Project, parrot: Parrot) -> None:
    result = target(project, "answer_elsewhere")("-k", "a")
    assert result.exit_code == 1
    assert "records and replays the calls of the test's own process only" in " ".join(
        result.stdout.split()
    )
    assert recorded(project, "app") == {}


COMMAND = """\
import json, os, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
body = {"model": "gpt-4o", "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request(url, json.dumps(body).encode(), headers)
with urllib.request.urlopen(request, timeout=30) as response:
    print(json.load(response)["choices"][0]["message"]["content"])
"""


def test_what_a_command_asks_is_recorded_through_a_server_and_replayed_without_a_key(
    project: Project, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write("app.py", COMMAND)
    command = json.dumps([sys.executable, "app.py", "{prompt}"])
    checks = f"assertions: [{{type: equals, value: '{TEXT}'}}]"
    project.write(
        "app.yaml",
        TARGETS.replace("cases:", f"target: {{command: {command}}}\ncases:")
        + f"  - {{name: a, prompt: One, {checks}}}\n  - {{name: b, prompt: echo, {checks}}}\n",
    )
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    test = ["test", "-s", "app.yaml", "--cassette", "-j", "2"]
    first = project.command(*test)
    assert statuses(first.stdout) == {"a": "PASS", "b": "PASS"}, first.output
    assert recorded(project, "app") == {"a.llm.yaml": ["One"], "b.llm.yaml": ["echo"]}
    assert KEY not in Path("cassettes/app/a.llm.yaml").read_text()
    assert project.command(*test, "--record", "none").exit_code == 0
    monkeypatch.delenv("OPENAI_API_KEY")
    assert project.command(*test, "--record", "none").exit_code == 0
    assert len(provider.requests) == 2
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    project.write(
        "app.py", f"import os\nprint(os.environ['OPENAI_API_KEY'] == '{PLACEHOLDER_KEY}')\n"
    )
    past = project.command(*test, "--record", "none")
    assert past.output.count("output: True") == 2
    assert (
        "Cassettes: 0 calls replayed, 0 recorded; 2 runs made no call that could be recorded"
        in past.output
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    refused = " ".join(project.command(*test, "--record", "none").stdout.split())
    assert "OPENAI_BASE_URL sends the model calls of the command to another server" in refused


@pytest.fixture
def endpoint() -> Iterator[QuietServer]:
    """Yield an application that runs elsewhere; it numbers its answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            server.asked.append(asked["prompt"])
            body = json.dumps({"text": f"Answer {len(server.asked)}"}).encode()
            self.send_response(500 if asked["prompt"] == "Three" else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None: ...

    server: Any = QuietServer(("127.0.0.1", 0), Handler)
    server.asked = []
    with served(server):
        yield server


ENDPOINT_CASSETTE = """\
# Recorded by pytest-llm-mock. To record it anew: pytest --llm-mock-record=rewrite \
(llm-mock test --cassette --record rewrite)
version: 2
calls:
- request:
    model: POST http://HOST/chat
    prompt: One
    options:
      body:
        prompt: '{prompt}'
        user: me
  response:
    events:
    - text: '{"text": "Answer 1"}'
count: 1
"""


def test_the_answers_of_an_endpoint_are_recorded_as_it_gives_them(
    project: Project, endpoint: Any
) -> None:
    host = f"127.0.0.1:{endpoint.server_port}"
    url = f"url: 'http://{host}/chat?token=also-secret'"
    body = "body: {prompt: '{prompt}', user: me}"
    head = TARGETS.replace("cases:", f"target: {{{url}, {body}, output: text}}\ncases:")
    project.write("app.yaml", head + CASES + "  - {name: c, prompt: Three}\n")
    test = ["test", "-s", "app.yaml", "--cassette"]
    assert statuses(project.command(*test).stdout) == {"a": "PASS", "b": "PASS", "c": "FAIL"}
    assert recorded(project, "app") == {"a.llm.yaml": ["One"], "b.llm.yaml": ["Two"]}
    text = Path("cassettes/app/a.llm.yaml").read_text()
    assert text == ENDPOINT_CASSETTE.replace("HOST", host)
    project.write("app.yaml", head + CASES.replace("Answer 2", "Answer 7"))
    result = project.command(*test, "--record", "none", "-j", "2")
    assert statuses(result.stdout) == {"a": "PASS", "b": "FAIL"}
    # What is sent is part of the request.
    project.write("app.yaml", head.replace("user: me", "user: you") + CASES)
    result = project.command(*test, "--record", "none")
    assert statuses(result.stdout) == {"a": "FAIL", "b": "FAIL"}
    assert endpoint.asked == ["One", "Two", "Three"]


def test_the_call_of_an_endpoint_has_neither_its_user_nor_its_query() -> None:
    mock = LLMMock()
    mock.set("*", "Hello")
    target = Target(url="https://me:own-secret@h:1/chat?token=also-secret")
    assert replay_or_record(mock, target, "Hi", lambda: "never sent") == "Hello"
    call = mock.calls[0]
    assert call["model_id"] == "POST https://h:1/chat"
    assert (call["turn"], call["prompt"], call["prompt_length"]) == (1, "Hi", 2)
    assert call.messages == [{"role": "user", "text": "Hi"}]
    assert call["kwargs"] == {"model": call["model_id"], "schema": None, "temperature": None}
    assert "secret" not in repr(dict(call))


def test_an_endpoint_that_fails_is_recorded_in_the_history_only(tmp_path: Path) -> None:
    def fail() -> str:
        raise LLMMockError("not reachable")

    mock = LLMMock()
    mock.cassette = Cassette(tmp_path / "a.llm.yaml", "once")
    with pytest.raises(LLMMockError, match="not reachable"):
        replay_or_record(mock, Target(url="https://h:1/chat"), "Hi", fail)
    assert (mock.calls[0]["response"], mock.calls[0]["error"]) == (None, "not reachable")
    mock.cassette.save(passed=False)
    assert not any(tmp_path.iterdir())
