"""Calls of SDKs to servers on this machine that the test run did not start are reported."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http import local_servers
from llm_mock.boundaries.http.server import MockServer

SERVER = """
import http.server, json, os, sys

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

server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""  # noqa: E501
ASK = """
import openai

def ask(url, path="openai"):
    client = openai.OpenAI(base_url=url, api_key="any", max_retries=0)
    messages = [{"role": "user", "content": "Hello"}]
    return client.chat.completions.create(model="m", messages=messages).choices[0].message.content
"""


@pytest.fixture
def foreign_server(pytester: pytest.Pytester) -> Iterator[str]:
    """Yield a server that the runs within the test did not start, as they are no parents of it."""
    pytester.makepyfile(server=SERVER, asking=ASK)
    with subprocess.Popen(
        [sys.executable, "server.py"], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
        process.terminate()


def run(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    """Run pytest as nobody's child, as far as it can tell."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("PYTEST_CURRENT_TEST", raising=False)
        patch.delenv("PYTEST_XDIST_WORKER", raising=False)
        return pytester.runpytest_subprocess(*options)


def not_mocked(url: str) -> str:
    return f"not mocked: POST {url}/chat/completions"


def test_a_call_of_a_foreign_server_is_counted_at_the_end(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        test_it=f"""
        import httpx
        from asking import ask

        def test_asked():
            assert [ask({foreign_server!r}) for _ in range(2)] == ["from the server"] * 2

        def test_ordinary():
            assert httpx.post({foreign_server!r} + "/orders", json={{}}).is_success
        """
    )
    for options in ((), ("-n", "1")):
        result = run(pytester, "-p", "no:randomly", *options)
        result.assert_outcomes(passed=2)
        lines = [
            f"  POST {foreign_server}/chat/completions  (2 calls)",
            "2 calls of SDKs reached *llm_mock_hosts*",
        ]
        result.stdout.fnmatch_lines(lines)


def test_a_failure_and_the_report_show_it(foreign_server: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_it=f"""
        from asking import ask

        def test_it():
            assert ask({foreign_server!r}) == "something else"
        """
    )
    result = run(pytester, "--llm-mock-report=report.json")
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
    result = run(pytester)
    result.assert_outcomes(failed=1)
    server = foreign_server.removeprefix("http://").removesuffix("/v1")
    result.stdout.fnmatch_lines(
        [f"*{not_mocked(foreign_server)}. *add {server} to ini llm_mock_hosts*"]
    )


@pytest.mark.parametrize(("entry", "text"), [("", "Hi!"), ("!", "from the server")])
def test_the_server_may_be_named(
    entry: str, text: str, foreign_server: str, pytester: pytest.Pytester
) -> None:
    server = foreign_server.removeprefix("http://").removesuffix("/v1")
    pytester.makeini(f"[pytest]\nllm_mock_strict = error\nllm_mock_hosts = {entry}{server}")
    pytester.makepyfile(
        test_it=f"""
        from asking import ask

        def test_it(mock_llm_responses):
            mock_llm_responses.add("m", "Hi!", optional=True)
            assert ask({foreign_server!r}) == {text!r}
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    assert "not mocked" not in result.stdout.str()


def test_a_server_of_the_run_is_the_application(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    """In this process, in a thread of it, and in a process that a test, or the run, starts."""
    pytester.makeconftest(
        """
        import subprocess, sys, pytest

        @pytest.fixture(scope="session", params=["child", "grandchild"])
        def url(request):
            command = [sys.executable, "server.py"]
            if request.param == "grandchild":
                command = ["sh", "-c", f"{sys.executable} server.py; true"]
            with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
                yield f"http://127.0.0.1:{int(process.stdout.readline())}/v1"
                import os, signal
                os.killpg(process.pid, signal.SIGKILL)
        """  # noqa: E501
    )
    pytester.makepyfile(
        test_it="""
        import subprocess, sys
        from asking import ask

        def test_a_process(url):
            assert ask(url) == "from the server"

        def test_a_process_that_asks(url):
            code = f"from asking import ask; print(ask({url!r}))"
            run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert run.stdout.strip() == "from the server", run.stderr

        def test_this_process(llm_mock_server):
            assert ask(llm_mock_server.openai_url)
        """
    )
    for options in ((), ("-n", "1")):
        result = run(pytester, *options)
        result.assert_outcomes(passed=5)
        assert "not mocked" not in result.stdout.str()


def test_a_call_of_another_process_is_reported_too(
    foreign_server: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        test_it=f"""
        import subprocess, sys

        def test_it():
            code = "from asking import ask; print(ask({foreign_server!r}))"
            assert subprocess.run([sys.executable, "-c", code]).returncode == 0
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines([f"  POST {foreign_server}/chat/completions  (1 call)"])


def test_a_port_at_which_nobody_listens_is_named_where_the_test_fails(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        asking=ASK,
        test_it="from asking import ask\n\ndef test_it():\n    ask('http://127.0.0.1:9/v1')",
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [f"{not_mocked('http://127.0.0.1:9/v1')}. No server listens there.*"]
    )
    assert "LLM calls that were not mocked" not in result.stdout.str()


def test_without_proc_and_psutil_no_server_is_called_foreign(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert local_servers.is_foreign(os.getpid() % 1000 + 1) is False


def test_without_proc_psutil_tells(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("psutil")
    monkeypatch.setattr(local_servers, "PROC", tmp_path)
    with MockServer(lambda: LLMMock(at_boundary=True)) as server:
        assert local_servers.is_foreign(int(server.openai_url.split(":")[2].split("/")[0])) is False
    assert local_servers.is_foreign(1) is True
