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

from llm_mock.core.context import activate, get_activated

LIBRARIES = pytest.mark.parametrize("library", [httpx, httpx2], ids=["httpx", "httpx2"])


def context_of(client: Any) -> ssl.SSLContext:
    """Return the SSL context of a client of httpx, httpx2 or an SDK."""
    context: ssl.SSLContext = getattr(client, "_client", client)._transport._pool._ssl_context
    return context


@LIBRARIES
def test_clients_share_the_context_that_they_make_by_default(library: ModuleType) -> None:
    assert context_of(library.Client()) is context_of(library.AsyncClient(verify=True))


@pytest.mark.parametrize(
    "sdk", [openai.OpenAI, openai.AsyncOpenAI, anthropic.Anthropic, anthropic.AsyncAnthropic]
)
def test_clients_of_an_sdk_share_it(sdk: Any) -> None:
    assert context_of(sdk()) is context_of(sdk())


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
    finally:
        activate(mock)
