"""The types of fixtures for mypy and editors."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import typing
from pathlib import Path

import pytest

import llm_mock
from llm_mock.plugin import fixtures

SAMPLE = """
from typing_extensions import assert_type
import pytest
from llm_mock import Call, Latency, LLMMock, MockLLMModel, Reply, assert_llm_called_times, call, templates

def answer(prompt: object) -> str:
    return str(prompt)

def pytest_llm_mock_configure(config: pytest.Config, mock: LLMMock) -> None:
    mock.set("judge", "PASS")

def test_right(mock_llm_responses: LLMMock, mock_llm_calls: LLMMock) -> None:
    mock_llm_responses.set("m", "a", schema=dict, prompt="x", system=str.isupper, tools=["a"], turn=1, options={"a": 1})
    mock_llm_responses.set("m", answer)
    mock_llm_responses.add("m", Reply("a"), times=2, optional=True, attachments=["image/png"])
    mock_llm_responses.script("m", ValueError("no"), templates.rate_limit(), {"a": 1}, call("f", a=1), optional=True)
    mock_llm_responses.script("m", "a", times=2, schema="A", prompt="x", tools=["a"], system=None)
    mock_llm_responses.set_error("m", templates.timeout())
    mock_llm_responses.set_latency("m", Latency(first_chunk=1))
    mock_llm_responses.set_price("m", 1, 2)
    mock_llm_responses.set_embedding("m", b"a", (1, 2.0))
    assert_type(mock_llm_responses.misbehave("rate-limit").calls, list[int])
    assert_type(mock_llm_calls.last_call, Call)
    assert_type(mock_llm_calls.last_call.prompt, str)
    assert_type(mock_llm_calls.get_model("m"), MockLLMModel)
    assert_type(mock_llm_calls.get_model("m").prompt("Hi").text(), str)
    assert_type(mock_llm_calls.get_model("m").call_history, list[Call])
    mock_llm_calls.assert_called_once_with("a", prompt_equals="a", schema=dict)
    mock_llm_calls.get_model("m").assert_not_called()
    assert_llm_called_times(mock_llm_calls, "m", 1)

def test_wrong(mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("m")
    mock_llm_responses.set("m", "a", turn="first")
    mock_llm_responses.add("m", "a", time=2)
    mock_llm_responses.add("m", "a", promt="a")
    mock_llm_responses.set("m", "a", attachments=5)
    mock_llm_responses.script(5, "a")
    mock_llm_responses.script("m", "a", promt="a")
    mock_llm_responses.set_error("m", "down")
    mock_llm_responses.assert_called_with(promt="a")
    mock_llm_responses.misbehaviour("rate-limit")
    mock_llm_responses.last_call.promt
"""  # noqa: E501


WRONG = 1 + SAMPLE.splitlines().index("def test_wrong(mock_llm_responses: LLMMock) -> None:")
"""The line of the function whose lines are all wrong."""


def test_pyright_knows_what_the_fixtures_give(tmp_path: Path) -> None:
    # It brings Node.js along; pyright's own package downloads it.
    pytest.importorskip("basedpyright")
    (tmp_path / "sample.py").write_text(SAMPLE)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    command = [sys.executable, "-m", "basedpyright", "--outputjson"]
    command += ["--pythonpath", sys.executable, "--project", str(tmp_path)]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(process.stdout)["generalDiagnostics"]
    lines = {1 + item["range"]["start"]["line"] for item in found if item["severity"] == "error"}
    assert sorted(lines) == list(range(WRONG + 1, WRONG + 12)), process.stdout


def test_mypy_knows_what_the_fixtures_give(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE)
    cache = Path(__file__).parents[1] / ".mypy_cache"
    # A process of its own, as mypy changes the garbage collector of the process that it runs in.
    command = [sys.executable, "-m", "mypy", "--strict", "--no-error-summary"]
    process = subprocess.run(
        [*command, f"--cache-dir={cache}", str(sample)], capture_output=True, text=True, check=False
    )
    shown = process.stdout
    assert process.stderr == ""
    lines = [int(line.split(":")[1]) for line in shown.splitlines() if ": error: " in line]
    assert sorted({*lines}) == list(range(WRONG + 1, WRONG + 12)), shown


DEFINED = [
    node
    for node in ast.walk(ast.parse(Path(fixtures.__file__).read_text()))
    if isinstance(node, ast.FunctionDef)
    and any("fixture" in ast.dump(item) for item in node.decorator_list)
]
"""The fixtures of the plugin, as they are written."""


@pytest.mark.parametrize("fixture", DEFINED, ids=lambda fixture: fixture.name)
def test_every_fixture_says_what_it_gives(fixture: ast.FunctionDef) -> None:
    assert fixture.returns is not None
    assert ast.unparse(fixture.returns) not in ("Any", "object", "Callable[..., Any]")


def test_help_shows_the_public_names_and_the_fixtures() -> None:
    shown = typing.cast("str", llm_mock.__doc__)
    public = [fixture.name for fixture in DEFINED if not fixture.name.startswith("_")]
    assert "mock_llm_responses" in public
    assert [
        name for name in (*public, *llm_mock.__all__) if not re.search(rf"\b{name}\b", shown)
    ] == []
