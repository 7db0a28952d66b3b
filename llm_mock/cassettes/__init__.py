"""Record real calls as stream events, and replay them.

Names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from llm_mock.support.lazy_names import lazy_names

if TYPE_CHECKING:
    from llm_mock.cassettes.cassette import Cassette as Cassette
    from llm_mock.cassettes.config import DATES as DATES
    from llm_mock.cassettes.config import IDS as IDS
    from llm_mock.cassettes.config import TEMPORARY_PATHS as TEMPORARY_PATHS
    from llm_mock.cassettes.config import CassetteConfig as CassetteConfig

# Defined here, because every run of pytest needs the modes, and few runs need more.
RecordMode = Literal["none", "once", "new_episodes", "all", "rewrite"]
RECORD_MODES: tuple[RecordMode, ...] = get_args(RecordMode)

# Lazy, because pytest loads this package even in runs without cassettes.
_MODULES = {
    "cassette": "Cassette",
    "config": "CassetteConfig DATES IDS TEMPORARY_PATHS",
}

__all__ = " ".join(_MODULES.values()).split()
__getattr__, __dir__ = lazy_names(__name__, _MODULES)
