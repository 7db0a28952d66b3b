"""The attachments of a call."""

from unittest.mock import MagicMock, patch

import pytest
from reviews import describe, summarize

FAULTS = ("", "answer", "type", "place", "one", "no attachments")
IMAGES = ("https://example.com/a.png", "images/b.png")


@pytest.fixture
def get_model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value = MagicMock()
        get_model.return_value.prompt.return_value.text.return_value = "Two images"
        yield get_model


def test_that_there_are_some(get_model):
    assert describe(*IMAGES) == "Two images"
    assert "attachments" in get_model.return_value.prompt.call_args.kwargs


def test_that_there_are_none(get_model):
    assert summarize("a") == "Two images"
    assert "attachments" not in get_model.return_value.prompt.call_args.kwargs


def test_their_number(get_model):
    assert describe(*IMAGES) == "Two images"
    assert len(get_model.return_value.prompt.call_args.kwargs["attachments"]) == 2


def test_their_fields(get_model):
    assert describe(*IMAGES) == "Two images"
    call_kwargs = get_model.return_value.prompt.call_args[1]
    assert call_kwargs["attachments"][0].url == IMAGES[0]
    assert call_kwargs["attachments"][1].path == IMAGES[1]
    assert call_kwargs["attachments"][-1].type == "image/png"


def test_a_name_for_them(get_model):
    assert describe(*IMAGES) == "Two images"
    _, kwargs = get_model.return_value.prompt.call_args_list[0]
    attachments = kwargs["attachments"]
    first = attachments[0]
    assert len(attachments) == 2
    assert first.url == IMAGES[0]
    describe(*IMAGES)
    assert first.path is None
