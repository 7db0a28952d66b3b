"""The names by which replies are for models: an id, a glob of ids, or any model."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from typing import Any, TypeVar

ANY_MODEL = "*"
Value = TypeVar("Value")


def is_glob(name: str) -> bool:
    """Whether a name stands for more than one id. An id may have brackets, as `sonnet[1m]`."""
    return "*" in name or "?" in name


def fits(name: str, model_id: str) -> bool:
    """Whether a name is one for a model."""
    return name == model_id or (is_glob(name) and fnmatch.fnmatchcase(model_id, name))


def is_named(model_id: str, names: Iterable[str]) -> bool:
    """Whether one of some names is for a model; `"*"` names none."""
    return any(name != ANY_MODEL and fits(name, model_id) for name in names)


class ByModel(dict[str, Value]):
    """What is said of models, by name: an id goes before globs, of which the one set last goes
    before others."""

    globs: tuple[str, ...] = ()

    def __setitem__(self, name: str, value: Value) -> None:
        super().__setitem__(name, value)
        if is_glob(name) and name != ANY_MODEL:
            self.globs = (name, *(glob for glob in self.globs if glob != name))

    def __copy__(self) -> ByModel[Value]:
        copied: ByModel[Value] = ByModel()
        copied.globs = self.globs
        dict.update(copied, self)  # at once, as other threads may set more
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        return ByModel, (), {"globs": self.globs}, None, iter(list(self.items()))

    def of(self, model_id: str) -> Value | None:
        """What is said of a model, by its id, a glob or any."""
        found = self.get(model_id)
        for glob in self.globs if found is None else ():
            if found is None and fnmatch.fnmatchcase(model_id, glob):
                found = self.get(glob)
        return self.get(ANY_MODEL) if found is None else found
