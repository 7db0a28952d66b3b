"""Helpers, functions and fakes of the file, which are followed to the reply that they give."""

from unittest.mock import Mock

import pytest
import reviews
from llm_mock import Reply
from reviews import chat, draft_and_check, lookup, stars, streamed, summarize

FAULTS = ("",)
RESPONSE = Mock(**{"text.return_value": "Constant"})
MODEL = Mock(prompt=Mock(return_value=RESPONSE))


def counted(number):
    return number + 1 if number else others(number)


def others(number):
    return counted(number)


class Response:
    def __init__(self, text):
        self._text = text

    def text(self):
        return self._text

    def __iter__(self):
        """Stream it."""
        yield self._text


class Fake:
    """A fake with all that one may have."""

    name = "fake"
    attempts: int = 3
    pass

    def __init__(self, text="Fake", *, suffix=""):
        """Keep the text."""
        self.reply: str = text + suffix
        self.response = Response(text + suffix)

    def prompt(self, prompt, **options):
        return self.response

    def stream(self):
        raise NotImplementedError

    def conversation(self):
        return self

    def close(self):
        print("never called")

    @property
    def lines(self):
        return []


class TestHelpers:
    def test_a_constant(self, mock_llm_responses):
        mock_llm_responses.set("*", "Constant")
        assert summarize("a") == "Constant"

    def test_a_response(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_text_by_its_type(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_data_by_its_type(self, mock_llm_responses):
        mock_llm_responses.set("*", {"stars": 5, "title": "Great"})
        assert stars("a") == 5

    def test_the_data_of_a_default(self, mock_llm_responses):
        mock_llm_responses.set("*", {"stars": 4, "title": "Fine"})
        assert stars("a") == 4

    def test_a_helper_of_helpers(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_default_arguments(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short" + "!")
        assert summarize("a") == "Short!"

    def test_arguments(self, mock_llm_responses):
        mock_llm_responses.set("*", "So short" + "?")
        assert summarize("a") == "So short?"

    def test_an_argument_by_position(self, mock_llm_responses):
        mock_llm_responses.set("*", "So short" + ".")
        assert summarize("a") == "So short."

    def test_an_argument_of_the_test(self, mock_llm_responses, text="Short"):
        whole = "So short"
        mock_llm_responses.set("*", whole + "!")
        assert summarize("a") == "So short!"

    def test_a_namespace(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_fake(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short" + "")
        assert summarize("a") == "Short"

    def test_two_mocks(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_function_in_a_helper(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_helper_by_name(self, mock_llm_responses):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("*", "Checked")
        assert draft_and_check("a") == "Checked"

    def test_a_helper_of_something_else(self, mock_llm_responses):
        number = counted(1)
        mock_llm_responses.set("*", "Short")
        assert (summarize("a"), number) == ("Short", 2)

    def test_a_list_of_helpers(self, mock_llm_responses):
        mock_llm_responses.add("*", "One")
        mock_llm_responses.add("*", "Two")
        assert [summarize("a"), summarize("b")] == ["One", "Two"]

    def test_lists_that_are_added(self, mock_llm_responses):
        mock_llm_responses.add("*", ConnectionError("no route"))
        mock_llm_responses.add("*", "Two", times=2)
        assert reviews.patient("a") == summarize("b") == "Two"

    def test_plain_lists_that_are_added(self, mock_llm_responses):
        words = ["a"] * 2 + ["b"]
        mock_llm_responses.set("*", "Short")
        assert [summarize(word) for word in words] == ["Short"] * 3


class TestFakes:
    def test_arguments(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short" + "!")
        assert summarize("a") == "Short!"

    def test_default_arguments(self, mock_llm_responses):
        mock_llm_responses.set("*", "Fake" + "")
        assert summarize("a") == "Fake"

    def test_a_stream(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_method_that_is_replaced(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "Replaced")
        assert summarize("a") == "Replaced"
        mock_llm_calls.assert_called_once()

    def test_an_async_fake(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hallo")
        assert reviews.asyncio.run(reviews.translate("a")) == "Hallo"
        assert reviews.asyncio.run(reviews.astreamed("a")) == ["Hallo"]


class TestFunctions:
    def test_a_function_of_the_test(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_function_of_a_name_of_the_test(self, mock_llm_responses):
        text = "Short"
        mock_llm_responses.set("*", text)
        assert summarize("a") == "Short"

    def test_a_function_of_a_function(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_function_that_raises(self, mock_llm_responses):
        mock_llm_responses.set_error("*", ConnectionError("no route"))
        assert reviews.patient("a") == "no connection"

    def test_a_function_that_streams(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_function_with_a_choice(self, mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("gpt-4o", "A draft")
        mock_llm_responses.set("*", "Checked")
        assert draft_and_check("a") == "Checked"
        mock_llm_calls.get_model("gpt-4o").assert_called_once()

    def test_one_line(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"


class TestReplies:
    def test_text_and_data(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply('{"stars": 4, "title": "Fine"}', response_json={"stars": 4, "title": "Fine", "id": "r1"}))
        assert (stars("a"), reviews.review("a").title) == (4, "Fine")

    def test_text_and_data_and_usage(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply('{"stars": 4, "title": "Fine"}', response_json={"stars": 4, "title": "Fine", "id": "r1"}, usage={"input_tokens": 3, "output_tokens": 4}))
        assert (stars("a"), reviews.tokens("a")) == (4, 7)

    def test_a_stream_and_usage(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"], usage={"input_tokens": 3, "output_tokens": 4}))
        assert (streamed("a"), reviews.tokens("a")) == (["Hel", "lo"], 7)

    def test_a_conversation_and_a_chain(self, mock_llm_responses):
        mock_llm_responses.set("*", "Five")
        assert [lookup("a"), *chat("b")] == ["Five", "Five"]

    def test_a_side_effect_that_is_removed(self, mock_llm_responses):
        mock_llm_responses.set_error("*", ConnectionError)
        assert reviews.patient("a") == "no connection"
        mock_llm_responses.set_error("*", ValueError("too long"))
        with pytest.raises(ValueError, match="too long"):
            summarize("a")
        mock_llm_responses.set_error("*", None)
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_an_async_queue(self, mock_llm_responses):
        mock_llm_responses.add("*", "Eins")
        mock_llm_responses.add("*", "Zwei")
        run = reviews.asyncio.run
        assert [run(reviews.translate("a")), run(reviews.translate("b"))] == ["Eins", "Zwei"]

    def test_two_patches_one_after_the_other(self, mock_llm_responses):
        mock_llm_responses.set("*", "First")
        assert summarize("a") == "First"
        assert summarize("a") == "First"

    def test_nothing_but_a_reply_in_a_block(self, tmp_path, mock_llm_responses):
        with open(tmp_path / "file", "w"):
            mock_llm_responses.set("*", "Short")


class TestWithAFixture:
    @pytest.fixture(autouse=True)
    def answering(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        yield

    def test_it(self):
        assert summarize("a") == "Short"
