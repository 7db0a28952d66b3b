"""Functions that find further secrets, called when the next text is redacted.

A module of its own, so that a run that redacts nothing need not import the redaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

SECRET_SOURCES: list[Callable[[], Iterable[str]]] = []
"""Each is called once, and returns the values to redact."""
