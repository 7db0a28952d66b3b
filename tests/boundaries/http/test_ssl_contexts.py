"""Clients share their default SSL context, and nothing that an application makes itself."""

from __future__ import annotations

import ssl
from types import ModuleType
from typing import Any

import anthropic
import certifi
import httpx
import httpx2
import openai
import pytest
from google import genai
from google.auth.credentials import AnonymousCredentials
from google.genai import _api_client

from llm_mock.core.context import activate, get_activated

LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


def context_of(client: Any) -> ssl.SSLContext:
    """Return the SSL context of a client of httpx, httpx2 or an SDK."""
    context: ssl.SSLContext = getattr(client, "_client", client)._transport._pool._ssl_context
    return context


def contexts_of_google(**options: Any) -> list[ssl.SSLContext]:
    """Return the contexts of a client of google-genai: for httpx, aiohttp and WebSockets."""
    client: Any = genai.Client(**{"api_key": "test", **options})._api_client
    assert client._http_options.client_args == options.get("http_options", {}).get("client_args")
    return [
        context_of(client._httpx_client),
        client._async_client_session_request_args["ssl"],
        client._websocket_ssl_ctx["ssl"],
    ]


@LIBRARIES
def test_clients_share_the_context_that_they_make_by_default(library: ModuleType) -> None:
    assert context_of(library.Client()) is context_of(library.AsyncClient(verify=True))


@pytest.mark.parametrize(
    "sdk", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic]
)
def test_clients_of_an_sdk_share_it(sdk: Any) -> None:
    assert context_of(sdk()) is context_of(sdk())


def test_clients_of_google_share_theirs() -> None:
    assert contexts_of_google() == contexts_of_google()


def test_clients_of_google_with_own_settings_have_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = ssl.create_default_context()
    assert contexts_of_google(http_options={"client_args": {"verify": own}})[0] is own
    cases: list[dict[str, Any]] = [{"http_options": {"async_client_args": {"timeout": 3}}}]
    # Earlier versions load no certificate of the user.
    if hasattr(_api_client, "_get_client_cert_ssl_ctx"):
        vertex = {"vertexai": True, "project": "p", "location": "l", "api_key": None}
        cases.append({"credentials": AnonymousCredentials(), **vertex})
    for options in cases:
        assert not set(contexts_of_google(**options)) & set(contexts_of_google(**options))
    shared = contexts_of_google()
    shared[2].check_hostname = False
    assert contexts_of_google() == [*shared[:2], contexts_of_google()[2]] != shared
    monkeypatch.setenv("GOOGLE_GENAI_HTTP_CLIENT", "httpx")
    assert type(contexts_of_google()[0]) is ssl.SSLContext


@LIBRARIES
def test_what_an_application_says_of_certificates_is_its_own(library: ModuleType) -> None:
    own = ssl.create_default_context()
    assert context_of(library.Client(verify=own)) is own
    shared = context_of(library.Client())
    unchecked = context_of(library.Client(verify=False))
    assert (unchecked.verify_mode, shared.verify_mode) == (ssl.CERT_NONE, ssl.CERT_REQUIRED)
    assert library.create_ssl_context() is not library.create_ssl_context()


@LIBRARIES
def test_a_context_that_a_test_changed_is_shared_no_further(library: ModuleType) -> None:
    changed = context_of(library.Client())
    changed.check_hostname = False
    changed.verify_mode = ssl.CERT_NONE
    assert context_of(library.Client()).verify_mode is ssl.CERT_REQUIRED
    context_of(library.Client()).load_verify_locations(cafile=certifi.where(), cadata=None)
    assert context_of(library.Client()) is context_of(library.Client()) is not changed


@LIBRARIES
def test_certificates_of_the_environment_count(
    library: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = context_of(library.Client())
    monkeypatch.setenv("SSL_CERT_FILE", certifi.where())
    assert context_of(library.Client()) is not shared
    assert context_of(library.Client(trust_env=False)) is not context_of(library.Client())


def test_what_a_test_puts_in_place_of_the_context_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    httpx.Client()
    monkeypatch.setattr(ssl, "create_default_context", lambda **_: own)
    assert context_of(httpx.Client()) is own


@LIBRARIES
def test_nothing_is_shared_where_nothing_is_mocked(library: ModuleType) -> None:
    mock = get_activated()
    activate(None)
    try:
        assert context_of(library.Client()) is not context_of(library.Client())
        assert not set(contexts_of_google()) & set(contexts_of_google())
    finally:
        activate(mock)
