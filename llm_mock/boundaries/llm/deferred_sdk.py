"""Import of `llm`'s OpenAI plugin without the SDK, which is imported when it is first used.

The SDK takes ten times as long to import as the rest of the plugin, which uses it only inside
functions. A mocked run needs the capabilities of the models, and calls none of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _DeferredModule(ModuleType):
    """A module that imports the real one of its name when an attribute is first used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_import_module(self), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(_import_module(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_import_module(self), name)


def _import_module(deferred: _DeferredModule) -> ModuleType:
    name: str = vars(deferred)["__name__"]
    # While the plugin is imported, the deferred module replaces the real one.
    if sys.modules.get(name) is deferred:
        del sys.modules[name]
    return importlib.import_module(name)


def execute_without_sdk(
    sdk: str, execute: Callable[[ModuleType], None], plugin: ModuleType
) -> None:
    """Execute the module of a plugin, and defer its import of the SDK.

    Args:
        sdk: the name of the SDK's package.
        execute: executes a module.
        plugin: the module.
    """
    # An SDK that is imported already, or not installed, needs no deferral.
    spec = None if sdk in sys.modules else importlib.util.find_spec(sdk)
    if spec is None:
        execute(plugin)
        return
    deferred = _DeferredModule(sdk)
    # Other threads may look for the SDK at this time, and `find_spec` reads this attribute.
    vars(deferred)["__spec__"] = spec
    sys.modules[sdk] = deferred
    try:
        execute(plugin)
    finally:
        if sys.modules.get(sdk) is deferred:
            del sys.modules[sdk]
