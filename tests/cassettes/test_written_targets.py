"""Cassettes of suites and agents that are checked in: see the folder `written`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llm
import pytest
from llm.plugins import load_plugins, pm

from llm_mock.agents import Agent, CLIServer, aitest_run_sync
from tests.boundaries.http.test_forwarding import provider as provider
from tests.cassettes.conftest import Run
from tests.cassettes.test_written import FOLDER, NOWHERE, StreamEvent
from tests.expected import compare_bytes, compare_json
from tests.provider_server import KEY, ProviderServer
from tests.suites.conftest import HEAD, Project
from tests.suites.conftest import project as project
from tests.suites.test_recorded_targets import endpoint as endpoint

pytestmark = pytest.mark.skipif(StreamEvent is None, reason="recorded with llm 0.32")
APP = """\
import llm
def answer(question):
    first = llm.get_model("clerk").prompt(question, system="Be kind", temperature=0.5).text()
    return {"reply": llm.get_model("clerk").prompt(first).text()}
"""
COMMAND = """\
import sys, openai
client = openai.OpenAI(max_retries=0)
messages = [{"role": "user", "content": sys.argv[1]}]
print(client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content)
"""


class Clerk(llm.Model):
    """A real model, to `llm`: it repeats what it is asked, or calls a tool first."""

    model_id = "clerk"
    supports_tools = True
    can_stream = True

    class Options(llm.Options):  # type: ignore[name-defined]
        temperature: float | None = None

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        response.set_usage(input=3, output=2)
        if prompt.tool_results:
            yield f"The tool said {prompt.tool_results[0].output.strip()}."
        elif prompt.tools:
            response.add_tool_call(llm.ToolCall("echo_execute", {"args": "'well done'"}, "call_7"))
            yield "I look."
        else:
            yield from ("You said: ", prompt.prompt)


class Plugin:
    @llm.hookimpl
    def register_models(self, register: Callable[[llm.Model], None]) -> None:
        register(Clerk())


@pytest.fixture
def clerk() -> Iterator[None]:
    load_plugins()
    pm.register(Plugin(), name="clerk")
    yield
    pm.unregister(name="clerk")


def write_suite(project: Project, target: dict[str, Any]) -> None:
    head = HEAD.replace("initrunner/v1", "llm-mock/v1")
    text = head.replace("cases:", f"target: {json.dumps(target)}\ncases:")
    project.write("app.yaml", f"{text}  - {{name: a, prompt: How are you?}}\n")


def run_suite(project: Project, mode: str) -> Any:
    """Return the attempt of the one case."""
    arguments = ("--cassette", "--record", mode, "-o", "out.json")
    ended = project.command("test", "-s", "app.yaml", *arguments)
    assert ended.exit_code == 0, ended.output
    [attempt] = json.loads(Path("out.json").read_bytes())["suites"][0]["cases"][0]["attempts"]
    return attempt


CASSETTE = Path("cassettes", "app", "a.llm.yaml")


def check_recording(project: Project, name: str, port: int = 1) -> None:
    attempt = run_suite(project, "all")
    assert attempt["recorded"] > 0
    text = CASSETTE.read_bytes().replace(f":{port}/".encode(), b":1/")
    compare_bytes(FOLDER / f"{name}.yaml", text)
    compare_json(FOLDER / f"{name}.json", attempt["turns"][0]["output"])


def check_replay(project: Project, name: str) -> None:
    CASSETTE.parent.mkdir(parents=True)
    shutil.copy(FOLDER / f"{name}.yaml", CASSETTE)
    attempt = run_suite(project, "none")
    assert attempt["replayed"] > 0
    assert attempt["turns"][0]["output"] == json.loads((FOLDER / f"{name}.json").read_bytes())


@pytest.mark.usefixtures("clerk")
@pytest.mark.parametrize("check", [check_recording, check_replay])
def test_the_calls_of_a_function(project: Project, check: Any) -> None:
    project.write("app.py", APP)
    write_suite(project, {"function": "app.py:answer", "output": "reply"})
    check(project, "target_function")


@pytest.mark.parametrize("check", [check_recording, check_replay])
def test_the_calls_of_a_command(
    project: Project, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch, check: Any
) -> None:
    project.write("app.py", COMMAND)
    write_suite(project, {"command": [sys.executable, "app.py", "{prompt}"]})
    if check is check_recording:
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
    check(project, "target_command")
    assert len(provider.requests) == (check is check_recording)


def test_the_answers_of_an_endpoint_are_recorded(project: Project, endpoint: Any) -> None:
    url = f"http://127.0.0.1:{endpoint.server_port}/chat?token=secret"
    write_suite(project, {"url": url, "output": "text"})
    check_recording(project, "target_url", endpoint.server_port)


def test_the_answers_of_an_endpoint_are_replayed(project: Project) -> None:
    write_suite(project, {"url": f"http://{NOWHERE}/chat?token=another", "output": "text"})
    check_replay(project, "target_url")


def run_agent() -> Any:
    """Return what an agent did."""
    echo = CLIServer("echo", "echo", tool_prefix="echo")
    result = aitest_run_sync(Agent("clerk", [], [echo], system_prompt="Be kind"), "Say it")
    assert result.success, result.error
    calls = [[call.name, call.arguments, call.result] for call in result.all_tool_calls]
    usage = [[turn.usage.input, turn.usage.output] for turn in result.turns]
    return [result.final_response, [turn.text for turn in result.turns], calls, usage]


@pytest.mark.usefixtures("clerk")
def test_the_calls_of_an_agent_are_recorded(run: Run) -> None:
    result = run("all", run_agent)
    assert run.problems == []
    compare_bytes(FOLDER / "agent.yaml", run.path.read_bytes())
    compare_json(FOLDER / "agent.json", result)


def test_the_calls_of_an_agent_are_replayed(run: Run) -> None:
    shutil.copy(FOLDER / "agent.yaml", run.path)
    result = run("none", run_agent)
    assert (run.problems, run.cassette.unused()) == ([], [])
    assert json.loads(json.dumps(result)) == json.loads((FOLDER / "agent.json").read_bytes())
