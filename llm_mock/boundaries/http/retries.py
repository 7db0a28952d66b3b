"""Shorten retries of SDKs after failed connections, and prevent retries that a response forbids.

A failed connection has no response, and therefore no header for a fast retry. Cohere's SDK does
not support the header that forbids a retry.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.errors import FAST_RETRY
from llm_mock.boundaries.http.interception import is_answering
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host, is_this_machine
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.patching import replace

if TYPE_CHECKING:
    import httpx

CALCULATE = "_calculate_retry_timeout"
"""The method that computes the delay of a retry, in SDKs that Stainless generates."""
SHOULD_RETRY = "_should_retry"
"""The function of Cohere's SDK that decides by the status alone."""


def attach(base_client: ModuleType) -> None:
    """Patch an SDK to retry quickly after failures by the mock, and only where it may retry."""
    client = getattr(base_client, "BaseClient", None)
    # The method is private: in an SDK without it, retries are as slow as in production.
    if hasattr(client, CALCULATE):
        replace(client, CALCULATE, _calculate_retry_timeout)
    if hasattr(base_client, SHOULD_RETRY):
        replace(base_client, SHOULD_RETRY, _should_retry)


def _should_retry(original: Callable[..., bool], response: httpx.Response) -> bool:
    if response.headers.get("x-should-retry") == "false" and is_answering():
        return False
    return original(response)


def _calculate_retry_timeout(
    original: Callable[..., float],
    client: Any,
    remaining_retries: int,
    options: object,
    response_headers: object = None,
) -> float:
    seconds = original(client, remaining_retries, options, response_headers)
    # A response sets the retry delay itself; see `add_fast_retry_header`.
    if response_headers is not None or not http_settings.fast_retries or not is_answering():
        return seconds
    url = client.base_url
    if find_provider_of_host(url.host, url.port, http_settings.hosts) is None and is_this_machine(
        url.host
    ):
        # The mock does not intercept the application's own servers on this machine.
        return seconds
    return min(seconds, FAST_RETRY)
