"""Exceptions described as JSON, and made again from that: those of the providers' SDKs, and any other."""

from __future__ import annotations

import builtins
import contextlib
import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any

from llm_mock.behaviour.provider_errors import ENDPOINTS
from llm_mock.errors import ErrorNotRebuilt
from llm_mock.support.text import shorten, shorten_name

KEPT_HEADERS = ("retry-after", "retry-after-ms", "x-should-retry", "x-request-id", "request-id")
"""What of a response's headers is described; others may name an account."""


def describe(error: BaseException) -> dict[str, Any] | None:
    """An exception as plain JSON values, for `rebuild` to make an equal one; None where that is not possible.

    There is `class` (`module:name`, or the name of a built-in one) with `args`; of an SDK's exception `message`, and
    where there was a response its `status_code`, `body` and the `headers` about retrying. The request is not kept.
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
    response: Any = getattr(error, "response", None)
    if response is not None:
        headers = {name: response.headers[name] for name in KEPT_HEADERS if name in response.headers}
        described |= {"status_code": response.status_code, "headers": headers}
    described["body"] = getattr(error, "body", None)
    if not hasattr(error, "body"):
        with contextlib.suppress(Exception):  # there was no response, it was streamed, or it is no JSON
            described["body"] = response.json()
    return described


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """What to call its class with; what a `FileNotFoundError` or a `JSONDecodeError` was made of is not in `args`."""
    reduced = error.__reduce__()
    return reduced[1] if isinstance(reduced, tuple) and reduced[0] is type(error) else error.args


def _details(error: BaseException) -> list[Any]:
    headers = getattr(getattr(error, "response", None), "headers", {})
    return [*(getattr(error, name, None) for name in ("status_code", "code", "body")), *map(headers.get, KEPT_HEADERS)]


def rebuild(description: Mapping[str, Any]) -> BaseException:
    """The exception that `describe` described; an `ErrorNotRebuilt` says what to install, or what else is wrong.

    Only the class that the description names is imported, and nothing but an exception class is called.
    """
    name = description.get("class") if isinstance(description, Mapping) else None
    if not isinstance(name, str):
        raise ErrorNotRebuilt(f"This does not describe an exception: {shorten(description)}.")
    kind = _exception_class(name)
    try:
        error: BaseException = _made(kind, description)
    except Exception as problem:
        raise ErrorNotRebuilt(
            f"The exception {shorten_name(name)} cannot be made as described: {type(problem).__name__}: {problem}."
        ) from None
    return error


def _exception_class(name: str) -> type[BaseException]:
    module, _, qualified_name = name.rpartition(":")
    try:
        found: Any = importlib.import_module(module) if module else builtins
        for part in qualified_name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        package = module.split(".")[0]
        missing = isinstance(error, ModuleNotFoundError) and error.name == package
        remedy = f" pip install {package}" if missing else ""
        raise ErrorNotRebuilt(f"The exception {shorten_name(name)} cannot be made here: {error}.{remedy}") from None
    if not (isinstance(found, type) and issubclass(found, BaseException)):
        raise ErrorNotRebuilt(f"This does not describe an exception: {shorten_name(name)} is not the class of one.")
    return found


def _made(kind: Any, description: Mapping[str, Any]) -> Any:
    if "args" in description:
        return kind(*description["args"])
    package, http = kind.__module__.split(".")[0], _http_of(kind)
    message, body = description["message"], description.get("body")
    request = http.Request("POST", ENDPOINTS.get(package, "https://api.example.com"))
    bases = {base.__name__ for base in kind.__mro__}
    if "status_code" in description:
        content = {"error": body} if package == "openai" else body
        status, headers = description["status_code"], description.get("headers")
        response = http.Response(status, headers=headers, json=content, request=request)
        given = {"body": body} if "APIStatusError" in bases else {"request": request}
        return kind(message, response=response, **given)
    if "APITimeoutError" in bases:
        return kind(request=request)
    if "APIConnectionError" in bases:
        return kind(message=message, request=request)
    return kind(message, request=request, **({"body": body} if "APIError" in bases else {}))


def _http_of(kind: type) -> Any:
    """The HTTP library of an exception that is made of a request; None for any other."""
    for base in kind.__mro__:
        if base.__name__ == "APIError":
            names = getattr(vars(base).get("__init__"), "__globals__", {})
            return names.get("httpx2") or names.get("httpx")
    package = sys.modules.get(kind.__module__.split(".")[0])
    return package if package is not None and package.__name__ in ("httpx", "httpx2") else None
