"""The scripts of `llm-mock serve`: a YAML file of replies, or a function that configures the mock."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pydantic

from llm_mock.behaviour.scripted_replies import ScriptedReply, matchers_of, reply_of
from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import yaml_files
from llm_mock.support.text import error_text, shorten, shown_path, suggestion

UNLIMITED = sys.maxsize


class ServeScript(pydantic.BaseModel):
    """A script: the replies, of which the first that fits answers."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    replies: tuple[ScriptedReply, ...]


def configure(responses: ResponseConfigurator, script: str) -> None:
    """Configure a mock.

    Args:
        responses: of the mock.
        script: the path of a YAML file, or `package.module:function`; the function is called with `responses`.

    Raises:
        LLMMockError: the script is wrong.
    """
    module, colon, function = script.rpartition(":")
    if colon and function.isidentifier() and not Path(script).exists():
        _call(_function(module, function), script, responses)
    else:
        _configure_from_file(responses, Path(script))


def _configure_from_file(responses: ResponseConfigurator, path: Path) -> None:
    document = yaml_files.load(path)
    standing: dict[tuple[str, str | None], tuple[int, Any]] = {}
    for position, scripted in enumerate(document.as_model(ServeScript, _owner).replies):
        here = ("replies", position)
        try:
            answer = reply_of(scripted)
        except LLMMockError as error:
            raise document.error(f"reply {position + 1}: {error}", here) from None
        schema = scripted.schema_name
        if scripted.is_conditional:
            times = scripted.times or UNLIMITED
            responses.add(scripted.model, answer, times=times, optional=True, **matchers_of(scripted))
            continue
        key = scripted.model, schema
        if key in standing:
            raise document.error(
                f"reply {position + 1}: is never given, as that on line {standing[key][0]} is for the same calls, and "
                "they all. Give one of them a prompt, a system or times.",
                here,
            )
        standing[key] = document.line_of(here), answer
    for (model, schema), (_, answer) in reversed(standing.items()):  # of two globs the one that was set last answers
        responses.set(model, answer, schema=schema)


def _owner(location: Any) -> tuple[str, int]:
    if len(location) > 1 and isinstance(location[1], int):
        return f"reply {location[1] + 1}", 2
    return "", 0


def _function(module: str, name: str) -> Callable[..., Any]:
    sys.path.insert(0, os.getcwd())
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise InvalidFile(f"{module} cannot be imported: {error_text(error)}{_place(error)}") from None
    function = getattr(found, name, None)
    if not callable(function):
        there = [other for other, value in vars(found).items() if callable(value)]
        raise InvalidFile(f"{module} has no function {shorten(name)}{suggestion(name, there)}")
    return function  # type: ignore[no-any-return]


def _call(function: Callable[..., Any], script: str, responses: ResponseConfigurator) -> None:
    try:
        function(responses)
    except LLMMockError:
        raise
    except Exception as error:
        raise InvalidFile(f"{script} raised {error_text(error)}{_place(error)}") from None


def _place(error: Exception) -> str:
    """Where in the project's code an error was raised."""
    if isinstance(error, SyntaxError) and error.filename:
        return f" ({shown_path(error.filename)}:{error.lineno})"
    files = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    own = [place for place in files if place[0].startswith(os.getcwd()) and "site-packages" not in place[0]]
    return f" ({shown_path(own[-1][0])}:{own[-1][1]})" if own else ""
