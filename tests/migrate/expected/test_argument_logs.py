"""Fakes that keep the arguments of their calls, and tests that read them."""

import anthropic
import asyncio

import assistants
import openai
import pytest
from assistants import Assistant, ask_async
from llm_mock import Reply
from reviews import summarize

FAULTS = (
    "",
    "prompt",
    "system",
    "answer",
    "model",
    "option",
    "no option",
    "call",
    "twice",
    "no call",
)
CREATE = "openai.resources.chat.completions.Completions.create"
NO_NETWORK = openai.APIConnectionError(request=None)


@pytest.fixture
def calls(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")


def test_a_dict_of_all_arguments(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["model"] == "gpt-4o-mini"
    assert mock_llm_calls.last_call.request.body["messages"][1]["content"] == "Answer: a question"
    assert mock_llm_calls.last_call.request.body.get("temperature") == 0.5
    assert all("tools" not in call.request.body for call in mock_llm_calls.calls)


def test_a_dict_of_some_arguments(mock_llm_responses, mock_llm_calls):
    # What is sent.
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["model"] == "gpt-4o-mini"
    assert mock_llm_calls.last_call.request.body["messages"][0]["content"] == "Be brief"
    assert mock_llm_calls.last_call.request.body.get("temperature") == 0.5
    assert "tools" not in mock_llm_calls.last_call.request.body
    assert len(mock_llm_calls.last_call.request.body["messages"]) == 2


def test_a_list_of_all_arguments(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer_twice("a question") == ["Hi", "Hi"]
    assert mock_llm_calls.calls
    assert len(mock_llm_calls.calls) == 2, f"{mock_llm_calls.calls}"
    assert mock_llm_calls.calls[0].request.body["messages"][1]["content"] == "Answer: a question"
    assert [call.request.body["temperature"] for call in mock_llm_calls.calls] == [0.5, 0.5]
    assert all("tools" not in call.request.body for call in mock_llm_calls.calls)
    for call in mock_llm_calls.calls:
        assert call.request.body["model"] == "gpt-4o-mini", call.request.body["model"]
    assert mock_llm_calls.calls[-1].request.body["messages"][1]["content"].endswith("again")


def test_a_list_of_some_arguments(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.calls[0].request.body["model"] == "gpt-4o-mini"
    assert [call.request.body["messages"][-1]["content"] for call in mock_llm_calls.calls] == ["Answer: a question"]


def test_a_list_of_one_argument(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert [call.request.body["model"] for call in mock_llm_calls.calls] == ["gpt-4o-mini"]
    assert "gpt-4.1" not in [call.request.body["model"] for call in mock_llm_calls.calls]
    assert mock_llm_calls.calls[0].request.body["model"] == "gpt-4o-mini"


def test_pairs_of_arguments(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert assistants.ask_client("a question") == "Hi"
    assert len(mock_llm_calls.calls) == 1
    assert mock_llm_calls.calls[0].request.body["messages"][0]["content"] == "a question"


def test_whole_requests(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert assistants.ask_client("a question") == "Hi"
    messages = [{"role": "user", "content": "a question"}]
    assert [call.request.body for call in mock_llm_calls.calls] == [{"model": "gpt-4o", "messages": messages}]
    assert mock_llm_calls.calls[0].request.body == {"model": "gpt-4o", "messages": messages}


def test_a_lambda(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.calls[0].request.body["temperature"] == 0.5


def test_a_lambda_with_a_pair(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["temperature"] == 0.5
    assert mock_llm_calls.calls


def test_names_of_the_test(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["model"] == "gpt-4o-mini"
    assert len(mock_llm_calls.last_call.request.body["messages"]) == 2
    assert "a question" in mock_llm_calls.last_call.request.body["messages"][1]["content"]


def test_no_call(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer_if_any("") == ""
    assert not mock_llm_calls.calls
    assert not mock_llm_calls.calls
    assert mock_llm_calls.calls == []


def test_a_call(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.calls
    assert mock_llm_calls.last_call.request.body["messages"][1] == {"role": "user", "content": "Answer: a question"}


def test_the_method_of_a_client(mock_llm_responses, mock_llm_calls):
    client = openai.OpenAI(api_key="test")
    mock_llm_responses.set("*", "Hi")
    assert Assistant(client=client).answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["messages"][1]["content"] == "Answer: a question"


def test_the_method_of_a_client_of_the_application(mock_llm_responses, mock_llm_calls):
    assistant = Assistant()
    mock_llm_responses.set("*", "Hi")
    assert assistant.answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["temperature"] == 0.5


def test_a_fake_client(mock_llm_responses, mock_llm_calls):
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assert Assistant(client=client).answer("a question") == "Hi"
    assert len(mock_llm_calls.calls) == 1
    assert mock_llm_calls.calls[0].request.body["model"] == "gpt-4o-mini"
    assert "tools" not in mock_llm_calls.calls[0].request.body
    assert mock_llm_calls.last_call.request.body["temperature"] == 0.5
    assert mock_llm_calls.calls


def test_a_fake_client_that_keeps_them_itself(mock_llm_responses, mock_llm_calls):
    client = anthropic.AsyncAnthropic()
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(assistants.ask_claude_async("a question", client)) == "Hi"
    call_kwargs = mock_llm_calls.calls[0].request.body
    assert call_kwargs["max_tokens"] == 100
    assert call_kwargs["messages"][0]["content"] == "a question"
    assert "system" not in call_kwargs


def test_a_fake_client_of_the_test(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["messages"][1]["content"] == "Answer: a question"


def test_a_mock_of_a_client(mock_llm_responses, mock_llm_calls):
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assert Assistant(client=client).answer("a question") == "Hi"
    assert mock_llm_calls.calls[0].request.body["messages"][1]["content"] == "Answer: a question"


def test_a_fixture(calls, mock_llm_calls):
    assert Assistant().answer("a question") == "Hi"
    assert len(mock_llm_calls.calls) == 1
    assert mock_llm_calls.calls[0].request.body["messages"][1]["content"] == "Answer: a question"


def test_a_dict_for_a_helper(mock_llm_responses, mock_llm_calls):
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assert Assistant(client=client).answer("a question") == "Hi"
    assert mock_llm_calls.last_call.request.body["messages"][1]["content"] == "Answer: a question"


def test_a_list_of_a_helper(mock_llm_responses, mock_llm_calls):
    client = openai.OpenAI()
    mock_llm_responses.set("*", "Hi")
    assert Assistant(client=client).answer("a question") == "Hi"
    assert mock_llm_calls.calls[-1].request.body["messages"][1]["content"] == "Answer: a question"


def test_another_list_stays(mock_llm_responses, mock_llm_calls):
    answers = []

    mock_llm_responses.set("*", "Hi")
    Assistant(on_answer=lambda answer: answers.append(answer)).answer("a question")
    assert answers == ["Hi"]
    assert len(mock_llm_calls.calls) == 1


def test_an_async_function(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert asyncio.run(ask_async("a question")) == "Hi"
    assert mock_llm_calls.last_call.request.body["messages"] == [{"role": "user", "content": "a question"}]


def test_an_error(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set_error("*", NO_NETWORK)
    with pytest.raises(openai.APIConnectionError):
        Assistant().answer("a question")
    assert mock_llm_calls.calls[0].request.body["messages"][1]["content"] == "Answer: a question"


def test_a_stream(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", Reply(chunks=["H", "i"]))
    assert Assistant().stream_answer("a question") == ["H", "i", "stop"]
    assert mock_llm_calls.calls[0].request.body["stream"] is True


def test_a_function_that_chooses(mock_llm_responses, mock_llm_calls):
    def fake_create(request):
        """Answers."""
        if "ants" in request.body["messages"][1]["content"]:
            return "Ants"
        return "Bees"

    mock_llm_responses.set("*", fake_create)
    assert Assistant().answer("ants or bees") == "Ants"
    assert mock_llm_calls.calls[0].request.body["temperature"] == 0.5


def test_a_function_that_counts(mock_llm_responses):
    models = []

    def fake_create(request):
        models.append(request.body["model"])
        return f"Hi {len(models)}"

    mock_llm_responses.set("*", fake_create)
    assert Assistant().answer_twice("a question") == ["Hi 1", "Hi 2"]
    assert models[0] == "gpt-4o-mini"


def test_prompts_of_llm(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("the mail") == "Short"
    assert [call["prompt"] for call in mock_llm_calls.calls] == ["Summarize: the mail"]
    assert mock_llm_calls.calls[0]["kwargs"].get("system") == "Be brief"
