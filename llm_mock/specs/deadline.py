"""How long a test may still take."""

from __future__ import annotations

import time


class Deadline:
    """The moment, a number of seconds from now, at which something must be over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until then; 0 once it has passed."""
        return max(0.0, self._end - time.monotonic())

    @property
    def passed(self) -> bool:
        """Whether it is over."""
        return self.left == 0
