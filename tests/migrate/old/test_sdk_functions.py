"""Patched methods of the classes of SDKs, and answers that are streamed."""

import asyncio
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import anthropic.resources.messages
import assistants
import pytest
from assistants import Assistant, ask_async
from openai.resources.chat.completions import Completions
from openai.types.chat import ChatCompletion
from openai.types.chat.chat_completion_chunk import ChatCompletionChunk, Choice, ChoiceDelta
from openai.types.completion_usage import CompletionUsage

FAULTS = ("", "prompt", "system", "answer", "model", "option", "no option", "call", "twice")


@pytest.fixture
def create():
    with patch("openai.resources.chat.completions.Completions.create") as create:
        yield create


def new_response(content):
    message = {"role": "assistant", "content": content}
    return ChatCompletion(
        id="chatcmpl-1",
        object="chat.completion",
        created=1700000000,
        model="gpt-4o-mini",
        choices=[{"index": 0, "finish_reason": "stop", "message": message}],
        usage={"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    )


def new_chunk(content, finish_reason=None):
    delta = ChoiceDelta(role="assistant", content=content)
    return ChatCompletionChunk(
        id="chatcmpl-1",
        object="chat.completion.chunk",
        created=1700000000,
        model="gpt-4o-mini",
        choices=[Choice(index=0, delta=delta, finish_reason=finish_reason)],
    )


def test_a_fixture(create):
    create.return_value = new_response("Hi")
    assert Assistant(model="gpt-4o").answer("a question") == "Hi"
    create.assert_called_once()
    assert create.call_args.kwargs["model"] == "gpt-4o"
    assert create.call_args.kwargs["messages"][1]["content"] == "Answer: a question"


def test_a_dict_for_the_usage(create):
    create.return_value = new_response("Hi")
    assert Assistant().count_tokens("a question") == 7


def test_the_class():
    with patch.object(Completions, "create") as create:
        create.return_value.choices = [Mock(message=Mock(content="Hi"))]
        assert Assistant().answer("a question") == "Hi"
    assert "temperature" in create.call_args.kwargs


def test_the_client_of_a_module():
    with patch("assistants.CLIENT") as client:
        client.chat.completions.create.return_value = new_response("Hi")
        assert assistants.ask_client("a question") == "Hi"
        [message] = client.chat.completions.create.call_args.kwargs["messages"]
        assert message == {"role": "user", "content": "a question"}


def test_a_method_of_the_client_of_a_module(monkeypatch):
    create = Mock(return_value=new_response("Hi"))
    monkeypatch.setattr(assistants.CLIENT.chat.completions, "create", create)
    assert assistants.ask_client("a question") == "Hi"
    create.assert_called_once()


def test_a_function(monkeypatch):
    response = MagicMock()
    response.choices[0].message.content = "Hi"
    monkeypatch.setattr(Completions, "create", lambda self, **options: response)
    assert Assistant().answer("a question") == "Hi"


@patch(
    "openai.resources.chat.completions.AsyncCompletions.create",
    new_callable=AsyncMock,
)
def test_an_async_method(create):
    create.return_value = new_response("Hi")
    assert asyncio.run(ask_async("a question")) == "Hi"
    create.assert_awaited_once()


@patch("anthropic.resources.messages.Messages.create", autospec=True)
def test_a_message(create):
    create.return_value = Mock(content=[Mock(text="Hi")])
    assert assistants.get_claudes_text("a question") == "Hi"


def test_an_async_message(monkeypatch):
    create = AsyncMock(return_value=Mock(content=[Mock(text="Hi")]))
    monkeypatch.setattr(anthropic.resources.messages.AsyncMessages, "create", create)
    assert asyncio.run(assistants.ask_claude_async("a question")) == "Hi"


def test_chunks(create):
    create.return_value = [new_chunk("For "), new_chunk("all"), new_chunk(None, "length")]
    assert Assistant().stream_answer("a question") == ["For ", "all", "length"]
    assert create.call_args.kwargs["stream"] is True


def test_the_usage_of_chunks(create):
    usage = CompletionUsage(prompt_tokens=3, completion_tokens=4, total_tokens=7)
    last = Mock(choices=[], usage=usage)
    create.return_value = iter([new_chunk("Hi", "stop"), last])
    assert Assistant().stream_answer("a question") == ["Hi", "stop", 4]


def test_a_generator(create):
    def stream(**options):
        yield Mock(choices=[Mock(delta=Mock(content="Hi"), finish_reason="stop")], usage=None)

    create.side_effect = stream
    assert Assistant().stream_answer("a question") == ["Hi", "stop"]
