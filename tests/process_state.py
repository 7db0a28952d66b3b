"""A snapshot of all that a test could leave behind in its process, and what differs later."""

from __future__ import annotations

import atexit
import contextvars
import gc
import logging
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

from llm_mock.boundaries.http.providers.registry import get_registry

PATCHED = (
    *("aiohttp", "httpcore", "httpcore2", "httpx", "httpx2", "llm", "requests", "urllib3"),
    *("concurrent", "http", "multiprocessing", "os", "socket", "ssl", "subprocess"),
    *("threading", "time", "unittest"),
)
"""Packages whose functions might be replaced."""
OWN = "llm_mock"
SETTINGS = "llm_mock.boundaries.http.settings.http_settings"
UNSTABLE = (
    "environment: PYTEST_CURRENT_TEST",  # stays after a failed teardown
    "own state: llm_mock.core.call._current_second",  # the time of the last call
    "behaviour.refusals._registered",  # comes with the table of providers
    ".SECRET_SOURCES",  # the next redaction empties it
    # Entries go with the threads and classes that they are about.
    "core.ownership.RunState.threads",
    "llm.provider_classes._originals",
)
"""The ends of the names of what no test restores."""
PATIENCE = 2.0
"""The seconds that threads, processes and connections have to end by themselves."""
ENDING = ("process", "thread", "descriptor")
"""What others may end meanwhile, such as a server that an earlier test left to itself."""
EXIT_FUNCTIONS: list[str] = []
"""The functions that run when the process ends, registered by `atexit` while a test notes them."""
State = dict[str, str]
"""A value for each thing, by `kind: name`."""


def take_snapshot(*folders: Path) -> State:
    """Return the state of this process, and the files below some folders."""
    return {
        f"{kind}: {name}": value
        for kind, values in (
            ("file", _list_files(folders)),
            ("process", _list_children()),
            ("thread", _list_threads()),
            ("descriptor", _list_descriptors()),
            ("environment", os.environ.items()),
            ("process-wide", _list_settings()),
            ("signal", _list_signals()),
            ("logging", _list_loggers()),
            ("warnings", _count(map(repr, warnings.filters))),
            ("context", _list_context()),
            ("llm plugin", _list_llm_plugins()),
            ("replaced", _list_functions()),
            ("own state", _list_own_state()),
        )
        for name, value in values
    }


def note_exit_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Note the functions that are registered by `atexit`, which tells none of them itself."""
    register, unregister = atexit.register, atexit.unregister

    def note(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        EXIT_FUNCTIONS.append(f"{function.__module__}.{function.__qualname__}")
        return register(function, *args, **kwargs)

    def forget(function: Callable[..., Any]) -> None:
        EXIT_FUNCTIONS.remove(f"{function.__module__}.{function.__qualname__}")
        unregister(function)

    monkeypatch.setattr(atexit, "register", note)
    monkeypatch.setattr(atexit, "unregister", forget)


class StateWatch:
    """Tells what changed in this process, and in the files below some folders."""

    def __init__(self, *folders: Path, kinds: tuple[str, ...] = ("",)) -> None:
        """Take the first snapshot.

        Args:
            folders: whose files are looked at.
            kinds: what to look at, by the words before the colon. In a process with other tests,
                name what the test is about: what these left may end meanwhile.
        """
        self._folders = folders
        self._kinds = kinds
        gc.collect()  # what earlier tests left closes now, and not later
        get_registry()  # the table of providers stays for the process
        self._before = self._take_snapshot()

    def _take_snapshot(self) -> State:
        found = take_snapshot(*self._folders)
        return {name: value for name, value in found.items() if name.startswith(self._kinds)}

    def take_changes(self) -> list[str]:
        """Return a line for each difference since the last time.

        What ends by itself is waited for.
        """
        # pytest keeps the last failure, and with it all that its frames refer to.
        for name in ("last_type", "last_value", "last_traceback", "last_exc"):
            vars(sys).pop(name, None)
        deadline = time.monotonic() + PATIENCE
        while True:
            after = self._take_snapshot()
            changes = list(_compare(self._before, after))
            if not changes or time.monotonic() > deadline:
                self._before = after
                return changes
            gc.collect()  # what has no owner any more closes now
            time.sleep(0.01)


def _compare(before: State, after: State) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        if name.endswith(UNSTABLE):
            continue
        old, new = before.get(name), after.get(name)
        if old is None:
            # A module that is imported later brings its own.
            if not name.startswith(("own state", "replaced")):
                yield f"added {name} = {new}"
        elif new is None:
            if not name.startswith(ENDING):
                yield f"removed {name} = {old}"
        elif old != new:
            yield f"changed {name}: {old} -> {new}"


def _list_files(folders: Sequence[Path]) -> Iterator[tuple[str, str]]:
    for folder in folders:
        for path in folder.rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield str(path), repr(path.read_bytes())[:500]
            elif path.is_dir() and path.name != "__pycache__":
                yield str(path), "folder"


def _list_children() -> Iterator[tuple[str, str]]:
    for tasks in Path("/proc/self/task").glob("*/children"):
        for child in tasks.read_text().split():
            try:
                command = Path(f"/proc/{child}/cmdline").read_bytes()
            except FileNotFoundError:  # it ends just now
                continue
            yield child, command.replace(b"\0", b" ").decode(errors="replace")


def _list_threads() -> Iterator[tuple[str, str]]:
    return _count(f"{thread.name} {thread.ident}" for thread in threading.enumerate())


def _list_descriptors() -> Iterator[tuple[str, str]]:
    folder = Path("/proc/self/fd")
    for path in folder.iterdir() if folder.exists() else ():
        try:
            yield path.name, os.readlink(path)
        except FileNotFoundError:  # the descriptor that lists the folder
            continue


def _list_settings() -> Iterator[tuple[str, str]]:
    umask = os.umask(0o22)
    os.umask(umask)
    yield "folder", os.getcwd()
    yield "umask", str(umask)
    yield "recursion", str(sys.getrecursionlimit())
    yield "sys.path", str(sys.path)
    yield "finders", str(sys.meta_path)
    yield "path hooks", str(sys.path_hooks)
    yield "streams", str([sys.__stdout__, sys.__stderr__])
    yield "exit functions", str(EXIT_FUNCTIONS)
    for hook in ("excepthook", "unraisablehook", "displayhook", "breakpointhook"):
        yield hook, str(getattr(sys, hook))
    yield "threading.excepthook", str(threading.excepthook)
    yield "trace", str([sys.gettrace(), sys.getprofile(), threading.gettrace()])
    yield "timer", str(signal.getitimer(signal.ITIMER_REAL)[0] > 0)


def _list_signals() -> Iterator[tuple[str, str]]:
    for number in signal.valid_signals():
        yield str(number), str(signal.getsignal(number))


def _list_loggers() -> Iterator[tuple[str, str]]:
    yield "disabled below", str(logging.root.manager.disable)
    loggers = {"root": logging.root, **logging.root.manager.loggerDict}
    for name, logger in loggers.items():
        if isinstance(logger, logging.Logger) and (logger.handlers or logger.level):
            yield name, f"{logger.level} {logger.handlers}"


def _list_context() -> Iterator[tuple[str, str]]:
    for variable, value in contextvars.copy_context().items():
        if "llm_mock" in variable.name and value is not None:
            yield variable.name, repr(value)


def _list_llm_plugins() -> Iterator[tuple[str, str]]:
    llm = sys.modules.get("llm.plugins")
    return _count([] if llm is None else [str(name) for name, _ in llm.pm.list_name_plugin()])


def _list_functions() -> Iterator[tuple[str, str]]:
    """Yield the functions of the libraries that the mock attaches to."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in PATCHED and isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, FunctionType):
                    yield f"{name}.{attribute}", str(id(value))
                elif isinstance(value, type) and value.__module__ == name:
                    yield from _list_methods(value)


def _list_methods(owner: type) -> Iterator[tuple[str, str]]:
    for attribute, value in list(vars(owner).items()):
        if isinstance(value, (FunctionType, classmethod, staticmethod)):
            yield f"{owner.__module__}.{owner.__qualname__}.{attribute}", str(id(value))


def _list_own_state() -> Iterator[tuple[str, str]]:
    """Yield the values that modules and classes of the package hold, but for its functions."""
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] == OWN and isinstance(module, ModuleType):
            for attribute, value in list(vars(module).items()):
                if isinstance(value, type) and value.__module__ == name:
                    for field, content in list(vars(value).items()):
                        yield from _describe(f"{name}.{attribute}.{field}", content)
                else:
                    yield from _describe(f"{name}.{attribute}", value)


def _describe(name: str, value: object) -> Iterator[tuple[str, str]]:
    if name.rpartition(".")[2].startswith("__") or isinstance(value, (FunctionType, type)):
        return
    if isinstance(value, (list, dict, set)):
        yield name, f"{type(value).__name__} of {len(value)}"
    elif isinstance(value, (str, int, float, tuple, type(None))):
        yield name, repr(value)[:500]
    elif not callable(value):
        yield name, f"{type(value).__name__} {id(value)}"
    if name == SETTINGS:
        yield f"{name}'s values", repr(vars(value))


def _count(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    found: dict[str, int] = {}
    for name in names:
        found[name] = found.get(name, 0) + 1
    return ((name, str(number)) for name, number in found.items())


def assert_nothing_left(changes: Iterable[str]) -> None:
    """Fail with a line for each change, all of them."""
    lines = "\n".join(changes)
    assert not lines, f"Left behind:\n{lines}"


class LeftoverPlugin:
    """A plugin of pytest that runs all tests twice, and notes what the second time leaves behind.

    The first time imports and caches what stays for the process.

    Args:
        folders: whose files are looked at.
    """

    def __init__(self, *folders: Path) -> None:
        self.leftovers: list[str] = []
        """The changes, each with its test."""
        self._folders = folders
        self._watch: StateWatch | None = None
        self._repeated: list[pytest.Item] = []

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        self._repeated = list(items)
        items += items

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, object, object]:
        result = yield
        # The last test also tears down what is shared by all.
        if self._watch is not None and nextitem is not None:
            changes = self._watch.take_changes()
            self.leftovers += [f"{item.nodeid}: {change}" for change in changes]
        elif item is self._repeated[-1]:
            self._watch = StateWatch(*self._folders)
        return result
