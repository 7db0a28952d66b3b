"""Replies that no provider can give are refused where they are written."""

from __future__ import annotations

import inspect
import itertools
import math
import re
import threading
from typing import Any, ClassVar
from unittest.mock import AsyncMock, MagicMock, Mock

import anthropic
import cohere
import llm
import openai
import pytest
from pydantic import create_model

from llm_mock import LLMMock, Reply, ToolCall, templates
from llm_mock.core.tool_calls import BrokenToolCall
from llm_mock.errors import InvalidReply


@pytest.mark.parametrize("number", [-1, math.nan, math.inf])
@pytest.mark.parametrize(
    "usage",
    [
        lambda number: {"input_tokens": number},
        lambda number: {"output_tokens": number},
        lambda number: {"input_tokens": 1, "details": {"cached": number}},
        lambda number: {"input_tokens": 1, "details": {"prompt": {"cached": number}}},
        lambda number: llm.Usage(input=1, output=1, details={"cached": number}),
    ],
)
def test_usage_is_counted_from_zero(usage: Any, number: float) -> None:
    with pytest.raises(InvalidReply, match="number of at least 0"):
        Reply("x", usage=usage(number))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"usage": {"input_tokens": 1, "details": "many"}}, "pass a dict of counts"),
        ({"tool_calls": [ToolCall("f", {"a": [math.nan]})]}, "nan is not a valid JSON number"),
        (
            {"tool_calls": [llm.ToolCall(name="f", arguments={"a": math.inf})]},
            "inf is not a valid JSON number",
        ),
        ({"tool_calls": [ToolCall("")]}, "The name of a tool call is ''"),
        ({"tool_calls": [ToolCall(5)]}, "The name of a tool call is"),  # type: ignore[arg-type]
        ({"reasoning": 5}, "reasoning=.* must be a str or None"),
        ({"finish_reason": 5}, "finish_reason=.* must be a str or None"),
        ({"resolved_model": 5}, "resolved_model=.* must be a str or None"),
        ({"attachments": 5}, "This is not an attachment"),
        ({"attachments": "a.png"}, "This is not an attachment"),
        ({"attachments": ["a.png"]}, "This is not an attachment"),
    ],
)
def test_what_no_provider_sends_is_refused(arguments: Any, problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply("x", **arguments)


# conftest.py fails a test in which a function of the package lets pytest show its frame.
@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"events": 5}, "These are not events: 5"),
        ({"events": "a"}, "These are not events: 'a'"),
        ({"events": [{1}]}, r"reply\[0\] is not a JSON value"),
        ({"body": {1}}, "reply is not a JSON value"),
        ({"candidates": "a"}, "These are not candidates: 'a'"),
        ({"candidates": ["a", len]}, "This is not a candidate"),
        ({"candidates": ["a"]}, "at least two replies, but got 1"),
        ({"parts": 5}, "This is not a part: 5"),
        ({"parts": ["a", 5]}, "This is not a part: 5"),
        ({"parts": ["a"], "logprobs": []}, "logprobs need a single text"),
        ({"refusal": "a", "logprobs": []}, "logprobs need a text"),
        ({"text": "a", "logprobs": 5}, "These are not log probabilities: 5"),
        ({"text": "a", "citations": [5]}, "This is not a citation: 5"),
        ({"text": "a", "headers": 5}, "These are not headers: 5"),
        ({"text": "a", "service_tier": 5}, "service_tier=5 must be a str or None"),
        ({"error": 429}, "429 is a status, not an exception"),
        ({"tool_calls": 5}, "This is not a tool call: 5"),
        ({"refusal": 5}, "refusal=5 must be a str or None"),
    ],
)
def test_a_content_of_a_wrong_type_is_refused(arguments: Any, problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply(**arguments)


@pytest.mark.parametrize(
    ("configure", "problem"),
    [
        (lambda mock: mock.on("POST", "v1", {}), "not the path of an endpoint: 'v1'"),
        (lambda mock: mock.on(5, "/v1", {}), "not an HTTP method: 5"),
        (lambda mock: mock.on("POST", "/v1", object()), "reply is not a JSON value"),
        (lambda mock: mock.on("POST", "/v1", {}, status=9), "status=9: pass a whole number"),
        (lambda mock: mock.on("POST", "/v1", {}, headers={"a": 5}), 'headers={"a": 5}: pass'),
        (lambda mock: mock.set_embedding("m", "a", ["x"]), "Expected a vector of the model"),
        (lambda mock: mock.set("m", templates.truncated), r"Write templates\.truncated\(\)"),
        (lambda mock: mock.set_error("m", 429), "429 is a status, not an exception"),
        (lambda mock: mock.advance_clock("x"), "seconds='x': pass a number of at least 0"),
        (lambda mock: mock.set("m", ToolCall("f", 5)), "of the tool call 'f' must be a dict"),
    ],
)
def test_a_wrong_argument_is_refused_where_it_is_configured(
    configure: Any, problem: str, mock_llm_responses: LLMMock
) -> None:
    with pytest.raises(InvalidReply, match=problem):
        configure(mock_llm_responses)


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (openai.RateLimitError, "templates.rate_limit(), which raises the SDK's own error, or an "),
        (anthropic.OverloadedError, "templates.overloaded(), which"),
        (anthropic.ServiceUnavailableError, "templates.overloaded(), which"),
        (openai.InternalServerError, "templates.server_error(), which"),
        (openai.AuthenticationError, "templates.authentication(), which"),
        (openai.BadRequestError, "templates.context_overflow(), which"),
        (openai.APITimeoutError, "templates.timeout(), which"),
        (openai.APIConnectionError, "templates.no_connection(), which"),
        (cohere.TooManyRequestsError, "templates.rate_limit(), which"),
        (cohere.UnauthorizedError, "templates.authentication(), which"),
        (openai.NotFoundError, "an instance of it."),
        (openai.APIStatusError, "an instance of it."),
    ],
)
def test_a_class_of_an_error_is_answered_with_its_template(
    error: type[Exception], advice: str, mock_llm_responses: LLMMock
) -> None:
    with pytest.raises(InvalidReply, match=re.escape(f"Pass {advice}")):
        mock_llm_responses.set_error("m", error)


@pytest.mark.parametrize(
    ("status", "advice"),
    [
        (400, "templates.context_overflow() of llm_mock, or an exception"),
        (401, "templates.authentication() of"),
        (429, "templates.rate_limit() of"),
        (500, "templates.server_error() of"),
        (503, "templates.overloaded() of"),
        (529, "templates.overloaded() of"),
        *((status, "an exception of the SDK") for status in (402, 404, 428, 501, 504, 530, 599)),
    ],
)
def test_a_status_is_answered_with_its_template(
    status: int, advice: str, mock_llm_responses: LLMMock
) -> None:
    message = f"{status} is a status, not an exception. Pass {advice}"
    with pytest.raises(InvalidReply, match=re.escape(message)):
        mock_llm_responses.set_error("m", status)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [399, 600])
def test_another_number_is_no_status(number: int, mock_llm_responses: LLMMock) -> None:
    with pytest.raises(InvalidReply, match=r"^(?!.*is a status)"):
        mock_llm_responses.set_error("m", number)  # type: ignore[arg-type]


CONTENTS: dict[str, dict[str, Any]] = {
    "text": {"text": "a"},
    "data": {"data": 1},
    "chunks": {"chunks": ["a"]},
    "parts": {"parts": ["a"]},
    "refusal": {"refusal": "a"},
    "body or events": {"body": {}},
    "candidates": {"candidates": ["a", "b"]},
    "tool_calls": {"tool_calls": [ToolCall("f")]},
}
ALONE = ("parts", "refusal", "body or events", "candidates")
"""Those that a reply has alone; a text may come with tool calls."""


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pair
        for pair in itertools.combinations(CONTENTS, 2)
        if set(pair) & {*ALONE} or "tool_calls" not in pair
    ],
)
def test_a_reply_has_one_content(first: str, second: str) -> None:
    message = f"^A Reply has either {first} or {second}[:.] "
    with pytest.raises(InvalidReply, match=message):
        Reply(**CONTENTS[first], **CONTENTS[second])


def test_a_broken_tool_call_may_be_broken() -> None:
    assert Reply(tool_calls=[BrokenToolCall("f", "{")]).tool_calls[0].text == "{"


@pytest.mark.parametrize(
    "reason",
    [
        "stopped",
        "content_filtered",
        "end_turn",
        "max_output_tokens",
        "max_tokens",
        "model_length",
        "pause_turn",
        "refusal",
        "stop_sequence",
        "tool_use",
        *("BLOCKLIST", "IMAGE_SAFETY", "LANGUAGE", "MALFORMED_FUNCTION_CALL", "MAX_TOKENS"),
        *("OTHER", "PROHIBITED_CONTENT", "RECITATION", "SAFETY", "SPII", "STOP"),
        *("COMPLETE", "ERROR", "STOP_SEQUENCE", "TIMEOUT", "TOOL_CALL", "UNEXPECTED_TOOL_CALL"),
        None,
    ],
)
def test_a_finish_reason_that_a_provider_may_have_is_kept(reason: str | None) -> None:
    assert Reply("x", finish_reason=reason).finish_reason == reason


@pytest.mark.parametrize(
    ("reason", "meant"),
    [
        ("lenght", "length"),
        ("tool_call", "tool_calls"),
        ("max_length", "length"),
        ("max_new_tokens", "length"),
        ("truncated", "length"),
        ("cut_off", "length"),
        ("incomplete", "length"),
        ("max_token", "max_tokens"),
        ("max_tokns", "max_tokens"),
        ("end_trun", "end_turn"),
        ("tool_uses", "tool_use"),
        ("MAX_TOKEN", "MAX_TOKENS"),
        ("SAFTEY", "SAFETY"),
        ("RECITATIONS", "RECITATION"),
        ("PROHIBTED_CONTENT", "PROHIBITED_CONTENT"),
    ],
)
def test_a_finish_reason_that_is_surely_misspelt_is_refused(reason: str, meant: str) -> None:
    with pytest.raises(InvalidReply) as caught:
        Reply("x", finish_reason=reason)
    assert str(caught.value) == f"Unknown finish_reason {reason!r}; did you mean {meant!r}?"


MESSAGE = openai.types.chat.ChatCompletionMessage(role="assistant", content="Hi")
"""A message as an SDK returns it."""


@pytest.mark.parametrize(
    "package",
    [
        *("anthropic", "cohere", "google", "groq", "langchain_core", "litellm", "llama_index"),
        *("mistralai", "openai", "together"),
    ],
)
def test_a_response_of_an_sdk_is_no_reply(mock_llm_responses: LLMMock, package: str) -> None:
    response = MESSAGE
    if package != "openai":
        response = create_model("Message", __module__=f"{package}.types")()
    with pytest.raises(InvalidReply) as raised:
        mock_llm_responses.set("m", response)
    assert str(raised.value) == (
        f"Expected a reply, got a {type(response).__name__} of {package}, which the SDK creates "
        "from a reply. Pass the answer of the model: a text, data, a ToolCall, or Reply(text, "
        "tool_calls=[…])."
    )


@pytest.mark.parametrize("double", [Mock(), MagicMock(name="reply"), AsyncMock()])
def test_a_mock_that_returns_nothing_of_ones_own_is_no_reply(
    mock_llm_responses: LLMMock, double: Any
) -> None:
    double.text.return_value = "Hi"
    with pytest.raises(InvalidReply) as raised:
        mock_llm_responses.set("m", double)
    assert str(raised.value) == (
        f"Expected a reply, got a {type(double).__name__} without a return_value. Pass the answer "
        "of the model: a text, data, a ToolCall, or Reply(text, tool_calls=[…])."
    )


@pytest.mark.parametrize(
    "function",
    [
        Mock(return_value="Hi"),
        Mock(side_effect=["Hi"]),
        MagicMock(wraps=lambda prompt: "Hi"),
    ],
)
def test_a_mock_that_returns_a_reply_is_a_reply_function(
    mock_llm_responses: LLMMock, function: Any
) -> None:
    mock_llm_responses.set("m", function)
    assert llm.get_model("m").prompt("Hello").text() == "Hi"
    assert function.call_count == 1


def test_other_instances_are_data(mock_llm_responses: LLMMock) -> None:
    Message = create_model("Message", __module__="openai_app", text=(str, "Hi"))
    mock_llm_responses.set("m", Message())
    assert llm.get_model("m").prompt("Hello").json() == {"text": "Hi"}
    mock_llm_responses.set("m", Reply(data=MESSAGE))
    assert llm.get_model("m").prompt("Hello").json()["content"] == "Hi"


@pytest.mark.parametrize(
    "content", [{"text": "x"}, {"chunks": ["x"]}, {"data": {}}, {"tool_calls": ToolCall("f", {})}]
)
def test_a_content_before_an_error_needs_the_number_of_its_chunks(content: dict[str, Any]) -> None:
    with pytest.raises(InvalidReply, match="set error_after, the number of chunks before the "):
        Reply(**content, error=ConnectionError("cut"))
    Reply(**content, error=ConnectionError("cut"), error_after=0)
    Reply(error=ConnectionError("cut"))
    Reply(**content)


def test_an_error_may_follow_the_last_chunk() -> None:
    Reply(chunks=["a", "b"], error=ConnectionError("cut"), error_after=2)


@pytest.mark.parametrize("count", range(5))
def test_an_error_may_follow_each_piece_of_a_text_with_a_latency(count: int) -> None:
    Reply("Sunny and warm", error=ConnectionError("cut"), error_after=count)
    Reply(data="Sunny and ", error=ConnectionError("cut"), error_after=min(count, 3))


async def answer_later() -> str:
    return "Hi"


@pytest.mark.parametrize(
    "configure",
    [
        lambda mock, coroutine: mock.set("m", coroutine),
        lambda mock, coroutine: mock.add("m", coroutine),
        lambda mock, coroutine: mock.script("m", "Hi", coroutine),
        lambda mock, coroutine: mock.set_error("m", coroutine),
        lambda mock, coroutine: Reply(coroutine),
        lambda mock, coroutine: Reply("Hi", error=coroutine, error_after=1),
        lambda mock, coroutine: Reply(data=coroutine),
        lambda mock, coroutine: Reply(data={"a": [coroutine]}),
        lambda mock, coroutine: Reply(response_json=coroutine),
        lambda mock, coroutine: Reply(tool_calls=ToolCall("a", {"b": [coroutine]})),
    ],
    ids=[
        *("set", "add", "script", "set_error", "text", "error", "data", "part", "response_json"),
        "arguments",
    ],
)
def test_a_coroutine_in_the_place_of_its_function_is_closed(
    mock_llm_responses: LLMMock, configure: Any
) -> None:
    coroutine = answer_later()
    with pytest.raises(InvalidReply, match="an object of type coroutine"):
        configure(mock_llm_responses, coroutine)
    # Otherwise Python warns that it was never awaited.
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
    mock_llm_responses.reset()


@pytest.mark.parametrize(
    "name", ["never set", "gpt-4o.", "gpt-?", "/my models/gpt-?", "C:/My Models/a.", "It is *."]
)
def test_a_name_that_may_be_one_of_a_model_is_accepted(name: str) -> None:
    mock = LLMMock()
    mock.set(name, "Hi")
    mock.script(name, "Hi", "you")


COMPLETION = {"choices": [{"message": {"content": "Hi"}}]}


MESSAGE_DATA = {
    "type": "message",
    "role": "assistant",
    "content": [{"type": "text", "text": "Hi"}],
}
RESPONSE_DATA = {"object": "response", "output": [{"type": "message"}]}


@pytest.mark.parametrize("whole", [COMPLETION, MESSAGE_DATA, RESPONSE_DATA])
def test_a_whole_response_is_not_what_the_model_says(
    mock_llm_responses: LLMMock, whole: dict[str, Any]
) -> None:
    with pytest.raises(InvalidReply) as caught:
        mock_llm_responses.set("m", whole)
    assert str(caught.value) == (
        "Expected a reply, got a whole response of a provider. Pass the answer of the model: a "
        "text, data, a ToolCall, or Reply(text, tool_calls=[…]). Reply(body=…) sends a response "
        "unchanged, and Reply(data=…) sends it as data."
    )
    mock_llm_responses.set("m", Reply(data=whole))
    assert llm.get_model("m").prompt("Hi").json() == whole


@pytest.mark.parametrize(
    "data",
    [
        {"choices": []},
        {"choices": ["red", "blue"]},
        {"choices": [{"text": "red"}]},
        {"choices": [{"message": "red"}]},
        {"choices": {"message": {}}},
        [COMPLETION],
        {**MESSAGE_DATA, "role": "user"},
        {**MESSAGE_DATA, "type": "letter"},
        {**MESSAGE_DATA, "content": "Hi"},
        {**RESPONSE_DATA, "object": "answer"},
        {**RESPONSE_DATA, "output": "Hi"},
    ],
)
def test_other_data_with_such_names_are_data(data: Any, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m", data)
    assert llm.get_model("m").prompt("Hi").json() == data


class LockedCall:
    """A tool call of another library, which cannot be copied."""

    name = "weather"
    arguments: ClassVar[dict[str, str]] = {"city": "Rome"}

    def __init__(self) -> None:
        self.lock = threading.Lock()


def test_a_tool_call_that_cannot_be_copied_is_an_error_of_python() -> None:
    with pytest.raises(TypeError, match=r"cannot pickle '_thread\.lock' object"):
        Reply(tool_calls=LockedCall())


def test_a_reply_cannot_be_changed() -> None:
    reply = Reply("Hi")
    with pytest.raises(AttributeError) as caught:
        reply.text = "Hello"
    message = "A Reply cannot be changed, so text cannot be assigned. Create a new Reply."
    assert str(caught.value) == message


def test_a_list_for_a_tool_with_two_arguments_has_no_argument_to_suggest(
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("gpt-4o", Reply(data=["Rome"]))
    parameters = {"type": "object", "properties": {"city": {}, "day": {}}}
    tools: Any = [{"type": "function", "function": {"name": "weather", "parameters": parameters}}]
    with openai.OpenAI(api_key="none") as client, pytest.raises(openai.BadRequestError):
        client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "user", "content": "Hi"}],
            tools=tools,
            tool_choice="required",
        )
    [problem] = mock_llm_responses.problems
    assert '\nThe reply: ["Rome"]\nCorrect the reply.' in problem
    mock_llm_responses.problems.clear()
