"""Calls of SDKs to servers on this machine that the test run did not start are reported."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http import local_servers
from llm_mock.boundaries.http.interception import find_provider
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings

SERVER = """
import http.server, json, os, sys, threading

if sys.argv[1:] == ["foreign"] and os.fork():
    os._exit(0)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "from the server"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass

def end_with_starter():
    sys.stdin.read()
    os._exit(0)

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=end_with_starter).start()
print(server.server_port, flush=True)
server.serve_forever()
"""  # noqa: E501
"""A server that ends when its standard input does; a foreign one is nobody's child."""
ASK = """
import openai

def ask(url, path="openai"):
    client = openai.OpenAI(base_url=url, api_key="any", max_retries=0)
    messages = [{"role": "user", "content": "Hello"}]
    return client.chat.completions.create(model="m", messages=messages).choices[0].message.content
"""
ASK_AS_SDK = """
import httpx

def ask(url):
    messages = [{"role": "user", "content": "Hello"}]
    headers = {"user-agent": "OpenAI/Python 3.54.0"}
    answer = httpx.post(url + "/chat/completions", headers=headers, json={"model": "m", "messages": messages})
    return answer.json()["choices"][0]["message"]["content"]
"""  # noqa: E501
"""The same request by the SDK's library, in processes for which importing the SDK takes long."""


@contextmanager
def serve(*arguments: str) -> Iterator[str]:
    """Run a server in another process and yield its URL."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVER, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        assert process.stdin is not None
        process.stdin.close()


@pytest.fixture(scope="module")
def foreign_server() -> Iterator[str]:
    """Yield a server that neither this run nor a run within a test started."""
    with serve("foreign") as url:
        yield url


@pytest.fixture(scope="module")
def own_server() -> Iterator[str]:
    """Yield a server that this run started."""
    with serve() as url:
        yield url


@pytest.fixture(autouse=True)
def asking(request: pytest.FixtureRequest) -> None:
    """Write the modules by which the runs within a test ask a server."""
    if "pytester" in request.fixturenames:
        pytester: pytest.Pytester = request.getfixturevalue("pytester")
        pytester.makepyfile(server=SERVER, asking=ASK, asking_as_sdk=ASK_AS_SDK)


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest in a process that is nobody's child, as far as it can tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        patch.delenv("PYTEST_XDIST_WORKER", raising=False)
        return pytester.runpytest_subprocess("-p", "no:randomly", *options)


def not_mocked(url: str) -> str:
    return f"not mocked: POST {url}/chat/completions"


OWN_SERVERS = """
import os, signal, subprocess, sys
import pytest
from asking import ask

@pytest.fixture(scope="session", params=["child", "grandchild"])
def url(request):
    command = [sys.executable, "server.py"]
    if request.param == "grandchild":
        command = ["sh", "-c", f"exec 3<&0; {sys.executable} server.py <&3; true"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        os.killpg(process.pid, signal.SIGKILL)

def test_a_process(url):
    assert ask(url) == "from the server"

def test_a_process_that_asks(url):
    code = f"from asking_as_sdk import ask; print(ask({url!r}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.stdout.strip() == "from the server", run.stderr

def test_this_process(llm_mock_server, mock_llm_responses):
    mock_llm_responses.set("*", "from the mock")
    assert ask(llm_mock_server.openai_url) == "from the mock"
"""  # noqa: E501
"""Calls of servers in this process, and in a process that a test, or the run, starts."""


@pytest.mark.parametrize("options", [(), ("-n", "1")], ids=["one process", "a worker"])
def test_only_calls_of_a_foreign_server_are_counted_at_the_end(
    options: tuple[str, ...], foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        test_foreign=f"""
        import httpx
        from asking import ask

        def test_asked():
            assert [ask({foreign_server!r}) for _ in range(2)] == ["from the server"] * 2

        def test_ordinary():
            assert httpx.post({foreign_server!r} + "/orders", json={{}}).is_success
        """
    )
    own_tests = 0
    if options:
        pytester.makepyfile(test_own=OWN_SERVERS)
        own_tests = 5
    result = run(pytester, *options)
    result.assert_outcomes(passed=2 + own_tests)
    result.stdout.fnmatch_lines(
        [
            f"  POST {foreign_server}/chat/completions  (2 calls)",
            "SDKs sent 2 calls to servers on this machine *llm_mock_hosts*",
        ]
    )
    # No call of a server of the run is listed.
    assert result.stdout.str().count("http://127.0.0.1:") == 1


def test_the_urls_with_the_most_calls_are_listed_at_the_end(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        from asking import ask

        def test_it():
            for path in "abcdefghijkll":
                ask(f"{foreign_server}/{{path}}")
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        [
            "=* LLM calls that were not mocked =*",
            "",
            f"  POST {foreign_server}/l/chat/completions  (2 calls)",
            *(f"  POST {foreign_server}/{path}/chat/completions  (1 call)" for path in "abcdefghi"),
            "  … 2 more URLs",
            "SDKs sent 13 calls to servers on this machine *",
        ],
        consecutive=True,
    )


def test_a_failure_and_the_report_show_it(foreign_server: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=f"""
        from asking import ask

        def test_it():
            assert ask({foreign_server!r}) == "something else"
        """
    )
    result = pytester.runpytest_inprocess("--llm-mock-report=report.json")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([not_mocked(foreign_server)])
    (test,) = json.loads(Path("report.json").read_text())["tests"]
    assert test["not_mocked"] == [not_mocked(foreign_server)]


def test_a_strict_test_fails_for_it(foreign_server: str, pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_strict = error")
    pytester.makepyfile(
        test_it=f"""
        from asking import ask

        def test_it():
            assert ask({foreign_server!r}) == "from the server"
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    server = foreign_server.removeprefix("http://").removesuffix("/v1")
    result.stdout.fnmatch_lines(
        [f"*{not_mocked(foreign_server)}. *add {server} to ini llm_mock_hosts*"]
    )


def test_a_call_of_another_process_is_reported_too(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        test_it=f"""
        import subprocess, sys

        def test_it():
            code = "from asking_as_sdk import ask; print(ask({foreign_server!r}))"
            assert subprocess.run([sys.executable, "-c", code]).returncode == 0
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"  POST {foreign_server}/chat/completions  (1 call)"])


LEFT_ALONE = """
import httpx, os, pytest
import llm_mock
from asking import ask

@pytest.fixture
def mock(mock_llm_responses):
    \"\"\"Make a call by an SDK and one by httpx, which a fake server answers.\"\"\"
    assert ask(os.environ["URL"]) == "from the server"
    assert httpx.post(os.environ["URL"] + "/other/chat/completions", json={}).is_success
    assert httpx.post(os.environ["URL"] + "/orders", json={}).is_success
    return mock_llm_responses

def test_asserted(mock):
    mock.assert_called_once()

def test_last_call(mock):
    assert mock.last_call.prompt == "Hello"

def test_model(mock):
    mock.get_model("m").assert_called_once()

def test_counted(mock):
    llm_mock.assert_llm_called_times(mock, "m", 1)

def test_configured(mock):
    mock.set("m", "of the mock")
    assert 0, "of the test"

def test_asked_nothing(mock_llm_responses):
    mock_llm_responses.set("m", "of the mock")
    mock_llm_responses.assert_called_once()
"""


@pytest.mark.parametrize("kind", ["own", "foreign"])
@pytest.mark.parametrize("is_taken_out", [False, True], ids=["not listed", "taken out"])
def test_a_failing_test_names_the_servers_that_were_left_alone(
    kind: str,
    is_taken_out: bool,
    pytester: pytest.Pytester,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url: str = request.getfixturevalue(f"{kind}_server")
    pytester.makepyfile(test_it=LEFT_ALONE)
    server = url.removeprefix("http://").removesuffix("/v1")
    if is_taken_out:
        pytester.makeini(f"[pytest]\nllm_mock_hosts = !{server}")
        advice = f"Remove !{server} from ini llm_mock_hosts."
    else:
        advice = (
            "The mock answers for a server on this machine only if ini llm_mock_hosts names it: "
            f"{server}."
        )
    monkeypatch.setenv("URL", url)
    # A plugin of llm may have turned on the log of httpx, which names every request.
    monkeypatch.setattr(logging.getLogger("httpx"), "disabled", True)
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=6)
    chat = f"POST {url}/chat/completions"
    other = f"POST {url}/other/chat/completions"
    listed = f"reached the mock. Not mocked: {chat}, {other}."
    of_sdk = f"left alone: {chat}. {advice}"
    if kind == "foreign" and not is_taken_out:
        of_sdk = f"not mocked: {chat}"
    lines = [of_sdk, f"left alone: {other}. {advice}"]
    result.stdout.fnmatch_lines(
        [
            f"E   *AssertionError: No call {listed}",
            *lines,
            f"E   *AssertionError: No call {listed}",
            *lines,
            f"E   *AssertionError: No call to model 'm' {listed}",
            *lines,
            "E   *AssertionError: Expected 1 calls, got 0 to model 'm'.",
            f"E   *No call to model 'm' {listed}",
            *lines,
            "E   *AssertionError: of the test",
            *lines,
            "No call reached the mock, but replies were configured:",
            "E   *AssertionError: No model was called.",
        ]
    )
    result.stdout.no_fnmatch_line("*/orders*")


def test_the_server_of_the_mock_is_not_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from asking import ask

        def test_it(llm_mock_server, mock_llm_responses):
            mock_llm_responses.set("m", "of the mock")
            assert ask(llm_mock_server.openai_url) == "of the mock"
            assert 0
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.no_fnmatch_line("*left alone*")


class Proc:
    """A folder like /proc, with the processes and the listening sockets of a test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "net").mkdir()
        (folder / "net/tcp").write_text("  sl  local_address\n")
        (folder / "cpuinfo").write_text("")

    def listen(self, port: int, inode: int, state: str = "0A", table: str = "tcp") -> None:
        """Add a socket to a table."""
        address = f"0100007F:{port:04X} 00000000:0000 {state} 00000000:00000000 00:00000000"
        with (self.folder / "net" / table).open("a") as file:
            if table == "tcp6":
                file.write("  sl  local_address\n")
            file.write(f"   0: {address} 00000000  1000        0 {inode} 1 0 100 0 0 10 0\n")

    def start(self, process: int, parent: int, inode: int = 0, variable: str = "A=b") -> None:
        """Add a process with an open file and a socket."""
        folder = self.folder / str(process)
        (folder / "fd").mkdir(parents=True)
        (folder / "fd/0").symlink_to("/dev/null")
        (folder / "fd/1").symlink_to(f"socket:[{inode}]")
        (folder / "stat").write_text(f"{process} (a ) b) S {parent} 1 1 0")
        (folder / "environ").write_bytes(f"PATH=/bin\0{variable}\0".encode())


BY_TEST = "PYTEST_CURRENT_TEST=test_a.py::test_it (call)"
ME = os.getpid()
PORT = 8080


@pytest.fixture
def proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Proc:
    """Return a folder in place of /proc."""
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    monkeypatch.setattr(local_servers, "_cache", {})
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    return Proc(tmp_path)


@pytest.mark.parametrize(
    ("processes", "is_worker", "expected"),
    [
        # The process with the server, its parent and its variable; then those of others.
        ([(ME, 50, 7, "")], False, False),
        ([(ME, 50, 0, ""), (60, ME, 7, "")], False, False),
        ([(ME, 50, 0, ""), (70, 60, 7, ""), (60, ME, 0, "")], False, False),
        ([(ME, 50, 0, ""), (50, 1, 7, "")], False, True),
        ([(ME, 50, 0, ""), (50, 1, 0, ""), (60, 50, 7, "")], False, True),
        ([(ME, 50, 0, ""), (60, 1, 7, "")], False, True),
        # A process that a test started belongs to the run of its parent.
        ([(ME, 50, 0, BY_TEST), (50, 1, 7, "")], False, False),
        ([(ME, 50, 0, BY_TEST), (50, 40, 0, ""), (60, 50, 7, "")], False, False),
        ([(ME, 50, 0, BY_TEST), (50, 40, 0, BY_TEST), (40, 1, 7, "")], False, False),
        ([(ME, 50, 0, BY_TEST), (50, 40, 0, ""), (40, 1, 7, "")], False, True),
        ([(ME, 50, 0, f"MY_{BY_TEST}"), (50, 1, 7, "")], False, True),
        ([(ME, 1, 0, BY_TEST), (60, 1, 7, "")], False, True),
        # A worker belongs to its controller.
        ([(ME, 50, 0, ""), (50, 1, 7, "")], True, False),
        ([(ME, 50, 0, ""), (50, 1, 0, ""), (60, 50, 7, "")], True, False),
        ([(ME, 50, 0, ""), (50, 40, 0, ""), (40, 1, 7, "")], True, True),
        ([(ME, 1, 0, ""), (60, 1, 7, "")], True, True),
        # The process of the server has ended, or is not to be read.
        ([(ME, 50, 0, "")], False, True),
    ],
)
def test_a_server_belongs_to_the_run_by_its_process(
    processes: list[tuple[int, int, int, str]],
    is_worker: bool,
    expected: bool,
    proc: Proc,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if is_worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    proc.listen(PORT, 7)
    for process, parent, inode, variable in processes:
        proc.start(process, parent, inode, variable)
    assert local_servers.is_foreign(PORT) is expected


def test_only_a_socket_that_listens_at_the_port_is_a_server(proc: Proc) -> None:
    proc.start(ME, 1, 7)
    proc.listen(PORT + 1, 7)
    proc.listen(PORT, 7, state="01")
    assert local_servers.is_foreign(PORT) is None
    proc.listen(PORT, 7, table="tcp6")
    assert local_servers.is_foreign(PORT) is False


def test_processes_that_end_meanwhile_own_nothing(proc: Proc) -> None:
    proc.listen(PORT, 7)
    # Without its environment nobody knows whether a test started this process.
    proc.start(ME, 50)
    proc.start(50, 1, 7)
    (proc.folder / "60").mkdir()
    proc.start(61, ME)
    (proc.folder / "61/stat").write_text("")
    proc.start(62, ME)
    for path in (proc.folder / "62/fd").iterdir():
        path.unlink()
    (proc.folder / "62/fd").rmdir()
    (proc.folder / str(ME) / "environ").unlink()
    assert local_servers.is_foreign(PORT) is True


def test_a_result_is_reused_for_a_second_unless_there_is_no_server(
    proc: Proc, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(local_servers.time, "monotonic", lambda: now)
    proc.start(ME, 1, 7)
    assert local_servers.is_foreign(PORT) is None
    proc.listen(PORT, 8)
    assert local_servers.is_foreign(PORT) is True
    proc.listen(PORT, 7)
    now = 100.99
    assert local_servers.is_foreign(PORT) is True
    now = 101.0
    assert local_servers.is_foreign(PORT) is False


SDK = [("user-agent", "OpenAI/Python 3.54.0")]


@pytest.mark.parametrize(
    ("foreign", "noted", "refused"),
    [
        (False, [], ""),
        (True, ["POST http://127.0.0.1:80/v1/any"], ""),
        (None, [], "No server listens there."),
    ],
)
def test_a_call_of_an_sdk_to_this_machine_is_noted(
    foreign: bool | None,
    noted: list[str],
    refused: str,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ports = []
    monkeypatch.setattr(local_servers, "is_foreign", lambda port: [ports.append(port), foreign][1])

    def call(host: str = "127.0.0.1", port: int | None = None, **more: str) -> None:
        arguments = {"method_and_scheme": "POST http", **more}
        assert find_provider(host, port, "/v1/any?a=b", SDK, **arguments) is None  # type: ignore[arg-type]

    call()
    assert list(mock_llm_calls.not_mocked) == noted
    problems = mock_llm_calls.refusals
    assert len(problems) == bool(refused)
    assert all(refused in problem for problem in problems)
    assert ports == [80]
    call(port=8080)
    call(method_and_scheme="GET https")
    assert ports == [80, 8080, 443]
    # Nothing is asked where a lower library does so, and for a unix socket or another client.
    call(method_and_scheme="")
    call(host="")
    monkeypatch.setattr(http_settings, "hosts", ("!127.0.0.1:80", "!127.0.0.1"))
    call(port=80)
    assert find_provider("127.0.0.1", 81, "/", (), method_and_scheme="GET http") is None
    assert ports == [80, 8080, 443]
    problems.clear()
    mock_llm_calls.not_mocked.clear()


def test_without_proc_and_psutil_no_server_is_called_foreign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert local_servers.is_foreign(os.getpid() % 1000 + 1) is False


class Process:
    """A process as psutil has it."""

    def __init__(self, *ports: tuple[int, str], parent: Any = None, children: Any = ()) -> None:
        self._ports = ports
        self._parent = parent
        self._children = children

    def parent(self) -> Any:
        return self._parent

    def children(self, recursive: bool = False) -> Any:
        below = [each for child in self._children for each in child.children(recursive)]
        return [*self._children, *(below if recursive else ())]

    def net_connections(self, kind: str) -> Any:
        assert kind == "tcp"
        if self._ports == (None,):
            raise PsutilError
        return [
            SimpleNamespace(status=status, laddr=SimpleNamespace(port=port))
            for port, status in self._ports
        ]


class PsutilError(Exception):
    """The exception of psutil for a process that ended."""


SERVER_AT_PORT = Process((PORT, "LISTEN"))
ENDED: Any = Process(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("process", "is_worker", "expected"),
    [
        (SERVER_AT_PORT, False, False),
        (Process((PORT, "ESTABLISHED"), (PORT + 1, "LISTEN")), False, True),
        (Process((PORT + 1, "LISTEN"), (PORT, "LISTEN")), False, False),
        (Process(children=[Process(), SERVER_AT_PORT]), False, False),
        (Process(children=[Process(children=[SERVER_AT_PORT])]), False, False),
        (Process(children=[ENDED, SERVER_AT_PORT]), False, False),
        (Process(parent=SERVER_AT_PORT), False, True),
        (Process(parent=SERVER_AT_PORT), True, False),
        (SERVER_AT_PORT, True, False),
        (Process(parent=Process()), True, True),
    ],
)
def test_without_proc_psutil_tells_whose_a_server_is(
    process: Process,
    is_worker: bool,
    expected: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    psutil: Any = ModuleType("psutil")
    psutil.Error, psutil.CONN_LISTEN, psutil.Process = PsutilError, "LISTEN", lambda: process
    monkeypatch.setitem(sys.modules, "psutil", psutil)
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    monkeypatch.setattr(local_servers, "_cache", {})
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
    if is_worker:
        monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    assert local_servers.is_foreign(PORT) is expected


def test_without_proc_psutil_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    with MockServer(lambda: LLMMock(at_boundary=True)) as server:
        assert local_servers.is_foreign(int(server.openai_url.split(":")[2].split("/")[0])) is False
    assert local_servers.is_foreign(1) is True


def test_a_websocket_is_named_by_its_scheme(pytester: pytest.Pytester) -> None:
    pytest.importorskip("websockets")
    pytester.makepyfile(
        test_it="""
        import pytest
        from websockets.sync.client import connect

        def test_it():
            with pytest.raises(OSError):
                connect("ws://127.0.0.1:9/v1/responses", user_agent_header="OpenAI/Python 2.0")
            assert 0, "no answer"
        """
    )
    result = pytester.runpytest_inprocess()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*not mocked: GET ws://127.0.0.1:9/v1/responses*"])
