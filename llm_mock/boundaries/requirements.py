"""Check that a library still has the names that this package uses, especially private ones."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable
from types import CodeType, ModuleType
from typing import Any

from llm_mock.boundaries.patching import replace
from llm_mock.errors import LibraryChanged

INSTANCE = "()"
"""The suffix of a class in a path to an attribute that the constructor sets."""


def find_missing_name(library: ModuleType, names: Iterable[str]) -> str | None:
    """Return the first name that a library no longer has.

    Args:
        library: the module that was imported.
        names: paths such as `Pool.urlopen` and `Pool()._factory`. `a|b` requires only one of them.
    """
    for name in names:
        paths = name.split("|")
        if not any(_has_path(library, path) for path in paths):
            return paths[0]
    return None


def _has_path(library: ModuleType, path: str) -> bool:
    owner: Any = library
    *parents, last = path.split(".")
    for parent in parents:
        name = parent.removesuffix(INSTANCE)
        submodule = None
        if isinstance(owner, ModuleType):
            # A submodule becomes an attribute of its package only when its import is complete.
            submodule = sys.modules.get(f"{owner.__name__}.{name}")
        owner = getattr(owner, name, submodule)
        if owner is None:
            return False
    if hasattr(owner, last):
        return True
    return bool(parents) and parents[-1].endswith(INSTANCE) and _is_set_by_constructor(owner, last)


def _is_set_by_constructor(owner: type, name: str) -> bool:
    """Return True if the constructor of a class sets an attribute.

    It reads the code and creates no instance, as that could be slow or open a connection.
    """
    for base in owner.__mro__:
        if name in vars(base).get("__annotations__", {}):
            return True
        init: Any = vars(base).get("__init__")
        # A replaced constructor has the original in `__wrapped__`.
        while hasattr(init, "__wrapped__"):
            init = init.__wrapped__
        code = getattr(init, "__code__", None)
        if isinstance(code, CodeType) and name in code.co_names:
            return True
    return False


def describe_change(library: ModuleType, name: str) -> str:
    """Return the message for a library that lacks a name; its calls are refused."""
    package = library.__name__.partition(".")[0]
    version = _find_version(library, package)
    changed, older = package, f"an older {package}"
    if version is not None:
        changed, older = f"{package} {version}", f"{package}<{version}"
    return (
        f"{changed} changed {name}, which llm_mock needs; calls by {package} are refused, and "
        f"nothing is sent. Install {older}, and please report this."
    )


def _find_version(library: ModuleType, package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        version: str | None = getattr(library, "__version__", None)
        return version


def refuse(message: str) -> None:
    """Raise an error and fail the test, if calls are currently mocked.

    Raises:
        LibraryChanged: calls are mocked, so the call must not be sent.
    """
    __tracebackhide__ = True
    # Imported here, as `core.context` is needed only if a call is refused.
    from llm_mock.core.context import current_mock, is_mocked, is_passing_through

    if not is_mocked() or is_passing_through():
        return
    mock = current_mock()
    if mock is not None:
        mock.note_problem(message)
    raise LibraryChanged(message)


def refuse_all(library: ModuleType, paths: Iterable[str], message: str) -> None:
    """Refuse calls of functions of a library; paths that it lacks are ignored."""
    for path in paths:
        *parents, name = path.split(".")
        owner: Any = library
        for parent in parents:
            owner = getattr(owner, parent, None)
        if hasattr(owner, name):
            replace(owner, name, _Refusal(message))


class _Refusal:
    """A replacement for a function that must not be called while models are mocked."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __call__(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        refuse(self._message)
        return original(*args, **kwargs)
