"""MCP servers in a pool: started once, shared, over stdio and over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import llm
import pytest

from llm_mock.agents import CLIServer, MCPServer
from llm_mock.agents.pool import MOST_IDLE, ServerPool
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import InvalidServer, ServerError

from .conftest import EXAMPLES, tools_of
from .processes import processes_with

Raw = Callable[..., MCPServer]


@pytest.fixture(scope="module")
def shared() -> Iterator[ServerPool]:
    """One pool for tests whose servers take long to start."""
    pool = ServerPool()
    yield pool
    pool.close()


@contextmanager
def serving(*command: str) -> Iterator[str]:
    """Yield a process that says its URL on stdout."""
    with subprocess.Popen(
        command, cwd=EXAMPLES, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().decode().strip()
        process.kill()


@pytest.fixture(scope="module")
def bank_at_url() -> Iterator[str]:
    """Yield the bank over HTTP, in a process of its own."""
    with serving(sys.executable, "-m", "bank.server", "--http", "0") as url:
        yield url


SSE = """
import asyncio, socket, uvicorn
from bank.server import bank_server

listening = socket.create_server(("127.0.0.1", 0))
print(f"http://127.0.0.1:{listening.getsockname()[1]}/sse", flush=True)
config = uvicorn.Config(bank_server().sse_app(), log_level="warning")
asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
"""


@pytest.fixture(scope="module")
def bank_over_sse() -> Iterator[MCPServer]:
    """Yield the bank over the protocol's first way to use HTTP, in a process of its own."""
    with serving(sys.executable, "-c", SSE) as url:
        yield MCPServer(url=url, transport="sse")


@pytest.mark.parametrize("over", ["stdio", "streamable-http", "sse"])
def test_the_tools_of_a_server_are_real(
    over: str, shared: ServerPool, bank: MCPServer, bank_at_url: str, bank_over_sse: MCPServer
) -> None:
    server = {
        "stdio": bank,
        "streamable-http": MCPServer(url=bank_at_url, transport="streamable-http"),
        "sse": bank_over_sse,
    }[over]
    tools = tools_of(shared, server)
    assert list(tools) == ["accounts", "transfer", "history", "balance_chart"]
    assert tools["transfer"].description.startswith("Move money from one account to another.")
    assert tools["transfer"].input_schema["required"] == ["source", "target", "cents"]
    assert tools["transfer"].server is server
    assert repr(tools["transfer"]) == f"<ServerTool transfer of {server.label}>"

    moved = {"number": 1, "source": "alice", "target": "bob", "cents": 50, "reason": ""}
    answer = tools["transfer"].call({"source": "alice", "target": "bob", "cents": 50})
    assert (answer.structured, json.loads(answer.text), answer.is_error) == (moved, moved, False)
    assert tools["accounts"].call({}).structured == {"alice": 9950, "bob": 2100, "savings": 100000}
    assert tools["history"].call({"account": "bob"}).structured == {"result": [moved]}


def test_a_server_that_speaks_sse_is_told_from_one_that_does_not(
    shared: ServerPool, bank_over_sse: MCPServer
) -> None:
    with pytest.raises(
        ServerError, match=r"cannot be used: .* If it uses SSE, pass transport=\"sse\"\.$"
    ):
        shared.tools([MCPServer(url=bank_over_sse.url)])


@pytest.mark.parametrize(
    ("path", "transport", "asks"),
    [("sse", None, True), ("sse/", None, True), ("sse", "sse", False), ("mcp", None, False)],
)
def test_only_a_url_of_sse_without_a_transport_is_asked_whether_it_speaks_it(
    shared: ServerPool, path: str, transport: Any, asks: bool
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(ServerError) as caught:
        shared.tools([MCPServer(url=f"http://127.0.0.1:{port}/{path}", transport=transport)])
    assert ("If it uses SSE" in str(caught.value)) == asks


def test_a_tool_that_refuses_is_an_answer(shared: ServerPool, bank: MCPServer) -> None:
    answer = tools_of(shared, bank)["transfer"].call(
        {"source": "bob", "target": "alice", "cents": 10**9}
    )
    assert answer.is_error
    assert "Insufficient funds: bob has" in answer.text


def test_an_image_comes_as_an_attachment_beside_structured_content(
    shared: ServerPool, bank: MCPServer
) -> None:
    answer = tools_of(shared, bank)["balance_chart"].call({"account": "savings"})
    (image,) = answer.attachments
    assert isinstance(image, llm.Attachment)
    assert image.type == "image/png"
    assert (image.content or b"").startswith(b"\x89PNG")
    assert answer.structured == {"account": "savings", "cents": [100000]}
    assert json.loads(answer.text) == [100000]


def test_invalid_arguments_do_not_reach_the_server(shared: ServerPool, bank: MCPServer) -> None:
    answer = tools_of(shared, bank)["transfer"].call({"source": "alice", "cents": 0})
    assert answer == ToolAnswer(
        "The tool 'transfer' was not called, because its arguments are invalid:\n"
        "  the arguments: 'target' is a required property\n"
        "  the arguments.cents: 0 is less than or equal to the minimum of 0",
        is_error=True,
    )


def test_a_published_server_that_we_did_not_write(shared: ServerPool) -> None:
    tools = tools_of(shared, MCPServer(["mcp-server-time"], args=["--local-timezone", "UTC"]))
    assert sorted(tools) == ["convert_time", "get_current_time"]
    arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
    answer = tools["convert_time"].call(arguments)
    assert "T21:00:00+09:00" in answer.text
    answer = tools["convert_time"].call({**arguments, "target_timezone": "Middle/Earth"})
    assert answer.is_error
    assert "Middle/Earth" in answer.text


def test_async_and_sync_tests_and_threads_share_a_server(pool: ServerPool, raw: Raw) -> None:
    server = raw()

    async def ask() -> Any:
        tools = {tool.name: tool for tool in await pool.tools_async([server])}
        return json.loads((await tools["about"].call_async({})).text)["pid"]

    found = [
        json.loads(tools_of(pool, server)["about"].call({}).text)["pid"],
        asyncio.run(ask()),
        asyncio.run(ask()),
    ]
    thread = threading.Thread(target=lambda: found.append(asyncio.run(ask())))
    thread.start()
    thread.join()
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_server_that_many_ask_for_at_once_is_started_once(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    threads = [threading.Thread(target=pool.tools, args=([raw()],)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(processes_with(marker)) == 2


def test_servers_start_at_the_same_time(pool: ServerPool, raw: Raw) -> None:
    start = time.monotonic()
    with pytest.raises(ServerError) as caught:
        pool.tools([raw("--hang", name=f"server {number}", start_timeout=1) for number in range(4)])
    assert time.monotonic() - start < 3
    paragraphs = str(caught.value).split("\n\nThe MCP server ")
    assert [text.count("did not start within 1 seconds") for text in paragraphs] == [1] * 4


def test_a_server_that_is_named_twice_counts_once(pool: ServerPool, raw: Raw) -> None:
    assert len(pool.tools([raw(), raw(tools=None)])) == len(pool.tools([raw()]))


def test_a_variable_with_another_value_is_another_server(
    pool: ServerPool, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = raw(env={"FOLDER": "${PLACE}"})
    for place in ("here", "there", "here"):
        monkeypatch.setenv("PLACE", place)
        about = json.loads(tools_of(pool, server)["about"].call({}).text)
        assert about["environment"]["FOLDER"] == place


def test_arguments_and_folder_are_those_of_the_configuration(
    pool: ServerPool, raw: Raw, tmp_path: Path
) -> None:
    about = json.loads(
        tools_of(pool, raw(args=["--flood", "0"], cwd=tmp_path))["about"].call({}).text
    )
    assert about["arguments"][1:] == ["--flood", "0"]
    assert about["folder"] == str(tmp_path)


def test_only_the_tools_that_a_filter_lets_through_are_offered(pool: ServerPool, raw: Raw) -> None:
    assert list(tools_of(pool, raw(tools=["e*", "die"]))) == ["echo", "die", "end_after_answer"]
    assert list(tools_of(pool, raw(tools="echo"))) == ["echo"]
    with pytest.raises(ServerError) as caught:
        pool.tools([raw(tools=["echo", "ECHO"], name="raw")])
    assert str(caught.value).startswith(
        "No tool of the server 'raw' matches 'ECHO' (tools). Its tools: echo, about,"
    )


def test_two_servers_with_one_tool_are_an_error_that_names_both(pool: ServerPool, raw: Raw) -> None:
    with pytest.raises(ServerError, match="Two servers have a tool 'die': 'first' and 'second'"):
        pool.tools([raw(name="first", tools=["die"]), raw(name="second", tools=["hang", "die"])])
    with pytest.raises(
        ServerError, match="Two servers have a tool 'git_execute': 'git' and 'other'"
    ):
        pool.tools([CLIServer("git", "git"), CLIServer("other", "git", "git")])


def test_one_name_for_two_tools_is_an_error_wherever_they_are(pool: ServerPool, raw: Raw) -> None:
    with pytest.raises(ServerError, match=r"Two servers .*'\. .*To distinguish .* set name=…\."):
        pool.tools([raw(env={"A": "1"}), raw(env={"A": "2"})])
    with pytest.raises(ServerError, match="The server 'raw' lists two tools named 'echo'"):
        pool.tools([raw("--twice", name="raw")])


def test_long_messages_go_both_ways(pool: ServerPool, raw: Raw) -> None:
    text = "ü" * 2_000_000
    assert tools_of(pool, raw())["echo"].call({"text": text}).text == text


def test_headers_are_sent(pool: ServerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    from http.server import BaseHTTPRequestHandler, HTTPServer

    seen: list[str | None] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            seen.append(self.headers["X-Api-Key"])
            self.send_error(403)

        def log_message(self, *_: Any) -> None:
            pass

    monkeypatch.setenv("BANK_KEY", "secret-of-the-bank")
    with HTTPServer(("127.0.0.1", 0), Handler) as web:
        threading.Thread(target=web.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{web.server_port}/mcp"
        with pytest.raises(ServerError, match="cannot be used"):
            pool.tools([MCPServer(url=url, headers={"X-Api-Key": "${BANK_KEY}"})])
        web.shutdown()
    assert set(seen) == {"secret-of-the-bank"}


def test_the_tools_of_a_closed_pool_say_so(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw())
    pool.close()
    pool.close()
    expected = ToolAnswer(
        "The server of this tool was stopped. Request its tools from the pool again.", is_error=True
    )
    assert tools["echo"].call({"text": "?"}) == expected
    assert asyncio.run(tools["echo"].call_async({"text": "?"})) == expected
    assert tools_of(pool, raw())["echo"].call({"text": "again"}).text == "again"


def test_the_loop_of_a_pool_does_not_wait_for_itself(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw())
    loop = tools["echo"].loop

    async def call_from_within() -> ToolAnswer:
        return tools["echo"].call({"text": "?"})

    with pytest.raises(RuntimeError, match="cannot wait for itself"):
        loop.run(call_from_within())


def test_a_schema_that_refers_elsewhere_is_not_fetched(pool: ServerPool, raw: Raw) -> None:
    asked: list[bool] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        tool = tools_of(pool, raw())["echo"]
        tool.input_schema = {"$ref": f"http://127.0.0.1:{server.getsockname()[1]}/schema"}
        assert tool.call({"text": "Hi"}).text == "Hi"
        with pytest.raises(TimeoutError):
            asked.append(bool(server.accept()))
    assert asked == []


def test_closing_a_pool_ends_the_calls_under_way(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw())
    answers: list[ToolAnswer] = []
    call = threading.Thread(target=lambda: answers.append(tools["hang"].call({})))
    call.start()
    pool.close()
    call.join()
    assert answers[0].is_error


def test_one_server_of_a_pool_can_be_stopped(pool: ServerPool, raw: Raw, marker: str) -> None:
    first, second = raw(name="first"), raw(name="second")
    tools = tools_of(pool, first)
    kept = tools_of(pool, second)
    about = json.loads(tools["about"].call({}).text)
    pool.stop(first)
    pool.stop(first)
    pool.stop(raw(name="never started"))
    assert len(processes_with(marker)) == 2
    assert "had ended before this call" in tools["about"].call({}).text
    assert kept["echo"].call({"text": "still here"}).text == "still here"
    assert json.loads(tools_of(pool, first)["about"].call({}).text)["pid"] != about["pid"]


def test_stopping_a_server_tells_what_it_wrote_to_stderr(pool: ServerPool, raw: Raw) -> None:
    server = raw("--flood", "200")
    assert pool.stop(server) == ""
    pool.tools([server])
    assert pool.stop(server) == f"{0:099}\n{1:099}\n"
    assert pool.stop(server) == ""


def test_stopping_a_server_tells_what_each_of_its_processes_wrote(
    pool: ServerPool, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = raw("--flood", "100", env={"FOLDER": "${PLACE}"})
    for place in ("here", "there"):
        monkeypatch.setenv("PLACE", place)
        pool.tools([server])
    assert pool.stop(server) == f"{0:099}\n" * 2


def test_of_servers_that_the_current_test_did_not_ask_for_four_are_kept(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    servers = [
        raw(env={"NUMBER": str(number)}, tools=["about"], name=str(number)) for number in range(7)
    ]
    first = json.loads(tools_of(pool, servers[0])["about"].call({}).text)["pid"]
    for server in servers[1:]:
        pool.end_test()
        tools_of(pool, servers[0])["about"].call({})
        assert tools_of(pool, server)["about"].call({}).is_error is False
        assert len(processes_with(marker)) <= 2 * (2 + MOST_IDLE)
    assert (
        json.loads(tools_of(pool, servers[0])["about"].call({}).text)["pid"] == first
    )  # always in use


def test_what_one_test_uses_is_kept_until_its_end_however_much_it_is(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    for number in range(6):
        pool.tools([raw(env={"NUMBER": str(number)})])
    assert len(processes_with(marker)) == 2 * 6


def test_a_server_of_one_test_ends_with_it(pool: ServerPool, raw: Raw, marker: str) -> None:
    tools = tools_of(pool, raw(scope="test"))
    kept = tools_of(pool, raw(scope="session"))
    assert tools_of(pool, raw(scope="test"))["about"].call({}).text == tools["about"].call({}).text
    pool.end_test()
    assert len(processes_with(marker)) == 2
    assert "had ended before this call" in tools["about"].call({}).text
    assert kept["echo"].call({"text": "still here"}).text == "still here"


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(
        InvalidServer, match="scope of the server 'bank' is 'module'; pass 'session' or 'test'"
    ):
        MCPServer("python", name="bank", scope="module")  # type: ignore[arg-type]
