"""Connections below the HTTP libraries: those to providers are refused, and no others."""

from __future__ import annotations

import asyncio
import http.client
import io
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from types import ModuleType
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.interception import refuse_connection, refuse_request, refuse_url
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.transports import connection_guard
from llm_mock.core.context import pass_through

GATEWAY = "llm-gateway.corp.test"
REFUSED = "refused: llm_mock cannot answer on this kind of connection. Nothing was sent"
BODY = '{"model": "m", "messages": []}'


@pytest.fixture
def mock(mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch) -> LLMMock:
    """Take this machine for a provider, so that nothing leaves it where it is not refused."""
    monkeypatch.setattr(http_settings, "hosts", ("localhost",))
    return mock_llm_calls


def take_problems(mock: LLMMock) -> list[str]:
    """Return what the mock noted for the test to fail with, and forget it."""
    problems = list(mock.problems)
    mock.problems.clear()
    return problems


def is_refused(mock: LLMMock, function: Callable[..., Any], *args: Any, **kwargs: Any) -> bool:
    """Return True if a call is refused, which the mock notes once."""
    assert mock.problems == []
    try:
        function(*args, **kwargs)
    except OSError:
        # As pytest catches it, which checks that its traceback hides our frames.
        caught = pytest.ExceptionInfo[OSError].from_current()
        refused = REFUSED in str(caught.value)
    else:
        refused = False
    assert len(take_problems(mock)) == refused
    return refused


def test_a_lookup_of_a_provider_is_refused(mock: LLMMock) -> None:
    look_up = socket.getaddrinfo
    for host in ("localhost", b"localhost", "LOCALHOST", "localhost."):
        assert is_refused(mock, look_up, host, 80), host
    flags = socket.AI_CANONNAME
    assert is_refused(mock, look_up, "localhost", 80, 0, 0, 0, flags)
    assert is_refused(mock, look_up, "localhost", "http", flags=flags)
    for failing in (look_up, socket.gethostbyname):
        arguments = ("localhost", 80) if failing is look_up else ("localhost",)
        with pytest.raises(socket.gaierror) as raised:
            failing(*arguments)
        assert raised.value.errno == socket.EAI_FAIL
    assert len(take_problems(mock)) == 2
    assert is_refused(mock, socket.gethostbyname, "localhost")
    assert is_refused(mock, socket.gethostbyname_ex, "localhost")


def test_a_server_may_look_up_where_to_listen(mock: LLMMock) -> None:
    flags = socket.AI_PASSIVE
    look_up = socket.getaddrinfo
    assert not is_refused(mock, look_up, "localhost", 80, flags=flags)
    assert not is_refused(mock, look_up, "localhost", 80, 0, 0, 0, flags | socket.AI_CANONNAME)
    # The flags are the sixth argument.
    assert is_refused(mock, look_up, "localhost", 80, 0, flags)
    assert is_refused(mock, look_up, "localhost", 80, 0, 0, flags)


def test_other_lookups_are_left_alone(mock: LLMMock) -> None:
    for host in ("127.0.0.1", None, "", "::1"):
        assert not is_refused(mock, socket.getaddrinfo, host, 80), host
    assert not is_refused(mock, socket.gethostbyname, "127.0.0.1")
    assert not is_refused(mock, socket.gethostbyname_ex, "127.0.0.1")
    with pass_through():
        assert socket.gethostbyname("localhost") == "127.0.0.1"


def test_the_port_of_a_connection_counts(mock: LLMMock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_settings, "hosts", ("localhost:81",))
    assert is_refused(mock, socket.getaddrinfo, "localhost", 81)
    assert not is_refused(mock, socket.getaddrinfo, "localhost", 82)
    assert not is_refused(mock, socket.getaddrinfo, "localhost", "81")
    assert not is_refused(mock, socket.gethostbyname, "localhost")


@pytest.mark.parametrize("name", ["connect", "connect_ex"])
def test_a_connection_by_name_is_refused(name: str, mock: LLMMock) -> None:
    with socket.socket() as connection:
        connect = getattr(connection, name)
        for host in ("localhost", "localhost."):
            assert is_refused(mock, connect, (host, 9)), host
            assert is_refused(mock, connect, (host.encode(), 9)), host
        assert not is_refused(mock, connect, ("127.0.0.1", 9))
    with socket.socket(socket.AF_INET6) as connection:
        assert not is_refused(mock, getattr(connection, name), ("::1", 9, 0, 0))
    with socket.socket(socket.AF_UNIX) as connection:
        assert not is_refused(mock, getattr(connection, name), "localhost")
        assert not is_refused(mock, getattr(connection, name), b"localhost")


def test_a_datagram_by_name_is_refused(mock: LLMMock) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as connection:
        assert is_refused(mock, connection.sendto, b"x", ("localhost", 9))
        assert is_refused(mock, connection.sendto, b"x", 0, ("localhost", 9))
        assert not is_refused(mock, connection.sendto, b"x", ("127.0.0.1", 9))
        assert not is_refused(mock, connection.sendto, b"x", 0, ("127.0.0.1", 9))
        with pytest.raises(TypeError):
            connection.sendto(b"x")  # type: ignore[call-overload]
        with pytest.raises(TypeError):
            connection.sendto(b"x", ("localhost",))


def test_a_lookup_of_asyncio_knows_that_its_call_is_sent_for_real(mock: LLMMock) -> None:
    async def look_up() -> Any:
        return await asyncio.get_running_loop().getaddrinfo(
            "localhost", 80, type=socket.SOCK_STREAM
        )

    async def look_up_for_real() -> Any:
        with pass_through():
            return await look_up()

    assert is_refused(mock, lambda: asyncio.run(look_up()))
    found = asyncio.run(look_up_for_real())
    assert {each[1] for each in found} == {socket.SOCK_STREAM}
    assert {each[4][1] for each in found} == {80}


# http.client


@pytest.fixture
def connection() -> Iterator[http.client.HTTPConnection]:
    """Return a connection to a gateway, which leads back to this process."""
    here, there = socket.socketpair()
    with closing(there), closing(http.client.HTTPConnection(GATEWAY, 8080)) as connection:
        connection.sock = here
        yield connection


@pytest.mark.parametrize("body", [BODY, BODY.encode()])
def test_a_call_of_a_model_is_refused_by_its_body(
    body: Any, connection: http.client.HTTPConnection, mock: LLMMock
) -> None:
    for path in ("/v1/chat/completions", "/v1/chat/completions?a=b"):
        assert is_refused(mock, connection.request, "POST", path, body)
        assert is_refused(mock, connection.request, "POST", path, body=body, headers={"a": "b"})


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", "/v1/chat/completions", BODY),
        ("POST", "/v1/chat/completion", BODY),
        ("POST", "/v1/messages", '{"text": "Hello"}'),
        ("POST", "/v1/chat/completions", "no JSON"),
        ("POST", "/v1/chat/completions", io.BytesIO(BODY.encode())),
        ("GET", "/", None),
    ],
)
def test_other_requests_of_http_client_are_sent(
    method: str, path: str, body: Any, connection: http.client.HTTPConnection, mock: LLMMock
) -> None:
    assert not is_refused(mock, connection.request, method, path, body)


def test_the_arguments_of_http_client_stay() -> None:
    here, there = socket.socketpair()
    with closing(there), closing(http.client.HTTPConnection(GATEWAY)) as connection:
        connection.sock = here
        connection.request("PUT", "/x", iter([b"ab"]), {"x-a": "y"}, encode_chunked=True)
        assert there.recv(1000).startswith(b"PUT /x HTTP/1.1\r\n")


def test_a_tunnel_to_a_provider_is_refused(mock: LLMMock) -> None:
    connection = http.client.HTTPSConnection("proxy.invalid", 3128)
    for arguments in (("localhost",), ("localhost:443",), ("localhost", 443), ("localhost", 1, {})):
        assert is_refused(mock, connection.set_tunnel, *arguments), arguments
    assert not is_refused(mock, connection.set_tunnel, "app.test", 444, {"x-a": "y"})
    assert connection._tunnel_host == "app.test"  # type: ignore[attr-defined]
    assert connection._tunnel_port == 444  # type: ignore[attr-defined]
    assert connection._tunnel_headers["x-a"] == "y"  # type: ignore[attr-defined]


# What the transports ask


CHAT_URL = f"https://{GATEWAY}/v1/chat/completions"


@pytest.mark.parametrize(
    ("url", "is_socket", "expected"),
    [
        ("https://api.openai.com/any", False, True),
        ("api.openai.com/any", False, True),
        ("https://api.openai.com:bad/any", False, False),
        ("https://[/any", False, False),
        (CHAT_URL, False, True),
        (f"{GATEWAY}/v1/chat/completions", False, True),
        (f"https://{GATEWAY}/v1/models/m:generateContent", False, True),
        (f"https://{GATEWAY}/v1/messages", False, False),
        (f"https://{GATEWAY}/v1/chat/completions/", False, False),
        (f"https://{GATEWAY}/v1/realtime", False, False),
        (f"wss://{GATEWAY}/v1/realtime", True, True),
        (f"wss://{GATEWAY}/v1/chat/completions", True, False),
        ("http://127.0.0.1:8080/v1/chat/completions", False, False),
        ("http://localhost:8080/v1/chat/completions", False, True),
        ("ws://127.0.0.1:8080/v1/realtime", True, False),
    ],
)
def test_a_url_is_refused_by_its_host_or_its_path(
    url: str, is_socket: bool, expected: bool, mock: LLMMock
) -> None:
    message = refuse_url(url, is_socket=is_socket)
    assert (message is not None) is expected
    assert take_problems(mock) == ([message] if expected else [])


@pytest.mark.parametrize(
    ("host", "port", "is_offline", "expected"),
    [
        ("api.openai.com", 443, False, True),
        (b"api.openai.com", None, False, True),
        ("api.openai.com", "https", False, True),
        ("", 443, False, False),
        (None, 443, False, False),
        (5, 443, False, False),
        ("app.test", 443, False, False),
        ("app.test", 443, True, True),
        ("127.0.0.1", 443, True, False),
        ("left-alone.test", 443, False, False),
        (GATEWAY, 443, False, True),
        (f"eu.{GATEWAY}", 443, False, False),
    ],
)
def test_a_connection_is_refused_by_its_host(
    host: Any,
    port: object,
    is_offline: bool,
    expected: bool,
    mock: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GROQ_BASE_URL", "https://left-alone.test")
    monkeypatch.setenv("MISTRAL_BASE_URL", f"https://{GATEWAY}/v1")
    monkeypatch.setattr(http_settings, "hosts", ("localhost", "!left-alone.test"))
    monkeypatch.setattr(http_settings, "is_offline", is_offline)
    message = refuse_connection(host, port)
    assert (message is not None) is expected
    assert take_problems(mock) == ([message] if expected else [])
    if is_offline and message:
        assert message == (
            "Connection to app.test refused: a dry run does not connect to other machines. Nothing "
            "was sent. Run without --dry-run, or mock this call in the application."
        )


@pytest.mark.parametrize(
    ("host", "expected"),
    [(GATEWAY, True), ("127.0.0.1", False), ("localhost", True), ("left-alone.test", False)],
)
def test_a_request_is_refused_unless_its_host_is_left_alone(
    host: str, expected: bool, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "hosts", ("localhost", "!left-alone.test:8080"))
    path = "/v1/chat/completions?a=b"
    message = refuse_request("POST", host, 8080, path, BODY.encode())
    assert (message is not None) is expected
    assert take_problems(mock) == ([message] if expected else [])


def test_uvloop_connects_to_other_servers(mock_llm_calls: LLMMock) -> None:
    uvloop = pytest.importorskip("uvloop")

    async def connect() -> tuple[object, object]:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
        address = server.sockets[0].getsockname()
        transport, _ = await loop.create_connection(asyncio.Protocol, *address)
        connected = transport.get_extra_info("peername") == address
        transport.close()
        server.close()
        found = await loop.getaddrinfo("127.0.0.1", 80, type=socket.SOCK_STREAM)
        return connected, found[0][4]

    loop = uvloop.new_event_loop()
    with closing(loop):
        assert loop.run_until_complete(connect()) == (True, ("127.0.0.1", 80))


@pytest.mark.parametrize("mode", ["off", "error", "answer"])
def test_nothing_is_refused_where_the_boundary_is_off(
    mode: str, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_settings, "mode", mode)
    is_on = mode != "off"
    arguments = ("POST", GATEWAY, 443, "/v1/chat/completions", BODY.encode())
    assert (refuse_connection("api.openai.com", 443) is not None) is is_on
    assert (refuse_url(CHAT_URL) is not None) is is_on
    assert (refuse_request(*arguments) is not None) is is_on
    assert len(take_problems(mock)) == 3 * is_on
    with pass_through():
        assert refuse_connection("api.openai.com", 443) is None
        assert refuse_url(CHAT_URL) is None
        assert refuse_request(*arguments) is None


# Libraries that may not be installed


def test_plugins_that_block_sockets_bring_our_functions_back() -> None:
    plugin: Any = ModuleType("pytest_socket")
    names = {
        "_true_connect": socket.socket.connect,
        "_original_connect": socket.socket.connect,
        "_original_connect_ex": socket.socket.connect_ex,
        "_true_getaddrinfo": socket.getaddrinfo,
        "_true_gethostbyname": socket.gethostbyname,
    }
    for name in names:
        setattr(plugin, name, None)
    plugin.Curl = None  # pycurl is not installed
    for name in ("pytest_socket", "pytest_recording.network"):
        plugin.__name__ = name
        connection_guard.attach(plugin)
        assert {each: getattr(plugin, each) for each in names} == names
    empty = ModuleType("pytest_socket")
    connection_guard.attach(empty)
    assert not any(hasattr(empty, name) for name in names)


def test_the_class_of_pycurl_is_replaced_once() -> None:
    class Curl:
        """The class of the library."""

    pycurl: Any = ModuleType("pycurl")
    pycurl.Curl = Curl
    connection_guard.attach(pycurl)
    replacement = pycurl.Curl
    assert replacement.__bases__ == (Curl,)
    connection_guard.attach(pycurl)
    assert pycurl.Curl is replacement


def test_another_library_named_websocket_is_left_alone() -> None:
    other = ModuleType("websocket")
    connection_guard.attach(other)
    assert not hasattr(other, "WebSocket")


@pytest.mark.parametrize("name", sorted(connection_guard._ATTACH))
def test_a_library_is_attached_to_once(name: str) -> None:
    pytest.importorskip(name)
    import sys

    module = sys.modules[name]
    before = dict(vars(module))
    connection_guard.attach(module)
    assert dict(vars(module)) == before


TARGETS = [
    ("api.openai.com:443", True),
    ("api.openai.com", True),
    ("dns:api.openai.com:443", True),
    ("dns:///api.openai.com:443", True),
    ("dns://8.8.8.8/api.openai.com:443", True),
    ("passthrough:///api.openai.com:443", True),
    ("unix:///api.openai.com", False),
    ("ipv4:127.0.0.1:443", False),
    ("app.test:443", False),
    ("localhost:81", True),
    ("localhost:82", False),
    ("localhost", False),
]


@pytest.mark.parametrize(("target", "expected"), TARGETS)
def test_a_channel_of_grpc_is_guarded_by_its_target(
    target: str, expected: bool, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    grpc = pytest.importorskip("grpc")
    from llm_mock.boundaries.http.transports.grpc import create_guarded_aio_channel, guard_channel

    monkeypatch.setattr(http_settings, "hosts", ("localhost:81",))

    class Channel(grpc.Channel):  # type: ignore[misc]
        """A channel that nothing is sent by."""

        unary_unary = unary_stream = stream_unary = stream_stream = None
        subscribe = unsubscribe = close = __enter__ = __exit__ = None

    channel = Channel()
    assert (guard_channel(channel, target) is not channel) is expected
    given: dict[str, Any] = {}

    def create(target: str, options: Any = None, interceptors: Any = None) -> None:
        given.update(target=target, options=options, interceptors=interceptors)

    own = [object()]
    create_guarded_aio_channel(create, target, "o", own)
    assert (given["target"], given["options"]) == (target, "o")
    assert given["interceptors"][-1:] == own
    assert len(given["interceptors"]) == (5 if expected else 1)
    create_guarded_aio_channel(create, target)
    assert len(given["interceptors"] or ()) == (4 if expected else 0)


def test_a_call_of_grpc_is_refused_while_models_are_mocked_and_no_longer(mock: LLMMock) -> None:
    grpc = pytest.importorskip("grpc")

    def call(timeout: float) -> Any:
        with grpc.insecure_channel("localhost:9") as channel:
            return channel.unary_unary("/a.B/C")(b"x", timeout=timeout)

    with pytest.raises(grpc.RpcError, match=REFUSED) as refused:
        call(9)
    assert refused.value.code() == grpc.StatusCode.UNIMPLEMENTED
    assert [refused.value.details()] == [str(refused.value)] == take_problems(mock)
    assert (refused.value.initial_metadata(), refused.value.trailing_metadata()) == ((), ())
    with pass_through(), pytest.raises(grpc.RpcError) as failed:
        call(1)
    assert failed.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def test_an_asynchronous_call_of_grpc_is_sent_while_calls_are_real(mock: LLMMock) -> None:
    grpc = pytest.importorskip("grpc")

    async def call() -> Any:
        async with grpc.aio.insecure_channel("localhost:9") as channel:
            return await channel.unary_unary("/a.B/C")(b"x", timeout=1)

    with pass_through(), pytest.raises(grpc.RpcError) as failed:
        asyncio.run(call())
    assert failed.value.code() in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)
    assert REFUSED not in str(failed.value)
