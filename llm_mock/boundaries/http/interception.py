"""Decide which requests the mock answers: the first thing every HTTP library asks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llm_mock.boundaries.http.clients import (
    choose_dialect,
    is_model_body,
    is_model_path,
    is_realtime,
    is_unmistakable,
    read_client,
)
from llm_mock.boundaries.http.providers import (
    find_provider_in_environment,
    find_provider_of_host,
    find_provider_of_path,
    is_listed,
    is_telemetry,
    is_this_machine,
    normalize_host,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.passthrough import is_passing_through
from llm_mock.core.context import current_mock, has_passthrough, is_mocked

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest

UNDECIDED = "undecided"
"""What `find_provider` returns where only the body tells whether a model is asked."""
TELEMETRY = "telemetry"
"""What it returns for a report of a framework that it is used."""
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
    asked: str = "",
) -> str | None:
    """Return the provider that a request is for; None if the mock leaves the request alone.

    Args:
        host: the host of the request.
        port: its port; None for the default one.
        target: its path, with or without a query.
        headers: its headers, of which each library has a form of its own.
        is_local: it is sent to a unix socket.
        asked: its method and scheme, such as `POST http`, which are reported if an SDK asks a server on this machine
            that is not mocked; empty where a lower library reports that.

    Returns:
        The provider, which chooses the dialect; or `UNDECIDED`: read the body and ask `identify_provider`.
    """
    if not _is_guarded():
        return None
    provider = find_provider_of_host(host, port, http_settings.hosts)
    if provider is None:
        return _provider_elsewhere("" if is_local else host, port, target, headers, asked)
    if provider == normalize_host(
        host
    ):  # the project named it, and the request says what it speaks
        path = target.partition("?")[0]
        return choose_dialect(path, read_client(headers).sdk)
    return provider


def _provider_elsewhere(
    host: str, port: int | None, target: str, headers: Headers, asked: str
) -> str | None:
    """Return the provider of a request to a host that no rule names."""
    host = normalize_host(host)
    if is_listed(host, port, http_settings.hosts, "!"):
        return None
    client = read_client(headers)
    path = target.partition("?")[0]
    if is_this_machine(host):
        if client.sdk is not None and asked and host:
            _note_not_mocked(host, port, path, asked)
        return None
    if http_settings.telemetry == "drop" and is_telemetry(host, path):
        return TELEMETRY
    if (provider := find_provider_of_path(host, path)) is not None:
        return provider
    of_environment = find_provider_in_environment(host, port, path)
    if client.sdk is not None:
        return (
            of_environment
            if client.sdk == "openai" and of_environment
            else choose_dialect(path, client.sdk)
        )
    if of_environment is not None:
        return choose_dialect(path, of_environment)
    if client.wants_socket:
        return choose_dialect(path, None) if is_realtime(path) else None
    return UNDECIDED if client.sends_json and is_model_path(path) else None


def _note_not_mocked(host: str, port: int | None, path: str, asked: str) -> None:
    """Note that an SDK asks a server on this machine, unless this test run started that server."""
    from llm_mock.boundaries.http.local_servers import is_foreign

    method, scheme = asked.split(" ")
    port = port or (443 if scheme == "https" else 80)
    foreign = is_foreign(port)
    if foreign is False:
        return
    server = f"{host}:{port}"
    request = f"{method} {scheme}://{server}{path}"
    remedy = f"To have the mock answer, add {server} to ini llm_mock_hosts; to leave the server alone, add !{server} there."
    if foreign is None:  # the connection fails by itself, and may be meant to
        current_mock().note_refusal(f"not mocked: {request}. No server listens there. {remedy}")
        return
    message = f"not mocked: {request}. This test run did not start that server. {remedy}"
    current_mock().note_not_mocked(request, message)


def identify_provider(sent: WireRequest) -> str | None:
    """Return the provider of a request whose body was read; None if it asks no model."""
    if (
        sent.method != "POST"
        or not is_model_path(sent.path)
        or not is_model_body(sent.path, sent.body)
    ):
        return None
    return choose_dialect(sent.path, read_client(sent.headers.items()).sdk)


def is_sent_for_real() -> bool:
    """Return True if a request may be sent now: a cassette may record it, or its model may pass through."""
    return has_passthrough() or current_mock().cassette is not None


def refuse_connection(host: str | bytes | None, port: object) -> str | None:
    """Return the message that refuses a connection, which fails the test; None to leave the connection alone."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not name or not isinstance(name, str) or not _is_guarded():
        return None
    return (
        _note_refusal(name)
        if is_provider_host(name, port if isinstance(port, int) else None)
        else None
    )


def refuse_url(url: str, *, is_socket: bool = False) -> str | None:
    """Return the message that refuses a URL, whose body is not known; None to leave it alone.

    Args:
        url: the URL of a provider, or of a model API elsewhere.
        is_socket: it is that of a WebSocket.
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
    is_model = is_realtime(parts.path) if is_socket else is_unmistakable(parts.path)
    return _note_refusal(host) if is_model and not _is_left_alone(host, port) else None


def refuse_request(
    method: str, host: str, port: int | None, target: str, body: bytes
) -> str | None:
    """Return the message that refuses a request that asks a model; None to leave it alone."""
    path = target.partition("?")[0]
    if (
        method != "POST"
        or not is_model_path(path)
        or not _is_guarded()
        or _is_left_alone(host, port)
    ):
        return None
    return _note_refusal(host) if is_model_body(path, body) else None


def _note_refusal(name: str) -> str:
    """Note that a connection is refused. Return the message."""
    if http_settings.is_offline:
        message = (
            f"A connection to {name} was about to be made in a dry run; nothing was sent. A dry run asks no other "
            "machine: run without it, or mock this call in the application."
        )
        current_mock().note_problem(message)
        return message
    message = (
        f"A connection to {name} was about to be made in a way that llm_mock cannot answer on; nothing was sent. The "
        "mock answers what is sent by httpx, httpx2, requests, urllib3, botocore and aiohttp. To reach the provider, "
        "mark the test with @pytest.mark.llm_live."
    )
    current_mock().note_problem(message)
    return message


def _is_guarded() -> bool:
    return http_settings.mode != "off" and is_mocked() and not is_passing_through()


def _is_left_alone(host: str, port: int | None) -> bool:
    """Return True if a host is this machine, or one that the project took out, and no named one."""
    if is_listed(normalize_host(host), port, http_settings.hosts):
        return False
    return is_this_machine(host) or is_listed(normalize_host(host), port, http_settings.hosts, "!")


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
    import asyncio

    await asyncio.sleep(seconds)
