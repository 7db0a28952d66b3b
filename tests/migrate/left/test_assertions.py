"""Assertions that look like those which are rewritten, and say something else."""

from unittest.mock import ANY, AsyncMock, Mock, call, patch

import pytest
from reviews import Review, awaited, review, summarize

SCHEMA = {"type": "object"}


@pytest.fixture
def other():
    return "of something else"


class TestPrompt:
    @patch("reviews.get_model")
    def test_assert_any_call(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.assert_any_call("Summarize: a", system="Be brief")

    @patch("reviews.get_model")
    def test_assert_has_calls(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.assert_has_calls([call("Summarize: a", system="Be brief")])

    @patch("reviews.get_async_model")
    def test_assert_any_await(self, get_async_model):
        get_async_model.return_value.prompt = AsyncMock()
        get_async_model.return_value.prompt.return_value.text.return_value = "Hallo"
        awaited("a")
        get_async_model.return_value.prompt.assert_any_await("a")

    @patch("reviews.get_async_model")
    def test_assert_has_awaits(self, get_async_model):
        get_async_model.return_value.prompt = AsyncMock()
        get_async_model.return_value.prompt.return_value.text.return_value = "Hallo"
        awaited("a")
        get_async_model.return_value.prompt.assert_has_awaits([call("a")])

    @patch("reviews.get_model")
    def test_no_prompt(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with(system="Be brief")

    @patch("reviews.get_model")
    def test_two_positional_arguments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("Summarize: a", "Be brief")

    @patch("reviews.get_model")
    def test_hidden_arguments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        arguments = {"system": "Be brief"}
        get_model.return_value.prompt.assert_called_once_with("Summarize: a", **arguments)

    @patch("reviews.get_model")
    def test_a_mock_as_an_argument(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with(get_model.return_value)

    @patch("reviews.get_model")
    def test_a_schema_that_is_no_class(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("Review: a", schema=SCHEMA)

    @patch("reviews.get_model")
    def test_a_schema_that_may_be_no_class(self, get_model, other):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("Review: a", schema=other)

    @pytest.mark.parametrize("name", ["a"])
    @patch("reviews.get_model")
    def test_tools(self, get_model, name):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with(name, tools=[len])

    @patch("reviews.get_model")
    def test_attachments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", attachments=[])

    @patch("reviews.get_model")
    def test_fragments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", fragments=["b"])

    @patch("reviews.get_model")
    def test_system_fragments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", system_fragments=["b"])

    @patch("reviews.get_model")
    def test_stream(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", stream=True)

    @patch("reviews.get_model")
    def test_key(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", key="sk-1")

    @patch("reviews.get_model")
    def test_messages(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", messages=[])

    @patch("reviews.get_model")
    def test_response(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.assert_called_once_with("a", response=None)


class TestOtherObjects:
    @patch("reviews.get_model")
    def test_of_the_model(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.assert_not_called()

    @patch("reviews.get_model")
    def test_of_the_response(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.return_value.text.assert_called_once()

    @patch("reviews.get_model")
    def test_the_number_of_texts(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.return_value.text.call_count == 1

    @patch("reviews.get_model")
    def test_a_misspelt_assertion(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.assert_called_onec()

    @patch("reviews.get_model")
    def test_an_assertion_that_is_not_called(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.assert_called_once

    @patch("reviews.get_model")
    def test_the_same_name_of_another_object(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        Review.assert_called_once(get_model)

    @patch("reviews.get_model")
    def test_a_mock_that_is_reset(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.reset_mock()


class TestGetModel:
    @patch("reviews.get_model")
    def test_assert_has_calls(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.assert_has_calls([call("gpt-4o-mini")])

    @patch("reviews.get_model")
    def test_a_keyword(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.assert_called_once_with(name="gpt-4o-mini")

    @patch("reviews.get_model")
    def test_a_name_and_a_keyword(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.assert_called_once_with("gpt-4o-mini", _skip_async=True)

    @patch("reviews.get_model")
    def test_two_names(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.assert_called_once_with("gpt-4o-mini", True)

    @patch("reviews.get_model")
    def test_hidden_arguments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.assert_called_once_with(*["gpt-4o-mini"])

    @patch("reviews.get_model")
    def test_keywords_of_a_call(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.call_args.kwargs["name"] == "gpt-4o-mini"

    @patch("reviews.get_model")
    def test_a_second_argument(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.call_args.args[1] == "gpt-4o-mini"

    @patch("reviews.get_model")
    def test_every_call(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert [call.args[0] for call in get_model.call_args_list] == ["gpt-4o-mini"]

    @patch("reviews.get_async_model")
    @patch("reviews.get_model")
    def test_one_of_two_patches(self, get_model, get_async_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Hallo")
        summarize("a")
        get_model.assert_called_once_with("gpt-4o-mini")

    @patch("reviews.get_async_model")
    @patch("reviews.get_model")
    def test_the_number_of_calls_of_one_of_two(self, get_model, get_async_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Hallo")
        summarize("a")
        assert get_async_model.call_count == 0

    @patch("reviews.get_async_model")
    @patch("reviews.get_model")
    def test_the_prompt_of_one_of_two_patches(self, get_model, get_async_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_async_model.return_value.prompt.return_value.text = AsyncMock(return_value="Short")
        summarize("a")
        get_async_model.return_value.prompt.assert_not_called()


class TestReads:
    @patch("reviews.get_model")
    def test_mock_calls_has_the_calls_of_results(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert len(get_model.return_value.prompt.mock_calls) == 2

    @patch("reviews.get_model")
    def test_awaited_is_an_attribute_like_any_other(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.awaited

    @patch("reviews.get_model")
    def test_a_call_as_a_whole(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args == call("Summarize: a", system=ANY)

    @patch("reviews.get_model")
    def test_calls_as_a_whole(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args_list == [call("Summarize: a", system=ANY)]

    @patch("reviews.get_model")
    def test_some_calls(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args_list[1:] == []

    @patch("reviews.get_model")
    def test_a_second_positional_argument(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args.args[1] == "Be brief"

    @patch("reviews.get_model")
    def test_the_number_of_arguments(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert len(get_model.return_value.prompt.call_args.args) == 1

    @patch("reviews.get_model")
    def test_all_keywords(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args.kwargs == {"system": "Be brief"}

    @patch("reviews.get_model")
    def test_keywords_with_a_default(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args.kwargs.get("temperature", 1) == 1

    @patch("reviews.get_model")
    def test_keywords_that_have_no_equivalent(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert get_model.return_value.prompt.call_args.kwargs["tools"] == []

    @patch("reviews.get_model")
    def test_whether_the_prompt_is_a_keyword(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert "prompt" not in get_model.return_value.prompt.call_args.kwargs

    @patch("reviews.get_model")
    def test_whether_there_are_tools(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        assert "tools" not in get_model.return_value.prompt.call_args.kwargs

    @patch("reviews.get_model")
    def test_the_name_of_a_schema(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        assert get_model.return_value.prompt.call_args.kwargs["schema"].__name__ == "Review"

    @patch("reviews.get_model")
    def test_a_schema_at_the_right(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        assert Review is get_model.return_value.prompt.call_args.kwargs["schema"]

    @patch("reviews.get_model")
    def test_a_schema_as_an_argument(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        assert issubclass(get_model.return_value.prompt.call_args.kwargs["schema"], Review)

    @patch("reviews.get_model")
    def test_a_schema_with_a_name(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        schema = get_model.return_value.prompt.call_args.kwargs["schema"]
        assert schema is Review

    @patch("reviews.get_model")
    def test_schemas(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        calls = get_model.return_value.prompt.call_args_list
        assert [each.kwargs["schema"] for each in calls] == [Review]

    @patch("reviews.get_model")
    def test_one_of_several_schemas(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "{}"
        review("a")
        assert get_model.return_value.prompt.call_args.kwargs["schema"] in (Review, None)

    @patch("reviews.get_model")
    def test_more_than_two_names(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        first, second, third = get_model.return_value.prompt.call_args

    @patch("reviews.get_model")
    def test_nested_names(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        (prompt,), kwargs = get_model.return_value.prompt.call_args
        assert prompt == "Summarize: a"

    @patch("reviews.get_model")
    def test_a_name_with_two_meanings(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        each = get_model.return_value.prompt.call_args
        for each in get_model.return_value.prompt.call_args_list:
            assert each.args[0] == "Summarize: a"

    @patch("reviews.get_model")
    def test_a_loop_with_two_names(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        for args, kwargs in get_model.return_value.prompt.call_args_list:
            assert args[0] == "Summarize: a"

    @patch("reviews.get_model")
    def test_the_last_call_before_another_one(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        first = get_model.return_value.prompt.call_args
        summarize("b")
        assert first.args[0] == "Summarize: a"

    @patch("reviews.get_model")
    def test_arguments_of_the_last_call_before_another_one(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        args, kwargs = get_model.return_value.prompt.call_args_list[-1]
        assert summarize("b") == "Short"
        assert kwargs["system"] == "Be brief"

    @patch("reviews.get_model")
    def test_the_last_call_in_a_loop(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        first = get_model.call_args
        for text in "bc":
            summarize(text)
        assert first.args[0] == "gpt-4o-mini"

    @patch("reviews.get_model")
    def test_a_mock_of_something_else(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        client = Mock()
        client.get.return_value = get_model.return_value
        summarize(client)
