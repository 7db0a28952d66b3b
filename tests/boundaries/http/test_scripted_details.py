"""The details of a scripted answer reach each SDK."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import anthropic
import httpx
import llm
import openai
import openai.types.responses
import pytest
from google import genai
from mistralai.client import Mistral
from pydantic import BaseModel

from llm_mock import InvalidReply, Latency, LLMMock, Reply, ToolCall, templates
from llm_mock.commands.serve_script import ServeScript
from llm_mock.core.events import Event
from llm_mock.errors import LLMMockError
from tests.boundaries.http.request_senders import (
    find_served_url,
    make_anthropic,
    make_gemini,
    make_mistral,
    make_openai,
)

# google-genai derives from a class of aiohttp that does not want to be derived from.
pytestmark = pytest.mark.filterwarnings("ignore:Inheritance class:DeprecationWarning")

HELLO: list[Any] = [{"role": "user", "content": "Hello"}]
NO_USAGE = {"None": None, "an empty mapping": {}, "no counts": llm.Usage(None, None)}


class Clients:
    """The clients of the SDKs, which ask the provider or the server of the mock."""

    def __init__(self, server_url: str | None) -> None:
        self._server_url = server_url

    @cached_property
    def openai(self) -> openai.OpenAI:
        return make_openai(self._server_url)

    @cached_property
    def anthropic(self) -> anthropic.Anthropic:
        return make_anthropic(self._server_url)

    @cached_property
    def gemini(self) -> genai.Client:
        return make_gemini(self._server_url)

    @cached_property
    def mistral(self) -> Mistral:
        return make_mistral(self._server_url)

    def post(self, url: str, body: dict[str, Any]) -> httpx.Response:
        """Post a body without an SDK."""
        found = url if self._server_url is None else find_served_url(url, self._server_url)
        assert found is not None
        return httpx.post(found, json=body)


@pytest.fixture
def clients(server_url: str | None) -> Clients:
    """Return the clients, whose requests are answered in this process or by the server."""
    return Clients(server_url)


def ask_chat(clients: Clients) -> Any:
    return clients.openai.chat.completions.create(model="gpt-4o", messages=HELLO).usage


def stream_chat(clients: Clients) -> Any:
    chunks = clients.openai.chat.completions.create(
        model="gpt-4o", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    usages = [chunk.usage for chunk in chunks if chunk.usage is not None]
    return usages or None


def ask_responses(clients: Clients) -> Any:
    return clients.openai.responses.create(model="gpt-4o", input="Hello").usage


def stream_responses(clients: Clients) -> Any:
    with clients.openai.responses.stream(model="gpt-4o", input="Hello") as stream:
        return stream.get_final_response().usage


def ask_anthropic(clients: Clients) -> Any:
    return clients.anthropic.messages.create(
        model="claude-opus-5", max_tokens=9, messages=HELLO
    ).usage


def stream_anthropic(clients: Clients) -> Any:
    events = clients.anthropic.messages.create(
        model="claude-opus-5", max_tokens=9, messages=HELLO, stream=True
    )
    found = []
    for event in events:
        if event.type == "message_start":
            found.append(event.message.usage)
        elif event.type == "message_delta":
            found.append(event.usage)
    assert len(found) == 2
    return None if found == [None, None] else found


def ask_gemini(clients: Clients) -> Any:
    return clients.gemini.models.generate_content(model="gemini-3", contents="Hi").usage_metadata


def stream_gemini(clients: Clients) -> Any:
    chunks = clients.gemini.models.generate_content_stream(model="gemini-3", contents="Hi")
    usages = [chunk.usage_metadata for chunk in chunks]
    return None if usages == [None] * len(usages) else usages


def ask_mistral(clients: Clients) -> Any:
    # The type of the SDK wants the usage, so the body is read without it.
    url = "https://api.mistral.ai/v1/chat/completions"
    return clients.post(url, {"model": "mistral-large", "messages": HELLO}).json().get("usage")


def stream_mistral(clients: Clients) -> Any:
    events = clients.mistral.chat.stream(model="mistral-large", messages=HELLO)
    usages = [event.data.usage for event in events if event.data.usage]
    return usages or None


USAGE_READERS: dict[str, Callable[[Clients], Any]] = {
    "openai chat": ask_chat,
    "openai chat, streamed": stream_chat,
    "openai responses": ask_responses,
    "openai responses, streamed": stream_responses,
    "anthropic": ask_anthropic,
    "anthropic, streamed": stream_anthropic,
    "gemini": ask_gemini,
    "gemini, streamed": stream_gemini,
    "mistral": ask_mistral,
    "mistral, streamed": stream_mistral,
}


@pytest.mark.parametrize("read_usage", USAGE_READERS.values(), ids=USAGE_READERS)
def test_usage_is_absent_if_the_script_says_none(
    read_usage: Callable[[Clients], Any], clients: Clients, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("*", Reply("Hello!", usage=None))
    assert read_usage(clients) is None
    mock_llm_responses.add("*", "Hello!")
    assert read_usage(clients) is not None


@pytest.mark.parametrize("usage", NO_USAGE.values(), ids=NO_USAGE)
def test_a_call_without_usage_is_estimated_for_cost_and_budgets(
    usage: Any, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("Hello!", usage=usage))
    assert ask_chat(Clients(None)) is None
    response = llm.get_model("gpt-4o").prompt("Hello")
    assert response.usage() == llm.Usage(None, None)
    assert response.text() == "Hello!"
    estimates = [{"input_tokens": 2, "output_tokens": 2}] * 2
    assert [call.usage for call in mock_llm_responses.calls] == estimates


SCHEMA: dict[str, Any] = {"type": "object", "properties": {"city": {"type": "string"}}}
FUNCTION = {"name": "weather", "parameters": SCHEMA}
CHAT_TOOLS: list[Any] = [{"type": "function", "function": FUNCTION}]
RESPONSES_TOOLS: list[Any] = [{"type": "function", "strict": False, **FUNCTION}]
ANTHROPIC_TOOLS: list[Any] = [{"name": "weather", "input_schema": SCHEMA}]
GEMINI_CONFIG: Any = {"tools": [{"function_declarations": [FUNCTION]}]}
Order = list[str]
"""The texts of an answer, and the cities of its tool calls, in order."""


def read_blocks(message: Any) -> Order:
    return [
        block.text if block.type == "text" else block.input["city"] for block in message.content
    ]


def order_anthropic(clients: Clients) -> Order:
    return read_blocks(
        clients.anthropic.messages.create(
            model="claude-opus-5", max_tokens=9, messages=HELLO, tools=ANTHROPIC_TOOLS
        )
    )


def order_anthropic_stream(clients: Clients) -> Order:
    with clients.anthropic.messages.stream(
        model="claude-opus-5", max_tokens=9, messages=HELLO, tools=ANTHROPIC_TOOLS
    ) as stream:
        return read_blocks(stream.get_final_message())


def read_items(response: Any) -> Order:
    assert len({item.id for item in response.output}) == len(response.output)
    found = []
    for item in response.output:
        if item.type == "message":
            found.append(item.content[0].text)
        else:
            found.append(json.loads(item.arguments)["city"])
    return found


def order_responses(clients: Clients) -> Order:
    return read_items(
        clients.openai.responses.create(model="gpt-4o", input="Hi", tools=RESPONSES_TOOLS)
    )


def order_responses_stream(clients: Clients) -> Order:
    with clients.openai.responses.stream(
        model="gpt-4o", input="Hi", tools=RESPONSES_TOOLS
    ) as stream:
        return read_items(stream.get_final_response())


def read_parts(response: Any) -> Order:
    return [
        part.text if part.text is not None else part.function_call.args["city"]
        for part in response.candidates[0].content.parts
        if part.text != ""
    ]


def order_gemini(clients: Clients) -> Order:
    models = clients.gemini.models
    return read_parts(
        models.generate_content(model="gemini-3", contents="Hi", config=GEMINI_CONFIG)
    )


def order_gemini_stream(clients: Clients) -> Order:
    models = clients.gemini.models
    chunks = models.generate_content_stream(model="gemini-3", contents="Hi", config=GEMINI_CONFIG)
    return [part for chunk in chunks for part in read_parts(chunk)]


ORDER_READERS: dict[str, Callable[[Clients], Order]] = {
    "anthropic": order_anthropic,
    "anthropic, streamed": order_anthropic_stream,
    "openai responses": order_responses,
    "openai responses, streamed": order_responses_stream,
    "gemini": order_gemini,
    "gemini, streamed": order_gemini_stream,
}
ROME, BERN = ToolCall("weather", {"city": "Rome"}), ToolCall("weather", {"city": "Bern"})
ORDERS: dict[str, tuple[list[Any], Order]] = {
    "call, text": ([ROME, "then text"], ["Rome", "then text"]),
    "text, call, text, call": (["First", ROME, "then", BERN], ["First", "Rome", "then", "Bern"]),
    "calls, texts": ([ROME, BERN, "a", "b"], ["Rome", "Bern", "ab"]),
}


@pytest.mark.parametrize(("parts", "order"), ORDERS.values(), ids=ORDERS)
@pytest.mark.parametrize("read_order", ORDER_READERS.values(), ids=ORDER_READERS)
def test_parts_keep_their_order(
    read_order: Callable[[Clients], Order],
    parts: list[Any],
    order: Order,
    clients: Clients,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", Reply(parts=parts))
    found = read_order(clients)
    # Texts that follow each other may come in one piece or in two.
    assert "|".join(found).replace("a|b", "ab") == "|".join(order)


@pytest.mark.parametrize("parts", [parts for parts, _ in ORDERS.values()], ids=ORDERS)
def test_chat_completions_have_the_text_beside_the_calls(
    parts: list[Any], clients: Clients, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", parts)
    message = (
        clients.openai.chat.completions.create(model="gpt-4o", messages=HELLO, tools=CHAT_TOOLS)
        .choices[0]
        .message
    )
    assert message.content == "".join(part for part in parts if isinstance(part, str))
    calls = [part for part in parts if not isinstance(part, str)]
    assert [json.loads(call.function.arguments) for call in message.tool_calls or ()] == [  # type: ignore[union-attr]
        call.arguments for call in calls
    ]


def weather(city: str) -> str:
    """Return the weather."""
    return f"{city}: sunny"


def test_parts_through_llm_are_a_text_and_calls(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("*", Reply(parts=["See", ROME, " and ", BERN]))
    mock_llm_responses.add("*", "It is sunny.")
    chain = llm.get_model("gpt-4o").chain("Hi", tools=[weather])
    assert chain.text() == "See and It is sunny."
    first, second = mock_llm_responses.calls
    assert [call["arguments"]["city"] for call in first.response["tool_calls"]] == ["Rome", "Bern"]
    assert [result["output"] for result in second.tool_results] == ["Rome: sunny", "Bern: sunny"]


@pytest.mark.parametrize("stream", [False, True])
def test_an_event_that_the_api_does_not_have_is_left_out(
    stream: bool, mock_llm_responses: LLMMock
) -> None:
    ran = Event("tool_result", "no", tool_name="search", server_executed=True)
    mock_llm_responses.set("*", Reply(chunks=["a", ran, "b"]))
    client = make_openai(None)
    if stream:
        with client.responses.stream(model="gpt-4o", input="Hi") as events:
            deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
            assert deltas == ["a", "b"]
            answer: openai.types.responses.Response = events.get_final_response()
    else:
        answer = client.responses.create(model="gpt-4o", input="Hi")
    assert (answer.status, answer.output_text) == ("completed", "ab")


def test_parts_take_the_time_of_their_pieces(mock_llm_responses: LLMMock) -> None:
    latency = Latency(first_chunk=1, chunks_per_second=2)
    mock_llm_responses.set("*", Reply(parts=[ROME, "12345678"], latency=latency))
    response = llm.get_model("gpt-4o").prompt("Hi", tools=[weather])
    assert [chunk for chunk in response if chunk] == ["1234", "5678"]
    # The call counts for four pieces of four characters, the first of which comes after 1 s.
    assert 3_500 <= response.duration_ms() < 3_700


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"parts": ["a"], "text": "b"}, r"A Reply has either .*parts"),
        ({"parts": ["a"], "data": 1}, r"A Reply has either .*parts"),
        ({"parts": ["a"], "chunks": ["b"]}, r"A Reply has either .*parts"),
        ({"parts": ["a"], "tool_calls": ROME}, r"A Reply has either .*parts"),
        ({"parts": "a"}, "This is not a part: 'a'"),
        ({"parts": [5]}, "This is not a part: 5"),
        ({"parts": [ToolCall("")]}, "The name of a tool call is ''"),
    ],
)
def test_parts_are_texts_and_tool_calls_alone(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply(**arguments)


REFUSAL = "I can't help with that."


class City(BaseModel):
    """A structured answer, whose schema does not apply to a refusal."""

    name: str


def refused_by_chat(clients: Clients) -> Any:
    completion = clients.openai.chat.completions.parse(
        model="gpt-4o", messages=HELLO, response_format=City
    )
    message = completion.choices[0].message
    assert (message.content, message.parsed) == (None, None)
    assert completion.choices[0].finish_reason == "stop"
    return message.refusal


def refused_by_chat_stream(clients: Clients) -> Any:
    with clients.openai.chat.completions.stream(
        model="gpt-4o", messages=HELLO, response_format=City
    ) as stream:
        done = [event.refusal for event in stream if event.type == "refusal.done"]
        assert done == [stream.get_final_completion().choices[0].message.refusal]
        return done[0]


def refused_by_responses(clients: Clients) -> Any:
    response = clients.openai.responses.parse(model="gpt-4o", input="Hi", text_format=City)
    assert (response.output_text, response.output_parsed) == ("", None)
    assert response.status == "completed"
    return response.output[0].content[0].refusal  # type: ignore[union-attr]


def refused_by_responses_stream(clients: Clients) -> Any:
    with clients.openai.responses.stream(model="gpt-4o", input="Hi", text_format=City) as stream:
        deltas = [event.delta for event in stream if event.type == "response.refusal.delta"]
        final = stream.get_final_response()
    assert "".join(deltas) == final.output[0].content[0].refusal  # type: ignore[union-attr]
    return "".join(deltas)


def read_stop_details(message: Any) -> Any:
    assert (message.stop_reason, message.content) == ("refusal", [])
    return message.stop_details.explanation


def refused_by_anthropic(clients: Clients) -> Any:
    return read_stop_details(
        clients.anthropic.messages.create(model="claude-opus-5", max_tokens=9, messages=HELLO)
    )


def refused_by_anthropic_stream(clients: Clients) -> Any:
    with clients.anthropic.messages.stream(
        model="claude-opus-5", max_tokens=9, messages=HELLO
    ) as stream:
        return read_stop_details(stream.get_final_message())


def read_candidate(response: Any) -> Any:
    [candidate] = response.candidates
    assert (candidate.finish_reason.name, candidate.content) == ("SAFETY", None)
    assert [rating.blocked for rating in candidate.safety_ratings] == [True]
    # The SDK reads the message of Vertex AI only.
    return candidate.finish_message or REFUSAL


def refused_by_gemini(clients: Clients) -> Any:
    config: Any = {"response_mime_type": "application/json", "response_schema": City}
    response = clients.gemini.models.generate_content(
        model="gemini-3", contents="Hi", config=config
    )
    assert response.parsed is None
    return read_candidate(response)


def refused_by_gemini_stream(clients: Clients) -> Any:
    [response] = clients.gemini.models.generate_content_stream(model="gemini-3", contents="Hi")
    return read_candidate(response)


def refused_by_mistral(clients: Clients) -> Any:
    answer = clients.mistral.chat.complete(model="mistral-large", messages=HELLO)
    return answer.choices[0].message.content


REFUSAL_READERS: dict[str, Callable[[Clients], Any]] = {
    "openai chat": refused_by_chat,
    "openai chat, streamed": refused_by_chat_stream,
    "openai responses": refused_by_responses,
    "openai responses, streamed": refused_by_responses_stream,
    "anthropic": refused_by_anthropic,
    "anthropic, streamed": refused_by_anthropic_stream,
    "gemini": refused_by_gemini,
    "gemini, streamed": refused_by_gemini_stream,
    "mistral": refused_by_mistral,
}


@pytest.mark.parametrize("read_refusal", REFUSAL_READERS.values(), ids=REFUSAL_READERS)
@pytest.mark.parametrize(
    "reply", [Reply(refusal=REFUSAL), templates.refusal(REFUSAL)], ids=["Reply", "template"]
)
def test_a_refusal_has_the_field_of_its_api(
    reply: Reply,
    read_refusal: Callable[[Clients], Any],
    clients: Clients,
    mock_llm_responses: LLMMock,
) -> None:
    mock_llm_responses.set("*", reply)
    assert read_refusal(clients) == REFUSAL
    assert mock_llm_responses.last_call.response == REFUSAL


@pytest.mark.parametrize("streams", [False, True])
def test_gemini_blocks_an_answer_or_the_prompt(
    clients: Clients, mock_llm_responses: LLMMock, streams: bool
) -> None:
    def ask() -> Any:
        models = clients.gemini.models
        if not streams:
            return models.generate_content(model="gemini-2.5-flash", contents="Hello")
        [answer] = models.generate_content_stream(model="gemini-2.5-flash", contents="Hello")
        return answer

    rating = genai.types.SafetyRating(
        category=genai.types.HarmCategory.HARM_CATEGORY_DANGEROUS_CONTENT,
        probability=genai.types.HarmProbability.HIGH,
        blocked=True,
    )
    mock_llm_responses.set("*", Reply(refusal="No."))
    answer = ask()
    [candidate] = answer.candidates
    assert candidate.finish_reason == genai.types.FinishReason.SAFETY
    assert (candidate.safety_ratings, answer.prompt_feedback) == ([rating], None)
    mock_llm_responses.set("*", Reply(refusal="No.", finish_reason="prompt_blocked"))
    answer = ask()
    assert (answer.candidates, answer.text) == (None, None)
    assert answer.prompt_feedback.block_reason == genai.types.BlockedReason.SAFETY
    assert answer.prompt_feedback.block_reason_message is None
    assert answer.prompt_feedback.safety_ratings == [rating]
    assert mock_llm_responses.last_call["finish_reason"] == "prompt_blocked"


def test_vertex_ai_says_why_a_prompt_is_blocked(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", Reply(refusal="No.", usage=None, finish_reason="prompt_blocked"))
    url = (
        "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1/"
        "publishers/google/models/gemini-2.5-flash:generateContent"
    )
    answer = httpx.post(url, json={"contents": [{"parts": [{"text": "Hello"}], "role": "user"}]})
    assert answer.json()["promptFeedback"]["blockReasonMessage"] == "No."
    assert "usageMetadata" not in answer.json()


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("schema", [None, City])
def test_a_refusal_has_no_text_in_llm_as_its_plugins_read_none(
    schema: Any, stream: bool, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply(refusal=REFUSAL))
    response = llm.get_model("gpt-4o").prompt("Hi", schema=schema, stream=stream)
    assert list(response) == []
    assert response.text() == ""


def test_a_refusal_takes_its_time_and_is_streamed_in_pieces(
    mock_llm_responses: LLMMock,
) -> None:
    latency = Latency(chunks_per_second=1)
    mock_llm_responses.set("*", Reply(refusal="12345678", latency=latency))
    with make_openai(None).chat.completions.stream(model="gpt-4o", messages=HELLO) as stream:
        deltas = [event.delta for event in stream if event.type == "refusal.delta"]
    assert deltas == ["", "1234", "5678"]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({"refusal": "a", "text": "b"}, "either text or refusal"),
        ({"refusal": "a", "tool_calls": ROME}, "either refusal or tool_calls"),
        (
            {"refusal": 5},
            r"refusal=5 must be a str or None\. Pass the text of the refusal, as in Rep",
        ),
    ],
)
def test_a_refusal_is_words_alone(arguments: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidReply, match=problem):
        Reply(**arguments)


def test_a_yaml_script_refuses(mock_llm_responses: LLMMock, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(f"replies:\n  - {{refusal: {REFUSAL}}}\n")
    ServeScript(str(script)).configure(mock_llm_responses.configurator)
    assert refused_by_chat(Clients(None)) == REFUSAL


def test_the_parts_of_a_yaml_script_keep_their_order(
    mock_llm_responses: LLMMock, tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        "replies:\n"
        "  - parts:\n"
        "      [I look., {name: weather, arguments: {city: Bern}}, And again., {name: weather}]\n"
    )
    ServeScript(str(script)).configure(mock_llm_responses.configurator)
    tools: Any = [{"name": "weather", "input_schema": {"type": "object"}}]
    with anthropic.Anthropic() as client:
        message = client.messages.create(model="claude", max_tokens=99, messages=HELLO, tools=tools)
    parts: list[Any] = []
    for block in message.content:
        parts.append(block.text if block.type == "text" else getattr(block, "input", None))
    assert parts == ["I look.", {"city": "Bern"}, "And again.", {}]


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ("parts: [a], text: b", "parts"),
        ("parts: [a], error: timeout", "Only text or chunks can be combined with an error"),
        ("parts: [{arguments: {}}]", "name"),
    ],
)
def test_wrong_parts_of_a_yaml_script_are_errors(
    fields: str, problem: str, mock_llm_responses: LLMMock, tmp_path: Path
) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(f"replies:\n  - {{{fields}}}\n")
    with pytest.raises(LLMMockError, match=problem):
        ServeScript(str(script)).configure(mock_llm_responses.configurator)


def test_a_script_goes_by_the_results_of_tools(mock_llm_responses: LLMMock, tmp_path: Path) -> None:
    script = tmp_path / "script.yaml"
    script.write_text(
        "replies:\n"
        "  - {text: It is there., tool_result: found}\n"
        "  - {text: It is not there., has_tool_result: true}\n"
        "  - {tool_calls: {name: weather, arguments: {city: Rome}}}\n"
    )
    ServeScript(str(script)).configure(mock_llm_responses.configurator)
    clients = Clients(None)
    arguments = {"role": "assistant", "tool_calls": [CALL]}
    answers = []
    for output in (None, '{"state": "found"}', "nothing"):
        result = {"role": "tool", "tool_call_id": "call_1", "content": output}
        messages = HELLO if output is None else [*HELLO, arguments, result]
        message = (
            clients.openai.chat.completions.create(
                model="gpt-4o", messages=messages, tools=CHAT_TOOLS
            )
            .choices[0]
            .message
        )
        answers.append(message.content)
    assert answers == [None, "It is there.", "It is not there."]


CALL = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Rome"}'},
}
