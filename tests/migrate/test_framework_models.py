"""Tests with fake models of frameworks stay as they are, and the command says what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

IMPORTS = """
import httpx
import openai
from fakes import FunctionModel, FakeChatModel
from langchain_community.chat_models import ChatOllama, FakeListChatModel as CommunityChat
from langchain_community.llms import FakeListLLM
from langchain_core.language_models import FakeListChatModel, BaseChatModel
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from pydantic_ai.models import function
from pydantic_ai.models.test import TestModel
from openai import OpenAI
from unittest.mock import patch
"""
TRANSPORT = "transport=httpx.MockTransport(handler)"


def find_reasons(line: str) -> list[tuple[int, str]]:
    """Return the line and the reason of each change that is left to a person."""
    source = f"{IMPORTS}\n\ndef test_it():\n    {line}\n"
    result = rewrite_file(
        Path("test_app.py"), source.encode(), lambda name, target: (), lambda name: name
    )
    assert result.after == source
    return [(change.line, f"{change.reason}. {change.advice}") for change in result.manual_changes]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("run(TestModel(custom_output_text='Hi'))", "TestModel replaces an agent's model"),
        ("run(function.FunctionModel(reply))", "FunctionModel replaces an agent's model"),
        (
            "run(FakeListChatModel(responses=['Hi']))",
            "FakeListChatModel replaces a LangChain model",
        ),
        (
            "run(GenericFakeChatModel(messages=[]))",
            "GenericFakeChatModel replaces a LangChain model",
        ),
        ("run(CommunityChat(responses=['Hi']))", "FakeListChatModel replaces a LangChain model"),
        ("run(FakeListLLM(responses=['Hi']))", "FakeListLLM replaces a LangChain model"),
        (
            f"run(OpenAI(api_key='x', http_client=httpx.Client({TRANSPORT})))",
            "the client has a fake transport: httpx.MockTransport(handler)",
        ),
        (
            f"http = httpx.AsyncClient({TRANSPORT})\n    run(openai.AsyncOpenAI(http_client=http))",
            "the client has a fake transport: httpx.MockTransport(handler)",
        ),
    ],
)
def test_a_fake_model_is_told_with_the_next_step(line: str, expected: str) -> None:
    [(number, reason)] = find_reasons(line)
    assert number == len(IMPORTS.splitlines()) + 4
    assert reason.startswith(expected)
    assert "configure" in reason


@pytest.mark.parametrize(
    "line",
    [
        "run(FunctionModel(reply))",  # of the project
        "run(FakeChatModel())",
        "run(BaseChatModel())",  # no fake
        "run(ChatOllama())",
        f"run(httpx.Client({TRANSPORT}))",  # another service
        f"run(httpx.Client({TRANSPORT}), OpenAI())",
        "run(OpenAI(http_client=httpx.Client()))",
    ],
)
def test_nothing_is_said_of_other_classes(line: str) -> None:
    assert find_reasons(line) == []


def test_a_fake_model_keeps_no_other_mock_from_being_rewritten() -> None:
    source = (
        f"{IMPORTS}\n\ndef test_it():\n    with patch('llm.get_model') as get_model:\n"
        "        get_model.return_value.prompt.return_value.text.return_value = 'Hi'\n"
        "        run(TestModel())\n"
    )
    result = rewrite_file(
        Path("test_app.py"), source.encode(), lambda name, target: (), lambda name: name
    )
    assert (result.changed, result.manual_changes) == (("test_it",), ())
