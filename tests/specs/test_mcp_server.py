"""The server of plain-language tests as a process: started, called, reached by HTTP, ended."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

pytest.importorskip("mcp")

from llm_mock.agents import MCPServer
from llm_mock.agents.pool import ServerPool, get_server_pool
from llm_mock.errors import InvalidFile, ServerError
from llm_mock.specs.allowed_hosts import LOOPBACK, AllowedHosts
from llm_mock.specs.mcp_server import main
from llm_mock.specs.tools_server import RunningTools, run_tools_server
from tests.agents.processes import processes_with, wait_until_gone

PLUGIN = """
import asyncio, os, sys, time
from pathlib import Path
from llm_mock.specs import LLMPlugin
from shop import PRICE

print("imported")
os.system("echo imported by a child")

class CounterPlugin(LLMPlugin):
    def __init__(self):
        self.count = 0

    async def add(self, number: int = 1) -> dict:
        '''Count.'''
        print("counting")
        os.system("echo counting in a child")
        self.count += number
        return {"count": self.count, "pid": os.getpid(), "price": PRICE, "folder": os.getcwd()}

    async def read_input(self) -> str:
        return sys.stdin.read()

    async def environment(self) -> dict:
        return dict(os.environ)

    async def block(self):
        time.sleep(1000)

    async def wait(self):
        await asyncio.sleep(1000)

    async def die(self):
        os._exit(3)

    async def cleanup(self):
        print("cleaning")
        await asyncio.sleep(0)
        with Path("cleaned").open("a") as file:
            file.write(f"{self.count}\\n")
"""
SECRET = "secret-of-the-test"
SLOW_TO_CLEAN = PLUGIN.replace("await asyncio.sleep(0)", "await asyncio.sleep(1.3)")
FAILING = """
from llm_mock.specs import LLMPlugin

class FailingPlugin(LLMPlugin):
    async def cleanup(self):
        raise OSError("no chart to close")
"""

BLOCKING = """
import time
from llm_mock.specs import LLMPlugin

class BlockingPlugin(LLMPlugin):
    async def cleanup(self):
        time.sleep(1000)
"""


def make_project(root: Path, **plugins: str) -> Path:
    """Return a project with plugins; returns the path of its test."""
    folder = root / "tests" / "llm" / "plugins"
    folder.mkdir(parents=True)
    (root / "pyproject.toml").touch()
    (root / "shop.py").write_text("PRICE = 3\n")
    for name, source in plugins.items():
        (folder / f"{name}.py").write_text(source)
    return root / "tests" / "llm" / "login.yaml"


def cleaned(yaml_path: Path) -> str:
    """Return what the plugin's cleanup wrote."""
    return (yaml_path.parents[2] / "cleaned").read_text()


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Path]:
    """Yield a project of the test's own, whose servers must have gone at the end."""
    yield make_project(tmp_path, counter=PLUGIN)
    wait_until_gone(str(tmp_path))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningTools]:
    """Tools that are reached over both ways."""
    yaml_path = make_project(tmp_path_factory.mktemp("shared"), counter=PLUGIN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", SECRET)
        patch.setenv("PYTHONSAFEPATH", "1")
        with run_tools_server(yaml_path, allowed_hosts=LOOPBACK, http=True) as tools:
            yield tools


@pytest.fixture
def by_http(running: RunningTools) -> Iterator[ServerPool]:
    pool = ServerPool()
    yield pool
    pool.close()


def test_the_built_in_tools_come_before_those_of_plugins(running: RunningTools) -> None:
    names = list(running.tools)
    built_in = [
        "http_get",
        "sleep",
        "store_value",
        "assert_equals",
        "assert_contains",
        "compare_values",
    ]
    assert [name for name in names if name in built_in] == built_in
    assert names.index("counter_add") == 10
    assert running.tools["http_get"].input_schema["required"] == ["url"]
    assert running.tools["http_get"].description.startswith("Make an HTTP GET request.")
    assert running.tools["counter_add"].description == "Count."


def test_results_are_structured_and_text(running: RunningTools) -> None:
    answer = running.tools["compare_values"].call(
        {"value1": 100.5, "value2": 100.0, "tolerance": 0.01}
    )
    expected = {
        "equal": True,
        "value1": 100.5,
        "value2": 100,
        "difference_percent": 0.5,
        "tolerance_percent": 1.0,
    }
    assert (answer.structured, json.loads(answer.text), answer.is_error) == (
        expected,
        expected,
        False,
    )


def test_values_are_compared_as_they_were_sent(running: RunningTools) -> None:
    answer = running.tools["assert_equals"].call({"actual": "[1]", "expected": [1]})
    assert answer.structured["passed"] is False


@pytest.mark.parametrize(
    ("tool", "arguments", "expected"),
    [
        (
            "http_get",
            {"url": "http://user:hunter2@example.com/"},
            "No request was sent to the host 'example.com' (port 80)",
        ),
        (
            "http_get",
            {"url": "http://127.0.0.1:1/"},
            "GET http://127.0.0.1:1/ failed: ConnectError",
        ),
        ("http_get", {"url": "nonsense"}, "Invalid url"),
        (
            "http_get",
            {"url": "http://127.0.0.1:1/", "header": {}},
            "The tool 'http_get' was not called",
        ),
        (
            "http_post",
            {"url": "http://127.0.0.1:1/", "data": "text"},
            "The tool 'http_post' was not called",
        ),
        (
            "compare_values",
            {"value1": 1, "value2": 1, "tolerance": -1},
            "The tool 'compare_values' was not called",
        ),
        ("assert_true", {"condition": "yes"}, "The tool 'assert_true' was not called"),
    ],
)
def test_a_failure_is_an_answer(
    tool: str, arguments: dict[str, object], expected: str, running: RunningTools
) -> None:
    answer = running.tools[tool].call(arguments)
    assert answer.is_error
    assert answer.text.startswith(expected)
    assert "hunter2" not in answer.text


def test_plugins_print_without_disturbing_the_protocol(running: RunningTools) -> None:
    before = running.tools["counter_add"].call({"number": 5}).structured["count"]
    assert running.tools["counter_add"].call({}).structured["count"] == before + 1
    assert running.tools["counter_read_input"].call({}).text == ""


def test_the_server_runs_in_the_root_of_the_project(running: RunningTools) -> None:
    about = running.tools["counter_add"].call({}).structured
    [server] = running.servers
    assert isinstance(server, MCPServer)
    assert (about["folder"], about["price"]) == (str(server.cwd), 3)


def test_both_ways_lead_to_one_process_and_its_state(
    running: RunningTools, by_http: ServerPool
) -> None:
    assert running.url is not None
    far = {
        tool.name: tool
        for tool in by_http.tools([MCPServer(url=running.url, headers=running.headers)])
    }
    assert list(far) == list(running.tools)
    first, second = (
        running.tools["counter_add"].call({}).structured,
        far["counter_add"].call({}).structured,
    )
    assert second == {**first, "count": first["count"] + 1}


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}])
def test_without_the_token_nobody_is_served(
    headers: dict[str, str], running: RunningTools, by_http: ServerPool
) -> None:
    with pytest.raises(ServerError, match="cannot be used"):
        by_http.tools([MCPServer(url=running.url, headers=headers)])


def test_a_request_without_the_token_is_answered_with_401(running: RunningTools) -> None:
    assert running.url is not None
    url = urlsplit(running.url)
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    connection.request("POST", url.path, "{}")
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert (response.status, body) == (401, b"A token is needed.\n")


def test_the_token_is_not_shown(running: RunningTools) -> None:
    token = running.headers["Authorization"].partition(" ")[2]
    assert len(token) > 30
    assert token not in repr(running)
    assert token not in str(processes_with("llm_mock.specs.mcp_server"))


def test_each_test_has_a_process_of_its_own_which_an_agent_shares(project: Path) -> None:
    with (
        run_tools_server(project, allowed_hosts=LOOPBACK) as first,
        run_tools_server(project, allowed_hosts=LOOPBACK) as second,
    ):
        assert first.url is None
        assert [
            running.tools["counter_add"].call({}).structured["count"] for running in (first, second)
        ] == [1, 1]
        agents = {tool.name: tool for tool in get_server_pool().tools([first.servers[0]])}
        assert agents["counter_add"].call({}).structured["count"] == 2
    assert sorted(cleaned(project).split()) == ["1", "2"]
    assert "had ended before this call" in first.tools["counter_add"].call({}).text


def test_the_environment_has_no_secrets(running: RunningTools) -> None:
    environment = running.tools["counter_environment"].call({})
    assert "PATH" in environment.structured
    assert SECRET not in environment.text


def test_plugins_clean_up_whatever_happens_and_while_a_tool_is_running(project: Path) -> None:
    def interrupted() -> None:
        with run_tools_server(project, allowed_hosts=LOOPBACK) as running:
            assert (
                "did not answer within" in running.tools["counter_wait"].call({}, timeout=0.1).text
            )
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert cleaned(project) == "0\n"


def test_plugins_clean_up_although_a_tool_blocks_the_server(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path, counter=SLOW_TO_CLEAN)
    with run_tools_server(yaml_path, allowed_hosts=LOOPBACK) as running:
        running.tools["counter_add"].call({})
        assert "did not answer within" in running.tools["counter_block"].call({}, timeout=0.1).text
    assert cleaned(yaml_path) == "1\n"


def test_a_server_that_died_is_told_by_the_next_call(project: Path) -> None:
    with run_tools_server(project, allowed_hosts=LOOPBACK) as running:
        assert "with exit code 3" in running.tools["counter_die"].call({}).text
        assert "had ended before this call" in running.tools["counter_add"].call({}).text


def test_a_cleanup_that_fails_is_told(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path, counter=PLUGIN, failing=FAILING)
    with run_tools_server(yaml_path, allowed_hosts=LOOPBACK) as running:
        assert running.cleanup_errors == []
    assert running.cleanup_errors == [
        "The cleanup of the plugin 'failing' failed: OSError: no chart to close"
    ]
    assert cleaned(yaml_path) == "0\n"


def test_a_cleanup_that_blocks_is_told_and_does_not_keep_others_from_theirs(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path, blocking=BLOCKING, counter=PLUGIN)
    with run_tools_server(yaml_path, allowed_hosts=LOOPBACK) as running:
        assert running.tools
    problem = "The cleanup of the plugin 'blocking' failed: TimeoutError: it blocks the event loop"
    assert running.cleanup_errors == [problem]
    assert cleaned(yaml_path) == "0\n"


def test_where_no_host_is_allowed_none_is_asked(tmp_path: Path) -> None:
    with run_tools_server(make_project(tmp_path), allowed_hosts=AllowedHosts([])) as running:
        assert "Allowed: none." in running.tools["http_get"].call({"url": "http://127.0.0.1/"}).text


def test_a_long_cleanup_comes_to_its_end(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path, counter=SLOW_TO_CLEAN)
    with run_tools_server(yaml_path, allowed_hosts=LOOPBACK):
        pass
    assert cleaned(yaml_path) == "0\n"


def test_a_plugin_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path, counter=PLUGIN, shop="import shop\n\n1 / 0\n")
    with pytest.raises(ServerError) as caught, run_tools_server(yaml_path, allowed_hosts=LOOPBACK):
        pass
    assert "The MCP server 'tools of login.yaml' ended during its start, with exit code 1." in str(
        caught.value
    )
    assert (
        "plugins/shop.py:3: the plugin cannot be imported: ZeroDivisionError: division by zero"
        in str(caught.value)
    )
    assert cleaned(yaml_path) == "0\n"
    wait_until_gone(str(tmp_path))


def test_a_plugin_outside_the_project_is_not_run(tmp_path: Path) -> None:
    yaml_path = make_project(tmp_path / "project")
    (tmp_path / "evil.py").write_text("open('run', 'w')")
    (yaml_path.parent / "plugins" / "evil.py").symlink_to(tmp_path / "evil.py")
    with pytest.raises(InvalidFile), run_tools_server(yaml_path, allowed_hosts=AllowedHosts([])):
        pass
    assert not (tmp_path / "project" / "run").exists()


INITIALIZE = {
    **{"jsonrpc": "2.0", "id": 1, "method": "initialize"},
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    },
}


@contextmanager
def start_by_hand(yaml_path: Path, address: Path) -> Iterator[subprocess.Popen[str]]:
    """Start the server without its client, and yield the process when it has answered."""
    command = [sys.executable, "-m", "llm_mock.specs.mcp_server", "--http", str(address)]
    with subprocess.Popen(
        [*command, "--plugins", str(yaml_path.parent / "plugins")],
        cwd=yaml_path.parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(INITIALIZE) + "\n")
        process.stdin.flush()
        assert json.loads(process.stdout.readline())["result"]["serverInfo"]["name"] == "llm-mock"
        yield process


@contextmanager
def begin_request(url: str, token: str) -> Iterator[None]:
    """Send the headers of a request, and yield when the server waits for its body."""
    parts = urlsplit(url)
    headers = {
        "Authorization": f"Bearer {token}",
        "Accept": "application/json, text/event-stream",
        "Content-Type": "application/json",
        "Content-Length": "9",
        "Expect": "100-continue",
    }
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((parts.hostname, parts.port), timeout=20) as connection:
        connection.sendall("\r\n".join([*lines, "", ""]).encode())
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        yield


@pytest.mark.parametrize("end", ["standard input ends", "SIGTERM"])
def test_by_hand_the_server_ends_cleanly_with_a_flush_of_stdout(end: str, project: Path) -> None:
    (project.parent / "plugins" / "failing.py").write_text(FAILING)
    address = project.parent / "address.json"
    with start_by_hand(project, address) as process:
        assert list(json.loads(address.read_text())) == ["url", "token"]
        assert address.stat().st_mode & 0o777 == 0o600
        if end.startswith("SIG"):
            # A request that never ends does not keep it.
            with begin_request(**json.loads(address.read_text())):
                os.kill(process.pid, signal.Signals[end])
                assert process.wait(20) == 0
        stdout, stderr = process.communicate(timeout=20)
    assert (stdout, process.returncode) == ("", 0)
    assert "imported\n" in stderr
    assert "cleaning\n" in stderr
    assert "The cleanup of the plugin 'failing' failed: OSError: no chart to close" in stderr
    assert cleaned(project) == "0\n"


SIGNALLING = """
import hmac, os, signal
from llm_mock.specs import LLMPlugin

class SignallingPlugin(LLMPlugin):
    pass

def compare(given, expected):
    os.kill(os.getpid(), signal.NAME)
    return True

# It is called while uvicorn runs the application, of which it catches all exceptions.
hmac.compare_digest = compare
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_signal_within_a_request_ends_the_server(name: str, tmp_path: Path) -> None:
    source = SIGNALLING.replace("NAME", name)
    yaml_path = make_project(tmp_path, counter=PLUGIN, signalling=source)
    address = tmp_path / "address.json"
    with start_by_hand(yaml_path, address) as process:
        url = urlsplit(json.loads(address.read_text())["url"])
        with socket.create_connection((url.hostname, url.port)) as connection:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert process.wait(20) == 0
    assert cleaned(yaml_path) == "0\n"


def test_the_help_names_the_values_of_its_options(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["mcp_server", "--help"])
    with pytest.raises(SystemExit):
        main()
    text = capsys.readouterr().out
    assert text.startswith("usage: python -m llm_mock.specs.mcp_server ")
    for option in (r"--plugins \[PATH ...\]", "--allow-host HOST", "--http FILE"):
        assert re.search(rf"^  {option}(\s|$)", text, re.MULTILINE)
