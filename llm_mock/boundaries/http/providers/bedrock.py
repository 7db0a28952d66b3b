"""Amazon Bedrock."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.event_stream import MEDIA_TYPE
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor, ServerAccess
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch

AWS_DOMAINS = r"(amazonaws\.(com(\.cn)?|eu)|api\.aws|api\.amazonwebservices\.(com\.cn|eu))"
"""A regular expression for AWS domains, including those for IPv6 and for partitions."""
AWS_TYPES = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
"""The type of an error for each status."""
AWS_STATUSES = {
    "AccessDeniedException": 403,
    "ExpiredTokenException": 403,
    "InternalServerException": 500,
    "ModelErrorException": 424,
    "ModelNotReadyException": 429,
    "ModelStreamErrorException": 424,
    "ModelTimeoutException": 408,
    "ResourceNotFoundException": 404,
    "ServiceQuotaExceededException": 400,
    "ServiceUnavailableException": 503,
    "ThrottlingException": 429,
    "UnrecognizedClientException": 403,
    "ValidationException": 400,
}
"""The status of each type of error."""
JSON_TERMS = {
    str: "STRING_VALUE",
    bool: "BOOLEAN_VALUE",
    int: "NUMBER_VALUE",
    float: "NUMBER_VALUE",
    type(None): "NULL_VALUE",
}
"""The AWS terms for JSON values that are neither lists nor objects."""


class AWSFormat(ErrorFormat):
    """The error format of AWS, which has the error type in a header.

    A body that was written for Bedrock has the type in `__type`, which is not sent.
    """

    request_id_header = "x-amzn-requestid"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"message": error.message}

    def build_headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error, with its type."""
        return {"x-amzn-errortype": self.get_error_type(error), **super().build_headers(error)}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        message = (
            f"1 validation error detected: Value null at '{name}' failed to satisfy constraint: "
            "Member must not be null"
        )
        return WireError(400, message)

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        value = mismatch.value
        if isinstance(value, list):
            message = "Start of list found where not expected"
        elif isinstance(value, dict):
            message = "Start of structure or map found where not expected."
        else:
            term = JSON_TERMS[type(value)]
            message = f"Unrecognized collection type: {term} found where not expected"
        return WireError(400, message, body={"__type": "SerializationException"})

    def get_error_type(self, error: WireError) -> str:
        """Return the type of an error: its own, or that of its status."""
        body = error.body
        own_type = body.get("__type") if isinstance(body, dict) else None
        if isinstance(own_type, str):
            return own_type
        return AWS_TYPES.get(error.status, "InternalServerException")


def build_headers(
    api: str, is_streamed: bool, input_tokens: int, output_tokens: int
) -> dict[str, str]:
    """Return InvokeModel's headers with values that its bodies contain in different forms."""
    if api != "invoke_model":
        return {}
    if is_streamed:
        return {"x-amzn-bedrock-content-type": "application/json"}
    return {
        "x-amzn-bedrock-input-token-count": str(input_tokens),
        "x-amzn-bedrock-output-token-count": str(output_tokens),
    }


BEDROCK = ProviderDescriptor(
    "bedrock",
    host_patterns=(
        rf"(^|\.)bedrock-(agent-)?(runtime|mantle)(-fips)?\.([a-z0-9-]+\.)+{AWS_DOMAINS}$",
    ),
    base_url_variables=(
        "ANTHROPIC_BEDROCK_BASE_URL",
        "ANTHROPIC_BEDROCK_MANTLE_BASE_URL",
        "AWS_BEDROCK_BASE_URL",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME",
    ),
    errors=AWSFormat(),
    finish_reasons={
        "stop": "end_turn",
        "tool_calls": "tool_use",
        "length": "max_tokens",
        "content_filter": "content_filtered",
    },
    # Anthropic's header, which its client for Bedrock reads; boto3 does not.
    reads_retry_after_ms=True,
    stream_type=MEDIA_TYPE,
    build_headers=build_headers,
    server=ServerAccess(
        prefix="bedrock",
        host="bedrock-runtime.us-east-1.amazonaws.com",
        base_urls={
            "ANTHROPIC_BEDROCK_BASE_URL": "/bedrock",
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "/bedrock",
        },
        optional_keys=("AWS_BEARER_TOKEN_BEDROCK",),
    ),
)
PROVIDERS = (BEDROCK,)
