"""aiohttp with slow readers, bodies of many forms, and sessions that are reused."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from google import genai

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette
from tests.provider_server import KEY

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
CHAT = "https://api.openai.com/v1/chat/completions"
QUESTION: Any = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hello"}]}
STREAM = {**QUESTION, "stream": True}
RAW = json.dumps(QUESTION).encode()
MUCH = ["x" * 1000] * 500
"""More than aiohttp keeps for a reader before it pauses the transport."""


async def text_of(response: aiohttp.ClientResponse) -> str:
    body = await response.json()
    return str(body["choices"][0]["message"]["content"])


async def pause() -> None:
    """Let every other task have several turns."""
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("pieces", [["a", "b"], MUCH], ids=["short", "long"])
def test_a_reader_may_await_between_the_chunks(
    pieces: list[str], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=pieces))

    async def read() -> list[bytes]:
        async with aiohttp.ClientSession() as session, session.post(CHAT, json=STREAM) as response:
            lines = []
            await pause()
            async for line in response.content:
                lines.append(line)
                await pause()
            return lines

    events = [line for line in asyncio.run(read()) if line.strip()]
    assert events[-1] == b"data: [DONE]\n"
    assert len(events) == len(pieces) + 3


def test_a_reader_that_pauses_is_not_sent_all_at_once(mock_llm_responses: LLMMock) -> None:
    class Connector(aiohttp.TCPConnector):
        async def connect(self, *args: Any, **kwargs: Any) -> Any:
            connection = await super().connect(*args, **kwargs)
            transports.append(connection.transport)
            return connection

    transports: list[Any] = []
    mock_llm_responses.set("gpt-4o", Reply(chunks=MUCH))

    async def read() -> tuple[bool, bytes]:
        async with (
            aiohttp.ClientSession(connector=Connector()) as session,
            session.post(CHAT, json=STREAM) as response,
        ):
            for _ in range(2 * len(MUCH)):
                await asyncio.sleep(0)
            return transports[0].is_reading(), await response.read()

    reads, body = asyncio.run(read())
    assert not reads
    assert body.endswith(b"data: [DONE]\n\n")


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_google_genai_reads_by_aiohttp_while_the_application_awaits(
    streamed: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("gemini-3-pro", Reply(chunks=["Once ", "upon ", "a ", "time"]))

    async def ask() -> list[str | None]:
        async with genai.Client().aio as client:
            if not streamed:
                return [
                    (
                        await client.models.generate_content(model="gemini-3-pro", contents="Hello")
                    ).text
                ]
            texts = []
            chunks = await client.models.generate_content_stream(
                model="gemini-3-pro", contents="Hello"
            )
            async for chunk in chunks:
                texts.append(chunk.text)
                await pause()
            return texts

    assert "".join(text or "" for text in asyncio.run(ask())) == "Once upon a time"


async def in_pieces() -> AsyncIterator[bytes]:
    yield RAW[:10]
    yield RAW[10:]


BODIES: dict[str, Callable[[], Any]] = {
    "bytes": lambda: RAW,
    "text": RAW.decode,
    "file": lambda: io.BytesIO(RAW),
    "generator": in_pieces,
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_body_may_have_any_form(body: Callable[[], Any], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")

    async def ask() -> str:
        async with aiohttp.ClientSession() as session, session.post(CHAT, data=body()) as response:
            return await text_of(response)

    assert asyncio.run(ask()) == "Hi!"
    assert mock_llm_responses.calls[0]["prompt"] == "Hello"


def test_a_session_asks_again_and_at_once(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", "Hi!")

    async def ask() -> list[str]:
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=1)) as session:

            async def once() -> str:
                async with session.post(CHAT, json=QUESTION) as response:
                    assert response.headers["connection"] == "close"
                    return await text_of(response)

            return [await once(), await once(), *await asyncio.gather(*(once() for _ in range(8)))]

    assert asyncio.run(ask()) == ["Hi!"] * 10


def test_a_reader_that_is_cancelled_leaves_nothing_behind(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=MUCH))

    async def ask() -> set[Any]:
        async with aiohttp.ClientSession() as session:

            async def read() -> None:
                async with session.post(CHAT, json=STREAM) as response:
                    async for _ in response.content:
                        started.set()
                        await asyncio.Event().wait()

            started = asyncio.Event()
            task = asyncio.create_task(read())
            await started.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with session.post(CHAT, json=QUESTION) as response:
                assert await text_of(response) == "".join(MUCH)
        await pause()
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(ask()) == set()


def test_an_answer_to_head_has_no_body(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", "Hi!")

    async def ask() -> tuple[int, bytes, int]:
        async with aiohttp.ClientSession() as session:
            async with session.head(CHAT) as response:
                status, body = response.status, await response.read()
            async with session.post(CHAT, json=QUESTION) as response:
                return status, body, response.status

    assert asyncio.run(ask()) == (404, b"", 200)
    mock_llm_calls.problems.clear()


@pytest.mark.parametrize(("status", "phrase"), [(503, "Service Unavailable"), (529, "")])
def test_a_status_that_is_not_standard_has_no_phrase(
    status: int, phrase: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.on("GET", "/v1/files/f", {}, status=status)

    async def ask() -> tuple[int, str | None]:
        async with (
            aiohttp.ClientSession() as session,
            session.get("https://api.openai.com/v1/files/f") as response,
        ):
            return response.status, response.reason

    assert asyncio.run(ask()) == (status, phrase)


def test_a_bug_in_the_stream_ends_the_connection(
    mock_llm_responses: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["a", "b"]))

    def broken(self: Any, body: Any) -> Any:
        yield b"data: {}\n\n"
        raise RuntimeError("a bug")

    monkeypatch.setattr("llm_mock.boundaries.http.client_clock.ClientClock.read_body", broken)

    async def ask() -> None:
        async with aiohttp.ClientSession() as session, session.post(CHAT, json=STREAM) as response:
            await asyncio.wait_for(response.read(), 10)

    with pytest.raises(aiohttp.ClientError):
        asyncio.run(ask())


PARTIAL = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
    b'{"model": "gpt-4o"'
)


@pytest.mark.parametrize(
    ("sent", "raised", "error"),
    [
        (b"", aiohttp.ServerDisconnectedError, "Remote end closed connection without response"),
        (
            PARTIAL[:30],
            aiohttp.ServerDisconnectedError,
            "Remote end closed connection without response",
        ),
        (PARTIAL, aiohttp.ClientPayloadError, None),
    ],
    ids=["nothing", "part of the head", "part of the body"],
)
def test_a_response_that_breaks_off_is_recorded_as_an_error(
    sent: bytes,
    raised: type[Exception],
    error: str | None,
    tmp_path: Path,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cassette = Cassette(tmp_path / "a.yaml", "all")
    monkeypatch.setattr(mock_llm_calls, "cassette", cassette)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(RAW)
        writer.write(sent)
        writer.close()

    async def ask() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        host = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
        monkeypatch.setattr(http_settings, "hosts", (host,))
        url = f"http://{host}/v1/chat/completions"
        headers = {"authorization": f"Bearer {KEY}"}
        async with (
            server,
            aiohttp.ClientSession() as session,
            session.post(url, data=RAW, headers=headers) as response,
        ):
            await response.read()

    with pytest.raises(raised):
        asyncio.run(ask())
    [call] = mock_llm_calls.calls
    assert call.response is None
    assert error is None or error in str(call.error)
    [recording] = cassette.recorded
    # A body may break off because its client has read enough.
    assert recording.response.unfinished is (error is None)
    monkeypatch.setattr(mock_llm_calls, "cassette", None)
