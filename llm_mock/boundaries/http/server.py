"""A server that answers instead of the providers, for programs outside this process."""

from __future__ import annotations

import asyncio
import functools
import os
import socket
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import urlsplit

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.clients import is_websocket_path
from llm_mock.boundaries.http.connection import Connection, ServerContext, enter_task
from llm_mock.boundaries.http.dialects import (
    NO_UPSTREAMS,
    Upstream,
    make_environment,
    resolve_request,
)
from llm_mock.boundaries.http.dispatch import ModelRequest, parse_request, respond_async
from llm_mock.boundaries.http.errors import refusal_headers
from llm_mock.boundaries.http.forwarding import forward
from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.providers.registry import get_descriptor
from llm_mock.boundaries.http.wire import (
    PendingResponse,
    WireRequest,
    WireResponse,
    error_response,
    exception_response,
    json_response,
)
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.redaction import hide_carried
from llm_mock.support.text import bracket_host, shorten

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

BACKLOG = 128
"""The maximum number of connections that wait to be accepted."""
NO_WEBSOCKETS = (
    "The server needs the library websockets 13.1 or later to answer WebSockets. Install it in "
    "the server's environment (pip install 'websockets>=13.1'), or call the API over HTTP."
)
LOCAL_NAMES = ("localhost", "host.docker.internal", "host.containers.internal")
"""Names of this machine; the last two are used in containers."""

served_ports: set[int] = set()
"""The ports of the servers that run in this process."""


class RoutedRequest(NamedTuple):
    """A request, and the mock that answers it."""

    head: RequestHead
    """The head, with the path that a request without a router would have."""
    mock: Callable[[], Mock]
    """Returns the mock that answers."""


class RequestRouter(Protocol):
    """The interface of a router, which finds the mocks of requests or answers requests itself."""

    def concerns(self, head: RequestHead) -> bool:
        """Return True if `route` must be called; the server's mock answers all other requests."""

    def route(self, head: RequestHead, body: bytes, peer: str) -> RoutedRequest | WireResponse:
        """Return the request with its mock, or the response.

        Args:
            head: the head of the request.
            body: the body.
            peer: the IP address of the client.

        Raises:
            WireError: the request is refused, in the format of its provider.
        """


class MockServer:
    """A server with the APIs of the large providers, on a thread of its own.

    These are OpenAI, Anthropic, Google, Mistral and Amazon Bedrock. The path of a request selects
    the API. The server runs from its construction until `close`, or until the end of a `with`
    statement.

    Args:
        mock: returns the mock that answers a request, or None if nothing is mocked at that moment.
        host: the address to listen on.
        port: the port; 0 for a free port.
        keep_alive: let clients use a connection for several requests. In a test, an event loop
            that ends would leave such connections open.
        any_host: answer requests with any header `Host`. Otherwise, it must name this machine, so
            that no web page can call the server through a name that it resolves to this machine
            (DNS rebinding).
        router: finds the mocks of requests that name a test; None if `mock` answers all requests.
        upstreams: the servers to which requests are forwarded instead of the provider's server, by
            the first segment of the path.

    Raises:
        OSError: the server cannot listen on this address and port.
    """

    def __init__(
        self,
        mock: Callable[[], Mock | None],
        host: str = "127.0.0.1",
        port: int = 0,
        keep_alive: bool = False,
        any_host: bool = False,
        router: RequestRouter | None = None,
        upstreams: Mapping[str, Upstream] = NO_UPSTREAMS,
    ) -> None:
        self._upstreams = upstreams
        self._mock = mock
        self._router = router
        self._any_host = any_host
        self._context = ServerContext(self._respond, _refuse_malformed, keep_alive)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        # Bound here and not in the thread, so that the caller gets the error and the port.
        self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        url_host = bracket_host(host)
        self._port = self._socket.getsockname()[1]
        served_ports.add(self._port)
        self.url = f"http://{url_host}:{self._port}"
        """The base URL without a path, to which any provider's path can be added."""
        # Do not use the event loop policy: an application may have set uvloop.
        self._loop = asyncio.SelectorEventLoop()
        self._ended = self._loop.create_future()
        # A daemon thread, as a server that is never closed must not keep the process alive.
        self._thread = threading.Thread(target=self._run, name="llm-mock server", daemon=True)
        self._thread.start()

    @property
    def openai_url(self) -> str:
        """The `base_url` for OpenAI's SDKs."""
        return f"{self.url}/openai/v1"

    @property
    def anthropic_url(self) -> str:
        """The `base_url` for Anthropic's SDKs."""
        return f"{self.url}/anthropic"

    @property
    def gemini_url(self) -> str:
        """The `base_url` in the `http_options` of Google's SDKs."""
        return f"{self.url}/gemini"

    @property
    def mistral_url(self) -> str:
        """The `server_url` for Mistral's SDKs."""
        return f"{self.url}/mistral"

    @property
    def bedrock_url(self) -> str:
        """The `endpoint_url` of clients for Amazon Bedrock, or the `base_url` in `anthropic`."""
        return f"{self.url}/bedrock"

    @property
    def vertex_url(self) -> str:
        """The `base_url` of Anthropic's clients for Vertex AI."""
        return f"{self.url}/vertex/v1"

    def environment(self, **variables: str) -> dict[str, str]:
        """Return the environment for a program that calls this server.

        Args:
            variables: additional environment variables.

        Returns:
            The environment of this process with base URLs of this server and placeholder keys,
            for `subprocess.run(…, env=…)`. Keys that are not only for models, such as AWS keys, are
            not replaced.
        """
        return {**self.adapt_environment(os.environ), **variables}

    def adapt_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return an environment with base URLs of this server and placeholder keys."""
        return make_environment(self.url, environment)

    def end_calls(self) -> None:
        """Close all open connections."""
        self._loop.call_soon_threadsafe(self._abort_connections)

    def wait(self) -> None:
        """Wait until the server has ended."""
        self._thread.join()

    def close(self) -> None:
        """End the server and all its connections."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join()
        served_ports.discard(self._port)

    def __enter__(self) -> MockServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # In the thread of the server

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await self._loop.create_server(
            lambda: Connection(self._context), sock=self._socket
        )
        await self._ended
        server.close()
        self._abort_connections()
        # If the loop is closed before its tasks and transports have ended, it warns about each.
        while True:
            other_tasks = asyncio.all_tasks() - {asyncio.current_task()}
            if not other_tasks:
                break
            await asyncio.wait(other_tasks)
        while self._context.connections:
            await asyncio.sleep(0)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _abort_connections(self) -> None:
        # A copy, as connections that end remove themselves.
        for connection in list(self._context.connections):
            connection.abort()

    async def _respond(
        self, head: RequestHead, body: bytes, connection: Connection
    ) -> WireResponse | None:
        if self._router is None or not self._router.concerns(head):
            return await self._answer(head, body, self._mock, connection)
        try:
            routed = self._router.route(head, body, connection.peer_address)
        except WireError as error:
            return _refuse_malformed(head, error)
        if isinstance(routed, WireResponse):
            return routed
        return await self._answer(routed.head, body, routed.mock, connection)

    async def _answer(
        self,
        head: RequestHead,
        body: bytes,
        get_mock: Callable[[], Mock | None],
        connection: Connection,
    ) -> WireResponse | None:
        sent, provider = resolve_request(head, body, self._upstreams)
        # Before any part of the request can be reported.
        _hide_credentials(sent)
        if not self._any_host and not is_local_host(head.host):
            return self._refuse_host(head.host or "", provider)
        # Programs and people use this path to check whether the server is running.
        if sent.path == "/" and head.method in ("GET", "HEAD"):
            return json_response({"llm-mock": self.url})
        if head.method == "GET" and _wants_websocket(sent):
            return _open_websocket(sent, provider, get_mock, connection)
        try:
            mock = get_mock()
            if mock is None:
                raise WireError(503, "No mock is active: no mocked test is running.")
            return await _respond_with(mock, sent, provider)
        # The client gets any exception in the format of its provider. A `ConnectionFailure` is
        # raised again, and makes the connection fail.
        except Exception as error:
            return exception_response(get_descriptor(provider).errors, error)

    def _refuse_host(self, host: str, provider: str) -> WireResponse:
        message = (
            f"The host {shorten(host)} does not name this machine, so the request is refused: a "
            "page in a browser may have sent it. To answer other hosts, start llm-mock serve with "
            "--host."
        )
        mock = self._mock()
        if mock is not None:
            mock.note_problem(message)
        error = WireError(421, message, headers=refusal_headers(message))
        return error_response(get_descriptor(provider).errors, error)


def _wants_websocket(sent: WireRequest) -> bool:
    return "upgrade" in sent.headers and is_websocket_path(sent.path)


def _open_websocket(
    sent: WireRequest,
    provider: str,
    get_mock: Callable[[], Mock | None],
    connection: Connection,
) -> WireResponse | None:
    """Turn a connection into a WebSocket; return the error response if this fails."""
    # Imported late: few clients use WebSockets, and the library may not be installed.
    try:
        from llm_mock.boundaries.http.websockets.served import ServedSession, open_websocket
    except ImportError:
        error = WireError(426, NO_WEBSOCKETS, headers=refusal_headers(NO_WEBSOCKETS))
        return error_response(get_descriptor(provider).errors, error)
    session = ServedSession(provider, sent, get_mock, _respond_with)
    connection.open_websocket(functools.partial(open_websocket, session, sent))
    return None


async def _respond_with(mock: Mock, sent: WireRequest, provider: str) -> WireResponse:
    """Return a mock's response to a request."""
    request = parse_request(sent, provider, mock, served=True)
    if isinstance(request, WireResponse):
        return request
    if isinstance(request, PendingResponse):
        await enter_task()
        return await request.wait()
    if isinstance(request, ModelRequest):
        response = await respond_async(request, enter_task)
    else:
        response = request
    if isinstance(response, WireResponse):
        return response
    await enter_task()
    return await forward(sent, response)


@lru_cache
def is_local_host(host: str | None) -> bool:
    """Return True if a header `Host` names this machine, or the request has none."""
    # A web page cannot send such a request.
    if host is None:
        return True
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in LOCAL_NAMES or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _hide_credentials(sent: WireRequest) -> None:
    """Hide the credentials of a request in all output."""
    credentials = []
    for value in sent.secrets():
        if PLACEHOLDER_KEY in value:
            continue
        credentials.append(value)
        # Without the scheme, such as `Bearer`.
        credentials.append(value.rpartition(" ")[2])
        for cookie in value.split(";"):
            credentials.append(cookie.partition("=")[2])
    # Most requests have no credentials, for which the call is avoided.
    if credentials:
        hide_carried(*credentials)


def _refuse_malformed(head: RequestHead | None, error: WireError) -> WireResponse:
    provider = "openai" if head is None else resolve_request(head, b"")[1]
    return error_response(get_descriptor(provider).errors, error)
