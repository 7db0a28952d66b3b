"""What a provider sends, byte by byte, and what a recording makes of it."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
import requests

from llm_mock import LLMMock
from llm_mock.cassettes import Cassette
from llm_mock.core.context import activate
from tests.cassettes.conftest import Run, serve_as_provider
from tests.openai_server import QuietServer

MESSAGE = {"role": "assistant", "content": "Hello"}
CHOICE = {"index": 0, "message": MESSAGE, "finish_reason": "stop"}
COMPLETION = json.dumps({"id": "1", "object": "chat.completion", "choices": [CHOICE]}).encode()
QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}


class ByteServer(QuietServer):
    """Sends these bytes with this status and these headers."""

    status: int = 200
    content: bytes = COMPLETION
    headers: dict[str, str]
    accepted: str | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.headers = {"content-type": "application/json"}

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/chat/completions"


class _Handler(BaseHTTPRequestHandler):
    server: ByteServer

    def log_message(self, *args: Any) -> None: ...

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.accepted = self.headers["Accept-Encoding"]
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(self.server.content)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ByteServer]:
    with serve_as_provider(ByteServer(), monkeypatch) as server:
        yield server


def post(url: str, **headers: str) -> requests.Response:
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.post(url, json=QUESTION, headers=names)


@pytest.mark.parametrize(
    ("accepted", "sent"),
    [
        ("gzip, deflate", "gzip, deflate"),
        ("gzip;q=0.5, br, identity", "gzip;q=0.5, identity"),
        ("br", "identity"),
        ("zstd, br;q=0.9", "identity"),
        ("*", "identity"),
    ],
)
@pytest.mark.parametrize("send", [requests.post, httpx2.post], ids=["requests", "httpx2"])
def test_a_provider_is_asked_only_for_encodings_that_can_be_recorded(
    run: Run, provider: ByteServer, accepted: str, sent: str, send: Callable[..., object]
) -> None:
    headers = {"accept-encoding": accepted}
    run("all", lambda: send(provider.url, json=QUESTION, headers=headers))
    assert provider.accepted == sent
    assert run.problems == []


RAW_DEFLATE = zlib.compress(COMPLETION)
ENCODINGS = {
    "gzip": gzip.compress(COMPLETION),
    "x-gzip": gzip.compress(COMPLETION),
    " GZIP ": gzip.compress(COMPLETION),
    "deflate": RAW_DEFLATE,
    "identity": COMPLETION,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_a_compressed_answer_is_recorded_as_it_is(
    run: Run, provider: ByteServer, encoding: str
) -> None:
    provider.content = ENCODINGS[encoding]
    provider.headers["content-encoding"] = encoding
    run("all", lambda: post(provider.url))
    assert run.problems == []
    assert run.calls[0]["response"] == "Hello"
    assert run("none", lambda: post(provider.url).json()) == json.loads(COMPLETION)


@pytest.mark.parametrize(
    ("encoding", "content", "problem"),
    [
        ("br", b"\x8b\x03\x80Hello\x03", "its encoding 'br' is not supported"),
        ("gzip", b"not compressed", "incorrect header check"),
    ],
)
def test_an_answer_that_cannot_be_decoded_is_a_problem_and_reaches_the_client(
    run: Run, provider: ByteServer, encoding: str, content: bytes, problem: str
) -> None:
    provider.content = content
    provider.headers |= {"content-encoding": encoding, "content-length": str(len(content))}

    def ask() -> bytes:
        with requests.post(provider.url, json=QUESTION, stream=True) as response:
            return response.raw.read(decode_content=False)

    assert run("all", ask) == content
    [message] = run.problems
    assert message.startswith("The response of 'm' to 'Hi' cannot be recorded: ")
    assert problem in message
    assert not run.path.exists()


def event(text: str) -> str:
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    return json.dumps({"id": "1", "object": "chat.completion.chunk", "choices": [choice]})


@pytest.mark.parametrize(
    "content",
    [
        f"data: {event('Hel')}\n\ndata: {event('lo')}\n\ndata: [DONE]\n\n",
        f"data:{event('Hel')}\n\ndata:{event('lo')}\n\ndata:[DONE]\n\n",
        f"data: {event('Hel')}\r\n\r\ndata: {event('lo')}\r\n\r\ndata: [DONE]\r\n\r\n",
        f"data: {event('Hel')}\r\rdata: {event('lo')}\r\rdata: [DONE]\r\r",
        f": a comment\n\nevent: x\ndata: {event('Hel')}\nid: 1\n\n"
        f"data: {event('lo')}\n\ndata: [DONE]",
        f"data: {event('Hel')}\n\ndata: {event('lo')}",
        # Several lines of data are one text.
        "data: " + event("Hel").replace(", ", ",\ndata: ") + f"\n\ndata: {event('lo')}\n\n",
    ],
    ids=[
        "usual",
        "no space",
        "CR LF",
        "CR",
        "fields, comments and no end",
        "without DONE",
        "lines",
    ],
)
def test_events_are_read_however_they_are_separated(
    run: Run, provider: ByteServer, content: str
) -> None:
    provider.content = content.encode()
    provider.headers["content-type"] = "text/event-stream; charset=utf-8"
    run("all", lambda: requests.post(provider.url, json={**QUESTION, "stream": True}).content)
    assert run.problems == []
    [call] = Cassette(run.path).calls
    [recorded] = call.response.events
    assert (recorded.text, recorded.chunks) == ("Hello", [3, 2])
    expected = [json.loads(event("…"))] * 2
    done = ["[DONE]"] if "DONE" in content else []
    assert call.response.raw == [*expected, *done]


def test_an_error_is_read_as_one_also_if_it_claims_to_be_a_stream(
    run: Run, provider: ByteServer
) -> None:
    provider.status = 400
    provider.headers["content-type"] = "text/event-stream"
    provider.content = b'{"error": {"message": "No such tool."}}'

    def ask() -> tuple[int, bytes]:
        answer = requests.post(provider.url, json={**QUESTION, "stream": True})
        return answer.status_code, answer.content

    assert run("all", ask) == (400, provider.content)
    assert run("none", ask) == (400, provider.content)


@pytest.mark.parametrize(
    ("url", "advice"),
    [
        ("https://api.openai.com/v1", "Set OPENAI_API_KEY"),
        # The variable for Groq is one that OpenAI's SDK does not read.
        (
            "https://api.groq.com/openai/v1",
            "Pass a key to the client, or set the environment variable that it reads",
        ),
    ],
)
def test_nothing_is_sent_to_a_provider_without_a_key(run: Run, url: str, advice: str) -> None:
    def ask() -> str:
        with (
            openai.OpenAI(base_url=url, max_retries=0) as client,
            pytest.raises(openai.APIError) as caught,
        ):
            client.chat.completions.create(**QUESTION)  # type: ignore[call-overload]
        return str(caught.value)

    host = url.split("/")[2]
    problem = f"There is no API key for {host}, so nothing was sent. {advice}, and record again."
    assert problem in run("all", ask)
    assert run.problems == [f"The call to 'm' could not be recorded: LLMMockError: {problem}"]
    assert not run.path.exists()


@pytest.mark.usefixtures("own_temporary_folder")
def test_a_cassette_that_can_no_longer_be_written_is_a_problem_at_once(
    tmp_path: Path, provider: ByteServer
) -> None:
    mock = LLMMock(at_boundary=True)
    path = tmp_path / "cassette.yaml"
    mock.cassette = Cassette(path, "all", at_once=True)
    previous = activate(mock)
    try:
        requests.post(provider.url, json=QUESTION)
        assert path.exists()
        path.unlink()
        (path / "in the way").mkdir(parents=True)
        assert requests.post(provider.url, json=QUESTION).content == provider.content
    finally:
        activate(previous)
    [problem] = mock.problems
    assert problem.startswith(f"The cassette {path} could not be written: Is a directory")


# In Latin-1: no valid UTF-8
CAFE = '"caf\xe9"'.encode("latin-1")
DELTA = b'{"id": "1", "choices": [{"index": 0, "delta": {"content": X}}]}'
LINE = b'{"model": "m", "message": {"role": "assistant", "content": X}, "done": false}'


@pytest.mark.parametrize(
    ("media_type", "path", "content"),
    [
        ("application/json", "/v1/chat/completions", COMPLETION.replace(b'"Hello"', b"X")),
        ("text/event-stream", "/v1/chat/completions", b"data: " + DELTA + b"\n\ndata: [DONE]\n\n"),
        ("application/x-ndjson", "/api/chat", LINE + b"\n"),
    ],
)
def test_bytes_that_are_no_utf_8_are_recorded_as_replacement_characters(
    media_type: str, path: str, content: bytes, run: Run, provider: ByteServer
) -> None:
    provider.content = content.replace(b"X", CAFE)
    provider.headers["content-type"] = media_type
    url = f"http://127.0.0.1:{provider.server_port}{path}"
    stream = media_type != "application/json"

    def ask() -> bytes:
        body = {**QUESTION, "stream": stream}
        return requests.post(url, json=body, headers={"user-agent": "OpenAI/Python 2"}).content

    assert run("all", ask) == provider.content
    [recorded] = Cassette(run.path).calls
    assert [event.text for event in recorded.response.events] == ["caf\N{REPLACEMENT CHARACTER}"]
    assert run.problems == []


@pytest.mark.parametrize(
    ("stream", "media_type"),
    [(False, "application/json"), (True, "text/event-stream; charset=utf-8")],
)
def test_an_answer_without_a_recorded_media_type_has_that_of_its_form(
    stream: bool, media_type: str, run: Run, provider: ByteServer
) -> None:
    provider.content = (
        b"data: " + DELTA.replace(b"X", b'"Hello"') + b"\n\n" if stream else COMPLETION
    )
    provider.headers.update({"content-type": media_type, "x-request-id": "req_1"})

    def ask() -> str:
        answer = requests.post(provider.url, json={**QUESTION, "stream": stream})
        return f"{answer.headers['content-type']}, {answer.headers['x-request-id']}"

    assert run("all", ask) == f"{media_type}, req_1"
    without, count = re.subn(" +content-type: .*\n", "", run.path.read_text())
    assert count == 1
    run.path.write_text(without)
    assert run("none", ask) == f"{media_type}, req_1"
