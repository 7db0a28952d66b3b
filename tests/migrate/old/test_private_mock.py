from unittest.mock import patch

import pytest
from private_mock import create_mock_get_model
from reviews import Review, review, stars, summarize


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
