"""The HTTP form of each exception that a test may raise through a model, and the waits after it."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, Mock

import aiohttp
import anthropic
import httpcore
import httpx
import httpx2
import llm
import openai
import pytest
import requests
import urllib3
from google.genai import errors as google_errors

from llm_mock import LLMMock
from llm_mock.behaviour.provider_errors import ProviderFailure
from llm_mock.boundaries.http.errors import (
    ConnectionFailure,
    add_fast_retry_header,
    convert_to_wire_error,
    make_refusal_key,
    parse_retry_after,
    read_refusal_key,
)
from llm_mock.boundaries.http.settings import http_settings
from llm_mock.boundaries.http.wire_error import WireError
from llm_mock.errors import LLMMockError

REQUEST = httpx2.Request("POST", "https://api.openai.com/v1/chat/completions")
CONNECTIONS: dict[str, list[BaseException]] = {
    "connect": [
        ConnectionRefusedError(111, "refused"),
        openai.APIConnectionError(request=REQUEST),
        anthropic.APIConnectionError(request=REQUEST),
        httpx.ConnectError("refused"),
        httpx2.ConnectError("refused"),
        httpcore.ConnectError("refused"),
        aiohttp.ClientConnectorError(
            SimpleNamespace(host="h", port=1, ssl=True), OSError(111, "x")
        ),  # type: ignore[arg-type]
    ],
    "dropped": [
        ConnectionError("gone"),
        ConnectionResetError(104, "gone"),
        BrokenPipeError(32, "gone"),
        requests.exceptions.ConnectionError("gone"),
        urllib3.exceptions.ProtocolError("gone"),
        httpx.ReadError("gone"),
        httpx.RemoteProtocolError("gone"),
        httpx2.ReadError("gone"),
        aiohttp.ClientPayloadError("gone"),
        aiohttp.ServerDisconnectedError("gone"),
    ],
    "timeout": [
        TimeoutError("late"),
        asyncio.TimeoutError("late"),
        openai.APITimeoutError(request=REQUEST),
        anthropic.APITimeoutError(request=REQUEST),
        httpx.ReadTimeout("late"),
        httpx2.ConnectTimeout("late"),
        requests.exceptions.Timeout("late"),
        urllib3.exceptions.ReadTimeoutError(None, "/", "late"),  # type: ignore[arg-type]
        aiohttp.ServerTimeoutError("late"),
    ],
}
CONNECTION_ROWS = [(error, kind) for kind, errors in CONNECTIONS.items() for error in errors]


@pytest.mark.parametrize(
    ("error", "kind"),
    CONNECTION_ROWS,
    ids=[f"{type(error).__module__}.{type(error).__name__}" for error, _ in CONNECTION_ROWS],
)
def test_an_exception_of_a_connection_stands_for_one(error: Any, kind: str) -> None:
    failure = convert_to_wire_error(error)
    assert isinstance(failure, ConnectionFailure)
    assert (failure.kind, str(failure)) == (kind, str(error))
    assert convert_to_wire_error(failure) is failure


def fields(error: Exception) -> dict[str, Any]:
    converted = convert_to_wire_error(error)
    assert isinstance(converted, WireError)
    assert str(converted) == converted.message
    found = {
        name: getattr(converted, name)
        for name in ("status", "message", "type", "code", "param", "headers", "body")
    }
    return {name: value for name, value in found.items() if value not in (None, {})}


GOOGLE = {"error": {"code": 429, "message": "Slow down", "status": "RESOURCE_EXHAUSTED"}}
NO_RETRY = {"x-should-retry": "false"}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (llm.ModelError("Error code: 429 - Slow\ndown"), {"status": 429, "message": "Slow\ndown"}),
        (llm.ModelError("Error code: 599 - x"), {"status": 599, "message": "x"}),
        (
            llm.ModelError("Error code: 399 - x"),
            {"status": 500, "message": "ModelError: Error code: 399 - x", "headers": NO_RETRY},
        ),
        (
            llm.ModelError("The Error code: 429 - x"),
            {"status": 500, "message": "ModelError: The Error code: 429 - x", "headers": NO_RETRY},
        ),
        (ValueError("bad"), {"status": 500, "message": "ValueError: bad", "headers": NO_RETRY}),
        (ValueError(), {"status": 500, "message": "ValueError", "headers": NO_RETRY}),
        (
            LLMMockError("not allowed"),
            {
                "status": 400,
                "message": "not allowed",
                "headers": {**NO_RETRY, "x-llm-mock-refusal": make_refusal_key("not allowed")},
            },
        ),
        (
            ProviderFailure(429, {"error": {"message": "Slow"}}, "Slow", 7),
            {
                "status": 429,
                "message": "Slow",
                "headers": {"retry-after": "7"},
                "body": {"error": {"message": "Slow"}},
            },
        ),
        # Google's exceptions can be made without a response.
        (
            google_errors.ClientError(429, GOOGLE),
            {"status": 429, "message": "Slow down", "body": GOOGLE},
        ),
        (
            google_errors.ServerError(503, {"message": "Busy", "status": "UNAVAILABLE"}),
            {
                "status": 503,
                "message": "Busy",
                "body": {"message": "Busy", "status": "UNAVAILABLE"},
            },
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_an_exception_without_a_response_has_a_status(
    error: Exception, expected: dict[str, Any]
) -> None:
    assert fields(error) == expected


def made(status: int, content: dict[str, Any], **headers: str) -> Exception:
    """Return an exception of OpenAI's SDK with a response."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    response = httpx2.Response(status, json=content, headers=names, request=REQUEST)
    return openai.APIStatusError("Said by the test", response=response, body=None)


@pytest.mark.parametrize(
    ("status", "is_response"), [(399, False), (400, True), (599, True), (600, False)]
)
def test_a_response_must_be_an_error(status: int, is_response: bool) -> None:
    details = {"message": "m", "type": "t", "code": "c", "param": "p"}
    error = made(status, {"error": details})
    if is_response:
        expected = {"status": status, **details, "body": {"error": details}}
    else:
        message = "APIStatusError: Said by the test"
        expected = {"status": 500, "message": message, "headers": NO_RETRY}
    assert fields(error) == expected


def test_details_stand_in_error_or_at_the_top_and_may_be_missing() -> None:
    top = {"message": "m", "type": "t", "code": 7, "param": None}
    assert fields(made(429, top)) == {"status": 429, "message": "m", "type": "t", "body": top}
    assert fields(made(429, {"error": "text"})) == {"status": 429, "message": "Said by the test"}
    empty = {"status": 429, "message": "Said by the test", "body": {"error": {}}}
    assert fields(made(429, {"error": {}})) == empty


def test_headers_are_kept_but_those_of_the_body() -> None:
    error = made(429, {"error": {"message": "m"}}, retry_after="7", X_Mine="y", content_encoding="")
    assert fields(error)["headers"] == {"retry-after": "7", "x-mine": "y"}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "7"}, 7),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "50"}, 0.05),
        ({"Retry-After-Ms": "50", "retry-after": "7"}, 0.05),
        ({"retry-after": "Wed, 21 Oct 2026 07:28:00 GMT"}, None),
    ],
)
def test_headers_say_how_long_to_wait(headers: dict[str, str], seconds: float | None) -> None:
    assert parse_retry_after(headers) == seconds


@pytest.mark.parametrize(
    ("status", "headers", "provider", "is_added"),
    [
        (408, {}, "openai", True),
        (409, {}, "openai", True),
        (429, {"retry-after": "7"}, "openai", True),
        (500, {}, "anthropic", True),
        (529, {}, "anthropic", True),
        (400, {}, "openai", False),
        (404, {}, "openai", False),
        (499, {}, "openai", False),
        (429, {"retry-after": "0.05"}, "openai", False),
        (429, {"retry-after": "0.051"}, "openai", True),
        (429, {"x-should-retry": "false"}, "openai", False),
        (429, {}, "google", False),
        (429, {}, "mistral", True),
        (429, {}, "nobody", False),
        (429, {}, None, False),
    ],
)
def test_a_client_that_retries_is_asked_to_do_so_soon(
    status: int, headers: dict[str, str], provider: str | None, is_added: bool
) -> None:
    added = {"retry-after-ms": "50"} if is_added else {}
    error = WireError(status, "m", headers=headers)
    assert add_fast_retry_header(error, provider) == {**headers, **added}


def test_a_project_may_want_no_fast_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", False)
    assert add_fast_retry_header(WireError(429, "m"), "openai") == {}


class Holder(Exception):
    """An exception with attributes as those of some SDK."""

    def __init__(self, **attributes: Any) -> None:
        vars(self).update(attributes)


KEY = make_refusal_key("not allowed")
HEADERS = {"x-llm-mock-refusal": KEY}


@pytest.mark.parametrize(
    ("error", "key"),
    [
        (Holder(response=httpx2.Response(400, headers=HEADERS)), KEY),
        (Holder(response=None, raw_response=httpx2.Response(400, headers=HEADERS)), KEY),
        (Holder(headers=HEADERS), KEY),
        (Holder(response={"ResponseMetadata": {"HTTPHeaders": HEADERS}}), KEY),
        (Holder(response={"ResponseMetadata": {}}), None),
        (Holder(response=httpx2.Response(400)), None),
        (Holder(headers={"x-llm-mock-refusal": 3}), None),
        (Holder(response=3), None),
        (ValueError(), None),
    ],
)
def test_the_refusal_of_an_exception_is_found(error: Exception, key: str | None) -> None:
    assert read_refusal_key(error) == key


def test_the_key_of_a_refusal_fits_into_a_header() -> None:
    assert make_refusal_key("half a pair: \ud800") == "8e24f8ee"
    assert len(make_refusal_key("")) == 8


STATUSES = {
    "BadRequestError": 400,
    "AuthenticationError": 401,
    "PermissionDeniedError": 403,
    "NotFoundError": 404,
    "ConflictError": 409,
    "UnprocessableEntityError": 422,
    "RateLimitError": 429,
    "InternalServerError": 500,
}


@pytest.mark.parametrize("double", [Mock, MagicMock])
@pytest.mark.parametrize("sdk", [openai, anthropic])
@pytest.mark.parametrize(("name", "status"), STATUSES.items())
def test_an_exception_with_a_mock_as_its_response_has_the_status_of_its_class(
    name: str, status: int, sdk: Any, double: Any
) -> None:
    kind = getattr(sdk, name)
    plain = kind("Sorry", response=double(), body=None)
    assert fields(plain) == {"status": status, "message": "Sorry"}
    body = {"type": "t", "code": "c", "param": "p", "message": "More"}
    detailed = fields(kind("Sorry", response=double(), body=body))
    sent = {"error": body} if sdk is openai else body
    assert detailed == {"status": status, **body, "body": sent}
    # Some tests nest them as the provider does.
    nested = fields(kind("Sorry", response=double(), body={"error": body}))
    assert nested == {"status": status, **body, "body": {"error": body}}
    # A status that the test set in its mock is the one that counts.
    chosen = kind("Sorry", response=Mock(status_code=418, headers={}), body=None)
    assert fields(chosen)["status"] == 418
    # So does its body, which no mock has.
    chosen = kind("Sorry", response=double(status_code=418, headers={}), body=body)
    assert fields(chosen) == {"status": 418, **body, "body": sent}
    plain.status_code = 419
    assert fields(plain)["status"] == 419


def test_an_exception_of_another_provider_has_the_form_of_the_one_that_was_asked(
    mock_llm_responses: LLMMock,
) -> None:
    body = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    request = httpx.Request("POST", "https://api.anthropic.com/v1/messages")
    response = httpx.Response(529, json=body, request=request)
    error = anthropic.APIStatusError("Overloaded", response=response, body=body)
    mock_llm_responses.set_error("gemini-3", error)
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini-3:generateContent"
    answer = httpx.post(url, json={"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]})
    details = {"code": 529, "message": "Overloaded", "status": "UNKNOWN"}
    assert (answer.status_code, answer.json()) == (529, {"error": details})


@pytest.mark.parametrize("content", [b"", b"no JSON"])
def test_an_exception_keeps_the_body_that_it_was_given(
    content: bytes, mock_llm_responses: LLMMock
) -> None:
    request = httpx.Request("POST", "https://api.openai.com")
    headers = {"content-type": "text/plain"}
    response = httpx.Response(400, headers=headers, content=content, request=request)
    body = {
        "message": "Filtered",
        "type": None,
        "param": "prompt",
        "code": "content_filter",
        "innererror": {"code": "ResponsibleAIPolicyViolation"},
    }
    error = openai.BadRequestError("Sorry", response=response, body=body)
    mock_llm_responses.set_error("gpt-4o", error)
    with pytest.raises(openai.BadRequestError) as raised:
        openai.OpenAI(max_retries=0).chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": "Hi"}]
        )
    if content:
        assert raised.value.response.content == content
        return
    assert raised.value.body == body
    assert (raised.value.code, raised.value.param) == ("content_filter", "prompt")
    assert raised.value.response.json() == {"error": body}
