"""Write the files of `llm-mock test -o`."""

from __future__ import annotations

from pathlib import Path

from llm_mock.report.suite_document import render_json
from llm_mock.report.suite_junit import render_junit
from llm_mock.report.suite_markdown import render_markdown
from llm_mock.report.suite_page import render_suite_page
from llm_mock.support.files import write_atomically
from llm_mock.support.json_types import JSONObject

FORMATS = {
    ".json": render_json,
    ".xml": render_junit,
    ".md": render_markdown,
    ".html": render_suite_page,
}
"""The rendering for each file suffix."""


def write(path: Path, document: JSONObject) -> None:
    """Write the document of suites in the format of the file's suffix."""
    render = FORMATS[path.suffix.lower()]
    write_atomically(path, render(document))
