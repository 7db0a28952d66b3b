"""Fast retries of SDKs after a timeout or a failed connection, which have no header to ask for them."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.errors import FAST_RETRY
from llm_mock.boundaries.http.interception import answers
from llm_mock.boundaries.http.providers import is_this_machine, provider_of
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.boundaries.patching import replace

CALCULATE = "_calculate_retry_timeout"
"""The method of the SDKs that Stainless generates. Without it retries are as slow as in production."""


def attach(base_client: ModuleType) -> None:
    """Have the clients of an SDK try again at once where the mock made a connection fail."""
    client = getattr(base_client, "BaseClient", None)
    if hasattr(client, CALCULATE):
        replace(client, CALCULATE, _calculate_retry_timeout)


def _calculate_retry_timeout(
    original: Callable[..., float], client: Any, remaining_retries: int, options: Any, response_headers: Any = None
) -> float:
    seconds = original(client, remaining_retries, options, response_headers)
    if response_headers is not None or not Wanted.fast_retries or not answers():
        return seconds
    url = client.base_url
    is_mocked = provider_of(url.host, url.port, Wanted.hosts) is not None or not is_this_machine(url.host)
    return min(seconds, FAST_RETRY) if is_mocked else seconds
