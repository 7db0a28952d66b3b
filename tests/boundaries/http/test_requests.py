"""A request is recorded as the same complete call, whoever sends it and by whichever way."""

from __future__ import annotations

import asyncio
import gzip
import inspect
import json
import re
import socket
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx
import openai
import pytest
import urllib3

from llm_mock import LLMMock
from llm_mock.boundaries.http.server import MockServer
from tests.boundaries.http.request_corpus import (
    ALL,
    APIS,
    KEY,
    Case,
    build_record,
    describe_without_hash,
    load_cases,
)
from tests.boundaries.http.request_senders import (
    BEARER,
    KEY_HEADERS,
    SDKS,
    find_served_url,
    is_installed,
    read_stream,
    send_async,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
PLAIN_CLIENT = "corpus/1"
NOT_COMPARED = ("timestamp", "fingerprint", "sdk")
"""The keys of a record that differ between calls or clients; see `build_record`."""
OWN_HEADERS = ("user-agent", "content-type", "authorization", "x-api-key", "x-goog-api-key")
"""The headers that the plain client is given; the rest are those of its library."""


class Clients:
    """The clients of all SDKs, made once, because making them takes longer than the requests."""

    def __init__(self, server_url: str) -> None:
        self.server_url = server_url
        self.plain = httpx.Client(headers={"user-agent": PLAIN_CLIENT})
        sdks = {api: sdk for api, sdk in SDKS.items() if is_installed(api)}
        self.in_process = {api: sdk.make_client(None) for api, sdk in sdks.items()}
        self.served = {api: sdk.make_client(server_url) for api, sdk in sdks.items()}
        self.loop = asyncio.new_event_loop()
        self.asynchronous = {
            api: self.loop.run_until_complete(make_in_loop(sdk.make_async_client))
            for api, sdk in sdks.items()
        }

    def close(self) -> None:
        """Close all clients."""
        self.loop.run_until_complete(self._close_asynchronous())
        self.loop.close()
        self.plain.close()

    async def _close_asynchronous(self) -> None:
        for client in self.asynchronous.values():
            if hasattr(client, "aio"):
                await client.aio.aclose()
            elif hasattr(client, "close"):
                closing = client.close()
                # botocore has no asynchronous client.
                if inspect.isawaitable(closing):
                    await closing


async def make_in_loop(make: Callable[[], Any]) -> Any:
    """Return an asynchronous client, which may look for the running loop."""
    return make()


@pytest.fixture(scope="module")
def clients(llm_mock_session_server: MockServer) -> Iterator[Clients]:
    """Yield the clients of all SDKs."""
    made = Clients(llm_mock_session_server.url)
    yield made
    made.close()


def list_ways(case: Case, clients: Clients) -> dict[str, Callable[[], None]]:
    """Return the functions that send a case, by the way that it takes."""
    headers = {"content-type": "application/json", **KEY_HEADERS.get(case.api, BEARER)}
    content = json.dumps(case.body).encode()
    ways: dict[str, Callable[[], Any]] = {
        "plain": partial(clients.plain.post, case.url, content=content, headers=headers)
    }
    served_url = find_served_url(case.url, clients.server_url)
    if served_url is not None:
        ways["plain, served"] = partial(
            clients.plain.post, served_url, content=content, headers=headers
        )
    if case.plain_only is None and case.api in clients.in_process:
        sdk = SDKS[case.api]
        for name, client in (
            ("SDK", clients.in_process[case.api]),
            ("SDK, served", clients.served[case.api]),
        ):
            ways[name] = lambda client=client: read_stream(sdk.call(client, case, False))
        asynchronous = clients.asynchronous[case.api]
        ways["SDK, asynchronous"] = lambda: clients.loop.run_until_complete(
            send_async(sdk, asynchronous, case)
        )
    return ways


def check_call(call: Any, case: Case, way: str, number: int, test: str) -> None:
    """Compare a call with all that is expected of it; a failure names the way."""
    expected = case.call
    record = {name: value for name, value in call.items() if name not in NOT_COMPARED}
    assert {"way": way, **record} == {"way": way, **build_record(case, number)}
    assert {"way": way, **call.request.body} == {"way": way, **case.recorded_body}
    assert re.fullmatch("[0-9a-f]{8}", call["fingerprint"])
    assert call.messages == expected["messages"]
    attachments = [describe_without_hash(each) for each in expected["attachments"]]
    assert call.attachments == attachments
    names = ("model", "prompt", "system", "tools", "tool_results", "schema", "options")
    for name in (*names, "turn", "stream"):
        assert getattr(call, name) == expected[name], name
    assert (call.number, call.test) == (number, test)
    assert (call.response, call.error) == (case.answer, None)
    assert call.usage == {"input_tokens": 11, "output_tokens": 2}
    assert call.request.method == "POST"


every_case = pytest.mark.parametrize("case", ALL, ids=[f"{case.api}: {case.name}" for case in ALL])
every_api = pytest.mark.parametrize("api", APIS)


@every_case
def test_a_request_is_recorded_as_the_same_call_by_every_way(
    case: Case,
    clients: Clients,
    llm_mock_server: MockServer,
    mock_llm_responses: LLMMock,
    request: pytest.FixtureRequest,
) -> None:
    mock_llm_responses.set("*", case.reply)
    for number, (way, send) in enumerate(list_ways(case, clients).items(), start=1):
        answer = send()
        assert answer is None or answer.status_code == 200, (way, answer.text)
        call = mock_llm_responses.last_call
        check_call(call, case, way, number, request.node.nodeid)
        if way.startswith("plain"):
            check_plain_request(call, case)
        else:
            assert re.match(SDKS[case.api].name, call["sdk"])
            assert remove_version(call.request.url) == remove_version(case.url)
            assert KEY not in str(call.request.headers)


def check_plain_request(call: Any, case: Case) -> None:
    """Compare the client, the URL and the headers with those that were sent."""
    headers = call.request.headers
    own = {name: headers[name] for name in OWN_HEADERS if name in headers}
    hidden = dict.fromkeys(KEY_HEADERS.get(case.api, BEARER), "[redacted]")
    plain = {"user-agent": PLAIN_CLIENT, "content-type": "application/json"}
    assert own == {**plain, **hidden}
    assert call["sdk"] == PLAIN_CLIENT
    assert call.request.url == case.url


def remove_version(url: str) -> str:
    """Return an address without the version of Google's API, which its SDK has another of."""
    return url.replace("/v1beta/", "/v1/")


ENCODINGS: dict[str, tuple[Callable[[Any], bytes], dict[str, str]]] = {
    "escapes": (lambda body: json.dumps(body).encode(), {}),
    "UTF-8": (lambda body: json.dumps(body, ensure_ascii=False).encode(), {}),
    "indented": (lambda body: b"\r\n" + json.dumps(body, indent="\t").encode() + b"\n", {}),
    "identity": (lambda body: json.dumps(body).encode(), {"content-encoding": "identity"}),
    "no encoding": (lambda body: json.dumps(body).encode(), {"content-encoding": ""}),
    "gzip": (lambda body: gzip.compress(json.dumps(body).encode()), {"content-encoding": "gzip"}),
    "GZIP": (lambda body: gzip.compress(json.dumps(body).encode()), {"Content-Encoding": "GZIP"}),
    "deflate": (
        lambda body: zlib.compress(json.dumps(body).encode()),
        {"content-encoding": "deflate"},
    ),
}
"""Functions that encode a body, with the headers that say so."""


def send_by_httpx(url: str, headers: dict[str, str], content: bytes) -> int:
    return httpx.post(url, headers=headers, content=content).status_code


def send_chunked_by_httpx(url: str, headers: dict[str, str], content: bytes) -> int:
    chunks = iter([content[:1], content[1:20], content[20:]])
    return httpx.post(url, headers=headers, content=chunks).status_code


def send_by_urllib3(url: str, headers: dict[str, str], content: bytes) -> int:
    return urllib3.request("POST", url, headers=headers, body=content).status


def send_chunked_by_urllib3(url: str, headers: dict[str, str], content: bytes) -> int:
    chunks = [content[:1], content[1:20], content[20:]]
    with urllib3.PoolManager() as pool:
        answer = pool.urlopen("POST", url, headers=headers, body=chunks, chunked=True)
        return answer.status


def send_as_bytes(url: str, *lines: str, body: bytes, size: int = 1_000_000) -> int:
    """Send a request as it is, in packets of a size; return the status."""
    parts = urlsplit(url)
    target = f"{parts.path}?{parts.query}" if parts.query else parts.path
    head = [f"POST {target} HTTP/1.1", f"Host: {parts.netloc}", "Connection: close", *lines]
    content = "\r\n".join([*head, "", ""]).encode() + body
    with closing(socket.create_connection((parts.hostname, parts.port), timeout=60)) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for start in range(0, len(content), size):
            client.sendall(content[start : start + size])
        answer = b"".join(iter(lambda: client.recv(65536), b""))
    return int(answer.split()[1])


def send_in_packets(url: str, headers: dict[str, str], content: bytes) -> int:
    lines = [f"{name.upper()}:{value}" for name, value in headers.items()]
    return send_as_bytes(url, *lines, f"CONTENT-LENGTH:{len(content)}", body=content, size=11)


def send_in_chunks_and_packets(url: str, headers: dict[str, str], content: bytes) -> int:
    lines = [f"{name.title()}:  {value} " for name, value in headers.items()]
    parts = (content[:1], content[1:20], content[20:])
    chunks = b"".join(b"%X;a=b\r\n%b\r\n" % (len(part), part) for part in parts)
    body = chunks + b"0\r\nTrailer: x\r\n\r\n"
    return send_as_bytes(url, *lines, "Transfer-Encoding: chunked", body=body, size=11)


IN_PROCESS = (send_by_httpx, send_chunked_by_httpx, send_by_urllib3, send_chunked_by_urllib3)
SERVED = (send_by_httpx, send_chunked_by_httpx, send_in_packets, send_in_chunks_and_packets)


@every_api
@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize(
    "name", ["text of other scripts", "results of parallel calls, and a text after them"]
)
def test_the_encoding_of_a_body_does_not_change_its_call(
    api: str,
    name: str,
    encoding: str,
    llm_mock_server: MockServer,
    mock_llm_responses: LLMMock,
    request: pytest.FixtureRequest,
) -> None:
    case = load_cases(api)[name]
    mock_llm_responses.set("*", case.reply)
    encode, further = ENCODINGS[encoding]
    content = encode(case.body)
    key_header = KEY_HEADERS.get(api, BEARER)
    headers = {"content-type": "application/json; charset=utf-8", **key_header, **further}
    served_url = find_served_url(case.url, llm_mock_server.url)
    assert served_url is not None
    sends = [partial(send, case.url) for send in IN_PROCESS]
    sends += [partial(send, served_url) for send in SERVED]
    for number, send in enumerate(sends, start=1):
        assert send(headers, content) == 200, send
        call = mock_llm_responses.last_call
        check_call(call, case, str(send), number, request.node.nodeid)
    fingerprints = {call["fingerprint"] for call in mock_llm_responses.calls}
    assert len(fingerprints) == 1


@every_api
@pytest.mark.parametrize(
    ("encoding", "content", "status", "message"),
    [
        ("br", b"x", 415, "br"),
        ("gzip, br", b"x", 415, "gzip, br"),
        ("gzip", b"not compressed", 400, '"The body is not valid gzip."'),
        ("gzip", gzip.compress(b"{}", mtime=0)[:-3], 400, "gzip"),
    ],
)
def test_a_body_that_cannot_be_decoded_is_refused(
    api: str, encoding: str, content: bytes, status: int, message: str, mock_llm_calls: LLMMock
) -> None:
    headers = {"content-encoding": encoding}
    answer = httpx.post(load_cases(api)["text"].url, headers=headers, content=content)
    assert answer.status_code == status
    assert message in answer.text
    assert mock_llm_calls.calls == []


@pytest.mark.parametrize("stored_by", ["whole", "streamed"])
def test_a_conversation_that_openai_keeps_goes_on(
    stored_by: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", "Hi!")
    client = openai.OpenAI(api_key=KEY)
    if stored_by == "whole":
        first = client.responses.create(model="gpt-5", input="Hello", instructions="Be brief.")
    else:
        events = client.responses.create(model="gpt-5", input="Hello", stream=True)
        *_, last = events
        first = last.response
    client.responses.create(model="gpt-5", input="Well?", previous_response_id=first.id)
    call = mock_llm_responses.last_call
    assert (call.prompt, call.system, call.turn, call.options) == ("Well?", "", 2, {})
    assert call.messages == [
        {"role": "user", "text": "Hello"},
        {"role": "assistant", "text": "Hi!"},
        {"role": "user", "text": "Well?"},
    ]


def test_an_image_that_is_given_by_its_url_has_no_type(mock_llm_responses: LLMMock) -> None:
    image = {"type": "image_url", "image_url": {"url": "https://example.com/page.png"}}
    mock_llm_responses.set("gpt-4o", "A page", attachments=[None])
    answer = openai.OpenAI().chat.completions.create(
        model="gpt-4o",
        messages=[{"role": "user", "content": [{"type": "text", "text": "What?"}, image]}],
    )
    assert answer.choices[0].message.content == "A page"
    mock_llm_responses.assert_called_with(attachments=[None])
    assert mock_llm_responses.last_call.attachments[0]["url"] == "https://example.com/page.png"
