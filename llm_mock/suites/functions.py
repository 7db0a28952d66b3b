"""Assertions that call a function of the project: from a file beside the suite, or from a module."""

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
from typing import Any

from llm_mock.agents.result import AgentResult, Finding
from llm_mock.errors import LLMMockError
from llm_mock.suites import explain_assertions as explain
from llm_mock.suites.outcome import Outcome

_loaded: dict[Path, tuple[tuple[int, int], ModuleType]] = {}
"""The files that were loaded, as they were then: when they were changed last, and their size."""
_loading = threading.RLock()


def call(reference: str, output: str, result: AgentResult | None, folder: Path) -> Outcome:
    """Call a function with an output.

    Args:
        reference: `file.py:function` or `package.module:function`.
        output: its first argument.
        result: its second argument, where it takes one.
        folder: where the file lies; modules are looked for there too.
    """
    try:
        function = _function(reference, folder)
    except LLMMockError as error:
        return Outcome(None, str(error))
    try:
        returned = function(output, result) if _takes_two(function) else function(output)
    except AssertionError as error:
        return Outcome(False, explain.function_asserted(reference, *_raised(error, function)))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever the project's code raises, such as SystemExit, the other cases go on
        return Outcome(None, explain.function_raised(reference, error, _raised(error, function)[1]))
    return _outcome(reference, returned)


def _outcome(reference: str, returned: Any) -> Outcome:
    if isinstance(returned, Finding):
        returned = bool(returned), returned.reason
    if isinstance(returned, bool):
        returned = returned, ""
    if isinstance(returned, tuple) and [type(part) for part in returned] == [bool, str]:
        return Outcome(returned[0], explain.function_returned(reference, *returned))
    if inspect.iscoroutine(returned):
        returned.close()
    return Outcome(None, explain.function_returned_nonsense(reference, returned))


def _takes_two(function: Callable[..., Any]) -> bool:
    try:
        inspect.signature(function).bind("", None)
    except (TypeError, ValueError):  # ValueError: some functions of C do not say what they take
        return False
    return True


def _raised(error: BaseException, function: Callable[..., Any]) -> tuple[str, str]:
    """What an error says, or the line that raised it; and where that is in the project's code, if anywhere."""
    own = getattr(inspect.unwrap(function), "__code__", None)
    frames = traceback.extract_tb(error.__traceback__)[1:]
    place = next((frame for frame in reversed(frames) if own and frame.filename == own.co_filename), None)
    place = place or (frames[-1] if frames else None)
    if place is None:
        return str(error), ""
    return str(error) or (place.line or ""), f"{_shown(place.filename)}:{place.lineno}"


def _shown(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file


# --- Finding a function ---------------------------------------------------------------------------------------------


def _function(reference: str, folder: Path) -> Callable[..., Any]:
    """The function.

    Raises:
        LLMMockError: there is none, or what holds it cannot be loaded.
    """
    name, _, function = reference.rpartition(":")
    with _loading, _importable(folder):
        module = _from_file(folder / name, reference) if name.endswith(".py") else _from_module(name, reference)
    found: Any = getattr(module, function, None)
    if not callable(found):
        there = [other for other, value in vars(module).items() if inspect.isfunction(value)]
        raise LLMMockError(explain.no_function(reference, function, name, there))
    return found  # type: ignore[no-any-return]


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Let modules beside the suite be imported meanwhile."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):  # the project's code may have removed it itself
            sys.path.remove(entry)


def _from_file(path: Path, reference: str) -> ModuleType:
    path = path.resolve()
    try:
        status = path.stat()
        stamp = status.st_mtime_ns, status.st_size
        if path not in _loaded or _loaded[path][0] != stamp:
            _loaded[path] = stamp, _executed(path)
    except OSError as error:
        raise LLMMockError(explain.no_file(reference, path, error)) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise LLMMockError(explain.not_loaded(reference, error, _line_of(error, str(path)))) from None
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


def _from_module(name: str, reference: str) -> ModuleType:
    try:
        if name not in sys.modules:
            importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise LLMMockError(explain.no_module(reference, str(error.name))) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise LLMMockError(explain.not_loaded(reference, error, _line_of(error, None))) from None


def _line_of(error: BaseException, file: str | None) -> str:
    """Where the code of the project is wrong: that of a file, or the innermost."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{_shown(error.filename)}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    place = next((frame for frame in reversed(frames) if frame.filename == file), frames[-1])
    return f"{_shown(place.filename)}:{place.lineno}"
