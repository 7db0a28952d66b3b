"""Model names in a configuration: an id, a glob of ids, or `"*"` for any model."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import TypeVar

ANY_MODEL = "*"
Value = TypeVar("Value")


def is_glob(name: str) -> bool:
    """Return whether a name is a glob."""
    # Brackets make no glob, because ids have them, such as `sonnet[1m]`.
    return "*" in name or "?" in name


def matches_name(name: str, model_id: str) -> bool:
    """Return whether a name matches a model id."""
    return name == model_id or (is_glob(name) and fnmatch.fnmatchcase(model_id, name))


def is_named(model_id: str, names: Iterable[str]) -> bool:
    """Return whether one of some names other than `"*"` matches a model id."""
    return any(name != ANY_MODEL and matches_name(name, model_id) for name in names)


class ByModel(dict[str, Value]):
    """A dictionary by model name: an id goes before globs, and a later glob before earlier ones."""

    globs: tuple[str, ...] = ()

    def __setitem__(self, name: str, value: Value) -> None:
        super().__setitem__(name, value)
        # `"*"` is not among them, because it comes after every glob.
        if is_glob(name) and name != ANY_MODEL:
            self.globs = (name, *(glob for glob in self.globs if glob != name))

    def __copy__(self) -> ByModel[Value]:
        copied: ByModel[Value] = ByModel()
        copied.globs = self.globs
        # One call of C code, because other threads may set more meanwhile.
        dict.update(copied, self)
        return copied

    def __reduce__(self) -> tuple[object, ...]:
        return ByModel, (), {"globs": self.globs}, None, iter(list(self.items()))

    def find(self, model_id: str) -> Value | None:
        """Return the value of the id, else of a glob that matches it, else of `"*"`."""
        found = self.get(model_id)
        for glob in self.globs if found is None else ():
            if found is None and fnmatch.fnmatchcase(model_id, glob):
                found = self.get(glob)
        return self.get(ANY_MODEL) if found is None else found
