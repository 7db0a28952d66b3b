"""OpenAI's errors for requests that break a rule.

The messages come from error responses that applications have recorded and reported. For the fields,
see https://platform.openai.com/docs/guides/error-codes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pydantic_core import to_json

from llm_mock.boundaries.http.wire_error import WireError


def make_error(message: str, param: str | None, code: str | None = None) -> WireError:
    """Return an error of status 400."""
    return WireError(400, message, param=param, code=code)


def make_missing_error(param: str) -> WireError:
    """Return the error for an object without a required field."""
    return make_error(
        f"Missing required parameter: '{param}'.", param, code="missing_required_parameter"
    )


def make_moved_error(param: str, new_param: str) -> WireError:
    """Return the error of the Responses API for a parameter that has a new name there."""
    message = (
        f"Unsupported parameter: '{param}'. In the Responses API, this parameter has moved to "
        f"'{new_param}'. Try again with the new parameter. See the API documentation for more "
        "information: https://platform.openai.com/docs/api-reference/responses/create."
    )
    return make_error(message, None, code="unsupported_parameter")


def make_choice_error(value: object, choices: Sequence[str], param: str) -> WireError:
    """Return the error for an unsupported value."""
    message = f"Invalid value: '{value}'. Supported values are: {join_quoted(choices)}."
    return make_error(message, param, code="invalid_value")


def make_empty_list_error(param: str) -> WireError:
    """Return the error for an empty list."""
    message = (
        f"Invalid '{param}': empty array. Expected an array with minimum length 1, but got an "
        "empty array instead."
    )
    return make_error(message, param, code="empty_array")


def make_long_list_error(param: str, longest: int, length: int) -> WireError:
    """Return the error for a list that is too long."""
    message = (
        f"Invalid '{param}': array too long. Expected an array with maximum length {longest}, but "
        f"got an array with length {length} instead."
    )
    return make_error(message, param, code="array_above_max_length")


def make_range_error(
    param: str, value: float, minimum: float | None, maximum: float | None, is_integer: bool
) -> WireError:
    """Return the error for a number that is out of range.

    Args:
        param: the field.
        value: the number.
        minimum: the least number; None for no limit.
        maximum: the greatest number; None for no limit.
        is_integer: True if the field accepts only integers.
    """
    kind = "integer" if is_integer else "decimal"
    if minimum is not None and value < minimum:
        side, limit, code = "below minimum", f">= {minimum}", f"{kind}_below_min_value"
    else:
        side, limit, code = "above maximum", f"<= {maximum}", f"{kind}_above_max_value"
    # Keep the form in which the number was written: -1 is not -1.0.
    number = to_json(value).decode()
    message = (
        f"Invalid '{param}': {kind} {side} value. Expected a value {limit}, but got {number} "
        "instead."
    )
    return make_error(message, param, code=code)


def make_unsupported_error(param: str, advice: str = "") -> WireError:
    """Return the error for a parameter that the model does not support."""
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    if advice:
        message += f" {advice}"
    return make_error(message, param, code="unsupported_parameter")


def make_unsupported_value_error(param: str, value: object, default: str) -> WireError:
    """Return the error for a value that the model does not support."""
    message = (
        f"Unsupported value: '{param}' does not support {to_json(value).decode()} with this "
        f"model. Only the default ({default}) value is supported."
    )
    return make_error(message, param, code="unsupported_value")


def join_quoted(values: Iterable[str]) -> str:
    """Join at least two values as `'a', 'b', and 'c'`."""
    quoted = [f"'{value}'" for value in values]
    if len(quoted) == 2:
        return " and ".join(quoted)
    return ", ".join(quoted[:-1]) + f", and {quoted[-1]}"
