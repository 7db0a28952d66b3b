"""An error of whichever provider is asked."""

from __future__ import annotations


class ProviderError(Exception):
    """Stands in a reply for the error of the provider that is asked, as its own SDK raises it.

    Args:
        kind: `rate_limit`, `overloaded`, `context_overflow`, `invalid_key`, `timeout`,
            `no_connection` or `broken_stream`.
        retry_after: seconds after which to try again; None says nothing of it, or what the
            provider says.
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
    "InternalServerError": "overloaded",
    "AuthenticationError": "authentication",
    "BadRequestError": "context_overflow",
    "APITimeoutError": "timeout",
    "APIConnectionError": "no_connection",
}
"""The functions of `llm_mock.templates` for what the SDKs call their errors."""


def alternative_to(error: type[BaseException]) -> str:
    """How a message goes on about an exception of an SDK that cannot be made without arguments."""
    name = next(
        (TEMPLATES[base.__name__] for base in error.__mro__ if base.__name__ in TEMPLATES), None
    )
    return (
        "" if name is None else f", or templates.{name}(), which is the error of the SDK that asks"
    )
