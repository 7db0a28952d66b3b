"""Values that may be no text, no data, no error, no stream or no usage."""

import json
from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import llm
import pytest
from reviews import answered, fail, get_answer, summarize

NUMBER = 5
A = B = "Short"
FIRST = SECOND
SECOND = FIRST
ERRORS = [ConnectionError("no route")]


class Lost:
    pass


class Lasting(Lost):
    pass


class Reply:
    """The name of another class."""


class TestTexts:
    @patch("reviews.get_model")
    def test_a_number(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = 5

    @patch("reviews.get_model")
    def test_bytes(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = b"Short"

    @patch("reviews.get_model")
    def test_encoded(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short".encode()

    @patch("reviews.get_model")
    def test_split(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short".split()

    @patch("reviews.get_model")
    def test_a_length(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = len("Short")

    @patch("reviews.get_model")
    def test_parsed(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = json.loads('"Short"')

    @patch("reviews.get_model")
    def test_a_call_of_the_application(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = get_answer()

    @patch("reviews.get_model")
    def test_a_constant_that_is_a_number(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = NUMBER

    @patch("reviews.get_model")
    def test_a_constant_with_two_names(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = A

    @patch("reviews.get_model")
    def test_constants_of_each_other(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = FIRST

    @patch("reviews.get_model")
    def test_an_imported_name(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = answered

    @patch("reviews.get_model")
    def test_a_number_that_is_added(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = NUMBER + 1

    @patch("reviews.get_model")
    def test_a_quotient(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "a" / "b"

    @patch("reviews.get_model")
    def test_a_condition(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "a" if NUMBER else "b"

    @patch("reviews.get_model")
    def test_none(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = None

    @pytest.mark.parametrize(("text", "number"), [("a", 1), (2, 2)])
    @patch("reviews.get_model")
    def test_parameters_of_several_types(self, get_model, text, number):
        get_model.return_value.prompt.return_value.text.return_value = text

    @pytest.mark.parametrize("text", get_answer())
    @patch("reviews.get_model")
    def test_parameters_that_are_unknown(self, get_model, text):
        get_model.return_value.prompt.return_value.text.return_value = text

    @patch("reviews.get_model")
    def test_another_mock(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = Mock()

    @patch("reviews.get_model")
    def test_a_text_that_is_a_function_of_the_prompt(self, get_model):
        get_model.side_effect = lambda name: Mock(prompt=lambda text: Mock(text=lambda: text))


class TestData:
    @patch("reviews.get_model")
    def test_a_text(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = "Short"

    @patch("reviews.get_model")
    def test_a_number(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = 5

    @patch("reviews.get_model")
    def test_a_tuple(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = (1, 2)

    @patch("reviews.get_model")
    def test_a_set(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = {1, 2}

    @patch("reviews.get_model")
    def test_parsed(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = json.loads("{}")

    @patch("reviews.get_model")
    def test_a_list_by_a_call(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = list("ab")

    @patch("reviews.get_model")
    def test_data_as_json(self, get_model):
        get_model.return_value.prompt.return_value.json.return_value = Lost().model_dump_json()


class TestErrors:
    @patch("reviews.get_model")
    def test_a_function(self, get_model):
        get_model.return_value.prompt.side_effect = fail

    @patch("reviews.get_model")
    def test_a_class_that_is_no_error(self, get_model):
        get_model.return_value.prompt.side_effect = Lost

    @patch("reviews.get_model")
    def test_a_class_whose_base_is_no_error(self, get_model):
        get_model.return_value.prompt.side_effect = Lasting()

    @patch("reviews.get_model")
    def test_an_error_by_a_call(self, get_model):
        get_model.return_value.prompt.side_effect = ERRORS[0]

    @patch("reviews.get_model")
    def test_a_list_with_a_name(self, get_model):
        get_model.return_value.prompt.side_effect = ERRORS

    @patch("reviews.get_model")
    def test_a_text(self, get_model):
        get_model.return_value.prompt.side_effect = "overloaded"

    @patch("reviews.get_model", side_effect=AssertionError("must not be called"))
    def test_that_no_model_is_requested(self, get_model):
        pass

    @patch("reviews.get_model")
    def test_get_model_is_another_function(self, get_model):
        get_model.side_effect = len

    @patch("reviews.get_model")
    def test_an_error_of_json(self, get_model):
        get_model.return_value.prompt.return_value.json.side_effect = json.JSONDecodeError

    @patch("reviews.get_model")
    def test_data_one_after_the_other(self, get_model):
        get_model.return_value.prompt.return_value.json.side_effect = [{"a": 1}, {"a": 2}]

    @patch("reviews.get_model")
    def test_texts_of_mocks_one_after_the_other(self, get_model):
        get_model.return_value.prompt.return_value.text.side_effect = [Mock(), "two"]

    @patch("reviews.get_model")
    def test_an_error_of_a_list_of_texts(self, get_model):
        get_model.return_value.prompt.side_effect = ["one", "two"]

    @patch("reviews.get_model")
    def test_a_response_without_a_reply_in_a_list(self, get_model):
        get_model.return_value.prompt.side_effect = [Mock(), Mock()]


class TestResponses:
    @patch("reviews.get_model")
    def test_a_text_in_place_of_a_response(self, get_model):
        get_model.return_value.prompt.return_value = "Short"

    @patch("reviews.get_model")
    def test_a_response_by_name(self, get_model):
        get_model.return_value.prompt.return_value = {"a": Mock()}

    @patch("reviews.get_model")
    def test_a_response_that_is_called(self, get_model):
        get_model.return_value.prompt.return_value.side_effect = ["Short"]

    @patch("reviews.get_model")
    def test_an_awaited_prompt_of_a_synchronous_model(self, get_model):
        get_model.return_value.prompt = AsyncMock()
        get_model.return_value.prompt.return_value.text.return_value = "Short"

    @patch("reviews.get_model")
    def test_an_awaited_text_of_a_synchronous_model(self, get_model):
        get_model.return_value.prompt.return_value.text = AsyncMock(return_value="Short")

    @patch("reviews.get_async_model")
    def test_a_text_that_is_an_attribute_of_an_async_model(self, get_async_model):
        get_async_model.return_value.prompt.return_value.text = "Short"
        summarize("a")

    @patch("reviews.get_model")
    def test_a_reasoning(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.reasoning = "Long"

    @patch("reviews.get_model")
    def test_prompts_and_chains_that_differ(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.chain.return_value.text.return_value = "Long"

    @patch("reviews.get_model")
    def test_replies_after_a_list(self, get_model):
        get_model.return_value.prompt.side_effect = [ConnectionError("no route")]
        summarize("a")
        get_model.return_value.prompt.side_effect = [ConnectionError("no way")]
        summarize("b")

    @patch("reviews.get_model")
    def test_a_list_after_a_reply(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("a")
        get_model.return_value.prompt.side_effect = [ConnectionError("no way")]
        summarize("b")

    @patch("reviews.get_model")
    def test_an_unknown_model_that_is_known_later(self, get_model):
        get_model.side_effect = llm.UnknownModelError
        summarize("a")
        get_model.side_effect = None
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        summarize("b")

    @patch("reviews.get_model")
    def test_a_model_that_is_no_mock(self, get_model):
        get_model.return_value = "gpt-4o"

    @patch("reviews.get_model")
    def test_models_that_are_no_mocks(self, get_model):
        get_model.side_effect = {"gpt-4o": Mock(), "gpt-4o-mini": None}.get

    @patch("reviews.get_model")
    def test_models_in_order(self, get_model):
        get_model.side_effect = [Mock(), Mock()]

    @patch("reviews.get_model")
    def test_a_model_id(self, get_model):
        get_model.return_value.model_id = "fake"
        assert summarize("a") == "fake"

    @patch("reviews.get_model")
    def test_an_attribute_of_an_attribute_of_a_model(self, get_model):
        get_model.return_value.options.temperature = 1
        get_model.return_value.prompt.return_value.text.return_value = "Short"


class TestStreams:
    @patch("reviews.get_model")
    def test_a_name(self, get_model):
        get_model.return_value.prompt.return_value.__iter__.return_value = ERRORS

    @patch("reviews.get_model")
    def test_a_generator(self, get_model):
        get_model.return_value.prompt.return_value.__iter__.return_value = (word for word in "ab")

    @patch("reviews.get_model")
    def test_a_value_in_place_of_a_method(self, get_model):
        get_model.return_value.prompt.return_value.__iter__ = ["Hel", "lo"]

    @patch("reviews.get_model")
    def test_an_error(self, get_model):
        get_model.return_value.prompt.return_value.__iter__.side_effect = ConnectionError

    @patch("reviews.get_model")
    def test_a_sorted_list(self, get_model):
        get_model.return_value.prompt.return_value.__iter__.return_value = sorted(["b", "a"])

    @patch("reviews.get_model")
    def test_another_text(self, get_model):
        get_model.return_value.prompt.return_value.__iter__.return_value = ["Hel", "lo"]
        get_model.return_value.prompt.return_value.text.return_value = "Short"

    @patch("reviews.get_model")
    def test_a_function_of_the_prompt(self, get_model):
        get_model.return_value.prompt.side_effect = lambda text: MagicMock(
            __iter__=lambda self: iter([text])
        )


class TestUsage:
    @patch("reviews.get_model")
    def test_an_error(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.side_effect = ConnectionError

    @patch("reviews.get_model")
    def test_another_key(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage = {"input": 1, "output": 2, "total": 3}

    @patch("reviews.get_model")
    def test_an_unknown_usage(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.return_value = fail.usage

    @patch("reviews.get_model")
    def test_two_names_of_a_number(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage = Mock(
            input=1, output=2, prompt_tokens=1, completion_tokens=3
        )

    @patch("reviews.get_model")
    def test_an_object_in_place_of_the_method(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage = Mock(used=3)

    @patch("reviews.get_model")
    def test_only_input(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(input=1)

    @patch("reviews.get_model")
    def test_only_output(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(output=1)

    @patch("reviews.get_model")
    def test_another_number(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(
            input=1, output=2, cached=3
        )

    @patch("reviews.get_model")
    def test_a_number_that_is_a_mock(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(
            input=1, output=Mock()
        )
