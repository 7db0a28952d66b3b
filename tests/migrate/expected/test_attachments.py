"""The attachments of a call."""

import pytest
from reviews import describe, summarize

FAULTS = ("", "answer", "type", "place", "one", "no attachments")
IMAGES = ("https://example.com/a.png", "images/b.png")


@pytest.fixture
def get_model(mock_llm_responses):
    mock_llm_responses.set("*", "Two images")


def test_that_there_are_some(get_model, mock_llm_calls):
    assert describe(*IMAGES) == "Two images"
    assert "attachments" in mock_llm_calls.last_call["kwargs"]


def test_that_there_are_none(get_model, mock_llm_calls):
    assert summarize("a") == "Two images"
    assert "attachments" not in mock_llm_calls.last_call["kwargs"]


def test_their_number(get_model, mock_llm_calls):
    assert describe(*IMAGES) == "Two images"
    assert len(mock_llm_calls.last_call["kwargs"]["attachments"]) == 2


def test_their_fields(get_model, mock_llm_calls):
    assert describe(*IMAGES) == "Two images"
    assert mock_llm_calls.last_call["kwargs"]["attachments"][0].get("url") == IMAGES[0]
    assert mock_llm_calls.last_call["kwargs"]["attachments"][1].get("path") == IMAGES[1]
    assert mock_llm_calls.last_call["kwargs"]["attachments"][-1].get("type") == "image/png"


def test_a_name_for_them(get_model, mock_llm_calls):
    assert describe(*IMAGES) == "Two images"
    assert len(mock_llm_calls.calls[0]["kwargs"]["attachments"]) == 2
    assert mock_llm_calls.calls[0]["kwargs"]["attachments"][0].get("url") == IMAGES[0]
    describe(*IMAGES)
    assert mock_llm_calls.calls[0]["kwargs"]["attachments"][0].get("path") is None
