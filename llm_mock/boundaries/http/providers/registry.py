"""Look up providers; all are loaded at the first lookup of a request or connection."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from llm_mock.behaviour.refusals import register_refusals
from llm_mock.boundaries.http.providers import MODULES

if TYPE_CHECKING:
    from llm_mock.boundaries.http.providers.descriptor import (
        ClientKey,
        ModelAPI,
        OwnEndpoint,
        ProviderDescriptor,
    )


class Registry:
    """The providers, and the tables for their lookup.

    Args:
        providers: the descriptors.
    """

    def __init__(self, providers: Iterable[ProviderDescriptor]) -> None:
        self.by_name: dict[str, ProviderDescriptor] = {}
        """The descriptors by name, in the order of `MODULES`."""
        self.domains: dict[str, str] = {}
        """The names of providers by domain."""
        self.host_patterns: list[tuple[re.Pattern[str], str]] = []
        self.shared_hosts: list[tuple[re.Pattern[str], re.Pattern[str], str]] = []
        self.user_agents: list[tuple[re.Pattern[str], str]] = []
        self.apis: dict[str, ModelAPI] = {}
        """The APIs that only one provider offers, by name."""
        self.own_paths: list[tuple[re.Pattern[str], str]] = []
        """The paths of these APIs, and of endpoints that only one provider offers."""
        variables: dict[str, str] = {}
        for provider in providers:
            name = provider.name
            self.by_name[name] = provider
            self.domains.update(dict.fromkeys(provider.domains, name))
            variables.update(dict.fromkeys(provider.base_url_variables, name))
            for pattern in provider.host_patterns:
                self.host_patterns.append((re.compile(pattern), name))
            for host, path in provider.shared_hosts:
                self.shared_hosts.append((re.compile(host), re.compile(path), name))
            for pattern in provider.user_agents:
                self.user_agents.append((re.compile(pattern, re.IGNORECASE), name))
            for api in provider.apis:
                self.apis[api.name] = api
                self.own_paths.append((re.compile(api.path), name))
            for endpoint in provider.endpoints:
                self.own_paths.append((re.compile(endpoint.path), name))
            if provider.refusals:
                register_refusals(name, provider.refusals)
        self.base_url_variables = dict(sorted(variables.items()))
        """The names of providers by environment variable; the first set variable is used."""
        self.base_url_names = frozenset(variables)


def load_module(name: str) -> tuple[ProviderDescriptor, ...]:
    """Return the descriptors of a module of this package."""
    module: Any = importlib.import_module(f"{__package__}.{name}")
    providers: tuple[ProviderDescriptor, ...] = module.PROVIDERS
    return providers


@functools.cache
def get_registry() -> Registry:
    """Return the registry of all providers."""
    providers: list[ProviderDescriptor] = []
    for name in MODULES:
        providers += load_module(name)
    return Registry(providers)


def find_clients(package: str) -> list[tuple[str, ClientKey]]:
    """Return the names of the clients in an SDK's package, with the sources of their keys."""
    clients: list[tuple[str, ClientKey]] = []
    for name, packages in MODULES.items():
        # Load only the descriptors of this SDK, and not of all providers.
        if package in packages:
            for provider in load_module(name):
                clients += provider.clients.get(package, {}).items()
    return clients


def find_provider(name: str) -> ProviderDescriptor | None:
    """Return the descriptor of a provider; None for a host that the project listed."""
    return get_registry().by_name.get(name)


def get_descriptor(name: str) -> ProviderDescriptor:
    """Return the descriptor of a provider, or OpenAI's for a host that the project listed."""
    return find_provider(name) or get_registry().by_name["openai"]


# An application calls few paths, and each of them often.
@functools.lru_cache
def find_owner(path: str) -> str | None:
    """Return the only provider with a path; None for a path that other providers may have."""
    for pattern, name in get_registry().own_paths:
        if pattern.search(path):
            return name
    return None


def find_own_api(provider: ProviderDescriptor | None, path: str) -> ModelAPI | None:
    """Return the provider-specific API at a path, or None."""
    for api in () if provider is None else provider.apis:
        if re.search(api.path, path):
            return api
    return None


def find_own_endpoint(
    provider: ProviderDescriptor | None, method: str, path: str
) -> OwnEndpoint | None:
    """Return the provider-specific endpoint of a request, or None."""
    for endpoint in () if provider is None else provider.endpoints:
        if endpoint.method == method and re.search(endpoint.path, path):
            return endpoint
    return None
