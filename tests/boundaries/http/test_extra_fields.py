"""The record tells the fields that an application added to the body of an API."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from typing import Any

import anthropic
import httpx
import openai
import pytest
from google import genai
from openai.types.chat import completion_create_params

from llm_mock import LLMMock

Sender = Callable[..., None]
EXTRA = {"think": False, "keep_alive": "5m"}
ASKED: dict[str, Any] = {
    "model": "own-model",
    "messages": [{"role": "user", "content": "Hi"}],
    "extra_body": EXTRA,
}


def chat(**arguments: Any) -> None:
    openai.OpenAI(base_url="https://models.example.com/v1").chat.completions.create(
        **(ASKED | arguments)
    )


def respond(**arguments: Any) -> None:
    client = openai.OpenAI(base_url="https://models.example.com/v1")
    client.responses.create(model="own-model", input="Hi", **({"extra_body": EXTRA} | arguments))


def embed(**arguments: Any) -> None:
    client = openai.OpenAI(base_url="https://models.example.com/v1")
    client.embeddings.create(model="own-model", input="Hi", **({"extra_body": EXTRA} | arguments))


def send_message(**arguments: Any) -> None:
    client = anthropic.Anthropic(base_url="https://models.example.com")
    client.messages.create(max_tokens=10, **(ASKED | arguments))


@pytest.fixture
def answers(mock_llm_responses: LLMMock) -> LLMMock:
    mock_llm_responses.set("*", "Hello")
    vector = {"data": [{"index": 0, "embedding": [0.5]}]}
    mock_llm_responses.on("POST", "/**/embeddings", vector)
    return mock_llm_responses


@pytest.mark.parametrize("send", [chat, respond, embed, send_message])
def test_the_fields_that_no_argument_has(answers: LLMMock, send: Sender) -> None:
    send()
    assert answers.last_call.request.extra_body == EXTRA


@pytest.mark.parametrize(
    ("send", "arguments"),
    [
        (chat, {"temperature": 1, "seed": 7}),
        (respond, {"temperature": 1, "instructions": "Be brief"}),
        (embed, {"dimensions": 1, "user": "ada", "encoding_format": "float"}),
        (send_message, {"system": "Be brief", "stop_sequences": ["."]}),
    ],
)
def test_arguments_are_no_extra_fields(
    answers: LLMMock, send: Sender, arguments: dict[str, object]
) -> None:
    send(extra_body=None, **arguments)
    assert answers.last_call.request.extra_body == {}


def test_an_argument_in_the_extra_body_is_not_extra(answers: LLMMock) -> None:
    chat(extra_body={"seed": 7, **EXTRA})
    assert answers.last_call.request.extra_body == EXTRA


def test_an_argument_that_the_sdk_does_not_have_is_extra(
    answers: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = completion_create_params.CompletionCreateParamsBase.__annotations__
    monkeypatch.delitem(arguments, "seed")
    chat(extra_body={"seed": 7})
    assert answers.last_call.request.extra_body == {"seed": 7}


def test_a_client_without_an_sdk_is_compared_with_the_documentation(
    answers: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "openai.types.chat.completion_create_params")
    body = {key: value for key, value in ASKED.items() if key != "extra_body"}
    url = "https://models.example.com/v1/chat/completions"
    httpx.post(url, json={**body, **EXTRA, "seed": 7, "stream": False})
    assert answers.last_call.request.extra_body == EXTRA


def test_the_fields_of_another_api_are_not_told_apart(answers: LLMMock) -> None:
    client = genai.Client()
    client.models.generate_content(model="gemini-2.5-flash", contents="Hi")
    assert answers.last_call.request.extra_body is None


def test_a_copy_of_a_record_has_the_extra_fields(answers: LLMMock) -> None:
    chat()
    copied = pickle.loads(pickle.dumps(answers.last_call))
    assert copied.request == answers.last_call.request
    assert copied.request.extra_body == EXTRA
