"""Patched classes of clients whose calls the test checks, so that the patch stays."""

from unittest.mock import ANY, MagicMock, Mock, patch

import assistants
import pytest
from assistants import Assistant

FAULTS = ("", "prompt", "answer", "no call", "twice")


def new_response(text):
    return Mock(choices=[Mock(message=Mock(content=text))])


@patch("assistants.OpenAI")
def test_the_class_of_a_decorator(client_class):
    client = Mock()
    client_class.return_value = client
    client.chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
    client.chat.completions.create.assert_called_once()


# Both are classes of clients.
@patch("assistants.anthropic.Anthropic")
@patch.object(assistants, "OpenAI", return_value=Mock())
def test_one_of_two_classes(client_class, anthropic_class):
    client_class.return_value.chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"
    assert client_class.call_args.kwargs["api_key"] == "test"


@patch("assistants.OpenAI")
def test_a_function_without_self(cls, monkeypatch):
    cls.return_value.chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"


def test_a_block_with_a_reply():
    with patch("assistants.OpenAI", return_value=MagicMock()) as client_class:
        answer = new_response("Hello")
        client_class.return_value.chat.completions.create.return_value = answer
        # The application makes its client.
        assert Assistant().answer("a question") == "Hello"
    assert client_class.call_count == 1
    _, kwargs = client_class.call_args
    assert "timeout" not in kwargs


def test_a_block_without_a_reply():
    with patch("assistants.OpenAI") as client_class, patch("os.getcwd") as getcwd:
        Assistant()
        kwargs = client_class.call_args.kwargs
        assert kwargs == {"api_key": "test"}
        assert client_class.call_args_list == [((), kwargs)]
        client_class.assert_called_once_with(api_key=ANY)
        assert not getcwd.called


class TestCalls:
    @pytest.mark.parametrize("number", [1, 2])
    @patch("assistants.OpenAI")
    def test_every_call(self, client_class, number):
        for _ in range(number):
            Assistant()
            client_class.assert_called_with(api_key="test")
        assert client_class.called

    def test_it_is_not_called(self):
        with patch("assistants.OpenAI") as client_class:
            Assistant(client="another")
            client_class.assert_not_called()

    def test_a_class_whose_calls_nobody_checks(self):
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = new_response("Hi")
            assert Assistant().answer("a question") == "Hi"


@patch("assistants.OpenAI")
class TestPatchedClass:
    def test_its_mock_is_checked(self, client_class):
        Assistant()
        client_class.assert_called_once()

    def test_its_mock_is_not_checked(self, client_class):
        client_class.return_value.chat.completions.create.return_value = new_response("Hi")
        assert Assistant().answer("a question") == "Hi"


def test_a_patch_of_several_lines(
    monkeypatch,
):
    with patch(
        "assistants.OpenAI"
    ) as client_class:
        client_class.return_value.chat.completions.create.return_value = new_response("Hi")
        assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")


@patch(
    "assistants.OpenAI",
)
def test_parameters_of_several_lines(
    client_class,  # of the client
    tmp_path,
):
    create = client_class.return_value.chat.completions.create
    create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
    create.assert_called_once()


@patch("assistants.OpenAI")
def test_all_parameters_on_the_second_line(
    client_class, tmp_path, monkeypatch
):
    client_class.return_value.chat.completions.create.return_value = new_response("Hi")
    assert Assistant().answer("a question") == "Hi"
    client_class.assert_called_once_with(api_key="test")
