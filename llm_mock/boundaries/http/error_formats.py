"""The error format of OpenAI, and helpers for the error formats of other providers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from llm_mock.boundaries.http.wire_error import WireError
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
VALUE_TERMS = {**SINGULAR_TERMS, float: "a decimal number", type(None): "null"}
"""OpenAI's terms for the values of these types; all others are objects."""
PLURAL_TERMS = {
    str: "strings",
    bool: "booleans",
    int: "integers",
    float: "decimals",
    list: "arrays",
}
# The terms of pydantic, with which Anthropic and Mistral validate requests.
PYDANTIC_TERMS = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    list: "list",
    dict: "dictionary",
}


class ErrorFormat:
    """The error format of OpenAI and of most other providers; the rest have subclasses."""

    request_id_header: str | None = "x-request-id"
    """The header with the request id; None for a provider that does not send one."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values, or the body that an SDK's error has."""
        body = error.body
        if isinstance(body, dict) and "message" in get_details(body):
            return body
        details = {
            "message": error.message,
            "type": error.type or _get_type(error.status),
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
        path = format_path(mismatch.path)
        expected = _format_expected(mismatch.expected)
        got = VALUE_TERMS.get(type(mismatch.value), "an object")
        message = f"Invalid type for '{path}': expected {expected}, but got {got} instead."
        return WireError(400, message, code="invalid_type", param=path)


class TextFormat(ErrorFormat):
    """The error format of Ollama and Hugging Face."""

    def build_body(self, error: WireError) -> JSONObject:
        """Return the body of an error as JSON values."""
        return {"error": error.message}


OPENAI = ErrorFormat()


def _get_type(status: int) -> str:
    """Return OpenAI's type for a status."""
    if status == 429:
        return "requests"
    return "server_error" if status >= 500 else "invalid_request_error"


def get_details(body: JSONObject) -> JSONObject:
    """Return the object `error` in a body; empty without one."""
    details = body.get("error")
    return details if isinstance(details, dict) else {}


def format_path(path: Sequence[str | int]) -> str:
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
    if float in kinds and int in kinds:
        # A decimal may be whole.
        kinds.remove(int)
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
    item_type = choose_type(shape.items)
    item_term = PLURAL_TERMS.get(item_type, "objects")
    return f"{term} of {item_term}"


def choose_type(shape: Shape) -> type:
    """Return the one type that a message names; nested types come first, as SDKs send these."""
    order = (list, dict, str, float, int, bool)
    kinds = [kind for kind in order if kind in shape.types]
    return kinds[0]
