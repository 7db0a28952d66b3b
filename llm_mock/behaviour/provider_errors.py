"""The errors of the providers: made as their own SDKs raise them, described as JSON, and made again from that.

Where the `openai` or `anthropic` package is installed these are its exceptions, with status, headers and body, so
that code under test catches what it would catch in production.
"""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple, cast

from llm_mock import explain
from llm_mock.boundaries.llm import boundary
from llm_mock.errors import ErrorNotRebuilt

RETRY_AFTER = 1
"""Seconds that a rate limit asks for, where nothing else is said."""

PREFIXES = {
    "openai": ("gpt-", "chatgpt", "o1", "o3", "o4", "ft:gpt-", "openai/"),
    "anthropic": ("claude", "anthropic/"),
}
"""How the ids of a provider's models begin."""

KEPT_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id")
"""What of a response's headers is described; others may name an account."""

ENDPOINTS = {
    "openai": "https://api.openai.com/v1/chat/completions",
    "anthropic": "https://api.anthropic.com/v1/messages",
}


class _Failure(NamedTuple):
    """One way to fail: the status, and what the providers say of it."""

    status: int
    openai: dict[str, Any]
    anthropic: dict[str, Any]
    anthropic_status: int | None = None


def _openai(message: str, kind: str, code: str | None, param: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": param, "code": code}}


def _anthropic(kind: str, message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_mock"}


FAILURES = {
    "rate_limit": _Failure(
        429,
        _openai(
            "Rate limit reached for {model} in organization org-mock on requests per min (RPM): Limit 500, Used 500, "
            "Requested 1. Please try again in {seconds}s.",
            "requests",
            "rate_limit_exceeded",
        ),
        _anthropic(
            "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."
        ),
    ),
    "overloaded": _Failure(
        503,
        _openai("The engine is currently overloaded, please try again later", "server_error", None),
        _anthropic("overloaded_error", "Overloaded"),
        anthropic_status=529,
    ),
    "context_overflow": _Failure(
        400,
        _openai(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. "
            "Please reduce the length of the messages.",
            "invalid_request_error",
            "context_length_exceeded",
            "messages",
        ),
        _anthropic("invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
    ),
    "invalid_key": _Failure(
        401,
        _openai("Incorrect API key provided: sk-mock.", "invalid_request_error", "invalid_api_key"),
        _anthropic("authentication_error", "invalid x-api-key"),
    ),
}
STATUS_CLASSES = {
    400: "BadRequestError",
    401: "AuthenticationError",
    429: "RateLimitError",
    503: "InternalServerError",
    529: "OverloadedError",
}
STREAM_BROKEN = "peer closed connection without sending complete message body (incomplete chunked read)"
TIMED_OUT = "Request timed out."

KINDS = (*FAILURES, "timeout", "broken_stream")


def provider_error(model_id: str, kind: str, *, retry_after: float | None = None) -> Exception:
    """The exception that a call of a model fails with.

    Args:
        model_id: the model; it decides whose error it is. OpenAI's and Anthropic's models are known by how their ids
            begin, others by the SDK that the plugin which registers them uses.
        kind: `rate_limit` (status 429), `overloaded` (503; Anthropic's is 529), `context_overflow` (400),
            `invalid_key` (401), `timeout`, or `broken_stream`, a connection that is closed within an answer.
        retry_after: seconds for the header `Retry-After`. A rate limit always has one, of 1 second by default.

    Returns:
        An exception of the provider's SDK. Where that is not installed, or the provider is neither of these, an
        `llm.ModelError` with the provider's message, a `TimeoutError` or a `ConnectionError`.

    Raises:
        ValueError: there is no such kind.
    """
    if kind not in KINDS:
        raise ValueError(f"kind = {kind!r}: write one of {', '.join(KINDS)}")
    provider = _provider_of(model_id)
    sdk = _installed(provider)
    if kind == "timeout":
        return TimeoutError(TIMED_OUT) if sdk is None else sdk.timeout()
    if kind == "broken_stream":
        return ConnectionError(STREAM_BROKEN) if sdk is None else sdk.broken_stream()
    seconds = RETRY_AFTER if retry_after is None and kind == "rate_limit" else retry_after
    status, body = _failure(provider, kind, model_id, seconds)
    if sdk is not None:
        return sdk.status_error(status, body, seconds)
    import llm

    return llm.ModelError(f"Error code: {status} - {body['error']['message']}")


def _failure(provider: str | None, kind: str, model_id: str, seconds: float | None) -> tuple[int, dict[str, Any]]:
    failure = FAILURES[kind]
    body: dict[str, Any] = json.loads(json.dumps(failure.anthropic if provider == "anthropic" else failure.openai))
    message: str = body["error"]["message"]
    body["error"]["message"] = message.replace("{model}", model_id).replace("{seconds}", f"{seconds or 0:g}")
    return (failure.anthropic_status or failure.status) if provider == "anthropic" else failure.status, body


def _provider_of(model_id: str) -> str | None:
    for provider, prefixes in PREFIXES.items():
        if model_id.startswith(prefixes):
            return provider
    if boundary.active() is None:  # the boundary may not have been attached
        return None
    real = boundary.registered_model("model", model_id)
    return None if real is None else _sdk_used_by(type(real))


def _sdk_used_by(model: type) -> str | None:
    """The SDK that the module of a model's class, or of one that it derives from, imports."""
    for base in model.__mro__:
        for value in list(vars(sys.modules.get(base.__module__, builtins)).values()):
            name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
            package = name.split(".")[0] if isinstance(name, str) else ""
            if package in PREFIXES:
                return package
    return None


def _installed(provider: str | None) -> _SDK | None:
    if provider is None:
        return None
    try:
        return _SDK(importlib.import_module(provider).APIStatusError)
    except ImportError:
        return None


class _SDK:
    """The exceptions of one SDK, and the HTTP library that they are made with.

    Args:
        base: its `APIStatusError`. What stands beside it is found from there: `openai` and `anthropic` use `httpx`
            or, in newer versions, `httpx2`, and other SDKs that are built alike do so too.
    """

    def __init__(self, base: type[BaseException]) -> None:
        self._names: dict[str, Any] = vars(base)["__init__"].__globals__
        self.name = base.__module__.split(".")[0]
        self.http: Any = self._names.get("httpx2") or self._names["httpx"]

    def request(self) -> Any:
        """The request that failed."""
        return self.http.Request("POST", ENDPOINTS.get(self.name, "https://api.example.com/v1/messages"))

    def response(self, status: int, headers: Mapping[str, str], content: Any) -> Any:
        """The provider's response."""
        return self.http.Response(status, headers=headers, json=content, request=self.request())

    def timeout(self) -> Exception:
        """The request timed out."""
        return cast("Exception", self._names["APITimeoutError"](request=self.request()))

    def broken_stream(self) -> Exception:
        """The connection was closed within an answer; the SDKs pass on what the HTTP library raises."""
        return cast("Exception", self.http.RemoteProtocolError(STREAM_BROKEN, request=self.request()))

    def status_error(self, status: int, body: dict[str, Any], seconds: float | None) -> Exception:
        """The provider refused the request."""
        headers = {"request-id" if self.name == "anthropic" else "x-request-id": "req_mock"}
        headers |= {} if seconds is None else {"retry-after": f"{seconds:g}"}
        error: Any = self._names.get(STATUS_CLASSES[status]) or self._names["InternalServerError"]
        response = self.response(status, headers, body)
        said = body["error"]["message"] if self._says_the_message_only() else body
        shown = body if self.name == "anthropic" else body["error"]
        return cast("Exception", error(f"Error code: {status} - {said}", response=response, body=shown))

    def _says_the_message_only(self) -> bool:
        version = str(getattr(sys.modules[self.name], "__version__", ""))
        return self.name == "openai" and not version.startswith(("1.", "2."))


def describe(error: BaseException) -> dict[str, Any] | None:
    """An exception as plain JSON values, for `rebuild` to make an equal one: same class, same message.

    Of an SDK's exception its status, body and the headers about retrying are kept too; the request is not.

    Returns:
        `class` (`module:name`, or the name of a built-in one) with `args`, or with `message` and, where there was a
        response, `status_code`, `headers` and `body`. None for an exception that cannot be made again.
    """
    try:
        description: dict[str, Any] = json.loads(json.dumps(_description(error), allow_nan=False))
        again = rebuild(description)
        same = type(again) is type(error) and str(again) == str(error) and _details(again) == _details(error)
    except Exception:  # whatever an exception's class does when it is called
        return None
    return description if same else None


def _description(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}:"
    if kind.__module__ == "__main__":
        raise ValueError("another process has another main module")
    described: dict[str, Any] = {"class": module + kind.__qualname__}
    if _http_of(kind) is None:
        return described | {"args": list(_arguments(error))}
    described["message"] = str(error)
    response = getattr(error, "response", None)
    if response is not None:
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        described |= {"status_code": response.status_code, "headers": headers}
    described["body"] = error.body if hasattr(error, "body") else _json_of(response)
    return described


def _json_of(response: Any) -> Any:
    with contextlib.suppress(Exception):  # it was streamed, is no JSON, or there is none
        return response.json()
    return None


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """What to call its class with; what a `FileNotFoundError` or a `JSONDecodeError` was made of is not in `args`."""
    reduced = error.__reduce__()
    return reduced[1] if isinstance(reduced, tuple) and reduced[0] is type(error) else error.args


def _details(error: BaseException) -> list[Any]:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return [getattr(error, name, None) for name in ("status_code", "code", "body")] + [
        headers.get(name) for name in KEPT_HEADERS
    ]


def rebuild(description: Mapping[str, Any]) -> BaseException:
    """The exception that `describe` described.

    Only the class that the description names is imported, and nothing but an exception class is called.

    Raises:
        ErrorNotRebuilt: the class cannot be imported here, is no exception, or takes something else; the message
            says what to install.
    """
    name = description.get("class") if isinstance(description, Mapping) else None
    if not isinstance(name, str):
        raise ErrorNotRebuilt(explain.no_error_description(description))
    kind = _exception_class(name)
    try:
        return _made(kind, description)
    except Exception as error:
        raise ErrorNotRebuilt(explain.error_not_rebuilt(name, error)) from None


def _exception_class(name: str) -> type[BaseException]:
    module, _, qualified_name = name.rpartition(":")
    try:
        found: Any = importlib.import_module(module) if module else builtins
        for part in qualified_name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ErrorNotRebuilt(explain.error_not_importable(name, error)) from None
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ErrorNotRebuilt(explain.no_error_description({"class": name}))
    return found


def _made(kind: type[BaseException], description: Mapping[str, Any]) -> BaseException:
    if "args" in description:
        return kind(*description["args"])
    make: Any = kind
    message, body, http = description["message"], description.get("body"), cast("Any", _http_of(kind))
    request = http.Request("POST", ENDPOINTS.get(kind.__module__.split(".")[0], "https://api.example.com"))
    bases = {base.__name__ for base in kind.__mro__}
    if "status_code" in description:
        content = {"error": body} if kind.__module__.split(".")[0] == "openai" else body
        response = http.Response(
            description["status_code"], headers=description.get("headers"), json=content, request=request
        )
        given = {"body": body} if "APIStatusError" in bases else {"request": request}
        return cast("BaseException", make(message, response=response, **given))
    if "APITimeoutError" in bases:
        return cast("BaseException", make(request=request))
    if "APIConnectionError" in bases:
        return cast("BaseException", make(message=message, request=request))
    given = {"body": body} if "APIError" in bases else {}
    return cast("BaseException", make(message, request=request, **given))


def _http_of(kind: type) -> Any:
    """The HTTP library of an exception that is made of a request; None for any other."""
    for base in kind.__mro__:
        if base.__name__ == "APIError":
            names = getattr(vars(base).get("__init__"), "__globals__", {})
            return names.get("httpx2") or names.get("httpx")
    package = sys.modules.get(kind.__module__.split(".")[0])
    return package if package is not None and package.__name__ in ("httpx", "httpx2") else None
