"""Source locations: find the file and line of the application's or the test's code."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from types import FrameType

from llm_mock.support.text import escape_unprintable, format_path

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
# Installed commands are in the folder of the interpreter, which may be inside the project.
_SCRIPTS = os.path.dirname(sys.executable or os.__file__) + os.sep
SourceLocation = tuple[str, int]
"""A file and a line, from 1."""


def find_frame_outside(*folders: str) -> FrameType:
    """Return the innermost frame outside of some folders, or the outermost frame without one.

    Args:
        folders: the folders, each ending in a separator.
    """
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(folders):
        frame = frame.f_back
    return frame


def find_caller() -> SourceLocation:
    """Return the location that called this package."""
    frame = find_frame_outside(_PACKAGE)
    return frame.f_code.co_filename, frame.f_lineno


def find_project_frame() -> FrameType | None:
    """Return the innermost frame of the project in the current stack, or None."""
    return next(_iterate_project_frames(), None)


def _iterate_project_frames() -> Iterator[FrameType]:
    """Yield the frames of the project in the current stack, from the innermost to the test."""
    frame: FrameType | None = sys._getframe(1)
    # The caller of the runner is not part of the test: it may be another test that runs pytest.
    while frame is not None and frame.f_globals.get("__name__") != "_pytest.runner":
        file = frame.f_code.co_filename
        # Generated code has names such as "<string>"; installed packages are not the project's.
        is_foreign = file.startswith((_PACKAGE, _STANDARD_LIBRARY, "<"))
        if not is_foreign and "site-packages" not in file and not _is_script(frame):
            yield frame
        frame = frame.f_back


def _is_script(frame: FrameType) -> bool:
    """Return whether a frame is the script of an installed command, such as `pytest`."""
    if frame.f_globals.get("__name__") != "__main__":
        return False
    return os.path.abspath(frame.f_code.co_filename).startswith(_SCRIPTS)


def find_project_line() -> str:
    """Return the innermost file and line of the project in the current stack; empty for none."""
    frame = find_project_frame()
    return "" if frame is None else _format_frame(frame)


def find_project_lines() -> tuple[str, ...]:
    """Return the innermost line of the project in the stack and, if it differs, the test's line.

    A line is a file and a number, such as `app.py:5`.
    """
    frames = list(_iterate_project_frames())
    ends = [*frames[:1], *frames[-1:]]
    return tuple(dict.fromkeys(map(_format_frame, ends)))


def _format_frame(frame: FrameType) -> str:
    return format_location((frame.f_code.co_filename, frame.f_lineno))


def warn_caller(warning: Warning) -> None:
    """Issue a warning at the line of the application or the test that made a call."""
    # A thread of an SDK has no line of the project, so the caller of this package is used.
    frame = find_project_frame() or find_frame_outside(_PACKAGE)
    # `warnings.warn` with a stacklevel cannot skip a varying number of frames before Python 3.12.
    warnings.warn_explicit(
        warning,
        category=None,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        module=frame.f_globals.get("__name__"),
        registry=frame.f_globals.setdefault("__warningregistry__", {}),
    )


def format_location(location: SourceLocation | None) -> str:
    """Return a location as messages show it; empty if it is not in the project."""
    if location is None:
        return ""
    file, line = location
    # On the thread of a server, the caller of this package is the standard library.
    if file.startswith(("<", _STANDARD_LIBRARY)) or "site-packages" in file:
        return ""
    return f"{escape_unprintable(format_path(file))}:{line}"


def names_location(text: str, location: str) -> bool:
    """Return whether a text contains a location as `format_location` returns it.

    `app.py:1` is neither in `app.py:12` nor in `my_app.py:1`.
    """
    return re.search(rf"(?<![\w./\\-]){re.escape(location)}(?!\d)", text) is not None


def format_origin(location: SourceLocation | None) -> str:
    """Return a location in brackets after one space, for the middle of a sentence."""
    return format_notes(format_location(location))[1:]


def format_notes(*notes: str) -> str:
    """Return notes in brackets for the end of a line, without the empty ones."""
    text = ", ".join(note for note in notes if note)
    return f"  ({text})" if text else ""
