"""Read exceptions of the application, which may themselves be faulty, and their frames."""

from __future__ import annotations

from types import FrameType


def get_exception_text(error: BaseException | None) -> str:
    """Return the text of an exception; empty for None, and if its `__str__` fails."""
    try:
        return "" if error is None else str(error)
    except Exception:
        return ""


def get_module_name(frame: FrameType) -> str:
    """Return the name of the module whose code a frame runs; empty for code without a module."""
    return str(frame.f_globals.get("__name__", ""))
