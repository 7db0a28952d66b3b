"""The command `llm-mock serve`."""

from __future__ import annotations

import fnmatch
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import anthropic
import httpx
import openai
import pytest
from click.testing import CliRunner

from llm_mock import create_mock_get_model
from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.recording import WireRecording
from llm_mock.boundaries.http.routing import load_protocol
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.cassettes import Cassette
from llm_mock.cli import main
from llm_mock.commands.serve_script import ServeScript
from llm_mock.core.context import current_mock
from llm_mock.core.mock import Mock
from tests.provider_server import KEY, TEXT, ProviderServer
from tests.provider_server import served as provider_served

QUESTION: list[Any] = [{"role": "user", "content": "Hello"}]
SCRIPT = """
replies:
  - model: gpt-4o
    prompt: weather
    tool_calls:
      - name: weather
        arguments: {city: Bern}
  - {model: gpt-4o, schema: City, data: {name: Bern}}
  - {model: gpt-4o, chunks: [Hel, lo, "!"], finish_reason: length}
  - {model: busy, error: rate-limit, times: 1}
  - {model: busy, text: Now I can., reasoning: Let me see.}
  - {model: full, error: overloaded}
  - {model: broken, text: Hel, error: broken-stream}
  - {model: late, error: timeout}
"""
TOOLS: Any = [
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
]


class Served:
    """A command that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout
        self.process = process
        self.ready = process.stdout.readline()
        self.url = self.ready.split()[1].removesuffix("/openai/v1")

    def ended(self) -> list[str]:
        """Press Ctrl-C; all lines that it printed since."""
        self.process.send_signal(signal.SIGINT)
        output, _ = self.process.communicate(timeout=20)
        return output.splitlines()


Serve = Callable[..., Served]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Run the command in a folder with a script."""
    processes = []

    def run(*arguments: str) -> Served:
        (tmp_path / "script.yaml").write_text(SCRIPT)
        command = [sys.executable, "-m", "llm_mock", "serve", *arguments]
        processes.append(
            subprocess.Popen(
                command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
            )
        )
        return Served(processes[-1])

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def test_on_a_terminal_the_summary_is_on_a_line_of_its_own(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
    (tmp_path / "script.yaml").write_text(SCRIPT)
    terminal, child = pty.openpty()
    command = [sys.executable, "-m", "llm_mock", "serve", "script.yaml"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=child, stderr=child) as process:
        os.close(child)
        shown = b""
        while not shown.endswith(b"(press Ctrl-C to stop)\r\n"):
            shown += os.read(terminal, 4096)
        process.send_signal(signal.SIGINT)
        shown = b""
        with suppress(OSError):  # how Linux says that nobody has the other end any more
            while piece := os.read(terminal, 4096):
                shown += piece
    os.close(terminal)
    assert shown == b"\r\nEnded after 0 calls.\r\n"


def test_a_script_is_served_and_each_call_is_a_line(serve: Serve) -> None:
    served = serve("script.yaml")
    assert served.ready == (
        f"Ready: {served.url}/openai/v1  {served.url}/anthropic  {served.url}/gemini  "
        f"{served.url}/mistral"
        "  (press Ctrl-C to stop)\n"
    )
    assert served.url.startswith("http://127.0.0.1:")
    with (
        openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key="x", max_retries=0) as client,
        anthropic.Anthropic(
            base_url=f"{served.url}/anthropic", api_key="x", max_retries=0
        ) as claude,
    ):
        create = client.chat.completions.create
        plain = create(model="gpt-4o", messages=QUESTION).choices[0]
        assert (plain.message.content, plain.finish_reason) == ("Hello!", "length")
        streamed = [
            chunk.choices[0].delta.content
            for chunk in create(model="gpt-4o", messages=QUESTION, stream=True)
        ]
        assert [text for text in streamed if text] == ["Hel", "lo", "!"]
        weather: Any = [{"role": "user", "content": "The weather?"}]
        for _ in range(2):
            [call] = (
                create(model="gpt-4o", messages=weather, tools=TOOLS).choices[0].message.tool_calls
                or []
            )
            assert call.function.arguments == '{"city": "Bern"}'  # type: ignore[union-attr]
        schema: Any = {
            "type": "json_schema",
            "json_schema": {"name": "City", "schema": {"type": "object"}},
        }
        data = (
            create(model="gpt-4o", messages=QUESTION, response_format=schema)
            .choices[0]
            .message.content
        )
        assert json.loads(data or "") == {"name": "Bern"}
        with pytest.raises(anthropic.RateLimitError, match="rate limit of 50"):
            claude.messages.create(model="busy", messages=QUESTION, max_tokens=9)
        message = claude.messages.create(model="busy", messages=QUESTION, max_tokens=9)
        assert [block.type for block in message.content] == ["thinking", "text"]
        with pytest.raises(anthropic.APIStatusError) as overloaded:
            claude.messages.create(model="full", messages=QUESTION, max_tokens=9)
        assert overloaded.value.status_code == 529
        with pytest.raises(openai.InternalServerError, match="currently overloaded"):
            create(model="full", messages=QUESTION)
        with pytest.raises(openai.APITimeoutError):
            create(model="late", messages=QUESTION, timeout=0.2)
        begun = create(model="broken", messages=QUESTION, stream=True)
        assert [next(begun).choices[0].delta.content for _ in range(2)] == ["", "Hel"]
        with pytest.raises(openai.APIConnectionError):
            next(begun)
        secret: Any = [
            {"role": "user", "content": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789"}
        ]
        create(model="gpt-4o", messages=secret)
    lines = served.ended()
    assert lines[0] == "gpt-4o  'Hello'  → 'Hello!'"
    assert lines[-2:] == ["gpt-4o  '[redacted]'  → 'Hello!'", "Ended after 12 calls."]
    assert served.process.returncode == 0


def test_calls_are_answered_when_nobody_reads_the_output_any_more(serve: Serve) -> None:
    served = serve("script.yaml")
    assert served.process.stdout is not None
    served.process.stdout.close()
    served.process.stdout = None
    with openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key="x", max_retries=0) as client:
        for _ in range(2):
            completion = client.chat.completions.create(model="gpt-4o", messages=QUESTION)
            assert completion.choices[0].message.content == "Hello!"


def test_the_last_calls_are_kept_and_the_last_line_counts_all(serve: Serve) -> None:
    served = serve("script.yaml", "--keep", "2")
    with openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key="x", max_retries=0) as client:
        for _ in range(5):
            client.chat.completions.create(model="gpt-4o", messages=QUESTION)
    assert served.ended()[-1] == "Ended after 5 calls; the last 2 were kept."


@pytest.mark.parametrize(("arguments", "status"), [((), 421), (("--host", "127.0.0.1"), 200)])
def test_a_page_in_a_browser_uses_up_no_reply(
    serve: Serve, arguments: tuple[str, ...], status: int
) -> None:
    served = serve("script.yaml", *arguments)
    body = json.dumps({"model": "gpt-4o", "messages": QUESTION}).encode()
    asked = urllib.request.Request(
        f"{served.url}/v1/chat/completions", body, {"Host": "evil.example"}
    )
    try:
        answer = urllib.request.urlopen(asked)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert answer.status == status
    told = [line for line in served.ended() if "'evil.example' does not name this machine" in line]
    assert len(told) == (status == 421)


def test_a_key_of_unknown_form_that_a_request_carries_is_not_printed(serve: Serve) -> None:
    served = serve("script.yaml")
    with openai.OpenAI(
        base_url=f"{served.url}/openai/v1", api_key="wiggle-77-waggle", max_retries=0
    ) as client:
        question: Any = [{"role": "user", "content": "My key is wiggle-77-waggle."}]
        client.chat.completions.create(model="gpt-4o", messages=question)
    assert served.ended()[0] == "gpt-4o  'My key is [redacted secret].'  → 'Hello!'"


def test_of_globs_in_a_script_the_first_that_fits_answers(tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    names = ("*", "gpt-4*", "gpt-*", "gpt-4o")
    script.write_text(
        "replies:\n" + "".join(f"  - {{model: {name!r}, text: {name!r}}}\n" for name in names)
    )
    get_model = create_mock_get_model()
    ServeScript(str(script)).configure(get_model.configurator)
    asked = ("gpt-4o", "gpt-4.1", "gpt-3.5", "claude")
    assert [get_model(name).prompt("Hi").text() for name in asked] == [
        "gpt-4o",
        "gpt-4*",
        "gpt-*",
        "*",
    ]


def test_strictness_refuses_and_says_why(serve: Serve) -> None:
    served = serve("script.yaml", "--strict", "error")
    client = openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key="x")
    with client, pytest.raises(openai.BadRequestError, match="No reply was configured"):
        client.chat.completions.create(model="other", messages=QUESTION)
    lines = served.ended()
    assert any(line.startswith("Problem: No reply was configured for this call:") for line in lines)
    assert lines[-1] == "Ended after 1 call."


@pytest.mark.parametrize(
    ("path", "body", "advice"),
    [
        ("embeddings", {"input": "Hi"}, "Set one with set_embedding('m', …, [0.1, …])"),
        (
            "images/generations",
            {"prompt": "Hi"},
            "Configure it with mock.on('POST', '/v1/images/generations', …)",
        ),
        ("batches/x", {}, "configure a response with mock.on('POST', '/v1/batches/x', …)"),
    ],
)
def test_advice_says_where_the_methods_of_the_mock_are_called(
    serve: Serve, path: str, body: dict[str, str], advice: str
) -> None:
    served = serve("script.yaml", "--strict", "error")
    answer = httpx.post(f"{served.url}/openai/v1/{path}", json={"model": "m", **body})
    message = answer.json()["error"]["message"]
    place = "in a script that is a Python function: llm-mock serve package.module:function."
    assert message.endswith(f"{advice} {place}")


def test_a_script_of_python_answers_further_paths_and_embeddings(
    serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "answers.py").write_text(
        "def configure(mock):\n"
        "    mock.on('POST', '/v1/batches/x', {'id': 'x'})\n"
        "    mock.set_embedding('m', 'Hi', [1, 0])\n"
    )
    served = serve("answers:configure", "--strict", "error")
    url = f"{served.url}/openai/v1"
    assert httpx.post(f"{url}/batches/x", json={}).json() == {"id": "x"}
    answer = httpx.post(f"{url}/embeddings", json={"model": "m", "input": "Hi"})
    assert answer.json()["data"][0]["embedding"] == [1, 0]


def test_strictness_refuses_a_reply_that_violates_the_schema(serve: Serve) -> None:
    served = serve("script.yaml", "--strict", "error")
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    json_schema: Any = {"name": "City", "schema": schema}
    client = openai.OpenAI(base_url=f"{served.url}/openai/v1", api_key="x")
    with client, pytest.raises(openai.BadRequestError, match="violates the schema City"):
        client.chat.completions.create(
            model="gpt-4o",
            messages=QUESTION,
            response_format={"type": "json_schema", "json_schema": json_schema},
        )
    lines = served.ended()
    assert any(line.startswith("Problem: The reply for 'gpt-4o'") for line in lines)


def test_what_a_provider_refuses_is_refused_unless_the_rule_is_switched_off(
    serve: Serve, tmp_path: Path
) -> None:
    body = {"model": "gpt-4o", "messages": QUESTION, "temprature": 1}

    def send(served: Served) -> int:
        request = urllib.request.Request(
            f"{served.url}/openai/v1/chat/completions",
            json.dumps(body).encode(),
            {"content-type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as error:
            return error.code

    served = serve("script.yaml")
    assert send(served) == 400
    assert any("Rule 'unknown-parameter'" in line for line in served.ended())
    assert send(serve("script.yaml", "--disabled-rule", "unknown-parameter")) == 200
    (tmp_path / "pytest.ini").write_text("[pytest]\nllm_mock_disabled_rules = unknown-parameter\n")
    assert send(serve("script.yaml")) == 200
    assert send(serve("script.yaml", "--disabled-rule", "repeated-tool")) == 400


def test_a_rule_that_does_not_exist_cannot_be_switched_off() -> None:
    result = CliRunner().invoke(main, ["serve", "--disabled-rule", "unknown-parametre"])
    assert result.exit_code != 0
    assert "did you mean 'unknown-parameter'?" in result.output


def test_a_function_may_be_the_script(serve: Serve, tmp_path: Path) -> None:
    (tmp_path / "replies.py").write_text(
        "def script(mock): mock.set('*', lambda request: request.prompt.upper())"
    )
    served = serve("replies:script")
    with openai.OpenAI(base_url=f"{served.url}/v1", api_key="x") as client:
        assert client.responses.create(model="any", input="hello").output_text == "HELLO"


def test_without_a_script_it_answers_all_the_same(serve: Serve) -> None:
    with pytest.raises(urllib.error.HTTPError, match="400") as raised:
        urllib.request.urlopen(f"{serve().url}/v1/messages", data=b"{}")
    raised.value.close()


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (
            "replies:\n  - {model: m, txt: Hello}",
            "script.yaml:2: reply 1: unknown key 'txt'; did you mean 'text'?",
        ),
        *(
            (
                f"replies:\n  - {{model: m, {key}: Hello}}",
                f"script.yaml:2: reply 1: unknown key '{key}'; did you mean 'text'?",
            )
            for key in ("answer", "content", "output", "reply", "response")
        ),
        ("replies:\n  - {text: a}\n  - {model: m}", "script.yaml:3: reply 2: has no content."),
        (
            "replies:\n  - {text: a, data: {}}",
            "script.yaml:2: reply 1: A Reply has either text or data",
        ),
        (
            "replies:\n  - {data: {}, error: timeout}",
            "script.yaml:2: reply 1: has an error. Only text",
        ),
        ("replies:\n  - {error: nothing}", "script.yaml:2: reply 1: error: "),
        (
            "replies:\n  - {text: a, times: 0}",
            "script.yaml:2: reply 1: times: should be at least 1",
        ),
        (
            "replies:\n  - {text: a}\n  - {text: b}",
            "script.yaml:3: reply 2: is never used, because that on line 2",
        ),
        (
            "replies:\n  - {text: a, times: 1}\n  - {text: b, prompt: ''}",
            "script.yaml:3: reply 2: prompt='' matches every text: remove it,",
        ),
        (
            "replies:\n  - {text: a, tool_result: b, has_tool_result: false}",
            "script.yaml:2: reply 1: No call can match both has_tool_result=False and",
        ),
        ("replies:\n  - {text: [a", "script.yaml:3: is not valid YAML"),
        ("replies: 5", "script.yaml:1: replies: should be a list, not the number 5\n"),
        ("- a", "script.yaml:1: is a list; put the list under the key 'replies'\n"),
    ],
)
def test_what_is_wrong_with_a_script_is_told_with_its_line(
    script: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("script.yaml").write_text(script)
    result = CliRunner().invoke(main, ["serve", "script.yaml"])
    assert result.exit_code == 1
    assert result.stderr.startswith(f"Error: {told}")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("script", "told"),
    [
        ("nothing.yaml", "Error: nothing.yaml: cannot be read: No such file or directory\n"),
        ("nothing_there:script", "Error: nothing_there cannot be imported: ModuleNotFoundError: "),
        ("broken_script:script", "Error: broken_script cannot be imported: SyntaxError: "),
        ("own_script.py:script", "Error: 'own_script.py' is a file name; write the module: own_sc"),
        ("./a/no.py:f", "Error: './a/no.py' is a file name; write the module: a.no:f\n"),
        ("own_script:scrip", "Error: own_script has no function 'scrip'; did you mean 'script'?"),
        ("own_script:script", "Error: own_script:script raised ValueError: no (own_script.py:1)\n"),
        ("own_script:none", "Error: own_script:none must take one argument, the mock: def none(m"),
        ("own_script:two", "Error: own_script:two must take one argument, the mock: def two(mock)"),
        ("own_script:inner", "Error: own_script:inner raised TypeError: object of type 'int' has"),
        # The line of the project, not the one in `json`.
        (
            "own_script:parse",
            "Error: own_script:parse raised JSONDecodeError: *(own_script.py:6)\n",
        ),
        # Nor the one in a library that is installed in the folder of the project.
        (
            "own_script:installed",
            "Error: own_script:installed raised ValueError: no (own_script.py:7)\n",
        ),
        ("own_script:wrong", "Error: This is not a reply: "),
    ],
)
def test_what_is_wrong_with_a_function_is_told_on_one_line(
    script: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    functions = "def script(mock): raise ValueError('no')\ndef wrong(mock): mock.set('m', 1)\n"
    functions += "def none(): pass\ndef two(a, b): pass\ndef inner(mock): len(1)\n"
    functions += "def parse(mock): import json; json.loads('no')\n"
    functions += "def installed(mock): import installed_helper; installed_helper.fail()\n"
    Path("site-packages").mkdir()
    Path("site-packages", "installed_helper.py").write_text("def fail(): raise ValueError('no')")
    monkeypatch.syspath_prepend(tmp_path / "site-packages")
    Path("own_script.py").write_text(functions)
    Path("broken_script.py").write_text("def script(:")
    result = CliRunner().invoke(main, ["serve", script])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)
    assert fnmatch.fnmatchcase(result.stderr, f"{told}*")


def test_a_port_in_use_and_an_address_of_others_are_told_on_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(main, ["serve", "--port", port])
    assert (result.exit_code, result.stderr) == (
        1,
        f"Error: Cannot listen on 127.0.0.1, port {port}: Address already in use.\n",
    )
    result = CliRunner().invoke(main, ["serve", "--host", "192.0.2.1"])
    assert (result.exit_code, len(result.stderr.splitlines())) == (1, 1)


def test_a_command_that_ended_leaves_nothing_changed() -> None:
    logger, mock = logging.getLogger("llm_mock"), current_mock()
    before = logger.level, logger.propagate, list(logger.handlers)
    CliRunner().invoke(main, ["serve", "--host", "192.0.2.1"])
    assert (logger.level, logger.propagate, list(logger.handlers)) == before
    assert current_mock() is mock


def test_what_was_recorded_is_answered_and_a_key_is_needed_for_more(
    serve: Serve, tmp_path: Path
) -> None:
    call = {
        "request": {"model": "gpt-4o-mini", "prompt": "Hi"},
        "response": {"events": [{"text": "Recorded."}]},
    }
    (tmp_path / "calls.yaml").write_text(json.dumps({"version": 1, "calls": [call]}))
    served = serve("--record", "calls.yaml")
    with openai.OpenAI(
        base_url=f"{served.url}/openai/v1", api_key=PLACEHOLDER_KEY, max_retries=0
    ) as client:
        create = client.chat.completions.create
        asked: Any = [{"role": "user", "content": "Hi"}]
        assert create(model="gpt-4o-mini", messages=asked).choices[0].message.content == "Recorded."
        with pytest.raises(
            openai.BadRequestError,
            match=r"There is no API key for api\.openai\.com, so nothing was sent",
        ):
            create(model="gpt-4o-mini", messages=asked)
    assert any("could not be recorded" in line for line in served.ended())


@pytest.mark.parametrize("path", ["", "/gateway/"])
def test_servers_of_ones_own_are_asked_once_and_recorded(
    serve: Serve, tmp_path: Path, path: str
) -> None:
    names = ("own", "openai", "o.w_n-1")

    def ask(served: Served, name: str, test: str = "") -> list[Any]:
        url = f"{served.url}{test}/{name}/v1"
        # What one server was asked does not answer for another.
        question: Any = [{"role": "user", "content": f"Hello, {name}"}]
        with openai.OpenAI(base_url=url, api_key=KEY, max_retries=0) as client:
            # First: an SDK stops at the last event, maybe before the server has written it.
            stream = client.chat.completions.create(model="m", messages=question, stream=True)
            answers: list[Any] = list(stream)
            answers.append(client.chat.completions.create(model="gpt-4o", messages=question))
            answers.append(client.embeddings.create(model="o", input=name, encoding_format="float"))
        return [answer.model_dump() for answer in answers]

    recorded = {}
    with ExitStack() as stack:
        arguments = ["--record", "calls.yaml"]
        providers = {}
        for name in names:
            providers[name] = stack.enter_context(provider_served(ProviderServer()))
            arguments += ["--upstream", f"{name}={providers[name].url}{path}"]
        served = serve(*arguments)
        urls = "  ".join(f"{served.url}/{name}" for name in names)
        assert served.ready.rstrip().endswith(f"{urls}  (press Ctrl-C to stop)")
        for name, provider in providers.items():
            recorded[name] = ask(served, name)
            assert recorded[name][-2]["choices"][0]["message"]["content"] == TEXT, name
            assert len(provider.requests) == 3, name
            roots = {asked.rpartition("/v1/")[0] for asked in provider.paths}
            assert roots == {path.rstrip("/")}, name
        assert served.ended()[-1] == "Ended after 9 calls."
    assert KEY not in (tmp_path / "calls.yaml").read_text()
    # The providers are gone.
    served = serve(*arguments)
    assert {name: ask(served, name, "/t/test-7") for name in names} == recorded
    assert served.ended()[-1] == "Ended after 9 calls."


@pytest.mark.parametrize(
    ("upstreams", "problem"),
    [
        (["own"], "--upstream 'own': write NAME=URL, such as vllm=http://localhost:8000."),
        (["http://a.test"], "--upstream 'http://a.test': write NAME=URL, such as vllm="),
        (["own="], "--upstream: '' must be a URL with http or https and a host"),
        (["own=localhost:8000"], "must be a URL with http or https and a host"),
        (["own=ftp://a.test"], "must be a URL with http or https and a host"),
        (["own=http://"], "must be a URL with http or https and a host"),
        (["own=http://a.test:99999"], "must be a URL with http or https and a host"),
        (["own=http://me:secret@a.test"], "must be a URL with http or https and a host"),
        (["own=http://a.test?a=b"], "must be a URL with http or https and a host"),
        (["own=http://a.test#a"], "must be a URL with http or https and a host"),
        (["=http://a.test"], "the name must be unique, with letters, digits, '.', '_' and '-'"),
        (["a/b=http://a.test"], "the name must be unique, with letters"),
        (["t=http://a.test"], "and not be 't' or '_llm_mock'"),
        (["_llm_mock=http://a.test"], "and not be 't' or '_llm_mock'"),
        (["a=http://a.test", "a=http://b.test"], "the name must be unique"),
    ],
)
def test_an_upstream_is_a_name_and_a_url(
    upstreams: list[str], problem: str, tmp_path: Path
) -> None:
    options = [option for upstream in upstreams for option in ("--upstream", upstream)]
    record = str(tmp_path / "calls.yaml")
    result = CliRunner().invoke(main, ["serve", "--record", record, *options])
    assert result.exit_code == 1
    assert problem in " ".join(result.output.split())


def test_an_upstream_needs_a_cassette() -> None:
    result = CliRunner().invoke(main, ["serve", "--upstream", "own=http://a.test"])
    assert result.exit_code == 2
    assert "--upstream needs --record CASSETTE: use both." in " ".join(result.output.split())


def test_strict_and_record_do_not_go_together() -> None:
    result = CliRunner().invoke(main, ["serve", "--strict", "error", "--record", "calls.yaml"])
    assert result.exit_code == 2
    assert (
        "--strict error refuses the calls that --record sends to the provider: "
        "use only one of them." in result.output
    )


def test_each_answer_is_in_the_file_as_soon_as_it_is_whole(tmp_path: Path) -> None:
    mock = Mock(ModelBehaviour())
    mock.cassette = Cassette(tmp_path / "calls.yaml", "new_episodes", at_once=True)
    for prompt, status in (("One", 200), ("Two", 429), ("Three", 200)):
        body = json.dumps(
            {"model": "gpt-4o", "messages": [{"role": "user", "content": prompt}]}
        ).encode()
        sent = WireRequest("POST", "api.openai.com", "/v1/chat/completions", "", {}, body)
        request = load_protocol("openai_chat").parse_request(sent, mock)
        recording = WireRecording(mock.answer(request), request, sent, mock)  # type: ignore[arg-type]
        recording.begin(status, [])
        recording.take(b'{"choices": [{"index": 0, "message": {"content": "Yes."}}]}')
        recording.end()
        if prompt == "One":
            assert "prompt: One" in (tmp_path / "calls.yaml").read_text()
    calls = Cassette(tmp_path / "calls.yaml").calls
    assert [call.request.prompt for call in calls] == ["One", "Three"]
