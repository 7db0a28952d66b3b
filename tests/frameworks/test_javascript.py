"""The JavaScript SDKs get answers from the server; `NODE_FOLDER` holds the packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.server import MockServer

FOLDER = os.environ.get("NODE_FOLDER", "")
PROGRAM = Path(__file__).with_name("sdks.mjs").read_text()
SDKS = {
    "openai": "openai",
    "openaiResponses": "openai",
    "anthropic": "@anthropic-ai/sdk",
    "google": "@google/genai",
    "mistral": "@mistralai/mistralai",
    "aiOpenai": "@ai-sdk/openai",
    "aiOpenaiChat": "@ai-sdk/openai",
    "aiAnthropic": "@ai-sdk/anthropic",
    "aiGoogle": "@ai-sdk/google",
    "aiMistral": "@ai-sdk/mistral",
}

pytestmark = pytest.mark.skipif(
    not (FOLDER and shutil.which("node")), reason="needs Node, and NODE_FOLDER"
)
every_sdk = pytest.mark.parametrize("sdk", SDKS)


def made(server: MockServer, sdk: str, *ways: str) -> list[Any]:
    """Return what an SDK makes of the answers, one for each way of asking."""
    if not Path(FOLDER, "node_modules", SDKS[sdk]).is_dir():
        pytest.skip(f"needs {SDKS[sdk]}")
    command = ["node", "--input-type=module", "--eval", PROGRAM, sdk, *ways]
    environment = server.environment()
    output = subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=60
    )
    assert output.returncode == 0, output.stderr
    return [json.loads(line) for line in output.stdout.splitlines()]


@every_sdk
def test_an_sdk_is_answered(
    sdk: str, llm_mock_server: MockServer, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add("m", "Hello!")
    mock_llm_responses.add("m", Reply(chunks=["Hel", "lo!"]))
    mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("weather", {"city": "Bern"})]))
    mock_llm_responses.add("m", {"city": "Bern"})
    text, streamed, called, structured = made(
        llm_mock_server, sdk, "text", "stream", "tool", "structured"
    )
    assert (text, streamed) == ("Hello!", ["Hel", "lo!"])
    assert (called, structured) == (["weather", {"city": "Bern"}], {"city": "Bern"})
    assert {call["prompt"] for call in mock_llm_responses.calls} == {"Hello"}
    assert [call["stream"] for call in mock_llm_responses.calls] == [False, True, False, False]
    assert mock_llm_responses.calls[2]["kwargs"]["tools"] == ["weather"]


@every_sdk
def test_an_error_is_the_sdks_own(
    sdk: str, llm_mock_server: MockServer, mock_llm_calls: LLMMock
) -> None:
    mock_llm_calls.misbehave("rate-limit")
    [told] = made(llm_mock_server, sdk, "text")
    assert told["status"] == 429
    assert told["error"] != "Error"
