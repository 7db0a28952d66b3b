"""Claude Code, a coding agent in Node, works offline with the server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.boundaries.http.server import MockServer

CLAUDE = Path(os.environ.get("NODE_FOLDER", ""), "node_modules", ".bin", "claude")
OFFLINE = {"HTTPS_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"}
"""A proxy that is not there: what goes to another host fails."""

pytestmark = pytest.mark.skipif(not CLAUDE.is_file(), reason="needs Claude Code in NODE_FOLDER")

Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def ask(llm_mock_server: MockServer, tmp_path: Path) -> Ask:
    """Run Claude Code in an empty folder as a new user, and return its last output."""

    def ask(prompt: str, *options: str) -> dict[str, Any]:
        given = {
            name: value
            for name, value in llm_mock_server.environment().items()
            if name.startswith("ANTHROPIC_")
        }
        settings = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "CLAUDE_CODE_MAX_RETRIES": "1"}
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            **OFFLINE,
            **settings,
            **given,
        }
        process = subprocess.Popen(
            [str(CLAUDE), "-p", prompt, "--output-format", "json", *options],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(timeout=60)
        finally:
            with suppress(ProcessLookupError):  # what it started ends with it
                os.killpg(process.pid, signal.SIGKILL)
        assert output, errors
        return json.loads(output)

    return ask


def test_a_text(ask: Ask, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("*", "Hi from the mock!")
    assert ask("Say hello")["result"] == "Hi from the mock!"
    [call] = mock_llm_responses.calls
    assert (call["api"], call["stream"]) == ("messages", True)
    assert "Say hello" in call["prompt"]


def test_a_tool(ask: Ask, tmp_path: Path, mock_llm_responses: LLMMock) -> None:
    (tmp_path / "secret.txt").write_text("The word is rhubarb.")
    read = ToolCall("Read", {"file_path": str(tmp_path / "secret.txt")})
    mock_llm_responses.add("*", Reply("I look.", tool_calls=[read]))
    mock_llm_responses.add("*", "It is rhubarb.")
    assert ask("What is the word?", "--allowed-tools", "Read")["result"] == "It is rhubarb."
    [result] = mock_llm_responses.calls[1]["kwargs"]["tool_results"]
    assert result["name"] == "Read"
    assert "The word is rhubarb." in result["output"]


def test_a_structured_answer(ask: Ask, mock_llm_responses: LLMMock) -> None:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    mock_llm_responses.add("*", {"city": "Bern"})
    mock_llm_responses.set("*", "Done.")
    assert ask("Where?", "--json-schema", json.dumps(schema))["structured_output"] == {
        "city": "Bern"
    }


def test_a_rate_limit(ask: Ask, mock_llm_calls: LLMMock) -> None:
    mock_llm_calls.misbehave("rate-limit")
    told = ask("Say hello")
    assert (told["is_error"], told["api_error_status"]) == (True, 429)
    assert all("429" in call["error"] for call in mock_llm_calls.calls)
