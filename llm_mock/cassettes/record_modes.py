"""What a cassette records."""

from __future__ import annotations

import os
import shlex
from typing import Literal, get_args

RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)


def recording_command(mode: RecordMode) -> str:
    """What a person types to record the calls of the test that runs."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
    return f"pytest {shlex.quote(test)} --llm-mock-record {mode}" if test else f"pytest --llm-mock-record {mode}"
