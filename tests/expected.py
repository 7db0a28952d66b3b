"""Expected outputs that are checked in as files, and are rewritten only on purpose."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

VARIABLE = "REWRITE_EXPECTED"
"""The environment variable that makes tests write what they get in place of comparing it."""


def compare_bytes(path: Path, actual: bytes) -> None:
    """Compare bytes with a checked-in file; a difference is shown as text."""
    _rewrite(path, actual)
    expected = path.read_bytes()
    if actual != expected:
        # Of texts pytest shows the lines that differ.
        assert actual.decode(errors="replace") == expected.decode(errors="replace")
        raise AssertionError(f"{path} has other bytes")


def compare_json(path: Path, actual: Any) -> None:
    """Compare JSON values with a checked-in file; tuples and lists are the same."""
    text = json.dumps(actual, indent=1, ensure_ascii=False) + "\n"
    _rewrite(path, text.encode())
    assert json.loads(text) == json.loads(path.read_bytes())


def _rewrite(path: Path, content: bytes) -> None:
    # CI compares, whatever its environment says.
    if os.environ.get(VARIABLE) == "1" and "CI" not in os.environ:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
