"""Attaches to HTTP libraries once a process, each when something imports it; it imports none itself."""

from __future__ import annotations

import functools
import importlib
from types import ModuleType

from llm_mock.boundaries.http.supported_versions import OLDEST, refuse_outdated
from llm_mock.boundaries.patching import when_imported

LIBRARIES = {
    **{"aiohttp": "aiohttp", "httpcore": "httpcore", "httpcore2": "httpcore", "urllib3": "urllib3"},
    **{"httpx": "httpx", "httpx2": "httpx", "urllib3_future": "urllib3"},
    **dict.fromkeys(("asyncio", "curl_cffi", "http.client", "socket"), "refused"),
}
"""The libraries, and the modules of `transports` that attach to them."""
SDKS = ("anthropic", "cerebras.cloud.sdk", "groq", "openai", "together")
"""The SDKs whose retries are made fast: they have one generator, and so one base client."""


def attach() -> None:
    """Answer requests to providers from now on, as `interception.py` decides."""
    for library, transport in LIBRARIES.items():
        when_imported(library, functools.partial(_attach_to, f"transports.{transport}"))
    for sdk in SDKS:
        when_imported(f"{sdk}._base_client", functools.partial(_attach_to, "retries"))


def _attach_to(module: str, library: ModuleType) -> None:
    importlib.import_module(f"{__package__}.{module}").attach(library)
    if library.__name__ in OLDEST:
        refuse_outdated(library)
