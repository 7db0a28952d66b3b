"""Patch each HTTP library when it is imported.

Importing this module imports no HTTP library.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.http.providers import list_sdks
from llm_mock.boundaries.patching import attach_on_import, replace
from llm_mock.boundaries.requirements import describe_change, find_missing_name, refuse, refuse_all

TRANSPORTS = {
    "aiohttp": "aiohttp",
    "httpcore": "httpcore",
    "httpcore2": "httpcore",
    "httpx": "httpx",
    "httpx2": "httpx",
    "urllib3": "urllib3",
    "urllib3_future": "urllib3",
    "asyncio": "connection_guard",
    "curl_cffi": "connection_guard",
    "grpc": "connection_guard",
    "grpc.aio": "connection_guard",
    "http.client": "connection_guard",
    "pycurl": "connection_guard",
    "socket": "connection_guard",
    "uvloop": "connection_guard",
    "websocket": "connection_guard",
    "websockets.asyncio.client": "websockets",
    "websockets.legacy.client": "connection_guard",
    "websockets.sync.client": "websockets",
    "websockets.trio.client": "connection_guard",
    # After `socket`, as these two replace functions of `socket` themselves.
    "pytest_recording.network": "connection_guard",
    "pytest_socket": "connection_guard",
}
"""The libraries, and the modules of `transports` that attach to them."""


def attach() -> None:
    """Intercept requests to providers from now on, as `interception` decides."""
    for library, transport in TRANSPORTS.items():
        attach_transport = functools.partial(_attach_to, f"transports.{transport}")
        attach_on_import(library, attach_transport)
    attach_retries = functools.partial(_attach_to, "retries")
    for sdk in list_sdks():
        # A private module of the SDKs that Stainless generates. Without it, retries are as slow
        # as in production.
        attach_on_import(f"{sdk}._base_client", attach_retries)
    attach_on_import("cohere.core.http_client", attach_retries)
    attach_aws_retries = functools.partial(_attach_to, "aws_retries")
    for module in ("botocore.retryhandler", "botocore.retries.standard"):
        attach_on_import(module, attach_aws_retries)
    attach_contexts = functools.partial(_attach_to, "google_contexts")
    attach_on_import("google.genai._api_client", attach_contexts)
    attach_lookups = functools.partial(_attach_to, "model_lookups")
    for provider in ("_common", "hf_inference"):
        attach_on_import(f"huggingface_hub.inference._providers.{provider}", attach_lookups)


def _attach_to(name_of_module: str, library: ModuleType) -> None:
    transport = importlib.import_module(f"{__package__}.{name_of_module}")
    # `retries` and `google_contexts` need no name: what they do not find stays slow.
    names = getattr(transport, "NAMES", {}).get(library.__name__, ())
    name = find_missing_name(library, names)
    if name is None:
        transport.attach(library)
    else:
        # A name may be missing because the library is too old or too new.
        from llm_mock.boundaries.http.supported_versions import explain_version

        version = str(getattr(library, "__version__", "")) or "0"
        outdated = explain_version(library.__name__, version)
        _refuse(transport, library, outdated or describe_change(library, name))
    # After the transport: an outdated library is refused whatever the transport would answer. The
    # modules of Python have no version, and save the import.
    if hasattr(library, "__version__"):
        from llm_mock.boundaries.http.supported_versions import refuse_outdated

        refuse_outdated(library)


def _refuse(transport: Any, library: ModuleType, message: str) -> None:
    """Refuse the calls that a library would make to models.

    Other requests pass if the function that the transport replaces still exists. Otherwise, the
    mock cannot tell requests to models from others, so it refuses all requests of the library.
    """
    if not transport.SEAMS or find_missing_name(library, transport.SEAMS):
        refuse_all(library, transport.CONSTRUCTORS, message)
        return
    for seam, find_provider in transport.SEAMS.items():
        owner, _, function = seam.rpartition(".")
        replacement = functools.partial(_call_or_refuse, message, find_provider)
        replace(getattr(library, owner), function, replacement)


def _call_or_refuse(
    message: str,
    find_provider: Callable[..., str | None],
    original: Any,
    *args: Any,
    **kwargs: Any,
) -> Any:
    __tracebackhide__ = True
    try:
        is_left_alone = find_provider(*args, **kwargs) is None
    except (AttributeError, LookupError, TypeError):
        # More than one name changed, so the mock cannot tell requests to models from others.
        is_left_alone = False
    if not is_left_alone:
        refuse(message)
    return original(*args, **kwargs)
