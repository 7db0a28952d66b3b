"""Errors, and answers of endpoints beside the chats, are those that are checked in, in each field.

`test_published_types.py` compares the same answers with the types of the SDKs, which do not tell
one text, number or truth value from another. `REWRITE_EXPECTED=1` rewrites the files of the folder
`answers`; read the difference.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.errors import REFUSAL_HEADER
from tests.boundaries.http.exchanges import (
    JSON_LINES,
    MESSAGES,
    Ask,
    Exchange,
    list_errors,
    list_others,
    read_events,
)
from tests.expected import compare_json

FOLDER = Path(__file__).with_name("answers")
BEDROCK = "https://bedrock-runtime.us-east-1.amazonaws.com/model"
GOOGLE = "https://generativelanguage.googleapis.com/v1beta"
VERTEX = "https://europe-west1-aiplatform.googleapis.com/v1/projects/p/locations/europe-west1"
CHAT = {"model": "m", "messages": MESSAGES}
CLAUDE = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": MESSAGES}
CONVERSE = {"messages": [{"role": "user", "content": [{"text": "Hello"}]}]}


def ask_for_interactions(ask: Ask, mock: LLMMock) -> None:
    """Use the interactions that Google stores."""
    mock.set("*", Reply("Hi!", reasoning="Hm"))
    url = f"{GOOGLE}/interactions"
    body = {"model": "gemini-3", "input": "Hello"}
    first = ask("POST", url, json=body)["id"]
    second = {**body, "previous_interaction_id": first}
    ask("POST", url, json=second)
    ask("POST", url, json={**body, "previous_interaction_id": "unknown"})
    ask("POST", url, json={**body, "stream": True})
    ask("POST", url, json={**body, "store": False})
    ask("GET", f"{url}/{first}")
    ask("POST", f"{url}/{first}/cancel")
    ask("DELETE", f"{url}/{first}")
    ask("GET", f"{url}/{first}")
    for method, path in (
        ("PUT", first),
        ("GET", f"{first}?stream=true"),
        ("GET", f"{first}/cancel"),
    ):
        ask(method, f"{url}/{path}")


def ask_bedrock(ask: Ask, mock: LLMMock) -> None:
    """Ask Amazon for answers of several companies' models."""
    mock.set("*", "Hi!")
    ask("POST", f"{BEDROCK}/amazon.nova-lite-v1:0/converse", json=CONVERSE)
    ask("POST", f"{BEDROCK}/amazon.nova-lite-v1:0/invoke", json=CONVERSE)
    ask("POST", f"{BEDROCK}/anthropic.claude-opus-4-9/invoke", json=CLAUDE)
    for model in ("meta.llama3-8b-instruct-v1:0", "mistral.mistral-7b-instruct-v0:2"):
        ask("POST", f"{BEDROCK}/{model}/invoke", json={"prompt": "Hello"})
    counted = {"input": {"converse": CONVERSE}}
    ask("POST", f"{BEDROCK}/amazon.nova-lite-v1:0/count-tokens", json=counted)
    ask("POST", f"{BEDROCK}/amazon.nova-lite-v1:0/count-tokens", json={})
    ask("POST", f"{BEDROCK}/amazon.nova-lite-v1:0/converse", json={"messages": 5})


def ask_vertex(ask: Ask, mock: LLMMock) -> None:
    """Ask Vertex AI for answers of several companies' models."""
    mock.set("*", "Hi!")
    body = {**CLAUDE, "anthropic_version": "vertex-2023-10-16"}
    claude = f"{VERTEX}/publishers/anthropic/models"
    ask("POST", f"{claude}/claude-opus-4-9:rawPredict", json=body)
    ask("POST", f"{claude}/claude-opus-4-9:streamRawPredict", json={**body, "stream": True})
    ask("POST", f"{claude}/count-tokens:rawPredict", json={**body, "model": "claude-opus-4-9"})
    ask("POST", f"{claude}/count-tokens:rawPredict", json={})
    mistral = f"{VERTEX}/publishers/mistralai/models/mistral-large"
    ask("POST", f"{mistral}:rawPredict", json=CHAT)
    gemini = f"{VERTEX}/publishers/google/models/gemini-3"
    contents = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
    ask("POST", f"{gemini}:generateContent", json=contents)
    ask("POST", f"{gemini}:countTokens", json=contents)


def ask_others_for_chats(ask: Ask, mock: LLMMock) -> None:
    """Ask providers with OpenAI's API, whose answers differ in few fields."""
    mock.set("*", Reply("Hi!", reasoning="Hm"))
    for url in (
        "https://ada.openai.azure.com/openai/deployments/m/chat/completions?api-version=2",
        "https://api.cerebras.ai/v1/chat/completions",
        "https://api.deepseek.com/chat/completions",
        "https://api.fireworks.ai/inference/v1/chat/completions",
        "https://api.groq.com/openai/v1/chat/completions",
        "https://api.perplexity.ai/chat/completions",
        "https://api.together.xyz/v1/chat/completions",
        "https://api.x.ai/v1/chat/completions",
        "https://openrouter.ai/api/v1/chat/completions",
    ):
        ask("POST", url, json=CHAT)
        ask("POST", url, json={**CHAT, "stream": True})
        ask("POST", url, json={"messages": MESSAGES})


def ask_others_for_models(ask: Ask, mock: LLMMock) -> None:
    """Ask for lists of models, and send what is only acknowledged."""
    mock.set("vendor/model", "Hi!")
    for url in (
        "https://ada.openai.azure.com/openai/v1/models",
        "https://api.groq.com/openai/v1/models",
        "https://api.together.xyz/v1/models",
        "https://openrouter.ai/api/v1/models",
        "https://ollama.com/api/version",
        "https://ollama.com/v1/models",
        "https://api.cerebras.ai/v1/tcp_warming",
        "https://api.x.ai/v1/models/vendor%2Fmodel",
        "https://api.replicate.com/v1/models",
        f"{GOOGLE}/models/m",
    ):
        ask("GET", url)
    ask("POST", "https://api.openai.com/v1/traces/ingest", json={"data": []})
    for host in ("api.openai.com/v1", "api.groq.com/openai/v1"):
        for model in ("gpt-4o", "ft:gpt-4o:acme::9f"):
            ask("DELETE", f"https://{host}/models/{model}")


def ask_for_vectors_of_any_input(ask: Ask, mock: LLMMock) -> None:
    """Ask for vectors of all that may be embedded, in each encoding."""
    mock.set_embedding("m", "a", [0.5, -1.0])
    url = "https://api.openai.com/v1/embeddings"
    for given in ("a", ["a", "b"], [1, 2, 3], [[1], [2, 3]]):
        ask("POST", url, json={"model": "m", "input": given})
    for encoding in ("float", "base64"):
        ask("POST", url, json={"model": "m", "input": "a", "encoding_format": encoding})
    for body in ({"model": "m", "input": []}, {"input": "a"}, {"model": 5, "input": "a"}):
        ask("POST", url, json=body)
    ask("POST", "https://api.mistral.ai/v1/embeddings", json={"model": "m", "inputs": ["a"]})
    content = {"parts": [{"text": "a"}]}
    ask("POST", f"{GOOGLE}/models/m:embedContent", json={"content": content})
    ask("POST", f"{GOOGLE}/models/m:embedContent", json={})


WITHOUT_TYPES = (
    ("generativelanguage.googleapis.com", ask_for_interactions),
    ("bedrock-runtime.us-east-1.amazonaws.com", ask_bedrock),
    ("europe-west1-aiplatform.googleapis.com", ask_vertex),
    ("api.groq.com", ask_others_for_chats),
    ("api.groq.com", ask_others_for_models),
    ("api.openai.com", ask_for_vectors_of_any_input),
)
"""Exchanges that are not compared with types, with one of their hosts."""


def list_recorded() -> Iterator[Exchange]:
    """Yield the exchanges whose answers are checked in."""
    yield from list_errors()
    yield from list_others()
    for host, send in WITHOUT_TYPES:
        yield Exchange(send.__name__.replace("_", " "), host, send)


RECORDED = [*list_recorded()]
LONGEST = 70
"""The characters of a word that are compared; longer ones are images and sounds."""
CHANGING = (
    (re.compile(r"\b[0-9a-f]{8}(?=_\d)"), "hash"),
    (re.compile(r"\breq_mock_\d+"), "req_mock"),
    (re.compile(r"(?<=exchanges\.py:)\d+"), "line"),
)
"""Parts of texts that depend on the test or on the tests before it, with what replaces them."""


def mask(text: str) -> str:
    """Return a text without what changes."""
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text


def is_now(value: object) -> bool:
    """Return True for a time in seconds, or a text with one, that is the present one."""
    if isinstance(value, str) and re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", value):
        value = datetime.fromisoformat(f"{value[:-1]}+00:00").timestamp()
    return isinstance(value, (int, float)) and abs(value - time.time()) < 60


def fix(value: Any) -> Any:
    """Return JSON values without what changes, and with the size of what is long."""
    if isinstance(value, dict):
        return {name: fix(item) for name, item in value.items()}
    if isinstance(value, list) and len(value) > 4 and isinstance(value[0], (int, float)):
        return f"{len(value)} numbers"
    if isinstance(value, list):
        return [fix(item) for item in value]
    if is_now(value):
        return "now"
    if not isinstance(value, str):
        return value
    is_data = len(value) > LONGEST and " " not in value
    return f"{value[:8]}…" if is_data else mask(value)


def read_content(response: httpx.Response) -> Any:
    """Return the JSON value of an answer, its events, or the size of a file."""
    media_type = response.headers["content-type"].partition(";")[0]
    if media_type == "application/json":
        return fix(response.json())
    if media_type in ("text/event-stream", JSON_LINES):
        return [[event.name, fix(event.data)] for event in read_events(response)]
    return f"{len(response.content)} bytes"


def describe(response: httpx.Response) -> dict[str, Any]:
    """Return what is compared of an answer."""
    headers = {name: mask(value) for name, value in response.headers.items()}
    # Times and ids have different lengths.
    headers.pop("content-length", None)
    if REFUSAL_HEADER in headers:
        # A checksum of a message that has the line of a reply.
        headers[REFUSAL_HEADER] = "key"
    request = response.request
    return {
        "request": mask(f"{request.method} {request.url}"),
        "status": response.status_code,
        "headers": headers,
        "content": read_content(response),
    }


@pytest.mark.parametrize("exchange", RECORDED, ids=lambda each: each.name)
def test_answers_are_as_recorded(exchange: Exchange, mock_llm_calls: LLMMock) -> None:
    answers: list[dict[str, Any]] = []
    exchange.send(Ask(lambda response: answers.append(describe(response))), mock_llm_calls)
    # Some requests are refused on purpose, and some replies do not fit.
    mock_llm_calls.refusals.clear()
    mock_llm_calls.problems.clear()
    name = re.sub(r"\W+", "-", exchange.name)
    compare_json(FOLDER / f"{name}.json", answers)


def test_each_file_has_its_exchange() -> None:
    names = {re.sub(r"\W+", "-", exchange.name) for exchange in RECORDED}
    assert {path.stem for path in FOLDER.iterdir()} == names
