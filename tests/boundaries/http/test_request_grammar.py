"""The server parses requests as h11 does, over thousands of mutated requests."""

from __future__ import annotations

import random
import re
from typing import NamedTuple

import h11
import pytest

from llm_mock.boundaries.http.http1 import RequestReader
from llm_mock.boundaries.http.wire_error import WireError

REQUESTS = (
    (
        b"POST /v1/chat/completions?a=1 HTTP/1.1\r\nHost: localhost:80\r\nContent-Length: 5\r\n"
        b"X-A: b c\r\n\r\nhello"
    ),
    b"GET / HTTP/1.0\r\nAccept: */*\r\n\r\n",
    (
        b"POST /v1/x HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"
        b"3;x=y\r\n, w\r\n0\r\n\r\n"
    ),
    b"POST http://a/v1/x HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 0\r\n\r\n",
)
PIECES = (
    *(bytes([code]) for code in (*range(0x21), 0x22, 0x3A, 0x7F, 0x80, 0xFF)),
    *(
        b"\r\n",
        b"\n\n",
        b"\r",
        b"\r\n\r\n",
        b"HTTP/1.1",
        b"HTTP/1.0",
        b"HTTP/2.0",
        b"HTTP/1.11",
        b" ",
        b"\t",
        b"a",
    ),
    *(
        b"Host: b\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: 7\r\n",
        b"Transfer-Encoding: chunked\r\n",
    ),
    *(
        b"Transfer-Encoding: gzip\r\n",
        b"X : y\r\n",
        b" folded\r\n",
        b"-5",
        b"0x5",
        b"5 ",
        b"G",
        b"0\r\n\r\n",
        b": ",
    ),
)
MUTATIONS = 2_000


class Parsed(NamedTuple):
    """The parts of a complete request that both parsers return."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes


def by_h11(data: bytes) -> Parsed | str:
    """Return what h11 reads: a request, `incomplete` or `refused`."""
    connection, body, request = (
        h11.Connection(h11.SERVER, max_incomplete_event_size=100_000),
        b"",
        None,
    )
    try:
        connection.receive_data(data)
        while True:
            event = connection.next_event()
            if isinstance(event, h11.Request):
                request = event
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                break
            else:
                return "incomplete"
    except h11.RemoteProtocolError:
        return "refused"
    assert request is not None
    headers = sorted(
        {(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers}
    )
    return Parsed(request.method.decode(), request.target.decode("latin-1"), headers, body)


def by_us(data: bytes) -> Parsed | str:
    """Return what the server reads."""
    reader = RequestReader()
    reader.feed(data)
    try:
        asked = reader.read_request()
    except WireError:
        return "refused"
    if asked is None:
        return "incomplete"
    head, body = asked
    target = head.path + (f"?{head.query}" if head.query else "")
    return Parsed(head.method, target, sorted(head.headers.items()), body)


def is_stricter_on_purpose(data: bytes) -> bool:
    """Return whether a request is refused although h11 takes it.

    A line feed without a carriage return, a folded header, a control character, or a length
    beside chunks: of each of these, two readers may make two different requests. Only versions
    1.0 and 1.1 are read.
    """
    lines = data.split(b"\r\n")
    names = [line.partition(b":")[0].lower() for line in lines]
    return (
        b"\n" in data.replace(b"\r\n", b"")
        or b"\r" in data.replace(b"\r\n", b"")
        or any(line[:1] in (b" ", b"\t") for line in lines)
        or any((byte < 0x20 and byte != 9) or byte == 0x7F for line in lines for byte in line)
        or (b"content-length" in names and b"transfer-encoding" in names)
    )


def mutated(chance: random.Random) -> bytes:
    """Return a request in which a few pieces are put in, taken out or doubled."""
    data = chance.choice(REQUESTS)
    for _ in range(chance.randint(1, 3)):
        start = chance.randrange(len(data) + 1)
        end = min(len(data), start + chance.choice((0, 0, 0, 1, 1, 2, 8)))
        data = (
            data[:start]
            + chance.choice((b"", data[start:end] * 2, chance.choice(PIECES)))
            + data[end:]
        )
    return data


def same(ours: Parsed | str, theirs: Parsed | str) -> bool:
    """Return whether both parsers agree; of repeated headers the server keeps the last one."""
    if isinstance(ours, str) or isinstance(theirs, str):
        # one of them may wait for the rest of what is malformed already
        return ours == theirs or all(each in ("incomplete", "refused") for each in (ours, theirs))
    target = theirs.target
    if re.match("[A-Za-z][A-Za-z0-9+.-]*://", target):  # as to a proxy
        target = "/" + target.split("/", 3)[3] if target.count("/") > 2 else "/"
    headers = {name for name, _ in theirs.headers}
    is_same = (
        ours.method == theirs.method
        and ours.target.rstrip("?") == target.rstrip("?")
        and ours.body == theirs.body
    )
    return (
        is_same
        and {name for name, _ in ours.headers} == headers
        and set(ours.headers) <= set(theirs.headers)
    )


@pytest.mark.parametrize("seed", range(4))
def test_requests_are_read_as_h11_reads_them(seed: int) -> None:
    chance = random.Random(seed)
    outcomes = set()
    for _ in range(MUTATIONS):
        data = mutated(chance)
        while data.startswith(b"\r\n"):  # RFC 9112 has servers ignore it; h11 does not
            data = data[2:]
        ours, theirs = by_us(data), by_h11(data)
        outcomes.add(ours if isinstance(ours, str) else "read")
        if not same(ours, theirs):
            assert isinstance(ours, str), f"{data!r}: {ours}, h11: {theirs}"
            assert is_stricter_on_purpose(data), f"{data!r}: {ours}, h11: {theirs}"
    assert outcomes == {"read", "incomplete", "refused"}


@pytest.mark.parametrize("request_", REQUESTS)
def test_whole_requests_are_read_by_both(request_: bytes) -> None:
    assert isinstance(by_us(request_), Parsed)
    assert same(by_us(request_), by_h11(request_))


@pytest.mark.parametrize(
    "head",
    [
        b"GET / HTTP/1.1\r\nAccept: */*\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\nEvil: b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: a\x0bb\r\n\r\n",
    ],
)
def test_what_two_readers_may_read_differently_is_refused(head: bytes) -> None:
    assert by_us(head) == "refused"
