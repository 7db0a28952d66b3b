"""A tripwire for interception: no lookup of a host and no connection off this machine."""

from __future__ import annotations

from collections.abc import Iterator

import openai
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.request_senders import make_openai
from tests.tripwire import TRIPWIRE


@pytest.fixture(autouse=True)
def nothing_leaves_this_machine() -> Iterator[None]:
    """Fail a test of whose requests one would have left."""
    TRIPWIRE.tripped.clear()
    yield
    assert TRIPWIRE.tripped == []


@pytest.fixture(params=["in process", "served"])
def server_url(request: pytest.FixtureRequest) -> str | None:
    """Return the URL of the server that is asked; None where this process answers."""
    if request.param == "in process":
        return None
    server: MockServer = request.getfixturevalue("llm_mock_server")
    return server.url


@pytest.fixture
def client(server_url: str | None, mock_llm_calls: LLMMock) -> Iterator[openai.OpenAI]:
    """Return a client of OpenAI, which the mock answers in this process or by the server."""
    with make_openai(server_url).with_options(api_key="any") as client:
        yield client
