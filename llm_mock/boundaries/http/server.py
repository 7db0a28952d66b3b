"""A server that answers as the providers do, for programs that are not in this process."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from ipaddress import ip_address
from types import TracebackType
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.connection import Answering, Connection
from llm_mock.boundaries.http.dialects import make_environment, resolve_request
from llm_mock.boundaries.http.error_formats import get_error_format
from llm_mock.boundaries.http.errors import NO_RETRY_HEADERS, ConnectionFailure, WireError
from llm_mock.boundaries.http.forwarding import forward
from llm_mock.boundaries.http.http1 import Head
from llm_mock.boundaries.http.responder import ModelRequest, parse_request, respond_async
from llm_mock.boundaries.http.routing import error_response, exception_response
from llm_mock.boundaries.http.wire import WireRequest, WireResponse, json_response
from llm_mock.support.redaction import hide_carried
from llm_mock.support.text import shorten

if TYPE_CHECKING:
    from llm_mock.core.mock import Mock

BACKLOG = 128
LOCAL_NAMES = ("localhost", "host.docker.internal", "host.containers.internal")
"""Names of this machine; the last ones are those that containers have for it."""


class MockServer:
    """Answers requests of OpenAI's, Anthropic's, Google's and Mistral's APIs, on a thread of its own.

    Which API is asked is told by the path. A context manager: it serves from `__init__` to `__exit__`.

    Args:
        mock: gives the mock that answers a request; None where nothing is mocked at that moment.
        host: where to listen.
        port: the port; 0 for one that is free.
        keep_alive: let clients use a connection for several requests. In a test an event loop that ends would leave
            such connections open.
        any_host: answer requests whatever their header `Host` says. Otherwise it must name this machine, so that no
            page in a browser can ask the server by a name that it has resolve to this machine (DNS rebinding).

    Raises:
        OSError: it cannot listen there.
    """

    def __init__(
        self,
        mock: Callable[[], Mock | None],
        host: str = "127.0.0.1",
        port: int = 0,
        keep_alive: bool = False,
        any_host: bool = False,
    ) -> None:
        self._mock = mock
        self._any_host = any_host
        self._answering = Answering(self._respond, _refuse_malformed, keep_alive)
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.create_server((host, port), family=family, backlog=BACKLOG)
        self.url = f"http://{f'[{host}]' if ':' in host else host}:{self._socket.getsockname()[1]}"
        """Where it serves, without a path: any provider's path that is put behind it is known."""
        self._loop = asyncio.SelectorEventLoop()
        self._ended = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="llm-mock server", daemon=True)
        self._thread.start()

    @property
    def openai_url(self) -> str:
        """What is given to OpenAI's SDKs as `base_url`."""
        return f"{self.url}/openai/v1"

    @property
    def anthropic_url(self) -> str:
        """What is given to Anthropic's SDKs as `base_url`."""
        return f"{self.url}/anthropic"

    @property
    def gemini_url(self) -> str:
        """What is given to Google's SDKs as `base_url` of the `http_options`."""
        return f"{self.url}/gemini"

    @property
    def mistral_url(self) -> str:
        """What is given to Mistral's SDKs as `server_url`."""
        return f"{self.url}/mistral"

    def environment(self, **variables: str) -> dict[str, str]:
        """The environment for a program that is to ask this server: base URLs, and what stands for keys.

        Args:
            variables: further environment variables.

        Returns:
            The environment of this process with them, for `subprocess.run(…, env=…)`. Real keys are not in it.
        """
        return {**self.environment_of(os.environ), **variables}

    def environment_of(self, environment: Mapping[str, str]) -> dict[str, str]:
        """An environment with these base URLs and keys in place of others."""
        return make_environment(self.url, environment)

    def end_calls(self) -> None:
        """Close the connections that are open."""
        self._loop.call_soon_threadsafe(self._end_connections)

    def wait(self) -> None:
        """Wait until the server has ended."""
        self._thread.join()

    def close(self) -> None:
        """End the server, with all its connections."""
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._end)
        self._thread.join()

    def __enter__(self) -> MockServer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # On the thread

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await self._loop.create_server(
            lambda: Connection(self._answering), sock=self._socket
        )
        await self._ended
        server.close()
        self._end_connections()
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
        while self._answering.connections:
            await asyncio.sleep(0)

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _end_connections(self) -> None:
        for connection in [*self._answering.connections]:
            connection.end()

    async def _respond(self, head: Head, body: bytes) -> WireResponse:
        sent, provider = resolve_request(head, body)
        hide_carried(*_list_credentials(sent))
        if not (self._any_host or head.host is None or is_local_host(head.host)):
            return self._misdirected(head.host, provider)
        if sent.path == "/" and head.method in ("GET", "HEAD"):  # whether somebody is there
            return json_response({"llm-mock": self.url})
        try:
            mock = self._mock()
            if mock is None:
                raise WireError(
                    503, "No test that is mocked runs at this moment, so llm_mock has no answer."
                )
            asked = parse_request(sent, provider, mock, served=True)
            if not isinstance(asked, ModelRequest):
                return asked
            response = await respond_async(asked, mock)
            return response if isinstance(response, WireResponse) else await forward(sent, response)
        except ConnectionFailure:
            raise
        except Exception as error:
            return exception_response(get_error_format(provider), error)

    def _misdirected(self, host: str, provider: str) -> WireResponse:
        """Refuse a request that was meant for another host."""
        message = (
            f"The request was for the host {shorten(host)}, which does not name this machine, so it was refused: a "
            "page in a browser may have sent it. To answer other hosts, start llm-mock serve with --host."
        )
        if (mock := self._mock()) is not None:
            mock.note_problem(message)
        return error_response(
            get_error_format(provider), WireError(421, message, headers=NO_RETRY_HEADERS)
        )


def is_local_host(host: str) -> bool:
    """Return whether a header `Host` names this machine."""
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


def _list_credentials(sent: WireRequest) -> Iterator[str]:
    """Yield what a request carries to say who asks: nothing of it may be shown."""
    for value in sent.secrets():
        if PLACEHOLDER_KEY not in value:
            yield value
            yield value.rpartition(" ")[2]  # without `Bearer`
            yield from (
                part.partition("=")[2] for part in value.split(";")
            )  # the values of cookies


def _refuse_malformed(head: Head | None, error: WireError) -> WireResponse:
    provider = "openai" if head is None else resolve_request(head, b"")[1]
    return error_response(get_error_format(provider), error)
