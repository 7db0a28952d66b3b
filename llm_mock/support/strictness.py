"""The levels of strictness that ini keys, options and markers share."""

from __future__ import annotations

from typing import Literal, get_args

Strictness = Literal["off", "warn", "error"]
"""The reaction to a problem: `off` ignores it, `warn` reports it, `error` fails the test."""
STRICTNESS_LEVELS: tuple[Strictness, ...] = get_args(Strictness)
EITHER_LEVEL: tuple[Strictness, ...] = ("off", "error")
"""The levels of a check without warnings."""
