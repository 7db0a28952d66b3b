"""Shared by tests of recorded SDKs: runs with one cassette, and a provider that may be down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette, CassetteConfig
from llm_mock.cassettes.recording_command import RecordMode
from llm_mock.core.context import activate
from tests.openai_server import QuietServer
from tests.provider_server import ProviderServer, served

Server = TypeVar("Server", bound=QuietServer)


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


@contextmanager
def serve_as_provider(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Run a server on this machine, and take its host for a provider's."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(server):
        monkeypatch.setattr(http_settings, "hosts", (f"127.0.0.1:{server.server_port}",))
        yield server


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    with serve_as_provider(ProviderServer(), monkeypatch) as server:
        yield server
