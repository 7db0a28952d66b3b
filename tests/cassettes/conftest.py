"""Shared by tests of recorded SDKs: runs with one cassette, and a provider that may be down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette, CassetteConfig
from llm_mock.cassettes.recording_command import RecordMode
from llm_mock.core.context import activate
from tests.provider_server import ProviderServer, served


class Run:
    """Runs with one cassette, and a provider that may be down."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[str] = []
        self.calls: list[Any] = []

    def __call__(self, mode: RecordMode, use: Callable[[], Any], **config: Any) -> Any:
        mock = LLMMock(at_boundary=True)
        cassette = mock.cassette = self.cassette = Cassette(
            self.path, mode, CassetteConfig(**config)
        )
        previous = activate(mock)
        try:
            return use()
        finally:
            activate(previous)
            cassette.save(passed=True)
            self.problems = [*mock.problems, *filter(None, [cassette.describe_lost_calls()])]
            self.calls = mock.calls


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "cassette.yaml")


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(ProviderServer()) as server:
        monkeypatch.setattr(http_settings, "hosts", (server.host,))
        yield server
