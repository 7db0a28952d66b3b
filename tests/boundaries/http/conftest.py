"""A tripwire for interception: no lookup of a host and no connection off this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.request_senders import make_openai

EVENTS = {
    "socket.connect": 1,
    "socket.getaddrinfo": 0,
    "socket.gethostbyname": 0,
    "socket.sendto": 1,
    "socket.sendmsg": 1,
}
"""The audit events of the socket module, and the position of the address in their arguments."""


class Tripwire:
    """Note attempts to leave this machine; audit hooks cannot be removed, so one serves all."""

    def __init__(self) -> None:
        self.tripped: list[str] = []
        self._process = os.getpid()
        sys.addaudithook(self._look)

    def _look(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in EVENTS or os.getpid() != self._process:
            return
        address = arguments[EVENTS[event]]
        host = address[0] if isinstance(address, tuple) else address
        if isinstance(host, bytes):
            host = host.decode("latin-1")
        if isinstance(address, (tuple, str, bytes)) and isinstance(host, str) and leaves(host):
            self.tripped.append(f"{event} {host}")


def leaves(host: str) -> bool:
    """Return True if a host is not this machine. A unix socket is a path."""
    if host in ("", "localhost") or "/" in host or "\0" in host or host == socket.gethostname():
        return False
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return True
    return not (address.is_loopback or address.is_unspecified)


TRIPWIRE = Tripwire()


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine() -> Iterator[None]:
    """Fail a test of whose requests one would have left."""
    TRIPWIRE.tripped.clear()
    yield
    assert TRIPWIRE.tripped == []


@pytest.fixture(params=["in process", "served"])
def server_url(request: pytest.FixtureRequest) -> str | None:
    """Return the URL of the server that is asked; None where this process answers."""
    if request.param == "in process":
        return None
    server: MockServer = request.getfixturevalue("llm_mock_server")
    return server.url


@pytest.fixture
def client(server_url: str | None, mock_llm_calls: LLMMock) -> Iterator[openai.OpenAI]:
    """Return a client of OpenAI, which the mock answers in this process or by the server."""
    with make_openai(server_url).with_options(api_key="any") as client:
        yield client
