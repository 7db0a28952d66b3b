"""Libraries that are too old, or lack a name that the mock uses: tried without a process."""

from __future__ import annotations

import asyncio
import importlib.metadata
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx2
import openai
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import patching
from llm_mock.boundaries.http import attach, retries
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.supported_versions import (
    explain_version,
    outdated_call,
    refuse_outdated,
)
from llm_mock.core.context import pass_through
from llm_mock.errors import LibraryChanged

TRANSPORTS = {
    "aiohttp": "aiohttp",
    "httpcore": "httpcore httpcore2",
    "httpx": "httpx httpx2",
    "urllib3": "urllib3 urllib3_future",
    "connection_guard": (
        "asyncio curl_cffi grpc grpc.aio http.client pycurl pytest_recording.network "
        "pytest_socket socket uvloop websocket websockets.legacy.client "
        "websockets.trio.client"
    ),
    "websockets": "websockets.asyncio.client websockets.sync.client",
}
"""The libraries that can reach a provider, by what intercepts them."""


def test_every_library_that_can_reach_a_provider_is_attached_to() -> None:
    expected = {library: name for name, all_ in TRANSPORTS.items() for library in all_.split()}
    assert expected == attach.TRANSPORTS
    # The blockers of sockets come last, as they keep functions that are replaced before.
    assert list(attach.TRANSPORTS)[-2:] == ["pytest_recording.network", "pytest_socket"]
    for library in (*expected, "openai._base_client", "anthropic._base_client"):
        assert library in patching._executions, library


def make_request(host: bytes = b"api.openai.com") -> Any:
    url = SimpleNamespace(scheme=b"https", host=host, port=None, target=b"/v1/files")
    return SimpleNamespace(url=url, method=b"GET", headers=[], stream=[b""])


def make_library(*missing: str, version: str | None = "99") -> Any:
    """Return a module like httpcore, without some names, after the mock attached to it."""

    class ConnectionPool:
        """A pool that notes that a request was sent."""

        def __init__(self, size: int = 0) -> None:
            self.size = size

        def handle_request(self, request: Any) -> str:
            return "sent"

    class AsyncConnectionPool:
        """A pool that notes that a request was sent."""

        def __init__(self, size: int = 0) -> None:
            self.size = size

        async def handle_async_request(self, request: Any) -> str:
            return "sent"

    module: Any = ModuleType("httpcore")
    module.ConnectionPool, module.AsyncConnectionPool = ConnectionPool, AsyncConnectionPool
    for name in ("Response", "URL", "ConnectError", "ReadTimeout", "RemoteProtocolError"):
        setattr(module, name, type(name, (Exception,), {}))
    if version is not None:
        module.__version__ = version
    for path in missing:
        owner, _, name = path.rpartition(".")
        delattr(getattr(module, owner) if owner else module, name)
    attach._attach_to("transports.httpcore", module)
    return module


def send(library: Any, request: Any) -> Any:
    return library.ConnectionPool().handle_request(request)


def send_async(library: Any, request: Any) -> Any:
    return asyncio.run(library.AsyncConnectionPool().handle_async_request(request))


both_ways = pytest.mark.parametrize("send", [send, send_async])
Send = Callable[[Any, Any], Any]


@both_ways
def test_other_requests_of_a_library_are_sent(send: Send, mock_llm_calls: LLMMock) -> None:
    for library in (make_library(), make_library("ReadTimeout"), make_library(version=None)):
        assert send(library, make_request(b"app.test")) == "sent"
    assert mock_llm_calls.problems == []


@both_ways
@pytest.mark.parametrize("name", ["Response", "URL", "ConnectError", "ReadTimeout"])
def test_a_request_to_a_provider_is_refused_if_a_name_is_missing(
    name: str, send: Send, mock_llm_calls: LLMMock
) -> None:
    library = make_library(name)
    version = importlib.metadata.version("httpcore")
    message = (
        f"httpcore {version} changed {name}, which llm_mock needs; calls by httpcore are refused, "
        f"and nothing is sent. Install httpcore<{version}, and please report this."
    )
    with pytest.raises(LibraryChanged) as raised:
        send(library, make_request())
    assert str(raised.value) == message
    assert mock_llm_calls.problems == [message]
    mock_llm_calls.problems.clear()
    with pass_through():
        assert send(library, make_request()) == "sent"


@both_ways
def test_a_request_that_cannot_be_told_apart_is_refused(
    send: Send, mock_llm_calls: LLMMock
) -> None:
    library = make_library("URL")
    for request in (SimpleNamespace(), None):
        with pytest.raises(LibraryChanged, match="changed URL"):
            send(library, request)
    assert len(mock_llm_calls.problems) == 2
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(
    "seam", ["ConnectionPool.handle_request", "AsyncConnectionPool.handle_async_request"]
)
def test_without_the_function_of_a_library_no_client_of_it_is_made(
    seam: str, mock_llm_calls: LLMMock
) -> None:
    library = make_library(seam)
    for pool in (library.ConnectionPool, library.AsyncConnectionPool):
        with pytest.raises(LibraryChanged, match=f"changed {seam}"):
            pool(5)
        with pass_through():
            assert pool(5).size == 5
    assert len(mock_llm_calls.problems) == 2
    mock_llm_calls.problems.clear()


def test_an_old_library_that_lacks_a_name_is_called_old(mock_llm_calls: LLMMock) -> None:
    library: Any = ModuleType("urllib3")
    library.__version__ = "1.25.11"
    library.HTTPConnectionPool = type("HTTPConnectionPool", (), {"__init__": lambda self: None})
    attach._attach_to("transports.urllib3", library)
    with pytest.raises(LibraryChanged) as raised:
        library.HTTPConnectionPool()
    assert str(raised.value) == explain_version("urllib3", "1.25.11")
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(
    ("version", "is_outdated"), [("0.22.9", True), ("0.23", False), (None, False), (5, False)]
)
def test_the_calls_of_an_old_library_are_marked(version: Any, is_outdated: bool) -> None:
    class Client:
        """A client of an HTTP library."""

        def send(self, text: str, number: int = 0) -> Any:
            """Return the arguments, and the message for an old library."""
            return text, number, outdated_call.get()

        async def send_async(self, text: str, number: int = 0) -> Any:
            """Return what `send` does."""
            return text, number, outdated_call.get()

        def fail(self) -> None:
            """Fail as a client does."""
            raise LookupError

        def other(self) -> Any:
            """Return what `send` does; no transport replaces it."""
            return outdated_call.get()

    library: Any = ModuleType("httpx")
    library.Client, library.something = Client, 5
    if version is not None:
        library.__version__ = version
    for name in ("send", "send_async", "fail"):
        patching.replace(Client, name, lambda original, *args, **more: original(*args, **more))
    refuse_outdated(library)
    message = explain_version("httpx", "0.22.9") if is_outdated else None
    client = Client()
    assert client.send("a", number=1) == ("a", 1, message)

    async def send_and_look() -> Any:
        return await client.send_async("a", number=1), outdated_call.get()

    assert asyncio.run(send_and_look()) == (("a", 1, message), None)
    with pytest.raises(LookupError):
        client.fail()
    assert client.other() is None
    assert outdated_call.get() is None
    assert patching.is_replaced(Client.send)


# Retries


REMOTE, LOCAL = "https://api.openai.com/v1", "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("url", "headers", "setting", "is_fast"),
    [
        (REMOTE, None, {}, True),
        ("https://llm-gateway.corp.test/v1", None, {}, True),
        (REMOTE, {}, {}, False),
        (REMOTE, None, {"fast_retries": False}, False),
        (REMOTE, None, {"mode": "error"}, False),
        (LOCAL, None, {}, False),
        (LOCAL, None, {"hosts": ("127.0.0.1:9",)}, True),
        (LOCAL, None, {"hosts": ("127.0.0.1:8",)}, False),
    ],
)
def test_a_retry_without_a_response_is_fast_where_the_mock_answers(
    url: str,
    headers: Any,
    setting: dict[str, Any],
    is_fast: bool,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    client = openai.OpenAI(base_url=url, api_key="any", max_retries=2)
    options = openai._models.FinalRequestOptions(method="get", url="/")
    for name, value in setting.items():
        monkeypatch.setattr(http_settings, name, value)
    given = headers if headers is None else httpx2.Headers(headers)
    seconds = client._calculate_retry_timeout(2, options, given)
    assert (seconds == 0.05) is is_fast
    assert is_fast or seconds >= 0.3
    with pass_through():
        assert client._calculate_retry_timeout(2, options, given) >= 0.3


def test_an_sdk_without_the_private_names_of_retries_stays_as_it_is() -> None:
    for client in (None, type("BaseClient", (), {})):
        module: Any = ModuleType("sdk._base_client")
        if client is not None:
            module.BaseClient = client
        before = dict(vars(module))
        retries.attach(module)
        assert vars(module) == before
