"""The error bodies of the providers, and their messages for malformed requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.errors import WireError
from llm_mock.support.json_types import JSONObject

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch, Shape

# OpenAI's terms for the types of JSON values; all others are objects.
SINGULAR_TERMS = {
    str: "a string",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    list: "an array",
}
PLURAL_TERMS = {
    str: "strings",
    bool: "booleans",
    int: "integers",
    float: "decimals",
    list: "arrays",
}
# The terms of pydantic, by which Anthropic and Mistral validate their requests.
PYDANTIC_TYPES = {
    str: "string",
    bool: "bool",
    int: "int",
    float: "float",
    list: "list",
    dict: "dict",
}
PYDANTIC_TERMS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "list",
    dict: "dictionary",
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    # No standard status: only Anthropic has it.
    529: "overloaded_error",
}
AWS_TYPES = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    429: "ThrottlingException",
    503: "ServiceUnavailableException",
}
GOOGLE_STATUSES = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
GOOGLE_TYPES = {str: "TYPE_STRING", bool: "TYPE_BOOL", int: "TYPE_INT32", float: "TYPE_FLOAT"}
OPENAI_TYPES = {
    401: "invalid_request_error",
    429: "requests",
    500: "server_error",
    503: "server_error",
}


class ErrorFormat:
    """The error format of OpenAI and of most other providers; the rest have subclasses."""

    request_id_header: str | None = "x-request-id"
    """The header with the id of the request; None for a provider that sends none."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body
        if isinstance(body, dict) and "message" in _get_details(body):
            return body
        default = OPENAI_TYPES.get(error.status, "invalid_request_error")
        details = {
            "message": error.message,
            "type": error.type or default,
            "param": error.param,
            "code": error.code,
        }
        return {"error": details}

    def build_headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error."""
        if self.request_id_header is None or error.request_id is None:
            return error.headers
        return {self.request_id_header: error.request_id, **error.headers}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        message = f"Missing required parameter: '{name}'."
        return WireError(400, message, code="missing_required_parameter", param=name)

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        path = _format_path(mismatch.path)
        expected = _format_expected(mismatch.expected)
        got = SINGULAR_TERMS.get(type(mismatch.value), "an object")
        if mismatch.value is None:
            got = "null"
        message = f"Invalid type for '{path}': expected {expected}, but got {got} instead."
        return WireError(400, message, code="invalid_type", param=path)


class AnthropicFormat(ErrorFormat):
    """The error format of Anthropic."""

    request_id_header = "request-id"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        if isinstance(error.body, dict) and error.body.get("type") == "error":
            body = error.body
        else:
            kind = error.type
            # A type of another provider's would not be understood.
            if kind not in ANTHROPIC_TYPES.values():
                kind = ANTHROPIC_TYPES.get(error.status, "api_error")
            details = {"type": kind, "message": error.message}
            body = {"type": "error", "error": details, "request_id": "req_mock"}
        # Anthropic repeats the id of the header; that of a real error stays as it is.
        if body.get("request_id") == "req_mock" and error.request_id is not None:
            return {**body, "request_id": error.request_id}
        return body

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return WireError(400, f"{name}: Field required")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        steps = [str(step) for step in mismatch.path]
        path = ".".join(steps)
        kind = _choose_type(mismatch.expected)
        term = PYDANTIC_TERMS[kind]
        return WireError(400, f"{path}: Input should be a valid {term}")


class GoogleFormat(ErrorFormat):
    """The error format of Google."""

    request_id_header = None

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body
        if isinstance(body, dict) and "status" in _get_details(body):
            return body
        status = GOOGLE_STATUSES.get(error.status, "UNKNOWN")
        details = {"code": error.status, "message": error.message, "status": status}
        return {"error": details}

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        # The API ends this message with a newline, as it may list several fields.
        message = f"* GenerateContentRequest.{name}: {name} is not specified\n"
        return WireError(400, message)

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        path = _format_path(mismatch.path)
        kind = GOOGLE_TYPES.get(_choose_type(mismatch.expected))
        if kind is None:
            # Google has no name for the types of lists and objects.
            message = f"Invalid JSON payload received. Unexpected type of value at '{path}'."
            return WireError(400, message)
        value = mismatch.value
        text = str(value)
        if isinstance(value, str):
            text = f'"{value}"'
        return WireError(400, f"Invalid value at '{path}' ({kind}), {text}")


class MistralFormat(ErrorFormat):
    """The error format of Mistral, which reports a malformed body in the format of FastAPI."""

    request_id_header = "mistral-correlation-id"

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values; the body of an SDK's error is kept."""
        body = error.body
        if isinstance(body, dict) and (body.get("object") == "error" or "detail" in body):
            return body
        return {
            "object": "error",
            "message": error.message,
            "type": error.type or "invalid_request_error",
            "param": None,
            "code": error.code,
            "raw_status_code": error.status,
        }

    def build_missing_field_error(self, name: str) -> WireError:
        """Return the error for a body without a required field."""
        return self._build_validation_error("missing", (name,), "Field required")

    def build_invalid_type_error(self, mismatch: Mismatch) -> WireError:
        """Return the error for a body with a value of the wrong type."""
        kind = _choose_type(mismatch.expected)
        message = f"Input should be a valid {PYDANTIC_TERMS[kind]}"
        return self._build_validation_error(f"{PYDANTIC_TYPES[kind]}_type", mismatch.path, message)

    def _build_validation_error(
        self,
        kind: str,
        path: Sequence[str | int],
        message: str,
    ) -> WireError:
        detail = {"type": kind, "loc": ["body", *path], "msg": message}
        return WireError(422, message, body={"detail": [detail]})


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


class MessageFormat(ErrorFormat):
    """The error format of Cohere."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"id": error.request_id, "message": error.message}


class TextFormat(ErrorFormat):
    """The error format of Ollama and Hugging Face."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"error": error.message}


class ProblemFormat(ErrorFormat):
    """The error format of Replicate: problem details by RFC 9457."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"title": error.message, "detail": error.message, "status": error.status}


OPENAI = ErrorFormat()
ANTHROPIC = AnthropicFormat()
GOOGLE = GoogleFormat()
MISTRAL = MistralFormat()
FORMATS: dict[str, ErrorFormat] = {
    "anthropic": ANTHROPIC,
    "bedrock": AWSFormat(),
    "cohere": MessageFormat(),
    "google": GOOGLE,
    "huggingface": TextFormat(),
    "mistral": MISTRAL,
    "ollama": TextFormat(),
    "replicate": ProblemFormat(),
}
"""The error formats by provider; all others (Azure, Groq, Together, …) have that of OpenAI."""


def get_error_format(provider: str) -> ErrorFormat:
    """Return the error format of a provider."""
    return FORMATS.get(provider, OPENAI)


def _get_details(body: JSONObject) -> JSONObject:
    """Return the object `error` in a body; empty without one."""
    details = body.get("error")
    return details if isinstance(details, dict) else {}


def _format_path(path: Sequence[str | int]) -> str:
    """Format a path as `messages[0].content`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            text += f".{step}"
    return text.removeprefix(".")


def _format_expected(shape: Shape) -> str:
    """Format the types that a shape allows, in OpenAI's terms."""
    # In this order, as OpenAI names the simple types before the nested ones.
    order = (str, bool, int, float, list, dict)
    kinds = [kind for kind in order if kind in shape.types]
    terms = [_format_type(kind, shape) for kind in kinds]
    if len(terms) == 1:
        return terms[0]
    first, *others = terms
    # Only the first term has its article.
    without_articles = [term.split(" ", 1)[1] for term in others]
    return f"one of {first} or " + " or ".join(without_articles)


def _format_type(kind: type, shape: Shape) -> str:
    term = SINGULAR_TERMS.get(kind, "an object")
    if kind is not list or shape.items is None:
        return term
    item_type = _choose_type(shape.items)
    item_term = PLURAL_TERMS.get(item_type, "objects")
    return f"{term} of {item_term}"


def _choose_type(shape: Shape) -> type:
    """Return the single type that a message names: nested types first, as clients build these."""
    order = (list, dict, str, float, int, bool)
    kinds = [kind for kind in order if kind in shape.types]
    return kinds[0]
