"""Scripts of `llm-mock serve`: a YAML file of replies, or a function that configures the mock."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic

from llm_mock.behaviour.scripted_replies import ScriptedReply, build_matchers, build_reply
from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import yaml_files
from llm_mock.support.text import format_error, format_path, shorten, suggest_name
from llm_mock.support.validation import Location

UNLIMITED = sys.maxsize


class ServeScript(pydantic.BaseModel):
    """A script of replies; the first one that fits a call answers it."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    replies: tuple[ScriptedReply, ...]


def configure(responses: ResponseConfigurator, script: str) -> None:
    """Configure the replies of a mock.

    Args:
        responses: the configurator of the mock.
        script: the path of a YAML file, or `package.module:function`, which is called with
            `responses`.

    Raises:
        LLMMockError: the script is wrong.
    """
    module, colon, function_name = script.rpartition(":")
    is_function = colon and function_name.isidentifier() and not Path(script).exists()
    if is_function:
        function = _import_function(module, function_name)
        _call(function, script, responses)
    else:
        _configure_from_file(responses, Path(script))


def _configure_from_file(responses: ResponseConfigurator, path: Path) -> None:
    document = yaml_files.load(path)
    script = document.as_model(ServeScript, _describe_location)
    # Replies without a condition, by model and schema, each with its line.
    unconditional: dict[tuple[str, str | None], tuple[int, Any]] = {}
    for position, scripted in enumerate(script.replies):
        location = ("replies", position)
        try:
            reply = build_reply(scripted)
        except LLMMockError as error:
            raise document.error(f"reply {position + 1}: {error}", location) from None
        if scripted.is_conditional:
            times = scripted.times or UNLIMITED
            matchers = build_matchers(scripted)
            # A server has no end at which all replies must have been used.
            responses.add(
                scripted.model,
                reply,
                times=times,
                optional=True,
                **matchers,
            )
            continue
        key = scripted.model, scripted.schema_name
        if key in unconditional:
            line, _ = unconditional[key]
            raise document.error(
                f"reply {position + 1}: is never given, as that on line {line} is for the same "
                "calls, and they all. Give one of them a prompt, a system or times.",
                location,
            )
        unconditional[key] = document.line_of(location), reply
    # Reversed: if two globs match, the one that is set last answers.
    for (model, schema), (_, reply) in reversed(unconditional.items()):
        responses.set(model, reply, schema=schema)


def _describe_location(location: Location) -> tuple[str, int]:
    """Return the name of the part that a location is in, and the number of its keys."""
    if len(location) > 1 and isinstance(location[1], int):
        return f"reply {location[1] + 1}", 2
    return "", 0


def _import_function(module_name: str, name: str) -> Callable[..., Any]:
    # Installed commands do not have the current folder on their path.
    sys.path.insert(0, os.getcwd())
    try:
        module = importlib.import_module(module_name)
    except Exception as error:
        place = _format_location(error)
        reason = f"{format_error(error)}{place}"
        raise InvalidFile(f"{module_name} cannot be imported: {reason}") from None
    function: object = getattr(module, name, None)
    if callable(function):
        return function
    functions = []
    for other, value in vars(module).items():
        if callable(value):
            functions.append(other)
    hint = suggest_name(name, functions)
    raise InvalidFile(f"{module_name} has no function {shorten(name)}{hint}")


def _call(function: Callable[..., object], script: str, responses: ResponseConfigurator) -> None:
    try:
        function(responses)
    except LLMMockError:
        raise
    except Exception as error:
        reason = f"{format_error(error)}{_format_location(error)}"
        raise InvalidFile(f"{script} raised {reason}") from None


def _format_location(error: Exception) -> str:
    """Return the file and line of the project's code that raised an error, in brackets."""
    if isinstance(error, SyntaxError) and error.filename:
        path = format_path(error.filename)
        return f" ({path}:{error.lineno})"
    folder = os.getcwd()
    location = ""
    # The last frame of the project is the closest to the error.
    for frame in traceback.extract_tb(error.__traceback__):
        file = frame.filename
        if not file.startswith(folder) or "site-packages" in file:
            continue
        location = f" ({format_path(file)}:{frame.lineno})"
    return location
