"""The files of `llm-mock test -o`: which renderings of the document of the suites there are, and writing them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from llm_mock.report.suite_document import as_json
from llm_mock.report.suite_junit import as_junit
from llm_mock.report.suite_markdown import as_markdown
from llm_mock.report.suite_page import as_page
from llm_mock.support.files import write_atomically

FORMATS = {".json": as_json, ".xml": as_junit, ".md": as_markdown, ".html": as_page}
"""Of each suffix: what makes the file of the document."""


def write(path: Path, document: dict[str, Any]) -> None:
    """Write the document of suites in the format that the suffix names."""
    write_atomically(path, FORMATS[path.suffix.lower()](document))
