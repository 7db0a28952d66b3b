"""Find the provider of a request to the mock server, and point programs to the server.

The server answers for all providers. The first segment of a path names the provider, such as
`/anthropic/v1/messages`. Without it, the rest of the path or a header identifies the provider. An
environment variable such as `OPENAI_BASE_URL` points a program to the server.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.clients import BEDROCK_PATH, VERTEX_PATH
from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.providers.anthropic import ANTHROPIC
from llm_mock.boundaries.http.providers.bedrock import BEDROCK
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.providers.google import GOOGLE
from llm_mock.boundaries.http.providers.openai import OPENAI
from llm_mock.boundaries.http.providers.registry import find_owner, get_descriptor, get_registry
from llm_mock.boundaries.http.providers.vertex import VERTEX, find_host
from llm_mock.boundaries.http.wire import WireRequest

MESSAGES_PATH = re.compile(r"^(?!.*/threads/).*/messages(/|$)")
"""Matches a path of Anthropic's Messages API, but not messages of OpenAI's threads."""
GEMINI_METHOD = re.compile(r":[a-z]+[A-Z]\w*$")
"""Matches the end of a Google path, such as `:generateContent`, but no colon in a model id."""
NO_UPSTREAMS: Mapping[str, Upstream] = MappingProxyType({})
PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
"""The variables that set a proxy, which programs would also use for the server."""


def list_base_urls(environment: Mapping[str, str]) -> list[str]:
    """Return the variables of an environment that set the base URL of a provider."""
    names: list[str] = []
    for provider in _list_providers():
        names += [*provider.server.base_urls, *provider.server.optional_base_urls]
    return _find_defined_names(names, environment)


def _list_providers() -> list[ProviderDescriptor]:
    return list(get_registry().by_name.values())


def _find_defined_names(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    return [name for name in names if environment.get(name)]


def make_environment(
    url: str, environment: Mapping[str, str], keep_keys: bool = False
) -> dict[str, str]:
    """Return a copy of an environment that points programs to the server, with placeholder keys.

    Args:
        url: the URL of the server.
        environment: the environment to copy.
        keep_keys: True to keep real keys, for a server that forwards requests.
    """
    variables = dict(environment)
    providers = _list_providers()
    for provider in providers:
        for name in provider.server.removed_keys:
            variables.pop(name, None)
    variables.update(_bypass_proxies(url, variables))
    for provider in providers:
        _lead_to_server(url, provider, variables)
    # Last, so that no placeholder replaces a real key.
    if keep_keys:
        for provider in providers:
            access = provider.server
            names = (*access.removed_keys, *access.keys, *provider.optional_keys)
            for name in _find_defined_names(names, environment):
                variables[name] = environment[name]
    return variables


def _lead_to_server(url: str, provider: ProviderDescriptor, variables: dict[str, str]) -> None:
    """Set the base URLs and the keys of a provider in an environment."""
    access = provider.server
    for name, path in access.base_urls.items():
        variables[name] = url + path
    for name in _find_defined_names(access.optional_base_urls, variables):
        variables[name] = url + access.optional_base_urls[name]
    for name in (*access.keys, *_find_defined_names(provider.optional_keys, variables)):
        variables[name] = PLACEHOLDER_KEY


def _bypass_proxies(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that exclude the server from a proxy; empty without a proxy."""
    if not _find_defined_names(PROXIES, environment):
        return {}
    host = urlsplit(url).hostname or ""
    other_hosts = environment.get("no_proxy") or environment.get("NO_PROXY")
    hosts = f"{other_hosts},{host}" if other_hosts else host
    # Programs differ in which of the two they read.
    return {"no_proxy": hosts, "NO_PROXY": hosts}


class Upstream(NamedTuple):
    """A server that receives requests instead of the provider."""

    scheme: str
    host: str
    port: int | None
    path: str
    """The path prefix of each request, without a trailing slash."""


def resolve_request(
    head: RequestHead, body: bytes, upstreams: Mapping[str, Upstream] = NO_UPSTREAMS
) -> tuple[WireRequest, str]:
    """Return a request as its provider would receive it, and the name of the provider.

    Args:
        head: the head of the request.
        body: the body.
        upstreams: the servers that receive requests instead, by the first segment of the path.
    """
    first_part, _, rest = head.path[1:].partition("/")
    provider = _get_prefixes().get(first_part)
    path = f"/{rest}"
    upstream = upstreams.get(first_part)
    if upstream is not None:
        dialect = provider or _infer_provider(head._replace(path=path))
        sent = WireRequest(
            head.method,
            upstream.host,
            upstream.path + path,
            head.query,
            head.headers,
            body,
            upstream.scheme,
            upstream.port,
        )
        return sent, dialect.name
    if provider is None:
        provider = _infer_provider(head)
        path = head.path
    host = provider.server.host or provider.domains[0]
    if provider is VERTEX:
        host = find_host(path)
    sent = WireRequest(head.method, host, path, head.query, head.headers, body)
    return sent, provider.name


@functools.cache
def _get_prefixes() -> dict[str, ProviderDescriptor]:
    """Return the providers by the first segment of their paths at the server."""
    providers = _list_providers()
    return {provider.server.prefix: provider for provider in providers if provider.server.prefix}


def _infer_provider(head: RequestHead) -> ProviderDescriptor:
    """Return the provider of a request whose path does not name it, by the path or a header."""
    path = head.path
    if BEDROCK_PATH.search(path):
        return BEDROCK
    if VERTEX_PATH.search(path):
        return VERTEX
    if "anthropic-version" in head.headers or MESSAGES_PATH.search(path):
        return ANTHROPIC
    if "x-goog-api-key" in head.headers or path.startswith("/v1beta"):
        return GOOGLE
    if GEMINI_METHOD.search(path):
        return GOOGLE
    owner = find_owner(path)
    return OPENAI if owner is None else get_descriptor(owner)
