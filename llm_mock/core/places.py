"""Where in the project something was said: the first frame outside of this package."""

from __future__ import annotations

import os
import sys
from types import FrameType

from llm_mock.support.text import escaped, shown_path

_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep
Place = tuple[str, int]
"""A file and a line, from 1."""


def first_frame_outside(*packages: str) -> FrameType:
    """The innermost frame whose code is in none of some folders, each ending in a separator; else the outermost."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(packages):
        frame = frame.f_back
    return frame


def calling_place() -> Place:
    """Where this package was called."""
    frame = first_frame_outside(_PACKAGE)
    return frame.f_code.co_filename, frame.f_lineno


def place_text(place: Place | None) -> str:
    """A place as a message names it, empty where it is none of the project's."""
    if place is None or place[0].startswith("<") or "site-packages" in place[0]:
        return ""
    return f"{escaped(shown_path(place[0]))}:{place[1]}"


def in_brackets(*notes: str) -> str:
    """Notes at the end of a line, without the empty ones."""
    said = ", ".join(filter(None, notes))
    return f"  ({said})" if said else ""
