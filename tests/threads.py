"""Functions that run in threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def in_threads(count: int, function: Callable[[int], object]) -> None:
    """Call a function in that many threads at once; it must not raise."""
    errors: list[BaseException] = []
    interval = sys.getswitchinterval()
    # Switching often, they meet each other where they can. Only from here on, because a thread
    # that is interrupted while it starts may be lost under coverage.
    start = threading.Barrier(count, action=lambda: sys.setswitchinterval(1e-6), timeout=60)

    def call(number: int) -> None:
        try:
            start.wait()
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
