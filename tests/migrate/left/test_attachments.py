"""Attachments of a call that are read in another way."""

from unittest.mock import patch

import pytest
from reviews import describe


@pytest.fixture
def get_model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Two images"
        yield get_model


def test_get(get_model):
    describe("a.png")
    assert get_model.return_value.prompt.call_args.kwargs.get("attachments")


def test_the_whole_list(get_model):
    describe("a.png")
    assert get_model.return_value.prompt.call_args.kwargs["attachments"] == []


def test_the_content(get_model):
    describe("a.png")
    assert get_model.return_value.prompt.call_args.kwargs["attachments"][0].content


def test_a_slice(get_model):
    describe("a.png")
    assert get_model.return_value.prompt.call_args.kwargs["attachments"][1:]


def test_an_outdated_list(get_model):
    describe("a.png")
    attachments = get_model.return_value.prompt.call_args.kwargs["attachments"]
    describe("b.png")
    assert len(attachments) == 1


def test_an_outdated_attachment(get_model):
    describe("a.png")
    attachment = get_model.return_value.prompt.call_args.kwargs["attachments"][0]
    describe("b.png")
    assert attachment.path == "a.png"


def test_those_of_get_model(get_model):
    describe("a.png")
    assert get_model.call_args.kwargs["attachments"][0].path == "a.png"
    assert "attachments" in get_model.call_args.kwargs


def test_whether_get_model_has_some(get_model):
    describe("a.png")
    assert "attachments" in get_model.call_args.kwargs
