import pytest
from reviews import Review, if_any, review, stars, summarize, warm


def test_a_reply_by_schema(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", {"stars": 5, "title": "Great"}, schema=Review)
    assert review("great").stars == 5
    assert len(mock_llm_responses.calls) == 1
    assert mock_llm_responses.calls[0]["model_id"] == "gpt-4o-mini"
    assert mock_llm_responses.calls[0]["kwargs"]["schema"] == Review.__name__
    assert "great" in mock_llm_responses.calls[0]["prompt"]


def test_replies_from_the_start(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", "Short")
    assert summarize("a long text") == "Short"
    assert mock_llm_responses.calls[-1]["kwargs"]["system"] == "Be brief"


def test_an_error(mock_llm_responses):
    mock_llm_responses.set_error("*", ValueError("too long"))
    with pytest.raises(ValueError, match="too long"):
        summarize("a long text")


def test_two_schemas(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", {"stars": 1, "title": "Any"})
    mock_llm_responses.set("gpt-4o-mini", {"stars": 4, "title": "Fine"}, schema=Review)
    assert stars("fine") == 4
    for call in mock_llm_responses.calls:
        assert call["prompt"] == "Stars: fine"


def test_a_reply_without_a_schema(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", "Long")
    mock_llm_responses.set("gpt-4o-mini", "Short")
    assert summarize("a") == "Short"


def test_a_reply_by_keywords(mock_llm_responses):
    # A review.
    mock_llm_responses.set("gpt-4o-mini", {"stars": 5, "title": "Great"}, schema=Review)
    assert review("great").stars == 5


def test_every_field_of_a_record(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", "Warm")
    assert warm("a") == "Warm"
    summarize("b")
    assert len(mock_llm_responses.calls) == 2
    assert mock_llm_responses.calls[0]["options"]["temperature"] == 0.5
    assert mock_llm_responses.calls[0]["prompt"] == "Warmly: a"
    assert mock_llm_responses.calls[1]["kwargs"]["system"] == "Be brief"
    assert mock_llm_responses.calls[1]["model_id"] == "gpt-4o-mini"
    assert mock_llm_responses.calls[1]["model_id"] != "gpt-4o"
    assert mock_llm_responses.calls[1]["kwargs"]["schema"] is None
    assert [call["prompt"] for call in mock_llm_responses.calls] == ["Warmly: a", "Summarize: b"]


def test_no_history(mock_llm_responses):
    assert if_any("") == ""
    assert len(mock_llm_responses.calls) == 0
