"""The tests that the specification of the mock names, and its examples."""

from __future__ import annotations

import gc
import json
import logging
import time
from types import SimpleNamespace

import llm
import pytest
from click.testing import CliRunner
from llm.cli import cli
from pydantic import BaseModel

from llm_mock import (
    LLMMock,
    MockLLMModel,
    Reply,
    ResponseConfigurator,
    assert_llm_called_times,
    assert_prompt_contains,
    create_mock_get_model,
)

ORDINARY_SECONDS = 0.012
"""Seconds that an ordinary machine takes for the objects of `measure_slowness`."""


class Discovery(BaseModel):
    found: bool
    workflow_name: str


def test_mock_returns_consistent_responses() -> None:
    get_model = create_mock_get_model()
    assert get_model("anthropic/claude") is get_model("anthropic/claude")
    assert get_model("anthropic/claude") is not get_model("openai/gpt-4")


def test_mock_tracks_call_history() -> None:
    model = MockLLMModel("anthropic/claude")
    model.prompt(
        "Find a workflow",
        schema=Discovery,
        temperature=0.5,
        system="Be brief",
        custom=[1, {"a": None}],
    )
    call = model.call_history[0]
    assert time.strptime(call["timestamp"][:19], "%Y-%m-%dT%H:%M:%S")
    assert (call["prompt"], call["prompt_length"]) == ("Find a workflow", 15)
    assert call["kwargs"] == {
        "schema": "Discovery",
        "temperature": 0.5,
        "max_tokens": 1000,
        "model": "anthropic/claude",
        "system": "Be brief",
        "custom": [1, {"a": None}],
    }
    assert (call["response"], call["error"]) == ({"success": True}, None)
    assert model.prompt_count == 1


def test_mock_handles_schema_responses() -> None:
    get_model = create_mock_get_model({"anthropic/claude": {"found": True, "workflow_name": "w"}})
    for schema in (Discovery, Discovery.model_json_schema()):
        response = get_model("anthropic/claude").prompt("Is there one?", schema=schema)
        assert response.json() == {"found": True, "workflow_name": "w"}


def test_mock_simulates_errors() -> None:
    get_model = create_mock_get_model({"working": "fine"})
    get_model.set_error("anthropic/claude", ValueError("API key invalid"))
    with pytest.raises(ValueError, match="API key invalid"):
        get_model("anthropic/claude").prompt("Hello")
    assert get_model("anthropic/claude").call_history[0]["error"] == "API key invalid"
    assert get_model("working").prompt("Hello").text == "fine"


def test_mock_raises_a_global_error_from_every_model() -> None:
    get_model = create_mock_get_model({"m": "never"}, side_effect=ConnectionError("Network error"))
    for name in ("m", "other"):
        with pytest.raises(ConnectionError, match="Network error"):
            get_model(name).prompt("Hello")
        assert get_model(name).prompt_count == 1


@pytest.mark.parametrize("first_or_second", [1, 2])
def test_mock_isolation_between_tests(
    mock_llm_responses: ResponseConfigurator, first_or_second: int
) -> None:
    model = llm.get_model("anthropic/claude")
    assert model.prompt("Hello").text() == '{"success": true}'
    mock_llm_responses.set("anthropic/claude", f"left by {first_or_second}")
    assert mock_llm_responses.get_model("anthropic/claude").prompt_count == 1


def plan(request: str) -> str:
    """Plan as the specification says: discovery, a structured answer, then a text."""
    model = llm.get_model("anthropic/claude")
    if model.prompt(f"Is there a workflow for {request}?", schema=Discovery).json()["found"]:
        return "reused"
    return str(model.prompt(f"Plan {request}").text())


def test_planner_with_mocked_llm(
    mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set(
        "anthropic/claude", {"found": False, "workflow_name": ""}, schema=Discovery
    )
    mock_llm_responses.set("anthropic/claude", "1. read the file")
    assert plan("analyze my file") == "1. read the file"
    model = mock_llm_calls.get_model("anthropic/claude")
    assert model.prompt_count == 2
    assert "analyze" in model.call_history[0]["prompt"]


def test_cli_with_mocked_llm(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("gpt-4o-mini", "mocked answer")
    result = CliRunner().invoke(cli, ["prompt", "Hello", "-m", "gpt-4o-mini", "--no-stream"])
    assert (result.exit_code, result.output) == (0, "mocked answer\n")


def test_parallel_tests_no_interference(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm, pytest

        @pytest.mark.parametrize("number", range(20))
        def test_own_answer(number, mock_llm_responses, mock_llm_calls):
            assert mock_llm_calls.calls == [] and mock_llm_calls.models == {}
            assert llm.get_model("m").prompt("Hello").json() == {"success": True}
            mock_llm_responses.set("m", {"number": number})
            assert llm.get_model("m").prompt("Hello").json() == {"number": number}
            mock_llm_responses.set_error("*", ValueError("left behind"))
            mock_llm_responses.set_unknown("n")
            assert number % 2, "and a failing test leaves nothing behind either"
        """
    )
    result = pytester.runpytest_inprocess("-n2", "-p", "randomly")
    result.assert_outcomes(passed=10, failed=10)
    assert sum("- LLM calls -" in line for line in result.outlines) == 10


@pytest.mark.benchmark
def test_mock_performance() -> None:
    # Else the garbage collector scans what all tests before left, while the time is measured.
    gc.disable()
    try:
        # A busy machine is slower for a while.
        is_fast = any(measure_thousand_calls() < 0.1 * measure_slowness() for _ in range(10))
    finally:
        gc.enable()
    assert is_fast


def measure_thousand_calls() -> float:
    start = time.process_time()
    for _ in range(1000):
        model = create_mock_get_model()("test")
        model.prompt("test")
    return time.process_time() - start  # what others do at the same time does not count


def measure_slowness() -> float:
    """Return how many times slower than an ordinary machine this one is now, at least 1."""
    start = time.process_time()
    objects = [SimpleNamespace(text=str(number)) for number in range(30_000)]
    seconds = time.process_time() - start
    assert len(objects) == 30_000
    return max(1, seconds / ORDINARY_SECONDS)


def test_unconfigured_model(mock_llm_calls: LLMMock) -> None:
    model = mock_llm_calls.get_model("unconfigured-model")
    assert model.prompt_count == 0
    response = model.prompt("test")
    assert response.json() == {"success": True}


def test_text_reply_is_no_json(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("model", "plain text response")
    response = mock_llm_responses.get_model("model").prompt("test")
    assert response.text == response.text() == "plain text response"
    with pytest.raises(json.JSONDecodeError):
        response.json()


def test_token_usage() -> None:
    response = MockLLMModel("model").prompt("x" * 40)
    assert response.usage == {"input_tokens": 10, "output_tokens": 5}
    assert response.usage["input_tokens"] == response.usage().input == 10


def test_multiple_models(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("anthropic/claude", {"a": 1})
    mock_llm_responses.set("openai/gpt-4", {"b": 2})
    assert llm.get_model("anthropic/claude").prompt("").json() == {"a": 1}
    assert llm.get_model("openai/gpt-4").prompt("").json() == {"b": 2}


def test_streaming_responses(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set("model", Reply(chunks=["Hello", " ", "World"]))
    assert list(llm.get_model("model").prompt("Greet")) == ["Hello", " ", "World"]
    assert list(llm.get_model("model").prompt("Greet", stream=False)) == ["Hello World"]


def test_retry_logic(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.add("model", ConnectionError("Temporary failure"), times=2)
    mock_llm_responses.add("model", {"done": True})
    model = llm.get_model("model")
    for _ in range(2):
        with pytest.raises(ConnectionError, match="Temporary failure"):
            model.prompt("Try")
    assert model.prompt("Try").json() == {"done": True}


def test_debug_mode_prints_calls_after_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import llm

        def test_debugged(debug_llm):
            llm.get_model("gpt-4").prompt("short")
            llm.get_model("gpt-4").prompt("x" * 51)
        """
    )
    output = pytester.runpytest("-s", "--log-cli-level=DEBUG").stdout
    output.fnmatch_lines(["DEBUG * gpt-4  'short'  → {\"success\": true}  (answered by default)"])
    output.fnmatch_lines(["Model gpt-4 called 2 times", "  - short", f"  - {'x' * 50}..."])


def test_debug_logger_is_quiet_by_default(caplog: pytest.LogCaptureFixture) -> None:
    MockLLMModel("m").prompt("Hello")
    with caplog.at_level(logging.DEBUG, logger="llm_mock"):
        MockLLMModel("m").prompt("Logged")
    assert ["Logged" in message for message in caplog.messages] == [True]


def test_assertion_helpers_explain_themselves(mock_llm_calls: LLMMock) -> None:
    llm.get_model("m").prompt("analyze this")
    assert_llm_called_times(mock_llm_calls, "m", 1)
    assert_prompt_contains(mock_llm_calls, "m", "analyze")
    with pytest.raises(
        AssertionError, match=r"(?s)Expected 2 calls, got 1 to model 'm'.*'analyze this'"
    ):
        assert_llm_called_times(mock_llm_calls, "m", 2)
    with pytest.raises(AssertionError, match=r"(?s)No prompt contained 'generate'.*'analyze this'"):
        assert_prompt_contains(mock_llm_calls, "m", "generate")


def test_assertion_helpers_name_the_models_there_were(mock_llm_calls: LLMMock) -> None:
    llm.get_model("called").prompt("Hello")
    assert_llm_called_times(mock_llm_calls, "other", 0)
    with pytest.raises(
        AssertionError, match=r"'other' was never called\. Models that were called: called"
    ):
        assert_llm_called_times(mock_llm_calls, "other", 1)
    assert "other" not in mock_llm_calls.models
