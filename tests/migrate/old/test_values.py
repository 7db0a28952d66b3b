"""Every expression that is certainly a text, data, an error, a stream or usage."""

import json
import textwrap
from datetime import datetime
from types import SimpleNamespace
from unittest.mock import MagicMock, Mock, patch

import llm
import pytest
import reviews
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


def text_of(value):
    get_model = Mock()
    get_model.return_value.prompt.return_value.text.return_value = value
    return get_model


def data_of(value):
    get_model = Mock()
    get_model.return_value.prompt.return_value.json.return_value = value
    return get_model


def error_of(value):
    get_model = Mock()
    get_model.return_value.prompt.side_effect = value
    return get_model


class TestTexts:
    def test_literals(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Short"))
        assert summarize("a") == "Short"

    def test_literals_one_after_the_other(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Sho" "rt"))
        assert summarize("a") == "Short"

    def test_quotes(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of('"Sh\\ort"'))
        assert summarize("a") == '"Sh\\ort"'

    def test_formatted(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(f"{TEXT}!"))
        assert summarize("a") == "Short!"

    def test_a_constant_of_a_constant(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(OTHER_TEXT))
        assert summarize("a") == "Short"

    def test_added(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Sh" + "ort"))
        assert summarize("a") == "Short"

    def test_repeated(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Short" * 3))
        assert summarize("a") == "ShortShortShort"

    def test_by_percent(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("%s!" % TEXT))
        assert summarize("a") == "Short!"

    def test_dumps(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(json.dumps(DATA)))
        assert summarize("a") == json.dumps(DATA)

    def test_str(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(str(5)))
        assert summarize("a") == "5"

    def test_repr(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(repr(5)))
        assert summarize("a") == "5"

    def test_dedent(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(textwrap.dedent("  Short")))
        assert summarize("a") == "Short"

    def test_a_model_as_json(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(Review(**DATA).model_dump_json()))
        assert summarize("a") == '{"stars":4,"title":"Fine"}'

    def test_strip(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(" Short ".strip()))
        assert summarize("a") == "Short"

    def test_format(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("{}!".format("Short")))
        assert summarize("a") == "Short!"

    def test_join(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of(" ".join(["So", "short"])))
        assert summarize("a") == "So short"

    def test_lower(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Short".lower()))
        assert summarize("a") == "short"

    def test_upper(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Short".upper()))
        assert summarize("a") == "SHORT"

    def test_replace(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("Short".replace("S", "s")))
        assert summarize("a") == "short"

    def test_title(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("so short".title()))
        assert summarize("a") == "So Short"

    def test_capitalize(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", text_of("so short".capitalize()))
        assert summarize("a") == "So short"

    def test_a_name_of_the_test(self, monkeypatch):
        text = "Short"
        monkeypatch.setattr("reviews.get_model", text_of(text))
        assert summarize("a") == text

    def test_text_as_an_attribute(self, monkeypatch):
        model = Mock(**{"prompt.return_value": SimpleNamespace(text=lambda: "Short")})
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert summarize("a") == "Short"


class TestData:
    def test_a_dict(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of({"stars": 4, "title": "Fine"}))
        assert stars("a") == 4

    def test_a_dict_of_keywords(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of(dict(stars=4, title="Fine")))
        assert stars("a") == 4

    def test_a_dict_of_others(self, monkeypatch):
        data = data_of({key: value for key, value in DATA.items()})
        monkeypatch.setattr("reviews.get_model", data)
        assert stars("a") == 4

    def test_a_model(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of(Review(**DATA).model_dump()))
        assert stars("a") == 4

    def test_a_constant(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of(DATA))
        assert stars("a") == 4

    def test_a_list(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of([{"stars": 4, "title": "Fine"}]))
        assert reviews.model_of("gpt-4o").prompt("a").json() == [{"stars": 4, "title": "Fine"}]

    def test_a_list_of_others(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", data_of([word for word in ("a", "b")]))
        assert reviews.model_of("gpt-4o").prompt("a").json() == ["a", "b"]

    def test_its_dump_beside_it(self, monkeypatch):
        response = Mock()
        response.text.return_value = json.dumps(DATA)
        response.json.return_value = DATA
        monkeypatch.setattr("reviews.get_model", lambda name: Mock(**{"prompt.return_value": response}))
        assert stars("a") == reviews.review("a").stars


class TestErrors:
    @pytest.mark.parametrize("attempt", [1, 2])
    def test_a_class(self, monkeypatch, attempt):
        monkeypatch.setattr("reviews.get_model", error_of(ConnectionError))
        assert patient("a") == "no connection"

    def test_an_instance(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(ConnectionError("no route")))
        assert patient("a") == "no connection"

    def test_a_constant(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(ERROR))
        assert patient("a") == "no connection"

    def test_a_class_of_the_file_by_its_base(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(Offline()))
        assert patient("a") == "no connection"

    def test_a_class_of_the_file(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(RateLimitError))
        assert patient("a") == "no connection"

    def test_an_exception(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(Exception("overloaded")))
        with pytest.raises(Exception, match="overloaded"):
            summarize("a")

    def test_an_interrupt(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            summarize("a")

    def test_the_end_of_an_iterator(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of([StopAsyncIteration("over")]))
        with pytest.raises(StopAsyncIteration):
            summarize("a")

    def test_one_of_llm(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", error_of(llm.NeedsKeyException("no key")))
        with pytest.raises(llm.NeedsKeyException):
            summarize("a")

    def test_errors_in_a_list(self, monkeypatch):
        get_model = error_of([ConnectionError("one"), ConnectionError("two"), TimeoutError("three")])
        monkeypatch.setattr("reviews.get_model", get_model)
        with pytest.raises(TimeoutError, match="three"):
            patient("a")

    def test_errors_in_a_tuple(self, monkeypatch):
        last = Mock(**{"text.return_value": "At last"})
        monkeypatch.setattr("reviews.get_model", error_of((ConnectionError("one"), last)))
        assert patient("a") == "At last"

    def test_errors_of_an_iterator(self, monkeypatch):
        last = Mock(**{"text.return_value": "At last"})
        monkeypatch.setattr("reviews.get_model", error_of(iter([ConnectionError, last])))
        assert patient("a") == "At last"


class TestStreams:
    def test_a_list(self, monkeypatch):
        model = Mock(**{"prompt.return_value": ["Hel", "lo"]})
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_tuple(self, monkeypatch):
        model = Mock(**{"prompt.return_value": ("Hel", "lo")})
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_an_iterator(self, monkeypatch):
        model = MagicMock()
        model.prompt.return_value.__iter__.return_value = iter(["Hel", "lo"])
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_copy(self, monkeypatch):
        model = MagicMock()
        model.prompt.return_value.__iter__.return_value = list(("Hel", "lo"))
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_generator(self, monkeypatch):
        class Response:
            def __iter__(self):
                yield "Hel"
                yield "lo"

        model = Mock(**{"prompt.side_effect": lambda prompt: Response()})
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_another_generator(self, monkeypatch):
        class Response:
            def __iter__(self):
                yield from ["Hel", "lo"]

        model = Mock(**{"prompt.side_effect": lambda prompt: Response()})
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert streamed("a") == ["Hel", "lo"]

    def test_the_whole_text_as_one_chunk(self, monkeypatch):
        model = MagicMock()
        model.prompt.return_value.text.return_value = "Hello"
        model.prompt.return_value.__iter__.return_value = ["Hello"]
        monkeypatch.setattr("reviews.get_model", Mock(return_value=model))
        assert "".join(streamed("a")) == "Hello"


class TestUsage:
    def test_a_mock(self, monkeypatch):
        get_model = text_of("Short")
        usage = get_model.return_value.prompt.return_value.usage
        usage.return_value = Mock(input=10, output=5)
        monkeypatch.setattr("reviews.get_model", get_model)
        assert tokens("a") == 15

    def test_attributes(self, monkeypatch):
        get_model = text_of("Short")
        usage = get_model.return_value.prompt.return_value.usage.return_value
        usage.input = 10
        usage.output = 5
        monkeypatch.setattr("reviews.get_model", get_model)
        assert tokens("a") == 15

    def test_usage_of_llm(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage.return_value = llm.models.Usage(10, 5)
        monkeypatch.setattr("reviews.get_model", get_model)
        assert tokens("a") == 15

    def test_details(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(
            input=10, output=5, details={"cached_tokens": 7}
        )
        monkeypatch.setattr("reviews.get_model", get_model)
        assert cached_tokens("a") == 7

    def test_no_details(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage.return_value = SimpleNamespace(
            input=10, output=5, details=None
        )
        monkeypatch.setattr("reviews.get_model", get_model)
        assert cached_tokens("a") == 0

    def test_none(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage.return_value = None
        monkeypatch.setattr("reviews.get_model", get_model)
        assert summarize("a") == "Short"

    def test_a_dict(self, monkeypatch):
        get_model = text_of("Short")
        usage = {"prompt_tokens": 10, "completion_tokens": 5}
        get_model.return_value.prompt.return_value.usage.return_value = usage
        monkeypatch.setattr("reviews.get_model", get_model)
        assert counted("a") == 15

    def test_a_dict_in_place_of_the_method(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage = {
            "prompt_tokens": 10,
            "completion_tokens": 5,
        }
        monkeypatch.setattr("reviews.get_model", get_model)
        assert counted("a") == 15

    def test_an_empty_dict(self, monkeypatch):
        get_model = text_of("Short")
        get_model.return_value.prompt.return_value.usage = {}
        monkeypatch.setattr("reviews.get_model", get_model)
        assert summarize("a") == "Short"

    def test_of_data(self, monkeypatch):
        get_model = data_of(DATA)
        usage = get_model.return_value.prompt.return_value.usage
        usage.return_value = Mock(input=10, output=5)
        monkeypatch.setattr("reviews.get_model", get_model)
        assert stars("a") == 4


def test_a_date(monkeypatch):
    monkeypatch.setattr("reviews.get_model", text_of(str(datetime(2026, 1, 1))))
    assert summarize("a") == "2026-01-01 00:00:00"


def test_two_replies_and_one_again():
    with patch("reviews.get_model") as get_model:
        answer = Mock(**{"text.return_value": "Short"})
        get_model.return_value.prompt.side_effect = [answer] * 2 + [answer]
        assert [summarize(text) for text in "abc"] == ["Short", "Short", "Short"]
