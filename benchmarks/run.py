"""Measure llm_mock, `llm`, `unittest.mock` and other fakes; print a Markdown table.

    python benchmarks/run.py [PART …]

A part is a module of this folder, such as `plugin_cost` or `call_cost`; by default all of them
are measured.
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from importlib.metadata import version

from table import markdown

PARTS = (
    *("plugin_cost", "whole_runs", "growth", "call_cost", "llm_cost", "http_call", "http_server"),
    *("cassette_cost", "agent_cost", "suite_cost", "report_cost"),
)


def main(parts: list[str]) -> None:
    """Measure the parts and print the table."""
    if variable := next(filter(os.environ.get, ("LLM_MOCK", "PFLOW_TESTING")), None):
        sys.exit(
            f"Unset {variable}: it mocks `llm` in this process, so nothing is left to compare with."
        )
    if unknown := sorted({*parts} - {*PARTS}):
        sys.exit(f"No part is called {', '.join(unknown)}; there are {', '.join(PARTS)}.")
    print(markdown(row for part in parts or PARTS for row in importlib.import_module(part).rows()))
    versions = ", ".join(
        f"{package} {version(package)}" for package in ("llm", "pydantic", "pytest")
    )
    print(f"\nPython {platform.python_version()}, {versions}.")


if __name__ == "__main__":
    main(sys.argv[1:])
