"""Decide which requests the mock answers: the first thing every HTTP library asks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.for_real import is_for_real
from llm_mock.boundaries.http.clients import dialect_of, is_model_body, is_model_path, read_client
from llm_mock.boundaries.http.providers import (
    is_named,
    is_telemetry,
    is_this_machine,
    normalized,
    provider_of,
    provider_of_environment,
    provider_of_path,
)
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.core.active import active, any_passes_through, is_mocked

if TYPE_CHECKING:
    from llm_mock.boundaries.http.wire import WireRequest

UNDECIDED = "undecided"
"""What `find_provider` returns where only the body tells whether a model is asked."""
TELEMETRY = "telemetry"
"""What it returns for a report of a framework that it is used."""
Headers = Iterable[tuple[Any, Any]]


def answers() -> bool:
    """Return True if the mock answers in place of every provider."""
    return Wanted.mode == "answer" and is_mocked() and not is_for_real()


def find_provider(
    host: str, port: int | None, target: str, headers: Headers = (), *, is_local: bool = False
) -> str | None:
    """Return the provider that a request is for; None if the mock leaves the request alone.

    Args:
        host: the host of the request.
        port: its port; None for the default one.
        target: its path, with or without a query.
        headers: its headers, of which each library has a form of its own.
        is_local: it is sent to a unix socket.

    Returns:
        The provider, which chooses the dialect; or `UNDECIDED`: read the body and ask `identify_provider`.
    """
    if Wanted.mode == "off" or not is_mocked() or is_for_real():
        return None
    provider = provider_of(host, port, Wanted.hosts)
    if provider is None:
        return _provider_elsewhere("" if is_local else host, port, target, headers)
    if provider == normalized(host):  # the project named it, and the request says what it speaks
        path = target.partition("?")[0]
        return dialect_of(path, read_client(headers).sdk)
    return provider


def _provider_elsewhere(host: str, port: int | None, target: str, headers: Headers) -> str | None:
    """Return the provider of a request to a host that no rule names."""
    if is_named(host, port, Wanted.hosts, "!"):
        return None
    client = read_client(headers)
    if is_this_machine(host):
        return None
    path = target.partition("?")[0]
    if Wanted.telemetry == "drop" and is_telemetry(host, path):
        return TELEMETRY
    if (provider := provider_of_path(host, path)) is not None:
        return provider
    of_environment = provider_of_environment(host, port, path)
    if client.sdk is not None:
        return of_environment if client.sdk == "openai" and of_environment else dialect_of(path, client.sdk)
    if of_environment is not None:
        return dialect_of(path, of_environment)
    return UNDECIDED if client.sends_json and is_model_path(path) else None


def identify_provider(sent: WireRequest) -> str | None:
    """Return the provider of a request whose body was read; None if it asks no model."""
    if not is_model_path(sent.path) or not is_model_body(sent.path, sent.body):
        return None
    return dialect_of(sent.path, read_client(sent.headers.items()).sdk)


def is_sent_for_real() -> bool:
    """Return True if a request may be sent now: a cassette may record it, or its model may pass through."""
    return any_passes_through() or active().cassette is not None


def refusal(host: str | bytes | None, port: object) -> str | None:
    """Return the message that refuses a connection, which fails the test; None to leave the connection alone."""
    name = host.decode("latin-1") if isinstance(host, bytes) else host
    if not name or not _is_provider(name, port if isinstance(port, int) else None):
        return None
    if Wanted.is_offline:
        message = (
            f"A connection to {name} was about to be made in a dry run; nothing was sent. A dry run asks no other "
            "machine: run without it, or mock this call in the application."
        )
        active().note_problem(message)
        return message
    message = (
        f"A connection to {name} was about to be made in a way that llm_mock cannot answer on; nothing was sent. The "
        "mock answers what is sent by httpx, httpx2, requests, urllib3, botocore and aiohttp. To reach the provider, "
        "mark the test with @pytest.mark.llm_live."
    )
    active().note_problem(message)
    return message


def _is_provider(host: str, port: int | None) -> bool:
    """Return True if everything at a host belongs to a provider."""
    if Wanted.mode == "off" or not is_mocked() or is_for_real():
        return False
    if provider_of(host, port, Wanted.hosts) is not None:
        return True
    if Wanted.is_offline and not is_this_machine(host):
        return True
    if is_named(host, port, Wanted.hosts, "!") or is_this_machine(host):
        return False
    return provider_of_environment(host, port, None) is not None


async def sleep(seconds: float) -> None:
    """Wait, in asyncio or in trio."""
    trio = sys.modules.get("trio")
    if trio is not None and trio.lowlevel.in_trio_run():
        await trio.sleep(seconds)
        return
    import asyncio

    await asyncio.sleep(seconds)
