"""What a failing call is on the wire: a status with a body, or a connection that fails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from llm_mock.behaviour.provider_errors import ProviderFailure
from llm_mock.boundaries.http.wanted import Wanted
from llm_mock.core.reply_functions import explain_bug
from llm_mock.errors import LLMMockError

NO_RETRY_HEADERS = {"x-should-retry": "false"}
"""What the SDKs take for a no, where they would try again."""


CONNECT_ERROR_NAMES = {"APIConnectionError", "ClientConnectorError", "ConnectError", "ConnectionRefusedError"}
"""What exceptions for a connection that could not be made are called, in Python and in HTTP libraries."""
DROPPED_ERROR_NAMES = {"ClientPayloadError", "ConnectionError", "ProtocolError", "ReadError", "ServerDisconnectedError"}
"""The same for one that was closed within an answer."""


FAST_RETRY = 0.05
"""The seconds after which a client is told to try again, so that three attempts take 0.1 s."""
RETRIED_STATUSES = (408, 409, 429)
"""The statuses below 500 that the SDKs try again after."""
MILLISECOND_PROVIDERS = ("openai", "anthropic", "mistral")
"""Whose SDKs look for `retry-after-ms` first."""


def add_fast_retry_header(error: WireError, provider: str | None) -> dict[str, str]:
    """Return the headers of an error, with `retry-after-ms` for a client that tries again, unless the project refuses.

    Without it a client waits as long as `Retry-After` says, or half a second and twice as long each time.
    """
    is_retried = error.status in RETRIED_STATUSES or error.status >= 500
    if not Wanted.fast_retries or provider not in MILLISECOND_PROVIDERS or not is_retried:
        return error.headers
    seconds = parse_retry_after(error.headers)
    if (seconds is not None and seconds <= FAST_RETRY) or "x-should-retry" in error.headers:
        return error.headers
    return {**error.headers, "retry-after-ms": f"{FAST_RETRY * 1000:g}"}


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """What headers say of when to try again; None where they say nothing, or a date."""
    named = {name.lower(): value for name, value in headers.items()}
    try:
        if "retry-after-ms" in named:
            return float(named["retry-after-ms"]) / 1000
        return float(named["retry-after"])
    except (KeyError, ValueError):
        return None


class WireError(Exception):
    """A response of the provider that says what went wrong.

    Args:
        status: the HTTP status.
        message: what the provider says.
        type: the provider's word for it; None is that of the status.
        code: a further word, where the provider has one.
        param: the field of the request that is at fault, for providers that name it.
        headers: further headers.
        body: the whole JSON body, where an error of an SDK brought one.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type: str | None = None,
        code: str | None = None,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
        body: Any = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.type = type
        self.code = code
        self.param = param
        self.request_id: str | None = None
        self.headers = dict(headers or {})
        self.body = body


class ReplyFunctionError(WireError):
    """The response that tells of a bug in a reply function.

    Args:
        explanation: what the test fails with; its first line is the message.
    """

    def __init__(self, explanation: str) -> None:
        super().__init__(400, explanation.partition("\n")[0], headers=NO_RETRY_HEADERS)
        self.explanation = explanation


class ConnectionFailure(Exception):
    """There is no answer, but an error of the HTTP library.

    Args:
        kind: `connect` (no connection), `dropped` (closed within the answer), `timeout`, or `total timeout` (of the
            whole response, where a library has one).
        message: what the library says.
    """

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def to_wire_error(error: Exception) -> WireError | ConnectionFailure:
    """What a scripted exception is on the wire: as near as can be what the SDK makes that exception of.

    An exception of an SDK that has a response is that response. Its timeouts and connection errors, and those of
    Python, are ones of the HTTP library. An `llm.ModelError` that names a status has it. All else is a status 500
    with `x-should-retry: false`. What the mock itself refuses, and a bug in a reply function, is a status 400, after
    which no SDK and no framework tries again.
    """
    if isinstance(error, (WireError, ConnectionFailure)):
        return error
    if isinstance(error, ProviderFailure):
        return WireError(error.status, error.message, headers=error.headers, body=error.body)
    if isinstance(error, LLMMockError):
        return WireError(400, str(error), headers=NO_RETRY_HEADERS)
    response = getattr(error, "response", None) or getattr(error, "raw_response", None)
    status = getattr(response, "status_code", None) or getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 600:
        return _status_error(error, status, response)
    names = {base.__name__ for base in type(error).__mro__}
    if isinstance(error, TimeoutError) or any("Timeout" in name for name in names):
        return ConnectionFailure("timeout", str(error))
    if names & CONNECT_ERROR_NAMES:
        return ConnectionFailure("connect", str(error))
    if names & DROPPED_ERROR_NAMES:
        return ConnectionFailure("dropped", str(error))
    if named := re.match(r"Error code: ([45]\d\d) - (.*)", str(error), re.DOTALL):
        return WireError(int(named[1]), named[2])
    if bug := explain_bug(error):
        return ReplyFunctionError(bug)
    said = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return WireError(500, said, headers=NO_RETRY_HEADERS)


def _status_error(error: Exception, status: int, response: Any) -> WireError:
    headers = {name: value for name, value in dict(getattr(response, "headers", None) or {}).items() if _matters(name)}
    try:
        body = response.json()
    except Exception:  # no body, or none that is JSON
        body = None
    said = body.get("error", body) if isinstance(body, dict) else None
    if not isinstance(said, dict):
        return WireError(status, str(getattr(error, "message", "") or error), headers=headers)
    message, kind, code = (said.get(name) for name in ("message", "type", "code"))
    return WireError(
        status,
        str(message or error),
        type=kind if isinstance(kind, str) else None,
        code=code if isinstance(code, str) else None,
        headers=headers,
        body=body,
    )


def _matters(header: str) -> bool:
    """Whether a header says something, beyond how the body is sent."""
    return header.lower() not in ("content-length", "content-type", "content-encoding", "transfer-encoding")
