"""`llm-mock import`: what VCR recorded is replayed from a cassette of ours."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
import requests
import vcr
import yaml
from click.testing import CliRunner

from llm_mock import LLMMock
from llm_mock.boundaries.http.event_stream import decode_messages, encode_event
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.cassettes import Cassette
from llm_mock.cli import main
from llm_mock.core.context import activate
from tests.provider_server import KEY, TEXT, ProviderServer, served

RESPONSE = {
    "id": "resp_1",
    "object": "response",
    "output": [
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "Hi", "annotations": []}],
        }
    ],
}
MESSAGES = [{"role": "user", "content": "Hello"}]


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProviderServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with served(ProviderServer()) as server:
        yield server


def run(*arguments: object) -> tuple[int, list[str]]:
    result = CliRunner().invoke(main, ["import", *map(str, arguments)])
    return result.exit_code, result.output.splitlines()


def post(url: str, body: Any, **headers: str) -> None:
    requests.post(
        url, json=body, headers={"authorization": f"Bearer {KEY}", **headers}, timeout=10
    ).close()


def record(path: Path, provider: ProviderServer) -> None:
    """Record calls as VCR does: plain and zipped, streamed, an error, and others."""
    serializer = path.suffix.removeprefix(".")
    chat = {"model": "gpt-4o", "messages": MESSAGES}
    recorder = vcr.VCR(serializer=serializer, decode_compressed_response=serializer == "json")
    with recorder.use_cassette(str(path)):
        post(f"{provider.url}/v1/chat/completions", chat)
        post(f"{provider.url}/v1/chat/completions", {**chat, "stream": True})
        post(
            f"{provider.url}/v1/messages",
            {"model": "claude", "max_tokens": 9, "messages": MESSAGES},
        )
        failing = [{"role": "user", "content": "a fail"}]
        post(f"{provider.url}/v1/chat/completions", {**chat, "messages": failing})
        post(f"{provider.url}/v1/embeddings", {"model": "gpt-4o", "input": "Hello"})
        post(f"{provider.url}/v1/chat/completions", {"model": "gpt-4o"})


def test_what_a_provider_answers_besides_models_is_imported(tmp_path: Path) -> None:
    body = {"string": '{"data": []}'}
    headers = {"content-type": ["application/json"]}
    answer = {"status": {"code": 200, "message": "OK"}, "headers": headers, "body": body}
    hosts = ("api.openai.com", "api.shop.test")
    interactions = [
        {
            "request": {"method": "GET", "uri": f"https://{host}/v1/models", "headers": {}},
            "response": answer,
        }
        for host in hosts
    ]
    source = tmp_path / "test_it.json"
    source.write_text(json.dumps({"version": 1, "interactions": interactions}))
    _, lines = run(source)
    assert "imported  GET api.openai.com/v1/models" in lines[0]
    assert "this host is not a known provider" in lines[1]


@pytest.mark.parametrize("suffix", ["yaml", "json"])
def test_calls_that_vcr_recorded_are_replayed_to_the_sdks(
    suffix: str, tmp_path: Path, provider: ProviderServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / f"test_it.{suffix}", tmp_path / "test_it.llm.yaml"
    record(source, provider)
    exit_code, lines = run(source, "--host", provider.host)
    assert exit_code == 0
    assert [re.sub(r"^.*:(\d+): ", "", line) for line in lines[:-1]] == [
        "imported  gpt-4o  'Hello'",
        "imported  gpt-4o  'Hello'",
        "imported  claude  'Hello'",
        "imported  gpt-4o  'a fail'",
        "imported  POST 127.0.0.1/v1/embeddings",
        "imported  POST 127.0.0.1/v1/chat/completions",
    ]
    numbers = [int(line.split(":")[1]) for line in lines[:-1]]
    text = source.read_text().splitlines()
    assert all("request" in text[number - 1] for number in numbers)
    assert lines[-1].endswith("test_it.llm.yaml: 6 calls")
    assert [
        secret for secret in (KEY, "cookie-of-mine", "org-of-mine") if secret in target.read_text()
    ] == []

    monkeypatch.setattr(http_settings, "hosts", (provider.host,))
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(target)
    previous, sent = activate(mock), len(provider.requests)
    try:
        with openai.OpenAI(base_url=f"{provider.url}/v1", api_key=KEY, max_retries=0) as client:
            create = client.chat.completions.create
            whole = create(model="gpt-4o", messages=MESSAGES)
            chunks = list(create(model="gpt-4o", messages=MESSAGES, stream=True))
            with pytest.raises(openai.RateLimitError) as caught:
                create(model="gpt-4o", messages=[{"role": "user", "content": "a fail"}])
        with anthropic.Anthropic(base_url=provider.url, api_key=KEY) as client:
            message = client.messages.create(model="claude", max_tokens=9, messages=MESSAGES)
    finally:
        activate(previous)
    assert (whole.id, whole.choices[0].message.content) == ("chatcmpl-1", TEXT)
    assert (chunks[0].id, chunks[1].choices[0].delta.content) == ("chatcmpl-2", TEXT[:5])
    assert (message.id, message.content[0].text) == ("msg_3", TEXT)
    assert caught.value.response.headers["retry-after"] == "0.01"
    assert (mock.problems, len(provider.requests)) == ([], sent)


def interaction(**response: Any) -> dict[str, Any]:
    request = {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions", "headers": {}}
    request["body"] = json.dumps({"model": "gpt-4o", "messages": MESSAGES})
    return {
        "request": request,
        "response": {"status": {"code": 200, "message": "OK"}, "headers": {}, **response},
    }


def completion(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    return json.dumps({"id": "chatcmpl-1", "choices": [{"index": 0, "message": message}]}).encode()


def compressed(body: bytes, encoding: str, path: str = "/v1/chat/completions") -> str:
    """Return a cassette with one response."""
    headers = {"content-type": ["application/json"], "content-encoding": [encoding]}
    recorded = interaction(body={"base64_string": base64.b64encode(body).decode()}, headers=headers)
    recorded["request"]["uri"] = f"https://api.openai.com{path}"
    return json.dumps({"interactions": [recorded]})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("interactions: [", ":2: is not valid YAML: "),
        ('{"interactions": [\n  oops]}', ":2: is not valid JSON: Expecting value"),
        (
            "calls: []",
            (
                ":1: this is neither a configuration of promptfoo (prompts, tests) nor a cassette "
                "of VCR"
            ),
        ),
        (
            "interactions:\n- request: {uri: x}\n  response: {}\n",
            ":2: this interaction has no status",
        ),
        ("interactions:\n- request: {}\n- 3\n", ":2: this interaction has no response"),
        ("interactions:\n- 3\n", ":2: this interaction is not in the format of VCR: "),
        ("interactions: []", " contains no importable calls, so nothing was written."),
        (
            json.dumps({"interactions": [interaction(body={"base64_string": "a"})]}),
            ":1: this interaction is not in the format of VCR: its body is not valid base64",
        ),
        (
            json.dumps({"interactions": [interaction(body={"string": "<html>"})]}),
            "its response is neither JSON nor a stream of events",
        ),
        (
            compressed(gzip.compress(b"<html>"), "gzip"),
            "/chat/completions: its response is neither JSON nor a stream of events",
        ),
        (
            compressed(b"\xff", "br"),
            "/v1/chat/completions: The response of 'gpt-4o' to 'Hello' cannot be recorded: its "
            "encoding 'br' is not supported",
        ),
        (
            compressed(b"\x1f\x8bxx", "gzip"),
            "cannot be recorded: Error -3 while decompressing data: unknown compression method",
        ),
        (
            compressed(b"\xff", "br", "/v1/moderations"),
            "cannot be recorded: its encoding 'br' is not supported",
        ),
        (
            json.dumps(
                {"interactions": [interaction(body="{}", headers={"content-encoding": ["br"]})]}
            ),
            ": 1 call",
        ),
    ],
)
def test_what_cannot_be_imported_is_told_with_its_line(
    content: str, told: str, tmp_path: Path
) -> None:
    source = tmp_path / "test_it.yaml"
    source.write_text(content)
    exit_code, lines = run(source)
    assert any(told in line for line in lines), lines
    assert (exit_code == 0) == (tmp_path / "test_it.llm.yaml").exists() == told.endswith("1 call")


@pytest.mark.parametrize("form", ["parsed_body", "body"])
def test_bodies_may_be_json_in_the_cassette(form: str, tmp_path: Path) -> None:
    recorded = interaction()
    del recorded["request"]["body"]
    recorded["request"][form] = {"model": "gpt-4o", "messages": MESSAGES}
    recorded["response"][form] = json.loads(completion("Hi \u00fc"))
    source = tmp_path / "test_it.yaml"
    source.write_text(yaml.safe_dump({"interactions": [recorded]}))
    exit_code, lines = run(source)
    assert (exit_code, lines[0]) == (0, f"{source}:2: imported  gpt-4o  'Hello'")
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(tmp_path / "test_it.llm.yaml")
    previous = activate(mock)
    try:
        with openai.OpenAI(api_key=KEY) as client:
            answer = client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
    finally:
        activate(previous)
    assert answer.choices[0].message.content == "Hi \u00fc"


@pytest.mark.parametrize(
    "earlier",
    [{"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}}, {"previous_response_id": "r"}],
)
def test_a_recorded_call_may_follow_one_that_was_not_recorded(
    earlier: dict[str, Any], tmp_path: Path
) -> None:
    source = tmp_path / "test_it.yaml"
    recorded = interaction(body={"string": json.dumps(RESPONSE)})
    recorded["request"]["uri"] = "https://api.openai.com/v1/responses"
    recorded["request"]["body"] = json.dumps({"model": "gpt-4o", "input": "Hello", **earlier})
    source.write_text(json.dumps({"interactions": [recorded, recorded]}))
    exit_code, lines = run(source)
    assert (exit_code, lines[-1][-9:]) == (0, ": 2 calls")
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(tmp_path / "test_it.llm.yaml")
    previous = activate(mock)
    try:
        with openai.OpenAI(api_key=KEY) as client:
            for _ in range(2):
                response = client.responses.create(model="gpt-4o", input="Hello", **earlier)
                assert response.output_text == "Hi"
            with pytest.raises(openai.BadRequestError, match="does not contain this call"):
                client.conversations.retrieve("conv_2")
    finally:
        activate(previous)


def test_a_secret_in_an_answer_is_not_imported_and_nothing_is_replaced(tmp_path: Path) -> None:
    body = {"base64_string": base64.b64encode(completion(f"You sent {KEY}!")).decode()}
    sent = interaction(body=body)
    sent["request"]["headers"] = {"Authorization": [f"Bearer {KEY}"]}
    source, target = tmp_path / "vcr.json", tmp_path / "ours.yaml"
    source.write_text(
        json.dumps(
            {"interactions": [sent, interaction(body={"string": completion("Hi").decode()})]},
            indent=2,
        )
    )
    exit_code, lines = run(source, "-o", target)
    assert (exit_code, len(lines)) == (0, 3)
    assert "You sent [redacted" in target.read_text()
    assert KEY not in target.read_text()
    before = target.read_bytes()
    exit_code, lines = run(source, "-o", target)
    assert exit_code == 1
    assert "ours.yaml exists already: remove it, or choose another file with --output." in lines[0]
    assert target.read_bytes() == before


@pytest.mark.parametrize(
    ("path", "body", "answer", "media_type"),
    [
        (
            "/model/amazon.nova-lite-v1%3A0/converse-stream",
            {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]},
            b"".join(
                [
                    encode_event("messageStart", b'{"role":"assistant"}'),
                    encode_event(
                        "contentBlockDelta", b'{"contentBlockIndex":0,"delta":{"text":"Hi"}}'
                    ),
                    encode_event("contentBlockStop", b'{"contentBlockIndex":0}'),
                    encode_event("messageStop", b'{"stopReason":"end_turn"}'),
                ]
            ),
            "application/vnd.amazon.eventstream",
        ),
        # The mock knows no such body, and replays what the provider answered.
        (
            "/model/amazon.titan-embed-text-v2:0/invoke",
            {"inputText": "Hello", "dimensions": 256},
            b'{"embedding":[0.5,0.25],"inputTextTokenCount":1}',
            "application/json",
        ),
    ],
    ids=["binary stream", "unknown body"],
)
def test_calls_of_bedrock_are_imported_and_replayed(
    path: str, body: Any, answer: bytes, media_type: str, tmp_path: Path
) -> None:
    recorded = interaction(body={"base64_string": base64.b64encode(answer).decode()})
    url = f"https://bedrock-runtime.us-east-1.amazonaws.com{path}"
    recorded["request"] |= {"uri": url, "body": json.dumps(body)}
    recorded["response"]["headers"] = {"content-type": [media_type]}
    source = tmp_path / "test_it.yaml"
    source.write_text(json.dumps({"interactions": [recorded]}))
    exit_code, lines = run(source)
    assert (exit_code, lines[-1][-8:]) == (0, ": 1 call")
    mock = LLMMock(at_boundary=True)
    mock.cassette = Cassette(tmp_path / "test_it.llm.yaml")
    previous = activate(mock)
    try:
        response = requests.post(url, json=body, timeout=10)
    finally:
        activate(previous)
    assert (response.status_code, response.headers["content-type"]) == (200, media_type)
    assert mock.problems == []
    if media_type == "application/json":
        assert response.json() == json.loads(answer)
    else:
        assert decode_messages(response.content)[0] == decode_messages(answer)[0]
