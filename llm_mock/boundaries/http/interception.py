"""Decide which requests and connections the mock intercepts.

Every HTTP transport asks this module first.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llm_mock.boundaries.http.clients import (
    Client,
    choose_dialect,
    is_model_body,
    is_model_path,
    is_realtime_path,
    is_unmistakable_path,
    read_client,
)
from llm_mock.boundaries.http.providers.hosts import (
    find_provider_in_environment,
    find_provider_of_host,
    find_provider_of_path,
    is_listed,
    is_telemetry,
    is_this_machine,
    normalize_host,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.core.context import current_mock, is_mocked, is_passing_through

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest

UNDECIDED = "undecided"
"""The result of `find_provider` if the body must be read to find out whether a model is called."""
TELEMETRY = "telemetry"
"""The result of `find_provider` for a framework's usage report."""
Headers = Iterable[tuple[Any, Any]]


def is_answering() -> bool:
    """Return True if the mock answers in place of every provider."""
    return http_settings.mode == "answer" and is_mocked() and not is_passing_through()


def find_provider(
    host: str,
    port: int | None,
    target: str,
    headers: Headers = (),
    *,
    is_local: bool = False,
    method_and_scheme: str = "",
) -> str | None:
    """Return the provider that a request is for; None if the mock leaves the request alone.

    Args:
        host: the host of the request.
        port: its port; None for the default one.
        target: its path, with or without a query.
        headers: its headers, in the form of the HTTP library.
        is_local: True if it is sent to a unix socket.
        method_and_scheme: such as `POST http`, to report an SDK that calls a server on this
            machine without a mock; empty if a lower library reports that.

    Returns:
        The provider, which chooses the dialect, or `UNDECIDED`: then read the body and call
        `identify_provider`.
    """
    if not _is_guarded():
        return None
    provider = find_provider_of_host(host, port, http_settings.hosts)
    if provider is None:
        # The host of a unix socket is made up, and may be that of a provider.
        unlisted_host = "" if is_local else normalize_host(host)
        return _find_provider_at_unlisted_host(
            unlisted_host, port, target, headers, method_and_scheme
        )
    # A host that the project listed is its own provider, so the dialect is not known from it.
    if http_settings.hosts and provider == normalize_host(host):
        path = target.partition("?")[0]
        return choose_dialect(path, read_client(headers).sdk)
    return provider


def _find_provider_at_unlisted_host(
    host: str, port: int | None, target: str, headers: Headers, method_and_scheme: str
) -> str | None:
    if is_listed(host, port, http_settings.hosts, "!"):
        return None
    client = read_client(headers)
    path = target.partition("?")[0]
    if is_this_machine(host):
        if client.sdk is not None and method_and_scheme and host:
            _note_not_mocked(host, port, path, method_and_scheme)
        return None
    if http_settings.telemetry == "drop" and is_telemetry(host, path):
        return TELEMETRY
    provider = find_provider_of_path(host, path)
    if provider is not None:
        return provider
    return _find_provider_by_client(client, host, port, path)


def _find_provider_by_client(client: Client, host: str, port: int | None, path: str) -> str | None:
    provider = find_provider_in_environment(host, port, path)
    # Gateways of many providers are called with OpenAI's SDK, and the variable says which one.
    if provider is not None and client.sdk == "openai":
        return provider
    if client.sdk is not None:
        return choose_dialect(path, client.sdk)
    if provider is not None:
        return choose_dialect(path, provider)
    if client.wants_websocket:
        return choose_dialect(path, None) if is_realtime_path(path) else None
    if client.sends_json and is_model_path(path):
        return UNDECIDED
    return None


def _note_not_mocked(host: str, port: int | None, path: str, method_and_scheme: str) -> None:
    """Note that an SDK calls a server on this machine, unless this test run started the server."""
    # Imported here, as few runs need it.
    from llm_mock.boundaries.http.local_servers import is_foreign

    method, scheme = method_and_scheme.split(" ")
    port = port or (443 if scheme == "https" else 80)
    foreign = is_foreign(port)
    if foreign is False:
        return
    server = f"{host}:{port}"
    request = f"{method} {scheme}://{server}{path}"
    advice = (
        f"To have the mock answer, add {server} to ini llm_mock_hosts; to leave the server alone, "
        f"add !{server} there."
    )
    # Without a server the connection fails by itself, which the test may intend.
    if foreign is None:
        message = f"not mocked: {request}. No server listens there. {advice}"
        current_mock().note_refusal(message)
        return
    message = f"not mocked: {request}. This test run did not start that server. {advice}"
    current_mock().note_not_mocked(request, message)


def identify_provider(sent: WireRequest) -> str | None:
    """Return the provider of a request with its body; None if the request calls no model."""
    if sent.method != "POST" or not is_model_path(sent.path):
        return None
    if not is_model_body(sent.path, sent.body):
        return None
    return choose_dialect(sent.path, read_client(sent.headers.items()).sdk)


def refuse_connection(host: str | bytes | None, port: object) -> str | None:
    """Return the message that refuses a connection; None to leave the connection alone.

    The refusal fails the test.
    """
    # Checked first: every connection of the process comes by here, also without a mock.
    if not host or not _is_guarded():
        return None
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not isinstance(name, str):
        return None
    # Sockets take names of services, too.
    number = port if isinstance(port, int) else None
    return _note_refusal(name) if is_provider_host(name, number) else None


def refuse_url(url: str, *, is_socket: bool = False) -> str | None:
    """Return the message that refuses a URL, whose body is not known; None to leave it alone.

    Args:
        url: the URL of a provider, or of a model API elsewhere.
        is_socket: True for the URL of a WebSocket.
    """
    if not _is_guarded():
        return None
    try:
        parts = urlsplit(url if "://" in url else f"//{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return None
    if is_provider_host(host, port):
        return _note_refusal(host)
    is_model = is_realtime_path(parts.path) if is_socket else is_unmistakable_path(parts.path)
    if is_model and not _is_left_alone(host, port):
        return _note_refusal(host)
    return None


def refuse_request(
    method: str, host: str, port: int | None, target: str, body: bytes
) -> str | None:
    """Return the message that refuses a request to a model; None to leave the request alone."""
    path = target.partition("?")[0]
    if method != "POST" or not is_model_path(path):
        return None
    if not _is_guarded() or _is_left_alone(host, port):
        return None
    return _note_refusal(host) if is_model_body(path, body) else None


def _note_refusal(name: str) -> str:
    """Note that a connection is refused, and return the message."""
    if http_settings.is_offline:
        message = (
            f"Connection to {name} refused: a dry run connects to no other machine, and nothing "
            "was sent. Run without it, or mock this call in the application."
        )
    else:
        message = (
            f"Connection to {name} refused: llm_mock cannot answer on it, and nothing was sent. "
            "The mock answers requests of httpx, httpx2, requests, urllib3, botocore and aiohttp. "
            "To reach the provider, mark the test with @pytest.mark.llm_live."
        )
    current_mock().note_problem(message)
    return message


def _is_guarded() -> bool:
    return http_settings.mode != "off" and is_mocked() and not is_passing_through()


def _is_left_alone(host: str, port: int | None) -> bool:
    """Return True for this machine and hosts that the project took out, unless they are listed."""
    name = normalize_host(host)
    if is_listed(name, port, http_settings.hosts):
        return False
    return is_this_machine(host) or is_listed(name, port, http_settings.hosts, "!")


def is_provider_host(host: str, port: int | None) -> bool:
    """Return True if everything at a host belongs to a provider."""
    if find_provider_of_host(host, port, http_settings.hosts) is not None:
        return True
    if http_settings.is_offline and not is_this_machine(host):
        return True
    if _is_left_alone(host, port):
        return False
    return find_provider_in_environment(normalize_host(host), port, None) is not None


async def sleep(seconds: float) -> None:
    """Wait, in asyncio or in trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await trio.sleep(seconds)
        return
    # Imported here: applications without asyncio do not pay for it.
    import asyncio

    await asyncio.sleep(seconds)
