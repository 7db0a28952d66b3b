"""What assertions about a text have in common: what is made of the output before they look at it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Annotated, Any, Literal

import pydantic

from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import BaseAssertion, RunContext
from llm_mock.suites.assertion_types.python_functions import checked_name, loaded_function, result_of
from llm_mock.support.json_in_text import FencedJSON, parsed
from llm_mock.support.json_paths import steps_of, value_at
from llm_mock.support.text import shorten, shorten_name


def _checked_path(path: str) -> str:
    steps_of(path)
    return path


def _checked_transform(transform: str) -> str:
    return checked_name(transform) if _is_function(transform) else _checked_path(transform)


def _is_function(transform: str) -> bool:
    return ":" in transform and not transform.startswith("$")


JSONPath = Annotated[str, pydantic.AfterValidator(_checked_path)]
"""Keys and positions that lead to a part of JSON, such as `choices.0.message.content`."""
Transform = Annotated[str, pydantic.AfterValidator(_checked_transform)]
"""What is made of an output: what stands at a path of its JSON, `$.answer`, or what a function returns,
`checks.py:cleaned` beside the suite or `package.module:cleaned`."""


class TextAssertion(BaseAssertion):
    """What a text must be like."""

    of: Literal["output", "prompt", "system"] = "output"
    """What it looks at: the output, the prompt as it was asked, variables replaced, or the system prompt with it. Of an
    application those of the calls that it made of models."""
    transform: Transform | None = None
    """What is made of that for this assertion."""


class TransformFailed(LLMMockError):
    """Nothing could be made of an output; the message says why."""


def transformed(transform: str, output: str, context: RunContext) -> str:
    """What a transform makes of an output; a function is called as a `python` assertion calls one.

    Raises:
        TransformFailed: the output has no such part, or the function failed.
    """
    try:
        return _returned(transform, output, context) if _is_function(transform) else text_at(output, transform)
    except LLMMockError as error:
        raise TransformFailed(f"The transform {shorten_name(transform)}{error}") from None


def _returned(reference: str, output: str, context: RunContext) -> str:
    function = loaded_function(reference, context.folder or Path())
    return text_of(result_of(function, f"the transform {shorten_name(reference)}", output, context))


def text_of(returned: Any) -> str:
    """What a function returned, as text: else as JSON; the message of an LLMMockError goes on after the name."""
    if isinstance(returned, str):
        return returned
    if hasattr(returned, "model_dump_json"):
        return str(returned.model_dump_json())
    if returned is None:
        raise LLMMockError(" returned None. Is a return statement missing?")
    if inspect.iscoroutine(returned):
        returned.close()
        raise LLMMockError(" is async: give a plain function")
    try:
        return json.dumps(returned, ensure_ascii=False)
    except (TypeError, ValueError):
        kind = type(returned).__name__
        raise LLMMockError(f" returned an object of type {kind}: return a text, or what JSON can hold") from None


def text_at(output: str, path: str) -> str:
    """The text, or the JSON, at a path of an output; of the LLMMockError the message goes on after the path."""
    try:
        value = value_at(parsed(output), path)
    except FencedJSON as error:
        advice = "ask the model for JSON alone, or take it out of the fence with a function: file.py:function"
        raise LLMMockError(f" is looked for in JSON, and {error}: {advice}") from None
    except ValueError as error:
        raise LLMMockError(f" is looked for in JSON, which {shorten(output)} is not: {error}") from None
    except LLMMockError as error:
        raise LLMMockError(f": {error}") from None
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
