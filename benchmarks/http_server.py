"""Processor time and requests per second of the server, and its start, beside aimock and uvicorn.

    python benchmarks/http_server.py

prints the processor time alone.
"""

from __future__ import annotations

import asyncio
import importlib.util
import itertools
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

from table import Row, compared, markdown, microseconds

from llm_mock import create_mock_get_model
from llm_mock.boundaries.http.server import MockServer

CONNECTIONS = 8
REQUESTS = 4_000
ROUNDS = 3
CPU_CONNECTIONS = (8, 64)
CPU_REQUESTS = 3_200
CPU_ROUNDS = 6
WARM_UP_ROUNDS = 2
"""The rounds that do not count: aimock's engine compiles what runs often."""
SDK_HEADERS = {
    "accept-encoding": "gzip, deflate",
    "connection": "keep-alive",
    "accept": "application/json",
    "content-type": "application/json",
    "user-agent": "OpenAI/Python 3.54.0",
    "x-stainless-lang": "python",
    "x-stainless-package-version": "3.54.0",
    "x-stainless-os": "Linux",
    "x-stainless-arch": "x64",
    "x-stainless-runtime": "CPython",
    "x-stainless-runtime-version": "3.11.7",
    "authorization": "Bearer sk-mock",
    "x-stainless-async": "false",
    "x-stainless-retry-count": "0",
    "x-stainless-read-timeout": "600",
}
"""The headers of OpenAI's SDK, beside `host` and `content-length`."""
CHUNKS = ["Hel", "lo, ", "wor", "ld", "!"]
SECONDS_TO_START = 20
OURS = f"""
import sys, time
from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.server import MockServer
from llm_mock.core.mock import Mock
from llm_mock.core.reply import Reply

mock = Mock(ModelBehaviour())
mock.configurator.set("*", Reply(chunks={CHUNKS!r}))
MockServer(lambda: mock, port=int(sys.argv[1]), keep_alive=True).wait()
"""
UVICORN = f"""
import json, socket, sys, uvicorn

def chunk(**choice):
    return {{"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}}

TEXT = "".join({CHUNKS!r})
CHOICE = {{"index": 0, "message": {{"role": "assistant", "content": TEXT}}, "finish_reason": "stop"}}
WHOLE = json.dumps({{"id": "chatcmpl-1", "object": "chat.completion", "model": "m", "choices": [CHOICE]}}).encode()
EVENTS = [chunk(index=0, delta={{"content": text}}) for text in {CHUNKS!r}] + [chunk(index=0, finish_reason="stop")]
EVENTS = [f"data: {{json.dumps(event)}}\\n\\n".encode() for event in EVENTS] + [b"data: [DONE]\\n\\n"]

async def app(scope, receive, send):
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message.get("body", b""), message.get("more_body", False)
    stream = json.loads(body)["stream"]
    kind = b"text/event-stream" if stream else b"application/json"
    await send({{"type": "http.response.start", "status": 200, "headers": [(b"content-type", kind)]}})
    for piece in EVENTS if stream else []:
        await send({{"type": "http.response.body", "body": piece, "more_body": True}})
    await send({{"type": "http.response.body", "body": b"" if stream else WHOLE}})

listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # so asyncio sets TCP_NODELAY
listening.bind(("127.0.0.1", int(sys.argv[1])))
config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
uvicorn.Server(config).run(sockets=[listening])
"""  # noqa: E501


FIXTURES = {
    "fixtures": [{"match": {"userMessage": "hello"}, "response": {"content": "".join(CHUNKS)}}]
}
"""What aimock answers; it cuts the text itself, into as many pieces."""
SCRIPT = f"replies:\n  - prompt: hello\n    chunks: {json.dumps(CHUNKS)}\n"
"""The reply of `llm-mock serve`, which looks for it as aimock does."""
COMMANDS = {
    "ours": (sys.executable, "-c", OURS, "{port}"),
    "aimock": ("llmock", "-p", "{port}", "-f", "{fixtures}", "-c", "3", "--log-level", "silent"),
    "uvicorn": (sys.executable, "-c", UVICORN, "{port}"),
    "command": (sys.executable, "-m", "llm_mock", "serve", "{script}", "--port", "{port}"),
}


class Served(NamedTuple):
    """A server in a process of its own."""

    process: int
    port: int
    seconds_to_start: float

    def cpu_seconds(self) -> float:
        """Return the processor time of all threads of the process so far, on Linux."""
        # The clock of another process, as `clock_getcpuclockid` makes its number.
        return time.clock_gettime((~self.process << 3) | 2)


@contextmanager
def served(name: str) -> Iterator[Served]:
    """Yield a server that runs as long as the context."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("LLM_MOCK", "PFLOW_TESTING")
    }
    with closing(socket.create_server(("127.0.0.1", 0))) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        fixtures = Path(folder, "fixtures.json")
        fixtures.write_text(json.dumps(FIXTURES))
        script = Path(folder, "script.yaml")
        script.write_text(SCRIPT)
        values = {"port": str(port), "fixtures": str(fixtures), "script": str(script)}
        command = [part.format(**values) if "{" in part[:1] else part for part in COMMANDS[name]]
        started = time.perf_counter()
        with subprocess.Popen(command, env=variables, stdout=subprocess.DEVNULL) as process:
            try:
                yield Served(process.pid, port, _seconds_until_ready(port) - started)
            finally:
                process.kill()


def _seconds_until_ready(port: int) -> float:
    """When, by the clock of `time.perf_counter`, somebody listens."""
    deadline = time.perf_counter() + SECONDS_TO_START
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            return time.perf_counter()
        except ConnectionRefusedError:
            if time.perf_counter() > deadline:
                raise
            time.sleep(0.001)


async def _ask(port: int, request: bytes, number: int) -> None:
    """Ask a number of times on one connection, one after the other."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(number):
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert head.startswith(b"http/1.1 200"), head
        if b"chunked" in head:
            await reader.readuntil(b"\r\n0\r\n\r\n")
        else:
            await reader.readexactly(int(head.split(b"content-length: ")[1].split(b"\r\n")[0]))
    writer.close()
    await writer.wait_closed()


def _request(stream: bool) -> bytes:
    body = json.dumps(
        {"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hello"}]}
    )
    headers = {"host": "localhost", **SDK_HEADERS, "content-length": len(body)}
    lines = [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(["POST /v1/chat/completions HTTP/1.1", *lines, "", body]).encode()


async def _ask_on_connections(port: int, stream: bool, connections: int, requests: int) -> None:
    """Ask on several connections together."""
    request = _request(stream)
    each = requests // connections
    await asyncio.gather(*(_ask(port, request, each) for _ in range(connections)))


def requests_a_second(port: int, stream: bool) -> float:
    """Return what a server answers on several connections together."""
    started = time.perf_counter()
    asyncio.run(_ask_on_connections(port, stream, CONNECTIONS, REQUESTS))
    return REQUESTS / (time.perf_counter() - started)


def cpu_seconds_per_request(server: Served, stream: bool, connections: int) -> float:
    """Return what a server's processor is busy with a request, connections included."""
    started = server.cpu_seconds()
    asyncio.run(_ask_on_connections(server.port, stream, connections, CPU_REQUESTS))
    return (server.cpu_seconds() - started) / CPU_REQUESTS


def cpu_rows() -> Iterator[Row]:
    """Yield the processor time of each request, the least of several rounds in turns."""
    has_aimock = shutil.which("llmock") is not None
    names = ("command", "aimock") if has_aimock else ("command",)
    peer = f"aimock {_version_of_aimock()}" if has_aimock else "aimock: not installed"
    with ExitStack() as stack:
        servers = {name: stack.enter_context(served(name)) for name in names}
        for stream, connections in itertools.product((False, True), CPU_CONNECTIONS):
            what = (
                f"processor time of `llm-mock serve`, {'streamed' if stream else 'plain'}, "
                f"{connections} connections"
            )
            times = _cpu_times(servers, stream, connections)
            if has_aimock:
                yield compared(what, times["command"], peer, times["aimock"], "≤ 1")
            else:
                yield Row(what, microseconds(times["command"]), peer, goal="≤ 1")


def _cpu_times(servers: Mapping[str, Served], stream: bool, connections: int) -> dict[str, float]:
    """Return the least processor time of a request to each server."""
    times: dict[str, list[float]] = {name: [] for name in servers}
    for _ in range(WARM_UP_ROUNDS + CPU_ROUNDS):
        for name, server in servers.items():
            times[name].append(cpu_seconds_per_request(server, stream, connections))
    return {name: min(seconds[WARM_UP_ROUNDS:]) for name, seconds in times.items()}


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    yield from cpu_rows()
    peers = {
        "aimock": f"aimock {_version_of_aimock()}" if shutil.which("llmock") else "",
        "uvicorn": f"uvicorn {version('uvicorn')}, fixed bytes"
        if importlib.util.find_spec("uvicorn")
        else "",
    }
    with ExitStack() as stack:
        ports = {
            name: stack.enter_context(served(name)).port
            for name in ("ours", *filter(peers.get, peers))
        }
        for stream in (False, True):
            best = dict.fromkeys(ports, 0.0)
            for _ in range(ROUNDS):
                for name, port in ports.items():
                    best[name] = max(best[name], requests_a_second(port, stream))
            what = f"served chat, {'streamed' if stream else 'plain'}, {CONNECTIONS} connections"
            for name, shown in peers.items():
                yield _row(
                    what,
                    best,
                    name,
                    shown or f"{name}: not installed",
                    "≥ 1" if name == "aimock" else "",
                )
    yield Row(
        "the server of a test, until it answers",
        f"{_best(_seconds_in_process) * 1e3:.1f} ms",
        goal="< 50 ms",
    )
    yield Row(
        "`llm-mock serve`, until it answers", f"{_best(_seconds_of_command):.2f} s", goal="< 0.5 s"
    )


def _row(what: str, best: dict[str, float], name: str, shown: str, goal: str) -> Row:
    ours = f"{best['ours']:,.0f} requests/s"
    if name not in best:
        return Row(what, ours, shown, goal=goal)
    return Row(
        what, ours, f"{shown}: {best[name]:,.0f} requests/s", best["ours"] / best[name], goal
    )


def _version_of_aimock() -> str:
    """Return the version in the `package.json` of the command's package."""
    package = Path(shutil.which("llmock") or "").resolve().parents[1] / "package.json"
    return str(json.loads(package.read_text())["version"])


def _best(seconds: Callable[[], float]) -> float:
    return min(seconds() for _ in range(ROUNDS))


def _seconds_in_process() -> float:
    """Return the seconds until a server in this process gives its first answer."""
    mock = create_mock_get_model({"*": "Hello"})
    started = time.perf_counter()
    with MockServer(lambda: mock) as server:
        asyncio.run(_ask(int(server.url.rpartition(":")[2]), _request(stream=False), 1))
        return time.perf_counter() - started


def _seconds_of_command() -> float:
    with served("command") as server:
        return server.seconds_to_start


if __name__ == "__main__":
    print(markdown(cpu_rows()))
