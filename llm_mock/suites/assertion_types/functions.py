"""The assertion that calls a function of the project: from a file beside the suite, or from a module."""

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
from typing import Any, Literal

import pydantic

from llm_mock.agents.result import Finding
from llm_mock.errors import LLMMockError
from llm_mock.suites.assertion_types.base import BaseAssertion, Outcome, RunContext, reported, reported_error
from llm_mock.support.text import shorten_name, shown_path, suggestion

_loaded: dict[Path, tuple[tuple[int, int], ModuleType]] = {}
"""The files that were loaded, as they were then: when they were changed last, and their size."""
_loading = threading.RLock()


class PythonAssertion(BaseAssertion):
    """A function of the project says whether the output is right.

    It is called with the output (a text) and, where it takes a second argument, the `AgentResult`. It returns true or
    false, or `(true or false, message)`, or raises AssertionError.
    """

    type: Literal["python", "not_python"] = "python"
    function: str
    """`checks.py:is_polite`, a file beside the suite, or `package.module:is_polite`."""

    @pydantic.field_validator("function")
    @classmethod
    def _names_function(cls, function: str) -> str:
        module, _, name = function.rpartition(":")
        if not module.strip() or not name.isidentifier():
            raise ValueError("should be file.py:function or package.module:function")
        return function

    def check(self, output: str, context: RunContext) -> Outcome:
        try:
            function = _function(self.function, context.folder or Path())
        except LLMMockError as error:
            return Outcome(None, f"{shorten_name(self.function)}{error}")
        holds, message = _called(function, output, context)
        return Outcome(holds, f"{shorten_name(self.function)}{message}")


def _called(function: Callable[..., Any], output: str, context: RunContext) -> tuple[bool | None, str]:
    """Whether a function finds the output right, and how the message about it goes on after its name."""
    try:
        returned = function(output, context.result) if _takes_two(function) else function(output)
    except AssertionError as error:
        line, place = _raised_at(error, function)
        return False, f": {reported(str(error) or line)}{place}"
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the project's code raises, such as SystemExit, the other cases go on
        return None, f" raised {reported_error(error)}{_raised_at(error, function)[1]}"
    if isinstance(returned, Finding):
        returned = bool(returned), returned.reason
    if isinstance(returned, bool):
        returned = returned, ""
    if isinstance(returned, tuple) and [type(part) for part in returned] == [bool, str]:
        return returned[0], f": {reported(returned[1]) or str(returned[0]).lower()}"
    return None, f" returned {_nonsense(returned)}"


def _nonsense(returned: Any) -> str:
    """What a function returned that does not say whether the output is right."""
    hint = ". Is a return statement missing?" if returned is None else ""
    if inspect.iscoroutine(returned):
        returned.close()
        hint = ". It is async: give a plain function"
    shown = "None" if returned is None else f"an object of type {type(returned).__name__}"
    return f"{shown}, not true or false, or (true or false, message){hint}"


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("", None)
    except (TypeError, ValueError):  # ValueError: some functions of C do not say what they take
        return False
    return True


def _raised_at(error: BaseException, function: Callable[..., Any]) -> tuple[str, str]:
    """The line of the project's code that raised an error, and in brackets where it is; empty where there is none."""
    own = getattr(inspect.unwrap(function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    place = next((frame for frame in reversed(frames) if own and frame.filename == own.co_filename), None)
    place = place or (frames[-1] if frames else None)
    return (place.line or "", f" ({shown_path(place.filename)}:{place.lineno})") if place else ("", "")


# --- Finding a function ---------------------------------------------------------------------------------------------


def _function(reference: str, folder: Path) -> Callable[..., Any]:
    """The function.

    Raises:
        LLMMockError: there is none, or what holds it cannot be loaded. The message goes on after the reference.
    """
    name, _, function = reference.rpartition(":")
    with _loading, _importable(folder):
        module = _from_file(folder / name) if name.endswith(".py") else _from_module(name)
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
    path = path.resolve()
    try:
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size
        if path not in _loaded or _loaded[path][0] != stamp:
            _loaded[path] = stamp, _executed(path)
    except OSError as error:
        raise LLMMockError(f": {path} cannot be read: {error.strerror}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise LLMMockError(_not_loaded(error, str(path))) from None
    return _loaded[path][1]


def _executed(path: Path) -> ModuleType:
    """A file as a module of its own, which leaves no compiled file beside it."""
    module = ModuleType(f"llm_mock_suite_{path.stem}_{abs(hash(path))}")
    module.__file__ = str(path)
    code = compile(path.read_bytes(), str(path), "exec")
    linecache.checkcache(str(path))
    sys.modules[module.__name__] = module  # dataclasses look their module up
    exec(code, vars(module))
    return module


def _from_module(name: str) -> ModuleType:
    try:
        if name not in sys.modules:
            importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = f"a file beside the suite is {error.name}.py:…"
        raise LLMMockError(f": there is no module {str(error.name)!r}; {hint}") from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise LLMMockError(_not_loaded(error, None)) from None


def _not_loaded(error: BaseException, file: str | None) -> str:
    return f" cannot be loaded: {reported_error(error)} ({_line_of(error, file)})"


def _line_of(error: BaseException, file: str | None) -> str:
    """Where the code of the project is wrong: that of a file, or the innermost."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{shown_path(error.filename)}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename == file), frames[-1])
    return f"{shown_path(place.filename)}:{place.lineno}"
