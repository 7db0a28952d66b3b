"""Import a plugin inside a configured pytest and start it, and print the cost as JSON.

    python probe_import.py MODULE ARGUMENT…

pytest imports a plugin through its assertion rewriting, so this does too. It prints null where
there is no such module.
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from collections.abc import Callable
from time import perf_counter
from typing import Any

import pytest

WATCHED = ("llm", "pydantic", "yaml", "openai")


class Probe:
    """A plugin that imports and registers the other one, and times what this does at the start."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._seconds = 0.0
        self.result: tuple[float, list[str]] | None = None

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:
            start = perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self._seconds += perf_counter() - start

        return timed

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self, early_config: pytest.Config) -> None:
        manager = early_config.pluginmanager
        manager.rewrite_hook.mark_rewrite(self._module.split(".")[0])
        try:
            module: Any = self._timed(importlib.import_module)(self._module)
        except ModuleNotFoundError:
            return
        module.pytest_configure = self._timed(module.pytest_configure)
        self._timed(manager.register)(module, self._module)
        # pytest is calling this hook already.
        start = getattr(module, "pytest_load_initial_conftests", None)
        if start is not None:
            self._timed(start)(early_config)

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self) -> None:
        if self._seconds:
            self.result = self._seconds, [name for name in WATCHED if name in sys.modules]


if __name__ == "__main__":
    probe = Probe(sys.argv[1])
    pytest.main(["-qq", "-p", "no:cacheprovider", *sys.argv[2:]], plugins=[probe])
    print(json.dumps(probe.result))
