"""Replies that a test configures after the call that needs them."""

from __future__ import annotations

import linecache
import re
import traceback

import pytest

from llm_mock.core.source_location import format_location
from llm_mock.plugin.mock_messages import is_of_project

CONFIGURES = re.compile(r"\bmock_llm_(responses|calls)\.(add|on|script|set\w*)\(")
"""A line that configures a reply by a fixture."""


def find_late_reply(error: BaseException, item: pytest.Item) -> str:
    """Return a note about a reply that a function configures after the call that it made.

    Args:
        error: the error of a call without a reply.
        item: the test.
    """
    for frame, line in traceback.walk_tb(error.__traceback__):
        code = frame.f_code
        if not is_of_project(code.co_filename, item):
            continue
        last_line = max(number or 0 for _, _, number in code.co_lines())
        for number in range(line + 1, last_line + 1):
            if CONFIGURES.search(linecache.getline(code.co_filename, number)):
                place = format_location((code.co_filename, number))
                return f"{place} configures a reply after this call: move it before the call."
    return ""
