"""Scripts of `llm-mock serve`: a YAML file of replies, or a function that configures the mock."""

from __future__ import annotations

import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from llm_mock.behaviour.reply_lists import ReplyList, UnusableReply, configure_replies
from llm_mock.core.configurator import ResponseConfigurator
from llm_mock.errors import InvalidFile, LLMMockError
from llm_mock.support import yaml_files
from llm_mock.support.text import format_error, format_path, shorten, suggest_name
from llm_mock.support.validation import Location


class ServeScript:
    """A script of replies, which can configure several mocks.

    Args:
        script: the path of a YAML file, or `package.module:function`, which is called with the
            configurator of each mock.

    Raises:
        LLMMockError: the file is wrong, or the function cannot be imported.
    """

    def __init__(self, script: str) -> None:
        module, colon, function_name = script.rpartition(":")
        is_function = colon and function_name.isidentifier() and not Path(script).exists()
        self._name = script
        self._function: Callable[..., object] | None = None
        if is_function:
            self._function = _import_function(module, function_name)
        else:
            self._document = yaml_files.load(Path(script))
            if isinstance(self._document.data, list):
                raise self._document.error("is a list; put the list under the key 'replies'")
            self._replies = self._document.as_model(ReplyList, _describe_location)

    def configure(self, responses: ResponseConfigurator) -> None:
        """Configure the replies of a mock.

        Args:
            responses: the configurator of the mock.

        Raises:
            LLMMockError: the script is wrong.
        """
        if self._function is not None:
            _call(self._function, self._name, responses)
        else:
            self._configure_document(responses)
        # A server has no end at which all replies must have been used.
        for reply in responses.replies.get_queued():
            reply.optional = True

    def _configure_document(self, responses: ResponseConfigurator) -> None:
        try:
            configure_replies(responses, self._replies, self._describe_line)
        except UnusableReply as error:
            location = ("replies", error.position)
            problem = f"reply {error.position + 1}: {error}"
            raise self._document.error(problem, location) from None

    def _describe_line(self, position: int) -> str:
        return f"that on line {self._document.line_of(('replies', position))}"


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
        if module_name.endswith(".py"):
            module_name_of_file = module_name.removesuffix(".py").strip("./").replace("/", ".")
            advice = f"write the module: {module_name_of_file}:{name}"
            raise InvalidFile(f"{shorten(module_name)} is a file name; {advice}") from None
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
        inspect.signature(function).bind(responses)
    except TypeError:
        name = script.rpartition(":")[2]
        example = f"def {name}(mock): …"
        raise InvalidFile(f"{script} must take one argument, the mock: {example}") from None
    except ValueError:
        # Functions in C may have no signature.
        pass
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
