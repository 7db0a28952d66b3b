"""Load plugins from files, and find their tools."""

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
from llm_mock.specs.tool_functions import MAX_SHOWN_ERROR, ToolFunction
from llm_mock.support.text import format_error, shorten, shorten_message, shorten_name

MAX_NAME_LENGTH = 64
"""The maximum length of a tool name that providers accept."""
_NAME = re.compile(r"[A-Za-z0-9_-]+")


@dataclass(frozen=True)
class LoadedPlugin:
    """A plugin with its file."""

    plugin: LLMPlugin
    file: Path

    @property
    def source(self) -> str:
        """The class, file and line, for messages."""
        plugin_class = type(self.plugin)
        line = _find_line(plugin_class)
        return f"{plugin_class.__name__} ({self.file.name}:{line})"

    def error(self, problem: str, member: object = None) -> InvalidFile:
        """Return an error for the plugin, or for one of its members."""
        line = _find_line(member or type(self.plugin))
        return InvalidFile(f"{self.file}:{line}: {problem}")


def load_plugins(files: Iterable[Path]) -> Iterator[LoadedPlugin]:
    """Import Python files, and yield an instance of each plugin class.

    Classes whose names begin with `_` are skipped. Each plugin is yielded before the next one is
    loaded, so that it can clean up if that fails.

    Raises:
        InvalidFile: a plugin cannot be loaded.
    """
    loaded: dict[str, LoadedPlugin] = {}
    for number, file in enumerate(files):
        # With the number, because files in several folders may have the same name.
        module = _import_file(file, f"_llm_mock_plugin_{number}_{file.stem}")
        for plugin_class in _find_plugin_classes(module):
            plugin = _create_plugin(plugin_class, file)
            name = plugin.plugin.name
            if name in loaded:
                raise plugin.error(
                    f"the plugin {plugin_class.__name__} has the same name {name!r} as "
                    f"{loaded[name].source}. Set another name in one of them: name = '…'"
                )
            loaded[name] = plugin
            yield plugin


def get_plugin_tools(plugin: LoadedPlugin) -> Iterator[ToolFunction]:
    """Yield the tools of a plugin in the order of its code; those of base classes come first.

    Raises:
        InvalidFile: a method cannot be a tool.
    """
    for method in _list_public_methods(type(plugin.plugin)):
        bound = getattr(plugin.plugin, method)
        name = f"{plugin.plugin.name}_{method}"
        if len(name) > MAX_NAME_LENGTH:
            raise plugin.error(
                f"the tool name {name!r} has {len(name)} characters, but models accept at most "
                f"{MAX_NAME_LENGTH}: shorten the name of the method.",
                bound,
            )
        if inspect.isasyncgenfunction(bound):
            problem = "it is an async generator; return its values as a list"
            raise plugin.error(_describe_invalid_tool(name, problem), bound)
        if not inspect.iscoroutinefunction(bound):
            continue
        try:
            yield ToolFunction(name, bound)
        except Exception as error:  # pydantic raises several kinds for types that it cannot handle.
            raise plugin.error(_describe_invalid_tool(name, str(error)), bound) from error


def _describe_invalid_tool(tool: str, problem: str) -> str:
    return (
        f"the tool {tool!r} cannot be offered: {shorten_message(problem)}. Its parameters must "
        "have names and JSON types; the name of a method that is not a tool must begin with _."
    )


def _list_public_methods(plugin_class: type[LLMPlugin]) -> Iterator[str]:
    names: dict[str, None] = {}  # in their order, once each
    for base in reversed(plugin_class.__mro__):
        if base is not object:
            names.update(dict.fromkeys(vars(base)))
    for name in names:
        # Static lookup, so that no property is called.
        member = inspect.getattr_static(plugin_class, name)
        is_method = isinstance(member, (staticmethod, classmethod, FunctionType))
        is_public = not name.startswith("_") and name != "cleanup"
        if is_method and is_public:
            yield name


def _import_file(file: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses and type hints look up their module there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # pytest.skip and sys.exit raise exceptions of this kind.
        text = shorten_name(format_error(error), MAX_SHOWN_ERROR)
        problem = f"the plugin cannot be imported: {text}"
        if isinstance(error, ModuleNotFoundError):
            package = (error.name or "").partition(".")[0]
            if package == "llm_pytest":
                problem += ". Import the base class with: from llm_mock.specs import LLMPlugin"
        line = _find_error_line(error, file)
        raise InvalidFile(f"{file}:{line}: {problem}") from error
    return module


def _find_plugin_classes(module: ModuleType) -> list[type[LLMPlugin]]:
    """Return the plugin classes that a module defines itself."""
    # A class may have two names in its module, hence the dictionary.
    classes: dict[type[LLMPlugin], None] = {}
    for member in vars(module).values():
        if not isinstance(member, type) or not issubclass(member, LLMPlugin):
            continue
        is_own = member.__module__ == module.__name__
        is_base = member.__name__.startswith("_") or inspect.isabstract(member)
        if is_own and not is_base:
            classes[member] = None
    return list(classes)


def _create_plugin(plugin_class: type[LLMPlugin], file: Path) -> LoadedPlugin:
    subject = f"the plugin {plugin_class.__name__}"
    try:
        loaded = LoadedPlugin(plugin_class(), file)
    except Exception as error:
        text = shorten_name(format_error(error), MAX_SHOWN_ERROR)
        line = _find_error_line(error, file)
        raise InvalidFile(f"{file}:{line}: {subject} cannot be created: {text}") from error
    name = loaded.plugin.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise loaded.error(
            f"{subject} has the name {shorten(name)}; use only letters, digits, _ and -."
        )
    return loaded


def _find_line(member: Any) -> int:
    """Return the first line of a class or a method, from 1."""
    try:
        _, line = inspect.getsourcelines(inspect.unwrap(member))
    except (OSError, TypeError):
        return 1
    return max(1, line)


def _find_error_line(error: BaseException, file: Path) -> int:
    """Return the line of a file in which an error was raised, from 1."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if frame.filename == str(file) and frame.lineno:
            return frame.lineno
    return 1
