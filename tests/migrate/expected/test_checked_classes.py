"""Patched classes of clients whose calls the test checks, so that the patch stays."""

from unittest.mock import ANY, patch

import assistants
import openai
import pytest
from assistants import Assistant

FAULTS = ("", "prompt", "answer", "no call", "twice")


@patch("assistants.OpenAI", wraps=openai.OpenAI)
def test_the_class_of_a_decorator(client_class, mock_llm_responses, mock_llm_calls):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
    mock_llm_calls.assert_called_once()


# Both are classes of clients.
@patch.object(assistants, "OpenAI", wraps=openai.OpenAI)
def test_one_of_two_classes(client_class, mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    assert client_class.call_args.kwargs["api_key"] == "test"


def test_a_function_without_self(monkeypatch, mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"


def test_a_block_with_a_reply(mock_llm_responses):
    with patch("assistants.OpenAI", wraps=openai.OpenAI) as client_class:
        mock_llm_responses.set("*", "Hello")
        # The application makes its client.
        assert Assistant().answer("a question") == "Hello"
    assert client_class.call_count == 1
    _, kwargs = client_class.call_args
    assert "timeout" not in kwargs


def test_a_block_without_a_reply():
    with patch("assistants.OpenAI", wraps=openai.OpenAI) as client_class, patch("os.getcwd") as getcwd:
        Assistant()
        kwargs = client_class.call_args.kwargs
        assert kwargs == {"api_key": "test"}
        assert client_class.call_args_list == [((), kwargs)]
        client_class.assert_called_once_with(api_key=ANY)
        assert not getcwd.called


class TestCalls:
    @pytest.mark.parametrize("number", [1, 2])
    @patch("assistants.OpenAI", wraps=openai.OpenAI)
    def test_every_call(self, client_class, number):
        for _ in range(number):
            Assistant()
            client_class.assert_called_with(api_key="test")
        assert client_class.called

    def test_it_is_not_called(self):
        with patch("assistants.OpenAI", wraps=openai.OpenAI) as client_class:
            Assistant(client="another")
            client_class.assert_not_called()

    def test_a_class_whose_calls_nobody_checks(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hi")
        assert Assistant().answer("a question") == "Hi"


class TestPatchedClass:
    @patch("assistants.OpenAI", wraps=openai.OpenAI)
    def test_its_mock_is_checked(self, client_class):
        Assistant()
        client_class.assert_called_once()

    def test_its_mock_is_not_checked(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hi")
        assert Assistant().answer("a question") == "Hi"


def test_a_patch_of_several_lines(
    monkeypatch,
    mock_llm_responses,
):
    with patch(
        "assistants.OpenAI",
        wraps=openai.OpenAI
    ) as client_class:
        mock_llm_responses.set("*", "Hi")
        assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")


@patch(
    "assistants.OpenAI",
    wraps=openai.OpenAI,
)
def test_parameters_of_several_lines(
    client_class,  # of the client
    tmp_path,
    mock_llm_responses,
    mock_llm_calls,
):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
    mock_llm_calls.assert_called_once()


@patch("assistants.OpenAI", wraps=openai.OpenAI)
def test_all_parameters_on_the_second_line(
    client_class, tmp_path, monkeypatch, mock_llm_responses
):
    mock_llm_responses.set("*", "Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
