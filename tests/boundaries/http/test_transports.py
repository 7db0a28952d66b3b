"""Each HTTP library gives the mock the same request, and its caller the same response."""

from __future__ import annotations

import asyncio
import json
import traceback
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import urllib3

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.transports import httpcore_wire
from llm_mock.cassettes import Cassette
from tests.boundaries.http.test_answered_requests import local_server  # noqa: F401 (a fixture)
from tests.boundaries.http.test_interception import application  # noqa: F401 (a fixture)
from tests.cassettes.conftest import Run, serve_as_provider
from tests.cassettes.test_received_bytes import ByteServer
from tests.provider_server import KEY, TEXT, ProviderServer, served

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
BODY = json.dumps(QUESTION).encode()
HEADERS = {"content-type": "application/json", "X-A": "b c"}
URL = "https://llm-gateway.corp.test:8443/a%20b/v1/chat/completions?x=1&y=%20"


class Received(NamedTuple):
    """The response as the caller of a library has it."""

    status: int
    headers: dict[str, str]
    content: bytes


def read(response: Any, content: bytes) -> Received:
    status = getattr(response, "status_code", None) or response.status
    items = getattr(response.headers, "items", lambda: response.headers)()
    headers = {}
    for name, value in items:
        if isinstance(name, bytes):
            headers[name.decode().lower()] = value.decode()
        else:
            headers[name.lower()] = value
    return Received(status, headers, content)


async def in_pieces(body: bytes) -> AsyncIterator[bytes]:
    yield body[:5]
    yield body[5:]


def iterate(body: bytes) -> Iterator[bytes]:
    yield body[:5]
    yield body[5:]


def by_httpx(library: Any) -> Callable[..., Received]:
    def send(method: str, url: str, body: bytes) -> Received:
        with library.Client() as client:
            headers = {**HEADERS, "content-length": str(len(body))}
            response = client.request(method, url, headers=headers, content=iterate(body))
            return read(response, response.content)

    return send


def by_async_httpx(library: Any) -> Callable[..., Received]:
    async def ask(method: str, url: str, body: bytes) -> Received:
        async with library.AsyncClient() as client:
            headers = {**HEADERS, "content-length": str(len(body))}
            response = await client.request(method, url, headers=headers, content=in_pieces(body))
            return read(response, response.content)

    return lambda *args: asyncio.run(ask(*args))


def by_httpcore(library: Any) -> Callable[..., Received]:
    def send(method: str, url: str, body: bytes) -> Received:
        with library.ConnectionPool() as pool:
            headers = {**HEADERS, "host": library.URL(url).host, "content-length": str(len(body))}
            response = pool.request(method, url, headers=headers, content=iterate(body))
            assert response.extensions["http_version"] in (b"HTTP/1.1", b"HTTP/1.0")
            return read(response, response.content)

    return send


def by_async_httpcore(library: Any) -> Callable[..., Received]:
    async def ask(method: str, url: str, body: bytes) -> Received:
        async with library.AsyncConnectionPool() as pool:
            headers = {**HEADERS, "host": library.URL(url).host, "content-length": str(len(body))}
            response = await pool.request(method, url, headers=headers, content=in_pieces(body))
            return read(response, response.content)

    return lambda *args: asyncio.run(ask(*args))


def by_urllib3(method: str, url: str, body: bytes) -> Received:
    with urllib3.PoolManager() as manager:
        response = manager.request(method, url, body=body, headers=HEADERS)
        return read(response, response.data)


def by_requests(method: str, url: str, body: bytes) -> Received:
    response = requests.request(method, url, data=body, headers=HEADERS, timeout=10)
    assert response.raw.version == 11 or "BaseHTTP" in response.headers["server"]
    return read(response, response.content)


def by_aiohttp(method: str, url: str, body: bytes) -> Received:
    async def ask() -> Received:
        async with (
            aiohttp.ClientSession() as session,
            session.request(method, url, data=body, headers=HEADERS) as response,
        ):
            return read(response, await response.read())

    return asyncio.run(ask())


WAYS: dict[str, Callable[[str, str, bytes], Received]] = {
    "httpx": by_httpx(httpx),
    "httpx2": by_httpx(httpx2),
    "async httpx": by_async_httpx(httpx),
    "async httpx2": by_async_httpx(httpx2),
    "httpcore": by_httpcore(httpcore),
    "httpcore2": by_httpcore(httpcore2),
    "async httpcore": by_async_httpcore(httpcore),
    "async httpcore2": by_async_httpcore(httpcore2),
    "urllib3": by_urllib3,
    "requests": by_requests,
    "aiohttp": by_aiohttp,
}
every_way = pytest.mark.parametrize("send", WAYS.values(), ids=WAYS)
Send = Callable[[str, str, bytes], Received]


@every_way
def test_the_mock_sees_the_whole_request(send: Send, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hi!")
    received = send("POST", URL, BODY)
    request = mock_llm_responses.last_call.request
    assert request.url == URL
    headers = {name: request.headers[name] for name in ("content-type", "x-a")}
    assert headers == {"content-type": "application/json", "x-a": "b c"}
    assert all(name == name.lower() for name in request.headers)
    assert request.body == QUESTION
    content = json.loads(received.content)["choices"][0]["message"]["content"]
    assert (received.status, content) == (200, "Hi!")
    assert received.headers["content-type"] == "application/json"
    assert received.headers["content-length"] == str(len(received.content))
    assert received.headers["x-request-id"].startswith("req_mock_")


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize(
    ("by", "name"), [(by_httpx, "answer_request"), (by_async_httpx, "answer_request_async")]
)
def test_a_client_of_httpx_is_answered_before_it_opens_a_connection(
    by: Callable[..., Send],
    name: str,
    library: Any,
    mock_llm_responses: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answered = []
    answer = getattr(httpcore_wire, name)

    def note(asking: Any, *args: Any, **kwargs: Any) -> Any:
        answered.append(asking)
        return answer(asking, *args, **kwargs)

    monkeypatch.setattr(httpcore_wire, name, note)
    mock_llm_responses.set("m", "Hi")
    assert b"Hi" in by(library)("POST", URL, BODY).content
    assert answered == [library]


@every_way
@pytest.mark.parametrize("status", [404, 429, 529])
def test_an_error_has_its_status_headers_and_body(
    send: Send, status: int, mock_llm_responses: LLMMock
) -> None:
    error: Any = RuntimeError("It failed.")
    error.response = type("Response", (), {"status_code": status, "headers": {"Retry-After": "7"}})
    mock_llm_responses.set_error("m", error)
    received = send("POST", "https://api.anthropic.com/v1/chat/completions", BODY)
    assert received.status == status
    assert received.headers["retry-after"] == "7"
    assert json.loads(received.content)["error"]["message"] == "It failed."


@every_way
def test_a_stream_is_the_same(send: Send, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", Reply(chunks=["a", "b" * 70_000, "c"]))
    received = send("POST", URL, json.dumps({**QUESTION, "stream": True}).encode())
    assert received.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert "content-length" not in received.headers
    lines = received.content.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""]
    texts = []
    for line in lines[:-2]:
        for choice in json.loads(line.removeprefix("data: "))["choices"]:
            texts.append(choice["delta"].get("content") or "")
    assert "".join(texts) == "a" + "b" * 70_000 + "c"


@every_way
@pytest.mark.parametrize(
    ("path", "body"), [("/orders", BODY), ("/v1/messages", b'{"text": "Hello"}')]
)
def test_other_requests_reach_their_server_whole(
    send: Send,
    path: str,
    body: bytes,
    application: str,  # noqa: F811
    mock_llm_calls: LLMMock,
) -> None:
    received = send("POST", f"{application}{path}", body)
    assert json.loads(received.content) == {"path": path, "sent": body.decode()}
    assert (mock_llm_calls.calls, mock_llm_calls.problems) == ([], [])


@every_way
def test_a_model_that_passes_through_reaches_its_server(
    send: Send,
    application: str,  # noqa: F811
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transports = "llm_mock.boundaries.http.transports"
    monkeypatch.setattr(f"{transports}.httpx.has_passthrough", lambda: True)
    monkeypatch.setattr("llm_mock.boundaries.http.dispatch.passes_through", lambda model: True)
    monkeypatch.setattr(http_settings, "hosts", ("app.corp.test",))
    received = send("POST", f"{application}/v1/chat/completions", BODY)
    assert json.loads(received.content)["sent"] == BODY.decode()
    assert (mock_llm_calls.calls, mock_llm_calls.problems) == ([], [])


def by_unix_socket_of_aiohttp() -> None:
    async def ask() -> None:
        connector = aiohttp.UnixConnector("/nowhere")
        async with aiohttp.ClientSession(connector=connector) as session:
            await session.post(URL.replace("https", "http"), data=BODY, headers=HEADERS)

    asyncio.run(ask())


def by_unix_socket_async(library: Any) -> Callable[[], None]:
    async def ask() -> None:
        transport = library.AsyncHTTPTransport(uds="/nowhere")
        async with library.AsyncClient(transport=transport) as client:
            await client.post(URL.replace("https", "http"), content=BODY, headers=HEADERS)

    return lambda: asyncio.run(ask())


@pytest.mark.parametrize(
    "send",
    [
        by_unix_socket_async(httpx),
        by_unix_socket_async(httpx2),
        by_unix_socket_of_aiohttp,
    ],
)
@pytest.mark.parametrize("is_offline", [False, True])
def test_a_unix_socket_leads_to_this_machine_whatever_host_is_named(
    send: Callable[[], None],
    is_offline: bool,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # A dry run answers servers of this machine, but not those whose owner is unknown.
    monkeypatch.setattr(http_settings, "is_offline", is_offline)
    with pytest.raises(Exception, match=r"No such file|connect") as raised:
        send()
    assert isinstance(
        raised.value, (httpx.ConnectError, httpx2.ConnectError, aiohttp.ClientConnectorError)
    )
    assert (mock_llm_calls.calls, mock_llm_calls.problems) == ([], [])


@every_way
@pytest.mark.parametrize("streamed", [False, True])
def test_a_response_is_recorded_while_its_caller_gets_it(
    send: Send,
    streamed: bool,
    tmp_path: Path,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mock_llm_calls, "cassette", Cassette(tmp_path / "a.yaml", "all"))
    monkeypatch.setitem(HEADERS, "authorization", f"Bearer {KEY}")
    body = json.dumps({**QUESTION, "stream": streamed}).encode()
    with served(ProviderServer()) as server:
        monkeypatch.setattr(http_settings, "hosts", (server.host,))
        received = send("POST", f"{server.url}/v1/chat/completions", body)
    assert received.status == 200
    assert received.headers["x-request-id"] == "req_1"
    assert (b"data: [DONE]" in received.content) is streamed
    [call] = mock_llm_calls.calls
    assert (call["response"], call["error"]) == (TEXT, None)
    assert mock_llm_calls.problems == []
    monkeypatch.setattr(mock_llm_calls, "cassette", None)


@every_way
def test_an_error_of_the_provider_is_recorded_and_raised(
    send: Send, tmp_path: Path, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mock_llm_calls, "cassette", Cassette(tmp_path / "a.yaml", "all"))
    monkeypatch.setitem(HEADERS, "authorization", f"Bearer {KEY}")
    body = BODY.replace(b"Hello", b"a fail")
    with served(ProviderServer()) as server:
        monkeypatch.setattr(http_settings, "hosts", (server.host,))
        received = send("POST", f"{server.url}/v1/chat/completions", body)
    assert (received.status, received.headers["retry-after"]) == (429, "0.01")
    [call] = mock_llm_calls.calls
    assert "Slow down" in str(call["error"])
    monkeypatch.setattr(mock_llm_calls, "cassette", None)


def test_a_stream_that_breaks_off_is_recorded_and_replayed_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "cassette.yaml")
    choice = {"index": 0, "delta": {"content": "Hel"}, "finish_reason": None}
    chunk = {"id": "1", "object": "chat.completion.chunk", "choices": [choice]}
    received: list[str] = []

    def ask() -> None:
        headers = {"authorization": f"Bearer {KEY}"}
        body = {**QUESTION, "stream": True}
        with httpx.stream("POST", provider.url, json=body, headers=headers) as response:
            received.extend(line for line in response.iter_lines() if line)

    with serve_as_provider(ByteServer(), monkeypatch) as provider:
        provider.headers = {"content-type": "text/event-stream", "content-length": "1000"}
        provider.content = f"data: {json.dumps(chunk)}\n\n".encode()
        with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
            run("once", ask)
    assert run.problems == []
    with pytest.raises(httpx.RemoteProtocolError, match="peer closed connection"):
        run("none", ask)
    first, second = (json.loads(line.removeprefix("data: ")) for line in received)
    assert first == second == chunk


def test_a_response_that_cannot_be_read_reaches_its_client_and_is_a_problem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(tmp_path / "cassette.yaml")
    headers = {"authorization": f"Bearer {KEY}"}
    body = {"model": "m", "input": "Hello"}
    with serve_as_provider(ByteServer(), monkeypatch) as provider:
        provider.content = b'{"id": "resp_1", "object": "response", "output": 5}'
        url = provider.url.replace("chat/completions", "responses")
        answer = run("once", lambda: httpx.post(url, json=body, headers=headers))
    assert answer.content == provider.content
    [problem] = run.problems
    assert problem.startswith("The response of 'm' to 'Hello' cannot be recorded: ")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("library", [httpcore, httpcore2])
def test_a_recorded_response_that_is_not_read_frees_its_connection(
    library: Any,
    is_async: bool,
    tmp_path: Path,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(mock_llm_calls, "cassette", Cassette(tmp_path / "a.yaml", "all"))
    headers = {**HEADERS, "authorization": f"Bearer {KEY}", "host": "a"}
    body = json.dumps({**QUESTION, "stream": True}).encode()

    def send(url: str) -> list[Any]:
        with library.ConnectionPool() as pool:
            with pool.stream("POST", url, headers=headers, content=body):
                assert not pool.connections[0].is_available()
            return [each for each in pool.connections if not (each.is_idle() or each.is_closed())]

    async def send_async(url: str) -> list[Any]:
        async with library.AsyncConnectionPool() as pool:
            async with pool.stream("POST", url, headers=headers, content=body):
                assert not pool.connections[0].is_available()
            return [each for each in pool.connections if not (each.is_idle() or each.is_closed())]

    with served(ProviderServer()) as server:
        monkeypatch.setattr(http_settings, "hosts", (server.host,))
        url = f"{server.url}/v1/chat/completions"
        assert (asyncio.run(send_async(url)) if is_async else send(url)) == []
    monkeypatch.setattr(mock_llm_calls, "cassette", None)


ERRORS: dict[str, tuple[Any, Any, Any]] = {
    "httpx": (httpx.ConnectError, httpx.RemoteProtocolError, httpx.ReadTimeout),
    "httpx2": (httpx2.ConnectError, httpx2.RemoteProtocolError, httpx2.ReadTimeout),
    "httpcore": (httpcore.ConnectError, httpcore.RemoteProtocolError, httpcore.ReadTimeout),
    "httpcore2": (httpcore2.ConnectError, httpcore2.RemoteProtocolError, httpcore2.ReadTimeout),
    "urllib3": (
        urllib3.exceptions.MaxRetryError,
        urllib3.exceptions.ProtocolError,
        urllib3.exceptions.ReadTimeoutError,
    ),
    "requests": (
        requests.ConnectionError,
        requests.ConnectionError,
        requests.ReadTimeout,
    ),
    "aiohttp": (
        aiohttp.ClientConnectorError,
        aiohttp.ServerDisconnectedError,
        aiohttp.ServerTimeoutError,
    ),
}
FAULTS = (ConnectionRefusedError("refused"), ConnectionResetError("reset"), TimeoutError("slow"))


@pytest.mark.parametrize("position", range(3))
@pytest.mark.parametrize("way", WAYS)
def test_a_failed_connection_is_the_exception_of_the_library(
    way: str, position: int, mock_llm_responses: LLMMock
) -> None:
    fault = FAULTS[position]
    mock_llm_responses.set_error("m", fault)
    expected = ERRORS[way.removeprefix("async ")][position]
    with pytest.raises(expected, match=str(fault)) as raised:
        WAYS[way]("POST", URL, BODY)
    assert isinstance(raised.value, expected)
    # Where they can, tracebacks tell the application nothing of exceptions of ours.
    is_hidden = "httpx" in way or "httpcore" in way
    assert not is_hidden or "ConnectionFailure" not in "".join(
        traceback.format_exception(raised.value)
    )
