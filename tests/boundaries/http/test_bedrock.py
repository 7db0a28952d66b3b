"""Bedrock by botocore: answers fit the service's own model, errors are those of AWS."""

from __future__ import annotations

import base64
import json
import random
import time
import zlib
from pathlib import Path
from typing import Any

import anthropic
import httpx
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.event_stream import (
    decode_messages,
    encode_event,
    encode_exception,
    encode_message,
)
from llm_mock.boundaries.http.server import MockServer
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.core.provider_error import ProviderError
from tests.boundaries.http.exchanges import REPLIES
from tests.boundaries.http.request_senders import has_converse
from tests.boundaries.http.test_replies import CASES, STREAMED, Case, name_case

if not has_converse():
    pytest.skip("needs botocore 1.40 or newer", allow_module_level=True)

import botocore.config
import botocore.eventstream
import botocore.exceptions
import botocore.retries.standard
import botocore.session

MODEL = "anthropic.claude-opus-4-9"
HELLO: Any = [{"role": "user", "content": [{"text": "Hello"}]}]
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = {"tools": [{"toolSpec": {"name": "weather", "inputSchema": {"json": SCHEMA}}}]}
URL = f"https://bedrock-runtime.us-east-1.amazonaws.com/model/{MODEL}"
AWS_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_DEFAULT_REGION",
    "AWS_REGION",
    "AWS_PROFILE",
)


@pytest.fixture(autouse=True)
def no_account(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take all that tells botocore an account and a region."""
    for name in AWS_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    # For other services botocore asks the metadata server of AWS's machines.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))


def make_client(mode: str = "standard", **arguments: Any) -> Any:
    """Return a client of Bedrock."""
    config = botocore.config.Config(retries={"mode": mode})
    session = botocore.session.get_session()
    return session.create_client("bedrock-runtime", config=config, **arguments)


def read(answer: Any) -> list[Any]:
    """Return the events of a streamed answer."""
    return list(answer["stream"])


# The service's own model


def problems(value: Any, shape: Any, path: str = "$") -> list[str]:
    """Return unknown members, missing members and values of wrong types, by the model of AWS."""
    kind = shape.type_name
    if kind == "structure":
        # Documents are any JSON.
        if getattr(shape, "is_document_type", False):
            return []
        found = [
            f"{path}.{name} is missing" for name in shape.required_members if name not in value
        ]
        for name, item in value.items():
            if name in shape.members:
                found += problems(item, shape.members[name], f"{path}.{name}")
            else:
                found.append(f"{path}.{name} is unknown to {shape.name}")
        return found
    if kind == "list":
        found = [problems(item, shape.member, f"{path}[]") for item in value]
        return [problem for each in found for problem in each]
    types = {"string": str, "integer": int, "long": int, "blob": str, "boolean": bool}
    if not isinstance(value, types[kind]):
        return [f"{path}: {value!r} is no {kind}"]
    allowed = shape.metadata.get("enum")
    if allowed and value not in allowed:
        return [f"{path}: {value!r} is none of {allowed}"]
    return []


def get_shape(name: str) -> Any:
    """Return a shape of the service."""
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    return model.shape_for(name)


# The model of the service knows no response without usage, which scripts ask for on purpose.
WITH_USAGE = {name: reply for name, reply in REPLIES.items() if name != "no usage"}
every_reply = pytest.mark.parametrize("reply", WITH_USAGE.values(), ids=WITH_USAGE)


@every_reply
def test_an_answer_is_what_the_model_of_the_service_says(
    reply: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, reply)
    body = {"messages": HELLO, "toolConfig": TOOLS}
    answer = httpx.post(f"{URL}/converse", json=body).json()
    assert problems(answer, get_shape("ConverseResponse")) == []


@every_reply
def test_each_event_is_what_the_model_of_the_service_says(
    reply: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, reply)
    body = {"messages": HELLO, "toolConfig": TOOLS}
    answer = httpx.post(f"{URL}/converse-stream", json=body)
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(answer.content)
    events = [{message.headers[":event-type"]: json.loads(message.payload)} for message in buffer]
    shape = get_shape("ConverseStreamOutput")
    assert [found for event in events for found in problems(event, shape)] == []
    assert list(events[0]) == ["messageStart"]
    assert list(events[-1]) == ["metadata"]


CORPUS = [case for case in CASES if case.api == "converse" and "error" not in case.fields]


@pytest.mark.parametrize("case", CORPUS, ids=name_case)
def test_the_corpus_is_what_the_model_of_the_service_says(case: Case) -> None:
    body = {**case.file["body"], **case.fields["body"]}
    assert problems(body, get_shape("ConverseResponse")) == []
    shape = get_shape("ConverseStreamOutput")
    events = case.events if case in STREAMED else []
    assert [found for event in events for found in problems(event, shape)] == []


# Event streams


def test_an_event_stream_is_read_by_botocore_and_by_us() -> None:
    data = encode_event("a", b'{"b": 1}') + encode_exception("c", "é".encode())
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(data)
    theirs = [(message.headers, message.payload) for message in buffer]
    ours, rest = decode_messages(data)
    assert (
        [tuple(message) for message in ours]
        == theirs
        == [
            (
                {":event-type": "a", ":content-type": "application/json", ":message-type": "event"},
                b'{"b": 1}',
            ),
            (
                {
                    ":exception-type": "c",
                    ":content-type": "application/json",
                    ":message-type": "exception",
                },
                "é".encode(),
            ),
        ]
    )
    assert rest == b""


def test_a_part_of_a_message_waits_for_the_rest() -> None:
    data = encode_event("a", b"{}")
    for size in range(len(data)):
        assert decode_messages(data[:size]) == ([], data[:size])
    messages, rest = decode_messages(data + data[:20])
    assert (len(messages), rest) == (1, data[:20])


def test_what_is_no_event_stream_is_told() -> None:
    with pytest.raises(ValueError, match="the checksum of an event stream is wrong"):
        decode_messages(b"data: {}\n\ndata: {}\n\n")


# A header of each type of the format, before one with a text.
HEADERS = {
    0: b"",
    1: b"",
    2: b"\x01",
    3: b"\x01\x02",
    4: b"\x01\x02\x03\x04",
    5: b"\x01\x02\x03\x04\x05\x06\x07\x08",
    6: b"\x00\x02ab",
    7: b"\x00\x02ab",
    8: b"\x01\x02\x03\x04\x05\x06\x07\x08",
    9: b"0123456789abcdef",
}


@pytest.mark.parametrize("kind", HEADERS)
def test_headers_of_each_type_are_read(kind: int) -> None:
    plain = encode_message({"t": "x"}, b"p")
    headers = b"\x01h" + bytes([kind]) + HEADERS[kind] + plain[12:-5]
    lengths = (12 + len(headers) + 1 + 4).to_bytes(4, "big") + len(headers).to_bytes(4, "big")
    message = lengths + zlib.crc32(lengths).to_bytes(4, "big") + headers + b"p"
    message += zlib.crc32(message).to_bytes(4, "big")
    buffer = botocore.eventstream.EventStreamBuffer()
    buffer.add_data(message)
    assert [each.headers["t"] for each in buffer] == ["x"]
    texts = {"h": "ab"} if kind == 7 else {}
    assert decode_messages(message) == ([({**texts, "t": "x"}, b"p")], b"")


def test_a_malformed_chunk_is_an_error_of_botocore(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo", "!"]))
    mock_llm_responses.misbehave("malformed-chunk")
    answer = make_client().converse_stream(modelId=MODEL, messages=HELLO)
    with pytest.raises(botocore.eventstream.ChecksumMismatch):
        read(answer)


def test_a_stream_that_is_cut_ends_without_its_last_events(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["Hel", "lo", "!"]))
    mock_llm_responses.misbehave("truncated-stream")
    events = read(make_client().converse_stream(modelId=MODEL, messages=HELLO))
    assert "messageStart" in events[0]
    assert all("messageStop" not in event for event in events)


def test_a_stream_in_split_frames_is_the_same(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Grüße")
    client = make_client()
    before = read(client.converse_stream(modelId=MODEL, messages=HELLO))
    mock_llm_responses.misbehave("split-frames")
    assert read(client.converse_stream(modelId=MODEL, messages=HELLO)) == before


def test_the_wait_of_a_reply_is_its_time(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hi!", latency=0.25))
    client = make_client()
    assert client.converse(modelId=MODEL, messages=HELLO)["metrics"] == {"latencyMs": 250}
    *_, last = read(client.converse_stream(modelId=MODEL, messages=HELLO))
    assert last["metadata"]["metrics"] == {"latencyMs": 250}


def test_a_model_of_another_company_has_no_counts_of_its_cache(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", Reply("Hi!", usage={"input_tokens": 3, "output_tokens": 2}))
    answer = make_client().converse(modelId="amazon.nova-lite-v1:0", messages=HELLO)
    assert answer["usage"] == {"inputTokens": 3, "outputTokens": 2, "totalTokens": 5}
    details = {"cacheReadInputTokens": 7}
    usage = {"input_tokens": 3, "output_tokens": 2, "details": details}
    mock_llm_responses.set("*", Reply("Hi!", usage=usage))
    answer = make_client().converse(modelId="amazon.nova-lite-v1:0", messages=HELLO)
    assert answer["usage"] == {
        "inputTokens": 3,
        "outputTokens": 2,
        "totalTokens": 12,
        "cacheReadInputTokens": 7,
        "cacheWriteInputTokens": 0,
    }
    # The record has all tokens of the input.
    assert mock_llm_responses.last_call["input_tokens"] == 10


def test_a_reply_without_usage_has_none(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply("Hi!", usage=None))
    answer = make_client().converse(modelId=MODEL, messages=HELLO)
    assert "usage" not in answer


def test_options_have_the_names_of_other_apis_too(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    config = {"maxTokens": 5, "topP": 0.5, "stopSequences": ["END"]}
    make_client().converse(modelId=MODEL, messages=HELLO, inferenceConfig=config)
    mock_llm_responses.assert_called_with(max_tokens=5, top_p=0.5)


def test_a_reply_that_the_tool_choice_excludes_is_refused(mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set(MODEL, "Hi!")
    tools = {**TOOLS, "toolChoice": {"any": {}}}
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        make_client().converse(modelId=MODEL, messages=HELLO, toolConfig=tools)
    assert 'the request has toolConfig={"toolChoice": {"any": {}}}.' in str(raised.value)
    mock_llm_calls.problems.clear()


def test_answers_in_the_json_of_bedrock_are_sent_as_they_are(mock_llm_responses: LLMMock) -> None:
    body = {
        "output": {"message": {"role": "assistant", "content": [{"text": "Hi!"}]}},
        "stopReason": "max_tokens",
        "usage": {"inputTokens": 5, "outputTokens": 6, "totalTokens": 11},
        "metrics": {"latencyMs": 7},
    }
    events = [
        {"messageStart": {"role": "assistant"}},
        {"contentBlockDelta": {"contentBlockIndex": 0, "delta": {"text": "Hi!"}}},
        {"messageStop": {"stopReason": "max_tokens"}},
        {"metadata": {"usage": body["usage"], "metrics": body["metrics"]}},
    ]
    mock_llm_responses.set(MODEL, Reply(body=body, events=events))
    client = make_client()
    answer = client.converse(modelId=MODEL, messages=HELLO)
    del answer["ResponseMetadata"]
    assert answer == body
    assert read(client.converse_stream(modelId=MODEL, messages=HELLO)) == events
    for call in mock_llm_responses.calls:
        assert (call.response, call["finish_reason"]) == ("Hi!", "length")
        assert call.usage == {"input_tokens": 5, "output_tokens": 6}


@pytest.mark.parametrize("item", ["no JSON", {"a": 1, "b": 2}, [1]])
def test_an_event_of_no_type_is_sent_too(item: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, Reply(events=[item]))
    answer = httpx.post(f"{URL}/converse-stream", json={"messages": HELLO})
    [message], _ = decode_messages(answer.content)
    text = item if isinstance(item, str) else json.dumps(item, separators=(",", ":"))
    assert message.payload == text.encode()
    assert message.headers[":event-type"] == "unknown"


# Accounts


def test_no_account_and_no_region_are_needed(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    client = make_client()
    assert client.meta.region_name == "us-east-1"
    client.converse(modelId=MODEL, messages=HELLO)
    assert mock_llm_responses.last_call["key"] is None


def test_a_given_region_stays(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert make_client(region_name="eu-west-1").meta.region_name == "eu-west-1"
    session = botocore.session.get_session()
    assert session.create_client("bedrock-runtime", "eu-west-3").meta.region_name == "eu-west-3"
    (tmp_path / "config").write_text("[default]\nregion = eu-west-2\n")
    assert make_client().meta.region_name == "eu-west-2"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    assert make_client().meta.region_name == "eu-north-1"


def test_without_the_mock_a_region_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_settings, "mode", "off")
    with pytest.raises(botocore.exceptions.NoRegionError):
        make_client()
    with pytest.raises(ValueError, match="No AWS region"):
        anthropic.AnthropicBedrock()


def test_other_services_need_a_region(mock_llm_calls: LLMMock) -> None:
    with pytest.raises(botocore.exceptions.NoRegionError):
        botocore.session.get_session().create_client("sqs")


def test_the_key_of_a_bearer_is_recorded(
    monkeypatch: pytest.MonkeyPatch, mock_llm_responses: LLMMock
) -> None:
    monkeypatch.setenv("AWS_BEARER_TOKEN_BEDROCK", "key-of-ada")
    mock_llm_responses.set(MODEL, "Hi!")
    make_client().converse(modelId=MODEL, messages=HELLO)
    assert mock_llm_responses.last_call["key"] == "key-of-ada"


@pytest.mark.parametrize("path", ["/bedrock", ""])
def test_the_server_answers_by_path(
    path: str, llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    client = make_client(endpoint_url=f"{llm_mock_server.url}{path}")
    answer = client.converse(modelId=MODEL, messages=HELLO)
    assert answer["output"]["message"]["content"] == [{"text": "Hi!"}]
    events = read(client.converse_stream(modelId=MODEL, messages=HELLO))
    assert {"messageStop": {"stopReason": "end_turn"}} in events
    assert [call.stream for call in mock_llm_responses.calls] == [False, True]


# Errors

# The statuses of the errors in botocore's model of the service, and in
# https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html.
STATUSES = {
    "AccessDeniedException": 403,
    "ExpiredTokenException": 403,
    "InternalServerException": 500,
    "ModelErrorException": 424,
    "ModelNotReadyException": 429,
    "ModelStreamErrorException": 424,
    "ModelTimeoutException": 408,
    "ResourceNotFoundException": 404,
    "ServiceQuotaExceededException": 400,
    "ServiceUnavailableException": 503,
    "SomeException": 400,
    "ThrottlingException": 429,
    "UnrecognizedClientException": 403,
    "ValidationException": 400,
}


def make_error(code: str, **metadata: Any) -> botocore.exceptions.ClientError:
    """Return an exception of botocore as tests make them."""
    response: Any = {"Error": {"Code": code, "Message": "It failed."}}
    if metadata:
        response["ResponseMetadata"] = metadata
    return botocore.exceptions.ClientError(response, "Converse")


@pytest.mark.parametrize("code", STATUSES)
def test_an_exception_of_botocore_is_raised_again(code: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, make_error(code))
    client = make_client()
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        client.converse(modelId=MODEL, messages=HELLO)
    response = raised.value.response
    assert response["Error"] == {"Code": code, "Message": "It failed."}
    assert response["ResponseMetadata"]["HTTPStatusCode"] == STATUSES[code]
    known = getattr(client.exceptions, code, None) if code in dir(client.exceptions) else None
    assert known is None or isinstance(raised.value, known)


def test_the_status_of_an_exception_of_botocore_is_kept(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(MODEL, make_error("SomeException", HTTPStatusCode=418))
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        make_client().converse(modelId=MODEL, messages=HELLO)
    assert raised.value.response["ResponseMetadata"]["HTTPStatusCode"] == 418


@pytest.mark.parametrize("response", [{}, {"Error": None}, {"Error": {"Code": 1}}])
def test_an_exception_with_another_response_is_an_error_of_the_server(
    response: Any, mock_llm_responses: LLMMock
) -> None:
    error = RuntimeError("boom")
    error.response = response  # type: ignore[attr-defined]
    mock_llm_responses.set(MODEL, error)
    with pytest.raises(botocore.exceptions.ClientError, match="RuntimeError: boom") as raised:
        make_client().converse(modelId=MODEL, messages=HELLO)
    assert raised.value.response["Error"]["Code"] == "InternalServerException"


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("ValidationException", "validationException"),
        ("ThrottlingException", "throttlingException"),
        ("InternalServerException", "internalServerException"),
        ("ServiceUnavailableException", "serviceUnavailableException"),
        ("ModelErrorException", "modelStreamErrorException"),
    ],
)
def test_an_error_within_a_stream_is_an_event_of_aws(
    code: str, name: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, Reply(chunks=["a", "b"], error=make_error(code), error_after=1))
    answer = make_client().converse_stream(modelId=MODEL, messages=HELLO)
    with pytest.raises(botocore.exceptions.EventStreamError) as raised:
        read(answer)
    assert raised.value.response["Error"] == {"Code": name, "Message": "It failed."}


@pytest.mark.parametrize(
    ("kind", "code", "message", "calls"),
    [
        (
            "rate_limit",
            "ThrottlingException",
            "Too many requests, please wait before trying again.",
            3,
        ),
        (
            "overloaded",
            "ServiceUnavailableException",
            "Bedrock is unable to process your request.",
            3,
        ),
        ("context_overflow", "ValidationException", "Input is too long for requested model.", 1),
        (
            "invalid_key",
            "UnrecognizedClientException",
            "The security token included in the request is invalid.",
            1,
        ),
    ],
)
def test_failures_of_providers_are_those_of_aws(
    kind: Any, code: str, message: str, calls: int, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, ProviderError(kind))
    with pytest.raises(botocore.exceptions.ClientError) as raised:
        make_client().converse(modelId=MODEL, messages=HELLO)
    assert raised.value.response["Error"] == {"Code": code, "Message": message}
    assert len(mock_llm_responses.calls) == calls


@pytest.mark.parametrize(("limits", "kind"), [({"rpm": 1}, "requests"), ({"tpm": 3}, "tokens")])
def test_a_quota_refuses_in_the_words_of_aws(
    limits: Any, kind: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Hi!")
    mock_llm_responses.set_quota(MODEL, **limits)
    body = {"messages": HELLO}
    answers = [httpx.post(f"{URL}/converse", json=body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [200, 429]
    message = f"Too many {kind}, please wait before trying again."
    assert answers[1].json() == {"message": message}
    assert answers[1].headers["x-amzn-errortype"] == "ThrottlingException"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"messages": "Hello"},
            "Unrecognized collection type: STRING_VALUE found where not expected",
        ),
        (
            {"messages": True},
            "Unrecognized collection type: BOOLEAN_VALUE found where not expected",
        ),
        ({"messages": 5}, "Unrecognized collection type: NUMBER_VALUE found where not expected"),
        ({"messages": 5.5}, "Unrecognized collection type: NUMBER_VALUE found where not expected"),
        (
            {"messages": [None]},
            "Unrecognized collection type: NULL_VALUE found where not expected",
        ),
        (
            {"messages": [{"role": "user", "content": {"text": "Hello"}}]},
            "Start of structure or map found where not expected.",
        ),
        (
            {"messages": [{"role": "user", "content": [{"text": ["Hello"]}]}]},
            "Start of list found where not expected",
        ),
    ],
)
def test_a_body_of_wrong_types_is_refused(body: Any, message: str, mock_llm_calls: LLMMock) -> None:
    answer = httpx.post(f"{URL}/converse", json=body)
    assert (answer.status_code, answer.json()) == (400, {"message": message})
    assert answer.headers["x-amzn-errortype"] == "SerializationException"


OFFICE = "application/vnd.openxmlformats-officedocument"
MEDIA_TYPES = {
    "document": {
        "pdf": "application/pdf",
        "csv": "text/csv",
        "doc": "application/msword",
        "docx": f"{OFFICE}.wordprocessingml.document",
        "xls": "application/vnd.ms-excel",
        "xlsx": f"{OFFICE}.spreadsheetml.sheet",
        "html": "text/html",
        "txt": "text/plain",
        "md": "text/markdown",
    },
    "image": {
        "png": "image/png",
        "jpeg": "image/jpeg",
        "gif": "image/gif",
        "webp": "image/webp",
    },
    "video": {
        "mkv": "video/x-matroska",
        "mov": "video/quicktime",
        "mp4": "video/mp4",
        "webm": "video/webm",
        "flv": "video/x-flv",
        "mpeg": "video/mpeg",
        "mpg": "video/mpeg",
        "wmv": "video/x-ms-wmv",
        "three_gp": "video/3gpp",
    },
    "audio": {
        "mp3": "audio/mpeg",
        "opus": "audio/opus",
        "wav": "audio/wav",
        "aac": "audio/aac",
        "flac": "audio/flac",
        "mp4": "audio/mp4",
        "ogg": "audio/ogg",
        "mkv": "audio/x-matroska",
        "mka": "audio/x-matroska",
        "x-aac": "audio/aac",
        "m4a": "audio/mp4",
        "mpeg": "audio/mpeg",
        "mpga": "audio/mpeg",
        "pcm": "audio/pcm",
        "webm": "audio/webm",
    },
}


@pytest.mark.parametrize("kind", MEDIA_TYPES)
def test_each_format_of_a_file_is_recorded_as_its_media_type(
    kind: str, mock_llm_responses: LLMMock
) -> None:
    model = botocore.session.get_session().get_service_model("bedrock-runtime")
    shape = f"{kind.title()}Format"
    # Old versions of botocore know no audio.
    if shape in model.shape_names:
        assert set(model.shape_for(shape).enum) <= set(MEDIA_TYPES[kind])
    content = []
    for number, name in enumerate(MEDIA_TYPES[kind]):
        # Equal files would be one attachment.
        source = {"bytes": base64.b64encode(bytes([number])).decode()}
        content.append({kind: {"format": name, "name": "a", "source": source}})
    messages = [{"role": "user", "content": [{"text": "Look"}, *content]}]
    mock_llm_responses.set("*", "Seen")
    assert httpx.post(f"{URL}/converse", json={"messages": messages}).status_code == 200
    attachments = mock_llm_responses.last_call.attachments
    assert [each["type"] for each in attachments] == list(MEDIA_TYPES[kind].values())


# Retries


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that were waited for, each of which takes no time."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    # The delays are random, here they are long.
    monkeypatch.setattr(random, "random", lambda: 1.0)
    backoff = botocore.retries.standard.ExponentialBackoff
    monkeypatch.setattr(backoff, "delay_amount", lambda backoff, context: 1.0)
    return waited


every_mode = pytest.mark.parametrize(("mode", "retries"), [("legacy", 4), ("standard", 2)])


@every_mode
def test_retries_are_fast(
    mode: str, retries: int, waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, make_error("ThrottlingException"))
    with pytest.raises(botocore.exceptions.ClientError):
        make_client(mode).converse(modelId=MODEL, messages=HELLO)
    assert waits == [0.05] * retries
    assert len(mock_llm_responses.calls) == 1 + retries


@every_mode
def test_retries_are_as_slow_as_in_production_if_the_project_wants_that(
    mode: str,
    retries: int,
    waits: list[float],
    mock_llm_responses: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", False)
    mock_llm_responses.set(MODEL, make_error("ThrottlingException"))
    with pytest.raises(botocore.exceptions.ClientError):
        make_client(mode).converse(modelId=MODEL, messages=HELLO)
    assert len(waits) == retries
    assert min(waits) >= 1


@every_mode
def test_a_retry_that_succeeds_is_an_answer(
    mode: str, retries: int, waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, ProviderError("overloaded"))
    mock_llm_responses.add(MODEL, "Hi!")
    answer = make_client(mode).converse(modelId=MODEL, messages=HELLO)
    assert answer["output"]["message"]["content"] == [{"text": "Hi!"}]
    assert waits == [0.05]


@every_mode
def test_an_error_of_a_test_is_not_repeated(
    mode: str, retries: int, waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, RuntimeError("boom"))
    with pytest.raises(botocore.exceptions.ClientError, match="RuntimeError: boom"):
        make_client(mode).converse(modelId=MODEL, messages=HELLO)
    assert (waits, len(mock_llm_responses.calls)) == ([], 1)


@every_mode
def test_a_connection_that_fails_is_tried_again_fast(
    mode: str, retries: int, waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, ProviderError("no_connection"))
    with pytest.raises(botocore.exceptions.EndpointConnectionError):
        make_client(mode).converse(modelId=MODEL, messages=HELLO)
    assert waits == [0.05] * retries


@every_mode
def test_retries_at_other_hosts_are_left_alone(
    mode: str, retries: int, waits: list[float], mock_llm_calls: LLMMock
) -> None:
    # Nothing listens there.
    arguments = {"aws_access_key_id": "a", "aws_secret_access_key": "b"}
    client = botocore.session.get_session().create_client(
        "sqs",
        "us-east-1",
        endpoint_url="http://127.0.0.1:9",
        config=botocore.config.Config(retries={"mode": mode}),
        **arguments,
    )
    with pytest.raises(botocore.exceptions.EndpointConnectionError):
        client.list_queues()
    assert len(waits) == retries
    assert min(waits) >= 1


def test_tools_over_three_turns(mock_llm_responses: LLMMock) -> None:
    mock = mock_llm_responses
    mock.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock.add(MODEL, Reply(tool_calls=[ToolCall("weather", {"city": "Basel"})]))
    mock.add(MODEL, "Both are warm.")
    client = make_client()
    messages = list(HELLO)
    for _ in range(2):
        answer = client.converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)
        message = answer["output"]["message"]
        [block] = message["content"]
        city = block["toolUse"]["input"]["city"]
        result = {
            "toolUseId": block["toolUse"]["toolUseId"],
            "content": [{"text": f"{city}: 21"}],
        }
        messages += [message, {"role": "user", "content": [{"toolResult": result}]}]
    answer = client.converse(modelId=MODEL, messages=messages, toolConfig=TOOLS)
    assert answer["stopReason"] == "end_turn"
    assert mock.last_call.turn == 3
    assert mock.last_call.tool_results == [{"name": "weather", "output": "Basel: 21"}]
