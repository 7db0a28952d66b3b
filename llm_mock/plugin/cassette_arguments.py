"""Validation of the arguments of the marker `llm_mock_cassette`: name and record mode."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from llm_mock.cassettes import RECORD_MODES
from llm_mock.errors import LLMMockError
from llm_mock.support.text import shorten, suggest_nearest

if TYPE_CHECKING:
    from llm_mock.cassettes import RecordMode


def check_name(name: object) -> None:
    """Raise an LLMMockError if the name of a cassette is not a path below its folder."""
    if not _is_valid_name(name):
        raise LLMMockError(
            f"{shorten(name)} is not a relative path below the folder `cassettes` beside the test."
        )


def _is_valid_name(name: object) -> bool:
    if not isinstance(name, str) or not name.strip() or not name.isprintable():
        return False
    path = PurePosixPath(name)
    # A backslash separates folders on Windows only.
    has_parts = bool(path.parts) and "\\" not in name
    return has_parts and ".." not in path.parts and not path.is_absolute()


def check_record_mode(mode: object) -> RecordMode:
    """Return a record mode; raise an LLMMockError for an unknown one."""
    for known in RECORD_MODES:
        if mode == known:
            return known
    modes = ", ".join(RECORD_MODES)
    nearest = suggest_nearest(str(mode), RECORD_MODES) or "."
    raise LLMMockError(f"Unknown record mode {shorten(mode)}{nearest} It must be one of {modes}.")
