"""Clients of Gemini and Mistral whose replies or calls have no equivalent."""

from unittest.mock import AsyncMock, MagicMock, Mock, call, patch

import pytest
import translators
from translators import complete, stream, translate


@pytest.fixture
def generate_content():
    with patch("translators.genai.Client") as client_class:
        generate_content = client_class.return_value.models.generate_content
        generate_content.return_value.text = "Bonjour"
        yield generate_content


class TestCalls:
    def test_a_config(self, generate_content):
        translate("Hello", config={"temperature": 0.5})
        assert generate_content.call_args.kwargs["config"] == {"temperature": 0.5}

    def test_tools_of_a_config(self, generate_content):
        translate("Hello", config={"tools": []})
        assert generate_content.call_args.kwargs["config"]["tools"] == []

    def test_a_config_among_all_arguments(self, generate_content):
        translate("Hello", config={})
        generate_content.assert_called_with(model="gemini-2.5-flash", contents="Hello", config={})

    def test_whether_there_is_a_config(self, generate_content):
        translate("Hello")
        assert "config" not in generate_content.call_args.kwargs

    def test_a_config_that_may_be_missing(self, generate_content):
        translate("Hello")
        assert generate_content.call_args.kwargs.get("config") is None

    def test_any_call(self, generate_content):
        translate("Hello")
        generate_content.assert_any_call(model="gemini-2.5-flash", contents="Hello")

    def test_several_calls(self, generate_content):
        translate("Hello")
        generate_content.assert_has_calls([call(model="gemini-2.5-flash", contents="Hello")])

    def test_a_position(self, generate_content):
        translate("Hello")
        generate_content.assert_called_once_with("gemini-2.5-flash")


    def test_a_part_of_the_contents(self, generate_content):
        translate("Hello")
        assert "secret" not in generate_content.call_args.kwargs["contents"]

    def test_the_contents_as_a_whole(self, generate_content):
        translate("Hello")
        assert len(generate_content.call_args.kwargs["contents"]) == 1


class TestReplies:
    @patch("translators.genai.Client")
    def test_two_candidates(self, client_class):
        content = Mock(parts=[Mock(text="Bonjour")])
        response = Mock(candidates=[Mock(content=content), Mock(content=content)])
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_a_text_that_is_not_that_of_the_parts(self, client_class):
        response = Mock(text="Salut", candidates=[Mock(content=Mock(parts=[Mock(text="Bonjour")]))])
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_an_object_beside_the_text(self, client_class):
        response = Mock(text="{}", parsed={"found": True})
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_another_attribute(self, client_class):
        response = Mock(text="Bonjour", prompt_feedback=Mock(block_reason="SAFETY"))
        client_class.return_value.models.generate_content.return_value = response
        assert translate("Hello") == "Bonjour"

    @patch("translators.genai.Client")
    def test_an_object_without_a_text(self, client_class):
        response = Mock(parsed={"found": True})
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_two_texts(self, client_class):
        parts = [Mock(text="Bon"), Mock(text="jour")]
        response = Mock(candidates=[Mock(content=Mock(parts=parts))])
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_a_call_without_arguments(self, client_class):
        function = Mock()
        function.name = "weather"
        response = Mock(text=None, function_calls=[function])
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_another_end(self, client_class):
        content = Mock(parts=[Mock(text="Bonjour")])
        response = Mock(candidates=[Mock(content=content, finish_reason="RECITATION")])
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_a_wrong_total(self, client_class):
        usage = Mock(prompt_token_count=3, candidates_token_count=2, total_token_count=6)
        response = Mock(text="Bonjour", usage_metadata=usage)
        client_class.return_value.models.generate_content.return_value = response
        translate("Hello")

    @patch("translators.genai.Client")
    def test_a_function_of_the_contents(self, client_class):
        def generate_content(model, contents):
            return Mock(text=contents.upper())

        client_class.return_value.models.generate_content.side_effect = generate_content
        translate("Hello")

    @patch("translators.genai.Client")
    def test_an_awaited_method_of_the_synchronous_client(self, client_class):
        awaited = AsyncMock(return_value=Mock(text="Bonjour"))
        client_class.return_value.models.generate_content = awaited
        translate("Hello")

    @patch("translators.genai.Client")
    def test_chunks_without_a_text(self, client_class):
        chunks = [Mock(text=None), Mock(text=None)]
        client_class.return_value.models.generate_content_stream.return_value = chunks
        stream("Hello")

    @patch("translators.genai.Client")
    def test_chunks_with_two_usages(self, client_class):
        chunks = [
            Mock(text="Bon", usage_metadata=Mock(prompt_token_count=1, candidates_token_count=1)),
            Mock(text="jour", usage_metadata=Mock(prompt_token_count=1, candidates_token_count=2)),
        ]
        client_class.return_value.models.generate_content_stream.return_value = chunks
        stream("Hello")

    @patch("translators.genai.Client")
    def test_another_method(self, client_class):
        client_class.return_value.models.generate_content.return_value = Mock(text="Bonjour")
        client_class.return_value.models.count_tokens.return_value = Mock(total_tokens=5)
        translate("Hello")

    @patch("translators.Mistral")
    def test_a_stream_of_mistral(self, client_class):
        client_class.return_value.chat.stream.return_value = [MagicMock()]
        complete("Hello")


def test_a_file_with_another_google():
    google = "of something else"
    client = Mock()
    client.models.generate_content.return_value.text = google
    assert translate("Hello", client) == google
