"""Model names in a configuration: an id, a glob of ids, or `"*"` for any model."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable

ANY_MODEL = "*"


def is_glob(name: str) -> bool:
    """Return whether a name is a glob."""
    # Brackets do not make a glob, because some ids contain them, such as `sonnet[1m]`.
    return "*" in name or "?" in name


def matches_name(name: str, model_id: str) -> bool:
    """Return whether a name matches a model id."""
    return name == model_id or (is_glob(name) and fnmatch.fnmatchcase(model_id, name))


def is_named(model_id: str, names: Iterable[str]) -> bool:
    """Return whether any of the names, except `"*"`, matches a model id."""
    return any(name != ANY_MODEL and matches_name(name, model_id) for name in names)
