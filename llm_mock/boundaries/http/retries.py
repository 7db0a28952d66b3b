"""Shorten the retries of SDKs after a timeout or a failed connection.

These failures have no response, and therefore no header for a fast retry.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.errors import FAST_RETRY
from llm_mock.boundaries.http.interception import is_answering
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host, is_this_machine
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.patching import replace

CALCULATE = "_calculate_retry_timeout"
"""The method that computes the delay of a retry, in SDKs that Stainless generates."""


def attach(base_client: ModuleType) -> None:
    """Patch the clients of an SDK to retry quickly if the mock made a connection fail."""
    client = getattr(base_client, "BaseClient", None)
    # The method is private: in an SDK without it, retries are as slow as in production.
    if hasattr(client, CALCULATE):
        replace(client, CALCULATE, _calculate_retry_timeout)


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
