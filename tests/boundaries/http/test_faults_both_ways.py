"""A misbehaviour is the same for an SDK in process and over a connection."""

from __future__ import annotations

import functools
import re
from typing import Any

import pytest

from llm_mock import LLMMock, Reply
from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.sdks import SDK, Anthropic, Gemini, MistralChat, every_sync_sdk

pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
TEXT = ["Once ", "upon ", "a ", "time"]
DATA = {"found": True, "name": "Ada"}
FOR_STREAMS = [
    name for name, fault in CATALOGUE.items() if fault.needs.startswith("a streamed answer")
]
ENDINGS = ("timed out", "The read operation timed out")
"""What a socket says of a timeout, without TLS (as the server is asked) and with it (as providers are)."""  # noqa: E501

ANSWERED = ("error", "response", "input_tokens", "output_tokens", "finish_reason")
"""The fields of a record that tell an answer from a timeout of the client."""


@functools.cache
def client_of(sdk: type[SDK], url: str | None, timeout: float) -> SDK:
    """Return a client with a timeout, of the server at a URL or of the provider."""
    given: dict[str, Any] = {}
    if sdk is Gemini:
        options = {"timeout": int(timeout * 1000)}
        given = {"http_options": {**options, "base_url": f"{url}/gemini"} if url else options}
    elif sdk is MistralChat:
        given = {
            "api_key": "any",
            "timeout_ms": int(timeout * 1000),
            **({"server_url": f"{url}/mistral"} if url else {}),
        }
    else:
        path = "/anthropic" if sdk is Anthropic else "/openai/v1"
        given = {"timeout": timeout, **({"base_url": url + path} if url else {})}
    return sdk(**given)


def what_comes_of(client: SDK, name: str, streamed: bool, mock: LLMMock) -> Any:
    """Return what an SDK makes of a misbehaviour, and the record of the call."""
    mock.reset()
    if name == "repeated-answer":
        mock.add(client.model, "Something else")
        mock.misbehave(name)
        client.ask("Hello")
    mock.set(
        client.model, Reply(data=DATA) if "JSON" in CATALOGUE[name].needs else Reply(chunks=TEXT)
    )
    if mock.misbehaviour is None:
        mock.misbehave(name)
    more = {"tools": True} if CATALOGUE[name].needs == "a call that offers tools" else {}
    outcome: Any
    try:
        outcome = (client.stream if streamed else client.ask)("Hello", **more)
    except Exception as error:
        # Each response has a request id of its own, which Anthropic's SDK shows.
        text = re.sub(r"req_mock_\d+", "req_mock", str(error))
        # What is left of a chunk may show the second in which it was made.
        text = re.sub(r"\d{10}", "created", text)
        outcome = type(error), ENDINGS[0] if text in ENDINGS else text
    assert mock.problems == []
    record: dict[str, Any] = {**mock.calls[-1]}
    assert record.pop("misbehaviour") == name
    record.pop("timestamp")
    if name == "slow-first-token":
        # The server does not know after which time its client stops waiting.
        for field in ANSWERED:
            record.pop(field, None)
    return outcome, record


@every_sync_sdk
@pytest.mark.parametrize("name", CATALOGUE)
def test_a_misbehaviour_is_the_same_in_process_and_served(
    sdk: type[SDK], name: str, mock_llm_responses: LLMMock, llm_mock_server: MockServer
) -> None:
    timeout = {"stalled": 0.5, "slow-first-token": 0.1, "timeout": 0.1}.get(name, 60)
    for streamed in (False, True):
        if streamed or name not in FOR_STREAMS:
            in_process, served = (
                what_comes_of(client_of(sdk, url, timeout), name, streamed, mock_llm_responses)
                for url in (None, llm_mock_server.url)
            )
            assert in_process == served
