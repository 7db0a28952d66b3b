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
    for module_name, type_name in types:
        module: Any = sys.modules.get(module_name)
        # A `TypedDict` has the fields of its bases itself, any other class has its own.
        for base in getattr(getattr(module, type_name, None), "__mro__", ()):
            if name in getattr(base, "__annotations__", {}):
                return True
    return False
