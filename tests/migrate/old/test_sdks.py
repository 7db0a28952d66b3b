"""Clients of SDKs that are patched, and answers made of mocks or of the SDK's types."""

import asyncio
import json
from types import SimpleNamespace
from unittest.mock import ANY, AsyncMock, MagicMock, Mock, patch

import anthropic
import assistants
import httpx
import openai
import pytest
from anthropic.types import Message, TextBlock, ToolUseBlock, Usage
from assistants import Assistant, ask_async, ask_openai
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.chat.chat_completion import Choice
from openai.types.completion_usage import CompletionUsage

FAULTS = (
    "",
    "prompt",
    "system",
    "answer",
    "model",
    "option",
    "no option",
    "retry",
    "call",
    "twice",
    "no call",
)
NO_NETWORK = openai.APIConnectionError(request=httpx.Request("POST", "https://api.openai.com"))


@pytest.fixture
def client():
    with patch("assistants.OpenAI") as client_class:
        client = Mock()
        client_class.return_value = client
        yield client


@pytest.fixture
def patched_class(monkeypatch):
    client = MagicMock()
    client.chat.completions.create.return_value.choices[0].message.content = "For all"
    monkeypatch.setattr(assistants, "OpenAI", lambda **options: client)


@pytest.fixture
def classes(monkeypatch):
    client_class, another = MagicMock(), MagicMock()
    monkeypatch.setattr(assistants, "OpenAI", client_class)
    return client_class, another


def new_response(content, tool_calls=None):
    message = Mock(content=content, tool_calls=tool_calls, role="assistant", refusal=None)
    return SimpleNamespace(choices=[SimpleNamespace(message=message)])


def test_a_tree_of_mocks():
    with patch("assistants.OpenAI") as client_class:
        response = Mock()
        response.choices = [Mock(message=Mock(content="Hi"))]
        client_class.return_value.chat.completions.create.return_value = response
        assert Assistant().answer("a question") == "Hi"


def test_attributes_of_a_mock(client):
    assistant = Assistant()
    # what the model says
    response = MagicMock()
    response.choices[0].message.content = "Hi"
    client.chat.completions.create.return_value = response
    assert assistant.answer("a question") == "Hi"
    client.chat.completions.create.assert_called_once()


def test_two_mocks_of_a_fixture(classes):
    client_class, _ = classes
    client_class().chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"


@patch("assistants.OpenAI")
def test_a_decorator(client_class):
    create = client_class.return_value.chat.completions.create
    create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"
    assert create.call_count == 1


@patch("assistants.openai.OpenAI")
def test_the_class_of_the_library(client_class):
    create = client_class.return_value.chat.completions.create
    create.return_value = new_response("Hi")
    assert ask_openai("a question") == "Hi"


def test_types_of_the_sdk(client):
    message = ChatCompletionMessage(role="assistant", content="Hi")
    client.chat.completions.create.return_value = ChatCompletion(
        id="chatcmpl-1",
        object="chat.completion",
        created=1700000000,
        model="gpt-4o-mini",
        system_fingerprint="fp_1",
        choices=[Choice(index=0, message=message, finish_reason="length")],
        usage=CompletionUsage(prompt_tokens=3, completion_tokens=4, total_tokens=3 + 4),
    )
    assert Assistant().is_cut_off("a question")
    assert Assistant().count_tokens("a question") == 7


def test_details_of_an_answer(client):
    message = Mock(content="Hi", tool_calls=None, reasoning_content="Hm", refusal=None)
    details = Mock(cached_tokens=2, audio_tokens=0)
    client.chat.completions.create.return_value = Mock(
        choices=[Mock(message=message)],
        service_tier="flex",
        usage=Mock(prompt_tokens=3, completion_tokens=4, prompt_tokens_details=details),
    )
    assert Assistant().describe_answer("a question") == "None/Hm/flex/2"


def test_a_refusal(client):
    message = Mock(content=None, tool_calls=None, refusal="No", reasoning_content=None)
    details = {"cached_tokens": 0}
    client.chat.completions.create.return_value = Mock(
        choices=[Mock(message=message)],
        service_tier="flex",
        usage=CompletionUsage(
            prompt_tokens=3,
            completion_tokens=4,
            total_tokens=7,
            prompt_tokens_details=details,
        ),
    )
    assert Assistant().describe_answer("a question") == "No/None/flex/0"


def test_the_whole_request(client):
    client.chat.completions.create.return_value = new_response("Hi")
    assistant = Assistant(model="gpt-4o")
    assistant.answer("a question")
    messages = [
        {"role": "system", "content": "Be brief"},
        {"role": "user", "content": "Answer: a question"},
    ]
    client.chat.completions.create.assert_called_once_with(
        model="gpt-4o", messages=messages, temperature=0.5
    )


def test_the_last_request(client):
    client.chat.completions.create.return_value = new_response("Hi")
    Assistant().answer_twice("a question")
    client.chat.completions.create.assert_called_with(
        model="gpt-4o-mini", messages=ANY, temperature=0.5
    )
    client.chat.completions.create.assert_any_call(
        model="gpt-4o-mini", messages=ANY, temperature=0.5
    )
    calls = client.chat.completions.create.call_args_list
    assert [call.kwargs["model"] for call in calls] == ["gpt-4o-mini", "gpt-4o-mini"]
    assert calls[1].kwargs["messages"][1]["content"] == "Answer: a question, again"


def test_arguments_of_the_request(client):
    client.chat.completions.create.return_value = new_response("Hi")
    Assistant().answer("a question")
    _, options = client.chat.completions.create.call_args
    assert options["model"] == "gpt-4o-mini"
    assert options.get("temperature") == 0.5
    assert "max_tokens" not in options, f"there is {options['model']}"
    assert client.chat.completions.create.call_args[1]["messages"][0]["content"] == "Be brief"


def test_no_request(client):
    client.chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer_if_any("") == ""
    client.chat.completions.create.assert_not_called()


def test_a_tool_call(client):
    call = Mock(id="call_1", type="function")
    call.function.name = "weather"
    call.function.arguments = json.dumps({"city": "Rome"})
    client.chat.completions.create.return_value = new_response(None, tool_calls=[call])
    assert Assistant().call_tool("a question") == ("weather", '{"city": "Rome"}')


def test_a_text_with_a_tool_call(client):
    function = SimpleNamespace(name="weather", arguments='{"city": "Rome"}')
    message = MagicMock(content="Let me look.", tool_calls=[SimpleNamespace(function=function)])
    client.chat.completions.create.return_value.choices = [
        Mock(message=message, finish_reason="tool_calls", index=0)
    ]
    assert Assistant().call_tool("a question") == ("weather", '{"city": "Rome"}')


def test_the_last_item_of_a_list(client):
    response = Mock(choices=[Mock(finish_reason="stop")])
    response.choices[-1].message.content = "Hi"
    response.usage.prompt_tokens = 3
    response.usage.completion_tokens = assistants.TOKENS
    response.usage.total_tokens = 3 + assistants.TOKENS
    client.chat.completions.create.return_value = response
    assert Assistant().answer("a question") == "Hi"
    assert Assistant().count_tokens("a question") == 7


def test_one_after_the_other(client):
    client.chat.completions.create.side_effect = [new_response("First"), new_response("Second")]
    assert Assistant().answer_twice("a question") == ["First", "Second"]


def test_an_error(client):
    client.chat.completions.create.side_effect = NO_NETWORK
    assert Assistant().answer_patiently("a question") == "gave up"


def test_no_reply(client):
    assert Assistant(model="gpt-4o").model == "gpt-4o"


def test_a_mock_of_something_else(client):
    client.chat.completions.create.return_value = new_response("Hi")
    on_answer = Mock()
    Assistant(on_answer=on_answer).answer("a question")
    on_answer.assert_called_once_with("Hi")


def test_a_fixture_without_a_mock(patched_class):
    assert Assistant().answer("a question") == "For all"


def test_an_async_client():
    client = AsyncMock()
    client.chat.completions.create.return_value = new_response("Hi")
    with patch("assistants.AsyncOpenAI", return_value=client):
        assert asyncio.run(ask_async("a question")) == "Hi"
    client.chat.completions.create.assert_awaited_once()


def test_an_async_method(mocker):
    client_class = mocker.patch("assistants.AsyncOpenAI")
    create = AsyncMock(return_value=new_response("Hi"))
    client_class.return_value.chat.completions.create = create
    assert asyncio.run(ask_async("a question")) == "Hi"


def new_message():
    return Message(
        id="msg_1",
        content=[TextBlock(type="text", text="Let me look."), new_block()],
        model="claude-sonnet-4-5",
        role="assistant",
        stop_reason="tool_use",
        type="message",
        usage=Usage(input_tokens=3, output_tokens=4),
    )


def new_block():
    return ToolUseBlock(type="tool_use", id="toolu_1", name="weather", input={"city": "Rome"})


@pytest.fixture
def library():
    with patch("assistants.anthropic") as library:
        library.APIError = anthropic.APIError
        yield library


def test_the_whole_library(library):
    response = Mock()
    response.content = [Mock(text="Hi")]
    library.Anthropic.return_value.messages.create.return_value = response
    assert assistants.get_claudes_text("a question") == "Hi"
    options = library.Anthropic.return_value.messages.create.call_args.kwargs
    assert options["messages"] == [{"role": "user", "content": "a question"}]


def test_the_whole_library_of_openai(monkeypatch):
    library = MagicMock()
    monkeypatch.setattr("assistants.openai", library)
    library.OpenAI.return_value.chat.completions.create.return_value = new_response("Hi")
    assert ask_openai("a question") == "Hi"
    library.OpenAI.return_value.chat.completions.create.assert_called_once()


@patch("assistants.anthropic.Anthropic")
def test_a_message(client_class):
    client_class.return_value.messages.create.return_value = new_message()
    assert assistants.get_claudes_tool("a question") == ("weather", {"city": "Rome"})


@patch("assistants.anthropic.Anthropic")
def test_the_end_of_a_message(client_class):
    response = MagicMock(content=[MagicMock(type="text", text="Hi")], stop_reason="max_tokens")
    response.usage.input_tokens = 3
    response.usage.output_tokens = 4
    client_class.return_value.messages.create.return_value = response
    assert assistants.get_claudes_end("a question") == "max_tokens, 4"


def test_claudes_thoughts():
    thinking = Mock(type="thinking", thinking="Hm", signature="abc")
    answer = Mock(type="text", text="Hi")
    usage = Mock(input_tokens=3, output_tokens=4, cache_read_input_tokens=2)
    response = Mock(content=[thinking, answer], usage=usage)
    with patch("assistants.anthropic.Anthropic") as client_class:
        client_class.return_value.messages.create.return_value = response
        assert assistants.get_claudes_thoughts("a question") == "Hm/2"


@patch("assistants.anthropic.Anthropic")
def test_the_usual_end_of_a_message(client_class):
    response = MagicMock(stop_reason="end_turn", usage=Mock(input_tokens=3, output_tokens=4))
    response.content[0].text = "Hi"
    client_class.return_value.messages.create.return_value = response
    assert assistants.get_claudes_end("a question") == "end_turn, 4"


def test_an_async_message(mocker):
    client = AsyncMock()
    client.messages.create.return_value = Mock(content=[Mock(text="Hi")])
    mocker.patch("assistants.anthropic.AsyncAnthropic", return_value=client)
    assert asyncio.run(assistants.ask_claude_async("a question")) == "Hi"


def test_a_client_that_is_handed_in():
    # the client of the application
    client = Mock()
    client.chat.completions.create.return_value = new_response("Hi")
    assistant = Assistant(client=client)
    assert assistant.answer("a question") == "Hi"
    client.chat.completions.create.assert_called_once()
    assert client.chat.completions.create.call_args.kwargs["model"] == "gpt-4o-mini"
    assert assistant.client is client


def test_a_client_that_is_assigned():
    client = MagicMock()
    client.chat.completions.create.side_effect = [new_response("First"), new_response("Second")]
    assistant = Assistant()
    assistant.client = client
    assert assistant.answer_twice("a question") == ["First", "Second"]


def test_an_async_client_that_is_handed_in():
    client = AsyncMock()
    client.messages.create.return_value = Mock(content=[Mock(text="Hi")])
    assert asyncio.run(assistants.ask_claude_async("a question", client)) == "Hi"
    client.messages.create.assert_awaited_once()
