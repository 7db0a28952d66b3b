"""Pass the active mock to the processes that a test starts."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from llm_mock.boundaries import (
    FOLDER_VARIABLE,
    TESTING_VARIABLE,
    TESTING_VARIABLES,
    is_requested,
)
from llm_mock.boundaries.patching import attach_on_import, replace
from llm_mock.core.context import current_mock, current_mock_if_created, is_live, is_mocked

if TYPE_CHECKING:
    from llm_mock.support.json_types import JSONObject

PROCESSOR_COMMAND = ["uname", "-p"]
"""The command of `platform.processor()`, which SDKs call before their first request.

It calls no model. If it got the mock, every later call of the test would check for its reports.
"""
POSITION_OF_ENV = 10
"""The position of the argument `env` of `subprocess.Popen`, for calls without keywords."""

PYTHON = re.compile(r"(python|pypy)[0-9.]*(\.exe)?", re.IGNORECASE)
"""The names of Python interpreters."""


class _State:
    """The state of this process."""

    handing_over = False
    forks_are_watched = False
    """Never reset, as Python cannot unregister a function from `os.register_at_fork`."""
    is_forked = False


def set_handing_over(handing_over: bool) -> bool:
    """Set whether new processes get the active mock.

    Returns:
        The previous setting, so that the caller can restore it.
    """
    previous = _State.handing_over
    _State.handing_over = handing_over
    return previous


def attach() -> None:
    """Patch all functions that start processes, once."""
    attach_on_import("subprocess", _attach_to)
    attach_on_import("multiprocessing.util", _attach_to_multiprocessing)
    attach_on_import("multiprocessing.spawn", _attach_to_preparation)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):  # not on Windows
            replace(os, name, _spawn)
    replace(os, "execve", _execute)
    replace(os, "system", _start_inheriting)
    if hasattr(os, "register_at_fork") and not _State.forks_are_watched:
        _State.forks_are_watched = True
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


def _attach_to(subprocess: ModuleType) -> None:
    replace(subprocess.Popen, "__init__", _start_popen)


def _attach_to_multiprocessing(util: ModuleType) -> None:
    # Undocumented: `multiprocessing` starts its processes with it, without `subprocess`.
    if hasattr(util, "spawnv_passfds"):
        replace(util, "spawnv_passfds", _spawn_multiprocessing)


def _attach_to_preparation(spawn: ModuleType) -> None:
    replace(spawn, "get_preparation_data", _add_folder)


def _add_folder(original: Callable[[str], JSONObject], name: str) -> JSONObject:
    """Add the folder of the mock to the data that a process of `multiprocessing` gets first.

    The fork server is older than the test, so its processes do not have the variable.
    """
    data = original(name)
    environment = _build_environment(None)
    if environment is not None:
        data[FOLDER_VARIABLE] = environment[FOLDER_VARIABLE]
    return data


def _start_popen(original: Callable[..., None], popen: object, *args: Any, **kwargs: Any) -> None:
    __tracebackhide__ = True
    command = args[0] if args else kwargs.get("args")
    if command == PROCESSOR_COMMAND:
        original(popen, *args, **kwargs)
        return
    is_positional = len(args) > POSITION_OF_ENV
    given = args[POSITION_OF_ENV] if is_positional else kwargs.get("env")
    environment = _build_environment(given, command)
    if environment is not None and is_positional:
        args = (*args[:POSITION_OF_ENV], environment, *args[POSITION_OF_ENV + 1 :])
    elif environment is not None:
        kwargs["env"] = environment
    original(popen, *args, **kwargs)


def _spawn(
    original: Callable[..., int],
    path: object,
    argv: object,
    env: Any = None,
    *args: Any,
    **kwargs: Any,
) -> int:
    """Replace `os.posix_spawn`, whose `env` may be None since Python 3.13."""
    __tracebackhide__ = True
    environment = _build_environment(env, argv)
    if environment is None:
        environment = env
    return original(path, argv, environment, *args, **kwargs)


def _execute(original: Callable[..., object], path: object, argv: object, env: object) -> object:
    """Replace `os.execve`, which passes the mock on only in a forked process.

    `os.spawnve` and pexpect fork and then call `execve`. The test's own process would end with it.
    """
    folder = os.environ.get(FOLDER_VARIABLE) if _State.is_forked else None
    if folder is None or env is None:
        return original(path, argv, env)
    environment = _decode_environment(env)
    if environment is not None and _needs_mock(environment):
        env = {**environment, FOLDER_VARIABLE: folder}
    return original(path, argv, env)


def _spawn_multiprocessing(
    original: Callable[..., int], path: object, argv: Iterable[object], *args: Any, **kwargs: Any
) -> int:
    if any("multiprocessing.spawn" in str(word) for word in argv):
        return _start_inheriting(original, path, argv, *args, **kwargs)
    # The fork server and the resource tracker outlive the test that starts them.
    return original(path, argv, *args, **kwargs)


def _start_inheriting(original: Callable[..., int], *args: Any, **kwargs: Any) -> int:
    """Start a process that inherits the environment of this one."""
    __tracebackhide__ = True
    environment = _build_environment(None)
    if environment is None:
        return original(*args, **kwargs)
    # These functions take no environment, so the variable is set during the call.
    os.environ[FOLDER_VARIABLE] = environment[FOLDER_VARIABLE]
    try:
        return original(*args, **kwargs)
    finally:
        os.environ.pop(FOLDER_VARIABLE, None)


def _build_environment(given: object, command: object = None) -> dict[str, str] | None:
    """Return a copy of an environment that also passes the active mock on.

    Args:
        given: the argument `env`, as Python accepts it; None for the environment of this process.
        command: the command of the process, if it is known.

    Returns:
        None if the process does not get this mock.
    """
    __tracebackhide__ = True
    if not _State.handing_over:
        return None
    environment = _decode_environment(os.environ if given is None else given)
    if environment is None:
        return None
    if not _needs_mock(environment):
        if given is not None:
            _note_own_environment(environment, command)
        return None
    mock = current_mock()
    return None if mock is None else dict(mock.extend_environment(environment))


def _note_own_environment(environment: Mapping[str, str], command: object) -> None:
    """Note that a Python process starts without the variables of the mock, for a failing test."""
    # If a variable is set, the test has chosen on purpose which mock the process uses, or none.
    if any(name in environment for name in (*TESTING_VARIABLES, FOLDER_VARIABLE)):
        return
    if is_live() or not is_requested() or not _is_python(command):
        return
    mock = current_mock_if_created()
    if mock is not None:
        mock.note_own_environment()


def _is_python(command: object) -> bool:
    """Return whether the program of a command is a Python interpreter."""
    if isinstance(command, (list, tuple)) and command:
        command = command[0]
    if not isinstance(command, (str, bytes, os.PathLike)):
        return False
    program = os.fsdecode(command)
    # A string may be a whole shell command.
    first_word = program.partition(" ")[0]
    return program == sys.executable or bool(PYTHON.fullmatch(os.path.basename(first_word)))


def _decode_environment(given: Any) -> dict[str, str] | None:
    """Return an environment as text.

    Returns:
        None for an invalid environment, which Python gets unchanged, so that it raises its error.
    """
    if not hasattr(given, "keys"):
        return None
    try:
        # Python takes bytes (`os.environb`) and paths, too, so names and values are decoded the
        # way Python encodes them. Only `keys` and `[]`, as Python needs no more of a mapping.
        names = given.keys()
        return {os.fsdecode(name): os.fsdecode(given[name]) for name in names}
    except (TypeError, ValueError):
        return None


def _needs_mock(environment: Mapping[str, str]) -> bool:
    """Return True if a process with this environment should use the active mock."""
    if not _State.handing_over or not is_mocked() or is_live():
        return False
    # If the environment has a folder, the test has chosen another mock itself.
    return FOLDER_VARIABLE not in environment and is_requested(environment)


def _before_fork() -> None:
    if not _needs_mock(os.environ):
        return
    mock = current_mock()
    if mock is not None:
        # Create the folder before the fork, so that both processes use the same one.
        mock.extend_environment({})


def _after_fork_in_child() -> None:
    """Report the calls of this process and of processes that it starts to its parent."""
    if not _needs_mock(os.environ):
        return
    mock = current_mock_if_created()
    if mock is None or mock.folder is None:
        return
    mock.follow_fork()
    os.environ.update(mock.folder.get_environment())
    os.environ.setdefault(TESTING_VARIABLE, "1")
    _State.is_forked = True
