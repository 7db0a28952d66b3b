"""Azure refuses what no deployment takes, whatever its model is."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from llm_mock import LLMMock, Reply

AZURE = "https://mine.openai.azure.com/openai"
HELLO = [{"role": "user", "content": "Hello"}]
REQUESTS: dict[str, tuple[str, dict[str, Any]]] = {
    "chat": (
        f"{AZURE}/deployments/my-model/chat/completions?api-version=2024-10-21",
        {"messages": HELLO},
    ),
    "responses": (f"{AZURE}/v1/responses", {"model": "my-model", "input": "Hello"}),
}
RANGES: list[tuple[str, str, float, float | None, bool]] = [
    ("chat", "temperature", 0, 2, False),
    ("chat", "top_p", 0, 1, False),
    ("chat", "frequency_penalty", -2, 2, False),
    ("chat", "presence_penalty", -2, 2, False),
    ("chat", "n", 1, 128, True),
    ("chat", "max_tokens", 1, None, True),
    ("chat", "max_completion_tokens", 1, None, True),
    ("chat", "top_logprobs", 0, 20, True),
    ("responses", "temperature", 0, 2, False),
    ("responses", "top_p", 0, 1, False),
    ("responses", "top_logprobs", 0, 20, True),
    ("responses", "max_output_tokens", 16, None, True),
]
"""Each number with its API, its range, and whether it is a whole one."""
TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}


def ask(mock: LLMMock, api: str, **fields: Any) -> Any:
    """Return the error of a request; None if it is accepted."""
    mock.set("*", Reply("{}", invalid=True))
    url, body = REQUESTS[api]
    response = httpx.post(url, json={**body, **fields}, headers={"api-key": "any"})
    if response.status_code == 200:
        return None
    assert response.status_code == 400
    return response.json()["error"]


@pytest.mark.parametrize(("api", "name", "lowest", "highest", "is_whole"), RANGES)
def test_a_number_is_refused_beyond_its_range(
    mock_llm_responses: LLMMock,
    api: str,
    name: str,
    lowest: float,
    highest: float | None,
    is_whole: bool,
) -> None:
    step = 1 if is_whole else 0.1
    accepted = [lowest, lowest + step]
    refused = [lowest - step]
    if highest is not None:
        accepted += [highest, highest - step]
        refused.append(highest + step)
    for number in accepted:
        assert ask(mock_llm_responses, api, **{name: number}) is None, number
    for number in refused:
        error = ask(mock_llm_responses, api, **{name: number})
        assert error is not None, number
        assert error["param"] == name
        assert error["code"].startswith("integer_" if is_whole else "decimal_")


@pytest.mark.parametrize(
    ("api", "fields", "param"),
    [
        ("chat", {"messages": [*HELLO, {"role": "nobody", "content": "x"}]}, "messages[1].role"),
        ("chat", {"tools": [{**TOOL, "type": "x"}]}, "tools[0].type"),
        ("chat", {"tool_choice": "required"}, "tool_choice"),
        ("chat", {"function_call": "auto"}, "function_call"),
        ("responses", {"input": [{"role": "nobody", "content": "x"}]}, "input[0]"),
        ("responses", {"conversation": "c", "previous_response_id": "r"}, None),
        ("responses", {"tools": [{"name": "f"}]}, "tools[0].type"),
    ],
)
def test_a_wrong_structure_is_refused(
    mock_llm_responses: LLMMock, api: str, fields: dict[str, Any], param: str | None
) -> None:
    error = ask(mock_llm_responses, api, **fields)
    assert error is not None
    assert error["param"] == param


@pytest.mark.parametrize("api", REQUESTS)
def test_parameters_of_other_versions_are_accepted(mock_llm_responses: LLMMock, api: str) -> None:
    assert ask(mock_llm_responses, api, of_this_version=1) is None


@pytest.mark.parametrize("path", ["chat/completions", "embeddings"])
@pytest.mark.parametrize("name", [None, "gpt-4o"])
def test_the_deployment_in_the_path_is_enough(
    mock_llm_responses: LLMMock, path: str, name: str | None
) -> None:
    mock_llm_responses.set("*", "Hello!")
    body: dict[str, Any] = {"messages": HELLO} if path == "chat/completions" else {"input": "Hello"}
    url = f"{AZURE}/deployments/my-model/{path}?api-version=2024-10-21"
    sent = body if name is None else {**body, "model": name}
    response = httpx.post(url, json=sent, headers={"api-key": "any"}).raise_for_status()
    assert response.json()["model"].startswith(name or "my-model")


@pytest.mark.parametrize("path", ["chat/completions", "embeddings"])
def test_without_a_deployment_the_model_is_required(mock_llm_responses: LLMMock, path: str) -> None:
    url = f"https://api.openai.com/v1/{path}"
    response = httpx.post(url, json={"messages": HELLO, "input": "Hello"})
    assert response.status_code == 400
    assert "model" in response.json()["error"]["message"]
