"""Exceptions described as JSON, and made again from that: those of the providers' SDKs, and any other."""

from __future__ import annotations

import builtins
import contextlib
import copy
import importlib
import json
import re
import sys
from collections.abc import Mapping
from typing import Any

from llm_mock.behaviour.provider_errors import ENDPOINTS, ReceivedError
from llm_mock.core.json_text import is_json
from llm_mock.errors import ErrorNotRebuilt
from llm_mock.support.text import shorten, shorten_name

KEPT_HEADERS = re.compile(
    r"retry-after.*|x-should-retry|.*request-id|.*rate-?limit.*|.*processing-ms|openai-version|content-type",
    re.IGNORECASE,
)
"""What of a response's headers is described; others may name an account."""
LONGEST_CHAIN = 10
"""How many causes of causes are described."""


def describe(error: BaseException, _depth: int = 0) -> dict[str, Any] | None:
    """An exception as plain JSON values, for `rebuild` to make an equal one; None where that is not possible.

    There is `class` (`module:name`, or the name of a built-in one) with `args`, and where it is not made of these alone
    its `attributes`. Of an SDK's exception there are `message`, `url` (without query; and `method`, if that is not
    POST), and where there was a response its `status_code`, some `headers` and its `content`; `body` only where it does
    not follow from that. So it is with an error as it came over HTTP, which has a class only where its SDK is known.
    Then `notes` and the `cause`, or else the `context`, in which it was raised.
    """
    if isinstance(error, ReceivedError):
        return _received(error)
    try:
        description = _checked(error, _description(error))
    except Exception:  # whatever an exception's class does when it is called
        return None
    if notes := getattr(error, "__notes__", None):
        description["notes"] = list(map(str, notes))
    for name, earlier in (("cause", error.__cause__), ("context", _context(error))):
        if earlier is not None and _depth < LONGEST_CHAIN and (described := describe(earlier, _depth + 1)):
            description[name] = described
    return description


def _received(error: ReceivedError) -> dict[str, Any]:
    described: dict[str, Any] = {"class": error.kind, "message": str(error), "url": error.url}
    described |= {"status_code": error.status, "headers": kept_headers(error.headers), "content": error.content}
    return {name: value for name, value in described.items() if value is not None}


def kept_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Those of a response that are described."""
    return {name: value for name, value in headers.items() if KEPT_HEADERS.fullmatch(name)}


def _context(error: BaseException) -> BaseException | None:
    return None if error.__suppress_context__ else error.__context__


def _checked(error: BaseException, description: dict[str, Any]) -> dict[str, Any]:
    """A description that gives an equal exception; with what its class does not make by itself as `attributes`."""
    description = json.loads(json.dumps(description, allow_nan=False))
    again: Any = None
    with contextlib.suppress(Exception):
        again = rebuild(description)
    if again is None or _details(again) != _details(error):
        made = {} if again is None or "args" in description else _plain_attributes(again)
        hidden = set(map(str, _hidden_headers(error)))
        attributes = {
            name: value
            for name, value in _plain_attributes(error).items()
            if (name not in made or made[name] != value) and str(value) not in hidden
        }
        description["attributes"] = attributes
        again = rebuild(description)
    if type(again) is not type(error) or str(again) != str(error) or again.args != _texts(error.args):
        raise ValueError("it is made otherwise")
    return description


def _description(error: BaseException) -> dict[str, Any]:
    kind = type(error)
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}:"
    if kind.__module__ == "__main__":
        raise ValueError("another process has another main module")
    described: dict[str, Any] = {"class": module + kind.__qualname__}
    if _http_of(kind) is None:
        return described | {"args": list(_arguments(error))}
    described["message"] = str(error)
    request: Any = _of(error, "request")
    if request is not None:
        described["url"] = str(request.url.copy_with(userinfo=b"", query=None, fragment=None))
        described |= {} if request.method == "POST" else {"method": request.method}
    response: Any = _of(error, "response")
    if response is not None:
        described |= {"status_code": response.status_code, "headers": kept_headers(response.headers)}
        with contextlib.suppress(Exception):  # it was streamed, and not read
            described["content"] = response.text
    body = getattr(error, "body", None)
    if body is not None and ("content" not in described or body != _body_in(described["content"], kind)):
        described["body"] = body
    return described


def _of(error: BaseException, name: str) -> Any:
    """The request or the response of an exception; the HTTP libraries raise where there is none."""
    try:
        return getattr(error, name, None)
    except RuntimeError:
        return None


def _body_in(content: str, kind: type) -> Any:
    """What an SDK takes for the body of an error."""
    try:
        body = json.loads(content)
    except ValueError:
        return content.strip()
    return body.get("error", body) if kind.__module__.split(".")[0] == "openai" and isinstance(body, dict) else body


def _arguments(error: BaseException) -> tuple[Any, ...]:
    """What to call its class with; what a `FileNotFoundError` or a `JSONDecodeError` was made of is not in `args`."""
    reduced = error.__reduce__()
    return _texts(reduced[1] if isinstance(reduced, tuple) and reduced[0] is type(error) else error.args)


def _texts(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arguments with the text of each that is an exception itself, as `httpcore` has them."""
    return tuple(str(each) if isinstance(each, BaseException) else each for each in arguments)


def _details(error: BaseException) -> list[Any]:
    names = ("status_code", "code", "body", "errno", "filename")
    return [str(error), _texts(error.args), _plain_attributes(error), *(getattr(error, name, None) for name in names)]


def _plain_attributes(error: BaseException) -> dict[str, Any]:
    return {name: value for name, value in vars(error).items() if name != "__notes__" and is_json(value)}


def _hidden_headers(error: BaseException) -> list[str]:
    headers = getattr(_of(error, "response"), "headers", {})
    return [value for name, value in headers.items() if not KEPT_HEADERS.fullmatch(name)]


def rebuild(description: Mapping[str, Any]) -> BaseException:
    """The exception that `describe` described; an `ErrorNotRebuilt` says what to install, or what else is wrong.

    Only the class that the description names is imported, and nothing but an exception class is called.
    """
    name = description.get("class") if isinstance(description, Mapping) else None
    if name is None and isinstance(description, Mapping) and "status_code" in description:
        said = description.get("headers") or {}, description.get("content") or "", description.get("url")
        return ReceivedError(description["status_code"], *said)
    if not isinstance(name, str):
        raise ErrorNotRebuilt(f"This does not describe an exception: {shorten(description)}.")
    kind = _exception_class(name)
    try:
        error: BaseException = _made(kind, description)
    except Exception as problem:
        raise ErrorNotRebuilt(
            f"The exception {shorten_name(name)} cannot be made as described: {type(problem).__name__}: {problem}."
        ) from None
    if "notes" in description:
        error.__notes__ = list(description["notes"])
    if "cause" in description:
        error.__cause__ = error.__context__ = rebuild(description["cause"])
    elif "context" in description:
        error.__context__ = rebuild(description["context"])
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
    attributes = description.get("attributes")
    if "args" not in description:
        error = _made_of_http(kind, description)
    elif attributes is None:
        error = kind(*description["args"])
    else:  # as unpickling does it: its class takes something else
        error = kind.__new__(kind, *description["args"])
        builtin: Any = next(base for base in kind.__mro__ if base.__module__ == "builtins")
        builtin.__init__(error, *description["args"])
    vars(error).update(copy.deepcopy(attributes or {}))
    return error


def _made_of_http(kind: Any, description: Mapping[str, Any]) -> Any:
    package, http = kind.__module__.split(".")[0], _http_of(kind)
    message, content = description["message"], description.get("content")
    body = description.get("body") if "body" in description or content is None else _body_in(content, kind)
    url = description.get("url") or ENDPOINTS.get(package, "https://api.example.com")
    request = http.Request(description.get("method", "POST"), url)
    bases = {base.__name__ for base in kind.__mro__}
    if "status_code" in description:
        sent = {"json": {"error": body} if package == "openai" else body} if content is None else {"text": content}
        status, headers = description["status_code"], description.get("headers")
        response = http.Response(status, headers=headers, request=request, **sent)
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
