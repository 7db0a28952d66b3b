"""The providers that the server stands for, and environments that lead programs to it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http.http1 import RequestHead
from llm_mock.boundaries.http.wire import WireRequest


class Dialect(NamedTuple):
    """The API of a provider."""

    provider: str
    """The provider, as `find_provider_of_host` names it."""
    host: str
    """The host of the real API."""


DIALECTS = {
    "openai": Dialect("openai", "api.openai.com"),
    "anthropic": Dialect("anthropic", "api.anthropic.com"),
    "gemini": Dialect("google", "generativelanguage.googleapis.com"),
    "mistral": Dialect("mistral", "api.mistral.ai"),
}
"""The dialects by the first part of a path; other requests tell by the rest, or by headers."""
MESSAGES_PATH = re.compile(r"^(?!.*/threads/).*/messages(/|$)")
"""A path of Anthropic's Messages; the threads of OpenAI have messages too."""
GEMINI_METHOD = re.compile(r":[a-z]+[A-Z]\w*$")
"""The end of a path that calls a method of Google; ids of models may have a colon too."""
BASE_URLS = {
    "OPENAI_BASE_URL": "/openai/v1",
    "ANTHROPIC_BASE_URL": "/anthropic",
    "GOOGLE_GEMINI_BASE_URL": "/gemini",
    "MISTRAL_BASE_URL": "/mistral/v1",
}
"""The variables in which programs look for the URL of a provider, with the paths here."""
OTHER_BASE_URLS = {
    "ANTHROPIC_API_URL": "/anthropic",
    "AZURE_OPENAI_ENDPOINT": "",
    "GROQ_BASE_URL": "",
    "OPENAI_API_BASE": "/openai/v1",
    "TOGETHER_BASE_URL": "/openai/v1",
}
"""The variables of some programs, which behave differently with one: only replaced if set."""
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY", "MISTRAL_API_KEY")
"""The variables with API keys, which get a placeholder."""
OTHER_KEYS = (
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
"""The variables by which programs choose a provider: only replaced if set."""
OVERRIDING_KEYS = ("ANTHROPIC_AUTH_TOKEN", "GOOGLE_API_KEY")
"""The variables that SDKs prefer to those in `KEYS`, so they are removed."""
PROXIES = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
"""The variables that redirect requests to this machine."""


def list_base_urls(environment: Mapping[str, str]) -> list[str]:
    """Return the names of the variables that give the URL of a provider."""
    return _find_defined_names((*BASE_URLS, *OTHER_BASE_URLS), environment)


def _find_defined_names(names: Iterable[str], environment: Mapping[str, str]) -> list[str]:
    return [name for name in names if environment.get(name)]


def make_environment(
    url: str, environment: Mapping[str, str], keep_keys: bool = False
) -> dict[str, str]:
    """Return an environment in which programs call the server, without real keys.

    Args:
        url: the URL of the server.
        environment: the environment to start from.
        keep_keys: keep real keys, for a server that forwards requests.
    """
    variables = dict(environment)
    for name in OVERRIDING_KEYS:
        variables.pop(name, None)
    paths = {**BASE_URLS}
    for name in _find_defined_names(OTHER_BASE_URLS, variables):
        paths[name] = OTHER_BASE_URLS[name]
    keys = [*KEYS, *_find_defined_names(OTHER_KEYS, variables)]
    variables.update(_bypass_proxies(url, variables))
    for name, path in paths.items():
        variables[name] = url + path
    for name in keys:
        variables[name] = PLACEHOLDER_KEY
    # Last, so that no placeholder replaces a real key.
    if keep_keys:
        for name in _find_defined_names((*OVERRIDING_KEYS, *KEYS, *OTHER_KEYS), environment):
            variables[name] = environment[name]
    return variables


def _bypass_proxies(url: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that let programs call the server itself, if a proxy is set."""
    if not _find_defined_names(PROXIES, environment):
        return {}
    host = urlsplit(url).hostname or ""
    other_hosts = environment.get("no_proxy") or environment.get("NO_PROXY")
    hosts = f"{other_hosts},{host}" if other_hosts else host
    # Programs differ in which of the two they read.
    return {"no_proxy": hosts, "NO_PROXY": hosts}


def resolve_request(head: RequestHead, body: bytes) -> tuple[WireRequest, str]:
    """Return a request as its provider would receive it, and the provider."""
    first_part, _, rest = head.path[1:].partition("/")
    dialect = DIALECTS.get(first_part)
    if dialect is None:
        dialect = _infer_dialect(head)
        path = head.path
    else:
        path = f"/{rest}"
    sent = WireRequest(head.method, dialect.host, path, head.query, head.headers, body)
    return sent, dialect.provider


def _infer_dialect(head: RequestHead) -> Dialect:
    path = head.path
    if "anthropic-version" in head.headers or MESSAGES_PATH.search(path):
        return DIALECTS["anthropic"]
    if "x-goog-api-key" in head.headers or path.startswith("/v1beta"):
        return DIALECTS["gemini"]
    if GEMINI_METHOD.search(path):
        return DIALECTS["gemini"]
    return DIALECTS["openai"]
