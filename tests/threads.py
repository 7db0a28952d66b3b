"""Functions that run in threads."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable


def in_threads(count: int, function: Callable[[int], object]) -> None:
    """Call a function in that many threads at once; it must not raise."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def call(number: int) -> None:
        start.wait()
        try:
            function(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that they meet each other where they can
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    if errors:
        raise errors[0]
