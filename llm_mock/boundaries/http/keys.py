"""Keys that are none, for SDKs that make no client without one.

They stand in the environment while tests run, not before: a test that is skipped where there is no key stays skipped.
A client that a module makes when it is imported finds them too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from llm_mock.boundaries import NO_KEY
from llm_mock.boundaries.attaching import replace, when_imported

VARIABLES = (
    "ANTHROPIC_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "GOOGLE_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "OPENAI_API_KEY",
    "OPENROUTER_API_KEY",
    "TOGETHER_API_KEY",
    "XAI_API_KEY",
)
INSTEAD = {"GOOGLE_API_KEY": "GEMINI_API_KEY", "ANTHROPIC_API_KEY": "ANTHROPIC_AUTH_TOKEN"}
"""Variables that make another one needless."""
CLIENTS = {
    "anthropic": ("Anthropic", "AsyncAnthropic"),
    "openai": ("OpenAI", "AsyncOpenAI", "AzureOpenAI", "AsyncAzureOpenAI"),
    "google.genai": ("Client",),
}
"""The clients that cannot be made, or not be used, without a key."""


def missing_keys() -> dict[str, str]:
    """The variables that are not set, each with what stands for a key."""
    return {
        name: NO_KEY for name in VARIABLES if not os.environ.get(name) and not os.environ.get(INSTEAD.get(name, name))
    }


def forget() -> None:
    """Take what stands for keys out of the environment."""
    for name in VARIABLES:
        if os.environ.get(name) == NO_KEY:
            del os.environ[name]


def attach() -> None:
    """Have clients be made without a key from now on, as long as the mock answers for them."""
    for module in CLIENTS:
        when_imported(module, _attach_to)


def _attach_to(module: ModuleType) -> None:
    for name in CLIENTS[module.__name__]:
        if client := getattr(module, name, None):
            replace(client, "__init__", _made_without_key)


def _made_without_key(original: Any, client: Any, *args: Any, **kwargs: Any) -> None:
    __tracebackhide__ = True
    from llm_mock.boundaries.http.door import answers

    if not answers():
        original(client, *args, **kwargs)
        return
    with _keys():
        original(client, *args, **kwargs)


@contextmanager
def _keys() -> Iterator[None]:
    missing = missing_keys()
    os.environ.update(missing)
    try:
        yield
    finally:
        for name in missing:
            os.environ.pop(name, None)
