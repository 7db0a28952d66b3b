"""Clients of SDKs whose mocks are not understood."""

from types import SimpleNamespace
from unittest.mock import AsyncMock, Mock, call, patch

import anthropic
import assistants
import pytest
from anthropic.types import Message
from assistants import Assistant
from openai.types.chat import ChatCompletion

MESSAGES = [{"role": "user", "content": "a question"}]


class Fake:
    def __init__(self, choices):
        self.choices = choices


class FakeClient:
    def __init__(self, create):
        self.chat = SimpleNamespace(completions=SimpleNamespace(create=create))


def new_response(content):
    return Mock(choices=[Mock(message=Mock(content=content))])


@pytest.fixture
def client():
    with patch("assistants.OpenAI") as client_class:
        client_class.return_value.chat.completions.create.return_value = new_response("Hi")
        yield client_class.return_value


@pytest.fixture
def client_class():
    with patch("assistants.OpenAI") as client_class:
        yield client_class


class TestClient:
    def test_an_error_of_the_class(self):
        with patch("assistants.OpenAI", side_effect=ValueError("no key")):
            Assistant()

    def test_another_object(self):
        with patch("assistants.OpenAI", return_value=5):
            Assistant()

    def test_an_unknown_object(self):
        with patch("assistants.OpenAI", lambda **options: options["api_key"]):
            Assistant()

    def test_an_attribute(self):
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.base_url = "http://localhost"
            Assistant()

    def test_another_method(self):
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.models.list.return_value = []
            Assistant()

    def test_a_method_that_is_none(self):
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create = 5
            Assistant()

    def test_a_fake_that_changes(self):
        fake = FakeClient(Mock(return_value=new_response("Hi")))
        fake.timeout = 3
        with patch("assistants.OpenAI", return_value=fake):
            Assistant()

    def test_two_methods(self):
        with patch("assistants.OpenAI") as client_class:
            completions = client_class.return_value.chat.completions
            completions.create.return_value = new_response("Hi")
            completions.parse.return_value = new_response("Hello")
            Assistant()

    def test_an_awaited_method(self):
        with patch("assistants.OpenAI") as client_class:
            create = AsyncMock(return_value=new_response("Hi"))
            client_class.return_value.chat.completions.create = create
            Assistant()

    def test_a_side_effect(self):
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.side_effect = assistants.said
            Assistant()


class TestResponse:
    def test_a_text(self):
        response = "Hi"
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_several_mocks(self):
        response = [Mock(), Mock()]
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_fake_that_changes(self):
        fake = Fake([Mock(message=Mock(content="Hi"))])
        fake.cost = 3
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = fake
            Assistant()

    def test_another_attribute(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))], citations=[])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_another_attribute_of_a_choice(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"), logprobs=[])])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_another_attribute_of_a_message(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi", context="Hm"))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_choice_that_is_a_text(self):
        response = Mock(choices=["Hi"])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_message_that_is_a_text(self):
        response = Mock(choices=[Mock(message="Hi")])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_message_that_is_a_list(self):
        response = Mock(choices=[Mock(message=[Mock(content="Hi")])])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_choices_by_name(self):
        response = Mock(choices=MESSAGES)
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_choices_that_are_called(self):
        response = Mock(choices=Mock(return_value=[Mock()]))
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_no_choice(self):
        response = Mock(choices=[])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_no_choices(self):
        response = Mock(choices=None)
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_no_message(self):
        response = Mock(choices=[Mock(message=None)])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_no_content_of_a_mock(self):
        with patch("assistants.OpenAI") as client_class:
            create = client_class.return_value.chat.completions.create
            create.return_value.choices[0].message.content = None
            Assistant()

    def test_two_choices(self):
        response = Mock(choices=[Mock(), Mock()])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_data(self):
        response = Mock(choices=[Mock(message=Mock(content={"city": "Rome"}))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_number(self):
        response = Mock(choices=[Mock(message=Mock(content=5))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_mock_in_place_of_a_text(self):
        response = Mock(choices=[Mock(message=Mock(content=Mock(return_value="Hi")))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_nothing(self):
        response = Mock(choices=[Mock(message=Mock(content=None, tool_calls=[]))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_tool_call_without_a_name(self):
        response = Mock(choices=[Mock(message=Mock(tool_calls=[Mock(function=Mock(arguments="{}"))]))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_tool_call_without_arguments(self):
        response = Mock(choices=[Mock(message=Mock(tool_calls=[Mock(function=SimpleNamespace(name="weather"))]))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_another_attribute_of_a_tool_call(self):
        response = Mock(choices=[Mock(message=Mock(tool_calls=[Mock(tool="weather")]))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_another_attribute_of_a_function(self):
        response = Mock(choices=[Mock(message=Mock(tool_calls=[Mock(function=Mock(tool="weather"))]))])
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_usage_without_a_prompt(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))], usage=Mock(completion_tokens=4))
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_usage_without_a_completion(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))], usage=Mock(prompt_tokens=3))
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_another_attribute_of_the_usage(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))], usage=Mock(input_tokens=3))
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_a_wrong_total(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))], usage=Mock(prompt_tokens=3, completion_tokens=4, total_tokens=8))
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_types_without_keywords(self):
        response = ChatCompletion(*MESSAGES)
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()

    def test_one_without_a_text_in_a_list(self):
        with patch("assistants.OpenAI") as client_class:
            create = client_class.return_value.chat.completions.create
            create.side_effect = [new_response("Hi"), Mock()]
            Assistant()

    def test_an_item_that_is_not_there(self):
        response = Mock(choices=[Mock(message=Mock(content="Hi"))])
        response.choices[1].message.content = "Hello"
        with patch("assistants.OpenAI") as client_class:
            client_class.return_value.chat.completions.create.return_value = response
            Assistant()


class TestMessage:
    def test_two_texts(self):
        response = Mock(content=[Mock(text="Hi"), Mock(text="Hello")])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_nothing(self):
        response = Mock(content=[])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_none(self):
        response = Mock(content=None)
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_thoughts(self):
        first, then = Mock(thinking="Hm"), Mock(thinking="Ah")
        response = Mock(content=[first, then, Mock(text="Hi")])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_another_attribute(self):
        response = Mock(content=[Mock(text="Hi")], container=5)
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_a_block_without_an_input(self):
        response = Mock(content=[SimpleNamespace(type="tool_use", name="weather")])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_a_block_without_a_name(self):
        response = Mock(content=[SimpleNamespace(type="tool_use", input={})])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_an_unknown_end(self):
        response = Mock(content=[Mock(text="Hi")], stop_reason="stop_sequence")
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_data(self):
        response = Mock(content=[Mock(text={"city": "Rome"})])
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_usage_of_openai(self):
        response = Mock(content=[Mock(text="Hi")], usage=Mock(prompt_tokens=3))
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_usage_without_an_output(self):
        response = Mock(content=[Mock(text="Hi")], usage=Mock(input_tokens=3))
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_types_without_keywords(self):
        response = Message(*MESSAGES)
        with patch("assistants.anthropic.Anthropic") as client_class:
            client_class.return_value.messages.create.return_value = response
            assistants.get_claudes_text("a question")

    def test_another_part_of_the_library(self):
        with patch("assistants.anthropic") as library:
            library.APIError = anthropic.APIStatusError
            library.Anthropic.return_value.messages.create.return_value.content[0].text = "Hi"
            assistants.get_claudes_text("a question")

    def test_a_mock_in_the_library(self):
        with patch("assistants.anthropic") as library:
            library.APIError = Mock()
            library.Anthropic.return_value.messages.create.return_value.content[0].text = "Hi"
            assistants.get_claudes_text("a question")

    def test_a_library_with_a_result(self):
        with patch("assistants.anthropic", return_value=5):
            assistants.get_claudes_text("a question")

    def test_a_part_that_is_made(self):
        with patch("assistants.anthropic") as library:
            library.Client.return_value.messages.create.return_value.content[0].text = "Hi"
            assistants.get_claudes_text("a question")

class TestCalls:
    def test_what_the_class_makes(self):
        with patch("assistants.OpenAI") as client_class:
            assert Assistant().client is client_class.return_value
            client_class.assert_called_once_with(api_key="test")

    def test_what_the_class_was_asked(self):
        with patch("assistants.OpenAI") as client_class:
            Assistant()
            assert len(client_class.mock_calls) == 1
            client_class.assert_called_once()

    def test_a_class_in_a_fixture(self, client_class):
        Assistant()
        client_class.assert_called_once_with(api_key="test")

    def test_a_started_patch_of_the_class(self):
        patcher = patch("assistants.OpenAI")
        client_class = patcher.start()
        Assistant()
        client_class.assert_called_once_with(api_key="test")
        patcher.stop()

    def test_a_class_of_pytest_mock(self, mocker):
        client_class = mocker.patch("assistants.OpenAI")
        Assistant()
        assert client_class.call_args.kwargs == {"api_key": "test"}

    def test_a_class_that_is_replaced(self):
        with patch("assistants.OpenAI", new=Mock()) as client_class:
            Assistant()
            client_class.assert_called_once()

    def test_a_class_with_a_specification(self):
        with patch("assistants.OpenAI", autospec=True) as client_class:
            Assistant()
            client_class.assert_called_once()

    def test_a_class_under_a_condition(self):
        if MESSAGES:
            with patch("assistants.OpenAI") as client_class:
                Assistant()
                client_class.assert_called_once()

    @patch("assistants.openai.OpenAI")
    @patch("assistants.OpenAI")
    def test_one_of_two_clients(self, first, second):
        first.return_value.chat.completions.create.return_value = new_response("Hi")
        second.return_value.chat.completions.create.return_value = new_response("Hi")
        Assistant().answer("a question")
        first.return_value.chat.completions.create.assert_called_once()

    def test_a_client_option(self, client):
        Assistant().answer("a question")
        client.chat.completions.create.assert_called_once_with(model="gpt-4o", timeout=3)

    def test_a_client_option_of_the_last_call(self, client):
        Assistant().answer("a question")
        assert client.chat.completions.create.call_args.kwargs["extra_headers"] == {}

    def test_a_client_option_that_is_not_given(self, client):
        Assistant().answer("a question")
        assert "extra_headers" not in client.chat.completions.create.call_args[1]

    def test_a_client_option_by_get(self, client):
        Assistant().answer("a question")
        assert client.chat.completions.create.call_args[1].get("extra_query") is None

    def test_arguments_by_position(self, client):
        Assistant().answer("a question")
        client.chat.completions.create.assert_called_with("gpt-4o")

    def test_unknown_arguments(self, client):
        Assistant().answer("a question")
        client.chat.completions.create.assert_called_with(**MESSAGES[0])

    def test_several_calls(self, client):
        Assistant().answer("a question")
        client.chat.completions.create.assert_has_calls([call(model="gpt-4o")])

    def test_an_argument_that_is_a_mock(self, client):
        Assistant().answer("a question")
        client.chat.completions.create.assert_called_with(model=client)

    def test_positional_arguments_of_the_last_call(self, client):
        Assistant().answer("a question")
        assert client.chat.completions.create.call_args[0][0] == "gpt-4o"

    def test_calls_of_another_method(self, client):
        Assistant().answer("a question")
        client.models.list.assert_not_called()


def test_mocks_of_themselves():
    itself, empty = Mock(), Mock()
    itself.again, empty.again = itself, empty
    message = Mock(content="Hi", refusal=empty, audio=empty)
    itself.chat.completions.create.return_value = Mock(choices=[Mock(message=message)])
    itself.models.list.return_value = [itself]
    with patch("assistants.OpenAI", return_value=itself):
        assert Assistant().answer("a question") == "Hi"


@pytest.fixture
def classes(monkeypatch):
    client_class, another = Mock(), Mock()
    monkeypatch.setattr(assistants, "OpenAI", client_class)
    return client_class, another


def test_the_identity_of_a_client(classes):
    client_class, another = classes
    assert Assistant().client is client_class.return_value
    assert not another.called
