"""Functions that depend on the prompt, and whose replies are not certain."""

import functools
import json
from unittest.mock import Mock, patch

import litellm
import openai
import pytest
from reviews import patient, summarize

COUNTER = iter(range(9))


def response_of(text):
    return Mock(text=Mock(return_value=text))


def completion_of(text):
    return Mock(choices=[Mock(message=Mock(content=text))])


def of_the_file(text, **options):
    return response_of(text)


def give(response, text):
    response.text = Mock(return_value=text)
    return response


class TestNames:
    @patch("reviews.get_model")
    def test_a_parameter_that_changes(self, get_model):
        def answer(text, **options):
            text = text.lower()
            return response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_parameter_of_a_lambda(self, get_model):
        def answer(text, **options):
            return response_of(max(text.split(), key=lambda text: len(text)))

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_another_prompt(self, get_model):
        def answer(text, **options):
            prompt = text.lower()
            return response_of(prompt)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_options(self, get_model):
        def answer(text, **options):
            return response_of("Brief" if options.get("system") else "Long")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_options_of_a_condition(self, get_model):
        def answer(text, system=None):
            if system:
                return response_of("Brief")
            return response_of("Long")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_no_parameter(self, get_model):
        def answer(*texts):
            return response_of(texts[0].lower())

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_name_that_was_another_value(self, get_model):
        word = "Short"
        response = response_of(word)

        def answer(text, **options):
            for word in text.split():
                print(word)
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_prompt_that_was_another_value(self, get_model):
        prompt = "Short"
        response = response_of(prompt.lower())

        def answer(text, **options):
            print(text)
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_name_that_changes(self, get_model):
        word = "Short"
        response = response_of(word.strip())
        word = "Long"

        def answer(text, **options):
            print(text)
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_value_that_differs_each_time(self, get_model):
        response = Mock()
        response.text.return_value = json.dumps(next(COUNTER))

        def answer(text, **options):
            print(text)
            return response

        get_model.return_value.prompt = answer


class TestMocks:
    @patch("reviews.get_model")
    def test_one_for_all_calls(self, get_model):
        response = Mock()

        def answer(text, **options):
            response.text.return_value = text.lower()
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_for_two_branches(self, get_model):
        def answer(text, **options):
            response = Mock()
            if "good" in text:
                response.text.return_value = "Good"
            else:
                response.text.return_value = "Bad"
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_by_another_name(self, get_model):
        def answer(text, **options):
            response = Mock()
            if "good" in text:
                same = response
                same.configure_mock(**{"text.return_value": "Good"})
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_that_a_helper_configures(self, get_model):
        def answer(text, **options):
            response = Mock()
            if "good" in text:
                return give(response, "Good")
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_another_in_each_branch(self, get_model):
        def answer(text, **options):
            if "good" in text:
                response = response_of("Good")
            else:
                response = response_of("Bad")
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_another_in_a_branch(self, get_model):
        def answer(text, **options):
            response = response_of("Bad")
            if "bad" in text:
                print(text)
            elif "good" in text:
                response = response_of("Good")
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_text_in_a_branch(self, get_model):
        def answer(text, **options):
            response = response_of("Bad")
            if "good" in text:
                response = "Good"
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_that_is_kept(self, get_model):
        responses = []

        def answer(text, **options):
            response = response_of("Short")
            responses.append(response)
            return response

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_of_a_part(self, get_model):
        response = response_of("Short")

        def answer(text, **options):
            other = Mock()
            other.usage = response.usage
            other.usage.input = 5
            other.text.return_value = text
            return other

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_in_a_text(self, get_model):
        response = response_of("Short")

        def answer(text, **options):
            return response_of(response + text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_in_a_condition(self, get_model):
        response = response_of("Short")

        def answer(text, **options):
            if response.text():
                return response
            return response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_one_in_a_choice(self, get_model):
        response = response_of("Short")

        def answer(text, **options):
            return response if response.called else response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_nothing_configured(self, get_model):
        def answer(text, **options):
            return response_of("Good") if "good" in text else Mock()

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_text_of_another_type(self, get_model):
        def answer(text, **options):
            words = text.split()
            return response_of(words)

        get_model.return_value.prompt = answer


class TestStatements:
    @patch("reviews.get_model")
    def test_a_loop(self, get_model):
        def answer(text, **options):
            for word in text.split():
                return response_of(word)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_function(self, get_model):
        def answer(text, **options):
            def last():
                print(text.split()[-1])

            last()
            return response_of("Short")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_class(self, get_model):
        def answer(text, **options):
            class Words:
                first = text

            return response_of("Short")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_caught_error(self, get_model):
        def answer(text, **options):
            try:
                raise ValueError(text)
            except ValueError:
                print(text)
            return response_of("Short")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_an_empty_return(self, get_model):
        def answer(text, **options):
            if "good" in text:
                return
            return response_of("Short")

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_an_error_of_another(self, get_model):
        def answer(text, **options):
            raise ValueError(text) from KeyError(text)

        get_model.return_value.prompt = Mock(side_effect=answer)

    @patch("reviews.get_model")
    def test_a_decorator(self, get_model):
        @functools.cache
        def answer(text, **options):
            return response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_generator(self, get_model):
        def answer(text, **options):
            yield response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_model")
    def test_a_coroutine(self, get_model):
        async def answer(text, **options):
            return response_of(text)

        get_model.return_value.prompt = answer

    @patch("reviews.get_async_model")
    def test_an_awaited_value(self, get_async_model):
        async def answer(text, **options):
            await get_async_model.wait()
            return Mock(text=Mock(return_value=text))

        get_async_model.return_value.prompt = answer


class TestPlaces:
    @patch("reviews.get_model")
    def test_a_function_of_the_file(self, get_model):
        get_model.return_value.prompt = of_the_file

    @patch("reviews.get_model")
    def test_a_function_in_a_function(self, get_model):
        def by_name(name):
            def answer(text, **options):
                return response_of(f"{name}: {text}")

            return Mock(prompt=answer)

        get_model.side_effect = by_name

    @patch("reviews.get_model")
    def test_two_of_one_name(self, get_model):
        first = Mock()

        def answer(text, **options):
            return response_of(text)

        first.prompt = answer

        def answer(text, **options):
            return response_of(text.lower())

        get_model.return_value = first
        assert summarize("a")

    @patch("reviews.get_model")
    def test_another_by_its_name(self, get_model):
        def answer(text, **options):
            return response_of(text)

        get_model.return_value.prompt = answer
        assert summarize("a")

        def answer(text):
            return text

    @patch("reviews.get_model")
    def test_another_reply_later(self, get_model):
        response = response_of("Short")

        def answer(text, **options):
            print(text)
            return response

        get_model.return_value.prompt = answer
        assert summarize("a")
        response.text.return_value = "Long"
        assert summarize("a")

    @patch("reviews.get_model")
    def test_a_call(self, get_model):
        def answer(text, **options):
            return response_of(text)

        get_model.return_value.prompt = answer
        assert answer("a").text() == summarize("a")

    @patch("reviews.get_model")
    def test_a_call_by_another(self, get_model):
        def answer(text, **options):
            return response_of(text)

        def other(text):
            return answer(text)

        get_model.return_value.prompt = answer
        assert patient("a") == other("a")


@pytest.fixture
def model():
    model = Mock()

    def answer(text, **options):
        return response_of(text.lower())

    model.prompt = answer
    yield model
    print("end")


@pytest.fixture
def two_models():
    model = Mock()

    def answer(text, **options):
        return response_of(text.lower())

    def chain(text, **options):
        return response_of(text.upper())

    model.prompt = answer
    model.chain = chain
    return model


@pytest.fixture
def shared():
    model = Mock()

    def answer(text, **options):
        return response_of(text.lower())

    model.prompt = answer
    return model


@pytest.fixture
def handed():
    model = Mock()

    def answer(text, **options):
        return response_of(text.lower())

    model.prompt = answer
    return model


class TestFixtures:
    @patch("reviews.get_model")
    def test_a_fixture_of_another_test(self, get_model, handed):
        get_model.return_value = handed
        assert summarize("a")

    def test_its_model(self, handed):
        assert handed.prompt("a")

    @patch("reviews.get_model")
    def test_a_fixture_that_goes_on(self, get_model, model):
        get_model.return_value = model
        assert summarize("a")

    @patch("reviews.get_model")
    def test_two_functions(self, get_model, two_models):
        get_model.return_value = two_models
        assert summarize("a")

    @patch("reviews.get_model")
    def test_a_shared_fixture(self, get_model, shared):
        get_model.return_value = shared
        assert summarize("a")

    @patch("reviews.get_model")
    def test_its_other_use(self, get_model, shared):
        get_model.return_value = shared
        assert shared.prompt("a")


class TestClients:
    def test_a_timeout(self):
        def create(*, timeout, **options):
            return completion_of(f"{timeout}")

        client = Mock()
        client.chat.completions.create = create
        with patch("openai.OpenAI", return_value=client):
            assert openai.OpenAI()

    def test_a_timeout_by_name(self):
        def create(**options):
            return completion_of("Late" if "timeout" in options else "Early")

        with patch("openai.OpenAI") as client:
            client.return_value.chat.completions.create = create

    def test_any_argument(self):
        def create(**options):
            return completion_of(options[str(len(options["model"]))])

        with patch("openai.OpenAI") as client:
            client.return_value.chat.completions.create = create

    def test_any_option(self):
        def create(**options):
            return completion_of(options.get(str(len(options["model"])), "Short"))

        with patch("openai.OpenAI") as client:
            client.return_value.chat.completions.create = create

    def test_all_arguments(self):
        calls = []

        def create(**options):
            calls.append([*options.values()])
            print(options)
            return completion_of(options["model"])

        with patch("openai.OpenAI") as client:
            client.return_value.chat.completions.create = create

    def test_a_removed_argument(self):
        def create(**options):
            return completion_of(options.pop("model"))

        with patch("openai.OpenAI") as client:
            client.return_value.chat.completions.create = create

    def test_a_model_of_litellm(self):
        def complete(model, messages):
            return completion_of(f"{model} {messages}")

        with patch("litellm.completion", complete):
            assert litellm.completion("gpt-4o", [])

    def test_an_argument_that_litellm_may_drop(self):
        def complete(messages, temperature=None):
            return completion_of(f"{temperature} {messages}")

        with patch("litellm.completion", complete):
            assert litellm.completion("gpt-4o", [])

    def test_an_option_that_litellm_may_drop(self):
        def complete(**options):
            return completion_of(f"{options.get('temperature')}")

        with patch("litellm.completion", complete):
            assert litellm.completion("gpt-4o", [])

    def test_an_error_of_litellm(self):
        def complete(messages, **options):
            if messages:
                raise ValueError("no")
            return completion_of("Short")

        with patch("litellm.completion", complete):
            assert litellm.completion("gpt-4o", [])
