"""An ordinary test, an async one, and a `unittest.TestCase`."""

import unittest

import pytest
from hello.greetings import greet, say_goodbye

from llm_mock import LLMMock


def test_somebody_is_greeted(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Hello Ada!")
    assert greet("Ada") == "Hello Ada!"


def test_the_model_is_told_the_name(mock_llm_calls: LLMMock, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Hello Ada!")
    greet("Ada")
    mock_llm_calls.assert_called_once_with(prompt_equals="Greet Ada")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio  # of anyio; with pytest-asyncio it is pytest.mark.asyncio
async def test_an_async_model_answers_the_same_way(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("gpt-4o-mini", "Goodbye Ada!")
    assert await say_goodbye("Ada") == "Goodbye Ada!"


class TestWithUnittest(unittest.TestCase):
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses: LLMMock) -> None:
        self.responses = mock_llm_responses

    def test_replies_come_in_their_order(self) -> None:
        self.responses.add("gpt-4o-mini", "Hello Ada!")
        self.responses.add("gpt-4o-mini", "Hello Grace!")
        assert [greet("Ada"), greet("Grace")] == ["Hello Ada!", "Hello Grace!"]
