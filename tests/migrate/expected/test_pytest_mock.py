from llm_mock import Reply

import reviews
from reviews import chat, streamed, summarize, tokens


def test_a_text(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    mock_llm_calls.assert_called_once()


def test_an_object(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    assert mock_llm_calls.last_call["prompt"] == "Summarize: a long text"


def test_a_magic_mock(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_a_stream(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert streamed("a text") == ["Hel", "lo"]


def test_a_stream_in_place_of_a_response(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert streamed("a text") == ["Hel", "lo"]


def test_a_stream_by_a_lambda(mock_llm_responses):
    mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
    assert "".join(streamed("a text")) == "Hello"


def test_a_conversation(mock_llm_responses):
    mock_llm_responses.set("*", (
        "I see."
    ))
    assert chat("Hello", "And?") == ["I see.", "I see."]


def test_a_conversation_with_replies(mock_llm_responses, mock_llm_calls):
    mock_llm_responses.add("*", "First")
    mock_llm_responses.add("*", "Second")
    assert chat("Hello", "And?") == ["First", "Second"]
    assert len(mock_llm_calls.calls) == 2


def test_usage(mock_llm_responses):
    mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5}))
    assert tokens("a text") == 15


def test_beside_another_patch(mocker, mock_llm_responses):
    mocker.patch("reviews.as_json", return_value="{}")
    mock_llm_responses.set("*", "Short")
    assert summarize(reviews.as_json(1)) == "Short"
