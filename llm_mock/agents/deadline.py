"""The time that a run of an agent may take."""

from __future__ import annotations

import time


class RunTimedOut(Exception):
    """The time of a run is up."""


class Deadline:
    """So many seconds from now; None is no end."""

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        self._end = None if seconds is None else time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """Seconds until then, 0 once it has passed; None where there is no end."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise RunTimedOut where it has passed."""
        if self.left == 0:
            self.passed()

    def passed(self) -> None:
        """Raise RunTimedOut."""
        raise RunTimedOut(f"timeout={self.seconds:g} was reached: the run took longer than that many seconds")

    def for_call(self, own: float | None) -> float | None:
        """The seconds that a call of a tool may take: what is left, or what it may by itself where that is less."""
        return self.left if own is None or self.left is None else min(own, self.left)
