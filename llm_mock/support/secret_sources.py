"""Functions that find further secrets, called when the next text is redacted.

A separate module, so that a run without redaction does not import the redaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

SECRET_SOURCES: list[Callable[[], Iterable[str]]] = []
"""The functions. Each one is called once and returns the values to redact."""
