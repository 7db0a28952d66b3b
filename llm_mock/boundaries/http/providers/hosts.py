"""Hosts of model providers, which determine the API format of a request.

A domain includes its host and every subdomain. Model APIs at other hosts are recognized by the
request; see `clients`.
"""

from __future__ import annotations

import functools
import ipaddress
import os
import re
from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries.http.providers.registry import get_registry
from llm_mock.errors import InvalidHostPattern
from llm_mock.support.text import bracket_host

_HOST = re.compile(r"!?(?:[\w.-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
"""A host as a project lists it."""
TELEMETRY_DOMAINS = (
    "api.agno.com",
    "os-api.agno.com",
    "posthog.com",
    "stats.comet.com",
    "t.explodinggradients.com",
    "telemetry.crewai.com",
)
"""The domains to which frameworks report usage."""
FETCHED_PATHS = {
    # litellm fetches prices when it is imported.
    "raw.githubusercontent.com": "/BerriAI/litellm/",
    # huggingface_hub fetches names of coding agents, to report which of them runs it.
    "huggingface.co": "/api/agent-harnesses",
}
"""The prefixes of paths that libraries fetch for themselves but do not need."""
VERSION_PATH = re.compile(r"^/?(openai/?)?(v\d\w*/?)?$")
"""Matches the path of a base URL whose host serves only a model API."""


class BaseURL(NamedTuple):
    """The URL of a model API, from an environment variable."""

    host: str
    port: int | None
    path: str
    provider: str

    @property
    def is_whole_host(self) -> bool:
        """True if everything at the host belongs to the model API."""
        return VERSION_PATH.match(self.path) is not None

    def covers(self, host: str, port: int | None, path: str | None) -> bool:
        """Return True if a request is for this API.

        Args:
            host: the host of the request.
            port: its port.
            path: its path; None for a connection, which is covered if the host has only this API.
        """
        if host != self.host:
            return False
        if self.port is not None and self.port != port:
            return False
        if self.is_whole_host:
            return True
        return path is not None and path.startswith(self.path)


# Cached: a process calls few hosts, and each of them often.
@functools.lru_cache
def find_provider_of_host(host: str, port: int | None, listed: tuple[str, ...] = ()) -> str | None:
    """Return the provider at a host; None if no provider is known there.

    Args:
        host: the host of a request, in upper or lower case, with or without a final dot.
        port: the port, for entries of `listed` that have one.
        listed: additional hosts of model APIs, as in `HTTPSettings.hosts`; the provider of such a
            host is the host itself. An entry with a leading `!` excludes a host.
    """
    host = normalize_host(host)
    if is_listed(host, port, listed, "!"):
        return None
    registry = get_registry()
    labels = host.split(".")
    for start in range(len(labels) - 1):
        # The longest domain first, and never a top-level domain alone.
        domain = ".".join(labels[start:])
        if domain in registry.domains:
            return registry.domains[domain]
    # After the domains, which a dictionary finds faster.
    for pattern, provider in registry.host_patterns:
        if pattern.search(host):
            return provider
    return host if is_listed(host, port, listed) else None


def is_listed(host: str, port: int | None, listed: tuple[str, ...], mark: str = "") -> bool:
    """Return True if a host is in a list, with or without its port.

    Args:
        host: the normalized host.
        port: its port.
        listed: the entries of the list, with IPv6 addresses in brackets.
        mark: the prefix of the entries to check.
    """
    host = bracket_host(host)
    return mark + host in listed or f"{mark}{host}:{port}" in listed


def find_provider_of_path(host: str, path: str) -> str | None:
    """Return the provider at a path of a shared host; None if it is not a model path."""
    for hosts, paths, provider in get_registry().shared_hosts:
        if hosts.search(host) and paths.search(path):
            return provider
    return None


@functools.lru_cache
def is_this_machine(host: str) -> bool:
    """Return True for this machine: a loopback name or address, or the path of a unix socket."""
    host = normalize_host(host).strip("[]")
    if host in ("", "localhost") or host.endswith(".localhost"):
        return True
    # A quoted slash, too, as httpx quotes the paths of unix sockets.
    if "/" in host or "%2f" in host:
        return True
    try:
        # The network interface of an IPv6 address may follow a percent sign.
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None) or address
    return mapped.is_loopback or mapped.is_unspecified


def is_telemetry(host: str, path: str) -> bool:
    """Return True if a request reports the use of a library, or fetches a list for this purpose."""
    if host in FETCHED_PATHS:
        return path.startswith(FETCHED_PATHS[host])
    # Checked first for all domains at once: this runs for every request to an unknown host.
    if not host.endswith(TELEMETRY_DOMAINS):
        return False
    return any(host == domain or host.endswith(f".{domain}") for domain in TELEMETRY_DOMAINS)


def normalize_host(host: str) -> str:
    """Return a host in lower case, without a final dot."""
    return host.lower().rstrip(".")


def parse_hosts(entries: Iterable[str]) -> tuple[str, ...]:
    """Validate the entries of ini `llm_mock_hosts`, and normalize their hosts.

    Args:
        entries: hosts with or without a port, each optionally prefixed with `!`.

    Raises:
        InvalidHostPattern: an entry is something else, such as a URL, and would never match.
    """
    hosts = []
    for entry in entries:
        if not _HOST.fullmatch(entry):
            found = _HOST.fullmatch(urlsplit(entry).netloc)
            hint = f"; did you mean {found[0]!r}?" if found else "."
            raise InvalidHostPattern(
                f"{entry!r} in ini llm_mock_hosts is not a host{hint} Write hosts such as "
                "models.example.com, localhost:11434 or !app.example.com, without a scheme, a path "
                "or wildcards."
            )
        hosts.append(normalize_host(entry))
    return tuple(hosts)


def find_provider_in_environment(host: str, port: int | None, path: str | None) -> str | None:
    """Return the provider whose base URL in an environment variable covers a request.

    Args:
        host: the host of the request.
        port: its port.
        path: its path; None for a connection whose path is not known.
    """
    # Variables may change with every test, so they are read each time. The names are compared
    # first, which is cheap, as usually none is set.
    registry = get_registry()
    names = registry.base_url_names.intersection(os.environ)
    if not names:
        return None
    # In the order of the table, as the first variable that covers the request is used.
    ordered = [name for name in registry.base_url_variables if name in names]
    values = tuple((name, os.environ.get(name, "")) for name in ordered)
    for base in parse_base_urls(values):
        if base.covers(host, port, path):
            return base.provider
    return None


@functools.lru_cache
def parse_base_urls(variables: tuple[tuple[str, str], ...]) -> tuple[BaseURL, ...]:
    """Parse the values of environment variables that are set, and skip invalid URLs.

    Hosts on this machine are skipped, too, as they may be the application under test.
    """
    urls = []
    for name, value in variables:
        if not value:
            continue
        # Some variables hold a host without a scheme, such as OLLAMA_HOST.
        try:
            parts = urlsplit(value if "://" in value else f"//{value}")
            host = normalize_host(parts.hostname or "")
            port = parts.port
        except ValueError:
            continue
        if not is_this_machine(host):
            provider = get_registry().base_url_variables[name]
            urls.append(BaseURL(host, port, parts.path, provider))
    return tuple(urls)
