"""Bugs in tests are never retried; faults of providers are retried at once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import anthropic
import cohere
import httpx
import openai
import pytest
from google import genai
from mistralai.client import Mistral

from llm_mock import LLMMock, Reply, templates
from llm_mock.boundaries.http.settings import http_settings

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")
HELLO: Any = [{"role": "user", "content": "Hello"}]
SLOW = 0.4
"""An SDK waits half a second at least before it tries again."""


def ask_openai() -> Any:
    return openai.OpenAI().chat.completions.create(model="m", messages=HELLO)


def ask_responses() -> Any:
    return openai.OpenAI().responses.create(model="m", input="Hello")


def ask_anthropic() -> Any:
    return anthropic.Anthropic().messages.create(model="m", max_tokens=9, messages=HELLO)


def ask_google() -> Any:
    client = genai.Client()
    return client.models.generate_content(model="m", contents="Hello")


def ask_mistral() -> Any:
    with Mistral(api_key="any") as client:
        return client.chat.complete(model="m", messages=HELLO)


def ask_cohere() -> Any:
    return cohere.ClientV2(api_key="any").chat(model="m", messages=HELLO)


every_sdk = pytest.mark.parametrize(
    "ask", [ask_openai, ask_responses, ask_anthropic, ask_google, ask_mistral, ask_cohere]
)
that_retry = pytest.mark.parametrize("ask", [ask_openai, ask_responses, ask_anthropic])


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Return the seconds that were waited for, each of which takes no time."""
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    return waited


def broken(prompt: Any) -> str:
    return str(1 / 0)


@every_sdk
def test_a_bug_in_a_reply_function_is_told_once(
    ask: Callable[[], Any], waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", broken)
    with pytest.raises(Exception, match="ZeroDivisionError: division by zero") as raised:
        ask()
    assert f"test_retries.py:{broken.__code__.co_firstlineno + 1}" in str(raised.value)
    assert (len(mock_llm_responses.calls), waits) == (1, [])
    [problem] = mock_llm_responses.problems
    assert problem.splitlines()[0].startswith("A reply function raised at ")
    assert problem.splitlines()[-2].strip() == "return str(1 / 0)"
    assert mock_llm_responses.calls[0]["status"] == 400
    mock_llm_responses.problems.clear()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("swallows", [False, True])
def test_the_test_fails_with_the_line_of_the_function(
    is_async: bool, swallows: bool, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
        import openai

        def helper():
            return {{}}["missing"]

        {"async " if is_async else ""}def reply(prompt):
            return helper()

        def test_it(mock_llm_responses):
            mock_llm_responses.set("m", reply)
            try:
                openai.OpenAI().responses.create(model="m", input="Hello")
            except openai.APIError:
                if not {swallows}:
                    raise
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    text = result.stdout.str()
    assert (
        "A reply function raised at test_the_test_fails_with_the_line_of_the_function.py:7, by "
        in text
    )
    assert 'return {}["missing"]' in text
    assert "BadRequestError" not in text
    assert "site-packages" not in text


@every_sdk
def test_an_error_that_stands_for_nothing_is_not_tried_again(
    ask: Callable[[], Any], waits: list[float], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("m", ValueError("boom"))
    with pytest.raises(Exception, match="ValueError: boom"):
        ask()
    assert (len(mock_llm_responses.calls), waits, mock_llm_responses.calls[0]["status"]) == (
        1,
        [],
        500,
    )


FAULTS = {
    "rate limit": templates.rate_limit,
    "overloaded": templates.overloaded,
    "timeout": templates.timeout,
    "no connection": templates.no_connection,
}


@that_retry
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_fault_is_tried_again_after_a_moment(
    ask: Callable[[], Any], fault: Any, waits: list[float], mock_llm_responses: LLMMock
) -> None:
    for reply in (fault(), fault(), Reply("Hi!")):
        mock_llm_responses.add("m", reply)
    ask()
    assert waits == [0.05, 0.05]


@that_retry
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_a_project_can_have_its_clients_wait(
    ask: Callable[[], Any],
    fault: Any,
    waits: list[float],
    mock_llm_responses: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http_settings, "fast_retries", False)
    mock_llm_responses.add("m", fault())
    mock_llm_responses.add("m", "Hi!")
    ask()
    assert len(waits) == 1
    assert waits[0] >= SLOW * 0.9


def test_a_connection_to_this_machine_is_tried_again_as_ever(
    waits: list[float], mock_llm_calls: LLMMock
) -> None:
    client = openai.OpenAI(base_url="http://127.0.0.1:9/v1", max_retries=1)
    with pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(model="m", messages=HELLO)
    assert waits[0] >= SLOW * 0.9


def test_every_response_has_an_id_of_its_own(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", "Hi!")
    mock_llm_responses.set("bad", templates.authentication())
    ids = [ask_openai()._request_id, ask_responses()._request_id, ask_anthropic()._request_id]
    with pytest.raises(openai.AuthenticationError) as of_openai:
        openai.OpenAI().chat.completions.create(model="bad", messages=HELLO)
    with pytest.raises(anthropic.AuthenticationError) as of_anthropic:
        anthropic.Anthropic().messages.create(model="bad", max_tokens=9, messages=HELLO)
    ids += [of_openai.value.request_id, of_anthropic.value.request_id]
    assert of_anthropic.value.body["request_id"] == of_anthropic.value.request_id  # type: ignore[index]
    body = {"model": "m", "messages": HELLO, "stream": True}
    ids.append(
        httpx.post("https://api.openai.com/v1/chat/completions", json=body).headers["x-request-id"]
    )
    ids.append(httpx.get("https://api.openai.com/v1/models").headers["x-request-id"])
    assert all(name.startswith("req_mock_") for name in ids)
    assert len({*ids}) == len(ids)
