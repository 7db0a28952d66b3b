"""Look up fields in the request types of the installed SDKs, which may be newer than the rules."""

from __future__ import annotations

import sys
from typing import Any


def has_sdk_field(name: str, *types: tuple[str, str]) -> bool:
    """Return True if an imported SDK has a field in one of its request types.

    Args:
        name: the field.
        types: the types, each as its module and its name. Nothing is imported.
    """
    return name in find_sdk_fields(*types)


def find_sdk_fields(*types: tuple[str, str]) -> set[str]:
    """Return the fields that request types of imported SDKs have; empty without an SDK."""
    fields: set[str] = set()
    for module_name, type_name in types:
        module: Any = sys.modules.get(module_name)
        # A `TypedDict` includes the fields of its bases; other classes contain only their own.
        for base in getattr(getattr(module, type_name, None), "__mro__", ()):
            fields.update(getattr(base, "__annotations__", {}))
    return fields
