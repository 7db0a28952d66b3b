"""The pools of urllib3, and the asynchronous ones of urllib3-future, which replaces urllib3.

The two cannot be installed together, so the asynchronous pool and its response are those of this
test; retries, exceptions and timeouts are urllib3's own.
"""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import urllib3

from llm_mock import Latency, LLMMock, Reply
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.transports import urllib3 as transport
from llm_mock.cassettes import Cassette

HOST = "api.openai.com"
PATH = "/v1/chat/completions"
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
BODY = json.dumps(QUESTION).encode()
FAILED = {"error": {"message": "Slow down.", "type": "requests", "param": None, "code": None}}


class Retry(urllib3.Retry):
    """A retry that notes instead of waiting."""

    slept: list[object] = []  # noqa: RUF012 (the copies of a retry share it)

    def sleep(self, response: object = None) -> None:
        self.slept.append(response)

    async def async_sleep(self, response: object = None) -> None:
        self.slept.append(response)


class Response:
    """A response whose arguments are kept."""

    def __init__(self, **given: Any) -> None:
        self.given = given
        self.status, self.headers = given["status"], dict(given["headers"])
        self.body = given["body"].read()

    def get_redirect_location(self) -> bool:
        return False

    async def stream(self, decode_content: bool) -> AsyncIterator[bytes]:
        assert decode_content is False
        for chunk in (self.body[:9], self.body[9:]):
            yield chunk


def make_library() -> Any:
    """Return a module like urllib3-future, to which the mock has attached."""

    class AsyncHTTPConnectionPool:
        """A pool that notes what it sends."""

        _get_timeout = urllib3.HTTPConnectionPool._get_timeout
        proxy = None
        scheme = "https"
        ConnectionCls = urllib3.HTTPConnectionPool.ConnectionCls
        retries = Retry(0)

        def __init__(self, host: str = HOST) -> None:
            self.host, self.port, self.headers = host, 443, {"x-of": "pool"}
            self.timeout = urllib3.Timeout.from_float(5)
            self.sent: list[Any] = []
            self.received: Any = "sent"

        async def urlopen(self, *args: Any, **kwargs: Any) -> Any:
            self.sent.append((args, kwargs))
            return self.received

    library: Any = ModuleType("urllib3_future")
    library.HTTPConnectionPool = type("HTTPConnectionPool", (), {"urlopen": lambda self: None})
    library.AsyncHTTPConnectionPool = AsyncHTTPConnectionPool
    library.AsyncHTTPResponse, library.Retry = Response, Retry
    library.HTTPResponse = urllib3.HTTPResponse
    library.Timeout, library.exceptions = urllib3.Timeout, urllib3.exceptions
    transport.attach(library)
    return library


@pytest.fixture
def pool() -> Any:
    Retry.slept.clear()
    return make_library().AsyncHTTPConnectionPool()


def ask(pool: Any, body: Any = BODY, path: str = PATH, **more: Any) -> Any:
    return asyncio.run(pool.urlopen("POST", path, body, **more))


def said(response: Any) -> Any:
    return json.loads(response.body)["choices"][0]["message"]["content"]


async def in_pieces() -> AsyncIterator[bytes]:
    yield BODY[:5]
    yield BODY[5:]


@pytest.mark.parametrize(
    "make_body",
    [
        lambda: BODY,
        BODY.decode,
        lambda: bytearray(BODY),
        lambda: memoryview(BODY),
        lambda: io.BytesIO(BODY),
        lambda: io.StringIO(BODY.decode()),
        lambda: [BODY[:5], BODY[5:].decode()],
        in_pieces,
    ],
)
def test_an_asynchronous_pool_is_answered_whatever_the_body_is(
    make_body: Callable[[], Any], pool: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", "Hi!")
    response = ask(pool, make_body())
    assert (said(response), pool.sent) == ("Hi!", [])
    given = response.given
    assert (given["request_method"], given["request_url"], given["version"]) == ("POST", PATH, 11)
    # Its body can only be awaited, which the constructor cannot do.
    assert (given["preload_content"], given["decode_content"]) == (False, True)
    assert response.version_string == "HTTP/1.1"
    [call] = mock_llm_responses.calls
    assert mock_llm_responses.last_call.request.url == f"https://{HOST}{PATH}"
    assert call["prompt"] == "Hello"


def test_the_options_of_a_call_reach_its_response(pool: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", Reply(chunks=["a", "b"]))
    body = json.dumps({**QUESTION, "stream": True})
    given = ask(pool, body, preload_content=True, decode_content=False).given
    assert (given["preload_content"], given["decode_content"]) == (True, False)


def test_requests_that_are_not_for_a_model_are_sent_as_they_are(mock_llm_calls: LLMMock) -> None:
    pool = make_library().AsyncHTTPConnectionPool("app.test")
    for path, body in (("/orders", BODY), ("/v1/messages", b'{"text": "Hello"}')):
        assert ask(pool, body, path, headers={"a": "b"}, redirect=False) == "sent"
        arguments = (pool, "POST", path, body, {"a": "b"}, None)
        assert pool.sent.pop() == (arguments[1:], {"redirect": False})
    # A body that was read is sent as its content.
    assert ask(pool, io.BytesIO(b"{}"), "/v1/messages") == "sent"
    assert ask(pool, None, "/v1/messages") == "sent"
    assert [args[2] for args, _ in pool.sent] == [b"{}", None]
    assert mock_llm_calls.calls == []


def test_a_gateway_is_answered_by_an_asynchronous_pool(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hi!")
    pool = make_library().AsyncHTTPConnectionPool("llm-gateway.corp.test")
    assert said(ask(pool)) == "Hi!"
    assert pool.sent == []


def test_a_failed_connection_is_tried_again_as_the_call_says(
    pool: Any, mock_llm_responses: LLMMock
) -> None:
    for _ in range(2):
        mock_llm_responses.add("m", ConnectionRefusedError("nobody there"))
    mock_llm_responses.add("m", "Hi!")
    assert said(ask(pool, retries=Retry(2))) == "Hi!"
    assert Retry.slept == [None, None]
    mock_llm_responses.add("m", ConnectionRefusedError("nobody there"))
    with pytest.raises(urllib3.exceptions.MaxRetryError, match="nobody there"):
        ask(pool)


def test_a_status_is_tried_again_as_the_call_says(pool: Any, mock_llm_responses: LLMMock) -> None:
    slow: Any = RuntimeError("Slow down.")
    slow.status_code = 429
    mock_llm_responses.add("m", slow)
    mock_llm_responses.add("m", "Hi!")
    retries = Retry(1, status_forcelist=[429], allowed_methods=None)
    assert said(ask(pool, retries=retries)) == "Hi!"
    [response] = Retry.slept
    assert (response.status, json.loads(response.body)) == (429, FAILED)  # type: ignore[attr-defined]
    mock_llm_responses.add("m", slow)
    assert ask(pool).status == 429
    mock_llm_responses.add("m", slow)
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        ask(pool, retries=Retry(0, status_forcelist=[429], allowed_methods=None))
    mock_llm_responses.add("m", slow)
    kept = Retry(0, status_forcelist=[429], allowed_methods=None, raise_on_status=False)
    assert ask(pool, retries=kept).status == 429


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ConnectionRefusedError("x"), urllib3.exceptions.NewConnectionError),
        (ConnectionResetError("x"), urllib3.exceptions.ProtocolError),
        (TimeoutError("x"), urllib3.exceptions.ReadTimeoutError),
    ],
)
def test_a_connection_fails_with_the_exception_of_the_library(
    error: Exception, raised: type[Exception], pool: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error("m", error)
    for retries in (False, Retry(False)):
        with pytest.raises(raised, match="x") as caught:
            ask(pool, retries=retries)
        assert type(caught.value) is raised


def test_a_model_that_passes_through_is_sent(
    pool: Any, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_mock.boundaries.http.dispatch.passes_through", lambda model: True)
    assert ask(pool, io.BytesIO(BODY), timeout=3) == "sent"
    [(arguments, options)] = pool.sent
    assert (arguments, options) == (("POST", PATH, BODY, None, None), {"timeout": 3})
    assert mock_llm_calls.calls == []


def test_a_response_of_an_asynchronous_pool_is_recorded(
    pool: Any, tmp_path: Path, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = {"role": "assistant", "content": "Real."}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m"}
    content = json.dumps({**answer, "choices": [choice]}).encode()
    headers = [("content-type", "application/json"), ("Transfer-Encoding", "chunked")]
    pool.received = Response(status=200, headers=headers, body=io.BytesIO(content))
    cassette = Cassette(tmp_path / "cassette.yaml", "all")
    monkeypatch.setattr(mock_llm_calls, "cassette", cassette)
    response = ask(pool, headers={"authorization": "Bearer a-key", "x-a": "y"})
    assert (said(response), response.headers) == ("Real.", {"content-type": "application/json"})
    [(arguments, options)] = pool.sent
    assert arguments[:3] == ("POST", PATH, BODY)
    # The cassette holds bodies as text.
    assert arguments[3]["accept-encoding"] == "identity"
    assert arguments[3]["authorization"] == "Bearer a-key"
    expected = {"preload_content": False, "decode_content": False, "multiplexed": False}
    assert options == expected
    [call] = mock_llm_calls.calls
    assert call["response"] == "Real."
    monkeypatch.setattr(mock_llm_calls, "cassette", None)


# The pools of urllib3 itself


def test_a_proxy_that_gets_the_whole_url_tells_the_host(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hi!")
    with urllib3.ProxyManager("http://proxy.invalid:3128") as proxy:
        for url in (
            "http://api.openai.com:81/v1/chat/completions?u=http://x/y",
            f"https://{HOST}{PATH}",
        ):
            assert json.loads(proxy.request("POST", url, body=BODY).data)["choices"]
    urls = [call.request.url for call in mock_llm_responses.calls]
    assert urls == [
        "http://api.openai.com:81/v1/chat/completions?u=http://x/y",
        f"https://{HOST}{PATH}",
    ]


def test_headers_are_those_of_the_call_or_of_the_pool(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hi!")
    with urllib3.HTTPSConnectionPool(HOST, headers={"X-Of": "pool"}) as pool:
        pool.urlopen("POST", PATH, BODY)
        pool.urlopen("POST", PATH, BODY, {b"X-A": b"b", "X-C": "d"})  # type: ignore[dict-item]
        pool.urlopen("POST", PATH, BODY, {})
    headers = [call.request.headers for call in mock_llm_responses.calls]
    assert headers == [{"x-of": "pool"}, {"x-a": "b", "x-c": "d"}, {}]


TIMED_OUT = urllib3.exceptions.ReadTimeoutError


@pytest.mark.parametrize(
    ("of_pool", "of_call", "default", "limit"),
    [
        (urllib3.Timeout(read=10), {}, None, 10),
        (urllib3.Timeout(read=10), {"timeout": urllib3.Timeout(read=20)}, None, 20),
        (urllib3.Timeout(read=10), {"timeout": 20}, None, 20),
        (urllib3.Timeout(total=10), {}, None, 10),
        (urllib3.Timeout(read=10), {"timeout": None}, None, None),
        (urllib3.Timeout.DEFAULT_TIMEOUT, {}, 10.0, 10),
        (urllib3.Timeout.DEFAULT_TIMEOUT, {}, None, None),
    ],
)
def test_a_pool_waits_as_long_as_its_timeout_says(
    of_pool: Any,
    of_call: dict[str, Any],
    default: float | None,
    limit: float | None,
    mock_llm_responses: LLMMock,
    request: pytest.FixtureRequest,
) -> None:
    before = socket.getdefaulttimeout()
    request.addfinalizer(lambda: socket.setdefaulttimeout(before))
    socket.setdefaulttimeout(default)
    with urllib3.HTTPSConnectionPool(HOST, timeout=of_pool, retries=False) as pool:
        for seconds in (limit and limit - 0.5, limit and limit + 0.5, 1000):
            if seconds is None:
                continue
            mock_llm_responses.set("m", Reply("Hi!", latency=Latency(first_chunk=seconds)))
            if limit is None or seconds < limit:
                assert pool.urlopen("POST", PATH, BODY, **of_call).status == 200
            else:
                with pytest.raises(TIMED_OUT):
                    pool.urlopen("POST", PATH, BODY, **of_call)


def test_a_timeout_may_be_given_by_position(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", Reply("Hi!", latency=Latency(first_chunk=5)))
    with urllib3.HTTPSConnectionPool(HOST, timeout=9, retries=False) as pool:
        # After the retries come `redirect`, `assert_same_host` and `timeout`.
        with pytest.raises(TIMED_OUT):
            pool.urlopen("POST", PATH, BODY, None, False, True, True, 4)  # type: ignore[misc]
        assert pool.urlopen("POST", PATH, BODY, None, False, True, True, 6).status == 200  # type: ignore[misc]


def test_a_body_is_read_in_pieces_of_any_size(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", Reply(chunks=["a" * 100, "b"]))
    body = json.dumps({**QUESTION, "stream": True})
    with urllib3.HTTPSConnectionPool(HOST) as pool:
        whole = pool.urlopen("POST", PATH, body).data
        streamed = pool.urlopen("POST", PATH, body, preload_content=False)
        pieces = list(iter(lambda: streamed.read(7), b""))
    assert b"data: [DONE]" in whole
    assert {len(piece) for piece in pieces[:-1]} == {7}
    assert b"".join(pieces).count(b"data: ") == whole.count(b"data: ")


def test_a_compressed_body_that_is_read_is_sent_as_it_was(
    mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []

    def note(pool: Any, connection: Any, method: str, url: str, **more: Any) -> None:
        sent.append(more["body"])
        raise LookupError

    monkeypatch.setattr(urllib3.HTTPConnectionPool, "_make_request", note)
    monkeypatch.setattr(http_settings, "hosts", ())
    compressed = gzip.compress(BODY)
    with urllib3.HTTPSConnectionPool("app.test", retries=False) as pool:
        for body in (compressed, "text", None, bytearray(b"x")):
            with pytest.raises(LookupError):
                pool.urlopen("POST", "/v1/messages", body)
    assert [bytes(each) if isinstance(each, bytearray) else each for each in sent] == [
        compressed,
        "text",
        None,
        b"x",
    ]


def iterate() -> Iterator[bytes]:
    yield BODY


def test_the_finder_of_a_call_knows_its_arguments() -> None:
    """The refusal of a changed library asks it, with the arguments of `urlopen`."""
    pool: Any = SimpleNamespace(proxy=None, host=HOST, port=443, scheme="https", headers=None)
    assert transport._find_provider(pool, "POST", PATH, iterate(), {}) == "openai"
    assert transport._find_provider(pool, "POST", PATH) == "openai"
    pool.host = "app.test"
    assert transport._find_provider(pool, "POST", "/orders", headers={"a": "b"}) is None


def test_a_call_is_tried_again_as_its_pool_says(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_error("m", ConnectionRefusedError("nobody there"))
    failed = urllib3.exceptions.NewConnectionError
    for retries, raised in ((False, failed), (Retry(1), urllib3.exceptions.MaxRetryError)):
        before = len(mock_llm_responses.calls)
        pool = urllib3.HTTPSConnectionPool(HOST, retries=retries)
        with pool, pytest.raises(raised, match="nobody there"):
            pool.urlopen("POST", PATH, BODY)
        assert len(mock_llm_responses.calls) - before == int(retries is not False) + 1
