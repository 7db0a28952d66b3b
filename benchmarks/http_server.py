"""How many requests a second the server answers on loopback, beside an ASGI application on uvicorn."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.metadata import PackageNotFoundError, version

from table import Row

CONNECTIONS = 8
REQUESTS = 4_000
ROUNDS = 3
CHUNKS = ["Hel", "lo, ", "wor", "ld", "!"]
OURS = f"""
import time
from llm_mock.behaviour import ModelBehaviour
from llm_mock.boundaries.http.server import MockServer
from llm_mock.core.mock import Mock
from llm_mock.core.reply import Reply

mock = Mock(ModelBehaviour())
mock.responses.set("*", Reply(chunks={CHUNKS!r}))
server = MockServer(lambda: mock, keep_alive=True)
print(server.url, flush=True)
server.wait()
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
listening.bind(("127.0.0.1", 0))
print(f"http://127.0.0.1:{{listening.getsockname()[1]}}", flush=True)
config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
uvicorn.Server(config).run(sockets=[listening])
"""


@contextmanager
def served(program: str) -> Iterator[int]:
    """A server in a process of its own; its port."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LLM_MOCK", "PFLOW_TESTING")}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout
        yield int(process.stdout.readline().rpartition(":")[2])
        process.kill()


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


def requests_a_second(port: int, stream: bool) -> float:
    """What a server answers on several connections together."""
    body = json.dumps({"model": "m", "stream": stream, "messages": [{"role": "user", "content": "hello"}]}).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\n\r\n".encode()

    async def ask() -> None:
        await asyncio.gather(*(_ask(port, head + body, REQUESTS // CONNECTIONS) for _ in range(CONNECTIONS)))

    started = time.perf_counter()
    asyncio.run(ask())
    return REQUESTS / (time.perf_counter() - started)


def rows() -> Iterator[Row]:
    """The rows of the table."""
    programs = {"ours": OURS, "uvicorn": UVICORN}
    try:
        peer = f"uvicorn {version('uvicorn')}, fixed bytes"
    except PackageNotFoundError:
        peer = "uvicorn: not installed"
        del programs["uvicorn"]
    with ExitStack() as stack:
        ports = {name: stack.enter_context(served(program)) for name, program in programs.items()}
        for stream in (False, True):
            best = dict.fromkeys(ports, 0.0)
            for _ in range(ROUNDS):
                for name, port in ports.items():
                    best[name] = max(best[name], requests_a_second(port, stream))
            yield _row(f"served chat, {'streamed' if stream else 'plain'}, {CONNECTIONS} connections", best, peer)


def _row(what: str, best: dict[str, float], peer: str) -> Row:
    ours = f"{best['ours']:,.0f} requests/s"
    if "uvicorn" not in best:
        return Row(what, ours, peer)
    return Row(what, ours, f"{peer}: {best['uvicorn']:,.0f} requests/s", best["ours"] / best["uvicorn"])
