"""Search with a regular expression; a search in C cannot be interrupted by Python code."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from pathlib import Path

from llm_mock.support.processes import run_process
from llm_mock.support.time_limit import CaseTimedOut, get_seconds_left, is_ended_in_thread

_SEARCH = """
import json, re, sys

pattern, text = json.load(sys.stdin)
sys.exit(0 if re.search(pattern, text) else 3)
"""
"""The program that searches for a pattern in a separate process."""


def search_pattern(pattern: str, text: str) -> bool:
    """Return True if a regular expression matches anywhere in a text.

    Raises:
        CaseTimedOut: the search exceeded the time limit of the run.
    """
    if not is_ended_in_thread():
        return re.search(pattern, text) is not None
    # -I and -S: a faster start without the environment and packages of the project.
    command = [sys.executable, "-I", "-S", "-c", _SEARCH]
    question = json.dumps([pattern, text]).encode()
    seconds = get_seconds_left(math.inf)
    try:
        process = run_process(command, question, seconds, Path(), None)
    except subprocess.TimeoutExpired:
        raise CaseTimedOut from None
    return process.returncode == 0
