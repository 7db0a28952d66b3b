"""Check that a library still has the names of it that this package uses, private ones above all."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterable
from types import CodeType, ModuleType
from typing import Any

from llm_mock.boundaries.patching import replace
from llm_mock.errors import LibraryChanged

INSTANCE = "()"
"""After the name of a class: the attribute is one that its constructor sets."""


def find_missing_name(library: ModuleType, names: Iterable[str]) -> str | None:
    """Return the first name that a library no longer has.

    Args:
        library: the module that was imported.
        names: paths such as `Pool.urlopen` and `Pool()._factory`; of several in `a|b` one is needed.
    """
    for name in names:
        if not any(_has_path(library, path) for path in name.split("|")):
            return name.split("|")[0]
    return None


def _has_path(library: Any, path: str) -> bool:
    owner = library
    *parents, last = path.split(".")
    for parent in parents:
        of_class = parent.removesuffix(INSTANCE)
        module = (
            sys.modules.get(f"{owner.__name__}.{of_class}")
            if isinstance(owner, ModuleType)
            else None
        )
        owner = getattr(owner, of_class, module)
        if owner is None:
            return False
    if hasattr(owner, last):
        return True
    return bool(parents) and parents[-1].endswith(INSTANCE) and _is_set_by_constructor(owner, last)


def _is_set_by_constructor(owner: type, name: str) -> bool:
    """Return whether an instance gets an attribute; nothing is made, for that may cost or connect."""
    for each in owner.__mro__:
        if name in vars(each).get("__annotations__", {}):
            return True
        init: Any = vars(each).get("__init__")
        # A replaced constructor, ours or another's, has the original behind it.
        while hasattr(init, "__wrapped__"):
            init = init.__wrapped__
        code = getattr(init, "__code__", None)
        if isinstance(code, CodeType) and name in code.co_names:
            return True
    return False


def describe_change(library: ModuleType, name: str) -> str:
    """Return why calls by a library are refused."""
    package = library.__name__.partition(".")[0]
    version = _get_version(library, package)
    return (
        f"{package} {version} changed {name}, which llm_mock needs; calls by {package} are refused, and "
        f"nothing is sent. Please report this, and use {package}<{version} until then."
    )


def _get_version(library: ModuleType, package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return str(getattr(library, "__version__", "(unknown version)"))


def refuse(message: str) -> None:
    """Fail the test, if a mock answers at this moment, and raise.

    Raises:
        LibraryChanged: the call must not be made.
    """
    __tracebackhide__ = True
    from llm_mock.boundaries.passthrough import is_passing_through
    from llm_mock.core.context import current_mock, is_mocked

    if not is_mocked() or is_passing_through():
        return
    mock = current_mock()
    if mock is not None:
        mock.note_problem(message)
    raise LibraryChanged(message)


def refuse_all(library: ModuleType, paths: Iterable[str], message: str) -> None:
    """Refuse every call of some functions of a library; those that it no longer has are left out."""
    for path in paths:
        *parents, name = path.split(".")
        owner: Any = library
        for parent in parents:
            owner = getattr(owner, parent, None)
        if hasattr(owner, name):
            replace(owner, name, _Refusal(message))


class _Refusal:
    """Stands for a function that is not to be called."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __call__(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        refuse(self._message)
        return original(*args, **kwargs)
