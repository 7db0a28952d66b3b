"""Read exceptions of the application, which may themselves be faulty."""

from __future__ import annotations


def get_exception_text(error: BaseException | None) -> str:
    """Return the text of an exception; empty for None, and if its `__str__` fails."""
    try:
        return "" if error is None else str(error)
    except Exception:
        return ""
