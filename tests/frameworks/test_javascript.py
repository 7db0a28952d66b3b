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
from llm_mock.boundaries.http.dialects import make_environment
from llm_mock.boundaries.http.server import MockServer
from llm_mock.commands.serve_router import ServeRouter
from llm_mock.commands.serve_tests import ServedTests
from llm_mock.core.settings import Settings

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
    return run_sdk(server.environment(), sdk, *ways)


def run_sdk(environment: dict[str, str], sdk: str, *ways: str) -> list[Any]:
    """Return what an SDK makes of the answers to which its environment leads."""
    if not Path(FOLDER, "node_modules", SDKS[sdk]).is_dir():
        pytest.skip(f"needs {SDKS[sdk]}")
    command = ["node", "--input-type=module", "--eval", PROGRAM, sdk, *ways]
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


@every_sdk
def test_an_sdk_keeps_the_name_of_its_test_in_the_base_url(sdk: str) -> None:
    tests = ServedTests(Settings(strict="error", autospec=True), None, 10, None)
    router = ServeRouter(tests)
    with MockServer(lambda: tests.unnamed, keep_alive=True, router=router) as server:
        for name in ("test-7", "test-8"):
            mock = tests.get(name)
            mock.configurator.add("m", f"Hello from {name}!")
            environment = make_environment(f"{server.url}/t/{name}", os.environ)
            assert run_sdk(environment, sdk, "text") == [f"Hello from {name}!"]
            assert [call["prompt"] for call in mock.calls] == ["Hello"]
    assert tests.unnamed.calls == []
