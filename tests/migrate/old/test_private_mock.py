from unittest.mock import patch

import pytest
from private_mock import create_mock_get_model
from reviews import Review, if_any, review, stars, summarize, warm


def test_a_reply_by_schema():
    mock = create_mock_get_model()
    mock.set_response("gpt-4o-mini", Review, {"stars": 5, "title": "Great"})
    with patch("reviews.get_model", mock):
        assert review("great").stars == 5
    assert len(mock.call_history) == 1
    assert mock.call_history[0]["model"] == "gpt-4o-mini"
    assert mock.call_history[0]["schema"] is Review
    assert "great" in mock.call_history[0]["prompt"]


def test_replies_from_the_start(monkeypatch):
    mock = create_mock_get_model({"gpt-4o-mini": "Short"})
    monkeypatch.setattr("reviews.get_model", mock)
    assert summarize("a long text") == "Short"
    assert mock.call_history[-1]["system"] == "Be brief"


def test_an_error(monkeypatch):
    monkeypatch.setattr(
        "reviews.get_model", create_mock_get_model(side_effect=ValueError("too long"))
    )
    with pytest.raises(ValueError, match="too long"):
        summarize("a long text")


def test_two_schemas():
    mock = create_mock_get_model()
    mock.set_response("gpt-4o-mini", None, {"stars": 1, "title": "Any"})
    mock.set_response("gpt-4o-mini", Review, {"stars": 4, "title": "Fine"})
    with patch("reviews.get_model", mock):
        assert stars("fine") == 4
    for call in mock.call_history:
        assert call["prompt"] == "Stars: fine"


def test_a_reply_without_a_schema():
    mock = create_mock_get_model(responses={"gpt-4o-mini": "Long"}, side_effect=None)
    mock.set_response("gpt-4o-mini", response="Short", schema=None)
    with patch("reviews.get_model", mock):
        assert summarize("a") == "Short"


def test_a_reply_by_keywords():
    mock = create_mock_get_model()
    # A review.
    mock.set_response(model="gpt-4o-mini", schema=Review, response={"stars": 5, "title": "Great"})
    with patch("reviews.get_model", mock):
        assert review("great").stars == 5


def test_every_field_of_a_record():
    mock = create_mock_get_model({"gpt-4o-mini": "Warm"})
    with patch("reviews.get_model", mock):
        assert warm("a") == "Warm"
        summarize("b")
    calls = mock.call_history
    assert len(calls) == 2
    assert calls[0]["temperature"] == 0.5
    assert calls[0]["prompt"] == "Warmly: a"
    assert calls[1]["system"] == "Be brief"
    assert calls[1]["model"] == "gpt-4o-mini"
    assert calls[1]["model"] != "gpt-4o"
    assert calls[1]["schema"] is None
    assert [call["prompt"] for call in calls] == ["Warmly: a", "Summarize: b"]


def test_no_history():
    mock = create_mock_get_model()
    with patch("reviews.get_model", mock):
        assert if_any("") == ""
    assert len(mock.call_history) == 0
