"""Every SDK gets the answer of its provider: text, data, tool calls, streams, errors."""

from __future__ import annotations

import json
from typing import Any

import openai
import pytest

from llm_mock import LLMMock, Reply, ToolCall
from tests.boundaries.http.sdks import SDK, Weather, every_sdk, every_sync_sdk

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning"),
    pytest.mark.usefixtures("way"),
]
SUNNY = {"city": "Bern", "degrees": 21}


@pytest.fixture(params=["in process", "served"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Return the way to the mock: without a socket, or by the server."""
    if request.param == "served":
        for name, value in request.getfixturevalue("llm_mock_server").environment().items():
            if name.endswith("_BASE_URL"):
                monkeypatch.setenv(name, value)


# The server sends the same bytes, as `test_replies.py` proves; few tests read them by every SDK.
in_process = pytest.mark.parametrize("way", ["in process"], indirect=True)


@every_sdk
def test_a_text_is_the_answer_and_the_call_is_recorded(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(sdk.model, "Hello!")
    said = sdk().ask("Say hello", system="Be brief.", **sdk.option)
    assert (said.text, said.tool_calls, said.finish_reason) == ("Hello!", [], sdk.ends["stop"])
    [call] = mock_llm_responses.calls
    assert (call["model_id"], call["prompt"], call["response"]) == (
        sdk.model,
        "Say hello",
        "Hello!",
    )
    assert call["kwargs"]["system"] == "Be brief."
    assert call["options"].items() >= sdk.option.items()
    assert (call["api"], call["stream"], call["finish_reason"]) == (sdk.api, False, "stop")
    assert said.tokens == (call["input_tokens"], call["output_tokens"])


@every_sdk
def test_a_text_is_streamed_in_its_chunks(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(sdk.model, Reply(chunks=["Hel", "lo", "!"]))
    assert sdk().stream("Say hello") == ["Hel", "lo", "!"]
    assert [call["stream"] for call in mock_llm_responses.calls] == [True]


@in_process
@every_sync_sdk
def test_data_are_the_structured_answer(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(sdk.model, SUNNY, schema=Weather)
    assert sdk().structured("How is it?") == Weather(city="Bern", degrees=21)
    call = mock_llm_responses.last_call
    assert call["kwargs"]["schema"] == "Weather"
    assert {*(call["schema"] or {})["properties"]} == {"city", "degrees"}


@in_process
@every_sync_sdk
def test_data_that_break_the_schema_are_told(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(sdk.model, {"city": "Bern"}, schema=Weather)
    with (
        pytest.warns(UserWarning, match="'degrees' is a required property"),
        pytest.raises(Exception),  # noqa: B017, PT011
    ):
        sdk().structured("How is it?").degrees  # noqa: B018


@in_process
@every_sdk
def test_a_tool_is_called(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(
        sdk.model, Reply("Let me see.", tool_calls=[ToolCall("weather", {"city": "Bern"})])
    )
    said = sdk().ask("How is it?", tools=True)
    [(name, arguments)] = said.tool_calls
    assert (said.text, name, said.finish_reason) == (
        "Let me see.",
        "weather",
        sdk.ends["tool_calls"],
    )
    assert (json.loads(arguments) if isinstance(arguments, str) else arguments) == {"city": "Bern"}
    mock_llm_responses.assert_called_once_with(prompt_equals="How is it?", tools=["weather"])
    call = mock_llm_responses.last_call
    assert call["kwargs"]["tools"] == ["weather"]
    assert [(tool["name"], tool["input_schema"]["required"]) for tool in call["tools"]] == [
        ("weather", ["city"])
    ]


@in_process
@every_sync_sdk
def test_data_that_fit_a_tool_are_its_arguments(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(sdk.model, {"city": "Bern"})
    [(name, _)] = sdk().ask("How is it?", tools=True).tool_calls
    assert name == "weather"


@in_process
@every_sync_sdk
def test_the_result_of_a_tool_is_a_turn_of_its_own(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(sdk.model, Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock_llm_responses.add(sdk.model, "It is sunny.", turn=2)
    assert sdk().after_tool("How is it?", "21 degrees").text == "It is sunny."
    results = mock_llm_responses.calls[1]["kwargs"]["tool_results"]
    assert results == [{"name": "weather", "output": "21 degrees"}]


@in_process
@every_sync_sdk
def test_the_prompt_of_a_call_with_tool_results_is_found_in_its_messages(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.script(sdk.model, ToolCall("weather", {"city": "Bern"}), "It is sunny.")
    sdk().after_tool("How is it?", '{"degrees": 21}')
    problem = (
        r"\nCall 2 has these tool results in another form: write tool_results=\['{\"degrees\": 21}'"
        r"\]\.\nCall 2 returns tool results, .* check the text in messages\[0\] of that call\.\n"
    )
    with pytest.raises(AssertionError, match=problem):
        mock_llm_responses.assert_called_with("How is it?", tool_results=[{"degrees": 21}])


@in_process
@every_sync_sdk
def test_reasoning_comes_beside_the_text(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set(sdk.model, Reply("42", reasoning="6 times 7"))
    said = sdk().ask("How much?")
    assert (said.text, said.reasoning) == ("42", "6 times 7")
    assert sdk().stream("How much?") == ["42"]


@in_process
@every_sync_sdk
def test_usage_and_the_reason_of_the_end_are_as_scripted(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    usage = {"input_tokens": 1000, "output_tokens": 7}
    mock_llm_responses.set(sdk.model, Reply("Once upon", usage=usage, finish_reason="length"))
    said = sdk().ask("Tell me")
    assert (said.tokens, said.finish_reason) == ((1000, 7), sdk.ends["length"])


@every_sdk
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(
    ("way", "misbehaviour", "status"),
    [
        ("in process", "rate-limit", 429),
        ("in process", "context-overflow", 400),
        ("in process", "invalid-key", None),
        ("in process", "overloaded", None),
        ("served", "rate-limit", 429),
    ],
    indirect=["way"],
)
def test_errors_of_the_provider_are_the_sdks_own(
    sdk: type[SDK], misbehaviour: str, status: int | None, streamed: bool, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave(misbehaviour)
    with pytest.raises(sdk.status_error) as raised:
        (sdk().stream if streamed else sdk().ask)("Hello")
    given: Any = raised.value
    assert getattr(given, "status_code", None) or given.code == status or status is None
    assert mock_llm_calls.calls[0]["error"]


@in_process
@every_sdk
@pytest.mark.parametrize(
    "error", [TimeoutError("too slow"), ConnectionRefusedError("nobody there")]
)
def test_a_connection_fails_as_it_does_without_us(
    sdk: type[SDK], error: Exception, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error(sdk.model, error)
    with pytest.raises(Exception) as raised:  # noqa: PT011
        sdk().ask("Hello")
    names = {base.__name__ for base in type(raised.value).__mro__}
    assert any(
        "Timeout" in name if isinstance(error, TimeoutError) else "Connect" in name
        for name in names
    ), names
    assert "llm_mock" not in type(raised.value).__module__


@in_process
@every_sync_sdk
def test_an_error_of_python_is_one_of_the_server(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error(sdk.model, ValueError("boom"))
    with pytest.raises(sdk.status_error, match="ValueError: boom"):
        sdk().ask("Hello")


@every_sdk
def test_a_stream_that_breaks_gives_what_came_before(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    error = ConnectionResetError("gone")
    mock_llm_responses.set(sdk.model, Reply(chunks=["Hel", "lo"], error=error, error_after=1))
    with pytest.raises(Exception) as raised:  # noqa: PT011
        sdk().stream("Say hello")
    assert "llm_mock" not in type(raised.value).__module__
    assert mock_llm_responses.calls[0]["response"] == "Hel"


@in_process
@every_sync_sdk
def test_replies_are_queued_matched_and_may_be_functions(
    sdk: type[SDK], mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", "to a question", prompt="?")
    mock_llm_responses.set("*", lambda prompt: f"{prompt.prompt.upper()} to {prompt.model_id}")
    client = sdk()
    assert client.ask("hello").text == f"HELLO to {sdk.model}"
    assert client.ask("how?").text == "to a question"


UNKNOWN = {
    "chat.completions": "404.*The model `gpt-4o` does not exist or you do not have access to it",
    "responses": "400.*The requested model 'gpt-4o' does not exist",
    "messages": "404.*not_found_error.*model: claude",
    "generate_content": "404 NOT_FOUND.*models/gemini.* is not found for API version v1beta",
    "mistral": "400.*Invalid model: mistral.*1500",
}
"""What each provider says where there is no such model."""


@in_process
@every_sync_sdk
def test_a_model_made_unknown_is_not_found(sdk: type[SDK], mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_unknown(sdk.model)
    with pytest.raises(
        sdk.status_error, match=UNKNOWN.get(sdk.model.partition("-")[0], UNKNOWN[sdk.api])
    ):
        sdk().ask("Hello")


@in_process
def test_a_model_made_unknown_is_not_valid_to_openrouter(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_unknown("deepseek/deepseek-chat")
    client = openai.OpenAI(base_url="https://openrouter.ai/api/v1")
    with pytest.raises(
        openai.BadRequestError, match="deepseek/deepseek-chat is not a valid model ID"
    ):
        client.chat.completions.create(
            model="deepseek/deepseek-chat", messages=[{"role": "user", "content": "Hello"}]
        )


@in_process
def test_openrouter_says_which_provider_answered(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("deepseek/deepseek-chat", Reply("42", reasoning="6 times 7"))
    client = openai.OpenAI(base_url="https://openrouter.ai/api/v1")
    question: Any = {
        "model": "deepseek/deepseek-chat",
        "messages": [{"role": "user", "content": "How much?"}],
    }
    answer = client.chat.completions.create(**question)
    assert answer.provider
    assert answer.choices[0].message.reasoning == "6 times 7"
    chunks = list(client.chat.completions.create(**question, stream=True))
    assert all(chunk.provider for chunk in chunks)
