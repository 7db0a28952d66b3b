"""Functions whose replies depend on the prompt, on the messages or on earlier calls."""

import asyncio
import json

import assistants
import pytest
from reviews import Topic, awaited, draft_and_check, name_prompt, patient, stars, summarize

STYLE = "brief"


class TestBranches:
    def test_each_has_its_reply(self, mock_llm_responses):
        def answer(prompt):
            """Answer each step."""
            lower = prompt.prompt.lower()  # in any case

            # The first step.
            if lower.startswith("draft:"):
                return "A draft"
            elif "check" in lower and prompt.prompt.endswith("A draft"):
                return f"Good: {prompt.prompt}"
            else:
                # Never.
                return "?"

        mock_llm_responses.set("*", answer)
        assert draft_and_check("a") == "Good: Check: A draft"

    def test_a_choice(self, mock_llm_responses):
        def answer(prompt):
            return json.dumps({"stars": 3}) if "good" in prompt.prompt else json.dumps({"stars": 1})

        mock_llm_responses.set("*", answer)
        assert summarize("a good book") == '{"stars": 3}'
        assert summarize("a book") == '{"stars": 1}'

    def test_no_else(self, mock_llm_responses, mock_llm_calls):
        def answer(prompt):
            pass
            if "good" in prompt.prompt:
                return "Good"
            return "Else"

        mock_llm_responses.set("*", answer)
        assert [summarize("good"), summarize("bad")] == ["Good", "Else"]
        assert len(mock_llm_calls.calls) == 2

    def test_data(self, mock_llm_responses):
        def answer(prompt):
            return {"stars": len(prompt.prompt), "title": "A"}

        mock_llm_responses.set("*", answer)
        assert stars("ab") == 9

    def test_the_prompt_itself(self, mock_llm_responses):
        def answer(prompt):
            return prompt.prompt

        mock_llm_responses.set("*", answer)
        assert name_prompt("a") == "By name: a"

    def test_names_of_its_own(self, mock_llm_responses):
        word = "Good"

        def last(text):
            return text.split()[-1]

        def answer(prompt):
            # None of these are the values around it.
            word = prompt.prompt.split()
            return json.dumps({"stars": len(word)})

        mock_llm_responses.set("gpt-4o", answer)
        mock_llm_responses.set("gpt-4o-mini", word)
        assert draft_and_check(last("a b")) == "Good"

    def test_an_async_function(self, mock_llm_responses):
        async def answer(prompt):
            if "good" in prompt.prompt:
                return "Good"
            return "Bad"

        mock_llm_responses.set("*", answer)
        assert asyncio.run(awaited("good")) == "Good"
        assert asyncio.run(awaited("a")) == "Bad"


class TestCalls:
    def test_the_second_fails(self, mock_llm_responses):
        count = 0

        def answer(prompt):
            nonlocal count
            count += 1
            if count == 1:
                return ConnectionError("no route")
            return f"Call {count}"

        mock_llm_responses.set("*", answer)
        assert (patient("a"), count) == ("Call 2", 2)

    def test_they_are_kept(self, mock_llm_responses):
        texts = []
        first = Topic(name="bees")

        def answer(prompt):
            for word in prompt.prompt.split():
                texts.append(word)
            answer.calls += 1
            return json.dumps(first.model_dump()) + STYLE.strip()

        answer.calls = 0
        mock_llm_responses.set("*", answer)
        assert summarize("a") == '{"name": "bees"}brief'
        assert (texts, answer.calls) == (["Summarize:", "a"], 1)


@pytest.fixture
def model():
    """A model that knows two steps."""

    def answer(prompt):
        if "Draft" in prompt.prompt:
            return "A draft"
        return "Good"

    return answer


class TestFixture:
    def test_one(self, model, mock_llm_responses):
        mock_llm_responses.set("*", model)
        assert draft_and_check("a") == "Good"

    def test_another(self, model, mock_llm_responses):
        mock_llm_responses.set("*", model)
        assert summarize("Draft") == "A draft"

    def test_none(self, mock_llm_responses):
        mock_llm_responses.set("*", "Short")
        assert summarize("a") == "Short"


@pytest.fixture
def patched(mock_llm_responses):
    def answer(prompt):
        return prompt.prompt.upper()

    mock_llm_responses.set("*", answer)


def test_a_fixture_that_patches(patched):
    assert summarize("a") == "SUMMARIZE: A"


class TestClients:
    def test_messages(self, mock_llm_responses):
        def create(request):
            text = request.body["messages"][-1]["content"]
            if "tools" not in request.body and request.body.get("model") == request.body["model"]:
                return f"{text} {request.body.get('temperature')} {request.body.get('top_p', 1)}"
            return "?"

        mock_llm_responses.set("*", create)
        assert assistants.Assistant().answer("a") == "Answer: a 0.5 1"

    def test_each_call(self, mock_llm_responses):
        count = 0

        def create(request):
            nonlocal count
            count += 1
            if count == 1:
                return request.body["model"]
            return "Second"

        mock_llm_responses.set("*", create)
        assistant = assistants.Assistant()
        assert [assistant.answer("a"), assistant.answer("b")] == ["gpt-4o-mini", "Second"]
