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

from llm_mock.behaviour.refusals import REFUSALS, build_body
from llm_mock.core.context import current_mock
from llm_mock.core.provider_error import ProviderError

if TYPE_CHECKING:
    from llm_mock.core.records import CallRecord
    from llm_mock.core.reply import Reply

RETRY_AFTER = 1
"""Seconds that a rate limit asks for, where nothing else is said."""
PREFIXES = {
    "openai": ("gpt-", "chatgpt", "o1", "o3", "o4", "ft:gpt-", "text-embedding-", "openai/"),
    "anthropic": ("claude", "anthropic/"),
}
"""How the ids of a provider's models begin."""
ENDPOINTS = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "anthropic": "https://api.anthropic.com/v1/messages",
}


STATUS_CLASSES = {
    **{400: "BadRequestError", 401: "AuthenticationError", 429: "RateLimitError"},
    **{503: "InternalServerError", 529: "OverloadedError"},
}
STREAM_BROKEN = (
    "peer closed connection without sending complete message body (incomplete chunked read)"
)
DISCONNECTED = "Server disconnected without sending a response."
TIMED_OUT = "Request timed out."
READ_TIMED_OUT = "The read operation timed out"
"""What the HTTP libraries say of it."""
NO_CONNECTION = "[Errno 111] Connection refused"
KINDS = (*REFUSALS["openai"], "timeout", "no_connection", "broken_stream")


class ProviderFailure(Exception):
    """A provider's refusal as it comes over HTTP, for the client's own SDK to make its exception
    of.

    Args:
        status: the HTTP status.
        body: the JSON body.
        message: what the provider says.
        seconds: the header `Retry-After`; None without one.
    """

    def __init__(
        self, status: int, body: dict[str, Any], message: str, seconds: float | None = None
    ) -> None:
        super().__init__(status, body, message, seconds)
        self.status, self.body, self.message = status, body, message
        self.headers = {} if seconds is None else {"retry-after": f"{seconds:g}"}

    def __str__(self) -> str:
        return f"Error code: {self.status} - {self.message}"


class ReceivedError(Exception):
    """An error of a provider as it came over HTTP.

    Args:
        status: the HTTP status.
        headers: the headers, with names in lower case.
        content: the body.
        url: what was asked, without query.
        kind: the exception that the client's SDK makes of it, as `module:name`; None where that is
            not known.
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
        self.status, self.headers, self.content, self.url, self.kind = (
            status,
            headers,
            content,
            url,
            kind,
        )


class StreamEnds(Exception):
    """A stream over HTTP ends where it should not, and says nothing of it.

    Args:
        malformed: whether its last event is cut off.
    """

    def __init__(self, malformed: bool = False) -> None:
        super().__init__(
            "The stream ended within an event." if malformed else "The stream ended before its end."
        )
        self.malformed = malformed


class StreamStalls(Exception):
    """A stream over HTTP goes on no further, and does not end."""

    def __init__(self) -> None:
        super().__init__("The stream stalled.")


def make_provider_error(
    model_id: str, kind: str, *, provider: str | None = None, retry_after: float | None = None
) -> Exception:
    """Return the exception of a failed call of a model.

    OpenAI's and Anthropic's models are known by how their ids begin, others by the SDK that the
    plugin which registers them uses. Where that is not installed, or is another one, it is an
    `llm.ModelError` with the provider's message, a `TimeoutError` or a `ConnectionError`.

    Args:
        kind: one of `KINDS`; `broken_stream` is a connection that is closed within an answer,
            `no_connection` one that could not be opened.
        provider: over HTTP, whose API is called: `openai`, `anthropic`, `google` or `mistral`. No
            SDK is needed then.
        retry_after: seconds for the header `Retry-After`. A rate limit always has one.
    """
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r}: write one of {', '.join(KINDS)}")
    over_http = provider is not None
    provider = provider or _find_provider(model_id)
    sdk = None if over_http else _load_sdk(provider)
    if kind == "timeout":
        if sdk is not None:
            return sdk.make_timeout()
        return TimeoutError(READ_TIMED_OUT if over_http else TIMED_OUT)
    if kind == "no_connection":
        return ConnectionRefusedError(NO_CONNECTION) if sdk is None else sdk.make_no_connection()
    if kind == "broken_stream":
        return ConnectionError(STREAM_BROKEN) if sdk is None else sdk.make_broken_stream()
    seconds = RETRY_AFTER if retry_after is None and kind == "rate_limit" else retry_after
    refusal = REFUSALS[provider or "openai"][kind]
    call = {"model": model_id, "seconds": f"{seconds or 0:g}"}
    message = refusal.message.format(**call)
    body = build_body(provider, refusal, message, **call)
    if over_http:
        return ProviderFailure(refusal.status, body, message, seconds)
    if sdk is not None:
        return sdk.make_status_error(refusal.status, body, seconds)
    import llm

    return llm.ModelError(f"Error code: {refusal.status} - {message}")


def replace_provider_error(reply: Reply, error: ProviderError, record: CallRecord) -> Reply:
    """Return a reply whose `ProviderError` is replaced by the error of the called provider."""
    changed = copy.copy(reply)
    # `Reply.__setattr__` refuses changes.
    changed.__dict__["error"] = resolve_error(error, record["model_id"], record.get("provider"))
    return changed


def resolve_error(error: Exception, model_id: str, provider: str | None = None) -> Exception:
    """Return the error of the called provider for a `ProviderError`; any other error as it is."""
    if not isinstance(error, ProviderError):
        return error
    return make_provider_error(
        model_id, error.kind, provider=provider, retry_after=error.retry_after
    )


def _find_provider(model_id: str) -> str | None:
    for provider, prefixes in PREFIXES.items():
        if model_id.startswith(prefixes):
            return provider
    mock = current_mock()
    model_class = mock.names.provider_class(model_id) if mock else None
    return _find_imported_sdk(model_class) if model_class else None


def _find_imported_sdk(model: type) -> str | None:
    """Return the SDK that the module of a model's class, or of one of its bases, imports."""
    for base in model.__mro__:
        for value in list(vars(sys.modules.get(base.__module__, builtins)).values()):
            name = (
                value.__name__
                if isinstance(value, ModuleType)
                else getattr(value, "__module__", None)
            )
            package = name.split(".")[0] if isinstance(name, str) else ""
            if package in PREFIXES:
                return package
    return None


def _load_sdk(provider: str | None) -> _SDK | None:
    try:
        return _SDK(importlib.import_module(provider)) if provider else None
    except ImportError:
        return None


class _SDK:
    """The exceptions of one SDK, made with its HTTP library: `httpx`, or `httpx2` in new
    versions."""

    def __init__(self, package: Any) -> None:
        self._is_anthropic = package.__name__ == "anthropic"
        self._says_the_message_only = not self._is_anthropic and not package.__version__.startswith(
            ("1.", "2.")
        )
        # The globals of a method, because the modules that import these names are private.
        self._names: dict[str, Any] = vars(package.APIStatusError)["__init__"].__globals__
        self._http: Any = self._names.get("httpx2") or self._names["httpx"]
        self._request = self._http.Request("POST", ENDPOINTS[package.__name__])

    def make_timeout(self) -> Exception:
        return cast("Exception", self._names["APITimeoutError"](request=self._request))

    def make_no_connection(self) -> Exception:
        return cast("Exception", self._names["APIConnectionError"](request=self._request))

    def make_broken_stream(self) -> Exception:
        """Return the error of the HTTP library for a closed connection, which the SDKs pass on."""
        return cast(
            "Exception", self._http.RemoteProtocolError(STREAM_BROKEN, request=self._request)
        )

    def make_status_error(
        self, status: int, body: dict[str, Any], seconds: float | None
    ) -> Exception:
        headers = {"request-id" if self._is_anthropic else "x-request-id": "req_mock"}
        headers |= {} if seconds is None else {"retry-after": f"{seconds:g}"}
        error: Any = self._names.get(STATUS_CLASSES[status]) or self._names["InternalServerError"]
        response = self._http.Response(status, headers=headers, json=body, request=self._request)
        said = body["error"]["message"] if self._says_the_message_only else body
        shown = body if self._is_anthropic else body["error"]
        return cast(
            "Exception", error(f"Error code: {status} - {said}", response=response, body=shown)
        )
