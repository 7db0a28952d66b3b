"""The providers' errors: as their SDKs raise them."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import llm
import openai
import pytest

from llm_mock import LLMMock
from llm_mock.behaviour.provider_errors import REFUSALS, make_provider_error
from tests.expected import compare_json

SDKS = {"gpt-4o-mini": "openai", "claude-sonnet-4.5": "anthropic"}
EXPECTED = {
    ("gpt-4o-mini", "rate_limit"): ("RateLimitError", 429),
    ("gpt-4o-mini", "overloaded"): ("InternalServerError", 503),
    ("gpt-4o-mini", "server_error"): ("InternalServerError", 500),
    ("gpt-4o-mini", "context_overflow"): ("BadRequestError", 400),
    ("gpt-4o-mini", "invalid_key"): ("AuthenticationError", 401),
    ("claude-sonnet-4.5", "rate_limit"): ("RateLimitError", 429),
    ("claude-sonnet-4.5", "overloaded"): ("InternalServerError", 529),
    ("claude-sonnet-4.5", "server_error"): ("InternalServerError", 500),
    ("claude-sonnet-4.5", "context_overflow"): ("BadRequestError", 400),
    ("claude-sonnet-4.5", "invalid_key"): ("AuthenticationError", 401),
}


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
    error: Any = make_provider_error(model, kind)
    assert isinstance(error, getattr(sdk, name))
    assert error.status_code == error.response.status_code == status
    assert str(error).startswith(f"Error code: {status} - ")
    assert error.response.json()["error"]["message"] in str(error).replace("\\'", "'")
    assert error.request.method == "POST"
    assert error.request_id == "req_mock"


@pytest.mark.parametrize("model", SDKS)
@pytest.mark.parametrize("kind", [kind for kind in REFUSALS["openai"] if kind != "overloaded"])
def test_a_status_error_is_of_the_class_that_the_sdk_itself_makes_of_the_response(
    model: str, kind: str
) -> None:
    sdk = pytest.importorskip(SDKS[model])
    client = (sdk.OpenAI if SDKS[model] == "openai" else sdk.Anthropic)(api_key="none")
    error: Any = make_provider_error(model, kind)
    made = client._make_status_error_from_response(error.response)
    assert (type(made), str(made), made.body) == (type(error), str(error), error.body)


IDS = {
    "openai": ["gpt-5", "chatgpt-4o-latest", "o1", "o3-mini", "o4-mini", "ft:gpt-4o:me::1"],
    "anthropic": ["claude-opus-4-8", "anthropic/any"],
}
IDS["openai"] += ["openai/any", "text-embedding-3-small"]


@pytest.mark.parametrize(("model", "sdk"), [(model, sdk) for sdk in IDS for model in IDS[sdk]])
def test_the_beginning_of_a_model_id_tells_the_sdk(model: str, sdk: str) -> None:
    expected = pytest.importorskip(sdk).RateLimitError
    assert type(make_provider_error(model, "rate_limit")) is expected


@pytest.mark.parametrize("model", ["my-gpt-5", "chatbot", "o2", "an-openai/model", "my-claude"])
def test_a_model_id_that_only_contains_such_a_beginning_tells_no_sdk(model: str) -> None:
    assert type(make_provider_error(model, "rate_limit")) is llm.ModelError


@pytest.mark.parametrize(
    ("version", "is_short"), [("1.109.1", False), ("2.8.0", False), ("3.0.0", True), ("12.0", True)]
)
def test_the_text_of_an_error_is_that_of_the_version_of_the_sdk(
    version: str, is_short: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(openai, "__version__", version)
    text = str(make_provider_error("gpt-4o", "rate_limit"))
    assert text.startswith(
        "Error code: 429 - Rate limit reached" if is_short else "Error code: 429 - {'error': {"
    )


def test_openai_names_the_code_of_the_error() -> None:
    error: Any = make_provider_error("gpt-4o-mini", "context_overflow")
    assert (error.code, error.type, error.param) == (
        "context_length_exceeded",
        "invalid_request_error",
        "messages",
    )
    assert error.body["message"].startswith("This model's maximum context length is 128000 tokens.")
    rate_limit: Any = make_provider_error("gpt-4o-mini", "rate_limit")
    assert rate_limit.code == "rate_limit_exceeded"
    assert "for gpt-4o-mini in" in rate_limit.message


def test_anthropic_gives_the_whole_body() -> None:
    pytest.importorskip("anthropic")
    error: Any = make_provider_error("claude-sonnet-4.5", "overloaded")
    assert error.body["error"] == {"type": "overloaded_error", "message": "Overloaded"}
    assert "prompt is too long" in str(
        make_provider_error("anthropic/claude-3-opus", "context_overflow")
    )


@pytest.mark.parametrize("model", SDKS)
def test_a_rate_limit_says_when_to_try_again(model: str) -> None:
    pytest.importorskip(SDKS[model])
    error: Any = make_provider_error(model, "rate_limit")
    assert error.response.headers["Retry-After"] == "1"
    error = make_provider_error(model, "rate_limit", retry_after=0.5)
    assert error.response.headers["retry-after"] == "0.5"
    error = make_provider_error(model, "overloaded")
    assert "retry-after" not in error.response.headers
    error = make_provider_error(model, "overloaded", retry_after=20)
    assert error.response.headers["retry-after"] == "20"


@pytest.mark.parametrize("model", SDKS)
def test_a_timeout_and_a_broken_stream_are_those_of_the_sdk(model: str) -> None:
    sdk = pytest.importorskip(SDKS[model])
    timeout = make_provider_error(model, "timeout")
    assert type(timeout) is sdk.APITimeoutError
    assert str(timeout).startswith("Request timed out")
    broken = make_provider_error(model, "broken_stream")
    assert type(broken).__name__ == "RemoteProtocolError"
    assert type(broken).__module__ in ("httpx", "httpx2")


@pytest.mark.parametrize("model", [*SDKS, "nobody/knows"])
@pytest.mark.usefixtures("without_sdks")
def test_without_the_sdk_the_message_stays(model: str) -> None:
    error = make_provider_error(model, "rate_limit", retry_after=3)
    assert type(error) is llm.ModelError
    assert "rate limit" in str(error).lower()
    assert str(error).startswith("Error code: 429 - ")
    assert type(make_provider_error(model, "timeout")) is TimeoutError
    assert type(make_provider_error(model, "broken_stream")) is ConnectionError


def test_a_model_of_neither_provider_has_plain_errors() -> None:
    error = make_provider_error("nobody/knows", "rate_limit", retry_after=3)
    assert type(error) is llm.ModelError
    assert str(error).endswith("Please try again in 3s.")


def test_a_model_outside_the_mock_is_known_by_its_name_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("llm_mock.behaviour.provider_errors.current_mock", lambda: None)
    assert type(make_provider_error("davinci-002", "invalid_key")) is llm.ModelError


def test_a_registered_model_has_the_errors_of_the_sdk_that_its_plugin_uses(
    mock_llm_calls: LLMMock,
) -> None:
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
        assert (
            type(make_provider_error("served/llama", "invalid_key")) is openai.AuthenticationError
        )
    finally:
        pm.unregister(name="served")


def test_a_registered_model_of_another_library_has_plain_errors(mock_llm_calls: LLMMock) -> None:
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
        assert type(make_provider_error("local-llama", "invalid_key")) is llm.ModelError
    finally:
        pm.unregister(name="local")


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"Unknown kind 'rate-limit'\. Use one of rate_limit, overloaded"
    ):
        make_provider_error("gpt-4o-mini", "rate-limit")


def test_the_response_of_each_provider_to_each_failure_is_the_checked_in_one() -> None:
    responses = {}
    for provider, kinds in REFUSALS.items():
        for kind in kinds:
            failure: Any = make_provider_error("some-model", kind, provider=provider, retry_after=7)
            responses[f"{provider} {kind}"] = [
                failure.status,
                failure.headers,
                str(failure),
                failure.body,
            ]
    compare_json(Path(__file__).with_name("refusals.json"), responses)
