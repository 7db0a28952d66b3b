"""Limit the time of a run."""

from __future__ import annotations

import time


class RunTimedOut(Exception):
    """The time of a run is up."""


class RunDeadline:
    """A point in time.

    Args:
        seconds: the seconds until then; None for no deadline.
    """

    def __init__(self, seconds: float | None) -> None:
        self.seconds = seconds
        if seconds is None:
            self._end = None
        else:
            self._end = time.monotonic() + seconds

    @property
    def left(self) -> float | None:
        """The seconds until the deadline, at least 0; None without one."""
        if self._end is None:
            return None
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise RunTimedOut if the deadline has passed."""
        if self.left == 0:
            self.raise_error()

    def raise_error(self) -> None:
        """Raise RunTimedOut."""
        raise RunTimedOut(
            f"timeout={self.seconds:g} was reached: the run took longer than that many seconds"
        )

    def limit(self, timeout: float | None) -> float | None:
        """Return the time left or a shorter timeout of a tool; None is the tool's own."""
        left = self.left
        if timeout is None or left is None:
            return left
        return min(timeout, left)
