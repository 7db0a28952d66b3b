"""The hosts that the HTTP tools of a test may connect to."""

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
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_PORT = 65_535
_INVALID_URL = "The url is not valid. Write it as http://host:port/path, or with https."
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9*_-]+(?:\.[a-z0-9*_-]+)*")
_NAME_AND_PORT = re.compile(r"(?P<name>\[(?P<address>.+)\]|.+?)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class _Pattern:
    """A glob of names or a network of addresses, and perhaps a port."""

    name: str
    network: Network | None = None
    port: int | None = None

    def matches(self, name: str, address: Address | None, port: int) -> bool:
        """Return whether a host matches.

        Args:
            name: the host.
            address: the host as an address; None for a name.
            port: the port.
        """
        if self.port not in (None, port):
            return False
        if self.network is not None:
            return address is not None and address in self.network
        if self.name == "*":
            return True
        # A glob of names must not match addresses: `1*` is none of them.
        return address is None and fnmatch.fnmatchcase(name, self.name)


@dataclass(frozen=True)
class AllowedHosts:
    """The hosts that requests may go to.

    Args:
        patterns: each a name (`localhost`), a glob of names (`*.example.com`, which `example.com`
            does not match), an address or a network (`::1`, `127.0.0.0/8`), or `*` for every host.
            With a port (`127.0.0.1:8000`, `[::1]:8000`) that port alone is allowed.

    Raises:
        InvalidHostPattern: a pattern is invalid.
    """

    patterns: Sequence[str]

    def __post_init__(self) -> None:
        __tracebackhide__ = True
        # Not by assignment, because the dataclass is frozen.
        object.__setattr__(self, "patterns", tuple(self.patterns))
        for pattern in self.patterns:
            _parse_pattern(pattern)

    def check(self, url: str | httpx2.URL) -> None:
        """Raise if requests to a URL are not allowed.

        The host is the one to which the HTTP library would connect. A number such as `2130706433`
        is a name, though systems take it for an address; `localhost` must be this machine, unless
        every host is allowed.

        Raises:
            HostNotAllowed: the host is not allowed, or it is not an absolute http or https URL.
        """
        __tracebackhide__ = True
        parsed = _parse_url(url)
        host = parsed.raw_host.decode("ascii").lower()
        address = _parse_address(host)
        # A dot at the end of a name marks it as complete.
        name = host.removesuffix(".")
        port = parsed.port or _DEFAULT_PORTS[parsed.scheme]
        patterns = [_parse_pattern(pattern) for pattern in self.patterns]
        matching = [pattern for pattern in patterns if pattern.matches(name, address, port)]
        if not matching:
            raise HostNotAllowed(_describe_refusal(host, port, self.patterns))
        allows_every_host = any(pattern.name == "*" for pattern in matching)
        # A file `hosts`, or a name server, could send it elsewhere.
        if name == "localhost" and not allows_every_host and not _is_this_machine(host):
            raise HostNotAllowed(
                "No request was sent to the host 'localhost': the name does not stand for this "
                "machine. Write 127.0.0.1 instead."
            )


def _parse_pattern(pattern: str) -> _Pattern:
    __tracebackhide__ = True
    text = _normalize_pattern(pattern)
    # First, as an IPv6 address without brackets looks like a name with a port.
    network = _parse_network(text)
    if network is not None:
        return _Pattern(text, network)
    match = _NAME_AND_PORT.fullmatch(text)
    if match is not None and int(match["port"] or 0) <= MAX_PORT:
        port = int(match["port"]) if match["port"] else None
        address = match["address"]
        name = address or match["name"].removesuffix(".")
        network = _parse_network(name)
        # In brackets there must be an address.
        if network is not None or (not address and _NAME.fullmatch(name)):
            return _Pattern(name, network, port)
    raise InvalidHostPattern(
        f"This is not a host: {shorten(pattern)}. Write a name (localhost), a glob of names "
        "(*.example.com), an address or a network (127.0.0.0/8), each perhaps with a port "
        "(localhost:8000), or * for every host; no scheme and no path, and international names as "
        "they are registered (xn--…)."
    )


def _normalize_pattern(pattern: object) -> str:
    """Return the text of a pattern, which settings may give as any value."""
    return pattern.strip().lower() if isinstance(pattern, str) else ""


def _parse_network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _parse_url(url: str | httpx2.URL) -> httpx2.URL:
    """Parse a URL as the HTTP library does.

    Raises:
        HostNotAllowed: it is not an absolute http or https URL. The message does not show it, as
            it may contain a password.
    """
    __tracebackhide__ = True
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError):
        raise HostNotAllowed(_INVALID_URL) from None
    scheme = parsed.scheme
    if scheme and scheme not in _DEFAULT_PORTS:
        raise HostNotAllowed(f"{_INVALID_URL} This one begins with {shorten_name(scheme)!r}.")
    has_valid_port = (parsed.port or 0) <= MAX_PORT
    if not scheme or not parsed.host or not has_valid_port:
        raise HostNotAllowed(_INVALID_URL)
    return parsed


def _parse_address(host: str) -> Address | None:
    """Return a host as an address; None for a name."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    # `::ffff:127.0.0.1` connects to 127.0.0.1.
    return getattr(address, "ipv4_mapped", None) or address


def _is_this_machine(host: str) -> bool:
    try:
        entries = socket.getaddrinfo(host, None)
    except OSError:
        return False
    for entry in entries:
        # An IPv6 address may have a zone: fe80::1%eth0.
        socket_address = entry[4]
        address, _, _ = str(socket_address[0]).partition("%")
        if not ipaddress.ip_address(address).is_loopback:
            return False
    return True


def _describe_refusal(host: str, port: int, patterns: Sequence[str]) -> str:
    # In brackets, as it must be written with a port.
    name = shorten_name(f"[{host}]" if ":" in host else host)
    allowed = ", ".join(patterns) or "none"
    return (
        f"No request was sent to the host {name!r} (port {port}), because it is not allowed. "
        f"Allowed: {allowed}. To allow it, add {name} to ini llm_mock_allowed_hosts."
    )


LOOPBACK = AllowedHosts(("localhost", "127.0.0.0/8", "::1"))
"""This machine alone."""
ANY = AllowedHosts(("*",))
"""Every host."""
