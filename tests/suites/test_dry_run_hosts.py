"""A dry run asks no other machine, whatever the suite, the role and the environment name."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.errors import InvalidFile
from llm_mock.support.pytest_settings import find_settings

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
    request = urllib.request.Request(URL + "/ask", b'{"q": "Hi"}', HEADERS)
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
HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
CASES = "\ncases: [{name: c, prompt: Hi, assertions: [{type: contains, value: gateway answer}]}]\n"
WAYS = ("by_urllib", "by_httpx", "by_httpx_caught", "by_openai")


class Gateway:
    """A local server that plays a company's gateway, and what it was sent."""

    def __init__(self) -> None:
        self.received: list[str] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                received.append(f"{self.path} {self.headers}")
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
    gateway = Gateway()
    yield gateway
    gateway.close()


def _dry_run(
    folder: Path,
    gateway: Gateway,
    target: str,
    *,
    cases: str = CASES,
    host: str = "gateway.corp.test",
    role: str = "",
) -> subprocess.CompletedProcess[str]:
    (folder / "sitecustomize.py").write_text(HOSTS)
    (folder / "app.py").write_text(APP)
    (folder / "suite.yaml").write_text(HEAD + target + cases)
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
    environment |= {"PYTHONPATH": str(folder), "OPENAI_BASE_URL": url, "OPENAI_API_KEY": KEY}
    environment |= {"GATEWAY": url, "CORP_KEY": KEY}
    command = [sys.executable, "-m", "llm_mock", "test", "-s", "suite.yaml", "--dry-run"]
    if role:
        (folder / "role.yaml").write_text(role)
        command.append("role.yaml")
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    "target",
    [
        *(f'target: {{function: "app.py:{way}"}}' for way in WAYS),
        *(f"target: {{command: [{sys.executable}, app.py, {way}]}}" for way in WAYS),
        (
            "target: {{url: 'http://gateway.corp.test:{port}/v1', headers: {{A: "
            "'${{CORP_KEY}}'}}, mocked: true}}"
        ),
    ],
)
def test_nothing_reaches_another_machine(tmp_path: Path, gateway: Gateway, target: str) -> None:
    ended = _dry_run(
        tmp_path, gateway, target.format(port=gateway.port) if "{port}" in target else target
    )
    assert gateway.received == []
    assert ended.returncode != 0
    assert "1/1 passed" not in ended.stdout
    assert (
        "gateway.corp.test" in ended.stdout + ended.stderr
        or "No reply was configured" in ended.stdout
    )
    assert KEY not in ended.stdout + ended.stderr


def test_an_endpoint_of_this_machine_is_asked_and_not_followed_elsewhere(
    tmp_path: Path, gateway: Gateway
) -> None:
    ended = _dry_run(
        tmp_path, gateway, f"target: {{url: 'http://127.0.0.1:{gateway.port}/ask', mocked: true}}"
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    gateway.received.clear()
    ended = _dry_run(
        tmp_path, gateway, f"target: {{url: 'http://127.0.0.1:{gateway.port}/moved', mocked: true}}"
    )
    assert ended.returncode != 0
    assert [line.split()[0] for line in gateway.received] == ["/moved"]


def test_a_server_of_another_machine_is_not_asked_for_its_tools(
    tmp_path: Path, gateway: Gateway
) -> None:
    (tmp_path / "role.yaml").write_text(
        "{apiVersion: llm-mock/v1, kind: Agent, metadata: {name: n}, spec: {role: r, model: "
        "gpt-4o, tools: ["
        f"{{type: mcp, transport: streamable-http, url: 'http://gateway.corp.test:{gateway.port}/mcp'}}]}}}}"
    )
    (tmp_path / "sitecustomize.py").write_text(HOSTS)
    (tmp_path / "suite.yaml").write_text(HEAD + "cases: [{name: c, prompt: Hi}]")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    for arguments in (["test", "role.yaml", "-s", "suite.yaml"], ["run", "role.yaml", "-p", "Hi"]):
        command = [sys.executable, "-m", "llm_mock", *arguments, "--dry-run"]
        ended = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
        assert ended.returncode != 0
        assert "A dry run calls only servers on this machine" in ended.stdout + ended.stderr
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
    cases = "\ncases: [{name: c, prompt: Hi, replies: [{text: gateway answer}]}]\n"
    ended = _dry_run(tmp_path, gateway, 'target: {function: "app.py:by_openai"}', cases=cases)
    assert gateway.received == []
    assert (ended.returncode == 0) is (mode == "off")


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
ECHO_TARGETS = (
    'target: {function: "local_app.py:echo"}',
    f"target: {{command: [{sys.executable}, local_app.py, echo]}}",
    "",
)
ROLE = "{apiVersion: llm-mock/v1, kind: Agent, metadata: {name: n}, spec: {role: r, model: gpt-4o}}"


@pytest.mark.parametrize(
    "target",
    [
        *(f'target: {{function: "local_app.py:{way}"}}' for way in GUARDED),
        *(f"target: {{command: [{sys.executable}, local_app.py, {way}]}}" for way in GUARDED),
    ],
)
def test_a_gateway_on_this_machine_is_not_asked_for_a_model(
    tmp_path: Path, gateway: Gateway, target: str
) -> None:
    (tmp_path / "local_app.py").write_text(LOCAL_APP)
    ended = _dry_run(tmp_path, gateway, target, host="localhost")
    assert gateway.received == []
    assert ended.returncode == 1
    assert "No reply was configured" in ended.stdout or "refused" in ended.stdout


@pytest.mark.parametrize("way", ["by_openai", "by_httpx"])
@pytest.mark.parametrize("kind", ["function", "command"])
def test_the_replies_of_a_case_answer_what_was_meant_for_a_gateway_on_this_machine(
    tmp_path: Path, gateway: Gateway, way: str, kind: str
) -> None:
    (tmp_path / "local_app.py").write_text(LOCAL_APP)
    targets = {
        "function": f'target: {{function: "local_app.py:{way}"}}',
        "command": f"target: {{command: [{sys.executable}, local_app.py, {way}]}}",
    }
    cases = CASES.replace("prompt: Hi", "prompt: Hi, replies: [{text: gateway answer}]")
    ended = _dry_run(tmp_path, gateway, targets[kind], cases=cases, host="127.0.0.1")
    assert gateway.received == []
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_a_server_of_this_machine_that_the_project_took_out_is_asked(
    tmp_path: Path, gateway: Gateway
) -> None:
    (tmp_path / "local_app.py").write_text(LOCAL_APP)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nllm_mock_hosts = !127.0.0.1:{gateway.port}\n")
    target = 'target: {function: "local_app.py:by_urllib"}'
    ended = _dry_run(tmp_path, gateway, target, host="127.0.0.1")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert gateway.received


@pytest.mark.parametrize("target", ECHO_TARGETS)
@pytest.mark.parametrize("judge", ["judged", "judged_whatever_happens"])
def test_a_function_that_judges_by_a_model_is_skipped_and_asks_none(
    tmp_path: Path, gateway: Gateway, target: str, judge: str
) -> None:
    (tmp_path / "local_app.py").write_text(LOCAL_APP)
    assertion = f'{{type: python, function: "local_app.py:{judge}"}}'
    cases = f"\ncases: [{{name: c, prompt: Hi, assertions: [{assertion}]}}]\n"
    role = "" if target else ROLE
    ended = _dry_run(tmp_path, gateway, target, cases=cases, host="127.0.0.1", role=role)
    assert gateway.received == []
    assert "1 of 1 check skipped in a dry run" in ended.stdout
    assert "1/1 passed" not in ended.stdout


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
        f"{HEAD}cases: [{{name: c, prompt: Hi, assertions: [{assertion}]}}]\n"
    )
    (pytester.path / "role.yaml").write_text(ROLE)
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml = role.yaml\n")
    result = pytester.runpytest("-rs", "suite.yaml")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*Skipped in a dry run: python, its function asks a model or another machine*"]
    )
