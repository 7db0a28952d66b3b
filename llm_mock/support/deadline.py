"""Limit the time of a run."""

from __future__ import annotations

import math
import time


class DeadlinePassed(Exception):
    """An error for a run that exceeded its time limit."""


class Deadline:
    """A point in time, a number of seconds from now.

    Args:
        seconds: the seconds until the deadline; infinite for no deadline.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """The seconds until the deadline, at least 0; infinite without one."""
        return max(0.0, self._end - time.monotonic())

    def check(self) -> None:
        """Raise DeadlinePassed if the deadline has passed."""
        if not self.left:
            raise DeadlinePassed

    def limit(self, timeout: float | None) -> float | None:
        """Return the time left or a shorter timeout; None if both are infinite."""
        seconds = self.left
        if timeout is not None:
            seconds = min(timeout, seconds)
        return None if seconds == math.inf else seconds
