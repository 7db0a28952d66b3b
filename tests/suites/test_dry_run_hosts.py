"""A dry run asks no other machine, whatever the suite, the role and the environment name."""

from __future__ import annotations

import _socket
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.errors import InvalidFile
from llm_mock.support.pytest_settings import find_settings
from tests.suites.conftest import Project

KEY = "sk-real-key-of-the-person-4711"
HOSTS = """
import _socket
original = _socket.getaddrinfo
def getaddrinfo(host, *args, **kwargs):
    return original("127.0.0.1" if host == "gateway.corp.test" else host, *args, **kwargs)
_socket.getaddrinfo = getaddrinfo
"""
APP = """
import os, sys, urllib.request
URL = os.environ["GATEWAY"]
HEADERS = {"Authorization": "Bearer " + os.environ["CORP_KEY"], "Content-Type": "application/json"}

def by_urllib(prompt):
    request = urllib.request.Request(URL + "/ask", prompt.encode(), HEADERS)
    return urllib.request.urlopen(request, timeout=5).read().decode()

def by_httpx(prompt):
    import httpx
    return httpx.post(URL + "/ask", json={"q": prompt}, headers=HEADERS, timeout=5).text

def by_httpx_caught(prompt):
    try:
        return by_httpx(prompt)
    except Exception:
        return "gateway answer"

def by_openai(prompt):
    import openai
    client = openai.OpenAI(base_url=URL, api_key=os.environ["CORP_KEY"], max_retries=0)
    messages = [{"role": "user", "content": prompt}]
    return client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content

if __name__ == "__main__":
    print(globals()[sys.argv[1]](sys.stdin.read()))
"""  # noqa: E501
HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {{name: {name}}}\n"
CASES = "cases: [{name: c, prompt: Hi, assertions: [{type: contains, value: gateway answer}]}]\n"
WAYS = ("by_urllib", "by_httpx", "by_httpx_caught", "by_openai")


class Gateway:
    """A local server that plays a company's gateway, and what it was sent."""

    def __init__(self) -> None:
        self.received: list[str] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received.append(f"{self.path} {self.headers} {body!r}")
                if self.path == "/moved":
                    self.send_response(302)
                    self.send_header(
                        "Location", f"http://gateway.corp.test:{self.server.server_address[1]}/v1"
                    )
                    self.end_headers()
                    return
                self.do_GET()

            def do_GET(self) -> None:
                received.append(f"{self.path} {self.headers}")
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"gateway answer")

            def log_message(self, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Return a gateway of one test."""
    with closing(Gateway()) as gateway:
        yield gateway


@dataclass
class DryRun:
    """A dry run that ended, of one or more suites.

    Attributes:
        exit_code: its exit code.
        output: what it printed.
        parts: the part of its standard output that is about a suite, by the suite's name.
        statuses: the status of the only case of a suite, by the suite's name.
    """

    exit_code: int
    output: str
    parts: dict[str, str]
    statuses: dict[str, str]


def dry_run(
    folder: Path,
    gateway: Gateway,
    suites: Mapping[str, str],
    *,
    host: str = "gateway.corp.test",
) -> DryRun:
    """Run suites, each with a single case, in one process; their texts lack the head."""
    (folder / "sitecustomize.py").write_text(HOSTS)
    (folder / "app.py").write_text(APP)
    (folder / "local_app.py").write_text(LOCAL_APP)
    command = [sys.executable, "-m", "llm_mock", "test", "--dry-run", "-o", "out.json"]
    for name, text in suites.items():
        (folder / f"{name}.yaml").write_text(HEAD.format(name=name) + text)
        command += ["-s", f"{name}.yaml"]
    url = f"http://{host}:{gateway.port}/v1"
    # With the variables of pytest the server of this process would be one of the run's own.
    left_out = (
        "LLM_MOCK",
        "PFLOW_TESTING",
        "LLM_MOCK_FOLDER",
        "PYTEST_CURRENT_TEST",
        "PYTEST_XDIST_WORKER",
    )
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder), os.environ["PYTHONPATH"]])
    environment |= {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY, "GATEWAY": url, "CORP_KEY": KEY}
    ended = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )
    output = ended.stdout + ended.stderr
    found = re.split(r"^Running (\S+) \(", ended.stdout, flags=re.MULTILINE)[1:]
    parts = dict(zip(found[::2], found[1::2], strict=True))
    assert list(parts) == list(suites), output
    statuses = {}
    for suite in json.loads((folder / "out.json").read_text())["suites"]:
        [case] = suite["cases"]
        statuses[suite["suite"]] = case["status"]
    return DryRun(ended.returncode, output, parts, statuses)


def list_targets(file: str, ways: tuple[str, ...]) -> dict[str, str]:
    """Return targets that call functions of a file, in the run's process and in one of their own.

    The keys are names for suites.
    """
    functions = {f"function-{way}": f'target: {{function: "{file}:{way}"}}\n' for way in ways}
    commands = {
        f"command-{way}": f"target: {{command: [{sys.executable}, {file}, {way}]}}\n"
        for way in ways
    }
    return functions | commands


REMOTE_TARGETS = list_targets("app.py", WAYS)


@pytest.fixture(scope="module")
def remote_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[DryRun, list[str]]:
    """Return a run of applications that ask another machine, and what the gateway received."""
    with closing(Gateway()) as gateway:
        url = f"http://gateway.corp.test:{gateway.port}/v1"
        # The last one: an unavailable target ends the run.
        endpoint = f"target: {{url: '{url}', headers: {{A: '${{CORP_KEY}}'}}, mocked: true}}\n"
        targets = REMOTE_TARGETS | {"url": endpoint}
        suites = {name: target + CASES for name, target in targets.items()}
        run = dry_run(tmp_path_factory.mktemp("remote"), gateway, suites)
        return run, gateway.received


@pytest.mark.parametrize("name", [*REMOTE_TARGETS, "url"])
def test_nothing_reaches_another_machine(remote_run: tuple[DryRun, list[str]], name: str) -> None:
    run, received = remote_run
    assert received == []
    assert run.exit_code == 1
    assert run.statuses[name] == "failed"
    assert "1/1 passed" not in run.parts[name]
    assert "gateway.corp.test" in run.parts[name] or "No reply was configured" in run.parts[name]
    assert KEY not in run.output


def test_an_endpoint_of_this_machine_is_asked_and_not_followed_elsewhere(
    tmp_path: Path, gateway: Gateway
) -> None:
    suites = {
        name: f"target: {{url: 'http://127.0.0.1:{gateway.port}/{name}', mocked: true}}\n{CASES}"
        for name in ("ask", "moved")
    }
    run = dry_run(tmp_path, gateway, suites)
    assert run.statuses == {"ask": "passed", "moved": "failed"}
    assert run.exit_code == 1
    # The gateway notes a POST twice if it answers it itself.
    assert [line.split()[0] for line in gateway.received] == ["/ask", "/ask", "/moved"]


@pytest.mark.parametrize(
    "arguments", [("test", "role.yaml", "-s", "suite.yaml"), ("run", "role.yaml", "-p", "Hi")]
)
def test_a_server_of_another_machine_is_not_asked_for_its_tools(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    gateway: Gateway,
    arguments: tuple[str, ...],
) -> None:
    resolve = _socket.getaddrinfo

    def resolve_gateway(host: Any, *more: Any, **options: Any) -> Any:
        return resolve("127.0.0.1" if host == "gateway.corp.test" else host, *more, **options)

    monkeypatch.setattr(_socket, "getaddrinfo", resolve_gateway)
    url = f"http://gateway.corp.test:{gateway.port}/mcp"
    tools = f"tools: [{{type: mcp, transport: streamable-http, url: '{url}'}}]"
    project.write("role.yaml", ROLE.replace("role: r", f"role: r, {tools}"))
    project.write("suite.yaml", HEAD.format(name="app") + "cases: [{name: c, prompt: Hi}]")
    ended = project.command(*arguments, "--dry-run")
    assert ended.exit_code != 0
    assert "A dry run calls only servers on this machine" in ended.output
    assert gateway.received == []


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.toml", '[pytest]\nllm_mock_hosts = ["a.test", "b.test:1"]'),
        ("pytest.ini", "[pytest]\nllm_mock_hosts = a.test\n    b.test:1\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\nllm_mock_hosts = "a.test b.test:1"'),
        ("pyproject.toml", '[tool.pytest]\nllm_mock_hosts = ["a.test", "b.test:1"]'),
        ("tox.ini", "[tox]\nx = %(no)s\n[pytest]\nllm_mock_hosts = a.test b.test:1\n"),
        ("setup.cfg", "[tool:pytest]\nllm_mock_hosts = a.test b.test:1\n"),
    ],
)
def test_the_settings_of_pytest_are_found_from_a_folder_below(
    tmp_path: Path, file: str, text: str
) -> None:
    (tmp_path / file).write_text(text)
    below = tmp_path / "below"
    below.mkdir()
    assert find_settings(below).get_words("llm_mock_hosts") == ("a.test", "b.test:1")


def test_a_broken_configuration_file_is_an_error_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.pytest\n")
    with pytest.raises(InvalidFile, match=r"pyproject\.toml: cannot be read"):
        find_settings(tmp_path)


@pytest.mark.parametrize("mode", ["error", "off"])
def test_a_dry_run_reads_llm_mock_http_and_lets_nothing_out(
    tmp_path: Path, gateway: Gateway, mode: str
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nllm_mock_http = {mode}\n")
    target = 'target: {function: "local_app.py:by_httpx"}\n'
    cases = "cases: [{name: c, prompt: Hi, replies: [{text: gateway answer}]}]\n"
    run = dry_run(tmp_path, gateway, {"app": target + cases})
    assert gateway.received == []
    assert (run.exit_code == 0) is (mode == "off")


LOCAL_APP = """
import json, os, sys, urllib.request
URL = os.environ["GATEWAY"]
KEY = os.environ["CORP_KEY"]
BODY = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}]}
HEADERS = {"Authorization": "Bearer " + KEY, "Content-Type": "application/json"}

def by_openai(prompt):
    import openai
    client = openai.OpenAI(base_url=URL, api_key=KEY, max_retries=0)
    return client.chat.completions.create(**BODY).choices[0].message.content

def by_httpx(prompt):
    import httpx
    answer = httpx.post(URL + "/chat/completions", json=BODY, headers=HEADERS)
    return answer.json()["choices"][0]["message"]["content"]

def by_urllib(prompt):
    url = URL + "/chat/completions"
    request = urllib.request.Request(url, json.dumps(BODY).encode(), HEADERS)
    return urllib.request.urlopen(request, timeout=5).read().decode()

def echo(prompt):
    return prompt

def judged(output):
    return "gateway" in by_openai(output)

def judged_whatever_happens(output):
    try:
        by_urllib(output)
    except Exception:
        pass
    return True

if __name__ == "__main__":
    print(globals()[sys.argv[1]](sys.stdin.read()))
"""
GUARDED = ("by_openai", "by_httpx", "by_urllib")
# Those without a function come first: no mock of a function's case can protect them.
ECHO_TARGETS = {
    "role": "",
    "command": f"target: {{command: [{sys.executable}, local_app.py, echo]}}\n",
    "function": 'target: {function: "local_app.py:echo"}\n',
}
JUDGES = ("judged", "judged_whatever_happens")
ROLE = "{apiVersion: llm-mock/v1, kind: Agent, metadata: {name: n}, spec: {role: r, model: gpt-4o}}"


GUARDED_TARGETS = list_targets("local_app.py", GUARDED)


@pytest.fixture(scope="module")
def guarded_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[DryRun, list[str]]:
    """Return a run of applications that ask a gateway on this machine for a model."""
    suites = {name: target + CASES for name, target in GUARDED_TARGETS.items()}
    with closing(Gateway()) as gateway:
        run = dry_run(tmp_path_factory.mktemp("guarded"), gateway, suites, host="localhost")
        return run, gateway.received


@pytest.mark.parametrize("name", GUARDED_TARGETS)
def test_a_gateway_on_this_machine_is_not_asked_for_a_model(
    guarded_run: tuple[DryRun, list[str]], name: str
) -> None:
    run, received = guarded_run
    assert received == []
    assert run.exit_code == 1
    assert run.statuses[name] == "failed"
    assert "No reply was configured" in run.parts[name] or "refused" in run.parts[name]


ANSWERED_TARGETS = list_targets("local_app.py", ("by_openai", "by_httpx"))


@pytest.fixture(scope="module")
def answered_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[DryRun, list[str]]:
    """Return a run of applications whose models have replies."""
    cases = CASES.replace("prompt: Hi", "prompt: Hi, replies: [{text: gateway answer}]")
    suites = {name: target + cases for name, target in ANSWERED_TARGETS.items()}
    with closing(Gateway()) as gateway:
        run = dry_run(tmp_path_factory.mktemp("answered"), gateway, suites, host="127.0.0.1")
        return run, gateway.received


@pytest.mark.parametrize("name", ANSWERED_TARGETS)
def test_the_replies_of_a_case_answer_what_was_meant_for_a_gateway_on_this_machine(
    answered_run: tuple[DryRun, list[str]], name: str
) -> None:
    run, received = answered_run
    assert received == []
    assert run.statuses[name] == "passed", run.parts[name]
    assert run.exit_code == 0, run.output


def test_a_server_of_this_machine_that_the_project_took_out_is_asked(
    tmp_path: Path, gateway: Gateway
) -> None:
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nllm_mock_hosts = !127.0.0.1:{gateway.port}\n")
    suite = 'target: {function: "local_app.py:by_urllib"}\n' + CASES
    run = dry_run(tmp_path, gateway, {"app": suite}, host="127.0.0.1")
    assert run.exit_code == 0, run.output
    assert gateway.received


@pytest.fixture(scope="module")
def judged_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[DryRun, list[str]]:
    """Return a run of suites whose functions ask a model about an output."""
    folder = tmp_path_factory.mktemp("judged")
    suites = {}
    roles = ""
    for kind, target in ECHO_TARGETS.items():
        for judge in JUDGES:
            assertion = f'{{type: python, function: "local_app.py:{judge}"}}'
            case = f"{{name: c, prompt: Hi, assertions: [{assertion}]}}"
            suites[f"{kind}-{judge}"] = f"{target}cases: [{case}]\n"
    for judge in JUDGES:
        roles += f"    role-{judge}.yaml = role.yaml\n"
    (folder / "role.yaml").write_text(ROLE)
    (folder / "pytest.ini").write_text(f"[pytest]\nllm_mock_suites =\n{roles}")
    with closing(Gateway()) as gateway:
        return dry_run(folder, gateway, suites, host="127.0.0.1"), gateway.received


@pytest.mark.parametrize("kind", ECHO_TARGETS)
@pytest.mark.parametrize("judge", JUDGES)
def test_a_function_that_judges_by_a_model_is_skipped_and_asks_none(
    judged_run: tuple[DryRun, list[str]], kind: str, judge: str
) -> None:
    run, received = judged_run
    part = run.parts[f"{kind}-{judge}"]
    assert received == []
    assert "1 of 1 check skipped in a dry run" in part
    assert "1/1 passed" not in part


def test_the_functions_of_a_suite_ask_no_model_in_pytest_either(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        checks="""
        import llm
        def judged(output):
            return bool(llm.get_model("gpt-4o").prompt(output).text())
        """
    )
    assertion = '{type: python, function: "checks.py:judged"}'
    (pytester.path / "suite.yaml").write_text(
        f"{HEAD.format(name='app')}cases: [{{name: c, prompt: Hi, assertions: [{assertion}]}}]\n"
    )
    (pytester.path / "role.yaml").write_text(ROLE)
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml = role.yaml\n")
    result = pytester.runpytest("-rs", "suite.yaml")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*Skipped in a dry run: python, its function asks a model or another machine*"]
    )
