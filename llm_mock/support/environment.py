"""Environment variables of this process."""

from __future__ import annotations

import os
from collections.abc import Mapping


def set_environment(values: Mapping[str, str | None]) -> None:
    """Set environment variables, and delete those with the value None."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
