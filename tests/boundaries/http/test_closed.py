"""No request reaches a provider: unusual requests are answered or refused, too."""

from __future__ import annotations

import asyncio
import http.client
import io
import json
import socket
import time
import urllib.request
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import aiohttp
import httpcore
import httpcore2
import httpx
import httpx2
import pytest
import requests
import urllib3

from llm_mock import LLMMock

HOST = "api.openai.com"


@pytest.fixture(autouse=True)
def _ends_at_once() -> Iterator[None]:
    """Fail a test that waited: a second in itself, and some to import a library."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 10


CHAT = f"https://{HOST}/v1/chat/completions"
QUESTION = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
BODY = json.dumps(QUESTION).encode()
PROXY = "http://proxy.invalid:3128"


def answer_of(data: Any) -> Any:
    return json.loads(data)["choices"][0]["message"]["content"]


def in_pieces() -> Iterator[bytes]:
    yield BODY[:5]
    yield BODY[5:]


async def in_pieces_async() -> Any:
    for piece in in_pieces():
        yield piece


URLS = (
    CHAT.replace("https", "http"),
    CHAT.replace(HOST, f"{HOST}."),
    CHAT.replace(HOST, "API.OpenAI.com"),
    CHAT.replace(HOST, f"{HOST}:8443"),
    CHAT.replace("/v1", "//v1"),
)


@pytest.mark.parametrize("url", URLS)
@pytest.mark.parametrize("library", [httpx, httpx2])
def test_a_url_may_be_written_in_any_way(
    library: Any, url: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert answer_of(library.post(url, json=QUESTION).content) == "Hi!"
    assert answer_of(requests.post(url, json=QUESTION, timeout=10).content) == "Hi!"
    assert answer_of(by_aiohttp(url=url, json=QUESTION)) == "Hi!"


@pytest.mark.parametrize("library", [httpx, httpx2])
@pytest.mark.parametrize(
    "client",
    [
        lambda library: library.Client(proxy=PROXY),
        lambda library: library.Client(mounts={CHAT: library.HTTPTransport(retries=2)}),
        lambda library: library.Client(transport=library.HTTPTransport(uds="/nowhere")),
        lambda library: library.Client(base_url=f"https://{HOST}"),
    ],
    ids=["proxy", "mounts", "uds", "base_url"],
)
def test_a_client_may_have_any_transport(
    client: Any, library: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    with client(library) as made:
        assert answer_of(
            made.post("/v1/chat/completions" if made.base_url.host else CHAT, json=QUESTION).content
        )
        assert answer_of(made.post(CHAT, content=in_pieces()).content) == "Hi!"


@pytest.mark.parametrize("method", ["PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
def test_every_method_is_refused_where_it_asks_nothing(
    method: str, mock_llm_calls: LLMMock
) -> None:
    assert httpx.request(method, CHAT).status_code == 404
    (refusal,) = mock_llm_calls.refusals
    assert refusal.startswith(f"{method} /v1/chat/completions of {HOST} is not supported")
    assert "Requested at " in refusal
    assert "test_closed.py:" in refusal


def test_a_refusal_in_a_thread_of_a_library_names_no_line(mock_llm_calls: LLMMock) -> None:
    with ThreadPoolExecutor() as pool:
        assert pool.submit(httpx.put, CHAT).result().status_code == 404
    (refusal,) = mock_llm_calls.refusals
    assert (
        "; nothing was sent. Configure a response with mock.on('PUT', '/v1/chat/completions', …). "
        "To reach the provider, mark the test"
    ) in refusal


def by_aiohttp(connector: Any = None, url: str = CHAT, **more: Any) -> Any:
    async def ask() -> Any:
        async with (
            aiohttp.ClientSession(connector=connector and connector()) as session,
            session.post(url, **more) as response,
        ):
            return await response.read()

    return asyncio.run(ask())


WAYS: dict[str, Callable[[], Any]] = {
    "a pool of urllib3": lambda: (
        urllib3.HTTPSConnectionPool(HOST).urlopen("POST", CHAT, body=BODY).data
    ),
    "a proxy of urllib3": lambda: urllib3.ProxyManager(PROXY).request("POST", CHAT, body=BODY).data,
    "a proxy of requests": lambda: (
        requests.post(CHAT, data=BODY, proxies={"https": PROXY}, timeout=10).content
    ),
    "a proxy that sees it": lambda: (
        requests.post(URLS[0], data=BODY, proxies={"http": PROXY}, timeout=10).content
    ),
    "a file": lambda: requests.post(CHAT, data=io.BytesIO(BODY), timeout=10).content,
    "pieces": lambda: requests.post(CHAT, data=in_pieces(), timeout=10).content,
    "a proxy of aiohttp": lambda: by_aiohttp(proxy=PROXY, data=BODY),
    "a connector of aiohttp": lambda: by_aiohttp(
        lambda: aiohttp.TCPConnector(limit=1, ssl=False), data=BODY
    ),
    "pieces by aiohttp": lambda: by_aiohttp(data=in_pieces_async()),
    "a pool of httpcore": lambda: (
        httpcore.ConnectionPool().request("POST", CHAT, content=BODY).content
    ),
    "a proxy of httpcore2": lambda: (
        httpcore2.HTTPProxy(PROXY).request("POST", CHAT, content=BODY).content
    ),
}


@pytest.mark.parametrize("ask", WAYS.values(), ids=WAYS)
def test_a_library_may_be_used_in_any_way(
    ask: Callable[[], Any], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")
    assert answer_of(ask()) == "Hi!"
    assert len(mock_llm_responses.calls) == 1


def by_http_client(**more: Any) -> Any:
    connection = http.client.HTTPSConnection(HOST, **more)
    connection.request("POST", "/v1/chat/completions", BODY)


def by_urllib(**proxies: str) -> Any:
    urllib.request.build_opener(urllib.request.ProxyHandler(proxies)).open(CHAT, BODY)


def by_asyncio() -> Any:
    asyncio.run(asyncio.open_connection(HOST, 443))


def by_a_connection_of_httpcore() -> Any:
    with httpcore.HTTPConnection(httpcore.Origin(b"https", HOST.encode(), 443)) as connection:
        connection.request("POST", CHAT, content=BODY)


def by_a_connection_of_urllib3() -> Any:
    urllib3.connection.HTTPSConnection(HOST).request("POST", "/v1/chat/completions", BODY)


def by_websockets() -> Any:
    connect = pytest.importorskip("websockets.sync.client").connect
    connect(f"wss://{HOST}/v1/x.BidiGenerateContent")


def by_curl() -> Any:
    pytest.importorskip("curl_cffi.requests").post(CHAT, json=QUESTION)


@pytest.mark.parametrize(
    "connect",
    [
        by_http_client,
        by_urllib,
        lambda: by_urllib(https=PROXY),
        by_asyncio,
        by_a_connection_of_httpcore,
        by_a_connection_of_urllib3,
        by_websockets,
        by_curl,
        lambda: socket.create_connection((HOST, 443)),
    ],
)
def test_a_connection_that_cannot_be_answered_is_refused(
    connect: Callable[[], Any], mock_llm_calls: LLMMock
) -> None:
    with pytest.raises(Exception, match=rf"Connection to {HOST} refused"):
        connect()
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


GATEWAY = "llm-gateway.corp.test"


def by_socket_connect(host: str) -> Any:
    with socket.socket() as connection:
        connection.connect((host, 443))


def by_socket_connect_ex(host: str) -> Any:
    with socket.socket() as connection:
        connection.connect_ex((host, 443))


def by_udp(host: str) -> Any:
    with socket.socket(type=socket.SOCK_DGRAM) as connection:
        connection.sendto(b"Hello", (host, 443))


def by_websockets_async(host: str) -> Any:
    connect = pytest.importorskip("websockets").connect

    async def ask() -> None:
        await connect(f"wss://{host}/v1/x.BidiGenerateContent")

    asyncio.run(ask())


def by_websocket_of_a_gateway(host: str) -> Any:
    pytest.importorskip("websockets.sync.client").connect(
        f"wss://{GATEWAY if host == HOST else host}/v1/x.BidiGenerateContent"
    )


def by_websocket_client(host: str) -> Any:
    pytest.importorskip("websocket").create_connection(f"wss://{host}/v1/x.BidiGenerateContent")


def by_uvloop(host: str) -> Any:
    loop = pytest.importorskip("uvloop").new_event_loop()
    try:
        loop.run_until_complete(loop.create_connection(asyncio.Protocol, host, 443))
    finally:
        loop.close()


def by_uvloop_lookup(host: str) -> Any:
    loop = pytest.importorskip("uvloop").new_event_loop()
    try:
        loop.run_until_complete(loop.getaddrinfo(host, 443))
    finally:
        loop.close()


def by_grpc(host: str) -> Any:
    grpc = pytest.importorskip("grpc")
    with grpc.secure_channel(f"{host}:443", grpc.ssl_channel_credentials()) as channel:
        return channel.unary_unary("/xai_api.Chat/GetCompletion")(b"Hello", timeout=5)


def by_grpc_with_an_interceptor(host: str) -> Any:
    grpc = pytest.importorskip("grpc")

    class Own(grpc.UnaryUnaryClientInterceptor):
        def intercept_unary_unary(self, send: Any, details: Any, request: Any) -> Any:
            call = send(details, request)
            assert call.done()
            assert call.exception() is not None
            seen: list[Any] = []
            call.add_done_callback(seen.append)
            assert seen == [call]
            return call

    with grpc.insecure_channel(f"{host}:443") as channel:
        intercepted = grpc.intercept_channel(channel, Own())
        return intercepted.unary_unary("/xai_api.Chat/GetCompletion")(b"Hello", timeout=5)


def by_grpc_stream(host: str) -> Any:
    grpc = pytest.importorskip("grpc")
    with grpc.insecure_channel(f"dns:///{host}:443") as channel:
        return list(channel.unary_stream("/xai_api.Chat/GetCompletionChunk")(b"Hello", timeout=5))


def by_grpc_aio(host: str) -> Any:
    grpc = pytest.importorskip("grpc")

    async def ask() -> Any:
        async with grpc.aio.secure_channel(
            f"{host}:443", grpc.ssl_channel_credentials()
        ) as channel:
            return await channel.unary_unary("/xai_api.Chat/GetCompletion")(b"Hello", timeout=5)

    asyncio.run(ask())


def by_grpc_aio_stream(host: str) -> Any:
    grpc = pytest.importorskip("grpc")

    async def ask() -> Any:
        async with grpc.aio.insecure_channel(f"{host}:443") as channel:
            call = channel.unary_stream("/xai_api.Chat/GetCompletionChunk")(b"Hello", timeout=5)
            return [chunk async for chunk in call]

    asyncio.run(ask())


LOW_DOORS = (
    lambda host: socket.gethostbyname(host),
    lambda host: socket.gethostbyname_ex(host),
    by_socket_connect,
    by_socket_connect_ex,
    by_udp,
    by_websockets_async,
    by_websocket_client,
    by_uvloop,
    by_uvloop_lookup,
    by_grpc,
    by_grpc_with_an_interceptor,
    by_grpc_stream,
    by_grpc_aio,
    by_grpc_aio_stream,
)


@pytest.mark.parametrize("connect", LOW_DOORS)
def test_connections_below_the_libraries_are_refused(
    connect: Callable[[str], Any], mock_llm_calls: LLMMock
) -> None:
    with pytest.raises(Exception, match=rf"Connection to {HOST} refused"):
        connect(HOST)
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


def to_a_gateway_by_urllib() -> Any:
    urllib.request.urlopen(f"https://{GATEWAY}/v1/chat/completions", BODY)


def to_a_gateway_by_http_client() -> Any:
    http.client.HTTPSConnection(GATEWAY).request("POST", "/v1/messages", BODY)


def to_a_gateway_by_curl() -> Any:
    pytest.importorskip("curl_cffi.requests").post(
        f"https://{GATEWAY}/v1/chat/completions", json=QUESTION
    )


@pytest.mark.parametrize(
    "ask",
    [
        to_a_gateway_by_urllib,
        to_a_gateway_by_http_client,
        to_a_gateway_by_curl,
        lambda: by_websocket_of_a_gateway(GATEWAY),
        lambda: by_websockets_async(GATEWAY),
        lambda: by_websocket_client(GATEWAY),
    ],
)
def test_a_gateway_that_nobody_named_is_refused_where_it_cannot_be_answered(
    ask: Callable[[], Any], mock_llm_calls: LLMMock
) -> None:
    with pytest.raises(Exception, match=rf"Connection to {GATEWAY} refused"):
        ask()
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize("host", [HOST, GATEWAY])
def test_pycurl_is_refused(host: str, mock_llm_calls: LLMMock) -> None:
    pycurl = pytest.importorskip("pycurl")
    curl = pycurl.Curl()
    with pytest.raises(pycurl.error, match=f"Connection to {host} refused") as raised:
        curl.setopt(pycurl.URL, f"https://{host}/v1/chat/completions")
    assert raised.value.args[0] == pycurl.E_COULDNT_CONNECT
    assert len(mock_llm_calls.problems) == 1
    mock_llm_calls.problems.clear()
    curl.setopt(pycurl.URL, "http://127.0.0.1:9/v1/chat/completions")
    curl.setopt(pycurl.USERAGENT, f"https://{host}/v1/chat/completions")
    with pytest.raises(pycurl.error):
        curl.perform()
    assert mock_llm_calls.problems == []


@pytest.mark.parametrize("host", [HOST, GATEWAY])
def test_a_websocket_of_aiohttp_is_refused(host: str, mock_llm_calls: LLMMock) -> None:
    async def ask() -> None:
        async with aiohttp.ClientSession() as session:
            await session.ws_connect(f"wss://{host}/v1/x.BidiGenerateContent")

    with pytest.raises(aiohttp.WSServerHandshakeError):
        asyncio.run(ask())
    assert f"GET /v1/x.BidiGenerateContent of {host} is not supported" in mock_llm_calls.refusals[0]


def test_sockets_and_websockets_to_this_machine_are_left_alone(mock_llm_calls: LLMMock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as connection:
        connection.connect(("localhost", server.getsockname()[1]))
    assert socket.gethostbyname("localhost") == "127.0.0.1"
    with pytest.raises(OSError, match="refused"):
        pytest.importorskip("websockets.sync.client").connect(
            "ws://127.0.0.1:9/v1/x.BidiGenerateContent"
        )
    assert mock_llm_calls.problems == []


def test_requests_tries_again_as_it_was_told(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("gpt-4o", ConnectionRefusedError("nobody there"))
    mock_llm_responses.add("gpt-4o", ValueError("boom"))
    mock_llm_responses.add("gpt-4o", "Hi!")
    retries = urllib3.Retry(2, status_forcelist=[500], allowed_methods=None)
    with requests.Session() as session:
        session.mount("https://", requests.adapters.HTTPAdapter(max_retries=retries))
        assert answer_of(session.post(CHAT, json=QUESTION).content) == "Hi!"
    assert [bool(call["error"]) for call in mock_llm_responses.calls] == [True, True, False]


def test_requests_gives_up_as_it_was_told(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_error("gpt-4o", ValueError("boom"))
    retries = urllib3.Retry(1, status_forcelist=[500], allowed_methods=None)
    with requests.Session() as session:
        session.mount("https://", requests.adapters.HTTPAdapter(max_retries=retries))
        with pytest.raises(requests.exceptions.RetryError):
            session.post(CHAT, json=QUESTION)
    assert len(mock_llm_responses.calls) == 2
