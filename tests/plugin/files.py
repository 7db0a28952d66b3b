"""Files of the projects that tests of the plugin make."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest


def write(pytester: pytest.Pytester, name: str, text: str) -> Path:
    """Write a file of a project, with its folders."""
    path = pytester.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text).lstrip())
    return path
