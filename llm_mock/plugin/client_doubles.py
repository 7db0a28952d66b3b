"""Recognize the mocks and fakes of an SDK's client while a test runs."""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from unittest import mock

from llm_mock.behaviour.provider_errors import ProviderFailure, make_provider_error
from llm_mock.boundaries.patching import is_real_module
from llm_mock.migrate.sdk_clients import CLIENTS, EMBEDDINGS, GOOGLE, LITELLM, METHODS, MISTRAL
from llm_mock.plugin.model_recorder import Double, Keywords

UNKNOWN = ""
"""The library of a double whose errors are unknown."""
_LIBRARIES = {
    "openai.": "openai",
    "anthropic.": "anthropic",
    f"{GOOGLE}.": GOOGLE,
    "mistralai.": MISTRAL,
    f"{LITELLM}.": LITELLM,
}
"""The SDKs, by the beginning of the names of their modules."""
METHOD_LIBRARIES = {path: sdk for path, sdk in METHODS.items() if path != EMBEDDINGS}
"""The methods that call a model, each with its SDK."""
_NAMES = {path.rpartition(".")[2] for path in METHOD_LIBRARIES}
_NAMES.update(("completion", "acompletion"))
_CLASS_NAMES = {name for names in CLIENTS.values() for name in names}
_REQUESTS = ("messages", "input", "contents")
"""The arguments with the request; each method has one of them, and `model`."""
_REPLACED = (type, FunctionType, MethodType)
_MODELS = {"openai": "gpt-4o", "anthropic": "claude-sonnet-4-5"}


def find_mock_library(double: Double, kwargs: Keywords) -> str | None:
    """Return the SDK of a mocked method that calls a model; None for other mocks.

    Args:
        double: the mock that is called.
        kwargs: the keyword arguments of the call.
    """
    names = _list_names(double)
    path = ".".join(names)
    for method, library in METHOD_LIBRARIES.items():
        if f".{path}".endswith(f".{method}"):
            # In a mock of the whole SDK the exceptions are mocks, too, so none can be raised.
            is_module = not _CLASS_NAMES.isdisjoint(names)
            return UNKNOWN if is_module else library
    # A mock in a `SimpleNamespace` has no name.
    is_unnamed = not names and double._mock_name is None
    has_request = any(name in kwargs for name in _REQUESTS)
    if is_unnamed and has_request and "model" in kwargs:
        return UNKNOWN
    return None


def _list_names(double: Double) -> list[str]:
    """Return the names of the attributes that lead to a mock, beginning with its first owner's."""
    names: list[str] = []
    current = double
    # Private, but the only place that tells to which mock another one belongs.
    while current is not None:
        name = current._mock_new_name
        if name:
            names.insert(0, name)
        current = current._mock_new_parent
    return names


def find_library(original: object) -> str | None:
    """Return the SDK of a class or function that a test replaces; None for other objects."""
    # Not `isinstance`, because the proxies of some frameworks raise errors when they are read.
    if not issubclass(type(original), _REPLACED):
        return None
    module = str(getattr(original, "__module__", ""))
    for prefix, library in _LIBRARIES.items():
        if f"{module}.".startswith(prefix):
            return library
    return None


def is_client_class(original: object) -> bool:
    """Return whether an object of an SDK is the class of a client."""
    return isinstance(original, type) and original.__name__ in _CLASS_NAMES


def is_model_method(original: object) -> bool:
    """Return whether an object of an SDK is a function, or a method, that calls a model."""
    name = getattr(original, "__name__", None)
    owner = getattr(original, "__qualname__", "")
    return name in _NAMES and "Embeddings" not in owner


def list_methods(client: Double) -> list[tuple[object, str, object, str]]:
    """Return the methods of a client that call a model, each with its owner, name and SDK."""
    methods = []
    for path, library in METHOD_LIBRARIES.items():
        *owners, name = path.split(".")
        owner = client
        for attribute in owners:
            # A mock has every attribute, and its methods are found by their names.
            if isinstance(owner, mock.NonCallableMock):
                break
            owner = getattr(owner, attribute, None)
        method = None if isinstance(owner, mock.NonCallableMock) else getattr(owner, name, None)
        if method is not None:
            methods.append((owner, name, method, library))
    return methods


def make_overload(library: str) -> Exception | None:
    """Return the error that an SDK raises if the provider is overloaded; None if it is unknown."""
    if not is_real_module(sys.modules.get(library)):
        return None
    model_id = _MODELS.get(library)
    if model_id is not None:
        return make_provider_error(model_id, "overloaded")
    if library != GOOGLE:
        return None
    failure = make_provider_error("gemini", "overloaded", provider="google")
    assert isinstance(failure, ProviderFailure)
    from google.genai.errors import ServerError

    return ServerError(failure.status, failure.body)
