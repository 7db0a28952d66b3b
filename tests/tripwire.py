"""A tripwire for interception: note lookups of hosts and connections off this machine."""

from __future__ import annotations

import ipaddress
import os
import socket
import sys
from typing import Any

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
