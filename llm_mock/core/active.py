"""Which mock answers at this moment: one a process.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import Any


class _State:
    mock: Any = None
    live = False


def active() -> Any:
    """The mock that answers at this moment; None when libraries are left alone."""
    return None if _State.live else _State.mock


def activate(mock: Any) -> Any:
    """Let a mock answer from now on, or none. Returns the one that did before, to be put back."""
    previous, _State.mock = _State.mock, mock
    return previous


def is_live() -> bool:
    """Whether real models are called although there may be a mock."""
    return _State.live


def set_live(live: bool) -> None:
    """Let real models be called until this is switched off again."""
    _State.live = live
