"""The built-in tools."""

from __future__ import annotations

import asyncio
import contextlib
import gzip
import json
import math
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest

pytest.importorskip("mcp")

from llm_mock.errors import HostNotAllowed, LLMMockError
from llm_mock.specs import builtin_tools
from llm_mock.specs.allowed_hosts import ANY, LOOPBACK, AllowedHosts
from llm_mock.specs.builtin_tools import BuiltinTools
from llm_mock.support.text import shorten
from tests.openai_server import QuietServer, served

# --- HTTP --------------------


class WebServer(QuietServer):
    """Answers by the path, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[tuple[str, str, dict[str, str], str]] = []
        self.contents: dict[str, tuple[int, dict[str, str], bytes]] = {}

    def at(self, path: str, status: int = 200, body: bytes = b"", **headers: str) -> str:
        """Answer a path so; returns its URL."""
        self.contents[path] = (
            status,
            {name.replace("_", "-"): value for name, value in headers.items()},
            body,
        )
        return f"http://127.0.0.1:{self.server_port}{path}"


class _Handler(BaseHTTPRequestHandler):
    server: WebServer

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        status, headers, content = self.server.contents[self.path]
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_GET


@pytest.fixture(scope="module")
def web() -> Iterator[WebServer]:
    with served(WebServer()) as server:
        yield server


def call(
    tool: str, *arguments: Any, hosts: AllowedHosts = LOOPBACK, **named: Any
) -> dict[str, Any]:
    """Call a tool as an async function."""
    result: dict[str, Any] = asyncio.run(getattr(BuiltinTools(hosts), tool)(*arguments, **named))
    json.dumps(result, allow_nan=False)
    return result


def test_a_get_request_tells_status_body_and_headers(web: WebServer) -> None:
    url = web.at(
        "/users", 404, "grün".encode(), Content_Type="text/plain; charset=utf-8", X_Kind="test"
    )
    answer = call("http_get", url, headers={"Authorization": "Bearer t", "X-Number": 5})
    assert (answer["status_code"], answer["body"], answer["headers"]["x-kind"]) == (
        404,
        "grün",
        "test",
    )
    assert sorted(answer) == ["body", "headers", "status_code"]
    method, path, headers, _ = web.requests[-1]
    assert (method, path, headers["Authorization"], headers["X-Number"]) == (
        "GET",
        "/users",
        "Bearer t",
        "5",
    )


@pytest.mark.parametrize("data", [{"name": "Ada", "tags": [1, None]}, {}, None])
def test_a_post_request_sends_json(data: Any, web: WebServer) -> None:
    assert call("http_post", web.at("/new", 201), data)["status_code"] == 201
    method, _, headers, body = web.requests[-1]
    assert method == "POST"
    assert (headers.get("Content-Type"), body and json.loads(body)) == (
        ("application/json", data) if data is not None else (None, "")
    )


@pytest.mark.parametrize(
    ("content", "charset", "expected"),
    [
        (b"x" * 10_240, "utf-8", "x" * 10_240),
        (b"x" * 50_000, "utf-8", "x" * 10_240),
        (b"x" * 10_239 + "ü".encode() * 9, "utf-8", "x" * 10_239),
        ("ü".encode("latin-1") * 20_000, "iso-8859-1", "ü" * 10_240),
        ("ü".encode("utf-16-le") * 20_000, "utf-16-le", "ü" * 5_120),
        (b"a\xff", "utf-8", "a\N{REPLACEMENT CHARACTER}"),
        (b"ab", "hex", "ab"),
        (b"ab", "no-such-charset", "ab"),
        (rb"\ud800", "unicode_escape", "?"),
    ],
)
def test_a_body_is_cut_at_10_kb_and_decoded(
    content: bytes, charset: str, expected: str, web: WebServer
) -> None:
    url = web.at("/body", body=content, Content_Type=f"text/plain; charset={charset}")
    assert call("http_get", url)["body"] == expected


def test_a_compressed_body_is_unpacked(web: WebServer) -> None:
    url = web.at("/packed", body=gzip.compress(b"0" * 5_000_000), Content_Encoding="gzip")
    assert call("http_get", url)["body"] == "0" * 10_240


def test_redirects_are_followed_five_times(web: WebServer) -> None:
    web.at("/6", body=b"arrived")
    urls = [
        web.at(f"/{number}", 302, Location=f"/{number + 1}", Set_Cookie="seen=1")
        for number in range(6)
    ]
    assert call("http_get", urls[1])["body"] == "arrived"
    assert web.requests[-1][2]["Cookie"] == "seen=1"
    with pytest.raises(
        LLMMockError, match=r"GET .*/0 failed: it was redirected more than 5 times\."
    ):
        call("http_get", urls[0])


def test_a_post_that_is_redirected_becomes_a_get(web: WebServer) -> None:
    web.at("/done", body=b"done")
    assert call("http_post", web.at("/form", 303, Location="/done"), {"a": 1})["body"] == "done"
    assert web.requests[-1][0] == "GET"


@pytest.mark.parametrize(
    "target", ["http://example.com/", "file:///etc/passwd", "http://localhost@example.com/"]
)
def test_a_redirect_to_what_is_not_allowed_is_refused(target: str, web: WebServer) -> None:
    with pytest.raises(HostNotAllowed):
        call("http_get", web.at("/away", 302, Location=target))


def test_a_connection_error_is_told_without_secrets() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(LLMMockError) as caught:
        call("http_get", f"http://ada:hunter2@127.0.0.1:{port}/page?key=hunter2")
    expected = (
        rf"GET http://127\.0\.0\.1:{port}/page failed: ConnectError: .+\. Is the server running\?"
    )
    assert caught.match(f"^{expected}$")


def test_a_server_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin_tools, "REQUEST_TIMEOUT", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(LLMMockError, match=f"GET {url} timed out after 0.1 seconds"):
            call("http_get", url)


def test_a_body_that_does_not_end_is_read_to_its_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtin_tools, "REQUEST_TIMEOUT", 5)
    with socket.create_server(("127.0.0.1", 0)) as endless:

        def answer() -> None:
            connection, _ = endless.accept()
            with connection, contextlib.suppress(ConnectionError):
                connection.recv(10_000)
                head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n"
                connection.sendall(head + b"x" * 20_000)
                # Until the client closes the connection.
                connection.recv(1)

        thread = threading.Thread(target=answer)
        thread.start()
        found = call("http_get", f"http://127.0.0.1:{endless.getsockname()[1]}/")
        thread.join()
    assert found["body"] == "x" * 10_240


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_this_machine_is_not_asked_through_a_proxy(
    variable: str, web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "http://127.0.0.1:1")
    assert call("http_get", web.at("/near", body=b"near"), hosts=ANY)["body"] == "near"


def test_other_hosts_are_asked_through_the_proxy_of_the_environment(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy = web.at("http://far.example/", body=b"by the proxy")
    for variable in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HTTP_PROXY", proxy.partition("http://far")[0])
    assert call("http_get", "http://far.example/", hosts=ANY)["body"] == "by the proxy"


# --- Waiting and comparing --------------------


def test_sleep_tells_how_long_it_was() -> None:
    slept = call("sleep", 0.01)["slept"]
    assert 0.01 <= slept < 5
    assert slept == round(slept, 3)
    assert sorted(call("sleep", 0)) == ["slept"]


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf])
def test_nobody_can_wait_so_long(seconds: float) -> None:
    with pytest.raises(LLMMockError) as raised:
        call("sleep", seconds)
    assert str(raised.value) == f"sleep: seconds is {shorten(seconds)}; it must be a number from 0."


EQUAL = [
    (1, 1.0),
    ("a", "a"),
    (None, None),
    ([1, {"a": None}], [1.0, {"a": None}]),
    (True, True),
    ({}, {}),
]
DIFFERENT = [
    (1, True),
    (0, False),
    ("1", 1),
    (None, ""),
    (None, False),
    ([1], [1, 2]),
    ([True], [1]),
]
DIFFERENT += [({"a": 1}, {"b": 1}), ({"a": 0}, {"a": False}), ("null", None), ({}, [])]


@pytest.mark.parametrize(("first", "second"), EQUAL)
def test_equal_json_values(first: Any, second: Any) -> None:
    expected = {"passed": True, "actual": first, "expected": second, "message": ""}
    assert call("assert_equals", first, second) == expected


@pytest.mark.parametrize(("first", "second"), DIFFERENT)
def test_different_json_values(first: Any, second: Any) -> None:
    result = call("assert_equals", first, second)
    assert (result["passed"], " is not " in result["message"]) == (False, True)
    assert call("compare_values", first, second)["equal"] is False


def test_a_message_of_ones_own_is_kept() -> None:
    assert call("assert_equals", 1, 2, "count")["message"] == "count"
    assert call("assert_true", True, "there") == {"passed": True, "message": "there"}
    assert call("assert_true", False, "there") == {"passed": False, "message": "there"}


def test_a_condition_holds_or_not() -> None:
    assert call("assert_true", True) == {"passed": True, "message": ""}
    assert call("assert_true", False) == {"passed": False, "message": "The condition is false"}


@pytest.mark.parametrize(
    ("value1", "value2", "tolerance", "equal", "percent"),
    [
        (100.5, 100.0, 0.01, True, 0.5),
        (1.01, 1.0, 0.01, True, 1.0),
        (1.011, 1.0, 0.01, False, 1.1),
        (0.99, 1, 0.01, True, 1.0),
        (-101, -100, 0.01, True, 1.0),
        (5, 5, 0.0, True, 0.0),
        (0, 0, 0.0, True, 0.0),
        (0.1, 0, 0.5, False, 100.0),
        (0, 5, 0.5, False, 100.0),
        (0.1, 0, 1.0, True, 100.0),
        (1, -1, 0.1, False, 200.0),
        (math.nan, math.nan, 1.0, False, None),
        (math.inf, math.inf, 0.0, True, None),
        (1e308, 1e-308, 0.1, False, None),
        (10**400, 10**400 + 1, 0.0, False, 0.0),
    ],
)
def test_numbers_are_compared_with_a_tolerance(
    value1: float, value2: float, tolerance: float, equal: bool, percent: float | None
) -> None:
    result = call("compare_values", value1, value2, tolerance)
    assert (result["equal"], result["difference_percent"]) == (equal, pytest.approx(percent))
    assert sorted(result) == [
        "difference_percent",
        "equal",
        "tolerance_percent",
        "value1",
        "value2",
    ]
    assert result["tolerance_percent"] == pytest.approx(tolerance * 100)


@pytest.mark.parametrize(("first", "second"), EQUAL[1:])
def test_other_values_are_compared_as_they_are(first: Any, second: Any) -> None:
    assert call("compare_values", first, second, 0.5) == {
        "equal": True,
        "value1": first,
        "value2": second,
    }
