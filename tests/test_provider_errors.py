"""The providers' errors: as their SDKs raise them, described as JSON, and made again."""

from __future__ import annotations

import builtins
import importlib
import json
from pathlib import Path
from typing import Any

import llm
import openai
import pytest

from llm_mock import ErrorNotRebuilt, LLMMockError, MockGetModel
from llm_mock.behaviour.provider_errors import FAILURES, KINDS, describe, provider_error, rebuild

SDKS = {"gpt-4o-mini": "openai", "claude-sonnet-4.5": "anthropic"}
EXPECTED = {
    ("gpt-4o-mini", "rate_limit"): ("RateLimitError", 429),
    ("gpt-4o-mini", "overloaded"): ("InternalServerError", 503),
    ("gpt-4o-mini", "context_overflow"): ("BadRequestError", 400),
    ("gpt-4o-mini", "invalid_key"): ("AuthenticationError", 401),
    ("claude-sonnet-4.5", "rate_limit"): ("RateLimitError", 429),
    ("claude-sonnet-4.5", "overloaded"): ("InternalServerError", 529),
    ("claude-sonnet-4.5", "context_overflow"): ("BadRequestError", 400),
    ("claude-sonnet-4.5", "invalid_key"): ("AuthenticationError", 401),
}


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


@pytest.fixture
def without_sdks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if neither SDK were installed."""

    def import_module(name: str, package: str | None = None) -> Any:
        if name.split(".")[0] in SDKS.values():
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, package)

    real = importlib.import_module
    monkeypatch.setattr(importlib, "import_module", import_module)


@pytest.mark.parametrize(("model", "kind"), EXPECTED)
def test_a_status_error_is_the_one_that_the_sdk_raises(model: str, kind: str) -> None:
    sdk = pytest.importorskip(SDKS[model])
    name, status = EXPECTED[model, kind]
    error: Any = provider_error(model, kind)
    assert isinstance(error, getattr(sdk, name))
    assert error.status_code == error.response.status_code == status
    assert str(error).startswith(f"Error code: {status} - ")
    assert error.response.json()["error"]["message"] in str(error).replace("\\'", "'")
    assert error.request.method == "POST"
    assert error.request_id == "req_mock"


@pytest.mark.parametrize("model", SDKS)
@pytest.mark.parametrize("kind", [kind for kind in FAILURES if kind != "overloaded"])
def test_a_status_error_is_of_the_class_that_the_sdk_itself_makes_of_the_response(model: str, kind: str) -> None:
    sdk = pytest.importorskip(SDKS[model])
    client = (sdk.OpenAI if SDKS[model] == "openai" else sdk.Anthropic)(api_key="none")
    error: Any = provider_error(model, kind)
    made = client._make_status_error_from_response(error.response)
    assert (type(made), str(made), made.body) == (type(error), str(error), error.body)


def test_openai_names_the_code_of_the_error() -> None:
    error: Any = provider_error("gpt-4o-mini", "context_overflow")
    assert (error.code, error.type, error.param) == ("context_length_exceeded", "invalid_request_error", "messages")
    assert error.body["message"].startswith("This model's maximum context length is 128000 tokens.")
    rate_limit: Any = provider_error("gpt-4o-mini", "rate_limit")
    assert rate_limit.code == "rate_limit_exceeded"
    assert "for gpt-4o-mini in" in rate_limit.message


def test_anthropic_gives_the_whole_body() -> None:
    pytest.importorskip("anthropic")
    error: Any = provider_error("claude-sonnet-4.5", "overloaded")
    assert error.body["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert "prompt is too long" in str(provider_error("anthropic/claude-3-opus", "context_overflow"))


@pytest.mark.parametrize("model", SDKS)
def test_a_rate_limit_says_when_to_try_again(model: str) -> None:
    pytest.importorskip(SDKS[model])
    error: Any = provider_error(model, "rate_limit")
    assert error.response.headers["Retry-After"] == "1"
    error = provider_error(model, "rate_limit", retry_after=0.5)
    assert error.response.headers["retry-after"] == "0.5"
    error = provider_error(model, "overloaded")
    assert "retry-after" not in error.response.headers
    error = provider_error(model, "overloaded", retry_after=20)
    assert error.response.headers["retry-after"] == "20"


@pytest.mark.parametrize("model", SDKS)
def test_a_timeout_and_a_broken_stream_are_those_of_the_sdk(model: str) -> None:
    sdk = pytest.importorskip(SDKS[model])
    timeout = provider_error(model, "timeout")
    assert type(timeout) is sdk.APITimeoutError
    assert str(timeout).startswith("Request timed out")
    broken = provider_error(model, "broken_stream")
    assert type(broken).__name__ == "RemoteProtocolError"
    assert type(broken).__module__ in ("httpx", "httpx2")


@pytest.mark.parametrize("model", [*SDKS, "nobody/knows"])
@pytest.mark.usefixtures("without_sdks")
def test_without_the_sdk_the_message_stays(model: str) -> None:
    error = provider_error(model, "rate_limit", retry_after=3)
    assert type(error) is llm.ModelError
    assert "rate limit" in str(error).lower()
    assert str(error).startswith("Error code: 429 - ")
    assert type(provider_error(model, "timeout")) is TimeoutError
    assert type(provider_error(model, "broken_stream")) is ConnectionError


def test_a_model_of_neither_provider_has_plain_errors() -> None:
    error = provider_error("nobody/knows", "rate_limit", retry_after=3)
    assert type(error) is llm.ModelError
    assert str(error).endswith("Please try again in 3s.")


def test_a_model_outside_the_mock_is_known_by_its_name_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llm_mock.boundaries.llm.boundary.active", lambda: None)
    assert type(provider_error("davinci-002", "invalid_key")) is llm.ModelError


def test_a_registered_model_has_the_errors_of_the_sdk_that_its_plugin_uses(mock_llm_calls: MockGetModel) -> None:
    from llm.default_plugins.openai_models import AsyncChat, Chat
    from llm.plugins import pm

    class Served(Chat):  # as plugins for services with OpenAI's interface do
        pass

    class Plugin:
        @llm.hookimpl
        def register_models(self, register: Any) -> None:
            register(Served("served/llama"), AsyncChat("served/llama"))

    pm.register(Plugin(), name="served")
    try:
        assert type(provider_error("served/llama", "invalid_key")) is openai.AuthenticationError
    finally:
        pm.unregister(name="served")


def test_a_registered_model_of_another_library_has_plain_errors(mock_llm_calls: MockGetModel) -> None:
    from llm.plugins import pm

    class Local(llm.Model):
        __module__ = "json"  # one that imports neither SDK
        model_id = "local-llama"

        def execute(self, *arguments: Any) -> Any:
            raise NotImplementedError

    class Plugin:
        @llm.hookimpl
        def register_models(self, register: Any) -> None:
            register(Local())

    pm.register(Plugin(), name="local")
    try:
        assert type(provider_error("local-llama", "invalid_key")) is llm.ModelError
    finally:
        pm.unregister(name="local")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="kind = 'rate-limit': write one of rate_limit, overloaded"):
        provider_error("gpt-4o-mini", "rate-limit")


# Described and made again


def again(error: BaseException) -> BaseException:
    """The exception as it comes back from a file."""
    description = describe(error)
    assert description is not None
    return rebuild(json.loads(json.dumps(description)))


@pytest.mark.parametrize("model", [*SDKS, "nobody/knows"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_provider_error_is_described_and_made_again(model: str, kind: str) -> None:
    error: Any = provider_error(model, kind, retry_after=7)
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
        openai.OpenAIError("no key"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_other_exceptions_are_described_by_class_and_arguments(error: BaseException) -> None:
    copy = again(error)
    assert (type(copy), str(copy), copy.args) == (type(error), str(error), error.args)


def test_a_description_reads_well() -> None:
    assert describe(ValueError("bad")) == {"class": "ValueError", "args": ["bad"]}
    assert describe(QuotaError.Daily("today")) == {"class": f"{__name__}:QuotaError.Daily", "args": ["today"]}
    error = provider_error("gpt-4o-mini", "overloaded", retry_after=2)
    assert describe(error) == {
        "class": "openai:InternalServerError",
        "message": str(error),
        "status_code": 503,
        "headers": {"retry-after": "2", "x-request-id": "req_mock"},
        "body": {
            "message": "The engine is currently overloaded, please try again later",
            "type": "server_error",
            "param": None,
            "code": None,
        },
    }


def http_library() -> Any:
    """The HTTP library of the installed openai."""
    return importlib.import_module(type(provider_error("gpt-4o-mini", "broken_stream")).__module__)


def test_errors_of_the_http_library_are_made_again() -> None:
    http = http_library()
    request = http.Request("GET", "https://example.com/?key=secret")
    response = http.Response(502, headers={"set-cookie": "secret"}, json={"why": "gateway"}, request=request)
    status: Any = again(http.HTTPStatusError("502 Bad Gateway", request=request, response=response))
    assert (type(status), str(status)) == (http.HTTPStatusError, "502 Bad Gateway")
    assert (status.response.status_code, status.response.json()) == (502, {"why": "gateway"})
    assert "secret" not in json.dumps(describe(status))
    assert type(again(http.ConnectTimeout("slow"))) is http.ConnectTimeout


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
        Awkward(3, where="here"),
        Unspeakable(),
        Inner("x"),
        LocalOnly("x"),
        ValueError(Path("x")),
        ValueError((1, 2)),
        ValueError(float("nan")),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
    ):
        assert describe(error) is None, type(error)


def test_a_missing_package_is_named_with_its_remedy() -> None:
    with pytest.raises(
        ErrorNotRebuilt, match=r"exception no_such_sdk:RateError cannot be made here: .*pip install no_such_sdk$"
    ):
        rebuild({"class": "no_such_sdk:RateError", "message": "x"})
    with pytest.raises(ErrorNotRebuilt, match="'openai' has no attribute 'OldError'"):
        rebuild({"class": "openai:OldError", "message": "x"})
    assert issubclass(ErrorNotRebuilt, LLMMockError)


@pytest.mark.parametrize("name", ["os:system", "builtins:print", "print", "llm:Model", "openai:RateLimitError.x", ""])
def test_nothing_but_exception_classes_is_called(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "print", lambda *_: pytest.fail("called"))
    with pytest.raises(ErrorNotRebuilt):
        rebuild({"class": name, "args": ["echo called"]})


@pytest.mark.parametrize(
    "description", [{}, None, [], {"class": 3}, {"class": ".x:Y", "args": []}, {"class": "openai:RateLimitError"}]
)
def test_what_describes_no_exception_is_refused(description: Any) -> None:
    with pytest.raises(ErrorNotRebuilt):
        rebuild(description)


def test_a_class_that_takes_something_else_is_said() -> None:
    with pytest.raises(ErrorNotRebuilt, match="cannot be made as described: TypeError: "):
        rebuild({"class": f"{__name__}:Awkward", "args": ["x"]})
