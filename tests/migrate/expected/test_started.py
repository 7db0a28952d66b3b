"""Patches that a test starts and stops itself."""

from unittest import mock
from unittest.mock import patch

import reviews
from reviews import greet, summarize


def test_a_patch(mock_llm_responses, mock_llm_calls):
    # for the whole test
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    mock_llm_calls.assert_called_once()


def test_two_patches(mock_llm_responses):
    second = patch.object(reviews, "said", str)
    second.start()
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
    second.stop()


def test_at_once(request, mock_llm_responses):
    request.addfinalizer(mock.patch.stopall)
    mock_llm_responses.set("*", "Hello")
    assert greet("Ada") == "Hello"


def test_a_finalizer(request, mock_llm_responses):
    mock_llm_responses.set("*", "A")
    assert summarize("a long text") == "A"


def test_a_patch_with_a_name(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"


def test_a_fixture(mock_llm_responses):
    mock_llm_responses.set("*", "Short")
    assert summarize("a long text") == "Short"
