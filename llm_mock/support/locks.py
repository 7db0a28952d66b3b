"""Locks."""

from __future__ import annotations

import threading


class Lock(type(threading.RLock())):  # type: ignore[misc]
    """A reentrant lock of an object that may be copied and pickled: the copy has a lock of its
    own."""

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()
