"""Where in the project something was said: the first frame outside of this package."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

from llm_mock.support.text import escaped, shown_path

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PACKAGES = {"llm", "llm_mock"}
"""What stands between the application and a warning of ours."""
SourceLocation = tuple[str, int]
"""A file and a line, from 1."""


def find_frame_outside(*packages: str) -> FrameType:
    """The innermost frame whose code is in none of some folders, each ending in a separator; else the outermost."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(packages):
        frame = frame.f_back
    return frame


def find_caller() -> SourceLocation:
    """Where this package was called."""
    frame = find_frame_outside(_PACKAGE)
    return frame.f_code.co_filename, frame.f_lineno


def find_project_line() -> str:
    """Return the innermost file and line of the project that led here; empty where there is none."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, _STANDARD_LIBRARY, "<")) and "site-packages" not in file:
            return format_location((file, frame.f_lineno))
        frame = frame.f_back
    return ""


def warn_caller(warning: Warning) -> None:
    """Warn where the application, or the test, made a call."""
    packages = tuple(str(Path(sys.modules[name].__file__ or "").parent) + os.sep for name in _PACKAGES & {*sys.modules})
    frame = find_frame_outside(*packages)
    warnings.warn_explicit(
        warning,
        category=None,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def format_location(place: SourceLocation | None) -> str:
    """A place as a message names it, empty where it is none of the project's."""
    if place is None or place[0].startswith("<") or "site-packages" in place[0]:
        return ""
    return f"{escaped(shown_path(place[0]))}:{place[1]}"


def format_notes(*notes: str) -> str:
    """Notes at the end of a line, without the empty ones."""
    said = ", ".join(filter(None, notes))
    return f"  ({said})" if said else ""
