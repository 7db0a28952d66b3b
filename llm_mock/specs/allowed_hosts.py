"""Which hosts the tools of a test may ask."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm_mock.errors import HostNotAllowed, InvalidHostPattern
from llm_mock.support.text import shorten, shorten_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

HIGHEST_PORT = 65_535
_BAD_URL = "The url cannot be asked. Write it as http://host:port/path, or with https."
_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9*_-]+(?:\.[a-z0-9*_-]+)*")
_NAME_AND_PORT = re.compile(r"(?P<name>\[(?P<address>.+)\]|.+?)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class _Pattern:
    """Allowed hosts: a glob of names or a network of addresses, and perhaps a port."""

    name: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None = None
    port: int | None = None

    def fits(self, name: str, address: Address | None, port: int) -> bool:
        if self.port not in (None, port):
            return False
        if self.network is not None:
            return address is not None and address in self.network
        return self.name == "*" or (address is None and fnmatch.fnmatchcase(name, self.name))


@dataclass(frozen=True)
class AllowedHosts:
    """The hosts that may be asked.

    Args:
        patterns: each a name (`localhost`), a glob of names (`*.example.com`, which `example.com` is not), an address
            or a network (`::1`, `127.0.0.0/8`), or `*` for every host. With a port (`127.0.0.1:8000`, `[::1]:8000`)
            that port alone is allowed.

    Raises:
        InvalidHostPattern: a pattern is something else.
    """

    patterns: Sequence[str]

    def __post_init__(self) -> None:
        __tracebackhide__ = True
        object.__setattr__(self, "patterns", tuple(self.patterns))
        for pattern in self.patterns:
            _parse(pattern)

    def check(self, url: str | httpx2.URL) -> None:
        """Refuse a URL that may not be asked.

        What counts is the host to which the HTTP library would connect. A number such as `2130706433` is a name, though
        systems take it for an address; `localhost` must be this machine, unless every host is allowed.

        Raises:
            HostNotAllowed: it is no absolute http or https URL, or one of a host that is not allowed.
        """
        __tracebackhide__ = True
        parsed = _url(url)
        host = parsed.raw_host.decode("ascii").lower()
        address = _address(host)
        name, port = host.removesuffix("."), parsed.port or _PORTS[parsed.scheme]
        fitting = [pattern for pattern in map(_parse, self.patterns) if pattern.fits(name, address, port)]
        if not fitting:
            raise HostNotAllowed(_not_allowed(host, port, self.patterns))
        if name == "localhost" and not any(pattern.name == "*" for pattern in fitting) and not _is_this_machine(host):
            raise HostNotAllowed(
                "The host 'localhost' was not asked: the name does not stand for this machine. Write 127.0.0.1 instead."
            )


def _parse(pattern: str) -> _Pattern:
    __tracebackhide__ = True
    text = pattern.strip().lower() if isinstance(pattern, str) else ""
    if (network := _network(text)) is not None:
        return _Pattern(text, network)
    match = _NAME_AND_PORT.fullmatch(text)
    if match is not None and int(match["port"] or 0) <= HIGHEST_PORT:
        name = match["address"] or match["name"].removesuffix(".")
        network = _network(name)
        if network is not None or (not match["address"] and _NAME.fullmatch(name)):
            return _Pattern(name, network, int(match["port"]) if match["port"] else None)
    raise InvalidHostPattern(
        f"This is not a host: {shorten(pattern)}. Write a name (localhost), a glob of names (*.example.com), an "
        "address or a network (127.0.0.0/8), each perhaps with a port (localhost:8000), or * for every host; no scheme "
        "and no path, and international names as they are registered (xn--…)."
    )


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _url(url: str | httpx2.URL) -> httpx2.URL:
    """A URL as the HTTP library reads it. It may hold a password, so messages do not show it."""
    __tracebackhide__ = True
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError):
        raise HostNotAllowed(_BAD_URL) from None
    if parsed.scheme not in _PORTS or not parsed.host or (parsed.port or 0) > HIGHEST_PORT:
        other = parsed.scheme and parsed.scheme not in _PORTS
        raise HostNotAllowed(_BAD_URL + (f" This one begins with {shorten_name(parsed.scheme)!r}." if other else ""))
    return parsed


def _address(host: str) -> Address | None:
    """A host as an address; None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _is_this_machine(host: str) -> bool:
    try:
        found = socket.getaddrinfo(host, None)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(entry[4][0]).partition("%")[0]).is_loopback for entry in found)


def _not_allowed(host: str, port: int, allowed: Sequence[str]) -> str:
    name = shorten_name(f"[{host}]" if ":" in host else host)
    return (
        f"The host {name!r} (port {port}) was not asked, as it is not allowed. "
        f"Allowed: {', '.join(allowed) or 'none'}. To allow it, add {name} to ini llm_mock_allowed_hosts."
    )


LOOPBACK = AllowedHosts(("localhost", "127.0.0.0/8", "::1"))
"""This machine alone."""
ANY = AllowedHosts(("*",))
"""Every host."""
