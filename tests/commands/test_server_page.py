"""The examples of other languages on the page of the server, run against a server."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "server.md").read_text(encoding="utf-8")
URL = "http://127.0.0.1:8080"


def blocks(language: str) -> list[str]:
    """Return the blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """Run the command of the page, on a free port."""
    [command, _] = blocks("sh")
    words = command.split()
    assert words[:2] == ["llm-mock", "serve"]
    assert words[3:] == ["--port", "8080"]
    [script] = [block for block in blocks("yaml") if block.startswith(f"# {words[2]}\n")]
    (tmp_path / words[2]).write_text(script)
    arguments = [sys.executable, "-m", "llm_mock", "serve", words[2], "--port", "0"]
    with subprocess.Popen(
        arguments, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        yield process.stdout.readline().split()[1].removesuffix("/openai/v1")
        process.kill()


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_commands_of_the_page_set_a_reply_and_read_a_verdict(url: str) -> None:
    [_, commands] = blocks("sh")
    script = commands.replace(URL, url)
    output = subprocess.check_output(["sh", "-ec", script], text=True, timeout=60)
    decoder = json.JSONDecoder()
    answers = []
    while output := output.strip():
        answer, end = decoder.raw_decode(output)
        answers.append(answer)
        output = output[end:]
    added, completion, calls, verdict = answers
    assert added == {"added": 1}
    assert completion["choices"][0]["message"]["content"] == "Sunny."
    assert (calls["total"], calls["calls"][0]["test"]) == (1, "test-7")
    assert verdict["passed"] is True
    assert verdict["message"] is None
    [shown] = [json.loads(block) for block in blocks("json")]
    assert list(shown) == list(verdict)


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node")
def test_the_test_in_javascript_passes(url: str, tmp_path: Path) -> None:
    [program] = blocks("javascript")
    (tmp_path / "weather.test.mjs").write_text(program)
    environment = {**os.environ, "LLM_MOCK_URL": url}
    result = subprocess.run(
        ["node", "--test", "weather.test.mjs"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stdout
    assert re.search(r"^. pass 1$", result.stdout, re.MULTILINE)


@pytest.mark.skipif(not shutil.which("go"), reason="needs Go")
def test_the_test_in_go_passes(url: str, tmp_path: Path) -> None:
    [program] = blocks("go")
    (tmp_path / "weather_test.go").write_text(program.replace(URL, url))
    environment = {**os.environ, "GO111MODULE": "off", "GOFLAGS": "", "GOCACHE": str(tmp_path)}
    result = subprocess.run(
        ["go", "test", "-v", "weather_test.go"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout
    assert "--- PASS: TestWeather" in result.stdout


def test_the_table_of_the_page_has_all_requests() -> None:
    named = re.findall(r"^\| `(GET|POST) (/_llm_mock/\w+)` \|", PAGE, re.MULTILINE)
    from llm_mock.commands.serve_control import ServeControl
    from llm_mock.commands.serve_tests import ServedTests
    from llm_mock.core.settings import Settings

    control = ServeControl(ServedTests(Settings(), None, 1, None))
    assert control._list_routes() == "The control API has {}.".format(
        ", ".join(f"{method} {path}" for method, path in named)
    )
