"""Requests and responses in the form that all HTTP libraries share, and the clock of a client."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.errors import ConnectionFailure
from llm_mock.boundaries.http.server import _hide_credentials, is_local_host
from llm_mock.boundaries.http.wire import (
    WireRequest,
    event_stream_response,
    json_response,
    server_sent_event,
)
from llm_mock.core.context import current_mock
from llm_mock.core.events import RealWait, Silence, Wait
from llm_mock.support.redaction import redact


def make_request(path: str = "/v1/x", query: str = "", **more: Any) -> WireRequest:
    return WireRequest("POST", "a.test", path, query, {}, b"", **more)


@pytest.mark.parametrize(
    ("request_", "url"),
    [
        (make_request(), "https://a.test/v1/x"),
        (make_request(query="a=1&b=2"), "https://a.test/v1/x?a=1&b=2"),
        (make_request(port=443), "https://a.test/v1/x"),
        (make_request(port=80), "https://a.test:80/v1/x"),
        (make_request(port=444), "https://a.test:444/v1/x"),
        (make_request(scheme="http", port=80), "http://a.test/v1/x"),
        (make_request(scheme="http", port=443), "http://a.test:443/v1/x"),
        (make_request(scheme="http"), "http://a.test/v1/x"),
        (make_request()._replace(host="::1", port=8080), "https://[::1]:8080/v1/x"),
        (make_request()._replace(host="::1"), "https://[::1]/v1/x"),
    ],
)
def test_a_request_has_a_url(request_: WireRequest, url: str) -> None:
    assert request_.url == url


def test_the_secrets_of_a_request_are_in_headers_and_in_the_query() -> None:
    headers = {
        "authorization": "Bearer one",
        "cookie": "a=two",
        "x-api-key": "three",
        "x-goog-api-key": "four",
        "x-auth-token": "five",
        "content-type": "application/json",
        "authorizations": "no",
        "cookies": "no",
        "x-keys": "no",
    }
    sent = WireRequest("GET", "a", "/", "key=six&alt=sse&token=se%20ven&keys=no", headers, b"")
    assert sent.secrets() == ["Bearer one", "a=two", "three", "four", "five", "six", "se ven"]
    assert make_request().secrets() == []


def test_the_server_hides_the_credentials_of_a_request_and_no_placeholder() -> None:
    headers = {
        "authorization": "Bearer plum-88-tree",
        "cookie": "a=pear-77-tree; b=fig-66-tree-x",
        "x-api-key": f"x {PLACEHOLDER_KEY}",
    }
    _hide_credentials(WireRequest("GET", "a", "/", "", headers, b""))
    for secret in ("plum-88-tree", "pear-77-tree", "fig-66-tree-x"):
        assert secret not in str(redact(f"a {secret} grows"))
    assert redact(f"a {PLACEHOLDER_KEY} grows") == f"a {PLACEHOLDER_KEY} grows"


def test_a_response_of_json_has_its_length_and_type() -> None:
    status, headers, body, delay = json_response({"ä": 1}, 201, {"x": "y"})
    assert (status, body, delay) == (201, '{"ä":1}'.encode(), 0)
    assert dict(headers) == {"content-type": "application/json", "content-length": "8", "x": "y"}
    assert json_response([]).status == 200
    assert dict(json_response({}, headers={"content-length": "9"}).headers)["content-length"] == "9"


def test_a_response_of_events_has_its_type_and_no_length() -> None:
    status, headers, body, _ = event_stream_response([b"a"])
    assert (status, body) == (200, [b"a"])
    assert headers == [("content-type", "text/event-stream; charset=utf-8")]
    assert event_stream_response([], "a/b").headers == [("content-type", "a/b")]


def test_an_event_is_text_or_json_with_or_without_a_name() -> None:
    assert server_sent_event("[DONE]") == b"data: [DONE]\n\n"
    assert server_sent_event({"a": "ä"}) == 'data: {"a":"ä"}\n\n'.encode()
    assert server_sent_event({}, "ping") == b"event: ping\ndata: {}\n\n"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        (None, True),
        ("localhost", True),
        ("LOCALHOST:80", True),
        ("a.localhost", True),
        ("localhosts", False),
        ("mylocalhost", False),
        ("host.docker.internal", True),
        ("host.docker.internal:80", True),
        ("my.host.docker.internal", False),
        ("host.containers.internal", True),
        ("host.containers.internals", False),
        ("127.0.0.1", True),
        ("127.255.255.255:1", True),
        ("128.0.0.1", False),
        ("126.255.255.255", False),
        ("0.0.0.0", False),
        ("[::1]:8080", True),
        ("[::2]", False),
        ("", False),
        ("[", False),
        ("user@127.0.0.1", True),
        ("127.0.0.1@evil.example", False),
        ("127.0.0.1.evil.example", False),
    ],
)
def test_a_header_host_names_this_machine_or_another_one(host: str | None, expected: bool) -> None:
    assert is_local_host(host) is expected


# The clock of a client


def spend(clock: ClientClock, *waits: Wait) -> list[float]:
    """Return the seconds that pass in reality."""
    return [seconds for wait in waits for seconds in clock.advance(wait)]


@pytest.mark.parametrize("kind", [Wait, Silence])
def test_a_client_waits_up_to_its_timeout(kind: type[Wait]) -> None:
    clock = ClientClock(read=10)
    assert spend(clock, kind(4), kind(6)) == []
    assert (clock.silence, clock.elapsed) == (10, 10)
    with pytest.raises(ConnectionFailure, match="The read operation timed out") as raised:
        spend(clock, kind(0.001))
    assert raised.value.kind == "timeout"


def test_bytes_begin_the_time_for_the_next_ones_and_not_that_of_the_whole() -> None:
    clock = ClientClock(read=10, total=25)
    body = iter([Wait(10), b"a", Wait(10), b"b"])
    assert list(clock.read_body(body)) == [b"a", b"b"]
    assert (clock.silence, clock.elapsed) == (0, 20)
    assert spend(clock, Wait(5)) == []
    with pytest.raises(ConnectionFailure) as raised:
        spend(clock, Wait(0.001))
    assert raised.value.kind == "total timeout"


@pytest.mark.parametrize(
    ("read", "total", "kind"),
    [
        (1, None, "timeout"),
        (None, 1, "total timeout"),
        (1, 2, "timeout"),
        (2, 1, "total timeout"),
        (1, 1, "timeout"),
    ],
)
def test_the_timeout_that_comes_first_is_raised(
    read: float | None, total: float | None, kind: str
) -> None:
    for wait in (Wait(3), Wait(math.inf)):
        with pytest.raises(ConnectionFailure) as raised:
            spend(ClientClock(read, total), wait)
        assert raised.value.kind == kind


def test_only_real_time_passes_in_reality_and_no_more_than_the_client_waits() -> None:
    assert spend(ClientClock(10), RealWait(4), Wait(2), RealWait(4)) == [4, 4]
    clock = ClientClock(10)
    waits = clock.advance(RealWait(11))
    assert next(waits) == 10
    with pytest.raises(ConnectionFailure):
        next(waits)
    assert spend(ClientClock(None), RealWait(1000)) == [1000]


def test_a_client_without_a_timeout_would_hang_and_the_test_fails(mock_llm_calls: LLMMock) -> None:
    with pytest.raises(ConnectionFailure, match="no read timeout") as raised:
        spend(ClientClock(None), Silence(math.inf))
    assert raised.value.kind == "timeout"
    mock: Any = current_mock()
    assert mock.problems == [str(raised.value)]
    mock.problems.clear()
    assert spend(ClientClock(None), Wait(10**9)) == []


def test_a_body_that_fails_fails_on_the_clock_too() -> None:
    def body() -> Iterator[bytes | Wait]:
        yield b"a"
        raise ConnectionFailure("dropped", "gone")

    chunks = ClientClock(None).read_body(body())
    assert next(chunks) == b"a"
    with pytest.raises(ConnectionFailure, match="gone"):
        next(chunks)
