"""The project of a test, and its plugins."""

from __future__ import annotations

import os
from pathlib import Path

from llm_mock.errors import InvalidFile

MARKS = ("pyproject.toml", "setup.py", ".git")
"""What the root of a project has."""
PLUGINS = Path("tests", "llm", "plugins")
"""Where a project has its plugins."""


def find_project_root(path: str | Path) -> Path:
    """The root of the project to which a file or a folder belongs.

    Args:
        path: the file, which need not exist, or a folder.

    Returns:
        The nearest folder above (or the folder itself) that holds `pyproject.toml`, `setup.py` or `.git`; else the one
        that holds the `tests/llm` in which the file is; else the folder of the file. An absolute path.
    """
    path = Path(os.path.abspath(path))
    folder = path if path.is_dir() else path.parent
    for candidate in (folder, *folder.parents):
        if any((candidate / mark).exists() for mark in MARKS):
            return candidate
    tests = PLUGINS.parent.parts
    return next((each.parents[1] for each in (folder, *folder.parents) if each.parts[-2:] == tests), folder)


def plugin_files(root: Path) -> list[Path]:
    """The files of a project's plugins, by name: `tests/llm/plugins/*.py` without those whose name begins with `_`.

    Args:
        root: the root of the project.

    Raises:
        InvalidFile: a symbolic link leads out of the project, to code that would be run.
    """
    __tracebackhide__ = True
    found = sorted(path for path in (root / PLUGINS).glob("*.py") if path.is_file() and not path.name.startswith("_"))
    for path in found:
        if not path.resolve().is_relative_to(root.resolve()):
            raise InvalidFile(
                f"{path}: this plugin lies outside the project: it leads to {path.resolve()}, which is not in {root}. "
                "Its code is not run. Copy it into the project."
            )
    return found
