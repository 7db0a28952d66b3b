"""Run pytest in a fresh process, and print how many Python calls that took."""

from __future__ import annotations

import sys
from types import FrameType

import pytest


class Counter:
    """A profile function that counts the calls of Python functions, resumed generators included."""

    calls = 0

    def __call__(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "call":
            self.calls += 1


if __name__ == "__main__":
    counter = Counter()
    sys.setprofile(counter)
    status = pytest.main(sys.argv[1:])
    sys.setprofile(None)
    print(counter.calls)
    sys.exit(status)
