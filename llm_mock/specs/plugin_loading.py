"""Loads plugins from files, and finds their tools."""

from __future__ import annotations

import importlib.util
import inspect
import re
import sys
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from llm_mock.errors import InvalidFile
from llm_mock.specs.plugin_base import LLMPlugin
from llm_mock.specs.tool_functions import SHOWN_ERROR, ToolFunction
from llm_mock.support.text import error_text, shorten, shorten_name

LONGEST_NAME = 64
"""Characters that a tool's name may have, as the providers of models take it."""
_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin, and its file."""

    plugin: LLMPlugin
    file: Path

    @property
    def place(self) -> str:
        """Its class with file and line, for messages."""
        return f"{type(self.plugin).__name__} ({self.file.name}:{_line(type(self.plugin))})"

    def error(self, problem: str, member: Any = None) -> InvalidFile:
        """An error about it, or about one of its members."""
        return InvalidFile(f"{self.file}:{_line(member or type(self.plugin))}: {problem}")


def load_plugins(files: Iterable[Path]) -> Iterator[LoadedPlugin]:
    """Import Python files, and make one instance of each plugin class in them whose name does not begin with `_`.

    Each is yielded as soon as it is made, so that it can be cleaned up if a later one fails: with an InvalidFile.
    """
    loaded: dict[str, LoadedPlugin] = {}
    for number, file in enumerate(files):
        for each in _classes(_imported(file, f"_llm_mock_plugin_{number}_{file.stem}")):
            plugin = _made(each, file)
            other = loaded.setdefault(plugin.plugin.name, plugin)
            if other is not plugin:
                both = f"the plugin {each.__name__} has the name {plugin.plugin.name!r}, as {other.place} has"
                raise plugin.error(f"{both}. Give one of them another: name = '…'")
            yield plugin


def tools_of(plugin: LoadedPlugin) -> Iterator[ToolFunction]:
    """The tools of a plugin, in the order in which they are written; those of a base class come first."""
    for method in _public_methods(type(plugin.plugin)):
        bound = getattr(plugin.plugin, method)
        name = f"{plugin.plugin.name}_{method}"
        if len(name) > LONGEST_NAME:
            problem = f"has {len(name)} characters, and models take {LONGEST_NAME}: shorten the method's."
            raise plugin.error(f"the name of the tool {name!r} {problem}", bound)
        if inspect.isasyncgenfunction(bound):
            raise plugin.error(_not_offered(name, "it is an async generator; return its values as a list"), bound)
        if not inspect.iscoroutinefunction(bound):
            continue
        try:
            yield ToolFunction(name, bound)
        except Exception as error:
            raise plugin.error(_not_offered(name, str(error)), bound) from error


def _not_offered(tool: str, problem: str) -> str:
    return (
        f"the tool {tool!r} cannot be offered: {shorten_name(problem, 300)}. Give its arguments names and types that "
        "JSON has; a method that is no tool begins with _."
    )


def _public_methods(plugin: type[LLMPlugin]) -> Iterator[str]:
    names = [name for each in reversed(plugin.__mro__) if each is not object for name in vars(each)]
    for name in dict.fromkeys(names):
        is_method = isinstance(inspect.getattr_static(plugin, name), (staticmethod, classmethod, FunctionType))
        if is_method and not name.startswith("_") and name != "cleanup":
            yield name


def _imported(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses and type hints look for it
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also what pytest.skip and sys.exit raise
        problem = f"the plugin cannot be imported: {shorten_name(error_text(error), SHOWN_ERROR)}"
        if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "llm_pytest":
            problem += " Import the base class so: from llm_mock.specs import LLMPlugin"
        raise InvalidFile(f"{file}:{_line_of_error(error, file)}: {problem}") from error
    return module


def _classes(module: ModuleType) -> list[type[LLMPlugin]]:
    """The plugins that a module has itself, and does not import from another."""
    found = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, LLMPlugin)]
    own = [each for each in dict.fromkeys(found) if each.__module__ == module.__name__]
    return [each for each in own if not each.__name__.startswith("_") and not inspect.isabstract(each)]


def _made(plugin: type[LLMPlugin], file: Path) -> LoadedPlugin:
    try:
        loaded = LoadedPlugin(plugin(), file)
    except Exception as error:
        problem = f"the plugin {plugin.__name__} cannot be made: {shorten_name(error_text(error), SHOWN_ERROR)}"
        raise InvalidFile(f"{file}:{_line_of_error(error, file)}: {problem}") from error
    name = loaded.plugin.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        problem = f"has the name {shorten(name)}; give a text of letters, digits, _ and -."
        raise loaded.error(f"the plugin {plugin.__name__} {problem}")
    return loaded


def _line(member: Any) -> int:
    """The line where a class or a method begins, from 1."""
    try:
        return max(1, inspect.getsourcelines(inspect.unwrap(member))[1])
    except (OSError, TypeError):
        return 1


def _line_of_error(error: BaseException, file: Path) -> int:
    """The line of a file where an error arose, from 1."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    return next(filter(None, reversed(lines)), 1)
