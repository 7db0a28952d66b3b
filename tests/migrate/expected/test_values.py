"""Every expression that is certainly a text, data, an error, a stream or usage."""

import json
import textwrap
from datetime import datetime

import llm
import pytest
import reviews
from llm_mock import Reply
from reviews import Review, cached_tokens, counted, patient, stars, streamed, summarize, tokens

FAULTS = ("",)

TEXT = "Short"
OTHER_TEXT = TEXT
DATA = {"stars": 4, "title": "Fine"}
ERROR = ConnectionError("no route")


class Offline(ConnectionError):
    pass


class RateLimitError(ConnectionError):
    pass


class TestTexts:
    def test_literals(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_literals_one_after_the_other(self, mock_llm_responses):
        mock_llm_responses.set("*", "Sho" "rt")
        assert summarize("a") == "Short"

    def test_quotes(self, mock_llm_responses):
        mock_llm_responses.set("*", '"Sh\\ort"')
        assert summarize("a") == '"Sh\\ort"'

    def test_formatted(self, mock_llm_responses):
        mock_llm_responses.set("*", f"{TEXT}!")
        assert summarize("a") == "Short!"

    def test_a_constant_of_a_constant(self, mock_llm_responses):
        mock_llm_responses.set("*", OTHER_TEXT)
        assert summarize("a") == "Short"

    def test_added(self, mock_llm_responses):
        mock_llm_responses.set("*", "Sh" + "ort")
        assert summarize("a") == "Short"

    def test_repeated(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short" * 3)
        assert summarize("a") == "ShortShortShort"

    def test_by_percent(self, mock_llm_responses):
        mock_llm_responses.set("*", "%s!" % TEXT)
        assert summarize("a") == "Short!"

    def test_dumps(self, mock_llm_responses):
        mock_llm_responses.set("*", json.dumps(DATA))
        assert summarize("a") == json.dumps(DATA)

    def test_str(self, mock_llm_responses):
        mock_llm_responses.set("*", str(5))
        assert summarize("a") == "5"

    def test_repr(self, mock_llm_responses):
        mock_llm_responses.set("*", repr(5))
        assert summarize("a") == "5"

    def test_dedent(self, mock_llm_responses):
        mock_llm_responses.set("*", textwrap.dedent("  Short"))
        assert summarize("a") == "Short"

    def test_a_model_as_json(self, mock_llm_responses):
        mock_llm_responses.set("*", Review(**DATA).model_dump_json())
        assert summarize("a") == '{"stars":4,"title":"Fine"}'

    def test_strip(self, mock_llm_responses):
        mock_llm_responses.set("*", " Short ".strip())
        assert summarize("a") == "Short"

    def test_format(self, mock_llm_responses):
        mock_llm_responses.set("*", "{}!".format("Short"))
        assert summarize("a") == "Short!"

    def test_join(self, mock_llm_responses):
        mock_llm_responses.set("*", " ".join(["So", "short"]))
        assert summarize("a") == "So short"

    def test_lower(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short".lower())
        assert summarize("a") == "short"

    def test_upper(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short".upper())
        assert summarize("a") == "SHORT"

    def test_replace(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short".replace("S", "s"))
        assert summarize("a") == "short"

    def test_title(self, mock_llm_responses):
        mock_llm_responses.set("*", "so short".title())
        assert summarize("a") == "So Short"

    def test_capitalize(self, mock_llm_responses):
        mock_llm_responses.set("*", "so short".capitalize())
        assert summarize("a") == "So short"

    def test_a_name_of_the_test(self, mock_llm_responses):
        text = "Short"
        mock_llm_responses.set("*", text)
        assert summarize("a") == text

    def test_text_as_an_attribute(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"


class TestData:
    def test_a_dict(self, mock_llm_responses):
        mock_llm_responses.set("*", {"stars": 4, "title": "Fine"})
        assert stars("a") == 4

    def test_a_dict_of_keywords(self, mock_llm_responses):
        mock_llm_responses.set("*", dict(stars=4, title="Fine"))
        assert stars("a") == 4

    def test_a_dict_of_others(self, mock_llm_responses):
        mock_llm_responses.set("*", {key: value for key, value in DATA.items()})
        assert stars("a") == 4

    def test_a_model(self, mock_llm_responses):
        mock_llm_responses.set("*", Review(**DATA).model_dump())
        assert stars("a") == 4

    def test_a_constant(self, mock_llm_responses):
        mock_llm_responses.set("*", DATA)
        assert stars("a") == 4

    def test_a_list(self, mock_llm_responses):
        mock_llm_responses.set("*", [{"stars": 4, "title": "Fine"}])
        assert reviews.model_of("gpt-4o").prompt("a").json() == [{"stars": 4, "title": "Fine"}]

    def test_a_list_of_others(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(data=[word for word in ("a", "b")]))
        assert reviews.model_of("gpt-4o").prompt("a").json() == ["a", "b"]

    def test_its_dump_beside_it(self, mock_llm_responses):
        mock_llm_responses.set("*", DATA)
        assert stars("a") == reviews.review("a").stars


class TestErrors:
    @pytest.mark.parametrize("attempt", [1, 2])
    def test_a_class(self, attempt, mock_llm_responses):
        mock_llm_responses.set_error("*", ConnectionError)
        assert patient("a") == "no connection"

    def test_an_instance(self, mock_llm_responses):
        mock_llm_responses.set_error("*", ConnectionError("no route"))
        assert patient("a") == "no connection"

    def test_a_constant(self, mock_llm_responses):
        mock_llm_responses.set_error("*", ERROR)
        assert patient("a") == "no connection"

    def test_a_class_of_the_file_by_its_base(self, mock_llm_responses):
        mock_llm_responses.set_error("*", Offline())
        assert patient("a") == "no connection"

    def test_a_class_of_the_file(self, mock_llm_responses):
        mock_llm_responses.set_error("*", RateLimitError)
        assert patient("a") == "no connection"

    def test_an_exception(self, mock_llm_responses):
        mock_llm_responses.set_error("*", Exception("overloaded"))
        with pytest.raises(Exception, match="overloaded"):
            summarize("a")

    def test_an_interrupt(self, mock_llm_responses):
        mock_llm_responses.set_error("*", KeyboardInterrupt)
        with pytest.raises(KeyboardInterrupt):
            summarize("a")

    def test_the_end_of_an_iterator(self, mock_llm_responses):
        mock_llm_responses.add("*", StopAsyncIteration("over"))
        with pytest.raises(StopAsyncIteration):
            summarize("a")

    def test_one_of_llm(self, mock_llm_responses):
        mock_llm_responses.set_error("*", llm.NeedsKeyException("no key"))
        with pytest.raises(llm.NeedsKeyException):
            summarize("a")

    def test_errors_in_a_list(self, mock_llm_responses):
        mock_llm_responses.add("*", ConnectionError("one"))
        mock_llm_responses.add("*", ConnectionError("two"))
        mock_llm_responses.add("*", TimeoutError("three"))
        with pytest.raises(TimeoutError, match="three"):
            patient("a")

    def test_errors_in_a_tuple(self, mock_llm_responses):
        mock_llm_responses.add("*", ConnectionError("one"))
        mock_llm_responses.add("*", "At last")
        assert patient("a") == "At last"

    def test_errors_of_an_iterator(self, mock_llm_responses):
        mock_llm_responses.add("*", ConnectionError)
        mock_llm_responses.add("*", "At last")
        assert patient("a") == "At last"


class TestStreams:
    def test_a_list(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_tuple(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=("Hel", "lo")))
        assert streamed("a") == ["Hel", "lo"]

    def test_an_iterator(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_copy(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=("Hel", "lo")))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_generator(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_another_generator(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(chunks=["Hel", "lo"]))
        assert streamed("a") == ["Hel", "lo"]

    def test_the_whole_text_as_one_chunk(self, mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        assert "".join(streamed("a")) == "Hello"


class TestUsage:
    def test_a_mock(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5}))
        assert tokens("a") == 15

    def test_attributes(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5}))
        assert tokens("a") == 15

    def test_usage_of_llm(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage=llm.models.Usage(10, 5)))
        assert tokens("a") == 15

    def test_details(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5, "details": {"cached_tokens": 7}}))
        assert cached_tokens("a") == 7

    def test_no_details(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5, "details": None}))
        assert cached_tokens("a") == 0

    def test_none(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_a_dict(self, mock_llm_responses):
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5}))
        assert counted("a") == 15

    def test_a_dict_in_place_of_the_method(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply("Short", usage={"input_tokens": 10, "output_tokens": 5}))
        assert counted("a") == 15

    def test_an_empty_dict(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"

    def test_of_data(self, mock_llm_responses):
        mock_llm_responses.set("*", Reply(data=DATA, usage={"input_tokens": 10, "output_tokens": 5}))
        assert stars("a") == 4


def test_a_date(mock_llm_responses):
    mock_llm_responses.set("*", str(datetime(2026, 1, 1)))
    assert summarize("a") == "2026-01-01 00:00:00"


def test_two_replies_and_one_again(mock_llm_responses):
    mock_llm_responses.add("*", "Short", times=3)
    assert [summarize(text) for text in "abc"] == ["Short", "Short", "Short"]
