"""Helpers and fakes that do more than give a reply."""

import functools
from types import SimpleNamespace
from unittest.mock import Mock, patch

import pydantic
import reviews
from reviews import summarize

TEXT = "Short"
LATER = Mock(unknown)


def response_of(text):
    return Mock(**{"text.return_value": text})


def model_of(*texts):
    return Mock(**{"prompt.return_value": response_of(texts[0])})


def printing(text):
    print(text)
    return Mock(**{"prompt.return_value": response_of(text)})


def nothing(text):
    model = Mock()
    model.prompt.return_value = response_of(text)


def empty_return(text):
    model = Mock()
    model.prompt.return_value = response_of(text)
    return


def endless(text):
    model = endless(Mock(text))
    return model


class WithBase(SimpleNamespace):
    def prompt(self, prompt, **options):
        return response_of("Short")


@functools.total_ordering
class Decorated:
    def prompt(self, prompt, **options):
        return response_of("Short")


class Busy:
    for number in range(3):
        print(number)

    def prompt(self, prompt, **options):
        return response_of("Short")


class NoArguments:
    def prompt(self, prompt, **options):
        return response_of("Short")


class BusyInit:
    def __init__(self):
        print("made")

    def prompt(self, prompt, **options):
        return response_of("Short")


class BusyPrompt:
    def prompt(self, prompt, **options):
        for word in prompt.split():
            print(word)
        return response_of("Short")


class DecoratedPrompt:
    @functools.cache
    def prompt(self, prompt, **options):
        return response_of("Short")


class Recording:
    def __init__(self):
        self.prompts = []

    def prompt(self, prompt, **options):
        self.prompts.append(f"{len(self.prompts)}. {prompt}")
        return response_of("Short")


class Echo:
    def prompt(self, prompt, **options):
        return response_of(prompt)


class Keeping:
    def __init__(self):
        self.response = response_of("Short")

    def prompt(self, prompt, **options):
        return self.response


class NoPrompt:
    def text(self):
        return "Short"


class TestHelpers:
    def test_stars(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: model_of("Short"))
        assert summarize("a") == "Short"

    def test_hidden_arguments(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: printing(*["Short"]))
        assert summarize("a") == "Short"

    def test_a_missing_argument(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: printing())

    def test_a_helper_that_does_more(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: printing("Short"))
        assert summarize("a") == "Short"

    def test_a_helper_that_returns_nothing(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: nothing("Short"))

    def test_a_helper_with_an_empty_return(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: empty_return("Short"))

    def test_a_helper_that_calls_itself(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: endless("Short"))

    def test_a_constant_that_is_unknown(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", LATER)

    def test_a_choice_by_another_value(self, monkeypatch):
        def by_text(name):
            if TEXT == "Short":
                return model_short()
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_text)

    def test_a_choice_by_an_inequality(self, monkeypatch):
        def by_name(name):
            if name != "gpt-4o":
                return Mock(**{"prompt.return_value": response_of("Short")})
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_by_two_comparisons(self, monkeypatch):
        def by_name(name):
            if name == "gpt-4o" == TEXT:
                return Mock(**{"prompt.return_value": response_of("Short")})
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_by_a_call(self, monkeypatch):
        def by_name(name):
            if name.lower() == "gpt-4o":
                return Mock(**{"prompt.return_value": response_of("Short")})
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_by_no_comparison(self, monkeypatch):
        def by_name(name):
            if name:
                return Mock(**{"prompt.return_value": response_of("Short")})
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_with_else(self, monkeypatch):
        def by_name(name):
            if name == "gpt-4o":
                return Mock(**{"prompt.return_value": response_of("Short")})
            else:
                return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_of_two_lines(self, monkeypatch):
        def by_name(name):
            if name == "gpt-4o":
                model = Mock()
                return model
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_choice_that_raises(self, monkeypatch):
        def by_name(name):
            if name == "gpt-4o":
                raise KeyError(name)
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_function_with_a_decorator(self, monkeypatch):
        @functools.cache
        def by_name(name):
            return Mock(**{"prompt.return_value": response_of("Long")})

        monkeypatch.setattr("reviews.get_model", by_name)

    def test_a_stream_with_more(self, monkeypatch):
        def prompt(text):
            yield from ["Hel", "lo"]
            yield "!"

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))

    def test_a_stream_of_nothing(self, monkeypatch):
        def prompt(text):
            yield

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))

    def test_a_stream_that_does_more(self, monkeypatch):
        def prompt(text):
            print(text)
            yield "Hello"

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))

    def test_a_function_that_raises_again(self, monkeypatch):
        def prompt(text):
            raise

        monkeypatch.setattr("reviews.get_model", lambda name: SimpleNamespace(prompt=prompt))


class TestClasses:
    def test_a_base(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: WithBase())
        assert summarize("a") == "Short"

    def test_a_decorator(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Decorated())
        assert summarize("a") == "Short"

    def test_a_body_that_does_more(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Busy())
        assert summarize("a") == "Short"

    def test_an_argument_too_many(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: NoArguments("Short"))

    def test_an_init_that_does_more(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: BusyInit())
        assert summarize("a") == "Short"

    def test_a_prompt_that_does_more(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: BusyPrompt())
        assert summarize("a") == "Short"

    def test_a_prompt_with_a_decorator(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: DecoratedPrompt())
        assert summarize("a") == "Short"

    def test_a_fake_that_records(self, monkeypatch):
        fake = Recording()
        monkeypatch.setattr("reviews.get_model", lambda name: fake)
        assert summarize("a") == "Short"
        assert fake.prompts == ["Summarize: a"]

    def test_a_fake_that_repeats_the_prompt(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: Echo())
        assert summarize("a") == "Summarize: a"

    def test_a_fake_that_has_no_prompt(self, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: NoPrompt())

    def test_an_attribute_that_a_fake_does_not_have(self, monkeypatch):
        fake = NoArguments()
        fake.chain.return_value = response_of("Short")
        monkeypatch.setattr("reviews.get_model", lambda name: fake)

    def test_an_attribute_that_changes_later(self, monkeypatch):
        fake = Recording()
        fake.prompts = ["a"]
        monkeypatch.setattr("reviews.get_model", lambda name: fake)

    def test_a_response_that_changes_later(self, monkeypatch):
        fake = Keeping()
        fake.response = response_of("Later")
        monkeypatch.setattr("reviews.get_model", lambda name: fake)
        assert summarize("a") == "Later"

    def test_a_model_of_pydantic(self, monkeypatch):
        class Response(pydantic.BaseModel):
            text: str

        monkeypatch.setattr("reviews.get_model", lambda name: Response(text="Short"))


class TestMocks:
    @patch("reviews.get_model")
    def test_hidden_keywords(self, get_model):
        options = {"return_value": "Short"}
        get_model.return_value.prompt.return_value.text = Mock(**options)
        assert summarize("a") == "Short"

    @patch("reviews.get_model")
    def test_two_positional_arguments(self, get_model):
        get_model.return_value.prompt.return_value.text = Mock("text", "side effect")

    @patch("reviews.get_model")
    def test_hidden_attributes(self, get_model):
        options = {"text.return_value": "Short"}
        get_model.return_value.prompt.return_value = SimpleNamespace(**options)

    @patch("reviews.get_model")
    def test_positional_attributes(self, get_model):
        get_model.return_value.prompt.return_value = SimpleNamespace({"text": "Short"})

    @patch("reviews.get_model")
    def test_wraps(self, get_model):
        get_model.return_value = Mock(wraps=NoArguments())

    @patch("reviews.get_model")
    def test_an_attribute_of_a_value(self, get_model):
        get_model.return_value.prompt.return_value = Mock(text="Short", **{"text.return_value": 5})

    @patch("reviews.get_model")
    def test_configured_with_hidden_keywords(self, get_model):
        options = {"text.return_value": "Short"}
        get_model.return_value.prompt.return_value.configure_mock(**options)

    @patch("reviews.get_model")
    def test_names_of_different_numbers(self, get_model):
        first, second = Mock(), Mock(), Mock()
        get_model.return_value = first

    @patch("reviews.get_model")
    def test_names_for_a_mock_and_something_else(self, get_model):
        first, second = get_model.return_value, "Short"
        first.prompt.return_value.text.return_value = second

    @patch("reviews.get_model")
    def test_two_targets(self, get_model):
        first = second = get_model.return_value
        first.prompt.return_value.text.return_value = "Short"

    @patch("reviews.get_model")
    def test_a_type_alone(self, get_model):
        model: Mock
        get_model.return_value = model

    @patch("reviews.get_model")
    def test_more_replies_than_are_counted(self, get_model):
        get_model.return_value.prompt.side_effect = [response_of("Short")] * 31

    @patch("reviews.get_model")
    def test_replies_by_an_unknown_number(self, get_model):
        get_model.return_value.prompt.side_effect = [response_of("Short")] * len(TEXT)

    @patch("reviews.get_model")
    def test_replies_that_are_unpacked(self, get_model):
        get_model.return_value.prompt.side_effect = [*[response_of("Short")]]

    @patch("reviews.get_model")
    def test_models_that_are_unpacked(self, get_model):
        get_model.side_effect = {**{"gpt-4o": Mock()}}.get

    @patch("reviews.get_model")
    def test_models_by_an_unknown_name(self, get_model):
        get_model.side_effect = {TEXT: Mock(), TEXT.lower(): Mock()}.get

    @patch("reviews.get_model")
    def test_a_model_by_an_unknown_name(self, get_model):
        models = {"gpt-4o": Mock()}
        get_model.side_effect = lambda name: models[TEXT]

    @patch("reviews.get_model")
    def test_a_model_by_a_part_of_the_name(self, get_model):
        models = {"gpt-4o": Mock()}
        get_model.side_effect = lambda name: models[name[:5]]

    @patch("reviews.get_model")
    def test_a_model_that_is_missing(self, get_model):
        models = {"gpt-4o": Mock()}
        get_model.side_effect = lambda name: models["gpt-4"]

    @patch("reviews.get_model")
    def test_a_difference(self, get_model):
        get_model.return_value.prompt.return_value.text.return_value = reviews.BROKEN - "a"
