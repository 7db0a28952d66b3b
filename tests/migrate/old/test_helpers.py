"""Helpers, functions and fakes of the file, which are followed to the reply that they give."""

from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import pytest
import reviews
from reviews import chat, draft_and_check, lookup, stars, streamed, summarize

FAULTS = ("",)
RESPONSE = Mock(**{"text.return_value": "Constant"})
MODEL = Mock(prompt=Mock(return_value=RESPONSE))


def response_of(text):
    response = Mock()
    response.text.return_value = text
    return response


def model_of(response):
    return MagicMock(prompt=Mock(return_value=response))


def model_with(text):
    """A helper of helpers."""
    return model_of(response_of(text))


def get_model_with(text="Short", /, suffix="!", *, loud=False):
    pass
    whole = text + suffix
    model: Mock = model_with(whole)
    return Mock(return_value=model)


def namespace_of(text):
    return SimpleNamespace(prompt=lambda prompt, **options: SimpleNamespace(text=lambda: text))


def response_of_any(value=None):
    if value is None:
        value = {"stars": 4, "title": "Fine"}
    response = Mock()
    if isinstance(value, str):
        response.text.return_value = value
    else:
        response.json.return_value = value
    return response


def fake_of(text):
    return Fake(text)


def first_of_two(text):
    first, second = Mock(), Mock()
    first.prompt.return_value = response_of(text)
    return first


def model_with_a_function(text):
    def prompt(prompt, system=None):
        return response_of(text)

    model = Mock()
    model.configure_mock(prompt=prompt)
    return model


def by_name(name):
    if name == "gpt-4o":
        return model_with("A draft")
    return model_with("Checked")


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


class Stream:
    def __iter__(self):
        yield "Hel"
        yield "lo"


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
    def test_a_constant(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", Mock(return_value=MODEL))
        assert summarize("a") == "Constant"

    def test_a_response(self, monkeypatch):
        model = Mock()
        model.prompt.return_value = response_of("Short")
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert summarize("a") == "Short"

    def test_a_text_by_its_type(self, monkeypatch):
        model = Mock()
        model.prompt.return_value = response_of_any("Short")
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert summarize("a") == "Short"

    def test_data_by_its_type(self, monkeypatch):
        model = Mock()
        model.prompt.return_value = response_of_any({"stars": 5, "title": "Great"})
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert stars("a") == 5

    def test_the_data_of_a_default(self, monkeypatch):
        model = Mock()
        model.prompt.return_value = response_of_any()
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert stars("a") == 4

    def test_a_helper_of_helpers(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: model_with("Short"))
        assert summarize("a") == "Short"

    def test_default_arguments(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", get_model_with())
        assert summarize("a") == "Short!"

    def test_arguments(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", get_model_with("So short", suffix="?", loud=True))
        assert summarize("a") == "So short?"

    def test_an_argument_by_position(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", get_model_with("So short", "."))
        assert summarize("a") == "So short."

    def test_an_argument_of_the_test(self, monkeypatch, text="Short"):
        whole = "So short"
        monkeypatch.setattr("reviews.get_model", get_model_with(whole))
        assert summarize("a") == "So short!"

    def test_a_namespace(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: namespace_of("Short"))
        assert summarize("a") == "Short"

    def test_a_fake(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: fake_of("Short"))
        assert summarize("a") == "Short"

    def test_two_mocks(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: first_of_two("Short"))
        assert summarize("a") == "Short"

    def test_a_function_in_a_helper(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: model_with_a_function("Short"))
        assert summarize("a") == "Short"

    def test_a_helper_by_name(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", by_name)
        assert draft_and_check("a") == "Checked"

    def test_a_helper_of_something_else(self, monkeypatch):
        number = counted(1)
        monkeypatch.setattr("reviews.get_model", lambda name: model_with("Short"))
        assert (summarize("a"), number) == ("Short", 2)

    def test_a_list_of_helpers(self, monkeypatch):
        model = Mock()
        model.prompt.side_effect = list([response_of("One"), response_of("Two")])
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert [summarize("a"), summarize("b")] == ["One", "Two"]

    def test_lists_that_are_added(self, monkeypatch):
        model = Mock()
        model.prompt.side_effect = [ConnectionError("no route")] + [response_of("Two")] * 2
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert reviews.patient("a") == summarize("b") == "Two"

    def test_plain_lists_that_are_added(self, monkeypatch):
        words = ["a"] * 2 + ["b"]
        monkeypatch.setattr("reviews.get_model", lambda name: model_with("Short"))
        assert [summarize(word) for word in words] == ["Short"] * 3


class TestFakes:
    def test_arguments(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Fake("Short", suffix="!"))
        assert summarize("a") == "Short!"

    def test_default_arguments(self, monkeypatch):
        fake = Fake()
        monkeypatch.setattr("reviews.get_model", lambda name: fake)
        assert summarize("a") == "Fake"

    def test_a_stream(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Mock(**{"prompt.return_value": Stream()}))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_method_that_is_replaced(self, monkeypatch):
        fake = Fake()
        fake.prompt = Mock(return_value=response_of("Replaced"))
        monkeypatch.setattr("reviews.get_model", lambda name: fake)
        assert summarize("a") == "Replaced"
        fake.prompt.assert_called_once()

    def test_an_async_fake(self, monkeypatch):
        class AsyncResponse:
            async def text(self):
                return "Hallo"

            async def __aiter__(self):
                yield "Hallo"

        class AsyncModel:
            def prompt(self, prompt, **options):
                return AsyncResponse()

        monkeypatch.setattr("reviews.get_async_model", lambda name: AsyncModel())
        assert reviews.asyncio.run(reviews.translate("a")) == "Hallo"
        assert reviews.asyncio.run(reviews.astreamed("a")) == ["Hallo"]


class TestFunctions:
    def test_a_function_of_the_test(self, monkeypatch):
        def fake_get_model(name, *, retries=3):
            """Answer at once."""
            return model_with("Short")

        monkeypatch.setattr("reviews.get_model", fake_get_model)
        assert summarize("a") == "Short"

    def test_a_function_of_a_name_of_the_test(self, monkeypatch):
        text = "Short"
        model = model_with(text)

        def fake_get_model(name):
            return model

        monkeypatch.setattr("reviews.get_model", fake_get_model)
        assert summarize("a") == "Short"

    def test_a_function_of_a_function(self, monkeypatch):
        def new_model(text):
            return model_with(text)

        def fake_get_model(name):
            return new_model("Short")

        monkeypatch.setattr("reviews.get_model", fake_get_model)
        assert summarize("a") == "Short"

    def test_a_function_that_raises(self, monkeypatch):
        def prompt(text, **options):
            raise ConnectionError("no route")

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))
        assert reviews.patient("a") == "no connection"

    def test_a_function_that_streams(self, monkeypatch):
        def prompt(text):
            yield from ["Hel", "lo"]

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))
        assert streamed("a") == ["Hel", "lo"]

    def test_a_function_with_a_choice(self, monkeypatch):
        drafting, checking = model_with("A draft"), model_with("Checked")

        def fake_get_model(name="gpt-4o"):
            if name == "gpt-4o":
                return drafting
            return checking

        monkeypatch.setattr("reviews.get_model", fake_get_model)
        assert draft_and_check("a") == "Checked"
        drafting.prompt.assert_called_once()

    def test_one_line(self, monkeypatch):
        def fake_get_model(name): return model_with("Short")  # fmt: skip

        monkeypatch.setattr("reviews.get_model", fake_get_model)
        assert summarize("a") == "Short"


class TestReplies:
    def test_text_and_data(self, monkeypatch):
        response = response_of('{"stars": 4, "title": "Fine"}')
        response.json.return_value = {"stars": 4, "title": "Fine", "id": "r1"}
        monkeypatch.setattr("reviews.get_model", lambda name: model_of(response))
        assert (stars("a"), reviews.review("a").title) == (4, "Fine")

    def test_text_and_data_and_usage(self, monkeypatch):
        response = response_of('{"stars": 4, "title": "Fine"}')
        response.json.return_value = {"stars": 4, "title": "Fine", "id": "r1"}
        response.usage.return_value = SimpleNamespace(input=3, output=4)
        monkeypatch.setattr("reviews.get_model", lambda name: model_of(response))
        assert (stars("a"), reviews.tokens("a")) == (4, 7)

    def test_a_stream_and_usage(self, monkeypatch):
        response = MagicMock()
        response.__iter__.return_value = ["Hel", "lo"]
        response.usage.return_value = SimpleNamespace(input=3, output=4)
        monkeypatch.setattr("reviews.get_model", lambda name: model_of(response))
        assert (streamed("a"), reviews.tokens("a")) == (["Hel", "lo"], 7)

    def test_a_conversation_and_a_chain(self, monkeypatch):
        model = Mock()
        model.chain.return_value = response_of("Five")
        model.conversation.return_value.prompt.return_value = response_of("Five")
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert [lookup("a"), *chat("b")] == ["Five", "Five"]

    def test_a_side_effect_that_is_removed(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.side_effect = ConnectionError
            assert reviews.patient("a") == "no connection"
            get_model.return_value.prompt.side_effect = ValueError("too long")
            with pytest.raises(ValueError, match="too long"):
                summarize("a")
            get_model.return_value.prompt.side_effect = None
            get_model.return_value.prompt.return_value = response_of("Short")
            assert summarize("a") == "Short"

    def test_an_async_queue(self):
        with patch("reviews.get_async_model") as get_async_model:
            first = Mock(text=AsyncMock(return_value="Eins"))
            second = Mock(text=AsyncMock(return_value="Zwei"))
            get_async_model.return_value.prompt.side_effect = [first, second]
            run = reviews.asyncio.run
            assert [run(reviews.translate("a")), run(reviews.translate("b"))] == ["Eins", "Zwei"]

    def test_two_patches_one_after_the_other(self):
        with patch("reviews.get_model", Mock(return_value=model_with("First"))):
            assert summarize("a") == "First"
        with patch("reviews.get_model", Mock(return_value=model_with("First"))):
            assert summarize("a") == "First"

    def test_nothing_but_a_reply_in_a_block(self, tmp_path):
        with patch("reviews.get_model") as get_model, open(tmp_path / "file", "w"):
            get_model.return_value = model_with("Short")


class TestWithAFixture:
    @pytest.fixture(autouse=True)
    def answering(self):
        with patch("reviews.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Short"
            yield

    def test_it(self):
        assert summarize("a") == "Short"
