"""Describe exceptions as JSON, and rebuild them: those of the providers' SDKs, and any other."""

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
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten, shorten_name

KEPT_HEADERS = re.compile(
    r"retry-after.*|x-should-retry|.*request-?id|.*correlation-id|.*rate-?limit.*|.*processing-ms|openai-version"
    r"|content-type",
    re.IGNORECASE,
)
"""The headers of a response that are recorded; others may identify an account."""
MAX_CAUSES = 10
"""The number of chained exceptions that are described."""
# The attributes of exceptions that are set by `__init__`, or by C code, outside of `__dict__`.
COMPARED_ATTRIBUTES = ("status_code", "code", "body", "errno", "filename")


def describe(error: BaseException) -> JSONObject | None:
    """Return a description of an exception as JSON values, for `rebuild`.

    It has the keys
    - `class`: `module:name`, or the name alone of a built-in class;
    - `args`, and `attributes` if the exception cannot be created from `args` alone;
    - for an exception of an SDK, instead of `args`: `message`, `url` (without query), `method`
      unless it is POST, and if there was a response, its `status_code`, `headers` and `content`,
      and `body` if it does not follow from `content`;
    - `notes`, and `cause` or else `context`: the exceptions that led to it.

    An error that came over HTTP has a `class` only if its SDK is known.

    Returns:
        The description; None if the exception cannot be rebuilt.
    """
    return _describe_chain(error, 0)


def _describe_chain(error: BaseException, depth: int) -> JSONObject | None:
    if isinstance(error, ReceivedError):
        return _describe_received(error)
    try:
        description = _add_attributes(error, _describe_one(error))
    except (
        Exception
    ):  # To rebuild it, the code of the exception's class runs, which may do anything.
        return None
    notes = getattr(error, "__notes__", None)
    if notes:
        description["notes"] = [str(note) for note in notes]
    # An explicit cause or `raise … from None` hides the context, as it does in a traceback.
    context = None if error.__suppress_context__ else error.__context__
    for name, earlier in (("cause", error.__cause__), ("context", context)):
        if earlier is None or depth >= MAX_CAUSES:
            continue
        earlier_description = _describe_chain(earlier, depth + 1)
        if earlier_description:
            description[name] = earlier_description
    return description


def _describe_received(error: ReceivedError) -> JSONObject:
    description: JSONObject = {
        "class": error.kind,
        "message": str(error),
        "url": error.url,
        "status_code": error.status,
        "headers": select_headers(error.headers),
        "content": error.content,
    }
    return {name: value for name, value in description.items() if value is not None}


def select_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a response that are recorded."""
    return {name: value for name, value in headers.items() if KEPT_HEADERS.fullmatch(name)}


def _describe_one(error: BaseException) -> JSONObject:
    """Return the description of an exception without its attributes and causes.

    Raises:
        ValueError: another process cannot import its class.
    """
    error_class = type(error)
    if error_class.__module__ == "__main__":
        raise ValueError("another process has another main module")
    name = error_class.__qualname__
    if error_class.__module__ != "builtins":
        name = f"{error_class.__module__}:{name}"
    description: JSONObject = {"class": name}
    if _get_http_library(error_class) is None:
        description["args"] = list(_get_arguments(error))
        return description
    description["message"] = str(error)
    request = _get_http_attribute(error, "request")
    if request is not None:
        # The query of a URL may contain a key.
        url = request.url.copy_with(userinfo=b"", query=None, fragment=None)
        description["url"] = str(url)
        if request.method != "POST":
            description["method"] = request.method
    response = _get_http_attribute(error, "response")
    if response is not None:
        description["status_code"] = response.status_code
        description["headers"] = select_headers(response.headers)
        # httpx raises if the response was streamed and not read.
        with contextlib.suppress(Exception):
            description["content"] = response.text
    body = getattr(error, "body", None)
    if body is None:
        return description
    content = description.get("content")
    if content is None or body != _parse_body(content, error_class):
        description["body"] = body
    return description


def _add_attributes(error: BaseException, description: JSONObject) -> JSONObject:
    """Return a description with the attributes that rebuilding would not set.

    Raises:
        ValueError: the exception cannot be rebuilt.
    """
    # A JSON round trip gives the description that a file would give, or raises for invalid JSON.
    text = json.dumps(description, allow_nan=False)
    description = json.loads(text)
    rebuilt: Any = None
    with contextlib.suppress(Exception):
        rebuilt = rebuild(description)
    if rebuilt is None or _get_details(rebuilt) != _get_details(error):
        description["attributes"] = _find_missing_attributes(error, rebuilt, description)
        rebuilt = rebuild(description)
    has_same_type = type(rebuilt) is type(error)
    has_same_text = str(rebuilt) == str(error)
    if not has_same_type or not has_same_text or rebuilt.args != _replace_exceptions(error.args):
        raise ValueError("the rebuilt exception differs")
    return description


def _find_missing_attributes(
    error: BaseException, rebuilt: BaseException | None, description: Mapping[str, object]
) -> JSONObject:
    """Return the attributes of an exception that a rebuilt one lacks."""
    # With both `args` and `attributes`, `rebuild` does not call the class, which sets nothing then.
    is_called = rebuilt is not None and "args" not in description
    present = {}
    if rebuilt is not None and is_called:
        present = _get_json_attributes(rebuilt)
    # An SDK may copy such headers, for example a cookie, to attributes of the exception.
    secrets = {str(value) for value in _get_omitted_headers(error)}
    missing = {}
    for name, value in _get_json_attributes(error).items():
        is_missing = name not in present or present[name] != value
        if is_missing and str(value) not in secrets:
            missing[name] = value
    return missing


def _get_http_attribute(error: BaseException, name: str) -> Any:
    """Return the request or response of an exception, or None."""
    try:
        return getattr(error, name, None)
    except RuntimeError:  # httpx raises it for an exception without a request.
        return None


def _parse_body(content: str, error_class: type) -> Any:
    """Return the attribute `body` that an SDK creates from the content of a response."""
    try:
        body = json.loads(content)
    except ValueError:
        return content.strip()
    package = error_class.__module__.split(".")[0]
    if package == "openai" and isinstance(body, dict):
        return body.get("error", body)
    return body


def _get_arguments(error: BaseException) -> tuple[Any, ...]:
    """Return the arguments that create an exception.

    `args` lacks some arguments of classes such as `FileNotFoundError` and `JSONDecodeError`. These
    classes pass them to pickle.
    """
    reduced = error.__reduce__()
    arguments: Any = error.args
    if isinstance(reduced, tuple) and reduced[0] is type(error):
        arguments = reduced[1]
    return _replace_exceptions(arguments)


def _replace_exceptions(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments with each exception among them replaced by its text."""
    # httpcore raises its exceptions with those of the socket as arguments.
    return tuple(
        str(argument) if isinstance(argument, BaseException) else argument for argument in arguments
    )


def _get_details(error: BaseException) -> list[Any]:
    """Return the values in which a rebuilt exception must equal the original."""
    return [
        str(error),
        _replace_exceptions(error.args),
        _get_json_attributes(error),
        *(getattr(error, name, None) for name in COMPARED_ATTRIBUTES),
    ]


def _get_json_attributes(error: BaseException) -> JSONObject:
    # Notes are described on their own.
    return {
        name: value for name, value in vars(error).items() if name != "__notes__" and is_json(value)
    }


def _get_omitted_headers(error: BaseException) -> list[str]:
    response = _get_http_attribute(error, "response")
    headers = getattr(response, "headers", {})
    return [value for name, value in headers.items() if not KEPT_HEADERS.fullmatch(name)]


def rebuild(description: Mapping[str, Any]) -> BaseException:
    """Return the exception that `describe` described.

    Only the class that the description names is imported, and only an exception class is called.

    Raises:
        ErrorNotRebuilt: the class cannot be imported, or the exception cannot be created.
    """
    is_mapping = isinstance(description, Mapping)
    name = description.get("class") if is_mapping else None
    if is_mapping and name is None and "status_code" in description:
        return _make_received(description)
    if not isinstance(name, str):
        raise ErrorNotRebuilt(
            f"Invalid description of an exception: {shorten(description)}. "
            "Its 'class' must be the name of an exception class."
        )
    error_class = _import_exception_class(name)
    try:
        error: BaseException = _make_exception(error_class, description)
    except Exception as problem:
        raise ErrorNotRebuilt(
            f"The exception {shorten_name(name)} cannot be created from its description: "
            f"{type(problem).__name__}: {problem}."
        ) from None
    if "notes" in description:
        error.__notes__ = list(description["notes"])
    if "cause" in description:
        error.__cause__ = error.__context__ = rebuild(description["cause"])
    elif "context" in description:
        error.__context__ = rebuild(description["context"])
    return error


def _make_received(description: Mapping[str, Any]) -> ReceivedError:
    return ReceivedError(
        description["status_code"],
        description.get("headers") or {},
        description.get("content") or "",
        description.get("url"),
    )


def _import_exception_class(name: str) -> type[BaseException]:
    module_name, _, qualified_name = name.rpartition(":")
    try:
        value: Any = importlib.import_module(module_name) if module_name else builtins
        for part in qualified_name.split("."):
            value = getattr(value, part)
    except (ImportError, AttributeError, TypeError, ValueError) as error:
        package = module_name.split(".")[0]
        is_missing = isinstance(error, ModuleNotFoundError) and error.name == package
        fix = f" pip install {package}" if is_missing else ""
        raise ErrorNotRebuilt(
            f"The exception {shorten_name(name)} cannot be created: {error}.{fix}"
        ) from None
    if not isinstance(value, type) or not issubclass(value, BaseException):
        raise ErrorNotRebuilt(
            f"Invalid description of an exception: {shorten_name(name)} is not an exception class."
        )
    return value


def _make_exception(error_class: Any, description: Mapping[str, Any]) -> Any:
    attributes = description.get("attributes")
    if "args" not in description:
        error = _make_http_exception(error_class, description)
    elif attributes is None:
        error = error_class(*description["args"])
    else:
        # Its `__init__` takes other arguments than `args`, so it is not called, as in unpickling.
        arguments = description["args"]
        error = error_class.__new__(error_class, *arguments)
        bases = error_class.__mro__
        builtin: Any = next(base for base in bases if base.__module__ == "builtins")
        builtin.__init__(error, *arguments)
    if attributes:
        vars(error).update(copy.deepcopy(attributes))
    return error


def _make_http_exception(error_class: Any, description: Mapping[str, Any]) -> Any:
    """Return an exception of an SDK, or of its HTTP library, with its request and response."""
    package = error_class.__module__.split(".")[0]
    http = _get_http_library(error_class)
    message, content = description["message"], description.get("content")
    body = description.get("body")
    if "body" not in description and content is not None:
        body = _parse_body(content, error_class)
    url = description.get("url") or ENDPOINTS.get(package, "https://api.example.com")
    request = http.Request(description.get("method", "POST"), url)
    # By name, as each SDK has classes of its own with these names.
    bases = {base.__name__ for base in error_class.__mro__}
    if "status_code" in description:
        response = http.Response(
            description["status_code"],
            headers=description.get("headers"),
            request=request,
            **_choose_content(content, body, package),
        )
        if "APIStatusError" in bases:
            return error_class(message, response=response, body=body)
        return error_class(message, response=response, request=request)
    if "APITimeoutError" in bases:
        return error_class(request=request)
    if "APIConnectionError" in bases:
        return error_class(message=message, request=request)
    if "APIError" in bases:
        return error_class(message, request=request, body=body)
    return error_class(message, request=request)


def _choose_content(content: str | None, body: object, package: str) -> JSONObject:
    """Return the arguments for the content of a response."""
    if content is not None:
        return {"text": content}
    # The description was recorded by an earlier version, or the response was never read.
    return {"json": {"error": body} if package == "openai" else body}


def _get_http_library(error_class: type) -> Any:
    """Return the HTTP library for an exception that is created from a request, or None."""
    for base in error_class.__mro__:
        if base.__name__ == "APIError":
            # An SDK imports the library where it defines its errors: one may use `httpx2` while
            # another in the same process uses `httpx`.
            init = vars(base).get("__init__")
            names = getattr(init, "__globals__", {})
            return names.get("httpx2") or names.get("httpx")
    package = error_class.__module__.split(".")[0]
    if package in ("httpx", "httpx2"):
        return sys.modules.get(package)
    return None
