"""A server whose mock has a cassette that records: what is not in it is asked of the provider."""

from __future__ import annotations

import functools
import http.client
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries import PLACEHOLDER_KEY
from llm_mock.boundaries.http import forwarding
from llm_mock.boundaries.http.server import MockServer
from llm_mock.cassettes import Cassette
from tests.provider_server import KEY, TEXT, ProviderServer, served


class Connections(http.client.HTTPConnection):
    """Connections to a host on loopback in place of every other."""

    target = ""

    def __init__(self, host: str, timeout: float) -> None:
        super().__init__(self.target, timeout=timeout)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    """Yield what stands for the providers' hosts."""
    with served(ProviderServer()) as provider:
        monkeypatch.setattr(Connections, "target", provider.host)
        monkeypatch.setattr(forwarding.http.client, "HTTPSConnection", Connections)
        yield provider


def user(text: str) -> Any:
    return [{"role": "user", "content": text}]


def ask(cassette: Path, go_on: Callable[[], None]) -> list[Any]:
    """Return the results of an SDK from a server with a cassette: whole, streamed, an error."""
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(cassette, "new_episodes")
    with (
        MockServer(lambda: mock) as server,
        openai.OpenAI(base_url=server.openai_url, api_key=KEY, max_retries=0) as client,
    ):
        create = functools.partial(client.chat.completions.create, model="gpt-4o")
        whole = create(messages=user("Hello"))
        started = time.monotonic()
        stream = create(messages=user("Go slowly"), stream=True)
        chunks = [next(stream)]
        # The provider waits for ten seconds at most; until then it has sent the first chunks alone.
        assert time.monotonic() - started < 8
        go_on()
        chunks += list(stream)
        with pytest.raises(openai.RateLimitError) as caught:
            create(messages=user("a fail"))
    mock.cassette.save(passed=True)
    assert mock.problems == []
    return [whole.model_dump(), [chunk.model_dump() for chunk in chunks], caught.value.body]


def test_what_no_reply_is_there_for_is_asked_of_the_provider_once(
    provider: ProviderServer, tmp_path: Path
) -> None:
    provider.go_on.clear()
    recorded = ask(tmp_path / "cassette.yaml", provider.go_on.set)
    assert recorded[0]["choices"][0]["message"]["content"] == TEXT
    assert ask(tmp_path / "cassette.yaml", provider.go_on.set) == recorded
    assert len(provider.requests) == 3
    assert KEY not in (tmp_path / "cassette.yaml").read_text()


@pytest.mark.parametrize(
    ("key", "told"),
    [
        (PLACEHOLDER_KEY, "There is no key for api.openai.com"),
        (KEY, "Cannot reach api.openai.com: "),
    ],
)
def test_a_provider_that_cannot_be_asked_is_an_error_that_says_so(
    key: str, told: str, provider: ProviderServer, tmp_path: Path
) -> None:
    provider.shutdown()
    provider.server_close()
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(tmp_path / "cassette.yaml", "new_episodes")
    with (
        MockServer(lambda: mock) as server,
        openai.OpenAI(base_url=server.openai_url, api_key=key, max_retries=0) as client,
        pytest.raises(openai.APIStatusError, match=told),
    ):
        client.chat.completions.create(model="gpt-4o", messages=user("Hello"))
