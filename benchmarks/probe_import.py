"""Import a plugin inside a configured pytest, and print the cost as JSON.

    python probe_import.py MODULE ARGUMENT…

pytest imports a plugin through its assertion rewriting, so this does too. It prints null where
there is no such module.
"""

from __future__ import annotations

import importlib
import json
import sys
from time import perf_counter

import pytest

WATCHED = ("llm", "pydantic", "yaml", "openai")


class Probe:
    """A plugin that imports the other one."""

    result: tuple[float, list[str]] | None = None

    def __init__(self, module: str) -> None:
        self._module = module

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.rewrite_hook.mark_rewrite(self._module.split(".")[0])
        start = perf_counter()
        try:
            importlib.import_module(self._module)
        except ModuleNotFoundError:
            return
        self.result = perf_counter() - start, [name for name in WATCHED if name in sys.modules]


if __name__ == "__main__":
    probe = Probe(sys.argv[1])
    pytest.main(["-qq", "-p", "no:cacheprovider", *sys.argv[2:]], plugins=[probe])
    print(json.dumps(probe.result))
