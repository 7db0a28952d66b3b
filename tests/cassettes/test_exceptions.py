"""Exceptions: described as JSON, and made again."""

from __future__ import annotations

import builtins
import importlib
import json
from pathlib import Path
from typing import Any

import httpx
import llm
import openai
import pytest

from llm_mock import ErrorNotRebuilt, LLMMockError
from llm_mock.behaviour.provider_errors import KINDS, ReceivedError, make_provider_error
from llm_mock.boundaries.http.recording import SDK_ERRORS
from llm_mock.cassettes.exceptions import describe, rebuild
from llm_mock.support.text import shorten


class QuotaError(Exception):
    """An exception of a project's own."""

    class Daily(Exception):
        """One inside a class."""


class Awkward(Exception):
    """One whose arguments are not what it was made of."""

    def __init__(self, code: int, *, where: str) -> None:
        super().__init__(f"{code} in {where}")


class Unspeakable(Exception):
    """One that has no message."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


def again(error: BaseException) -> BaseException:
    """Return the exception as it comes back from a file."""
    description = describe(error)
    assert description is not None
    return rebuild(json.loads(json.dumps(description)))


@pytest.mark.parametrize("model", ["gpt-4o-mini", "claude-sonnet-4.5", "nobody/knows"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_provider_error_is_described_and_made_again(model: str, kind: str) -> None:
    error: Any = make_provider_error(model, kind, retry_after=7)
    copy: Any = again(error)
    assert (type(copy), str(copy)) == (type(error), str(error))
    for name in ("status_code", "code", "body", "type", "param", "request_id", "message"):
        assert getattr(copy, name, None) == getattr(error, name, None)
    if hasattr(error, "response"):
        assert copy.response.headers["retry-after"] == "7"
        assert copy.response.json() == error.response.json()


def decode_error() -> json.JSONDecodeError:
    with pytest.raises(json.JSONDecodeError) as caught:
        json.loads('{"a": ')
    return caught.value


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("missing"),
        ConnectionError(),
        TimeoutError("late"),
        FileNotFoundError(2, "No such file", "notes.txt"),
        decode_error(),
        llm.ModelError("refused"),
        llm.UnknownModelError("Unknown model: x"),
        QuotaError("used up", 3, None, {"limit": 5}),
        QuotaError.Daily("today"),
        SystemExit(2),
        Awkward(3, where="here"),
        openai.OpenAIError("no key"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_exceptions_are_described_by_class_and_arguments(error: BaseException) -> None:
    copy = again(error)
    assert (type(copy), str(copy), copy.args) == (type(error), str(error), error.args)


def test_a_description_reads_well() -> None:
    assert describe(ValueError("bad")) == {"class": "ValueError", "args": ["bad"]}
    assert describe(QuotaError.Daily("today")) == {
        "class": f"{__name__}:QuotaError.Daily",
        "args": ["today"],
    }
    error = make_provider_error("gpt-4o-mini", "overloaded", retry_after=2)
    assert describe(error) == {
        "class": "openai:InternalServerError",
        "message": str(error),
        "url": "https://api.openai.com/v1/chat/completions",
        "status_code": 503,
        "headers": {
            "x-request-id": "req_mock",
            "retry-after": "2",
            "content-type": "application/json",
        },
        "content": error.response.text,
    }


def http_library() -> Any:
    """Return the HTTP library of the installed openai."""
    return importlib.import_module(
        type(make_provider_error("gpt-4o-mini", "broken_stream")).__module__
    )


def test_an_error_that_was_received_is_described_without_its_secrets_and_made_again() -> None:
    headers = {"retry-after": "2", "set-cookie": "session=secret"}
    url = "https://api.openai.com/v1/chat/completions"
    description = describe(ReceivedError(503, headers, "busy", url, "openai:APIError"))
    assert description == {
        "class": "openai:APIError",
        "message": "Error code: 503 - busy",
        "url": url,
        "status_code": 503,
        "headers": {"retry-after": "2"},
        "content": "busy",
    }
    del description["class"]
    made: Any = rebuild(description)
    assert (type(made), made.status, made.content) == (ReceivedError, 503, "busy")
    assert (made.headers, made.url, made.kind) == ({"retry-after": "2"}, url, None)
    bare: Any = rebuild({"message": "Error code: 500 - ", "status_code": 500})
    assert (bare.headers, bare.content, bare.url) == ({}, "", None)


def test_errors_of_the_http_library_are_made_again() -> None:
    http = http_library()
    request = http.Request("GET", "https://example.com/?key=secret")
    response = http.Response(
        502, headers={"set-cookie": "secret"}, json={"why": "gateway"}, request=request
    )
    status: Any = again(http.HTTPStatusError("502 Bad Gateway", request=request, response=response))
    assert (type(status), str(status)) == (http.HTTPStatusError, "502 Bad Gateway")
    assert (status.response.status_code, status.response.json()) == (502, {"why": "gateway"})
    assert (status.request.method, str(status.request.url)) == ("GET", "https://example.com/")
    assert "secret" not in json.dumps(describe(status))
    assert type(again(http.ConnectTimeout("slow"))) is http.ConnectTimeout


def test_what_was_described_before_contents_were_is_made_again() -> None:
    described = {"class": "openai:RateLimitError", "message": "Slow down", "status_code": 429}
    error: Any = rebuild(
        {**described, "headers": {"retry-after": "2"}, "body": {"message": "Slow", "code": "x"}}
    )
    assert (str(error), error.code, error.body) == (
        "Slow down",
        "x",
        {"message": "Slow", "code": "x"},
    )
    assert error.response.json() == {"error": {"message": "Slow", "code": "x"}}
    assert str(error.request.url) == "https://api.openai.com/v1/chat/completions"


def test_a_connection_error_of_an_sdk_is_made_again() -> None:
    request = http_library().Request("POST", "https://example.com")
    error = openai.APIConnectionError(message="No route.", request=request)
    assert str(again(error)) == "No route."
    assert type(again(openai.APIError("odd", request, body={"code": "x"}))) is openai.APIError


class LocalOnly(Exception):
    """One that says it comes from the main module."""


LocalOnly.__module__ = "__main__"


def test_what_cannot_be_made_again_is_not_described() -> None:
    class Inner(Exception):
        pass

    for error in (
        Unspeakable(),
        Inner("x"),
        LocalOnly("x"),
        ValueError(Path("x")),
        ValueError((1, 2)),
        ValueError(float("nan")),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ):
        assert describe(error) is None, type(error)


def test_an_attribute_is_described_only_where_the_class_does_not_set_it() -> None:
    error: Any = make_provider_error("gpt-4o-mini", "rate_limit")
    assert "attributes" not in (describe(error) or {})
    error.code = "other"
    description = describe(error) or {}
    assert description["attributes"] == {"code": "other"}
    rebuilt: Any = rebuild(description)
    assert rebuilt.code == "other"


def test_a_missing_package_is_named_with_its_remedy() -> None:
    with pytest.raises(
        ErrorNotRebuilt,
        match=r"exception no_such_sdk:RateError cannot be created: .*pip install no_such_sdk$",
    ):
        rebuild({"class": "no_such_sdk:RateError", "message": "x"})
    with pytest.raises(ErrorNotRebuilt, match="'openai' has no attribute 'OldError'"):
        rebuild({"class": "openai:OldError", "message": "x"})
    assert issubclass(ErrorNotRebuilt, LLMMockError)


@pytest.mark.parametrize(
    "name", ["os:system", "builtins:print", "print", "llm:Model", "openai:RateLimitError.x", ""]
)
def test_nothing_but_exception_classes_is_called(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(builtins, "print", lambda *_: pytest.fail("called"))
    with pytest.raises(ErrorNotRebuilt):
        rebuild({"class": name, "args": ["echo called"]})


@pytest.mark.parametrize(
    "description",
    [{}, None, [], {"class": 3}],
)
def test_what_describes_no_exception_is_refused(description: Any) -> None:
    with pytest.raises(ErrorNotRebuilt) as raised:
        rebuild(description)
    assert str(raised.value) == (
        f"Invalid description of an exception: {shorten(description)}. "
        "Its 'class' must be the name of an exception class."
    )


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ({"class": ".x:Y", "args": []}, "The exception .x:Y cannot be created: "),
        (
            {"class": "openai:RateLimitError"},
            "The exception openai:RateLimitError cannot be created from its description: "
            "KeyError: 'message'.",
        ),
        (
            {"class": "os:system", "args": ["a"]},
            "Invalid description of an exception: os:system is not an exception class.",
        ),
        (
            {"class": "builtins:int", "args": ["1"]},
            "Invalid description of an exception: builtins:int is not an exception class.",
        ),
    ],
)
def test_a_description_that_cannot_be_followed_says_why(description: Any, problem: str) -> None:
    with pytest.raises(ErrorNotRebuilt) as raised:
        rebuild(description)
    assert str(raised.value).startswith(problem)
    assert "pip install" not in str(raised.value)


def test_a_class_that_takes_something_else_is_said() -> None:
    with pytest.raises(
        ErrorNotRebuilt, match="cannot be created from its description: TypeError: "
    ):
        rebuild({"class": f"{__name__}:Awkward", "args": ["x"]})


@pytest.mark.parametrize("client", ["openai.OpenAI", "anthropic.Anthropic"])
def test_the_error_of_each_status_is_recorded_under_the_name_in_the_sdk(client: str) -> None:
    sdk, _, name = client.partition(".")
    make_error = getattr(importlib.import_module(sdk), name)(api_key="x")._make_status_error
    request = httpx.Request("POST", "https://example.com/")
    made = {
        status: make_error("no", body=None, response=httpx.Response(status, request=request))
        for status in range(400, 600)
    }
    defaults = {400: "APIStatusError", 500: "InternalServerError"}
    assert {status: type(error).__name__ for status, error in made.items()} == {
        status: SDK_ERRORS[sdk].get(status, defaults[status // 100 * 100]) for status in made
    }
