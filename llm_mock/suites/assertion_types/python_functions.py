"""Functions of the project that a suite names: from a file beside it, or from a module."""

from __future__ import annotations

import importlib
import inspect
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pydantic

from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import RunContext, reported_error
from llm_mock.suites.time_limit import CaseTimedOut
from llm_mock.support.files import read_file
from llm_mock.support.text import shown_path, suggestion

_loaded: dict[Path, tuple[bytes, ModuleType]] = {}
"""The files that were loaded, with what they held then."""
_loading = threading.RLock()


def checked_name(function: str) -> str:
    """The name of a function; ValueError where it is none."""
    module, _, name = function.rpartition(":")
    if not module.strip() or not name.isidentifier():
        raise ValueError("should be file.py:function or package.module:function")
    if module.endswith(".py") and (Path(module).is_absolute() or ".." in Path(module).parts):
        raise ValueError(f"{module!r} lies outside of the suite's folder; name a module: package.module:{name}")
    return function


FunctionName = Annotated[str, pydantic.AfterValidator(checked_name)]
"""`checks.py:is_polite`, a file beside the suite, or `package.module:is_polite`."""


def raised_at(error: BaseException, function: Callable[..., Any]) -> tuple[str, str]:
    """The line of the project's code that raised an error, and in brackets where it is; empty where there is none."""
    own = getattr(inspect.unwrap(function), "__code__", None)
    place = _frame(error, own.co_filename if own else None)
    return (place.line or "", f" ({shown_path(place.filename)}:{place.lineno})") if place else ("", "")


def _frame(error: BaseException, file: str | None) -> traceback.FrameSummary | None:
    """Where in a file an error was raised, or the innermost place; None where no code of Python was called."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    return next((frame for frame in reversed(frames) if frame.filename == file), frames[-1] if frames else None)


def called(function: Callable[..., Any], output: str, context: RunContext) -> Any:
    """What a function of the project returns that is called with an output, and with what else it takes.

    That is a second argument, the `AgentResult`, and by their names the `variables` and the `case`.
    """
    known = {"variables": {} if context.case is None else context.case.values, "case": context.case}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some functions of C do not say what they take
        return function(output)
    named = {name: known[name] for name in known.keys() & signature.parameters.keys()}
    try:
        signature.bind("", None, **named)
    except TypeError:
        return function(output, **named)
    return function(output, context.result, **named)


def result_of(
    function: Callable[..., Any],
    name: str,
    output: str,
    context: RunContext,
    passing: tuple[type[BaseException], ...] = (),
) -> Any:
    """What a function of the project returns; see `called`. What it raises ends this case alone.

    Args:
        function: the function.
        name: what the error of a run calls it that is ended in it.
        output: what it is given.
        context: what else it may take.
        passing: exceptions that are raised as they are.

    Raises:
        LLMMockError: the function raised another one; the message goes on after its name.
    """
    try:
        return called(function, output, context)
    except KeyboardInterrupt:
        raise
    except passing:
        raise
    except CaseTimedOut as error:
        error.during = f"{name}{raised_at(error, function)[1]}"
        raise
    except BaseException as error:  # whatever the project's code raises, such as SystemExit, the other cases go on
        raise LLMMockError(f" raised {reported_error(error)}{raised_at(error, function)[1]}") from None


def loaded_function(reference: str, folder: Path) -> Callable[..., Any]:
    """The function; the message of the LLMMockError where there is none goes on after the reference."""
    name, _, function = reference.rpartition(":")
    path = (folder / name).resolve() if name.endswith(".py") else None
    if path is not None and not path.is_relative_to(folder.resolve()):
        raise LLMMockError(f": {name} leads to {path}, outside of the suite's folder")
    try:
        with _loading, _importable(folder):
            module = _from_module(name) if path is None else _from_file(path)
    except (LLMMockError, KeyboardInterrupt, CaseTimedOut):
        raise
    except BaseException as error:
        place: Any = error if isinstance(error, SyntaxError) and error.filename else _frame(error, str(path))
        where = f"{shown_path(place.filename)}:{place.lineno}"
        raise LLMMockError(f" cannot be loaded: {reported_error(error)} ({where})") from None
    found: Any = getattr(module, function, None)
    if not callable(found):
        there = [other for other, value in vars(module).items() if inspect.isfunction(value)]
        raise LLMMockError(f": {name} has no function {function!r}{suggestion(function, there)}")
    return found  # type: ignore[no-any-return]


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules beside the suite be imported."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):  # the project's code may have removed it itself
            sys.path.remove(entry)


def _from_file(path: Path) -> ModuleType:
    """A file as a module of its own, which leaves no compiled file beside it; a file that changed is loaded again."""
    try:
        source = read_file(path)
    except OSError as error:
        raise LLMMockError(f": {path} cannot be read: {error.strerror}") from None
    if path not in _loaded or _loaded[path][0] != source:
        code = compile(source, str(path), "exec")
        module = ModuleType(f"llm_mock_suite_{path.stem}_{abs(hash(path))}")
        module.__file__ = str(path)
        linecache.checkcache(str(path))
        sys.modules[module.__name__] = module  # dataclasses look their module up
        exec(code, vars(module))
        _loaded[path] = source, module
    return _loaded[path][1]


def _from_module(name: str) -> ModuleType:
    try:
        if name not in sys.modules:
            importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = f"a file beside the suite is {error.name}.py:…"
        raise LLMMockError(f": there is no module {str(error.name)!r}; {hint}") from None
