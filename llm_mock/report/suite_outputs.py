"""The files of `llm-mock test -o`: which renderings of the document of the suites there are, and writing them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llm_mock.report.suite_document import FinishedSuite, as_json, new_document
from llm_mock.report.suite_junit import as_junit
from llm_mock.report.suite_markdown import as_markdown
from llm_mock.report.suite_page import as_page
from llm_mock.support.files import write_atomically
from llm_mock.support.redaction import redacted

FORMATS = {".json": as_json, ".xml": as_junit, ".md": as_markdown, ".html": as_page}
"""Of each suffix: what makes the file of the document."""


def write(path: Path, suites: Sequence[FinishedSuite]) -> None:
    """Write the results of suites, without secrets, in the format that the suffix names."""
    write_atomically(path, FORMATS[path.suffix.lower()](redacted(new_document(suites))))
