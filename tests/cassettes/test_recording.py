"""Cassettes keep everything that `llm` exposes of its own OpenAI models."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import llm
import pytest
from llm.default_plugins.openai_models import AsyncChat, Chat

from llm_mock.boundaries.llm.get_model import LLMMock
from llm_mock.cassettes import Cassette
from llm_mock.cassettes.recording_command import RecordMode
from llm_mock.core.context import activate
from tests.openai_server import OpenAIServer, openai_server

KEY = "loopback-key-0123456789abcdef"


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    with openai_server() as running:
        yield running


@pytest.fixture(autouse=True)
def direct_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Any]:
    """Run a function with a cassette in a record mode; returns what it returns, and the mock."""

    def run_with_cassette(function: Callable[[], Any], mode: RecordMode) -> Any:
        mock = LLMMock(at_boundary=True)
        cassette = mock.cassette = Cassette(tmp_path / "cassette.yaml", mode)
        previous = activate(mock)
        try:
            result = function()
        finally:
            activate(previous)
        cassette.save(passed=True)
        assert mock.problems == []
        assert cassette.unused() == []
        return result, mock.calls

    return run_with_cassette


def exposed(response: Any) -> dict[str, Any]:
    """Everything that `llm` exposes of a response that was read, but its id and the time."""
    shown = {
        "text": response.text(),
        "tool_calls": response.tool_calls(),
        "usage": response.usage(),
        "json": response.json(),
        "resolved_model": response.resolved_model,
        "attachments": response.attachments,
    }
    if hasattr(response, "to_dict"):  # from llm 0.32 on
        shown |= {
            name: value
            for name, value in response.to_dict().items()
            if name not in ("id", "datetime_utc")
        }
        shown["events"] = [dataclasses.asdict(event) for event in response.stream_events()]
        shown["parts"] = response.messages()
    return shown


def weather(city: str) -> str:
    """Return what the weather is."""
    return f"{city}: sunny"


def model(server: OpenAIServer, kind: Any = Chat) -> Any:
    return kind(
        "loopback",
        key=KEY,
        api_base=server.url,
        can_stream=True,
        vision=True,
        supports_schema=True,
        supports_tools=True,
    )


SCHEMA = {
    "title": "Person",
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
}
PNG = b"\x89PNG\r\n\x1a\n0000"

PROMPTS: dict[str, Callable[[Any], Any]] = {
    "streamed": lambda asked: asked.prompt("Hi", system="Be brief", temperature=0.5),
    "not streamed": lambda asked: asked.prompt("Hi", stream=False),
    "schema": lambda asked: asked.prompt("Who?", schema=SCHEMA),
    "tools": lambda asked: asked.prompt("Which weather?", tools=[weather]),
    "tools, not streamed": lambda asked: asked.prompt(
        "Which weather?", tools=[weather], stream=False
    ),
    "attachment": lambda asked: asked.prompt(
        "See", attachments=[llm.Attachment(type="image/png", content=PNG)]
    ),
    "conversation": lambda asked: [
        (talk := asked.conversation()).prompt("One").text(),
        talk.prompt("Two"),
    ][1],
}


@pytest.mark.parametrize("ask", PROMPTS.values(), ids=PROMPTS.keys())
def test_a_replayed_response_equals_the_recorded_one_in_everything_that_llm_exposes(
    server: OpenAIServer, run: Callable[..., Any], ask: Callable[[Any], Any]
) -> None:
    def use() -> dict[str, Any]:
        return exposed(ask(model(server)))

    recorded, recorded_calls = run(use, "once")
    requests = len(server.requests)
    replayed, replayed_calls = run(use, "none")

    assert replayed == recorded
    assert len(server.requests) == requests > 0
    for call in recorded_calls + replayed_calls:
        call["timestamp"] = "now"
    assert replayed_calls == recorded_calls


@pytest.mark.parametrize(
    "ask",
    [PROMPTS["streamed"], PROMPTS["tools"], PROMPTS["schema"]],
    ids=["text", "tools", "schema"],
)
def test_an_async_response_is_recorded_and_replayed_too(
    server: OpenAIServer, run: Callable[..., Any], ask: Callable[[Any], Any]
) -> None:
    async def use() -> dict[str, Any]:
        return exposed(await ask(model(server, AsyncChat)).to_sync_response())

    recorded, _ = run(lambda: asyncio.run(use()), "once")
    replayed, _ = run(lambda: asyncio.run(use()), "none")

    assert replayed == recorded
    assert recorded["text"] or recorded["tool_calls"]


def test_a_chain_is_recorded_turn_by_turn(server: OpenAIServer, run: Callable[..., Any]) -> None:
    def use() -> list[dict[str, Any]]:
        return [
            exposed(response)
            for response in model(server).chain("Which weather?", tools=[weather]).responses()
        ]

    recorded, calls = run(use, "once")
    replayed, _ = run(use, "none")

    assert [response["text"] for response in replayed] == ["", "The tool says Rome: sunny."]
    assert replayed == recorded
    assert [call["turn"] for call in calls] == [1, 2]


def test_a_key_that_the_provider_echoes_never_enters_the_file(
    server: OpenAIServer, run: Callable[..., Any], tmp_path: Path
) -> None:
    def use() -> str:
        return str(model(server).prompt("Echo my key", system=f"My key is {KEY}").text())

    recorded, _ = run(use, "once")
    replayed, _ = run(use, "none")

    assert recorded == f"You sent Bearer {KEY}, that is all."
    assert replayed == "You sent Bearer [redacted secret], that is all."
    assert KEY not in (tmp_path / "cassette.yaml").read_text()


def test_an_error_of_the_provider_is_recorded_and_raised_again(
    server: OpenAIServer, run: Callable[..., Any]
) -> None:
    def use() -> Any:
        with pytest.raises(Exception, match="Slow down") as caught:
            model(server).prompt("Fail").text()
        error: Any = caught.value
        return (
            type(error),
            str(error),
            error.status_code,
            error.response.headers["retry-after"],
            error.body,
        )

    recorded, _ = run(use, "once")
    replayed, _ = run(use, "none")

    assert replayed == recorded
    assert recorded[2:4] == (429, "0")


def test_a_stream_that_the_application_leaves_is_replayed_as_far_as_it_was_read(
    server: OpenAIServer, run: Callable[..., Any]
) -> None:
    def use() -> str:
        chunks = iter(model(server).prompt("Hi"))
        return "".join(next(chunks) for _ in range(3))

    recorded, _ = run(use, "once")
    replayed, _ = run(use, "none")

    assert replayed == recorded
    assert recorded.startswith("Answer ")
