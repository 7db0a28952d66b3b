"""Quotas: the provider's 429 when the requests or tokens of a minute are used up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import llm
import openai
import pytest
from google import genai
from mistralai.client import Mistral
from mistralai.client import errors as mistral_errors

from llm_mock import InvalidReply, Latency, LLMMock, Reply
from llm_mock.boundaries.http.server import MockServer

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
    pytest.mark.llm_mock_strict("warn"),
]
HELLO: Any = [{"role": "user", "content": "Hello"}]


@pytest.fixture(params=["in process", "served"])
def base_url(request: pytest.FixtureRequest) -> Iterator[str | None]:
    """Return the URL of OpenAI's API, or of the server."""
    if request.param == "in process":
        yield None
    else:
        server: MockServer = request.getfixturevalue("llm_mock_server")
        yield server.openai_url


def ask(base_url: str | None = None, retries: int = 0, text: str = "Hello") -> Any:
    """Ask by the SDK of OpenAI, and return the headers of the response."""
    with openai.OpenAI(api_key="any", base_url=base_url, max_retries=retries) as client:
        messages: Any = [{"role": "user", "content": text}]
        create = client.chat.completions.with_raw_response.create
        return create(model="gpt-4o", messages=messages).headers


def test_the_requests_of_a_minute_are_limited(
    base_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_quota("gpt-4o", rpm=2, tpm=90_000)
    first, second = ask(base_url), ask(base_url)
    assert first["x-ratelimit-limit-requests"] == second["x-ratelimit-limit-requests"] == "2"
    assert first["x-ratelimit-remaining-requests"] == "1"
    assert second["x-ratelimit-remaining-requests"] == "0"
    assert second["x-ratelimit-reset-requests"] == "1m0s"
    assert second["x-ratelimit-limit-tokens"] == "90000"
    assert 89_900 < int(second["x-ratelimit-remaining-tokens"]) < 90_000
    with pytest.raises(openai.RateLimitError) as raised:
        ask(base_url)
    # https://platform.openai.com/docs/guides/rate-limits
    assert raised.value.body == {
        "message": "Rate limit reached for gpt-4o in organization org-mock on requests per min "
        "(RPM): Limit 2, Used 2, Requested 1. Please try again in 60s. Visit "
        "https://platform.openai.com/account/rate-limits to learn more.",
        "type": "requests",
        "param": None,
        "code": "rate_limit_exceeded",
    }
    headers = raised.value.response.headers
    assert headers["retry-after"] == "60"
    assert headers["x-ratelimit-remaining-requests"] == "0"
    [*_, refused] = mock_llm_responses.calls
    assert (refused["status"], refused.response) == (429, None)


def test_a_client_that_waits_as_it_is_told_is_answered_at_once(
    base_url: str | None, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_quota("gpt-4o", rpm=1)
    ask(base_url)
    assert ask(base_url, retries=1)["x-ratelimit-remaining-requests"] == "0"
    assert [call["error"] is None for call in mock_llm_responses.calls] == [True, False, True]


def test_a_client_that_does_not_wait_is_refused_again(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("gpt-4o", rpm=1)
    model = llm.get_model("gpt-4o")
    model.prompt("Hello").text()
    for seconds in (0, 0, 30):
        mock_llm_responses.advance_clock(seconds)
        with pytest.raises(openai.RateLimitError):
            model.prompt("Hello").text()
    mock_llm_responses.advance_clock(30)
    model.prompt("Hello").text()


def test_the_latency_of_replies_lets_time_pass(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_latency("gpt-4o", Latency(first_chunk=61))
    mock_llm_responses.set_quota("gpt-4o", rpm=1)
    with openai.OpenAI(api_key="any", timeout=100) as client:
        for _ in range(3):
            client.chat.completions.create(model="gpt-4o", messages=HELLO)


def test_the_tokens_of_a_minute_are_limited(mock_llm_responses: LLMMock) -> None:
    usage = {"input_tokens": 50, "output_tokens": 40}
    mock_llm_responses.set("gpt-4o", Reply("Hi!", usage=usage))
    mock_llm_responses.set_quota("gpt-4o", tpm=100)
    assert ask()["x-ratelimit-remaining-tokens"] == "10"
    with pytest.raises(openai.RateLimitError) as raised:
        ask(text="x" * 80)
    assert raised.value.type == "tokens"
    assert "on tokens per min (TPM): Limit 100, Used 90, Requested 20. " in str(raised.value)
    with pytest.raises(openai.RateLimitError, match="Request too large for gpt-4o") as too_large:
        ask(text="x" * 800)
    assert "retry-after" not in too_large.value.response.headers
    mock_llm_responses.advance_clock(61)
    ask(text="x" * 80)


def test_the_wait_ends_as_soon_as_the_tokens_that_are_left_suffice(
    mock_llm_responses: LLMMock,
) -> None:
    first = Reply("Hi!", usage={"input_tokens": 50, "output_tokens": 0})
    second = Reply("Hi!", usage={"input_tokens": 40, "output_tokens": 0})
    mock_llm_responses.script("gpt-4o", first, second)
    mock_llm_responses.set_quota("gpt-4o", tpm=100)
    ask()
    mock_llm_responses.advance_clock(20)
    ask()
    with pytest.raises(openai.RateLimitError) as raised:
        ask(text="x" * 240)
    assert "Limit 100, Used 90, Requested 60. " in str(raised.value)
    assert round(float(raised.value.response.headers["retry-after"])) == 40


def embed(base_url: str | None = None, retries: int = 0, text: str = "Hello") -> Any:
    """Embed a text by the SDK of OpenAI, and return the headers of the response."""
    with openai.OpenAI(api_key="any", base_url=base_url, max_retries=retries) as client:
        return client.embeddings.with_raw_response.create(model="e", input=[text, "x"]).headers


def test_embeddings_are_limited_too(base_url: str | None, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("e", rpm=2, tpm=1000)
    first, second = embed(base_url), embed(base_url, text="x" * 800)
    assert first["x-ratelimit-limit-requests"] == second["x-ratelimit-limit-requests"] == "2"
    assert first["x-ratelimit-remaining-requests"] == "1"
    assert int(first["x-ratelimit-remaining-tokens"]) > 990
    assert int(second["x-ratelimit-remaining-tokens"]) < 800
    with pytest.raises(openai.RateLimitError, match="Rate limit reached for e in") as raised:
        embed(base_url)
    headers = raised.value.response.headers
    assert (headers["retry-after"], headers["retry-after-ms"]) == ("60", "50")
    assert embed(base_url, retries=1)["x-ratelimit-remaining-requests"] == "1"
    with pytest.raises(openai.RateLimitError, match="Request too large for e in"):
        embed(base_url, text="x" * 8000)


def test_embeddings_without_a_quota_have_no_headers(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("other", rpm=1)
    embed()
    assert not [name for name in embed() if "ratelimit" in name]


def test_embeddings_of_google_are_limited_in_its_words(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("*", rpm=1)
    client = genai.Client(api_key="any")
    client.models.embed_content(model="gemini-embedding-001", contents="Hello")
    with pytest.raises(genai.errors.ClientError, match="RESOURCE_EXHAUSTED"):
        client.models.embed_content(model="gemini-embedding-001", contents="Hello")


def ask_anthropic() -> Any:
    with anthropic.Anthropic(api_key="any", max_retries=0) as client:
        create = client.messages.with_raw_response.create
        return create(model="claude", max_tokens=9, messages=HELLO).headers


def ask_google() -> None:
    client = genai.Client(api_key="any")
    client.models.generate_content(model="gemini", contents="Hello")


def ask_mistral() -> None:
    with Mistral(api_key="any") as client:
        client.chat.complete(model="mistral", messages=HELLO)


@pytest.mark.parametrize(
    ("function", "error", "words"),
    [
        # https://docs.claude.com/en/api/rate-limits
        (
            ask_anthropic,
            anthropic.RateLimitError,
            "This request would exceed your organization's rate limit of 1 requests per minute.",
        ),
        # https://ai.google.dev/gemini-api/docs/rate-limits
        (ask_google, genai.errors.ClientError, "RESOURCE_EXHAUSTED"),
        (ask_mistral, mistral_errors.SDKError, "Rate limit exceeded"),
    ],
)
def test_each_provider_refuses_in_its_own_words(
    function: Callable[[], Any],
    error: type[Exception],
    words: str,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set_quota("*", rpm=1)
    function()
    with pytest.raises(error, match=words) as raised:
        function()
    assert "429" in str(raised.value)


def test_anthropic_has_headers_of_its_own(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("claude", rpm=5, tpm=1000)
    headers = ask_anthropic()
    assert headers["anthropic-ratelimit-requests-limit"] == "5"
    assert headers["anthropic-ratelimit-requests-remaining"] == "4"
    assert headers["anthropic-ratelimit-requests-reset"].endswith("Z")
    assert headers["anthropic-ratelimit-tokens-limit"] == "1000"
    assert not [name for name in headers if name.startswith("x-ratelimit")]


def test_mistral_has_headers_of_its_own(mock_llm_responses: LLMMock) -> None:
    usage = {"input_tokens": 50, "output_tokens": 40}
    mock_llm_responses.set("mistral", Reply("Hi!", usage=usage))
    mock_llm_responses.set_quota("mistral", rpm=2, tpm=1000)
    url = "https://api.mistral.ai/v1/chat/completions"
    body = {"model": "mistral", "messages": HELLO}
    first, second, refused = [httpx.post(url, json=body) for _ in range(3)]
    limits = {name: value for name, value in first.headers.items() if "ratelimit" in name}
    assert limits == {
        "x-ratelimit-limit-req-minute": "2",
        "x-ratelimit-remaining-req-minute": "1",
        "x-ratelimit-limit-tokens-minute": "1000",
        "x-ratelimit-remaining-tokens-minute": "910",
    }
    assert second.headers["x-ratelimit-remaining-tokens-minute"] == "820"
    assert refused.headers["x-ratelimit-remaining-req-minute"] == "0"
    assert refused.json() == {
        "object": "error",
        "message": "Rate limit exceeded",
        "type": "rate_limited",
        "param": None,
        "code": "1300",
        "raw_status_code": 429,
    }


def test_google_sends_no_headers_of_limits(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("gemini", rpm=5, tpm=1000)
    url = "https://generativelanguage.googleapis.com/v1beta/models/gemini:generateContent"
    headers = httpx.post(url, json={"contents": [{"parts": [{"text": "Hello"}]}]}).headers
    assert not [name for name in headers if "ratelimit" in name]


@pytest.mark.parametrize(
    "url",
    [
        "https://api.groq.com/openai/v1/chat/completions",
        "https://mine.openai.azure.com/openai/deployments/m/chat/completions",
        "https://api.deepseek.com/chat/completions",
    ],
)
def test_providers_with_the_api_of_openai_have_its_headers(
    url: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_quota("m", rpm=1, tpm=1000)
    first, refused = [httpx.post(url, json={"model": "m", "messages": HELLO}) for _ in range(2)]
    assert first.headers["x-ratelimit-limit-requests"] == "1"
    assert first.headers["x-ratelimit-limit-tokens"] == "1000"
    assert refused.status_code == 429
    assert refused.json()["error"]["code"] == "rate_limit_exceeded"


LONG = "x" * 3200
"""A prompt of 800 tokens, as the mock estimates them."""
GOOGLE = "https://generativelanguage.googleapis.com/v1beta/models/m:generateContent"
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model/m/converse"
VERTEX = (
    "https://us-east5-aiplatform.googleapis.com/v1/projects/p/locations/us-east5/publishers/"
    "anthropic/models/m:rawPredict"
)
BODIES: dict[str, Any] = {
    GOOGLE: {"contents": [{"parts": [{"text": LONG}]}]},
    BEDROCK: {"messages": [{"role": "user", "content": [{"text": LONG}]}]},
    VERTEX: {
        "anthropic_version": "vertex-2023-10-16",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": LONG}],
    },
    "https://api.anthropic.com/v1/messages": {
        "model": "m",
        "max_tokens": 9,
        "messages": [{"role": "user", "content": LONG}],
    },
}


@pytest.mark.parametrize(
    ("url", "limit", "words"),
    [
        (BEDROCK, {"rpm": 1}, "Too many requests, please wait before trying again."),
        (BEDROCK, {"tpm": 1000}, "Too many tokens, please wait before trying again."),
        (VERTEX, {"rpm": 1}, "online_prediction_requests_per_base_model "),
        (
            VERTEX,
            {"tpm": 1000},
            "online_prediction_input_tokens_per_minute_per_base_model ",
        ),
        (
            "https://api.anthropic.com/v1/messages",
            {"tpm": 1000},
            "would exceed your organization's rate limit of 1,000 input tokens per minute.",
        ),
    ],
)
def test_a_refusal_names_the_limit_in_the_words_of_the_provider(
    url: str, limit: dict[str, int], words: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_quota("m", **limit)
    first, refused = [httpx.post(url, json=BODIES[url]) for _ in range(2)]
    assert (first.status_code, refused.status_code) == (200, 429)
    assert words in refused.text


@pytest.mark.parametrize(
    ("limit", "metric", "quota"),
    [
        (
            {"rpm": 1},
            "generate_content_free_tier_requests",
            "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
        ),
        (
            {"tpm": 1000},
            "generate_content_free_tier_input_token_count",
            "GenerateContentInputTokensPerModelPerMinute-FreeTier",
        ),
    ],
)
def test_google_names_the_quota_and_the_delay(
    limit: dict[str, int], metric: str, quota: str, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_quota("m", **limit)
    (number,) = limit.values()
    httpx.post(GOOGLE, json=BODIES[GOOGLE])
    error = httpx.post(GOOGLE, json=BODIES[GOOGLE]).json()["error"]
    failure, retry = error["details"]
    assert (error["code"], error["status"]) == (429, "RESOURCE_EXHAUSTED")
    assert f"{metric}, limit: {number}, model: m\n" in error["message"]
    (violation,) = failure["violations"]
    assert violation == {
        "quotaMetric": f"generativelanguage.googleapis.com/{metric}",
        "quotaId": quota,
        "quotaDimensions": {"location": "global", "model": "m"},
        "quotaValue": str(number),
    }
    assert retry["retryDelay"] == "60s"


def test_the_limit_holds_through_llm(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("gpt-4o", rpm=1)
    model = llm.get_model("gpt-4o")
    model.prompt("Hello").text()
    with pytest.raises(openai.RateLimitError, match="Limit 1, Used 1") as raised:
        model.prompt("Hello").text()
    assert raised.value.response.headers["retry-after"] == "60"
    mock_llm_responses.advance_clock(60)
    model.prompt("Hello").text()


def test_each_model_has_its_own_quota_until_it_ends(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("m*", rpm=1)
    for name in ("m1", "m2", "other", "other"):
        llm.get_model(name).prompt("Hello").text()
    with pytest.raises(llm.ModelError, match="Rate limit reached for m1"):
        llm.get_model("m1").prompt("Hello").text()
    mock_llm_responses.set_quota("m1")
    llm.get_model("m1").prompt("Hello").text()
    mock_llm_responses.reset()
    llm.get_model("m2").prompt("Hello").text()


def test_a_refused_call_uses_up_no_reply(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_quota("gpt-4o", rpm=1)
    mock_llm_responses.add("gpt-4o", "first")
    mock_llm_responses.add("gpt-4o", "second")
    model = llm.get_model("gpt-4o")
    assert model.prompt("Hello").text() == "first"
    with pytest.raises(openai.RateLimitError):
        model.prompt("Hello").text()
    mock_llm_responses.advance_clock(60)
    assert model.prompt("Hello").text() == "second"


@pytest.mark.parametrize("limits", [{"rpm": 0}, {"tpm": -1}, {"rpm": 1.5}, {"tpm": True}])
def test_what_is_no_limit_is_refused(mock_llm_responses: LLMMock, limits: Any) -> None:
    with pytest.raises(InvalidReply, match="pass a whole number of at least 1"):
        mock_llm_responses.set_quota("m", **limits)
    assert mock_llm_responses.quotas is None


@pytest.mark.parametrize("seconds", [-1, "1", float("nan")])
def test_time_goes_forward(mock_llm_responses: LLMMock, seconds: Any) -> None:
    with pytest.raises(InvalidReply, match="pass a number of at least 0"):
        mock_llm_responses.advance_clock(seconds)


def test_each_test_and_process_counts_from_zero(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_llm_mock_configure(config, mock):
            mock.set_quota("m", rpm=1)
        """
    )
    pytester.makepyfile(
        """
        import subprocess, sys
        import llm, pytest

        @pytest.mark.parametrize("number", [1, 2])
        def test_it(number, mock_llm_calls):
            llm.get_model("m").prompt("Hello").text()
            with pytest.raises(llm.ModelError):
                llm.get_model("m").prompt("Hello").text()

        def test_process(mock_llm_calls):
            mock_llm_calls.set_quota("n", rpm=1)
            code = "import llm; m = llm.get_model('n'); m.prompt('a').text(); m.prompt('b').text()"
            printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
            assert "Rate limit reached for n" in printed.stderr
        """
    )
    pytester.runpytest("-Werror").assert_outcomes(passed=3)
