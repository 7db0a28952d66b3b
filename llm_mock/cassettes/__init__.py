"""Record real calls, and replay them: above the provider, as `llm`'s own stream events."""

from __future__ import annotations

from llm_mock.cassettes.cassette import Cassette as Cassette
from llm_mock.cassettes.config import DATES as DATES
from llm_mock.cassettes.config import IDS as IDS
from llm_mock.cassettes.config import TEMPORARY_PATHS as TEMPORARY_PATHS
from llm_mock.cassettes.config import CassetteConfig as CassetteConfig

__all__ = ["DATES", "IDS", "TEMPORARY_PATHS", "Cassette", "CassetteConfig"]
