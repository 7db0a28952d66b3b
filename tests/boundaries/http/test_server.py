"""The server, as clients see it that send what no SDK would send, or leave."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import socket
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest

from llm_mock import Latency, LLMMock, Reply, create_mock_get_model
from llm_mock.boundaries.http import connection, http1
from llm_mock.boundaries.http.client_clock import ClientClock
from llm_mock.boundaries.http.dispatch import dispatch_request
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.wire import WireRequest
from llm_mock.core.records import format_call
from llm_mock.support.redaction import Redactor, redact

QUESTION = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}


@pytest.fixture
def mock() -> LLMMock:
    return create_mock_get_model({"*": "Hi!"})


def serving() -> int:
    """Return the number of server threads; the outer run may have a server of its own."""
    return sum(thread.name == "llm-mock server" for thread in threading.enumerate())


@pytest.fixture(params=[False, True], ids=["closing", "keeping alive"])
def server(request: pytest.FixtureRequest, mock: LLMMock) -> Iterator[MockServer]:
    before = serving()
    with MockServer(lambda: mock, keep_alive=request.param) as server:
        yield server
    assert serving() == before
    gc.collect()  # what was left open would warn now


def connected(server: MockServer) -> socket.socket:
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=100)


def sent(server: MockServer, *pieces: bytes) -> bytes:
    """Return what comes back until the server closes the connection."""
    with closing(connected(server)) as client:
        for piece in pieces:
            client.sendall(piece)
        return b"".join(iter(lambda: client.recv(65536), b""))


def request_of(
    body: Any = QUESTION, path: str = "/v1/chat/completions", *headers: str, method: str = "POST"
) -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"{method} {path} HTTP/1.1", "host: localhost", "connection: close", *headers]
    if not any(header.startswith("transfer-encoding") for header in headers):
        lines.append(f"content-length: {len(content)}")
    return "\r\n".join([*lines, "", ""]).encode() + content


def status_and_body(answer: bytes) -> tuple[int, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def said(answer: bytes) -> str:
    status, body = status_and_body(answer)
    assert status == 200, body
    return str(body["choices"][0]["message"]["content"])


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/v1/chat/completions", {}, ["error", "message"]),
        ("/openai/v1/responses", b"[1]", ["error", "message"]),
        ("/openai/v1/chat/completions", b"{", ["error", "message"]),
        ("/any/gateway/v1/chat/completions", b"\xff", ["error", "message"]),
        ("/anthropic/v1/messages", {"model": 1}, ["error", "type"]),
        ("/v1/messages", b"", ["error", "type"]),
        ("/v1/messages/count_tokens", b"", ["error", "type"]),
        ("/gemini/v1beta/models/gemini-3:generateContent", b"{", ["error", "status"]),
        ("/v1beta/models/gemini-3:generateContent", {}, ["error", "status"]),
        ("/mistral/v1/chat/completions", b"{", ["object"]),
    ],
)
def test_a_body_that_cannot_be_read_is_a_400_in_the_providers_words(
    server: MockServer, path: str, body: Any, words: list[str]
) -> None:
    status, answer = status_and_body(sent(server, request_of(body, path)))
    assert status == 400
    for word in words:
        answer = answer[word]


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"Hello\r\n\r\n", 400),
        (b"GET / HTTP/1.1 x\r\n\r\n", 400),
        (b"GET /\x00 HTTP/1.1\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\n", 505),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nna me: x\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
            400,
        ),
        (
            (
                b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n"
                b"transfer-encoding: chunked\r\n\r\n"
            ),
            400,
        ),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nxyz\r\n", 400),
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n1\r\nabc\r\n",
            400,
        ),
        (
            b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
            + b"1" * 2000,
            400,
        ),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"x" * 70_000, 431),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nhost: localhost\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: a\nb: c\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nhost: localhost\n\n", 400),
        (b"GET / HTTP/1.1\r\nhost: localhost\r\nx: \x01\r\n\r\n", 400),
        (b"GET /nothing HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n", 404),
    ],
)
def test_what_is_no_request_is_refused(server: MockServer, request_: bytes, status: int) -> None:
    answer = sent(server, request_)
    assert status_and_body(answer)[0] == status
    assert "message" in status_and_body(answer)[1]["error"]


def test_an_unknown_path_is_told_what_there_is(server: MockServer, mock: LLMMock) -> None:
    status, body = status_and_body(sent(server, request_of({}, "/openai/v1/v1/batches")))
    assert status == 404
    assert body["error"]["message"] == (
        "POST /v1/v1/batches of api.openai.com is not supported by llm_mock. The server "
        "supports chat/completions, responses, messages, generateContent, interactions, converse, "
        "embeddings, models, token counts, moderations, images and audio. Check the program's "
        "base URL, or configure a response with mock.on('POST', '/v1/v1/batches', …)."
    )
    assert mock.refusals == [body["error"]["message"]]


def test_a_stream_that_stalls_is_silent_until_the_server_ends(
    server: MockServer, mock: LLMMock
) -> None:
    mock.set("m", Reply(chunks=["Once ", "upon ", "a ", "time"]))
    mock.misbehave("stalled")
    with closing(connected(server)) as client:
        client.sendall(request_of({**QUESTION, "stream": True}))
        received = b""
        while b"upon " not in received:
            received += client.recv(65536)
        client.settimeout(0.05)
        with pytest.raises(TimeoutError):
            client.recv(1)
        assert said(sent(server, request_of({**QUESTION, "stream": False}))) == "Once upon a time"
        server.close()
        client.settimeout(100)
        with contextlib.suppress(ConnectionResetError):
            assert client.recv(65536) == b""


def test_a_body_may_come_in_chunks_and_a_byte_at_a_time(server: MockServer) -> None:
    content = json.dumps(QUESTION).encode()
    body = (
        b"".join(b"%X;x=y\r\n%b\r\n" % (len(part), part) for part in (content[:7], content[7:]))
        + b"0\r\nT: x\r\n\r\n"
    )
    request_ = request_of(body, "/v1/chat/completions", "transfer-encoding: chunked")
    assert said(sent(server, request_)) == "Hi!"
    assert said(sent(server, *(request_[i : i + 1] for i in range(len(request_))))) == "Hi!"


def test_a_body_is_waited_for_where_the_client_asks_first(server: MockServer) -> None:
    head, _, body = request_of(QUESTION, "/v1/chat/completions", "expect: 100-continue").partition(
        b"\r\n\r\n"
    )
    with closing(connected(server)) as client:
        client.sendall(head + b"\r\n\r\n")
        assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        client.sendall(body)
        assert said(b"".join(iter(lambda: client.recv(65536), b""))) == "Hi!"


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_and_the_client_reads_why(
    server: MockServer, chunked: bool
) -> None:
    size = http1.MAX_BODY_BYTES + 1
    header = "transfer-encoding: chunked" if chunked else f"content-length: {size}"
    head = f"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\n{header}\r\n\r\n".encode() + (
        b"%x\r\n" % size if chunked else b""
    )
    status, body = status_and_body(sent(server, head, b"x" * 1_000_000))
    assert status == 413
    assert body["error"] == {
        "type": "request_too_large",
        "message": f"The body is too large; it must have at most {size - 1:,} bytes.",
    }


def test_a_body_of_50_mb_is_read(mock: LLMMock) -> None:
    question = {"model": "m", "messages": [{"role": "user", "content": "x" * 50_000_000}]}
    with MockServer(lambda: mock) as server:
        assert said(sent(server, request_of(question))) == "Hi!"
    assert mock.calls[0]["prompt_length"] == 50_000_000


def test_several_requests_at_once_are_answered_in_order(mock: LLMMock) -> None:
    mock.set("m", lambda request: request.prompt)
    requests = b"".join(
        request_of({"model": "m", "messages": [{"role": "user", "content": str(number)}]}).replace(
            b"connection: close", b"connection: close" if number == 99 else b"x: y"
        )
        for number in range(100)
    )
    with MockServer(lambda: mock, keep_alive=True) as server:
        answers = sent(server, requests).split(b"HTTP/1.1 ")[1:]
    assert [said(b"HTTP/1.1 " + answer) for answer in answers] == [
        str(number) for number in range(100)
    ]


async def answer_later(request: Any) -> str:
    await asyncio.sleep(0.001)
    return str(request.prompt)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "reply",
    [
        answer_later,
        lambda request: request.prompt,
        Reply("0", latency=Latency(first_chunk=0.001, real_time=True)),
    ],
    ids=["coroutine function", "function", "latency"],
)
def test_requests_at_once_whose_answers_wait_are_all_answered(
    mock: LLMMock, reply: Any, stream: bool
) -> None:
    mock.set("m", reply)
    messages = [{"role": "user", "content": "0"}]
    last = request_of({"model": "m", "messages": messages, "stream": stream})
    requests = last.replace(b"connection: close\r\n", b"") * 3 + last
    with MockServer(lambda: mock, keep_alive=True) as server:
        assert sent(server, requests).count(b"HTTP/1.1 200 OK\r\n") == 4


def test_thousands_of_requests_at_once_are_all_answered(mock: LLMMock) -> None:
    number = 3_000
    with MockServer(lambda: mock, keep_alive=True) as server, closing(connected(server)) as client:
        requests = b"HEAD / HTTP/1.1\r\nhost: localhost\r\n\r\n" * (number - 1)
        requests += b"HEAD / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"
        client.sendall(requests)
        with client.makefile("rb") as file:
            assert file.read().count(b"HTTP/1.1 200 OK\r\n") == number


def test_a_reply_function_may_wait_in_a_task_of_its_own(server: MockServer, mock: LLMMock) -> None:
    tasks = set()

    async def wait(prompt: object) -> str:
        tasks.add(asyncio.current_task())
        event = asyncio.Event()
        asyncio.get_running_loop().call_soon(event.set)
        await asyncio.wait_for(event.wait(), 10)
        return "Waited."

    mock.set("m", wait)
    for _ in range(2):
        assert said(sent(server, request_of())) == "Waited."
    assert len(tasks - {None}) == 2


def test_clients_of_http_1_0_are_answered_without_chunks(server: MockServer) -> None:
    answer = sent(
        server, request_of({**QUESTION, "stream": True}).replace(b"HTTP/1.1", b"HTTP/1.0")
    )
    assert b"transfer-encoding" not in answer
    assert answer.endswith(b"data: [DONE]\n\n")


def test_somebody_is_there(server: MockServer) -> None:
    assert status_and_body(sent(server, request_of(b"", "/", method="GET"))) == (
        200,
        {"llm-mock": server.url},
    )
    assert sent(server, request_of(b"", "/", method="HEAD")).endswith(b"\r\n\r\n")


@pytest.mark.parametrize("stream", [False, True])
def test_waits_are_waited_for_while_others_are_answered(
    server: MockServer, mock: LLMMock, stream: bool
) -> None:
    latency = Latency(first_chunk=0.3, real_time=True)
    mock.set("slow", Reply("At last", latency=latency))
    started = time.perf_counter()
    slow = threading.Thread(
        target=sent, args=(server, request_of({**QUESTION, "model": "slow", "stream": stream}))
    )
    slow.start()
    assert said(sent(server, request_of())) == "Hi!"
    assert slow.is_alive()
    slow.join()
    assert time.perf_counter() - started >= 0.3


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (ConnectionResetError("gone"), openai.APIConnectionError),
        (TimeoutError("slow"), openai.APITimeoutError),
    ],
)
def test_a_connection_fails_as_it_does_at_the_provider(
    server: MockServer, mock: LLMMock, error: Exception, raised: type[Exception], stream: bool
) -> None:
    mock.set_error("m", error)
    client = openai.OpenAI(base_url=server.openai_url, api_key="x", max_retries=0, timeout=0.3)
    with client, pytest.raises(raised):
        client.chat.completions.create(**QUESTION, stream=stream)  # type: ignore[call-overload]


def test_a_stream_that_is_dropped_ends_behind_what_came_before(
    server: MockServer, mock: LLMMock
) -> None:
    mock.set("m", Reply(chunks=["Hel", "lo"], error=ConnectionResetError("gone"), error_after=1))
    answer = sent(server, request_of({**QUESTION, "stream": True}))
    assert b'"Hel"' in answer
    assert not answer.endswith(b"0\r\n\r\n")


def test_clients_that_vanish_or_never_end_leave_nothing_behind(
    server: MockServer, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    mock.set("slow", Reply(chunks=["a", "b"], latency=Latency(first_chunk=1000, real_time=True)))
    mock.set("long", Reply(chunks=["x" * 100_000] * 300))
    left = [
        request_of()[:20],
        request_of()[:-1],
        request_of({**QUESTION, "model": "slow", "stream": True}),
    ]
    left += [request_of({**QUESTION, "model": "long", "stream": True})]
    for request_ in left:
        with closing(connected(server)) as client:
            client.sendall(request_)
    kept = [connected(server) for _ in left]
    for client, request_ in zip(kept, left, strict=True):
        client.sendall(request_)
    assert said(sent(server, request_of())) == "Hi!"
    server.close()
    for client in kept:
        client.close()


def test_a_client_that_takes_too_long_is_left(
    mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLIENT_TIMEOUT_SECONDS", 0.1)
    mock.set("m", Reply(chunks=["x" * 100_000] * 300))
    with MockServer(lambda: mock) as server, closing(connected(server)) as reader:
        reader.sendall(request_of({**QUESTION, "stream": True}))  # and never reads
        assert sent(server, request_of()[:-1]) == b""
        while server._context.connections:
            pass


def test_a_slow_answer_is_awaited_and_an_idle_connection_is_closed(
    mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "CLIENT_TIMEOUT_SECONDS", 0.1)
    mock.set("m", Reply("Late.", latency=Latency(first_chunk=0.25, real_time=True)))
    with MockServer(lambda: mock, keep_alive=True) as server, closing(connected(server)) as client:
        client.sendall(request_of())
        with client.makefile("rb") as file:
            assert said(file.read()) == "Late."


def test_async_suites_leave_no_connection_open(mock: LLMMock) -> None:
    async def ask() -> str:
        client = openai.AsyncOpenAI(base_url=server.openai_url, api_key="x")
        completion = await client.chat.completions.create(**QUESTION)  # type: ignore[call-overload]
        return str(completion.choices[0].message.content)

    with MockServer(lambda: mock) as server:
        for _ in range(3):
            assert asyncio.run(ask()) == "Hi!"
    gc.collect()  # what the client left open would warn now


def test_calls_of_several_threads_are_answered_at_once(server: MockServer, mock: LLMMock) -> None:
    threads = [
        threading.Thread(target=lambda: [said(sent(server, request_of())) for _ in range(25)])
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(mock.calls) == 200


def test_nothing_is_answered_where_nothing_is_mocked() -> None:
    with MockServer(lambda: None) as server:
        with pytest.raises(urllib.error.HTTPError, match="503") as raised:
            urllib.request.urlopen(f"{server.url}/v1/chat/completions", data=b"{}")
        assert "No mock is active" in json.load(raised.value)["error"]["message"]
        raised.value.close()


def test_a_closed_server_is_closed_once_more_and_refuses() -> None:
    server = MockServer(lambda: None)
    server.close()
    server.close()
    with pytest.raises(ConnectionRefusedError):
        connected(server)


def has_ipv6() -> bool:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not has_ipv6(), reason="needs IPv6")
def test_an_address_of_ipv6_is_served(mock: LLMMock) -> None:
    with closing(MockServer(lambda: mock, host="::1")) as server:
        assert server.url.startswith("http://[::1]:")
        assert said(sent(server, request_of())) == "Hi!"


def test_a_port_that_is_taken_is_an_error_and_leaks_nothing(server: MockServer) -> None:
    with pytest.raises(OSError, match="in use"):
        MockServer(lambda: None, port=urlsplit(server.url).port or 0)
    gc.collect()


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1:80", "host.docker.internal"],
)
def test_requests_that_name_this_machine_are_answered(server: MockServer, host: str) -> None:
    request_ = request_of().replace(b"host: localhost", f"host: {host}".encode())
    assert said(sent(server, request_)) == "Hi!"


@pytest.mark.parametrize(
    "host",
    ["evil.example", ""],
)
def test_requests_that_name_another_host_are_refused_and_use_up_no_reply(
    server: MockServer, mock: LLMMock, host: str
) -> None:
    mock.add("m", "Once", times=1)
    status, body = status_and_body(
        sent(server, request_of().replace(b"host: localhost", f"host: {host}".encode()))
    )
    assert status == 421
    assert "does not name this machine" in body["error"]["message"]
    assert mock.problems == [body["error"]["message"]]
    assert mock.calls == []
    assert said(sent(server, request_of())) == "Once"


def test_any_host_is_answered_where_that_is_wanted_and_so_is_a_client_that_asks_a_proxy(
    mock: LLMMock,
) -> None:
    with MockServer(lambda: mock, any_host=True) as server:
        assert (
            said(sent(server, request_of().replace(b"host: localhost", b"host: mock.test")))
            == "Hi!"
        )
    with MockServer(lambda: mock) as server:
        asked = request_of(QUESTION, "http://api.openai.com/v1/chat/completions")
        assert (
            said(sent(server, asked.replace(b"host: localhost", b"host: api.openai.com"))) == "Hi!"
        )


def test_what_a_request_carries_as_credential_is_secret_from_then_on(server: MockServer) -> None:
    keys = {
        "authorization: Bearer {}": "Kx8-acme-Trf5",
        "x-api-key: {}": "wiggle_99_waggle",
        "cookie: s={}": "jar-of-4-x",
    }
    for header, key in keys.items():
        sent(server, request_of(QUESTION, "/v1/chat/completions", header.format(key)))
        assert key not in str(redact(f"it is {header.format(key)} or Bearer {key}"))
    sent(server, request_of(QUESTION, "/v1beta/models/m:generateContent?key=plum-tree-77"))
    assert redact("a plum-tree-77 grows") == "a [redacted secret] grows"


def test_the_last_calls_are_kept_and_all_are_counted(mock: LLMMock) -> None:
    mock.history.limit = 100
    mock.set("r", "Yes.")

    def ask(number: int) -> None:
        model = ("m", "r", f"other-{number}")[number % 3]
        body = {"model": model, "messages": [{"role": "user", "content": str(number)}]}
        sent_ = WireRequest(
            "POST", "api.openai.com", "/v1/chat/completions", "", {}, json.dumps(body).encode()
        )
        dispatch_request(sent_, "openai", mock, ClientClock(None))

    for number in range(400):
        ask(number)
    gc.collect()
    # What is dropped must be free at once: a prompt may have megabytes.
    gc.disable()
    try:
        before = len(gc.get_objects())
        for number in range(400, 1_600):
            ask(number)
        after = len(gc.get_objects())
    finally:
        gc.enable()
    assert after <= before + 100
    assert [call["prompt"] for call in mock.calls] == [
        str(number) for number in range(1_500, 1_600)
    ]
    assert mock.history.number_of_calls == 1_600
    assert len(mock.calls_of("r")) == 33
    assert len(mock.history._states) <= 40


def test_the_line_of_a_huge_prompt_is_made_of_its_start(
    server: MockServer, mock: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_at: list[int] = []
    cover = Redactor._cover_secrets
    monkeypatch.setattr(
        Redactor,
        "_cover_secrets",
        lambda self, text: [looked_at.append(len(text)), cover(self, text)][1],
    )
    prompt = "a-sk-" * 1_000_000
    assert (
        said(
            sent(
                server,
                request_of({"model": "m", "messages": [{"role": "user", "content": prompt}]}),
            )
        )
        == "Hi!"
    )
    line = format_call(mock.calls[0])
    assert line.startswith("m  'a-sk-")
    assert len(line) < 200
    assert sum(looked_at) < 50_000


def test_each_server_has_a_port_of_its_own(mock_llm_calls: LLMMock) -> None:
    with MockServer(lambda: mock_llm_calls) as first, MockServer(lambda: mock_llm_calls) as second:
        for server in (first, second):
            assert httpx.get(server.url).json() == {"llm-mock": server.url}
        assert first.url != second.url
