"""A server whose mock has a cassette that records: what is not in it is asked of the provider."""

from __future__ import annotations

import asyncio
import functools
import http.client
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import forwarding
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.cassettes import Cassette
from tests.provider_server import KEY, TEXT, ProviderServer, served


class Connections(http.client.HTTPConnection):
    """Connections to a host on loopback in place of every other."""

    target = ""

    def __init__(self, host: str, timeout: float) -> None:
        super().__init__(self.target, timeout=timeout)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """Yield what stands for the providers' hosts."""
    with served(ProviderServer()) as provider:
        monkeypatch.setattr(Connections, "target", provider.host)
        monkeypatch.setattr(forwarding.http.client, "HTTPSConnection", Connections)
        yield provider


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def ask(cassette: Path, go_on: Callable[[], None]) -> list[Any]:
    """Return the results of an SDK from a server with a cassette: whole, streamed, an error."""
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(cassette, "new_episodes")
    with (
        MockServer(lambda: mock) as server,
        openai.OpenAI(base_url=server.openai_url, api_key=KEY, max_retries=0) as client,
    ):
        create = functools.partial(client.chat.completions.create, model="gpt-4o")
        whole = create(messages=user("Hello"))
        started = time.monotonic()
        stream = create(messages=user("Go slowly"), stream=True)
        chunks = [next(stream)]
        # The provider waits for ten seconds at most; until then it has sent the first chunks alone.
        assert time.monotonic() - started < 8
        go_on()
        chunks += list(stream)
        with pytest.raises(openai.RateLimitError) as caught:
            create(messages=user("a fail"))
    mock.cassette.save(passed=True)
    assert mock.problems == []
    return [whole.model_dump(), [chunk.model_dump() for chunk in chunks], caught.value.body]


def test_what_no_reply_is_there_for_is_asked_of_the_provider_once(
    provider: ProviderServer, tmp_path: Path
) -> None:
    provider.go_on.clear()
    recorded = ask(tmp_path / "cassette.yaml", provider.go_on.set)
    assert recorded[0]["choices"][0]["message"]["content"] == TEXT
    assert ask(tmp_path / "cassette.yaml", provider.go_on.set) == recorded
    assert len(provider.requests) == 3
    assert KEY not in (tmp_path / "cassette.yaml").read_text()


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (PLACEHOLDER_KEY, "There is no API key for api.openai.com"),
        (KEY, "Cannot reach api.openai.com: "),
    ],
)
def test_a_provider_that_cannot_be_asked_is_an_error_that_says_so(
    key: str, told: str, provider: ProviderServer, tmp_path: Path
) -> None:
    provider.shutdown()
    provider.server_close()
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(tmp_path / "cassette.yaml", "new_episodes")
    with (
        MockServer(lambda: mock) as server,
        openai.OpenAI(base_url=server.openai_url, api_key=key, max_retries=0) as client,
        pytest.raises(openai.APIStatusError, match=told),
    ):
        client.chat.completions.create(model="gpt-4o", messages=user("Hello"))


class Recording:
    """A recording that keeps what it is given."""

    def __init__(self) -> None:
        self.begun: list[Any] = []
        self.taken: list[bytes] = []

    def begin(self, *response: Any) -> None:
        self.begun.append(response)

    def take(self, chunk: bytes) -> None:
        self.taken.append(chunk)

    @contextmanager
    def guard_send(self) -> Iterator[None]:
        yield

    guard_read = guard_send


class Connection:
    """A connection to a provider, which notes what it sends and answers in pieces."""

    def __init__(self, host: str, timeout: float) -> None:
        self.made = host, timeout
        self.sent: Any = None
        self.chunks: list[Any] = [b"a", b"bc", b""]
        self.is_closed = False
        self.status = 418
        made.append(self)

    def request(self, *request: Any) -> None:
        self.sent = request

    def getresponse(self) -> Any:
        return self

    def getheaders(self) -> list[tuple[str, str]]:
        names = ("Connection", "Content-Length", "Transfer-Encoding", "Keep-Alive")
        others = ("X-A", "Connections", "Retry-After", "Set-Cookie", "Set-Cookie")
        return [(name, "1") for name in (*names, *others)]

    def read1(self, size: int) -> bytes:
        assert size == 65_536
        chunk = self.chunks.pop(0)
        if isinstance(chunk, Exception):
            raise chunk
        return bytes(chunk)

    def close(self) -> None:
        self.is_closed = True


made: list[Connection] = []
SENT_HEADERS = {
    "host": "127.0.0.1",
    "connection": "close",
    "content-length": "2",
    "transfer-encoding": "chunked",
    "accept-encoding": "gzip",
    "expect": "100-continue",
    "keep-alive": "timeout=5",
    "authorization": "Bearer a",
    "x-a": "b",
}


def forward(query: str = "") -> tuple[Any, list[Any], Recording]:
    """Forward a request; return the response, its chunks and the recording."""
    sent = WireRequest("PUT", "a.test", "/v1/x", query, SENT_HEADERS, b"{}")
    recording: Any = Recording()

    async def run() -> Any:
        return await forwarding.forward(sent, recording)

    response = asyncio.run(run())
    return response, response.body, recording


@pytest.fixture
def _connection(monkeypatch: pytest.MonkeyPatch) -> None:
    made.clear()
    monkeypatch.setattr(forwarding.http.client, "HTTPSConnection", Connection)


@pytest.mark.usefixtures("_connection")
@pytest.mark.parametrize(("query", "target"), [("", "/v1/x"), ("a=1&b", "/v1/x?a=1&b")])
def test_a_request_is_sent_without_the_headers_of_its_connection(query: str, target: str) -> None:
    response, body, recording = forward(query)
    chunks = []
    for chunk in body:
        if isinstance(chunk, bytes):
            chunks.append(chunk)
        else:
            # Real time, in which the server answers others.
            assert (chunk.served, chunk) == (True, 0.005)
    [connection] = made
    headers = {"authorization": "Bearer a", "x-a": "b", "accept-encoding": "identity"}
    assert connection.made == ("a.test", 600)
    assert connection.sent == ("PUT", target, b"{}", headers)
    kept = [("X-A", "1"), ("Connections", "1"), ("Retry-After", "1")] + [("Set-Cookie", "1")] * 2
    assert (response.status, response.headers) == (418, kept)
    assert recording.begun == [(418, kept)]
    assert chunks == recording.taken == [b"a", b"bc"]
    assert connection.is_closed


@pytest.mark.usefixtures("_connection")
def test_a_body_that_breaks_is_recorded_so_far_and_breaks_for_the_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    original = Connection.__init__

    def breaking(self: Connection, host: str, timeout: float) -> None:
        original(self, host, timeout)
        self.chunks = [b"a", http.client.IncompleteRead(b"")]

    monkeypatch.setattr(Connection, "__init__", breaking)
    _, body, recording = forward()
    with pytest.raises(http.client.IncompleteRead):
        list(body)
    assert recording.taken == [b"a"]
    assert made[0].is_closed


@pytest.mark.usefixtures("_connection")
@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError("no route"), "Cannot reach a.test: no route"),
        (TimeoutError(), "Cannot reach a.test: TimeoutError"),
        (http.client.BadStatusLine("x"), "Cannot reach a.test: x"),
    ],
)
def test_a_provider_that_cannot_be_reached_is_a_502(
    error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Connection, *request: Any) -> None:
        raise error

    monkeypatch.setattr(Connection, "request", fail)
    with pytest.raises(WireError) as raised:
        forward()
    assert (raised.value.status, raised.value.message) == (502, message)
    assert raised.value.__suppress_context__
