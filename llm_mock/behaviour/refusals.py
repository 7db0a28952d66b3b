"""What the providers say when they refuse a request."""

from __future__ import annotations

from typing import Any, NamedTuple


class Refusal(NamedTuple):
    """What a provider says when it refuses a request; `{model}` and `{seconds}` stand for those of the call."""

    status: int
    type: str
    message: str
    code: str | None = None
    param: str | None = None


REFUSALS = {
    "openai": {
        "rate_limit": Refusal(
            429,
            "requests",
            "Rate limit reached for {model} in organization org-mock on requests per min (RPM): Limit 500, Used 500, "
            "Requested 1. Please try again in {seconds}s.",
            "rate_limit_exceeded",
        ),
        "overloaded": Refusal(503, "server_error", "The engine is currently overloaded, please try again later"),
        "context_overflow": Refusal(
            400,
            "invalid_request_error",
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 150000 tokens. "
            "Please reduce the length of the messages.",
            "context_length_exceeded",
            "messages",
        ),
        "invalid_key": Refusal(401, "invalid_request_error", "Incorrect API key provided: sk-mock.", "invalid_api_key"),
    },
    "anthropic": {
        "rate_limit": Refusal(
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50 requests per minute.",
        ),
        "overloaded": Refusal(529, "overloaded_error", "Overloaded"),
        "context_overflow": Refusal(400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"),
        "invalid_key": Refusal(401, "authentication_error", "invalid x-api-key"),
    },
    "google": {
        "rate_limit": Refusal(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details. Please retry in {seconds}s.",
        ),
        "overloaded": Refusal(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
        "context_overflow": Refusal(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        ),
        "invalid_key": Refusal(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key."),
    },
    "mistral": {
        "rate_limit": Refusal(429, "rate_limited", "Requests rate limit exceeded", "1300"),
        "overloaded": Refusal(503, "unreachable_backend", "Service unavailable.", "1100"),
        "context_overflow": Refusal(
            400,
            "invalid_request_error",
            "Prompt contains 150000 tokens, too large for model with 131072 maximum context length",
            "3051",
        ),
        "invalid_key": Refusal(401, "invalid_request_error", "Unauthorized"),
    },
}
"""What each provider says to each kind of failure."""


def body_of(provider: str | None, refusal: Refusal, message: str) -> dict[str, Any]:
    """The JSON body in which a provider says that."""
    if provider == "anthropic":
        return {"type": "error", "error": {"type": refusal.type, "message": message}, "request_id": "req_mock"}
    if provider == "google":
        return {"error": {"code": refusal.status, "message": message, "status": refusal.type}}
    said = {"message": message, "type": refusal.type, "param": refusal.param, "code": refusal.code}
    return {"object": "error", **said} if provider == "mistral" else {"error": said}
