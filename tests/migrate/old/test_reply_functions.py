"""Functions whose replies depend on the prompt, on the messages or on earlier calls."""

import asyncio
import json
from unittest.mock import AsyncMock, MagicMock, Mock, patch

import assistants
import pytest
from reviews import Topic, awaited, draft_and_check, name_prompt, patient, stars, summarize

STYLE = "brief"


def response_of(**fields):
    response = Mock()
    response.text.return_value = json.dumps(fields)
    return response


def completion_of(text):
    return Mock(choices=[Mock(message=Mock(content=text))])


class TestBranches:
    @patch("reviews.get_model")
    def test_each_has_its_reply(self, get_model):
        model = Mock()

        def answer(prompt, **options):
            """Answer each step."""
            lower = prompt.lower()  # in any case

            # The first step.
            if lower.startswith("draft:"):
                draft = Mock()
                draft.text.return_value = "A draft"
                return draft
            elif "check" in lower and prompt.endswith("A draft"):
                return Mock(**{"text.return_value": f"Good: {prompt}"})
            else:
                # Never.
                return Mock(text=lambda: "?")

        model.prompt.side_effect = answer
        get_model.return_value = model
        assert draft_and_check("a") == "Good: Check: A draft"

    @patch("reviews.get_model")
    def test_a_choice(self, get_model):
        def answer(text, system=None):
            return response_of(stars=3) if "good" in text else response_of(stars=1)

        get_model.return_value.prompt = answer
        assert summarize("a good book") == '{"stars": 3}'
        assert summarize("a book") == '{"stars": 1}'

    @patch("reviews.get_model")
    def test_no_else(self, get_model):
        fallback = MagicMock()
        fallback.text.return_value = "Else"

        def answer(text: str, /, **options: object) -> Mock:
            pass
            if "good" in text:
                return Mock(text=Mock(return_value="Good"))
            return fallback

        get_model.return_value.prompt = Mock(side_effect=answer)
        assert [summarize("good"), summarize("bad")] == ["Good", "Else"]
        assert get_model.return_value.prompt.call_count == 2

    @patch("reviews.get_model")
    def test_data(self, get_model):
        def answer(text, schema):
            return Mock(**{"json.return_value": {"stars": len(text), "title": "A"}})

        get_model.return_value.prompt = answer
        assert stars("ab") == 9

    @patch("reviews.get_model")
    def test_the_prompt_itself(self, get_model):
        def answer(prompt, **options):
            return Mock(text=Mock(return_value=prompt))

        get_model.return_value.prompt = answer
        assert name_prompt("a") == "By name: a"

    @patch("reviews.get_model")
    def test_names_of_its_own(self, get_model):
        drafting, checking = Mock(), Mock()
        word = "Good"

        def last(text):
            return text.split()[-1]

        def answer(text, **options):
            # None of these are the values around it.
            word = text.split()
            last = response_of(stars=len(word))
            return last

        drafting.prompt = answer
        checking.prompt.return_value.text.return_value = word
        get_model.side_effect = {"gpt-4o": drafting, "gpt-4o-mini": checking}.get
        assert draft_and_check(last("a b")) == "Good"

    @patch("reviews.get_async_model")
    def test_an_async_function(self, get_async_model):
        async def answer(text, **options):
            if "good" in text:
                return Mock(text=AsyncMock(return_value="Good"))
            return Mock(text=AsyncMock(return_value="Bad"))

        get_async_model.return_value.prompt = answer
        assert asyncio.run(awaited("good")) == "Good"
        assert asyncio.run(awaited("a")) == "Bad"


class TestCalls:
    @patch("reviews.get_model")
    def test_the_second_fails(self, get_model):
        count = 0

        def answer(text, **options):
            nonlocal count
            count += 1
            if count == 1:
                raise ConnectionError("no route")
            return Mock(text=Mock(return_value=f"Call {count}"))

        get_model.return_value.prompt.side_effect = answer
        assert (patient("a"), count) == ("Call 2", 2)

    @patch("reviews.get_model")
    def test_they_are_kept(self, get_model):
        texts = []
        first = Topic(name="bees")
        response = Mock()
        response.text.return_value = json.dumps(first.model_dump()) + STYLE.strip()

        def answer(text, **options):
            for word in text.split():
                texts.append(word)
            answer.calls += 1
            return response

        answer.calls = 0
        get_model.return_value.prompt.side_effect = answer
        assert summarize("a") == '{"name": "bees"}brief'
        assert (texts, answer.calls) == (["Summarize:", "a"], 1)


@pytest.fixture
def response():
    def create(text):
        return Mock(text=Mock(return_value=text))

    return create


@pytest.fixture
def model(response) -> Mock:
    """A model that knows two steps."""
    model = Mock()

    def answer(prompt, **options):
        if "Draft" in prompt:
            return response("A draft")
        return response("Good")

    model.prompt.side_effect = answer
    return model


class TestFixture:
    def test_one(self, model, monkeypatch):
        monkeypatch.setattr("reviews.get_model", lambda name: model)
        assert draft_and_check("a") == "Good"

    @patch("reviews.get_model")
    def test_another(self, get_model, model):
        get_model.return_value = model
        assert summarize("Draft") == "A draft"

    @patch("reviews.get_model")
    def test_none(self, get_model, model):
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        assert summarize("a") == "Short"


@pytest.fixture
def patched():
    with patch("reviews.get_model") as get_model:

        def answer(prompt, **options):
            return Mock(text=Mock(return_value=prompt.upper()))

        get_model.return_value.prompt.side_effect = answer
        yield get_model


def test_a_fixture_that_patches(patched):
    assert summarize("a") == "SUMMARIZE: A"


class TestClients:
    def test_messages(self):
        client = Mock()

        def create(*, messages, temperature=None, top_p=1, **options):
            text = messages[-1]["content"]
            if "tools" not in options and options.get("model") == options["model"]:
                return completion_of(f"{text} {temperature} {top_p}")
            return completion_of("?")

        client.chat.completions.create.side_effect = create
        with patch("assistants.OpenAI", return_value=client):
            assert assistants.Assistant().answer("a") == "Answer: a 0.5 1"

    def test_each_call(self):
        client = Mock()
        count = 0

        def create(**options):
            nonlocal count
            count += 1
            if count == 1:
                return completion_of(options["model"])
            return completion_of("Second")

        client.chat.completions.create = create
        with patch("assistants.OpenAI", return_value=client):
            assistant = assistants.Assistant()
        assert [assistant.answer("a"), assistant.answer("b")] == ["gpt-4o-mini", "Second"]
