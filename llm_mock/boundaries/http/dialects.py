"""Where the server offers which provider's API, and what programs need in their environment to find it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.http1 import Head
from llm_mock.boundaries.http.wire import WireRequest


class Dialect(NamedTuple):
    """One provider."""

    provider: str
    """As `find_provider_of_host` names it."""
    host: str
    """The host that it stands for."""


DIALECTS = {
    "openai": Dialect("openai", "api.openai.com"),
    "anthropic": Dialect("anthropic", "api.anthropic.com"),
    "gemini": Dialect("google", "generativelanguage.googleapis.com"),
    "mistral": Dialect("mistral", "api.mistral.ai"),
}
"""The providers by the first part of a path. Any other path is told by how it goes on, or by its headers."""
MESSAGES = re.compile(r"^(?!.*/threads/).*/messages(/|$)")
"""Paths of Anthropic; OpenAI's threads have messages too."""
GEMINI_METHOD = re.compile(r":[a-z]+[A-Z]\w*$")
"""How a path ends that calls a method of Google's (`:generateContent`); ids of models have colons too."""
BASE_URLS = {
    "OPENAI_BASE_URL": "/openai/v1",
    "ANTHROPIC_BASE_URL": "/anthropic",
    "GOOGLE_GEMINI_BASE_URL": "/gemini",
    "MISTRAL_BASE_URL": "/mistral/v1",
}
"""The variables in which programs look for the URL of a provider."""
OTHER_BASE_URLS = {
    "ANTHROPIC_API_URL": "/anthropic",
    "AZURE_OPENAI_ENDPOINT": "",
    "GROQ_BASE_URL": "",
    "OPENAI_API_BASE": "/openai/v1",
    "TOGETHER_BASE_URL": "/openai/v1",
}
"""Those that some programs know; a program that finds one may behave otherwise, so they are put where they are set."""
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY")
OTHER_KEYS = (
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
"""The variables whose real keys are replaced where they are set: by one, programs choose a provider."""
FIRST_KEYS = ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY")
"""What would go before these keys."""
PROXIES = ("http_proxy", "all_proxy")
"""The variables, in capitals too, that would have requests to this machine go elsewhere."""


def list_base_urls(environment: Mapping[str, str]) -> list[str]:
    """The variables of an environment that say where a provider is."""
    return [name for name in (*BASE_URLS, *OTHER_BASE_URLS) if environment.get(name)]


def make_environment(
    url: str, environment: Mapping[str, str], keep_keys: bool = False
) -> dict[str, str]:
    """An environment in which programs ask the server in place of the providers, and have no real key of theirs.

    Args:
        url: of the server.
        environment: what else there is in it.
        keep_keys: keep real keys, for a server that sends on what it is asked.
    """
    if keep_keys:
        real = {
            name: environment[name]
            for name in (*FIRST_KEYS, *KEYS, *OTHER_KEYS)
            if environment.get(name)
        }
        return {**make_environment(url, environment), **real}
    kept = {name: value for name, value in environment.items() if name not in FIRST_KEYS}
    paths = {
        **BASE_URLS,
        **{name: path for name, path in OTHER_BASE_URLS.items() if kept.get(name)},
    }
    keys = {*KEYS, *(name for name in OTHER_KEYS if kept.get(name))}
    base_urls = {name: url + path for name, path in paths.items()}
    return {
        **kept,
        **_bypass_proxies(url, kept),
        **base_urls,
        **dict.fromkeys(keys, PLACEHOLDER_KEY),
    }


def _bypass_proxies(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """What programs need to ask the server itself, where a proxy is set."""
    if not any(environment.get(name) or environment.get(name.upper()) for name in PROXIES):
        return {}
    hosts = [environment.get("no_proxy") or environment.get("NO_PROXY"), urlsplit(url).hostname]
    return dict.fromkeys(("no_proxy", "NO_PROXY"), ",".join(host for host in hosts if host))


def resolve_request(head: Head, body: bytes) -> tuple[WireRequest, str]:
    """A request as the provider would get it, and the provider."""
    first, _, rest = head.path[1:].partition("/")
    if first in DIALECTS:
        dialect, path = DIALECTS[first], f"/{rest}"
    else:
        dialect, path = _infer_dialect(head), head.path
    return WireRequest(
        head.method, dialect.host, path, head.query, head.headers, body
    ), dialect.provider


def _infer_dialect(head: Head) -> Dialect:
    path, headers = head.path, head.headers
    if "anthropic-version" in headers or MESSAGES.search(path):
        return DIALECTS["anthropic"]
    if "x-goog-api-key" in headers or path.startswith("/v1beta") or GEMINI_METHOD.search(path):
        return DIALECTS["gemini"]
    return DIALECTS["openai"]
