"""The HTTP form of a failed call: an error response, or a failed connection."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping
from typing import Any

from llm_mock.behaviour.provider_errors import ProviderFailure
from llm_mock.boundaries.http.providers.registry import find_provider
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire_error import ErrorContent, WireError
from llm_mock.core.reply_functions import explain_bug
from llm_mock.errors import LLMMockError
from llm_mock.support.json_types import JSONObject

NO_RETRY_HEADERS = {"x-should-retry": "false"}
"""The header with which a server forbids retries by the SDKs of OpenAI and Anthropic."""
REFUSAL_HEADER = "x-llm-mock-refusal"
"""The header that identifies the message of a refusal.

Exceptions of SDKs keep the response, so the plugin can find the refusal that made a test fail.
"""


# Exceptions are identified by name, as the libraries that define them may not be installed.
CONNECT_ERROR_NAMES = {
    "APIConnectionError",
    "ClientConnectorError",
    "ConnectError",
    "ConnectionRefusedError",
}
"""The exceptions for a connection that cannot be opened, in Python and in HTTP libraries."""
DROPPED_ERROR_NAMES = {
    "ClientPayloadError",
    "ConnectionError",
    "ProtocolError",
    "ReadError",
    "ServerDisconnectedError",
}
"""The exceptions for a connection that closes during a response."""
BODY_HEADERS = ("content-length", "content-type", "content-encoding", "transfer-encoding")
"""The headers that describe how a body was sent, and not the error."""


SDK_PROVIDERS = {"anthropic": "anthropic", "google": "google", "mistralai": "mistral"}
"""The provider of each SDK that calls only one; OpenAI's SDK can call many."""
FAST_RETRY = 0.05
"""The seconds before a client retries, chosen so that three attempts take 0.1 s."""
RETRIED_STATUSES = (408, 409, 429)
"""The statuses below 500 after which the SDKs retry."""


def add_fast_retry_header(error: WireError, provider: str | None) -> dict[str, str]:
    """Return the headers of an error, with `retry-after-ms` for a client that retries.

    Without this header, a client waits for the time in `Retry-After`, or for half a second,
    doubled for each retry. The project can turn the header off.
    """
    is_retried = error.status in RETRIED_STATUSES or error.status >= 500
    if not http_settings.fast_retries or provider is None or not is_retried:
        return error.headers
    descriptor = find_provider(provider)
    if descriptor is None or not descriptor.reads_retry_after_ms:
        return error.headers
    seconds = parse_retry_after(error.headers)
    is_fast = seconds is not None and seconds <= FAST_RETRY
    if is_fast or "x-should-retry" in error.headers:
        return error.headers
    return {**error.headers, "retry-after-ms": f"{FAST_RETRY * 1000:g}"}


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds in the header `Retry-After`; None if it is missing or a date."""
    lowered = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after-ms" in lowered:
            return float(lowered["retry-after-ms"]) / 1000
        return float(lowered["retry-after"])
    except (KeyError, ValueError):
        return None


def refusal_headers(message: str) -> dict[str, str]:
    """Return the headers of a refusal, after which no SDK retries."""
    return {**NO_RETRY_HEADERS, REFUSAL_HEADER: make_refusal_key(message)}


def make_refusal_key(message: str) -> str:
    """Return a key for a refusal's message that fits into a header."""
    return f"{zlib.crc32(message.encode('utf-8', 'surrogatepass')):08x}"


def read_refusal_key(error: BaseException) -> str | None:
    """Return the refusal key in the response of an SDK's exception, or None."""
    try:
        # Mistral's SDK names it `raw_response`; Cohere's exceptions have headers themselves.
        for name in ("response", "raw_response"):
            response = getattr(error, name, None)
            # botocore has a dictionary.
            if isinstance(response, dict):
                return _get_text_or_none(
                    response["ResponseMetadata"]["HTTPHeaders"][REFUSAL_HEADER]
                )
            if response is not None:
                return _get_text_or_none(response.headers.get(REFUSAL_HEADER))
        headers: Any = getattr(error, "headers", None)
        return None if headers is None else _get_text_or_none(headers.get(REFUSAL_HEADER))
    # An exception of the application, whose attributes may be anything.
    except Exception:
        return None


class ReplyFunctionError(WireError):
    """An error response that reports a bug in a reply function.

    Args:
        explanation: the text with which the test fails; its first line is the message.
    """

    def __init__(self, explanation: str) -> None:
        first_line = explanation.partition("\n")[0]
        super().__init__(400, first_line, headers=refusal_headers(explanation))
        self.explanation = explanation


class ConnectionFailure(Exception):
    """A failed connection, for which the client raises the error of its HTTP library.

    Args:
        kind: `connect` (not connected), `dropped` (closed within the response), `timeout`, or
            `total timeout` (of the whole response, in libraries that have one).
        message: the message of the library's error.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def convert_to_wire_error(error: Exception) -> WireError | ConnectionFailure:
    """Convert a configured exception to its HTTP form, from which the SDK raises it again.

    - An exception of an SDK that has a response becomes this response.
    - Timeouts and connection errors, of SDKs or of Python, become those of the HTTP library.
    - An `llm.ModelError` that names a status gets this status.
    - A refusal of the mock and a bug in a reply function get status 400, after which no SDK and no
      framework retries.
    - All other exceptions get status 500 with `x-should-retry: false`.
    """
    if isinstance(error, (WireError, ConnectionFailure)):
        return error
    if isinstance(error, ProviderFailure):
        return WireError(error.status, error.message, headers=error.headers, body=error.body)
    if isinstance(error, LLMMockError):
        return WireError(400, str(error), headers=refusal_headers(str(error)))
    # A response takes precedence, as it has more details than the name of an exception.
    wire_error = _convert_sdk_error(error) or _convert_connection_error(error)
    return wire_error or _convert_llm_error(error) or _convert_unexpected_error(error)


def _convert_sdk_error(error: Exception) -> WireError | None:
    """Return the response of an SDK's exception; None if it has none."""
    # `raw_response` is the name in Mistral's SDK.
    response = getattr(error, "response", None) or getattr(error, "raw_response", None)
    # botocore has a dictionary.
    if isinstance(response, dict):
        return _convert_aws_error(response)
    if not isinstance(getattr(response, "status_code", 0), int):
        # A mock, which tests often pass to an SDK's exception because it requires a response.
        response = None
    status, body = _read_status_and_body(error, response)
    if not isinstance(status, int) or not 400 <= status < 600:
        return None
    headers = _get_error_headers(error if response is None else response)
    content = _get_content(error, response)
    # OpenAI, Anthropic and Google nest the details in `error`, others have them at the top.
    details = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(details, dict):
        return WireError(status, _get_message(error), headers=headers, content=content)
    return WireError(
        status,
        str(details.get("message") or error),
        # Google has numbers as codes, which WireError cannot hold; the body keeps them.
        type=_get_text_or_none(details.get("type")),
        code=_get_text_or_none(details.get("code")),
        param=_get_text_or_none(details.get("param")),
        headers=headers,
        body=body,
        content=content,
    )


def _get_message(error: Exception) -> str:
    """Return the message of an SDK's exception; Ollama's SDK names it `error`."""
    return str(getattr(error, "message", "") or getattr(error, "error", "") or error)


def _convert_aws_error(response: JSONObject) -> WireError | None:
    """Return the response of an exception of botocore; None if it has none."""
    details = response.get("Error")
    if not isinstance(details, dict) or not isinstance(details.get("Code"), str):
        return None
    # Imported late: few applications call Bedrock.
    from llm_mock.boundaries.http.providers.bedrock import AWS_STATUSES

    code = details["Code"]
    metadata = response.get("ResponseMetadata") or {}
    # Tests often leave the status out; it follows from the code.
    status = metadata.get("HTTPStatusCode") or AWS_STATUSES.get(code, 400)
    message = str(details.get("Message") or "")
    return WireError(status, message, code=code, body={"__type": code, "message": message})


def _read_status_and_body(error: Exception, response: object) -> tuple[object, object]:
    """Return the status of an SDK's exception, and the JSON value of its body, or None."""
    # Cohere's exceptions have the parts of the response, but no response.
    status = getattr(response, "status_code", None) or _get_own_status(error)
    body = getattr(error, "details", None)
    if status is None and isinstance(body, dict):
        # Google's exceptions can be made without a response, or have one of aiohttp.
        return getattr(error, "code", None), body
    body = _parse_json_body(response)
    return status, _get_own_body(error) if body is None else body


def _get_own_body(error: Exception) -> object:
    """Return the body that was passed to an SDK's exception, in the provider's form."""
    body = getattr(error, "body", None)
    is_of_openai = type(error).__module__.partition(".")[0] == "openai"
    if isinstance(body, dict) and "error" not in body and is_of_openai:
        # The exceptions of OpenAI's SDK have only what the provider nests in `error`.
        return {"error": body}
    return body


def _get_own_status(error: Exception) -> object:
    """Return the status of an exception, or of its class if the status is a mock object."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status
    names = {base.__name__ for base in type(error).__mro__}
    # The one class of OpenAI's and Anthropic's SDKs for several statuses.
    default = 500 if "InternalServerError" in names else None
    return getattr(type(error), "status_code", default)


def _get_content(error: Exception, response: Any) -> ErrorContent | None:
    """Return the content of a response; None if it has no readable content."""
    try:
        content = response.content
        content_type = response.headers["content-type"]
    except Exception:  # there is no response, it is a stream, or one of another library
        return None
    if not content or not isinstance(content, bytes) or not isinstance(content_type, str):
        return None
    package = type(error).__module__.partition(".")[0]
    return ErrorContent(content, content_type, SDK_PROVIDERS.get(package))


def _get_text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _get_error_headers(response: object) -> dict[str, str]:
    """Return the headers of a response, or of an exception that has headers itself."""
    headers = dict(getattr(response, "headers", None) or {})
    kept = {}
    for name, value in headers.items():
        if name.lower() not in BODY_HEADERS:
            kept[name] = value
    return kept


def _parse_json_body(response: Any) -> object:
    try:
        body = response.json()
    except Exception:  # there is no response, or its body is not JSON
        return None
    # Another object is one of a mock.
    return body if isinstance(body, (dict, list, str)) else None


def _convert_connection_error(error: Exception) -> ConnectionFailure | None:
    names = {base.__name__ for base in type(error).__mro__}
    # Check timeouts first, as OpenAI's `APITimeoutError` is an `APIConnectionError` too.
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return ConnectionFailure("timeout", str(error))
    if names & CONNECT_ERROR_NAMES:
        return ConnectionFailure("connect", str(error))
    if names & DROPPED_ERROR_NAMES:
        return ConnectionFailure("dropped", str(error))
    return None


def _convert_llm_error(error: Exception) -> WireError | None:
    """Return the status that an `llm.ModelError` names, whose text comes from OpenAI's SDK."""
    match = re.match(r"Error code: ([45]\d\d) - (.*)", str(error), re.DOTALL)
    return WireError(int(match[1]), match[2]) if match else None


def _convert_unexpected_error(error: Exception) -> WireError:
    bug = explain_bug(error)
    if bug:
        return ReplyFunctionError(bug)
    name = type(error).__name__
    message = f"{name}: {error}" if str(error) else name
    return WireError(500, message, headers=NO_RETRY_HEADERS)
