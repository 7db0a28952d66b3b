"""Placeholder errors in replies that become errors of the called provider."""

from __future__ import annotations


class ProviderError(Exception):
    """A placeholder in a reply for the error that the SDK of the called provider raises.

    Args:
        kind: `rate_limit`, `overloaded`, `server_error`, `context_overflow`, `invalid_key`,
            `timeout`, `no_connection` or `broken_stream`.
        retry_after: the seconds to wait before the next attempt; None for the provider's default.
    """

    def __init__(self, kind: str, retry_after: float | None = None) -> None:
        super().__init__(kind, retry_after)
        self.kind = kind
        self.retry_after = retry_after

    def __repr__(self) -> str:
        return f"the provider's error ({self.kind.replace('_', ' ')})"


TEMPLATES = {
    "RateLimitError": "rate_limit",
    "OverloadedError": "overloaded",
    "ServiceUnavailableError": "overloaded",
    "InternalServerError": "server_error",
    "AuthenticationError": "authentication",
    "BadRequestError": "context_overflow",
    "APITimeoutError": "timeout",
    "APIConnectionError": "no_connection",
    # The names of Cohere.
    "TooManyRequestsError": "rate_limit",
    "UnauthorizedError": "authentication",
}
"""The functions of `llm_mock.templates` by the names of the errors of SDKs."""

TEMPLATES_BY_STATUS = {
    400: "context_overflow",
    401: "authentication",
    429: "rate_limit",
    500: "server_error",
    503: "overloaded",
    529: "overloaded",
}
"""The functions of `llm_mock.templates` by the HTTP status of their errors, or a similar one."""


def find_template(error: object) -> str | None:
    """Return the name of the template that returns a reply with an error; None without one."""
    kind = error.kind if isinstance(error, ProviderError) else None
    name = "authentication" if kind == "invalid_key" else kind
    return name if name in TEMPLATES.values() else None


def suggest_template(error: type[BaseException], place: str = "") -> str:
    """Return a part of a message that suggests a template for an exception of an SDK.

    Args:
        error: the class of the exception.
        place: the thing that the template replaces, with a space; empty for nothing.
    """
    name = next(
        (TEMPLATES[base.__name__] for base in error.__mro__ if base.__name__ in TEMPLATES), None
    )
    return (
        "" if name is None else f"templates.{name}(){place}, which raises the SDK's own error, or "
    )
