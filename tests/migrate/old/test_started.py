"""Patches that a test starts and stops itself."""

from unittest import mock
from unittest.mock import patch

import pytest
import reviews
from reviews import greet, summarize


@pytest.fixture
def get_model():
    patcher = patch("reviews.get_model")
    get_model = patcher.start()
    yield get_model
    patcher.stop()


def test_a_patch():
    # for the whole test
    patcher = patch("reviews.get_model")
    get_model = patcher.start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"
    get_model.return_value.prompt.assert_called_once()
    patcher.stop()


def test_two_patches():
    first = patch("reviews.get_model")
    second = patch.object(reviews, "said", str)
    get_model = first.start()
    second.start()
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"
    second.stop()
    first.stop()


def test_at_once(request):
    get_model = mock.patch("llm.get_model").start()
    request.addfinalizer(mock.patch.stopall)
    get_model.return_value.prompt.return_value.text.return_value = "Hello"
    assert greet("Ada") == "Hello"


def test_a_finalizer(request):
    patcher = patch("reviews.get_model", **{"return_value.prompt.return_value.text.return_value": "A"})
    patcher.start()
    request.addfinalizer(patcher.stop)
    assert summarize("a long text") == "A"


def test_a_patch_with_a_name():
    patcher = patch("reviews.get_model")
    with patcher as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a long text") == "Short"


def test_a_fixture(get_model):
    get_model.return_value.prompt.return_value.text.return_value = "Short"
    assert summarize("a long text") == "Short"
