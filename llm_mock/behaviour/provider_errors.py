"""The errors of the providers, as their own SDKs raise them.

Where the `openai` or `anthropic` package is installed these are its exceptions, with status,
headers and body, so that code under test catches what it would catch in production.
"""

from __future__ import annotations

import builtins
import copy
import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

from llm_mock.behaviour.refusals import REFUSALS, Refusal, build_body, get_refusals
from llm_mock.core.context import current_mock
from llm_mock.core.provider_error import ProviderError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from llm_mock.core.call import Call
    from llm_mock.core.reply import Reply
    from llm_mock.support.json_types import JSONObject

RETRY_AFTER = 1
"""The default of the header `Retry-After` of a rate limit, in seconds."""
PREFIXES = {
    "openai": ("gpt-", "chatgpt", "o1", "o3", "o4", "ft:gpt-", "text-embedding-", "openai/"),
    "anthropic": ("claude", "anthropic/"),
}
"""The beginnings of the ids of a provider's models."""
ENDPOINTS = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "anthropic": "https://api.anthropic.com/v1/messages",
}


STATUS_CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    429: "RateLimitError",
    500: "InternalServerError",
    503: "InternalServerError",
    529: "OverloadedError",
}
"""The exception of the SDKs for each status."""
STREAM_BROKEN = (
    "peer closed connection without sending complete message body (incomplete chunked read)"
)
DISCONNECTED = "Server disconnected without sending a response."
TIMED_OUT = "Request timed out."
READ_TIMED_OUT = "The read operation timed out"
"""The message of the HTTP libraries; an SDK raises `TIMED_OUT`."""
NO_CONNECTION = "[Errno 111] Connection refused"
KINDS = (*REFUSALS["openai"], "timeout", "no_connection", "broken_stream")


class ProviderFailure(Exception):
    """A provider's error response over HTTP, from which the client's SDK creates its exception.

    Args:
        status: the HTTP status.
        body: the JSON body.
        message: the message of the provider.
        seconds: the header `Retry-After`; None without one.
    """

    def __init__(
        self, status: int, body: JSONObject, message: str, seconds: float | None = None
    ) -> None:
        super().__init__(status, body, message, seconds)
        self.status = status
        self.body = body
        self.message = message
        self.headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}

    def __str__(self) -> str:
        return f"Error code: {self.status} - {self.message}"


class ReceivedError(Exception):
    """An error of a provider as it came over HTTP.

    Args:
        status: the HTTP status.
        headers: the headers, with names in lower case.
        content: the body.
        url: the requested URL, without query.
        kind: the exception that the client's SDK raises for it, as `module:name`; None if unknown.
    """

    def __init__(
        self,
        status: int,
        headers: dict[str, str],
        content: str,
        url: str | None = None,
        kind: str | None = None,
    ) -> None:
        super().__init__(f"Error code: {status} - {content}")
        self.status = status
        self.headers = headers
        self.content = content
        self.url = url
        self.kind = kind


class StreamEnds(Exception):
    """The end of a stream over HTTP in its middle, without an error.

    Args:
        malformed: whether its last event is cut off.
    """

    def __init__(self, malformed: bool = False) -> None:
        place = "within an event" if malformed else "before its end"
        super().__init__(f"The stream ended {place}.")
        self.malformed = malformed


class StreamStalls(Exception):
    """A stall of a stream over HTTP, which then never ends."""

    def __init__(self) -> None:
        super().__init__("The stream stalled.")


def make_provider_error(
    model_id: str, kind: str, *, provider: str | None = None, retry_after: float | None = None
) -> Exception:
    """Return the exception for a failed call to a model.

    The provider is determined by the beginning of the id, or by the SDK that the model's plugin
    imports. If the SDK is not installed or not supported, the exception is an `llm.ModelError` with
    the provider's message, a `TimeoutError` or a `ConnectionError`.

    Args:
        model_id: the id of the called model.
        kind: one of `KINDS`; `broken_stream` is a connection that is closed during an answer,
            `no_connection` one that could not be opened.
        provider: for calls over HTTP, the provider whose API is called, such as `openai`. No SDK is
            needed then.
        retry_after: seconds for the header `Retry-After`. A rate limit always has one.
    """
    if kind not in KINDS:
        raise ValueError(f"Unknown kind {kind!r}. Use one of {', '.join(KINDS)}.")
    if kind == "rate_limit" and retry_after is None:
        retry_after = RETRY_AFTER
    # Over HTTP, the client's own SDK creates its exception from the response.
    if provider is not None:
        if kind in get_refusals(provider):
            return _make_provider_failure(model_id, kind, provider, retry_after)
        return _make_plain_error(kind, READ_TIMED_OUT)
    provider = _find_provider(model_id)
    sdk = _load_sdk(provider)
    if kind not in REFUSALS["openai"]:
        if sdk is None:
            return _make_plain_error(kind, TIMED_OUT)
        return sdk.make_connection_error(kind)
    failure = _make_provider_failure(model_id, kind, provider, retry_after)
    return _make_library_error(failure, sdk, retry_after)


def make_status_error(
    model_id: str,
    provider: str | None,
    build_refusal: Callable[[str | None], Refusal],
    retry_after: float | None,
    headers: Mapping[str, str],
) -> Exception:
    """Return the exception for an error response that depends on the provider.

    Args:
        model_id: the id of the called model.
        provider: the provider whose API is called over HTTP; None for calls through `llm`.
        build_refusal: returns the error response of a provider.
        retry_after: seconds for the header `Retry-After`; None without one.
        headers: further headers over HTTP.
    """
    owner = _find_provider(model_id) if provider is None else provider
    failure = _fill_refusal(model_id, build_refusal(owner), owner, retry_after)
    if provider is None:
        return _make_library_error(failure, _load_sdk(owner), retry_after)
    failure.headers.update(headers)
    return failure


def _make_library_error(
    failure: ProviderFailure, sdk: _SDK | None, retry_after: float | None
) -> Exception:
    """Return the exception of the provider's SDK for a failure, or an `llm.ModelError`."""
    if sdk is not None:
        return sdk.make_status_error(failure.status, failure.body, retry_after)
    # Imported late: an application that calls its provider over HTTP may not have it.
    import llm

    return llm.ModelError(str(failure))


def _make_plain_error(kind: str, timeout_message: str) -> Exception:
    """Return Python's own error for a connection that fails."""
    if kind == "timeout":
        return TimeoutError(timeout_message)
    if kind == "no_connection":
        return ConnectionRefusedError(NO_CONNECTION)
    return ConnectionError(STREAM_BROKEN)


def _make_provider_failure(
    model_id: str, kind: str, provider: str | None, seconds: float | None
) -> ProviderFailure:
    """Return the error response of a provider; by default in the form of OpenAI's."""
    return _fill_refusal(model_id, get_refusals(provider)[kind], provider, seconds)


def _fill_refusal(
    model_id: str, refusal: Refusal, provider: str | None, seconds: float | None
) -> ProviderFailure:
    """Return an error response for a call of a model."""
    call = {"model": model_id, "seconds": f"{seconds or 0:g}"}
    message = refusal.message.format(**call)
    body = build_body(provider, refusal, message, **call)
    return ProviderFailure(refusal.status, body, message, seconds)


def replace_provider_error(reply: Reply, error: ProviderError, record: Call) -> Reply:
    """Return a reply whose `ProviderError` is replaced by the error of the called provider."""
    new_error = resolve_error(error, record["model_id"], record.get("provider"))
    changed = copy.copy(reply)
    # `Reply.__setattr__` refuses changes.
    changed.__dict__["error"] = new_error
    return changed


def resolve_error(error: Exception, model_id: str, provider: str | None = None) -> Exception:
    """Return the error of the called provider for a `ProviderError`; any other error as it is."""
    if not isinstance(error, ProviderError):
        return error
    return make_provider_error(
        model_id, error.kind, provider=provider, retry_after=error.retry_after
    )


def _find_provider(model_id: str) -> str | None:
    """Return the provider of a model, if it is one of `PREFIXES`."""
    for provider, prefixes in PREFIXES.items():
        if model_id.startswith(prefixes):
            return provider
    mock = current_mock()
    model_class = mock.names.provider_class(model_id) if mock else None
    return _find_imported_sdk(model_class) if model_class else None


def _find_imported_sdk(model: type) -> str | None:
    """Return the SDK that the module of a model's class, or of one of its bases, imports."""
    for base in model.__mro__:
        module = sys.modules.get(base.__module__, builtins)
        # A list, because another thread may add a name to the module during the loop.
        for value in list(vars(module).values()):
            is_module = isinstance(value, ModuleType)
            name = value.__name__ if is_module else getattr(value, "__module__", None)
            package = name.split(".")[0] if isinstance(name, str) else ""
            if package in PREFIXES:
                return package
    return None


def _load_sdk(provider: str | None) -> _SDK | None:
    """Return the exceptions of a provider's SDK; None if it is not installed."""
    if provider is None:
        return None
    try:
        return _SDK(importlib.import_module(provider))
    except ImportError:
        return None


class _SDK:
    """The exceptions of one SDK, made with its HTTP library: `httpx` or the newer `httpx2`."""

    def __init__(self, package: Any) -> None:
        self._is_anthropic = package.__name__ == "anthropic"
        # From openai 3 on, `str()` of an error has the message of the body, not all of it.
        is_old = package.__version__.startswith(("1.", "2."))
        self._has_short_message = not self._is_anthropic and not is_old
        # The globals of a method, because the modules that import these names are private.
        self._names: dict[str, Any] = vars(package.APIStatusError)["__init__"].__globals__
        self._http: Any = self._names.get("httpx2") or self._names["httpx"]
        self._request = self._http.Request("POST", ENDPOINTS[package.__name__])

    def make_connection_error(self, kind: str) -> Exception:
        """Return the error for a `timeout`, `no_connection` or a `broken_stream`."""
        error: Exception
        if kind == "timeout":
            error = self._names["APITimeoutError"](request=self._request)
        elif kind == "no_connection":
            error = self._names["APIConnectionError"](request=self._request)
        else:
            # The SDKs pass on the error of the HTTP library once the stream has begun.
            error = self._http.RemoteProtocolError(STREAM_BROKEN, request=self._request)
        return error

    def make_status_error(self, status: int, body: JSONObject, seconds: float | None) -> Exception:
        headers = {"request-id" if self._is_anthropic else "x-request-id": "req_mock"}
        if seconds is not None:
            headers["retry-after"] = f"{seconds:g}"
        # An SDK without `OverloadedError` raises its class for every 5xx.
        error: Any = self._names.get(STATUS_CLASSES[status]) or self._names["InternalServerError"]
        response = self._http.Response(status, headers=headers, json=body, request=self._request)
        detail = body["error"]["message"] if self._has_short_message else body
        # OpenAI's SDK gives its exceptions the inner object as `body`, Anthropic's the whole.
        error_body = body if self._is_anthropic else body["error"]
        message = f"Error code: {status} - {detail}"
        return cast("Exception", error(message, response=response, body=error_body))
