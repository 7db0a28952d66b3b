"""Amazon Bedrock."""

from __future__ import annotations

from llm_mock.boundaries.http.error_formats import ErrorFormat
from llm_mock.boundaries.http.providers.descriptor import ProviderDescriptor
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.support.json_types import JSONObject

AWS_DOMAINS = r"(amazonaws\.(com(\.cn)?|eu)|api\.aws|api\.amazonwebservices\.(com\.cn|eu))"
"""A regular expression for the domains of AWS, those for IPv6 and of its partitions too."""
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


class AWSFormat(ErrorFormat):
    """The error format of AWS; botocore reads the type from a header."""

    request_id_header = "x-amzn-requestid"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"__type": self._get_error_type(error), "message": error.message}

    def build_headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error, with its type."""
        return {"x-amzn-errortype": self._get_error_type(error), **super().build_headers(error)}

    def _get_error_type(self, error: WireError) -> str:
        return AWS_TYPES.get(error.status, "InternalServerException")


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
)
PROVIDERS = (BEDROCK,)
