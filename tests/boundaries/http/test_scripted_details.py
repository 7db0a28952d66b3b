"""What a script says of an answer reaches each SDK: usage, order, refusals, and bodies as they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import llm
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.request_senders import (
    find_served_url,
    make_anthropic,
    make_gemini,
    make_mistral,
    make_openai,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
NO_USAGE = {"None": None, "an empty mapping": {}, "no counts": llm.Usage(None, None)}


class Clients:
    """The clients of the SDKs, which ask the provider or the server of the mock."""

    def __init__(self, server_url: str | None) -> None:
        self._server_url = server_url

    @property
    def openai(self) -> openai.OpenAI:
        return make_openai(self._server_url)

    @property
    def anthropic(self) -> anthropic.Anthropic:
        return make_anthropic(self._server_url)

    @property
    def gemini(self) -> genai.Client:
        return make_gemini(self._server_url)

    @property
    def mistral(self) -> Mistral:
        return make_mistral(self._server_url)

    def post(self, url: str, body: dict[str, Any]) -> httpx.Response:
        """Post a body without an SDK."""
        found = url if self._server_url is None else find_served_url(url, self._server_url)
        assert found is not None
        return httpx.post(found, json=body)


@pytest.fixture(params=["in process", "served"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Yield the clients, whose requests are answered in this process or by the server."""
    if request.param == "in process":
        yield Clients(None)
        return
    server: MockServer = request.getfixturevalue("llm_mock_server")
    yield Clients(server.url)


def ask_chat(clients: Clients) -> Any:
    return clients.openai.chat.completions.create(model="gpt-4o", messages=HELLO).usage


def stream_chat(clients: Clients) -> Any:
    chunks = clients.openai.chat.completions.create(
        model="gpt-4o", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
    return usages or None


def ask_responses(clients: Clients) -> Any:
    return clients.openai.responses.create(model="gpt-4o", input="Hello").usage


def stream_responses(clients: Clients) -> Any:
    with clients.openai.responses.stream(model="gpt-4o", input="Hello") as stream:
        return stream.get_final_response().usage


def ask_anthropic(clients: Clients) -> Any:
    return clients.anthropic.messages.create(
        model="claude-opus-5", max_tokens=9, messages=HELLO
    ).usage


def stream_anthropic(clients: Clients) -> Any:
    events = clients.anthropic.messages.create(
        model="claude-opus-5", max_tokens=9, messages=HELLO, stream=True
    )
    found = []
    for event in events:
        if event.type == "message_start":
            found.append(event.message.usage)
        elif event.type == "message_delta":
            found.append(event.usage)
    assert len(found) == 2
    return None if found == [None, None] else found


def ask_gemini(clients: Clients) -> Any:
    return clients.gemini.models.generate_content(model="gemini-3", contents="Hi").usage_metadata


def stream_gemini(clients: Clients) -> Any:
    chunks = clients.gemini.models.generate_content_stream(model="gemini-3", contents="Hi")
    usages = [chunk.usage_metadata for chunk in chunks]
    return None if usages == [None] * len(usages) else usages


def ask_mistral(clients: Clients) -> Any:
    # The type of the SDK wants the usage, so the body is read without it.
    url = "https://api.mistral.ai/v1/chat/completions"
    return clients.post(url, {"model": "mistral-large", "messages": HELLO}).json().get("usage")


def stream_mistral(clients: Clients) -> Any:
    events = clients.mistral.chat.stream(model="mistral-large", messages=HELLO)
    usages = [event.data.usage for event in events if event.data.usage]
    return usages or None


USAGE_READERS: dict[str, Callable[[Clients], Any]] = {
    "openai chat": ask_chat,
    "openai chat, streamed": stream_chat,
    "openai responses": ask_responses,
    "openai responses, streamed": stream_responses,
    "anthropic": ask_anthropic,
    "anthropic, streamed": stream_anthropic,
    "gemini": ask_gemini,
    "gemini, streamed": stream_gemini,
    "mistral": ask_mistral,
    "mistral, streamed": stream_mistral,
}


@pytest.mark.parametrize("read_usage", USAGE_READERS.values(), ids=USAGE_READERS)
def test_usage_is_absent_if_the_script_says_none(
    read_usage: Callable[[Clients], Any], clients: Clients, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", Reply("Hello!", usage=None))
    assert read_usage(clients) is None
    mock_llm_responses.add("*", "Hello!")
    assert read_usage(clients) is not None


@pytest.mark.parametrize("usage", NO_USAGE.values(), ids=NO_USAGE)
def test_a_call_without_usage_is_estimated_for_cost_and_budgets(
    usage: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hello!", usage=usage))
    assert ask_chat(Clients(None)) is None
    response = llm.get_model("gpt-4o").prompt("Hello")
    assert response.usage() == llm.Usage(None, None)
    assert response.text() == "Hello!"
    estimates = [{"input_tokens": 2, "output_tokens": 2}] * 2
    assert [call.usage for call in mock_llm_responses.calls] == estimates
