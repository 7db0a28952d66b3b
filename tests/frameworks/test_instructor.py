"""instructor, in the ways that it asks for structured answers."""

from __future__ import annotations

import asyncio

import pytest

instructor = pytest.importorskip("instructor")

import openai
from pydantic import BaseModel, Field

from llm_mock import LLMMock

pytestmark = pytest.mark.filterwarnings("default")
QUESTION = [{"role": "user", "content": "Where?"}]


class Place(BaseModel):
    city: str = Field(min_length=4)


@pytest.mark.parametrize("mode", ["TOOLS", "JSON", "MD_JSON", "JSON_SCHEMA"])
def test_data_are_the_instance(mode: str, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"city": "Bern"})
    client = instructor.from_openai(openai.OpenAI(), mode=instructor.Mode[mode])
    place = client.chat.completions.create(model="gpt-4o", response_model=Place, messages=QUESTION)
    assert place.city == "Bern"


def test_an_asynchronous_client_of_a_named_model(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"city": "Bern"})
    client = instructor.from_provider("openai/gpt-4o", async_client=True)
    assert asyncio.run(client.create(response_model=Place, messages=QUESTION)).city == "Bern"


def test_a_partial_stream(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"city": "Bern"})
    client = instructor.from_openai(openai.OpenAI())
    places = list(client.create_partial(model="gpt-4o", response_model=Place, messages=QUESTION))
    assert places[-1].city == "Bern"


def test_it_asks_again_where_an_answer_does_not_validate(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.add("gpt-4o", '{"city": "Ur"}')
    mock_llm_responses.add("gpt-4o", '{"city": "Bern"}')
    client = instructor.from_openai(openai.OpenAI(), mode=instructor.Mode.JSON)
    place = client.chat.completions.create(
        model="gpt-4o", response_model=Place, messages=QUESTION, max_retries=2
    )
    assert place.city == "Bern"
    assert len(mock_llm_responses.calls) == 2
