"""Wording of the report.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from llm_mock.support.text import shorten_name


def bad_report_name(name: str) -> str:
    """A report was asked for whose name does not say what it is to be."""
    return f"--llm-mock-report: {name!r} should end in .html for a page, or in .json for the data."


def report_mistaken_for_tests(name: str) -> str:
    """pytest took a report for a file of tests, and perhaps found another configuration file, or none."""
    return (
        f"pytest takes {name!r}, which exists, for a file of tests, and looks for its configuration there. "
        f"Write it with an equals sign: --llm-mock-report={name}"
    )


def report_not_written(name: str, error: Exception) -> str:
    """A report cannot be written."""
    reason = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
    return f"--llm-mock-report: {name!r} cannot be written: {shorten_name(str(reason))}"
