"""Has `llm`'s plugin of OpenAI models load without the SDK, which is imported when a model is called for real.

The SDK takes ten times as long to import as the rest of the plugin, which uses it in its functions only. A mocked run
wants to know what the models accept, and calls none of them.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _DeferredModule(ModuleType):
    """Stands for a module that is imported when something of it is first used."""

    def __getattr__(self, name: str) -> Any:
        return getattr(_import_module(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_import_module(self), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(_import_module(self), name)


def _import_module(deferred: _DeferredModule) -> ModuleType:
    name: str = vars(deferred)["__name__"]
    if sys.modules.get(name) is deferred:
        del sys.modules[name]
    return importlib.import_module(name)


def execute_without_sdk(
    sdk: str, execute: Callable[[ModuleType], None], plugin: ModuleType
) -> None:
    """Execute the module of the plugin; what it imports under the name of the SDK is imported later."""
    spec = None if sdk in sys.modules else importlib.util.find_spec(sdk)
    if spec is None:
        execute(plugin)
        return
    deferred = _DeferredModule(sdk)
    vars(deferred)["__spec__"] = spec  # other threads may look for the SDK meanwhile
    sys.modules[sdk] = deferred
    try:
        execute(plugin)
    finally:
        if sys.modules.get(sdk) is deferred:
            del sys.modules[sdk]
