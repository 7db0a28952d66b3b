"""Attribute threads, and work submitted to thread pools, to the test that started them."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from types import ModuleType
from typing import Any

from llm_mock.boundaries.patching import attach_on_import
from llm_mock.core.ownership import RunningTest, attribute_calls, get_submitting_test, note_thread

POOLS = frozenset(
    {
        "anyio._backends._asyncio",
        "concurrent.futures.thread",
        "multiprocessing.dummy",
        "multiprocessing.pool",
        "trio._core._thread_cache",
    }
)
"""Modules of thread pools, whose threads work for the test that submits the work."""
POOL_METHODS = (
    "apply_async",
    "imap",
    "imap_unordered",
    "map",
    "map_async",
    "starmap",
    "starmap_async",
)


class _State:
    """The state of this process."""

    undo: list[Callable[[], None]] | None = None
    """Functions that restore the replaced methods; None while threads are not tracked."""


class _Work:
    """A submitted function, whose calls are attributed to the submitting test."""

    __slots__ = ("_function", "_test")

    def __init__(self, test: RunningTest, function: Callable[..., object]) -> None:
        self._test = test
        self._function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        with attribute_calls(self._test):
            return self._function(*args, **kwargs)


def follow_threads() -> Callable[[], None]:
    """Track threads and pools from now on.

    Returns:
        A function that stops the tracking. It does not restore methods that other code has wrapped
        since then.
    """
    if _State.undo is not None:  # a pytest run within a pytest run, as `pytester` does
        return lambda: None
    _State.undo = [_replace(threading.Thread, "start", _start)]
    attach_on_import("concurrent.futures.thread", _follow_executor)
    attach_on_import("multiprocessing.pool", _follow_pool)
    return _end


def _end() -> None:
    undo = _State.undo or []
    _State.undo = None
    for restore in undo:
        restore()


def _follow_executor(module: ModuleType) -> None:
    if _State.undo is not None:
        _State.undo.append(_replace(module.ThreadPoolExecutor, "submit", _submit))


def _follow_pool(module: ModuleType) -> None:
    if _State.undo is not None:
        _State.undo += [_replace(module.ThreadPool, name, _submit) for name in POOL_METHODS]


def _replace(owner: type, name: str, replacement: Callable[..., object]) -> Callable[[], None]:
    """Replace a method, and return a function that restores it."""
    is_inherited = name not in vars(owner)
    original = getattr(owner, name)

    @functools.wraps(original)
    def call_replacement(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        if _State.undo is None:
            return original(*args, **kwargs)
        return replacement(original, *args, **kwargs)

    def restore() -> None:
        # Another library has wrapped our replacement: restoring would undo its patch, too.
        if vars(owner).get(name) is not call_replacement:
            return
        if is_inherited:
            delattr(owner, name)
        else:
            setattr(owner, name, original)

    setattr(owner, name, call_replacement)
    return restore


def _start(
    original: Callable[..., None], thread: threading.Thread, *args: Any, **kwargs: Any
) -> None:
    __tracebackhide__ = True
    # Two frames up: this function, `call_replacement`, then the code that starts the thread.
    starting_module = sys._getframe(2).f_globals.get("__name__")
    if starting_module not in POOLS:
        note_thread(thread)
    original(thread, *args, **kwargs)


def _submit(original: Callable[..., object], pool: object, *args: Any, **kwargs: Any) -> Any:
    __tracebackhide__ = True
    if args and callable(args[0]) and not _is_interpreter_pool(pool):
        test = get_submitting_test()
        if test is not None:
            args = (_Work(test, args[0]), *args[1:])
    return original(pool, *args, **kwargs)


def _is_interpreter_pool(pool: object) -> bool:
    """Return True for a pool of interpreters, which pickles its work (new in Python 3.14)."""
    module = sys.modules.get("concurrent.futures.interpreter")
    return module is not None and isinstance(pool, module.InterpreterPoolExecutor)
