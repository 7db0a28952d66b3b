"""Transforms of an output before it is checked: a path into its JSON, or a function."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated

import pydantic

from llm_mock.checks.base import RunContext
from llm_mock.checks.node import SUFFIXES, find_reference_problem, run_javascript
from llm_mock.checks.python_functions import (
    ModelRefused,
    call_safely,
    load_function,
    validate_reference,
)
from llm_mock.errors import LLMMockError
from llm_mock.support.json_in_text import FencedJSON, parse_json
from llm_mock.support.json_paths import get_value, parse_path
from llm_mock.support.json_types import JSONObject
from llm_mock.support.text import shorten, shorten_name

CODE = "javascript:"
"""The start of a transform that is JavaScript."""


def _validate_path(path: str) -> str:
    parse_path(path)
    return path


def validate_transform(transform: str) -> str:
    """Validate a transform, and return it unchanged.

    Raises:
        ValueError: the transform is malformed.
    """
    if transform.startswith(CODE):
        if not transform.removeprefix(CODE).strip():
            raise ValueError(f"{CODE!r} needs code, such as 'javascript: output.trim()'")
        return transform
    if _is_javascript(transform):
        problem = find_reference_problem(transform)
        if problem is not None:
            raise ValueError(problem)
        return transform
    if _is_function(transform):
        return validate_reference(transform)
    return _validate_path(transform)


def _is_function(transform: str) -> bool:
    # A path that begins with $ may have a colon in one of its keys.
    return ":" in transform and not transform.startswith("$")


def _is_javascript(transform: str) -> bool:
    file, colon, _ = transform.partition(":")
    # Without a name, it could be a path in JSON.
    return bool(colon) and file.endswith(SUFFIXES)


JSONPath = Annotated[str, pydantic.AfterValidator(_validate_path)]
"""Keys and positions that lead to a part of JSON, such as `choices.0.message.content`."""
Transform = Annotated[str, pydantic.AfterValidator(validate_transform)]
"""A transform of the output before the check: a path into its JSON, `$.answer`; a function,
`checks.py:cleaned` or `clean.js:cleaned` next to the suite or `package.module:cleaned`; or
JavaScript, `javascript: output.trim()`."""


class TransformFailed(LLMMockError):
    """A transform failed; the message has the reason."""


def apply_transform(transform: str, output: str, context: RunContext) -> str:
    """Apply a transform to an output, and return the text.

    Raises:
        TransformFailed: the output has no such part, or the function failed.
        ModelRefused: the function called a model in a dry run.
    """
    try:
        if transform.startswith(CODE):
            code = {"code": transform.removeprefix(CODE)}
            return _run_transform(code, output, context)
        if _is_javascript(transform):
            return _run_transform({"function": transform}, output, context)
        if not _is_function(transform):
            return extract_text(output, transform)
        function = load_function(transform, context.folder or Path())
        name = f"the transform {shorten_name(transform)}"
        return to_text(call_safely(function, name, output, context))
    except ModelRefused:
        raise
    except LLMMockError as error:
        raise TransformFailed(f"The transform {shorten_name(transform)}{error}") from None


def _run_transform(code: JSONObject, output: str, context: RunContext) -> str:
    # JSON has no undefined: `value` is missing then.
    value = run_javascript({**code, "transform": True}, output, context).get("value")
    if value is None:
        raise LLMMockError(" returned no value. Is a return statement missing?")
    return to_text(value)


def to_text(returned: object) -> str:
    """Return the result of a function as text: texts unchanged, other values as JSON.

    Raises:
        LLMMockError: it is not a JSON value; the message is the part after the function's name.
    """
    if isinstance(returned, str):
        return returned
    if hasattr(returned, "model_dump_json"):
        return str(returned.model_dump_json())
    if returned is None:
        raise LLMMockError(" returned None. Is a return statement missing?")
    if inspect.iscoroutine(returned):
        # Python warns of a coroutine that is neither awaited nor closed.
        returned.close()
        raise LLMMockError(" is async: use a plain function")
    try:
        return json.dumps(returned, ensure_ascii=False)
    except (TypeError, ValueError):
        kind = type(returned).__name__
        raise LLMMockError(
            f" returned an object of type {kind}: return a text, or a JSON value"
        ) from None


def extract_text(output: str, path: str) -> str:
    """Return the text at a path of the JSON in an output; other values as JSON.

    Raises:
        LLMMockError: the output is not JSON, or the path does not exist in it; the message is the
            part after the path.
    """
    try:
        value = get_value(parse_json(output), path)
    except FencedJSON as error:  # A ValueError, too; it has advice of its own.
        raise LLMMockError(
            f" needs JSON, but {error}: ask the model for JSON alone, "
            "or take it out of the fence with a function: file.py:function"
        ) from None
    except ValueError as error:
        raise LLMMockError(f" needs JSON, but {shorten(output)} is not JSON: {error}") from None
    except LLMMockError as error:
        raise LLMMockError(f": {error}") from None
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
