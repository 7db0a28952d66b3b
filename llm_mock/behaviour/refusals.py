"""The error responses of the providers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSON, JSONObject

DOMAIN = "type.googleapis.com/google.rpc."
KEY_NOT_VALID = "API key not valid. Please pass a valid API key."
FREE_REQUESTS = "generativelanguage.googleapis.com/generate_content_free_tier_requests"


class Refusal(NamedTuple):
    """The error response of a provider; `{model}` and `{seconds}` are placeholders."""

    status: int
    type: str | None
    """The provider's name for the error; None if its errors have none."""
    message: str
    code: str | None = None
    param: str | None = None
    details: tuple[JSONObject, ...] = ()
    """The machine-readable details that Google adds."""


# The texts and fields are those that the providers send, because applications parse them.
REFUSALS = {
    "openai": {
        "rate_limit": Refusal(
            429,
            "requests",
            "Rate limit reached for {model} in organization org-mock on requests per min (RPM): "
            "Limit 500, Used 500, Requested 1. Please try again in {seconds}s.",
            "rate_limit_exceeded",
        ),
        "overloaded": Refusal(
            503, "server_error", "The engine is currently overloaded, please try again later"
        ),
        "server_error": Refusal(
            500,
            "server_error",
            "The server had an error while processing your request. Sorry about that!",
        ),
        "context_overflow": Refusal(
            400,
            "invalid_request_error",
            "This model's maximum context length is 128000 tokens. However, your messages resulted "
            "in 150000 tokens. Please reduce the length of the messages.",
            "context_length_exceeded",
            "messages",
        ),
        "invalid_key": Refusal(
            401, "invalid_request_error", "Incorrect API key provided: sk-mock.", "invalid_api_key"
        ),
    },
    "anthropic": {
        "rate_limit": Refusal(
            429,
            "rate_limit_error",
            "This request would exceed your organization's rate limit of 50 requests per minute.",
        ),
        "overloaded": Refusal(529, "overloaded_error", "Overloaded"),
        "server_error": Refusal(500, "api_error", "Internal server error"),
        "context_overflow": Refusal(
            400, "invalid_request_error", "prompt is too long: 250000 tokens > 200000 maximum"
        ),
        "invalid_key": Refusal(401, "authentication_error", "invalid x-api-key"),
    },
    "google": {
        "rate_limit": Refusal(
            429,
            "RESOURCE_EXHAUSTED",
            "You exceeded your current quota, please check your plan and billing details.\n"
            f"* Quota exceeded for metric: {FREE_REQUESTS}, limit: 20, model: {{model}}\nPlease "
            f"retry in {{seconds}}s.",
            details=(
                {
                    "@type": DOMAIN + "QuotaFailure",
                    "violations": [
                        {
                            "quotaMetric": FREE_REQUESTS,
                            "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
                            "quotaDimensions": {"location": "global", "model": "{model}"},
                            "quotaValue": "20",
                        }
                    ],
                },
                {"@type": DOMAIN + "RetryInfo", "retryDelay": "{seconds}s"},
            ),
        ),
        "overloaded": Refusal(
            503,
            "UNAVAILABLE",
            "This model is currently experiencing high demand. Spikes in demand are usually "
            "temporary. Please try again later.",
        ),
        "server_error": Refusal(
            500,
            "INTERNAL",
            "An internal error has occurred. Please retry or report in "
            "https://developers.generativeai.google/guide/troubleshooting",
        ),
        "context_overflow": Refusal(
            400,
            "INVALID_ARGUMENT",
            "The input token count (1200000) exceeds the maximum number of tokens allowed "
            "(1048576).",
        ),
        "invalid_key": Refusal(
            400,
            "INVALID_ARGUMENT",
            KEY_NOT_VALID,
            details=(
                {
                    "@type": DOMAIN + "ErrorInfo",
                    "reason": "API_KEY_INVALID",
                    "domain": "googleapis.com",
                    "metadata": {"service": "generativelanguage.googleapis.com"},
                },
                {"@type": DOMAIN + "LocalizedMessage", "locale": "en-US", "message": KEY_NOT_VALID},
            ),
        ),
    },
    "mistral": {
        "rate_limit": Refusal(429, "rate_limited", "Rate limit exceeded", "1300"),
        "overloaded": Refusal(503, "internal_server_error", "Service unavailable.", "3800"),
        "server_error": Refusal(500, "internal_server_error", "Internal Server Error"),
        "context_overflow": Refusal(
            400,
            "invalid_request_error",
            "Prompt contains 150000 tokens, too large for model with 131072 maximum context length",
            "3051",
        ),
        "invalid_key": Refusal(401, "invalid_request_error", "Unauthorized"),
    },
    "bedrock": {
        "rate_limit": Refusal(
            429, "ThrottlingException", "Too many requests, please wait before trying again."
        ),
        "overloaded": Refusal(
            503, "ServiceUnavailableException", "Bedrock is unable to process your request."
        ),
        "server_error": Refusal(
            500,
            "InternalServerException",
            "The system encountered an unexpected error during processing. Try your request again.",
        ),
        "context_overflow": Refusal(
            400, "ValidationException", "Input is too long for requested model."
        ),
        "invalid_key": Refusal(
            403,
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
        ),
    },
}
"""The error response of each provider to each kind of failure."""
_registered: dict[str, Mapping[str, Refusal]] = {}
"""The error responses of further providers, from their descriptors at the HTTP boundary."""


def register_refusals(provider: str, refusals: Mapping[str, Refusal]) -> None:
    """Add the error responses of a provider, by kind of failure."""
    _registered[provider] = refusals


def find_error_dialect(provider: str | None) -> str:
    """Return the provider whose error responses a provider sends: itself, or else OpenAI."""
    is_own = provider in REFUSALS or provider in _registered
    return str(provider) if is_own else "openai"


def get_refusals(provider: str | None) -> Mapping[str, Refusal]:
    """Return the error responses of a provider, or those of OpenAI."""
    dialect = find_error_dialect(provider)
    return REFUSALS.get(dialect) or _registered[dialect]


def build_body(provider: str | None, refusal: Refusal, message: str, **call: str) -> JSONObject:
    """Return the JSON body of an error response.

    Args:
        provider: the provider; None for one with the API of OpenAI.
        refusal: the error response.
        message: its message, without placeholders.
        call: `model` and `seconds` of the call, for the placeholders in the details.
    """
    if provider == "anthropic":
        return {
            "type": "error",
            "error": {"type": refusal.type, "message": message},
            "request_id": "req_mock",
        }
    if provider == "google":
        error: JSONObject = {
            "code": refusal.status,
            "message": message,
            "status": refusal.type,
        }
        if refusal.details:
            error["details"] = _fill_placeholders(refusal.details, call)
        return {"error": error}
    if provider == "bedrock":
        # The type is sent in a header.
        return {"__type": refusal.type, "message": message}
    # The gateway of Mistral checks keys, and has another form of errors than the API.
    if provider == "mistral" and refusal.status == 401:
        return {"detail": message}
    fields = {
        "message": message,
        "type": refusal.type,
        "param": refusal.param,
        "code": refusal.code,
    }
    if provider == "mistral":
        return {"object": "error", **fields, "raw_status_code": refusal.status}
    return {"error": fields}


def _fill_placeholders(value: JSON, call: dict[str, str]) -> JSON:
    """Return JSON values with the placeholders in their texts filled in."""
    if isinstance(value, str):
        return value.format(**call)
    if isinstance(value, dict):
        return {key: _fill_placeholders(item, call) for key, item in value.items()}
    # The details are tuples, so that they cannot be changed, and become lists here.
    if isinstance(value, (list, tuple)):
        return [_fill_placeholders(item, call) for item in value]
    return value
