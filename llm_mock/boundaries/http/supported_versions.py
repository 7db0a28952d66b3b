"""The oldest supported version of each intercepted library; older versions are refused.

`.ci/matrix` tests each library in its oldest and its newest version.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from llm_mock.boundaries.patching import CO_COROUTINE, is_replaced

OLDEST = {
    "aiohttp": "3.8",
    "anthropic": "0.40",
    "botocore": "1.34",
    "google-genai": "1.0",
    "httpx": "0.23",
    "httpx2": "2.0",
    "mistralai": "1.5",
    "openai": "1.55.3",
    "requests": "2.28",
    "urllib3": "1.26",
    "websockets": "13.1",
}
"""The oldest supported version of each library, by the name of its distribution."""
USER_AGENTS = {
    # These begin with the name of a client's class, such as `AsyncAnthropicBedrock`.
    "openai": r"\w*openai/python ",
    "anthropic": r"\w*anthropic\w*/python ",
    "google-genai": "google-genai-sdk/",
    "mistralai": "mistral-client-python/",
    "requests": "python-requests/",
    "botocore": "botocore[/#]",
}
"""Patterns for the text before the version in the user agents of SDKs.

The versions of all other libraries are checked when they are imported.
"""

outdated_call: ContextVar[str | None] = ContextVar("outdated_call", default=None)
"""The message about the outdated library that makes the current call; None for other calls."""


def explain_version(library: str, version: str) -> str | None:
    """Return the message for an unsupported version of a library; None for a supported one."""
    oldest = OLDEST.get(library)
    if oldest is None or _parse_version(version) >= _parse_version(oldest):
        return None
    return (
        f"{library} {version} is older than {oldest}, the oldest version that llm_mock supports; "
        "its calls are refused, and nothing was sent. Install a newer one: "
        f"pip install '{library}>={oldest}'"
    )


# Cached, as this is checked for every request, and an application has few clients.
@functools.lru_cache
def explain_user_agent(user_agent: str) -> str | None:
    """Return the message for a user agent with an unsupported version; None for other clients."""
    for library, start in USER_AGENTS.items():
        # Not within another name, such as `my-python-requests`.
        pattern = rf"(?<![\w-]){start}(\d[\w.]*)"
        match = re.search(pattern, user_agent, re.IGNORECASE)
        message = explain_version(library, match[1]) if match else None
        if message is not None:
            return message
    return None


def _parse_version(version: str) -> list[int]:
    # `packaging` is slow to import, and comparing three numbers is enough.
    return [int(number) for number in re.findall(r"\d+", version)[:3]]


def refuse_outdated(library: ModuleType) -> None:
    """Refuse the calls of a library in an unsupported version; call this after its transport."""
    version = getattr(library, "__version__", None)
    message = explain_version(library.__name__, version) if isinstance(version, str) else None
    if message is None:
        return
    # Calls are only marked here: the transports refuse them, as only these know the provider.
    for owner, name, function in _find_replaced_functions(library):
        setattr(owner, name, _mark_calls(function, message))


def _find_replaced_functions(library: ModuleType) -> Iterator[tuple[type, str, Callable[..., Any]]]:
    # Copies, as the caller replaces the functions.
    for owner in list(vars(library).values()):
        if isinstance(owner, type):
            for name, function in list(vars(owner).items()):
                if is_replaced(function):
                    yield owner, name, function


def _mark_calls(function: Callable[..., Any], message: str) -> Callable[..., Any]:
    """Return a function that marks its requests, so that they are refused with a message."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        token = outdated_call.set(message)
        try:
            return function(*args, **kwargs)
        finally:
            outdated_call.reset(token)

    @functools.wraps(function)
    async def call_coroutine_function(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        token = outdated_call.set(message)
        try:
            return await function(*args, **kwargs)
        finally:
            outdated_call.reset(token)

    is_coroutine_function = function.__code__.co_flags & CO_COROUTINE
    return call_coroutine_function if is_coroutine_function else call
