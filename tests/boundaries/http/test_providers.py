"""Each provider is described once, and a new one needs a descriptor alone."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import clients, dialects, placeholder_keys, providers, routing
from llm_mock.boundaries.http.errors import add_fast_retry_header
from llm_mock.boundaries.http.interception import find_provider
from llm_mock.boundaries.http.providers import hosts, registry
from llm_mock.boundaries.http.providers.descriptor import (
    ClientKey,
    ProviderDescriptor,
    ServerAccess,
)
from llm_mock.boundaries.http.providers.ollama import TextFormat
from llm_mock.boundaries.http.wire_error import WireError

ACME = ProviderDescriptor(
    "acme",
    domains=("api.acme.test",),
    host_patterns=(r"^models\.[a-z]+\.acme\.test$",),
    shared_hosts=((r"^www\.acme\.test$", "^/models/"),),
    base_url_variables=("ACME_BASE_URL",),
    user_agents=("^acme-sdk/",),
    clients={"acme_sdk": {"Acme": ClientKey(("ACME_API_KEY",))}},
    errors=TextFormat(),
    reads_retry_after_ms=True,
    server=ServerAccess(
        prefix="acme", base_urls={"ACME_BASE_URL": "/acme/v1"}, keys=("ACME_API_KEY",)
    ),
)
BODY = {"model": "acme-1", "messages": [{"role": "user", "content": "Hi"}]}
CACHED = (
    registry.get_registry,
    hosts.find_provider_of_host,
    hosts.parse_base_urls,
    routing.find_protocol,
    clients._match_user_agent,
    dialects._get_prefixes,
)


@pytest.fixture
def _acme(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Add a provider as a developer would: a module with its descriptor, and a line in the list."""
    module: Any = ModuleType(f"{providers.__name__}.acme")
    module.PROVIDERS = (ACME,)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(providers.MODULES, "acme", ("acme_sdk",))
    for function in CACHED:
        function.cache_clear()
    yield
    for function in CACHED:
        function.cache_clear()


@pytest.mark.usefixtures("_acme")
@pytest.mark.parametrize(
    "url",
    [
        "https://api.acme.test/v1",
        "https://eu.api.acme.test/v1",
        "https://models.eu.acme.test/v1",
        "https://www.acme.test/models/v1",
        "https://gateway.corp.test/v1",
    ],
)
def test_a_new_provider_answers_by_its_descriptor_alone(
    url: str, mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ACME_BASE_URL", "https://gateway.corp.test/v1")
    mock_llm_responses.set("acme-1", "Hello from Acme.")
    response = httpx.post(f"{url}/chat/completions", json=BODY)
    assert response.json()["choices"][0]["message"]["content"] == "Hello from Acme."
    assert mock_llm_responses.last_call.request.url == f"{url}/chat/completions"


@pytest.mark.usefixtures("_acme", "mock_llm_responses")
def test_the_sdk_of_a_new_provider_is_recognised_at_any_host() -> None:
    headers = [("user-agent", "Acme-SDK/1.0")]
    assert find_provider("gateway.corp.test", None, "/v1/models", headers) == "acme"


@pytest.mark.usefixtures("_acme")
def test_a_new_provider_refuses_in_its_own_format(mock_llm_responses: LLMMock) -> None:
    response = httpx.get("https://api.acme.test/v1/files")
    assert response.status_code == 404
    assert "is not supported by llm_mock" in response.json()["error"]
    mock_llm_responses.refusals.clear()


@pytest.mark.usefixtures("_acme", "mock_llm_responses")
def test_the_client_of_a_new_provider_gets_a_placeholder_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Acme:
        def __init__(self, api_key: str | None = None) -> None:
            self.api_key = api_key

    module: Any = ModuleType("acme_sdk")
    module.Acme = Acme
    assert "acme_sdk" in providers.list_sdks()
    placeholder_keys._attach_to_clients(module)
    assert Acme().api_key == PLACEHOLDER_KEY
    monkeypatch.setenv("ACME_API_KEY", "real")
    assert Acme().api_key is None


@pytest.mark.usefixtures("_acme")
def test_programs_find_a_new_provider_at_the_server() -> None:
    environment = dialects.make_environment("http://127.0.0.1:1", {})
    assert environment["ACME_BASE_URL"] == "http://127.0.0.1:1/acme/v1"
    assert environment["ACME_API_KEY"] == PLACEHOLDER_KEY
    error = WireError(429, "Slow down.")
    assert add_fast_retry_header(error, "acme") == {"retry-after-ms": "50"}


def test_each_module_with_a_descriptor_is_in_the_list() -> None:
    folder = Path(providers.__file__).parent
    files = {path.stem for path in folder.glob("*.py")}
    machinery = {"__init__", "descriptor", "hosts", "registry"}
    assert files - machinery == providers.MODULES.keys()


def test_the_descriptors_of_clients_are_of_the_listed_sdks() -> None:
    for name, packages in providers.MODULES.items():
        described = {package for each in registry.load_module(name) for package in each.clients}
        assert described <= set(packages)


def _render_row(provider: ProviderDescriptor) -> str:
    """Return the row of a provider in the table of `docs/providers.md`."""
    patterns = [*provider.host_patterns, *(host for host, _ in provider.shared_hosts)]
    # In a table a bar would end the cell.
    escaped = [pattern.replace("|", "\\|") for pattern in patterns]
    cells = [provider.name]
    for values in ([*provider.domains, *escaped], provider.base_url_variables):
        cells.append(", ".join(f"`{value}`" for value in values))
    return f"| {' | '.join(cells)} |"


def test_the_documentation_lists_all_providers() -> None:
    page = Path(__file__).parents[3] / "docs" / "providers.md"
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if "|" in line]
    known = sorted(registry.get_registry().by_name.values(), key=lambda each: each.name)
    assert rows[2:] == [_render_row(provider) for provider in known]
