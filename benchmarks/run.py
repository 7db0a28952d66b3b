"""Measures the speed of llm_mock beside `llm`, `unittest.mock` and other packages' fakes; prints a Markdown table."""

from __future__ import annotations

import os
import platform
import sys
from importlib.metadata import version

import agent_cost
import call_cost
import cassette_cost
import growth
import llm_cost
import plugin_cost
import report_cost
import suite_cost
import whole_runs
from table import markdown


def main() -> None:
    """Measure everything and print the table."""
    if os.environ.get("PFLOW_TESTING"):
        sys.exit("Unset PFLOW_TESTING: it mocks `llm` in this process, so nothing is left to compare with.")
    parts = (plugin_cost, whole_runs, growth, call_cost, llm_cost, cassette_cost, agent_cost, suite_cost, report_cost)
    print(markdown(row for part in parts for row in part.rows()))
    versions = ", ".join(f"{package} {version(package)}" for package in ("llm", "pydantic", "pytest"))
    print(f"\nPython {platform.python_version()}, {versions}.")


if __name__ == "__main__":
    main()
