"""Requests that a provider refuses are refused in its words, and near misses are accepted.

Each file in the folder `refused` has the requests to one API:

- `url`, `body`: the address of the provider, and fields that each body has;
- `status`, `envelope`, `error`: the status, the field of the error in the response's body, and what
  all errors have in common; without `envelope` the whole body is the error, but for the fields
  that are `ignored`, as they differ each time;
- `rules`: each rule of the API with the source that its refusals name;
- `sources`, `shared`: parts for several cases, as YAML anchors;
- `cases`: the refused requests by name, each with the `rule`, the `source` that states it, the
  rest of its `body` and of its `error`, perhaps with a `url`, a `status` and `headers` of its own;
- `accepted`: the bodies of near misses by name;
- `parameters`: an accepted value for each parameter without a rule; a dot leads into another one;
- `models`: by the name of a case, the models that refuse its request, and those that accept it.
"""

from __future__ import annotations

import asyncio
import functools
import sys
from pathlib import Path
from typing import Any

import google.genai  # noqa: F401 - rules look up fields in its types
import httpx
import mistralai.client  # noqa: F401
import openai
import pytest

from llm_mock import LLMMock, Reply
from llm_mock.boundaries.http.request_rules.lookup import list_rules
from tests.boundaries.http.corpus_files import load_file

FOLDER = Path(__file__).with_name("refused")
REFERENCE = Path(__file__).parents[3] / "docs" / "reference.md"
APIS = tuple(sorted(path.stem for path in FOLDER.glob("*.yaml")))
ANSWER = Reply("{}", invalid=True)
"""The reply to each request, whatever it asks for."""
CHAT = "https://api.openai.com/v1/chat/completions"
HELLO = {"messages": [{"role": "user", "content": "Hello"}]}
QUESTIONS: dict[str, dict[str, Any]] = {
    "chat_completions": HELLO,
    "cohere": HELLO,
    "gemini": {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]},
    "messages": HELLO,
    "mistral": HELLO,
    "ollama": HELLO,
    "responses": {"input": "Hello"},
}
"""The rest of a body that is accepted."""
SDK_TYPES = (
    "anthropic.types.beta.message_create_params",
    "anthropic.types.message_create_params",
    "cohere.v2.client",
    "google.genai.types",
    "mistralai.client.models.chatcompletionrequest",
    "openai.types.chat.completion_create_params",
    "openai.types.responses.response_create_params",
)
"""The modules in which rules look for parameters."""


@functools.lru_cache
def load(api: str) -> dict[str, Any]:
    """Return the content of a file."""
    content = load_file(FOLDER / f"{api}.yaml")
    return content


REFUSED = [(api, name) for api in APIS for name in load(api)["cases"]]
ACCEPTED = [(api, name) for api in APIS for name in load(api)["accepted"]]
BY_MODEL = [(api, name) for api in APIS for name in load(api).get("models", ())]


def send(content: dict[str, Any], case: dict[str, Any]) -> httpx.Response:
    """Send the request of a case by a plain HTTP client."""
    body = {**content["body"], **case["body"]}
    url = case.get("url", content["url"])
    return httpx.post(url, json=body, headers=case.get("headers"))


def get_error(content: dict[str, Any], response: httpx.Response) -> Any:
    """Return the error in a response."""
    body = response.json()
    # Anthropic's body has more than the error: its type, and an id that differs each time.
    if "envelope" in content:
        return body[content["envelope"]]
    return {name: body[name] for name in body if name not in content.get("ignored", ())}


@pytest.mark.parametrize(("api", "name"), REFUSED)
def test_a_request_is_refused_in_the_words_of_the_provider(
    api: str, name: str, mock_llm_calls: LLMMock
) -> None:
    content = load(api)
    case = content["cases"][name]
    response = send(content, case)
    assert response.status_code == case.get("status", content["status"])
    assert get_error(content, response) == {**content.get("error", {}), **case["error"]}
    (call,) = mock_llm_calls.calls
    assert call["error"]
    (refusal,) = mock_llm_calls.refusals
    assert f"Rule {case['rule']!r} refuses " in refusal
    assert refusal.endswith(f". Source: {content['rules'][case['rule']]}")
    # What was refused is not remembered as what passed.
    assert send(content, case).status_code == response.status_code
    assert case["source"]
    assert mock_llm_calls.problems == []


@pytest.mark.parametrize(("api", "name"), ACCEPTED)
def test_a_near_miss_is_accepted(
    api: str, name: str, mock_llm_calls: LLMMock, mock_llm_responses: Any
) -> None:
    content = load(api)
    mock_llm_responses.set("*", ANSWER)
    given = content["accepted"][name]
    case = given if "body" in given else {"body": given}
    response = send(content, case)
    assert response.status_code == 200, response.text
    assert mock_llm_calls.refusals == []


@pytest.mark.parametrize(("api", "name"), BY_MODEL)
def test_a_model_refuses_what_it_lacks(api: str, name: str, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.set("*", ANSWER)
    content = load(api)
    case = content["cases"][name]
    models = content["models"][name]
    status = case.get("status", content["status"])
    by_status: dict[int, list[str]] = {200: [], status: []}
    for model in (*models["refused"], *models["accepted"]):
        response = send(content, {**case, "body": {**case["body"], "model": model}})
        by_status[response.status_code].append(model)
    assert by_status == {200: models["accepted"], status: models["refused"]}


def test_each_rule_refuses_a_request_of_the_corpus() -> None:
    rules = sorted((rule.name, rule.source) for known in list_rules().values() for rule in known)
    assert rules == sorted(rule for api in APIS for rule in load(api)["rules"].items())
    for api in APIS:
        refusing = {case["rule"] for case in load(api)["cases"].values()}
        assert refusing == {*load(api)["rules"]}


API_NAMES = {
    "openai_chat": "chat",
    "mistral_chat": "Mistral",
    "openai_responses": "responses",
    "anthropic_messages": "messages",
    "gemini": "Gemini",
    "cohere_chat": "Cohere",
    "ollama": "Ollama",
}
"""The names of the APIs in the reference, by the modules of their rules."""


def test_the_reference_lists_each_rule() -> None:
    refusals: dict[str, dict[str, list[str]]] = {}
    for module, known in list_rules().items():
        for rule in known:
            apis = refusals.setdefault(rule.name, {}).setdefault(rule.refuses, [])
            apis.append(API_NAMES[module])
    rows = []
    for name, by_phrase in sorted(refusals.items()):
        phrases = [f"{phrase} ({', '.join(apis)})" for phrase, apis in by_phrase.items()]
        rows.append(f"| `{name}` | {'; '.join(phrases)} |")
    _, _, section = REFERENCE.read_text(encoding="utf-8").partition("### Rules of providers")
    table = section.partition("\n#")[0]
    assert [line for line in table.splitlines() if line.startswith("| `")] == rows


def test_a_request_that_was_accepted_is_accepted_again(
    mock_llm_calls: LLMMock, mock_llm_responses: Any
) -> None:
    content = load("chat_completions")
    mock_llm_responses.set("*", ANSWER)
    for name in ("two tools and a choice", "optional property of a schema that is not strict"):
        case = {"body": content["accepted"][name]}
        for _ in range(2):
            assert send(content, case).status_code == 200


def test_a_refused_tool_is_refused_again(mock_llm_calls: LLMMock) -> None:
    content = load("chat_completions")
    case = content["cases"]["tool with an array of nothing"]
    first, second = send(content, case), send(content, case)
    assert first.status_code == second.status_code == 400
    assert first.json() == second.json()


@pytest.mark.parametrize(
    "host", ["api.groq.com", "api.deepseek.com", "openrouter.ai", "gateway.example.com"]
)
def test_a_compatible_provider_accepts_what_openai_refuses(
    host: str, mock_llm_calls: LLMMock, mock_llm_responses: Any
) -> None:
    content = load("chat_completions")
    mock_llm_responses.set("*", "Hi!")
    case = content["cases"]["misspelt parameter"]
    url = f"https://{host}/v1/chat/completions"
    headers = {"user-agent": "OpenAI/Python 3.0.0"}
    assert send(content, {**case, "url": url, "headers": headers}).status_code == 200


def test_a_text_in_the_metadata_has_at_most_512_characters(
    mock_llm_calls: LLMMock, mock_llm_responses: Any
) -> None:
    mock_llm_responses.set("*", "Hi!")
    client = openai.OpenAI(api_key="k")
    client.responses.create(model="gpt-4o", input="Hello", metadata={"note": "x" * 512})
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(model="gpt-4o", input="Hello", metadata={"note": "x" * 513})
    assert raised.value.body == {
        "message": (
            "Invalid 'metadata.note': string too long. Expected a string with maximum length 512, "
            "but got a string with length 513 instead."
        ),
        "type": "invalid_request_error",
        "param": "metadata.note",
        "code": "string_above_max_length",
    }


def test_the_sdk_raises_its_own_exception(mock_llm_calls: LLMMock) -> None:
    client = openai.OpenAI(api_key="k")
    with pytest.raises(openai.BadRequestError, match="Unrecognized request argument") as caught:
        client.chat.completions.create(
            model="gpt-4o",
            messages=[{"role": "user", "content": "Hello"}],
            extra_body={"temprature": 1},
        )
    assert caught.value.status_code == 400
    assert len(mock_llm_calls.calls) == 1


def test_the_asynchronous_sdk_raises_its_own_exception(mock_llm_calls: LLMMock) -> None:
    async def call() -> None:
        client = openai.AsyncOpenAI(api_key="k")
        with pytest.raises(openai.BadRequestError, match="integer below minimum"):
            await client.chat.completions.create(
                model="gpt-4o", messages=[{"role": "user", "content": "Hello"}], n=-1
            )

    asyncio.run(call())
    (refusal,) = mock_llm_calls.refusals
    assert "test_refused_requests.py" in refusal


def test_the_sdk_may_know_a_parameter_that_no_rule_knows(
    mock_llm_calls: LLMMock, mock_llm_responses: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from openai.types.chat import completion_create_params as params

    known = params.CompletionCreateParamsBase.__annotations__
    monkeypatch.setitem(known, "temprature", "float")
    mock_llm_responses.set("*", "Hi!")
    body = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Hi"}], "temprature": 1}
    assert httpx.post(CHAT, json=body).status_code == 200


@pytest.mark.parametrize("api", APIS)
def test_each_parameter_is_known_without_the_sdk(
    api: str, mock_llm_calls: LLMMock, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The types of an installed SDK tell newer parameters.
    for module in SDK_TYPES:
        monkeypatch.setitem(sys.modules, module, None)
    mock_llm_calls.set("*", ANSWER)
    content = load(api)
    refused, accepted = [], []
    for name, value in content["parameters"].items():
        for sent, wrong in ((name, refused), (f"{name}X", accepted)):
            first, _, rest = sent.partition(".")
            body = {**QUESTIONS[api], first: {rest: value} if rest else value}
            response = send(content, {"body": body})
            if (response.status_code == 200) == (sent != name):
                wrong.append(f"{sent}: {response.text}")
    assert (refused, accepted) == ([], [])
