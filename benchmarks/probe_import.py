"""Run in a fresh process: imports the plugin inside a configured pytest, and prints what that took as JSON.

pytest imports a plugin through its assertion rewriting, so this does too.
"""

from __future__ import annotations

import json
import sys
from time import perf_counter

import pytest

WATCHED = ("llm", "pydantic", "yaml", "openai")


class Probe:
    """A plugin that imports the other one."""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.pluginmanager.rewrite_hook.mark_rewrite("llm_mock")
        start = perf_counter()
        import llm_mock.pytest_plugin  # noqa: F401

        self.seconds = perf_counter() - start


if __name__ == "__main__":
    probe = Probe()
    pytest.main(["-qq", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[probe])
    print(json.dumps([probe.seconds, [name for name in WATCHED if name in sys.modules]]))
