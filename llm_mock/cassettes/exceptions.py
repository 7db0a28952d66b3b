"""Exceptions described as JSON, and made again from that: those of the providers' SDKs, and any other."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any, cast

from llm_mock.behaviour.provider_errors import ENDPOINTS
from llm_mock.errors import ErrorNotRebuilt
from llm_mock.support.text import shorten, shorten_name

KEPT_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id")
"""What of a response's headers is described; others may name an account."""


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
    with contextlib.suppress(Exception):  # there was no response, it was streamed, or it is no JSON
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
        raise ErrorNotRebuilt(f"This does not describe an exception: {shorten(description)}.")
    kind = _exception_class(name)
    try:
        return _made(kind, description)
    except Exception as error:
        raise ErrorNotRebuilt(
            f"The exception {shorten_name(name)} cannot be made as described: {type(error).__name__}: {error}."
        ) from None


def _exception_class(name: str) -> type[BaseException]:
    module, _, qualified_name = name.rpartition(":")
    try:
        found: Any = importlib.import_module(module) if module else builtins
        for part in qualified_name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        raise ErrorNotRebuilt(_not_importable(name, error)) from None
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ErrorNotRebuilt(f"This does not describe an exception: {shorten_name(name)} is not the class of one.")
    return found


def _not_importable(name: str, error: Exception) -> str:
    package = name.rpartition(":")[0].split(".")[0]
    remedy = f" pip install {package}" if isinstance(error, ModuleNotFoundError) and error.name == package else ""
    return f"The exception {shorten_name(name)} cannot be made here: {error}.{remedy}"


def _made(kind: type[BaseException], description: Mapping[str, Any]) -> BaseException:
    if "args" in description:
        return kind(*description["args"])
    make: Any = kind
    package = kind.__module__.split(".")[0]
    message, body, http = description["message"], description.get("body"), cast("Any", _http_of(kind))
    request = http.Request("POST", ENDPOINTS.get(package, "https://api.example.com"))
    bases = {base.__name__ for base in kind.__mro__}
    if "status_code" in description:
        content = {"error": body} if package == "openai" else body
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
