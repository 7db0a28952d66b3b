"""Error bodies of the providers: a format for each, and the words in which it refuses a malformed body."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries.http.errors import WireError

if TYPE_CHECKING:
    from llm_mock.boundaries.http.body_types import Mismatch, Shape

ARTICLES = {str: "a string", bool: "a boolean", int: "an integer", float: "a decimal", list: "an array"}
"""OpenAI's words for the types of JSON; every other value is an object."""
PLURALS = {str: "strings", bool: "booleans", int: "integers", float: "decimals", list: "arrays"}
PYDANTIC_TYPES = {str: "string", bool: "bool", int: "int", float: "float", list: "list", dict: "dict"}
PYDANTIC_WORDS = {
    **{str: "string", bool: "boolean", int: "integer", float: "number", list: "list", dict: "dictionary"},
}
ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
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
OPENAI_TYPES = {401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"}

_request_numbers = itertools.count(1)


def next_request_id() -> str:
    """Return the id of the next response of this process."""
    return f"req_mock_{next(_request_numbers)}"


class ErrorFormat:
    """How OpenAI, and all who speak as it does, tell a client what went wrong. Other providers have subclasses."""

    request_id_header: str | None = "x-request-id"
    """The header with the id of the request; None for a provider that sends none."""

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values; one that an error of an SDK brought is kept."""
        given = error.body
        if isinstance(given, dict) and isinstance(given.get("error"), dict) and "message" in given["error"]:
            return given
        kind = error.type or OPENAI_TYPES.get(error.status, "invalid_request_error")
        return {"error": {"message": error.message, "type": kind, "param": error.param, "code": error.code}}

    def headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error."""
        if self.request_id_header is None or error.request_id is None:
            return error.headers
        return {self.request_id_header: error.request_id, **error.headers}

    def missing_field(self, name: str) -> WireError:
        """Return the refusal of a body without a field that it must have."""
        message = f"Missing required parameter: '{name}'."
        return WireError(400, message, code="missing_required_parameter", param=name)

    def invalid_type(self, mismatch: Mismatch) -> WireError:
        """Return the refusal of a body in which a value has the wrong type."""
        path = _dotted(mismatch.path)
        expected, got = _expected(mismatch.expected), ARTICLES.get(type(mismatch.value), "an object")
        got = "null" if mismatch.value is None else got
        message = f"Invalid type for '{path}': expected {expected}, but got {got} instead."
        return WireError(400, message, code="invalid_type", param=path)


class AnthropicFormat(ErrorFormat):
    """Anthropic's errors."""

    request_id_header = "request-id"

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values; one that an error of an SDK brought is kept."""
        if isinstance(error.body, dict) and error.body.get("type") == "error":
            body = error.body
        else:
            known = error.type in ANTHROPIC_TYPES.values()
            kind = error.type if known else ANTHROPIC_TYPES.get(error.status, "api_error")
            body = {"type": "error", "error": {"type": kind, "message": error.message}, "request_id": "req_mock"}
        if body.get("request_id") == "req_mock" and error.request_id is not None:
            return {**body, "request_id": error.request_id}
        return body

    def missing_field(self, name: str) -> WireError:
        """Return the refusal of a body without a field that it must have."""
        return WireError(400, f"{name}: Field required")

    def invalid_type(self, mismatch: Mismatch) -> WireError:
        """Return the refusal of a body in which a value has the wrong type."""
        path = ".".join(map(str, mismatch.path))
        kind = PYDANTIC_WORDS[_main_type(mismatch.expected)]
        return WireError(400, f"{path}: Input should be a valid {kind}")


class GoogleFormat(ErrorFormat):
    """Errors of Google's APIs."""

    request_id_header = None

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values; one that an error of an SDK brought is kept."""
        given = error.body
        if isinstance(given, dict) and isinstance(given.get("error"), dict) and "status" in given["error"]:
            return given
        status = GOOGLE_STATUSES.get(error.status, "UNKNOWN")
        return {"error": {"code": error.status, "message": error.message, "status": status}}

    def missing_field(self, name: str) -> WireError:
        """Return the refusal of a body without a field that it must have."""
        return WireError(400, f"* GenerateContentRequest.{name}: {name} is not specified\n")

    def invalid_type(self, mismatch: Mismatch) -> WireError:
        """Return the refusal of a body in which a value has the wrong type."""
        path, kind = _dotted(mismatch.path), GOOGLE_TYPES.get(_main_type(mismatch.expected))
        if kind is None:
            return WireError(400, f"Invalid JSON payload received. Unexpected type of value at '{path}'.")
        return WireError(400, f"Invalid value at '{path}' ({kind}), {_shown(mismatch.value)}")


class MistralFormat(ErrorFormat):
    """Mistral's errors; what is wrong with a body is said as FastAPI says it."""

    request_id_header = "mistral-correlation-id"

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values; one that an error of an SDK brought is kept."""
        if isinstance(error.body, dict) and (error.body.get("object") == "error" or "detail" in error.body):
            return error.body
        said = {"message": error.message, "type": error.type or "invalid_request_error", "param": None}
        return {"object": "error", **said, "code": error.code, "raw_status_code": error.status}

    def missing_field(self, name: str) -> WireError:
        """Return the refusal of a body without a field that it must have."""
        return self._invalid("missing", (name,), "Field required")

    def invalid_type(self, mismatch: Mismatch) -> WireError:
        """Return the refusal of a body in which a value has the wrong type."""
        kind = _main_type(mismatch.expected)
        message = f"Input should be a valid {PYDANTIC_WORDS[kind]}"
        return self._invalid(f"{PYDANTIC_TYPES[kind]}_type", mismatch.path, message)

    def _invalid(self, kind: str, path: Sequence[str | int], message: str) -> WireError:
        detail = {"type": kind, "loc": ["body", *path], "msg": message}
        return WireError(422, message, body={"detail": [detail]})


class AWSFormat(ErrorFormat):
    """Errors of AWS, which botocore reads from a header and from a body in this form alone."""

    request_id_header = "x-amzn-requestid"

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values."""
        return {"__type": self._type(error), "message": error.message}

    def headers(self, error: WireError) -> dict[str, str]:
        """Return the headers of an error, with its type."""
        return {"x-amzn-errortype": self._type(error), **super().headers(error)}

    def _type(self, error: WireError) -> str:
        return AWS_TYPES.get(error.status, "InternalServerException")


class MessageFormat(ErrorFormat):
    """Errors of Cohere: a message."""

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values."""
        return {"id": error.request_id, "message": error.message}


class TextFormat(ErrorFormat):
    """Errors of Ollama and Hugging Face: a text."""

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values."""
        return {"error": error.message}


class ProblemFormat(ErrorFormat):
    """Errors of Replicate: problem details, as RFC 9457 has them."""

    def body(self, error: WireError) -> Any:
        """Return the body of an error as JSON values."""
        return {"title": error.message, "detail": error.message, "status": error.status}


OPENAI, ANTHROPIC, GOOGLE, MISTRAL = ErrorFormat(), AnthropicFormat(), GoogleFormat(), MistralFormat()
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
"""The formats by the provider. All others speak as OpenAI does: Azure, Groq, Together, OpenRouter, …"""


def get_error_format(provider: str) -> ErrorFormat:
    """Return the format in which a provider tells what went wrong."""
    return FORMATS.get(provider, OPENAI)


def _dotted(path: Sequence[str | int]) -> str:
    """Write a path as `messages[0].content`."""
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def _expected(shape: Shape) -> str:
    """Say which types a shape allows, as OpenAI does."""
    names = [_type_words(kind, shape) for kind in (str, bool, int, float, list, dict) if kind in shape.types]
    if len(names) == 1:
        return names[0]
    first, *others = names
    return f"one of {first} or " + " or ".join(name.split(" ", 1)[1] for name in others)


def _type_words(kind: type, shape: Shape) -> str:
    words = ARTICLES.get(kind, "an object")
    if kind is not list or shape.items is None:
        return words
    return f"{words} of {PLURALS.get(_main_type(shape.items), 'objects')}"


def _main_type(shape: Shape) -> type:
    """Return the type that a message about a shape names: a list before a text, as that is what clients build."""
    return next(kind for kind in (list, dict, str, float, int, bool) if kind in shape.types)


def _shown(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value)
