"""A connection of the server, byte by byte and second by second, on a clock that jumps."""

from __future__ import annotations

import asyncio
import selectors
import socket
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from llm_mock.boundaries.http.connection import Connection, ServerContext, enter_task
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.http1 import RequestHead, RequestReader
from llm_mock.boundaries.http.providers.openai import OPENAI
from llm_mock.boundaries.http.wire import WireResponse, error_response
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.core.events import RealWait, Wait

Respond = Callable[[RequestHead, bytes], Awaitable[WireResponse]]
GET = b"GET / HTTP/1.1\r\nhost: a\r\n\r\n"
LAST = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
HELLO = b"HTTP/1.1 200 OK\r\nx: y\r\n\r\nHello"


class JumpingSelector(selectors.DefaultSelector):
    """A selector that lets the time of its loop jump where it would have to wait."""

    now = 0.0

    def select(self, timeout: float | None = None) -> Any:
        assert timeout is not None, "Nothing would ever happen."
        self.now += max(timeout, 0.0)
        return super().select(0)


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose time jumps."""

    def __init__(self) -> None:
        self.clock = JumpingSelector()
        super().__init__(self.clock)

    def time(self) -> float:
        return self.clock.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.run_until_complete(asyncio.sleep(seconds))


class Socket:
    """The socket of a connection, which notes its options."""

    def __init__(self) -> None:
        self.options: list[tuple[int, int, int]] = []

    def setsockopt(self, *option: int) -> None:
        self.options.append(option)  # type: ignore[arg-type]


class MemoryTransport(asyncio.Transport):
    """A transport that keeps what is written to it."""

    def __init__(self, loop: JumpingLoop, connection: Connection) -> None:
        super().__init__()
        self.socket = Socket()
        self.writes: list[bytes] = []
        self.events: list[str] = []
        self._loop = loop
        self._connection = connection
        self._closing = False

    @property
    def written(self) -> bytes:
        return b"".join(self.writes)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"socket": self.socket}[name]

    def write(self, data: Any) -> None:
        assert not self._closing
        self.writes.append(bytes(data))

    def write_eof(self) -> None:
        self.events.append("eof")

    def pause_reading(self) -> None:
        self.events.append("pause")

    def resume_reading(self) -> None:
        self.events.append("resume")

    def is_closing(self) -> bool:
        return self._closing

    def close(self) -> None:
        self._end("close")

    def abort(self) -> None:
        self._end("abort")

    def _end(self, event: str) -> None:
        if not self._closing:
            self.events.append(event)
            self._closing = True
            self._loop.call_soon(self._connection.connection_lost, None)


class Client:
    """The other end of a connection."""

    def __init__(self, loop: JumpingLoop, respond: Respond, keep_alive: bool = True) -> None:
        self.loop = loop
        self.context = ServerContext(
            lambda head, body, connection: respond(head, body), refuse, keep_alive
        )
        self.connection = loop.run_until_complete(self._connect())

    async def _connect(self) -> Connection:
        connection = Connection(self.context)
        self.transport = MemoryTransport(self.loop, connection)
        connection.connection_made(self.transport)
        return connection

    def send(self, *pieces: bytes) -> bytes:
        """Send bytes, and return all that came so far."""
        for piece in pieces:
            self.loop.call_soon(self.connection.data_received, piece)
        self.settle()
        return self.transport.written

    def settle(self) -> None:
        """Let the server do all that needs no time."""
        for _ in range(20):
            self.loop.run_until_complete(asyncio.sleep(0))


def refuse(head: RequestHead | None, error: WireError) -> WireResponse:
    return error_response(OPENAI.errors, error)


@pytest.fixture
def loop() -> Iterator[JumpingLoop]:
    loop = JumpingLoop()
    yield loop
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks))
    loop.close()


NO_WAIT = Wait(0)


def respond_with(body: Any, delay: Wait = NO_WAIT, status: int = 200) -> Respond:
    async def respond(head: RequestHead, body_: bytes) -> WireResponse:
        return WireResponse(status, [("x", "y")], body, delay)

    return respond


async def echo(head: RequestHead, body: bytes) -> WireResponse:
    return WireResponse(200, [], b"[%b]" % body)


async def later(head: RequestHead, body: bytes) -> WireResponse:
    await enter_task()
    await asyncio.sleep(10)
    return WireResponse(200, [], b"late")


def make_post(body: bytes) -> bytes:
    return b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


# Time


def test_a_client_has_a_minute_to_send_a_request(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    client.send(GET[:-1])
    loop.wait(59.9)
    assert client.transport.events == []
    loop.wait(0.2)
    assert client.transport.events == ["abort"]
    assert client.context.connections == set()


def test_each_request_prolongs_the_minute(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(b"Hello"))
    for count in (1, 2, 3):
        loop.wait(50)
        assert client.send(GET) == HELLO * count
    loop.wait(59.9)
    assert client.transport.events == []
    loop.wait(0.2)
    assert client.transport.events == ["abort"]


def test_the_minute_does_not_count_while_an_answer_waits(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(b"Hello", RealWait(100)))
    client.send(GET)
    loop.wait(99.9)
    assert client.transport.writes == []
    loop.wait(0.2)
    assert (client.transport.written, client.transport.events) == (HELLO, ["resume"])
    loop.wait(59)
    assert client.transport.events == ["resume"]
    loop.wait(1)
    assert client.transport.events == ["resume", "abort"]


def test_a_client_has_a_minute_to_read(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(iter([b"a", b"b"])))
    client.connection.pause_writing()
    client.send(GET)
    loop.wait(59.9)
    assert client.transport.events == []
    loop.wait(0.2)
    assert client.transport.events == ["abort"]


def test_an_answer_goes_on_as_soon_as_the_client_has_read(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(b"Hello"))
    client.connection.resume_writing()
    client.connection.pause_writing()
    client.send(GET, LAST)
    assert client.transport.written == HELLO
    client.connection.resume_writing()
    client.connection.resume_writing()
    client.settle()
    assert client.transport.written.count(b"Hello") == 2
    assert client.transport.events[-1] == "close"


def test_a_call_that_times_out_hangs_for_ten_minutes(loop: JumpingLoop) -> None:
    async def respond(head: RequestHead, body: bytes) -> WireResponse:
        raise ConnectionFailure("timeout", "too slow")

    client = Client(loop, respond)
    client.send(GET)
    loop.wait(599.9)
    assert client.transport.events == []
    loop.wait(0.2)
    assert (client.transport.writes, client.transport.events) == ([], ["close"])


@pytest.mark.parametrize("kind", ["connect", "dropped"])
def test_a_connection_that_fails_is_closed_at_once(kind: str, loop: JumpingLoop) -> None:
    async def respond(head: RequestHead, body: bytes) -> WireResponse:
        raise ConnectionFailure(kind, "gone")

    client = Client(loop, respond)
    assert client.send(GET) == b""
    assert (client.transport.events, loop.time()) == (["close"], 0)


def test_the_rest_of_a_refused_request_is_discarded_for_five_seconds(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    answer = client.send(b"GET\r\n\r\n", GET)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert b"\r\nconnection: close" in head
    assert b"Invalid request line" in body
    assert client.transport.events == ["eof"]
    assert client.send(GET) == answer
    loop.wait(4.9)
    assert client.transport.events == ["eof"]
    loop.wait(0.2)
    assert client.transport.events == ["eof", "abort"]


def test_a_client_that_is_gone_is_refused_quietly(loop: JumpingLoop) -> None:
    client = Client(loop, echo)

    def fail() -> None:
        raise OSError("not connected")

    client.transport.write_eof = fail  # type: ignore[method-assign]
    assert client.send(b"GET\r\n\r\n").startswith(b"HTTP/1.1 400")
    loop.wait(5)
    assert client.transport.events == ["abort"]


# Requests


def test_small_packets_are_sent_at_once(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    assert client.transport.socket.options == [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]


def test_requests_are_answered_in_their_order_and_as_they_come(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    requests = make_post(b"1") + make_post(b"2") + make_post(b"3")
    first = client.send(requests[:-1])
    assert first.endswith(b"[2]")
    assert client.send(requests[-1:]).endswith(b"[3]")
    assert client.send(b"", b"\r\n\r\n").endswith(b"[3]")


def test_a_request_waits_until_the_one_before_is_answered(loop: JumpingLoop) -> None:
    client = Client(loop, later)
    client.send(GET + GET, LAST)
    for count in (0, 1, 2, 3):
        assert client.transport.written.count(b"late") == count
        loop.wait(10.1)
    assert client.transport.events[-1] == "close"


@pytest.mark.parametrize("is_too_much", [False, True])
def test_256_kib_of_further_requests_are_read_while_one_is_answered(
    is_too_much: bool, loop: JumpingLoop
) -> None:
    client = Client(loop, later)
    client.send(GET)
    client.send(b"x" * (256 * 1024 + is_too_much))
    assert client.transport.events == (["pause"] if is_too_much else [])
    loop.wait(10.1)
    assert "resume" in client.transport.events


@pytest.mark.parametrize("keep_alive", [False, True])
@pytest.mark.parametrize(
    ("version", "header", "wants"),
    [
        ("1.1", "", True),
        ("1.1", "connection: close\r\n", False),
        ("1.1", "Connection: X, Close\r\n", False),
        ("1.0", "", False),
        ("1.0", "connection: keep-alive\r\n", True),
        ("1.0", "Connection: Keep-Alive\r\n", True),
        ("1.0", "connection: close, keep-alive\r\n", False),
    ],
)
def test_a_connection_stays_open_if_both_ends_want_that(
    version: str, header: str, wants: bool, keep_alive: bool, loop: JumpingLoop
) -> None:
    client = Client(loop, echo, keep_alive)
    answer = client.send(f"GET / HTTP/{version}\r\nhost: a\r\n{header}\r\n".encode())
    stays = wants and keep_alive
    assert (b"connection: close" in answer) is not stays
    assert client.transport.events == ([] if stays else ["close"])
    assert (client.connection in client.context.connections) is stays


def test_a_client_that_expects_it_is_asked_for_each_body_once(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    head = b"POST / HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 2\r\n\r\n"
    asked = b"HTTP/1.1 100 Continue\r\n\r\n"
    assert client.send(head[:-2]) == b""
    assert client.send(head[-2:]) == asked
    assert client.send(b"a") == asked
    answered = asked + b"HTTP/1.1 200 OK\r\n\r\n[ab]"
    assert client.send(b"b") == answered
    assert client.send(head) == answered + asked
    assert client.send(b"ab") == answered * 2
    # The body came with the head, so that nothing has to be asked.
    assert client.send(head + b"ab") == answered * 2 + answered.removeprefix(asked)
    assert client.send(make_post(b"a")[:-1]).count(asked) == 2


def test_a_client_that_goes_ends_its_answer(loop: JumpingLoop) -> None:
    ended: list[str] = []

    async def respond(head: RequestHead, body: bytes) -> WireResponse:
        await enter_task()
        try:
            await asyncio.sleep(1000)
        finally:
            ended.append("ended")
        raise AssertionError

    client = Client(loop, respond)
    client.send(GET)
    assert ended == []
    client.connection.connection_lost(None)
    client.settle()
    assert ended == ["ended"]
    assert client.context.connections == set()
    loop.wait(100)
    assert client.transport.writes == []


def test_a_client_that_goes_before_its_request_leaves_no_timer(loop: JumpingLoop) -> None:
    client = Client(loop, echo)
    client.connection.connection_lost(None)
    loop.wait(100)
    assert client.transport.events == []


def test_an_answer_for_a_client_that_is_gone_is_dropped(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(iter([RealWait(1), b"a"])))
    client.send(GET)
    client.transport.abort()
    client.settle()
    loop.wait(2)
    assert client.transport.events == ["abort"]


# Responses


def read_chunks(data: bytes) -> tuple[bytes, list[bytes]]:
    head, _, rest = data.partition(b"\r\n\r\n")
    chunks = []
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        chunks.append(rest[: int(size, 16)])
        assert rest[int(size, 16) :].startswith(b"\r\n")
        rest = rest[int(size, 16) + 2 :]
    return head, chunks


def test_a_stream_is_sent_in_chunks_and_an_empty_one_does_not_end_it(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(iter([b"a", b"", b"b" * 20, Wait(9)])))
    head, chunks = read_chunks(client.send(GET))
    assert head.split(b"\r\n") == [b"HTTP/1.1 200 OK", b"x: y", b"transfer-encoding: chunked"]
    assert chunks == [b"a", b"b" * 20, b""]
    assert (client.transport.events, loop.time()) == ([], 0)
    assert len(client.transport.writes) == 1


def test_a_stream_is_sent_up_to_each_wait(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(iter([b"a", RealWait(1), b"b", RealWait(1)])))
    client.send(LAST)
    assert [write.endswith(b"1\r\na\r\n") for write in client.transport.writes] == [True]
    loop.wait(0.9)
    assert len(client.transport.writes) == 1
    loop.wait(0.2)
    assert client.transport.writes[1:] == [b"1\r\nb\r\n"]
    loop.wait(1)
    assert client.transport.writes[2:] == [b"0\r\n\r\n"]
    assert client.transport.events == ["close"]


@pytest.mark.parametrize("is_more", [False, True])
def test_64_kib_of_a_stream_are_sent_at_once(is_more: bool, loop: JumpingLoop) -> None:
    head = b"HTTP/1.1 200 OK\r\nx: y\r\nconnection: close\r\n\r\n"
    chunk = b"x" * (64 * 1024 - len(head) + is_more)
    client = Client(loop, respond_with(iter([chunk, b"end"])))
    request = LAST.replace(b"1.1", b"1.0")
    assert client.send(request) == head + chunk + b"end"
    expected = [head + chunk, b"end"] if is_more else [head + chunk + b"end"]
    assert list(filter(None, client.transport.writes)) == expected
    assert client.transport.events == ["close"]


def test_a_stream_that_fails_ends_without_its_last_chunk(loop: JumpingLoop) -> None:
    closed = []

    def stream() -> Iterator[bytes]:
        try:
            yield b"a"
            raise ConnectionFailure("dropped", "gone")
        finally:
            closed.append(True)

    client = Client(loop, respond_with(stream()))
    assert client.send(GET).endswith(b"\r\n\r\n1\r\na\r\n")
    assert (client.transport.events, closed) == (["close"], [True])


def test_a_stream_that_nobody_reads_is_closed(loop: JumpingLoop) -> None:
    closed = []

    def stream() -> Iterator[bytes | Wait]:
        try:
            while True:
                yield b"a"
                yield RealWait(1)
        finally:
            closed.append(True)

    client = Client(loop, respond_with(stream()))
    client.send(GET)
    loop.wait(5)
    assert closed == []
    client.transport.abort()
    loop.wait(5)
    assert closed == [True]


@pytest.mark.parametrize(
    ("status", "line"),
    [(200, b"HTTP/1.1 200 OK"), (404, b"HTTP/1.1 404 Not Found"), (529, b"HTTP/1.1 529 ")],
)
def test_a_status_has_its_phrase_if_it_is_standard(
    status: int, line: bytes, loop: JumpingLoop
) -> None:
    client = Client(loop, respond_with(b"", status=status))
    assert client.send(GET).split(b"\r\n")[0] == line


def test_an_answer_to_head_has_no_body_and_one_to_other_methods_has(loop: JumpingLoop) -> None:
    client = Client(loop, respond_with(b"Hello"))
    assert client.send(GET.replace(b"GET", b"HEAD")) == HELLO.removesuffix(b"Hello")
    assert client.send(GET.replace(b"GET", b"HEADS")).endswith(b"\r\n\r\nHello")


def test_headers_are_latin_1(loop: JumpingLoop) -> None:
    async def respond(head: RequestHead, body: bytes) -> WireResponse:
        return WireResponse(200, [("x", "ü and €")], b"")

    assert b"\r\nx: \xfc and ?\r\n" in Client(loop, respond).send(GET)


# Sizes


def read(data: bytes) -> str | int | bytes:
    """Return the body of a request, `more` if it is not complete, or the status of its refusal."""
    reader = RequestReader()
    reader.feed(data)
    try:
        request = reader.read_request()
    except WireError as error:
        return error.status
    return "more" if request is None else request[1]


CHUNKED = b"POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n"
SIZED = b"POST / HTTP/1.1\r\nhost: a\r\ncontent-length: %d\r\n\r\n"


def make_head(size: int) -> bytes:
    start = b"GET / HTTP/1.1\r\nhost: a\r\nx: "
    return start + b"x" * (size - len(start))


@pytest.mark.parametrize(
    ("data", "result"),
    [
        pytest.param(make_head(65_536) + b"\r\n\r\n", b"", id="head"),
        pytest.param(make_head(65_537) + b"\r\n\r\n", 431, id="head+1"),
        pytest.param(make_head(65_536), "more", id="open head"),
        pytest.param(make_head(65_537), 431, id="open head+1"),
        pytest.param(SIZED % 67_108_864, "more", id="body"),
        pytest.param(SIZED % 67_108_865, 413, id="body+1"),
        pytest.param(SIZED % 999_999_999_999_999_999, 413, id="digits"),
        pytest.param(SIZED % 1_000_000_000_000_000_000, 400, id="digits+1"),
        pytest.param(CHUNKED + b"4000000\r\n", "more", id="chunk"),
        pytest.param(CHUNKED + b"4000001\r\n", 413, id="chunk+1"),
        pytest.param(CHUNKED + b"1\r\na\r\n3ffffff\r\n", "more", id="chunks"),
        pytest.param(CHUNKED + b"1\r\na\r\n4000000\r\n", 413, id="chunks+1"),
        pytest.param(CHUNKED + b"0" * 15 + b"1\r\na\r\n0\r\n\r\n", b"a", id="chunk digits"),
        pytest.param(CHUNKED + b"0" * 16 + b"1\r\na\r\n0\r\n\r\n", 400, id="chunk digits+1"),
        pytest.param(CHUNKED + b"1;" + b"x" * 1020 + b"\r\na\r\n", "more", id="chunk line"),
        pytest.param(CHUNKED + b"1;" + b"x" * 1021 + b"\r\na\r\n", 400, id="chunk line+1"),
        pytest.param(CHUNKED + b"1;" + b"x" * 1021, "more", id="open chunk line"),
        pytest.param(CHUNKED + b"1;" + b"x" * 1022, 400, id="open chunk line+1"),
        pytest.param(CHUNKED + b"0\r\nx:" + b"x" * 1020 + b"\r\n\r\n", b"", id="trailer"),
        pytest.param(CHUNKED + b"0\r\nx:" + b"x" * 1021 + b"\r\n\r\n", 400, id="trailer+1"),
        pytest.param(CHUNKED + b"1\r\nab\r\n", 400, id="content+1"),
        pytest.param(CHUNKED + b"2\r\nab", "more", id="open content"),
        pytest.param(CHUNKED + b"2\r\nab\r\n0\r\n", "more", id="open trailers"),
        pytest.param(CHUNKED + b"0\r\nx\r\n\r\n", 400, id="trailer without a colon"),
        pytest.param(SIZED % 2 + b"ab", b"ab", id="sized"),
        pytest.param(SIZED % 2 + b"a", "more", id="sized-1"),
    ],
)
def test_each_size_of_a_request_has_an_edge(data: bytes, result: str | int | bytes) -> None:
    assert read(data) == result


def test_requests_leave_nothing_of_their_bodies_to_the_next_one() -> None:
    reader = RequestReader()
    bodies = []
    for data in (
        CHUNKED + b"1\r\na\r\n0\r\nt: x\r\n\r\n",
        SIZED % 1 + b"b",
        CHUNKED + b"0\r\n\r\n",
    ):
        reader.feed(b"\r\n\r\n" + data)
    for _ in range(3):
        request = reader.read_request()
        assert request is not None
        bodies.append(request[1])
    assert (bodies, reader.buffered_bytes, reader.read_request()) == ([b"a", b"b", b""], 0, None)


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", 400, "The header host is missing."),
        (b"GET / HTTP/2.0\r\n\r\n", 505, "Unsupported HTTP version HTTP/2.0; only HTTP/1.1 is"),
        (b"GET /\r\n\r\n", 400, "Invalid request line; expected an HTTP/1.1 request."),
        (b"GET / HTTP/1.1\nhost: a\n", 400, "Invalid headers: line feed without a carriage"),
        (b"GET / HTTP/1.1\r\nhost a\r\n\r\n", 400, "Invalid header; expected a name, a colon"),
        (b"GET / HTTP/1.1\r\nx: \x01\r\n\r\n", 400, "Invalid header x: it contains a control"),
        (b"GET / HTTP/1.1\r\nhost: a\r\nHost: a\r\n\r\n", 400, "Duplicate header host."),
        (SIZED[:-2] % 1 + b"content-length: 2\r\n\r\n", 400, "Duplicate header content-length."),
        (CHUNKED[:-2] + b"transfer-encoding: chunked\r\n\r\n", 400, "Duplicate header transfer-"),
        (CHUNKED[:-2] + b"content-length: 1\r\n\r\n", 400, "A request must not have both"),
        (CHUNKED.replace(b"chunked", b"gzip"), 501, "Unsupported transfer-encoding gzip; only"),
        (SIZED.replace(b"%d", b"1a"), 400, "Invalid header content-length; expected a number."),
        (CHUNKED + b"x\r\n", 400, "Invalid chunk size."),
        (CHUNKED + b"1\r\nabc", 400, "Invalid chunk: its content does not match its size."),
        (CHUNKED + b"1" * 1024, 400, "Invalid chunk: expected a line with its size."),
        (SIZED % 67_108_865, 413, "The body is too large; it must have at most 67,108,864 bytes."),
        (make_head(65_537), 431, "The headers are too large; they must have at most 65,536 bytes."),
    ],
)
def test_a_malformed_request_is_refused_with_the_reason(
    data: bytes, status: int, message: str
) -> None:
    reader = RequestReader()
    reader.feed(data)
    with pytest.raises(WireError) as raised:
        reader.read_request()
    assert raised.value.status == status
    assert raised.value.message.startswith(message)


@pytest.mark.parametrize(
    ("target", "host", "path", "query"),
    [
        ("/v1/x?a=1?b", "a", "/v1/x", "a=1?b"),
        ("http://b", None, "/", ""),
        ("http://b/", None, "/", ""),
        ("http://b/v1/x?a=1", None, "/v1/x", "a=1"),
        ("a.b-c+1://b/v1", None, "/v1", ""),
        ("/http://b/v1", "a", "/http://b/v1", ""),
        ("1http://b/v1", "a", "1http://b/v1", ""),
    ],
)
def test_a_target_may_be_a_path_or_a_url(
    target: str, host: str | None, path: str, query: str
) -> None:
    reader = RequestReader()
    reader.feed(f"GET {target} HTTP/1.1\r\nhost: a\r\nX-Y: \t b c \r\n\r\n".encode())
    request = reader.read_request()
    assert request is not None
    head = request[0]
    assert (head.method, head.host, head.path, head.query) == ("GET", host, path, query)
    assert head.headers == {"host": "a", "x-y": "b c"}
    assert (head.is_http_1_1, head.length) == (True, 0)
