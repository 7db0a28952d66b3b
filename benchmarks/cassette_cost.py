"""The time to replay 10,000 calls, compared with VCR.py, and to record a call."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import perf_counter
from typing import Any

from llm.default_plugins.openai_models import Chat
from table import Row, compared

from llm_mock import create_mock_get_model
from llm_mock.boundaries.llm.attach import attach
from llm_mock.cassettes import Cassette
from llm_mock.core.context import activate

CALLS = 10_000
FEWER_CALLS = 1_000
LONGEST = 60.0
"""Seconds after which a contestant is stopped."""
ROUNDS = 3
RECORDED_CALLS = 100
ONE, NUMBER = "Question number 4711", "4711"


class _Server(BaseHTTPRequestHandler):
    """Streams an answer in OpenAI's way."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"][-1][
            "content"
        ]
        words = f"The answer to {question} is a matter of taste".split()
        events = [{"delta": {"content": f"{word} "}} for word in words]
        payload = "".join(
            f"data: {json.dumps(_chunk([{'index': 0, **event}]))}\n\n" for event in events
        )
        usage = {"prompt_tokens": 10, "completion_tokens": 12, "total_tokens": 22}
        payload += f"data: {json.dumps({**_chunk([]), 'usage': usage})}\n\ndata: [DONE]\n\n"
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload.encode())


def _chunk(choices: list[Any]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": choices,
    }


@contextmanager
def _model() -> Iterator[Chat]:
    """`llm`'s own OpenAI model, with a server on loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield Chat("m", key="none", api_base=f"http://127.0.0.1:{server.server_port}/v1")
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _cassette(path: Path, mode: Any) -> Iterator[Cassette]:
    mock = create_mock_get_model()
    cassette = mock.cassette = Cassette(path, mode)
    previous = activate(mock)
    try:
        yield cassette
    finally:
        activate(previous)


def _multiply(path: Path, calls: int) -> None:
    """Make a file with one recorded call into one with many."""
    separator = "- request:\n"
    head, call = path.read_text().split(separator, 1)
    call, end = (
        call.split("version: 1\n") if "version: 1\n" in call else (call, None)
    )  # VCR.py has it at the end
    calls = "".join(separator + call.replace(NUMBER, str(number)) for number in range(calls))
    path.write_text(head + calls + ("" if end is None else f"version: 1\n{end}"))


def _ours(model: Chat, folder: Path, calls: int) -> tuple[int, float]:
    """Return the number of calls were answered, and the seconds that it took."""
    path = folder / f"ours-{calls}.yaml"
    with _cassette(path, "once") as cassette:
        model.prompt(ONE).text()
    cassette.save(passed=True)
    _multiply(path, calls)
    start = perf_counter()
    with _cassette(path, "none"):
        return _ask(model, calls, start), perf_counter() - start


def _vcr(model: Chat, folder: Path, calls: int) -> tuple[int, float] | None:
    """Return the same for VCR.py; None where it is not installed."""
    try:
        import vcr
    except ImportError:
        return None
    path = folder / f"vcr-{calls}.yaml"
    with vcr.use_cassette(str(path)):
        model.prompt(ONE).text()
    _multiply(path, calls)
    start = perf_counter()
    with vcr.use_cassette(str(path), record_mode="none"):
        return _ask(model, calls, start), perf_counter() - start


def _ask(model: Chat, calls: int, start: float) -> int:
    for number in range(calls):
        if perf_counter() - start > LONGEST:
            return number
        answer = model.prompt(f"Question number {number}").text()
        if f"number {number} is" not in answer:
            raise RuntimeError(f"call {number} was answered with {answer!r}")
    return calls


def _fastest(call: Callable[[], None], rounds: int = ROUNDS) -> float:
    times = []
    for _ in range(rounds):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return min(times)


def _playing(calls: int, ours: tuple[int, float], theirs: tuple[int, float] | None) -> Row:
    what = f"a cassette of {calls:,} calls: load it, answer all of them"
    if theirs is None:
        return Row(what, _answered(calls, ours), "VCR.py: not installed")
    beside = f"VCR.py, the same calls through HTTP: {_answered(calls, theirs)}"
    return Row(what, _answered(calls, ours), beside, ours[1] / theirs[1])


def _answered(calls: int, result: tuple[int, float]) -> str:
    answered, seconds = result
    return (
        f"{seconds:.2f} s"
        if answered == calls
        else f"stopped after {seconds:.0f} s and {answered:,} calls"
    )


def _recording(model: Chat, folder: Path) -> Row:
    def ask() -> None:
        for number in range(RECORDED_CALLS):
            model.prompt(f"Question number {number}").text()

    def record() -> None:
        with _cassette(folder / "recorded.yaml", "rewrite") as cassette:
            ask()
        cassette.save(passed=True)

    recorded, plain = _fastest(record), _fastest(ask)
    return compared(
        "a call through HTTP on loopback, recorded and written",
        recorded / RECORDED_CALLS,
        "not recorded",
        plain / RECORDED_CALLS,
    )


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    attach()
    with tempfile.TemporaryDirectory() as name, _model() as model:
        folder = Path(name)
        for calls in (FEWER_CALLS, CALLS):
            yield _playing(calls, _ours(model, folder, calls), _vcr(model, folder, calls))
        yield _recording(model, folder)
