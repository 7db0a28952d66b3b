"""Shorten the retry delays of botocore, which ignores the header for fast retries."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from llm_mock.boundaries.http.errors import FAST_RETRY
from llm_mock.boundaries.http.interception import is_answering
from llm_mock.boundaries.http.providers.hosts import find_provider_of_host
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.patching import replace

HANDLER_METHODS = ("needs_retry", "__call__")
"""The methods that return the delay of a retry: of the standard and of the legacy mode."""


def attach(module: ModuleType) -> None:
    """Patch the retry handler of a module of botocore."""
    handler = getattr(module, "RetryHandler", None)
    for name in HANDLER_METHODS:
        # If the method is missing, retries are as slow as in production.
        if name in vars(handler or object):
            replace(handler, name, _choose_delay)


def _choose_delay(original: Callable[..., object], *args: object, **kwargs: object) -> object:
    """Return the seconds before a retry; None for no retry."""
    if not is_answering() or not _is_for_provider(kwargs.get("endpoint")):
        return original(*args, **kwargs)
    # Other SDKs read the header; botocore retries after every server error.
    if _forbids_retry(kwargs.get("response")):
        return None
    seconds = original(*args, **kwargs)
    if isinstance(seconds, (int, float)) and http_settings.fast_retries:
        return min(seconds, FAST_RETRY)
    return seconds


def _is_for_provider(endpoint: object) -> bool:
    url = urlsplit(str(getattr(endpoint, "host", "")))
    host = url.hostname or ""
    return find_provider_of_host(host, url.port, http_settings.hosts) is not None


def _forbids_retry(response: Any) -> bool:
    """Return True if a response, given as an HTTP response and its parsed body, forbids a retry."""
    try:
        headers = response[1]["ResponseMetadata"]["HTTPHeaders"]
        return bool(headers["x-should-retry"] == "false")
    except (LookupError, TypeError):
        return False
