"""Where a test starts processes: each that asks for the mock is handed the one that is active."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from llm_mock.boundaries import FOLDER_VARIABLE, TESTING_VARIABLE, is_requested
from llm_mock.boundaries.patching import attach_on_import, replace
from llm_mock.core.context import current_mock, current_mock_if_created, is_live, is_mocked

POSITION_OF_ENV = 10
"""Of the argument `env` of `subprocess.Popen`, where somebody gives all arguments by position."""


class _State:
    """Whether processes are handed the mock; whether forks are watched, which cannot be ended; whether this is one."""

    handing_over = False
    forks_are_watched = False
    is_forked = False


def set_handing_over(handing_over: bool) -> bool:
    """Hand the mock over from now on, or no longer. Returns what was set before, to be put back."""
    previous, _State.handing_over = _State.handing_over, handing_over
    return previous


def attach() -> None:
    """Attach to all that starts processes, once."""
    attach_on_import("subprocess", _attach_to)
    attach_on_import("multiprocessing.util", _attach_to_multiprocessing)
    for name in ("posix_spawn", "posix_spawnp"):
        if hasattr(os, name):
            replace(os, name, _spawn)
    replace(os, "execve", _execute)
    replace(os, "system", _start_inheriting)
    if hasattr(os, "register_at_fork") and not _State.forks_are_watched:
        _State.forks_are_watched = True
        os.register_at_fork(before=_before_fork, after_in_child=_after_fork_in_child)


def _attach_to(subprocess: ModuleType) -> None:
    replace(subprocess.Popen, "__init__", _start_popen)


def _attach_to_multiprocessing(util: ModuleType) -> None:
    if hasattr(util, "spawnv_passfds"):
        replace(util, "spawnv_passfds", _spawn_multiprocessing)


def _start_popen(original: Callable[..., None], popen: Any, *args: Any, **kwargs: Any) -> None:
    __tracebackhide__ = True
    given = args[POSITION_OF_ENV] if len(args) > POSITION_OF_ENV else kwargs.get("env")
    environment = _build_environment(given)
    if environment is not None and len(args) > POSITION_OF_ENV:
        args = (*args[:POSITION_OF_ENV], environment, *args[POSITION_OF_ENV + 1 :])
    elif environment is not None:
        kwargs["env"] = environment
    original(popen, *args, **kwargs)


def _spawn(
    original: Callable[..., int], path: Any, argv: Any, env: Any = None, *args: Any, **kwargs: Any
) -> int:
    """Spawn a process; from Python 3.13 on `env` may be None, as it is for `subprocess`."""
    __tracebackhide__ = True
    environment = _build_environment(env)
    return original(path, argv, env if environment is None else environment, *args, **kwargs)


def _execute(original: Callable[..., Any], path: Any, argv: Any, env: Any) -> Any:
    """Go on as another program, in a process that was forked for this, as `os.spawnve` and pexpect do."""
    folder = os.environ.get(FOLDER_VARIABLE) if _State.is_forked else None
    variables = None if folder is None or env is None else _decode_environment(env)
    if folder is not None and variables is not None and _needs_mock(variables):
        env = {**variables, FOLDER_VARIABLE: folder}
    return original(path, argv, env)


def _spawn_multiprocessing(
    original: Callable[..., int], path: Any, argv: Any, *args: Any, **kwargs: Any
) -> int:
    if any("multiprocessing.spawn" in str(word) for word in argv):
        return _start_inheriting(original, path, argv, *args, **kwargs)
    return original(path, argv, *args, **kwargs)  # a server for processes of many tests


def _start_inheriting(original: Callable[..., int], *args: Any, **kwargs: Any) -> int:
    """Start a process that inherits the environment of this one."""
    __tracebackhide__ = True
    handed_over = _build_environment(None)
    if handed_over is None:
        return original(*args, **kwargs)
    os.environ[FOLDER_VARIABLE] = handed_over[FOLDER_VARIABLE]
    try:
        return original(*args, **kwargs)
    finally:
        os.environ.pop(FOLDER_VARIABLE, None)


def _build_environment(given: Any) -> dict[str, str] | None:
    """Return an environment with the active mock, to be used in place of the one that is given.

    Args:
        given: as Python takes it; None is the environment of this process.

    Returns:
        None where the mock is not to be handed over, or another one is.
    """
    __tracebackhide__ = True
    if not _State.handing_over:
        return None
    environment = _decode_environment(os.environ if given is None else given)
    if environment is None or not _needs_mock(environment):
        return None
    mock = current_mock()
    return None if mock is None else dict(mock.extend_environment(environment))


def _decode_environment(given: Any) -> dict[str, str] | None:
    """Return an environment as text, as Python would hand it to the system.

    Returns:
        None for what is none: Python, which gets it as it is, says so.
    """
    if not hasattr(given, "keys"):
        return None
    try:
        # Python takes bytes (`os.environb`) and paths as well, so each side is decoded as it would be encoded.
        return {os.fsdecode(name): os.fsdecode(given[name]) for name in given.keys()}  # noqa: SIM118
    except (TypeError, ValueError):
        return None


def _needs_mock(environment: Mapping[str, str]) -> bool:
    if not _State.handing_over or not is_mocked() or is_live():
        return False
    return FOLDER_VARIABLE not in environment and is_requested(environment)


def _before_fork() -> None:
    if _needs_mock(os.environ) and (mock := current_mock()):
        mock.extend_environment({})


def _after_fork_in_child() -> None:
    """In a process that was forked: what it asks is reported to the one that forked it, and so is what it starts."""
    if _needs_mock(os.environ) and (mock := current_mock_if_created()) and mock.folder is not None:
        mock.follow_fork()
        os.environ.update(mock.folder.get_environment())
        os.environ.setdefault(TESTING_VARIABLE, "1")
        _State.is_forked = True
