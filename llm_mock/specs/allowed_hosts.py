"""The hosts that the HTTP tools of a test may connect to."""

from __future__ import annotations

import fnmatch
import ipaddress
import re
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from llm_mock.errors import HostNotAllowed, InvalidHostPattern
from llm_mock.support.text import bracket_host, shorten, shorten_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    import httpx2

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

MAX_PORT = 65_535
_INVALID_URL = "Invalid url. Write http://host:port/path or https://host:port/path."
_DEFAULT_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"[a-z0-9*_-]+(?:\.[a-z0-9*_-]+)*")
_NAME_AND_PORT = re.compile(r"(?P<name>\[(?P<address>.+)\]|.+?)(?::(?P<port>\d{1,5}))?")


@dataclass(frozen=True)
class _Pattern:
    """A glob of names or a network of addresses, optionally with a port."""

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
        # A glob of names, such as `1*`, must not match addresses.
        return address is None and fnmatch.fnmatchcase(name, self.name)


@dataclass(frozen=True)
class AllowedHosts:
    """The hosts that requests may go to.

    Args:
        patterns: each a name (`localhost`), a glob of names (`*.example.com`, which `example.com`
            does not match), an address or a network (`::1`, `127.0.0.0/8`), or `*` for every host.
            With a port (`127.0.0.1:8000`, `[::1]:8000`), only that port is allowed.

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
        """Raise an error if requests to a URL are not allowed.

        The host is the one that the HTTP library would connect to. A number such as `2130706433`
        counts as a name, although systems read it as an address. `localhost` must resolve to this
        machine, unless every host is allowed.

        Raises:
            HostNotAllowed: the host is not allowed, or the URL is not absolute http or https.
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
        # A hosts file or a name server could resolve it to another machine.
        if name == "localhost" and not allows_every_host and not _is_this_machine(host):
            raise HostNotAllowed(
                "No request was sent to the host 'localhost': the name does not resolve to this "
                "machine. Use 127.0.0.1 instead."
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
        f"Invalid host: {shorten(pattern)}. Write a name (localhost), a glob of names "
        "(*.example.com), an address or a network (127.0.0.0/8), each optionally with a port "
        "(localhost:8000), or * for every host. Omit the scheme and the path, and write "
        "international names in their registered form (xn--…)."
    )


def _normalize_pattern(pattern: object) -> str:
    """Return the normalized text of a pattern; empty if a setting has another type."""
    return pattern.strip().lower() if isinstance(pattern, str) else ""


def _parse_network(text: str) -> Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _parse_url(url: str | httpx2.URL) -> httpx2.URL:
    """Parse a URL as the HTTP library does.

    Raises:
        HostNotAllowed: it is not an absolute http or https URL. The message omits the URL, which
        may contain a password.
    """
    __tracebackhide__ = True
    import httpx2

    try:
        parsed = httpx2.URL(url)
    except (httpx2.InvalidURL, UnicodeError):
        raise HostNotAllowed(_INVALID_URL) from None
    scheme = parsed.scheme
    if scheme and scheme not in _DEFAULT_PORTS:
        raise HostNotAllowed(f"{_INVALID_URL} This url begins with {shorten_name(scheme)!r}.")
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
    # An IPv6 address needs brackets before a port.
    name = shorten_name(bracket_host(host))
    allowed = ", ".join(patterns) or "none"
    return (
        f"No request was sent to the host {name!r} (port {port}), because it is not allowed. "
        f"Allowed: {allowed}. To allow it, add {name} to ini llm_mock_allowed_hosts."
    )


LOOPBACK = AllowedHosts(("localhost", "127.0.0.0/8", "::1"))
"""Only this machine."""
ANY = AllowedHosts(("*",))
"""Every host."""
