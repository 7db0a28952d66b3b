"""Attaches to HTTP libraries once a process, each when something imports it; it imports none itself."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.supported_versions import OLDEST, explain_version, refuse_outdated
from llm_mock.boundaries.patching import attach_on_import, replace
from llm_mock.boundaries.requirements import describe_change, find_missing_name, refuse, refuse_all

UNDECIDED = "undecided"
"""In place of a provider that cannot be found out any more."""

LIBRARIES = {
    **{"aiohttp": "aiohttp", "httpcore": "httpcore", "httpcore2": "httpcore", "urllib3": "urllib3"},
    **{"httpx": "httpx", "httpx2": "httpx", "urllib3_future": "urllib3"},
    **dict.fromkeys(
        ("asyncio", "curl_cffi", "grpc", "grpc.aio", "http.client", "pycurl"), "connection_guard"
    ),
    **dict.fromkeys(
        ("socket", "uvloop", "websocket", "websockets.asyncio.client"), "connection_guard"
    ),
    **dict.fromkeys(("websockets.legacy.client", "websockets.sync.client"), "connection_guard"),
    **dict.fromkeys(
        ("pytest_recording.network", "pytest_socket"), "connection_guard"
    ),  # after socket
}
"""The libraries, and the modules of `transports` that attach to them."""
SDKS = ("anthropic", "cerebras.cloud.sdk", "groq", "openai", "together")
"""The SDKs whose retries are made fast: they have one generator, and so one base client."""


def attach() -> None:
    """Answer requests to providers from now on, as `interception.py` decides."""
    for library, transport in LIBRARIES.items():
        attach_on_import(library, functools.partial(_attach_to, f"transports.{transport}"))
    for sdk in SDKS:
        attach_on_import(f"{sdk}._base_client", functools.partial(_attach_to, "retries"))


def _attach_to(name_of_module: str, library: ModuleType) -> None:
    module = importlib.import_module(f"{__package__}.{name_of_module}")
    # `retries` needs no name: what it does not find stays slow.
    names = getattr(module, "NAMES", {}).get(library.__name__, ())
    name = find_missing_name(library, names)
    if name is None:
        module.attach(library)
    else:
        # A name may be missing because the library is too old, or too new.
        outdated = explain_version(
            library.__name__, str(getattr(library, "__version__", "")) or "0"
        )
        _refuse(module, library, outdated or describe_change(library, name))
    # After the transport: what is refused for its age is refused whatever the transport would answer.
    if library.__name__ in OLDEST:
        refuse_outdated(library)


def _refuse(transport: Any, library: ModuleType, message: str) -> None:
    """Refuse the calls that a library would make to models.

    Where the function that the transport replaces is still there, other requests pass. Without it nothing
    tells which is which, so none is made.
    """
    if not transport.SEAMS or find_missing_name(library, transport.SEAMS):
        refuse_all(library, transport.CONSTRUCTORS, message)
        return
    for seam, find in transport.SEAMS.items():
        owner, _, function = seam.rpartition(".")
        replace(
            getattr(library, owner), function, functools.partial(_call_or_refuse, message, find)
        )


def _call_or_refuse(
    message: str, find: Callable[..., str | None], original: Any, *args: Any, **kwargs: Any
) -> Any:
    __tracebackhide__ = True
    try:
        provider = find(*args, **kwargs)
    except (AttributeError, LookupError, TypeError):  # more has changed than is known
        provider = UNDECIDED
    if provider is not None:
        refuse(message)
    return original(*args, **kwargs)
