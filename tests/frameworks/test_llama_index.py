"""LlamaIndex's models of OpenAI."""

from __future__ import annotations

import asyncio

import pytest

openai = pytest.importorskip(
    "llama_index.llms.openai", reason="llama-index-llms-openai is not installed"
)

from pydantic import BaseModel

from llm_mock import LLMMock, Reply

pytestmark = pytest.mark.filterwarnings("default")


class Place(BaseModel):
    city: str


@pytest.fixture(params=["OpenAI", "OpenAIResponses"])
def model(request: pytest.FixtureRequest) -> object:
    return getattr(openai, request.param)("gpt-4o", max_retries=0)


def test_a_text_whole_streamed_and_asynchronous(model: object, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", Reply(chunks=["Hel", "lo!"]))
    assert model.complete("Say hello").text == "Hello!"
    assert list(model.stream_complete("Say hello"))[-1].text == "Hello!"
    assert asyncio.run(model.acomplete("Say hello")).text == "Hello!"


def test_a_structured_answer(model: object, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o", {"city": "Bern"})
    assert model.as_structured_llm(Place).complete("Where?").raw == Place(city="Bern")
