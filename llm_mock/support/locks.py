"""A lock that can be copied and pickled."""

from __future__ import annotations

import threading


class Lock(type(threading.RLock())):  # type: ignore[misc]
    """A reentrant lock for objects that are copied or pickled: the copy has a new lock."""

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
