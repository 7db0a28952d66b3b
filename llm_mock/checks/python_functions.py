"""Load and call the Python functions that a suite names."""

from __future__ import annotations

import importlib
import inspect
import linecache
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import pydantic

from llm_mock.checks.base import RunContext, format_error
from llm_mock.errors import LLMMockError
from llm_mock.support.files import read_file
from llm_mock.support.text import format_path, suggest_name
from llm_mock.support.time_limit import CaseTimedOut

_loaded_files: dict[Path, tuple[bytes, ModuleType]] = {}
"""The loaded files: each with its source and its module."""
# Reentrant, as a file that is loaded may itself load a suite.
_load_lock = threading.RLock()


class ModelRefused(LLMMockError):
    """Code of the project called a model, or another machine, in a dry run.

    The message says what it did, as the reason why a check is skipped.
    """


def validate_reference(reference: str) -> str:
    """Validate a reference to a function, and return it unchanged.

    Raises:
        ValueError: the reference is malformed, or names a file outside of the suite's folder.
    """
    module, _, name = reference.rpartition(":")
    if not module.strip() or not name.isidentifier():
        raise ValueError("should be file.py:function or package.module:function")
    if module.endswith(".py"):
        problem = find_path_problem(module)
        if problem is not None:
            raise ValueError(f"{problem}; use a module instead: package.module:{name}")
    return reference


def find_path_problem(file: str) -> str | None:
    """Return the problem with a path that leads out of the suite's folder, or None."""
    path = Path(file)
    if path.is_absolute() or ".." in path.parts:
        return f"{file!r} is outside of the suite's folder"
    return None


FunctionReference = Annotated[str, pydantic.AfterValidator(validate_reference)]
"""`checks.py:is_polite` for a file next to the suite, or `package.module:is_polite`."""


def find_error_source(error: BaseException, function: Callable[..., object]) -> tuple[str, str]:
    """Return the source line that raised an error, and ` (file:line)`; empty texts if unknown."""
    code = getattr(inspect.unwrap(function), "__code__", None)
    frame = _find_frame(error, code.co_filename if code else None)
    # A function written in C has no frame: the innermost one is then the call in this module.
    if frame is None or frame.filename == __file__:
        return "", ""
    path = format_path(frame.filename)
    return frame.line or "", f" ({path}:{frame.lineno})"


def _find_frame(error: BaseException, file: str | None) -> traceback.FrameSummary | None:
    """Return the innermost frame in a file, else the innermost of all; None without frames."""
    # The first frame is the call in this module.
    frames = traceback.extract_tb(error.__traceback__)[1:]
    for frame in reversed(frames):
        if frame.filename == file:
            return frame
    return frames[-1] if frames else None


def call_function(function: Callable[..., object], output: object, context: RunContext) -> Any:
    """Call a function of the project with the output and the other arguments that it takes.

    These are the `AgentResult` as second argument, and `variables` and `case` by name.
    """
    if context.case is None:
        variables = {}
    else:
        variables = context.case.values
    available = {"variables": variables, "case": context.case}
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Some functions written in C have no signature.
        return function(output)
    named = {name: value for name, value in available.items() if name in signature.parameters}
    try:
        signature.bind("", None, **named)
    except TypeError:
        return function(output, **named)
    return function(output, context.result, **named)


def call_safely(
    function: Callable[..., object],
    name: str,
    output: object,
    context: RunContext,
    passing: tuple[type[BaseException], ...] = (),
) -> Any:
    """Call a function of the project and turn its exceptions into LLMMockError.

    Args:
        function: the function; see `call_function`.
        name: the name of the function in the error of a run that times out in it.
        output: the first argument.
        context: the source of the other arguments.
        passing: exceptions to pass on unchanged.

    Raises:
        LLMMockError: the function raised; the message is the part after the function's name.
        ModelRefused: the function called a model in a dry run, even if it handled the error.
    """
    if not context.dry_run:
        return _call_safely(function, name, output, context, passing)
    # Imported here, as it imports both boundaries, which checks of a live run do not need.
    from llm_mock.checks.model_guard import refuse_models

    errors: tuple[type[BaseException], ...] = (LLMMockError, *passing)
    with refuse_models() as get_refusals:
        try:
            returned = _call_safely(function, name, output, context, passing)
        except errors:
            _raise_refusal(get_refusals())
            raise
        _raise_refusal(get_refusals())
    return returned


def _raise_refusal(refusals: Sequence[str]) -> None:
    if refusals:
        raise ModelRefused("its function asks a model or another machine") from None


def _call_safely(
    function: Callable[..., object],
    name: str,
    output: object,
    context: RunContext,
    passing: tuple[type[BaseException], ...],
) -> Any:
    try:
        return call_function(function, output, context)
    except KeyboardInterrupt:
        raise
    except passing:
        raise
    except CaseTimedOut as error:
        error.during = f"{name}{find_error_source(error, function)[1]}"
        raise
    except BaseException as error:
        # Includes SystemExit: the project's code may end its own case, but not the run.
        place = find_error_source(error, function)[1]
        raise LLMMockError(f" raised {format_error(error)}{place}") from None


def load_function(reference: str, folder: Path) -> Callable[..., Any]:
    """Return the function that a reference names.

    Args:
        reference: `file.py:function` or `package.module:function`.
        folder: the folder of files, from which modules can be imported, too.

    Raises:
        LLMMockError: there is no such function; the message is the part after the reference.
    """
    module_name, _, function_name = reference.rpartition(":")
    path = None
    if module_name.endswith(".py"):
        path = resolve_file(module_name, folder)
    try:
        with _load_lock, _importable(folder):
            if path is None:
                module = _import_module(module_name)
            else:
                module = _load_file(path)
    except (LLMMockError, KeyboardInterrupt, CaseTimedOut):
        raise
    except BaseException as error:
        place: Any = _find_frame(error, str(path))
        if isinstance(error, SyntaxError) and error.filename:
            # Code with a syntax error never ran, so no frame is in it.
            place = error
        where = f"{format_path(place.filename)}:{place.lineno}"
        raise LLMMockError(f" cannot be loaded: {format_error(error)} ({where})") from None
    function: Any = getattr(module, function_name, None)
    if not callable(function):
        known = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        hint = suggest_name(function_name, known)
        raise LLMMockError(f": {module_name} has no function {function_name!r}{hint}")
    return function  # type: ignore[no-any-return]


def resolve_file(name: str, folder: Path) -> Path:
    """Return the path of a file in the folder.

    Raises:
        LLMMockError: the file is outside of it; the message is the part after the reference.
    """
    # Resolved, as a symbolic link may lead out of the folder.
    path = (folder / name).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise LLMMockError(f": {name} leads to {path}, outside of the suite's folder")
    return path


@contextmanager
def _importable(folder: Path) -> Iterator[None]:
    """Allow imports of modules beside the suite."""
    entry = str(folder.resolve())
    sys.path.insert(0, entry)
    try:
        yield
    finally:
        with suppress(ValueError):  # The project's code may have removed it itself.
            sys.path.remove(entry)


def _load_file(path: Path) -> ModuleType:
    """Return a file as a module; a changed file is loaded again."""
    try:
        source = read_file(path)
    except OSError as error:
        raise LLMMockError(f": {path} cannot be read: {error.strerror}") from None
    if path in _loaded_files:
        loaded_source, module = _loaded_files[path]
        if loaded_source == source:
            return module
    # Compiled here instead of imported, so that no __pycache__ appears beside the suite.
    code = compile(source, str(path), "exec")
    module = ModuleType(f"llm_mock_suite_{path.stem}_{abs(hash(path))}")
    module.__file__ = str(path)
    # Tracebacks would show lines of the previous content otherwise.
    linecache.checkcache(str(path))
    # Dataclasses look their module up while they are defined.
    sys.modules[module.__name__] = module
    exec(code, vars(module))
    _loaded_files[path] = source, module
    return module


def _import_module(name: str) -> ModuleType:
    try:
        if name not in sys.modules:
            # Finders cache folders; a file may have been written since.
            importlib.invalidate_caches()
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        hint = f"for a file next to the suite, write {error.name}.py:…"
        raise LLMMockError(f": there is no module {str(error.name)!r}; {hint}") from None
