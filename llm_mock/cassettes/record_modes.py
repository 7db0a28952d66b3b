"""What a cassette records."""

from __future__ import annotations

from typing import Literal, get_args

RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)
