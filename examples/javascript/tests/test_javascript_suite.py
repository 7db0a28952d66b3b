"""The tests in JavaScript, against one server."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1]
SUITE = ("tests/answers.test.mjs", "tests/mail.test.mjs")
NUMBER_OF_TESTS = 10
FORGETFUL_TEST = """
import {{ test }} from "node:test";
import {{ mockOf }} from "{helper}";

test("a reply stays unused", async (t) => {{
  const mock = await mockOf(t);
  await mock.add({{ text: "Nobody asks." }});
}});
"""

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="needs Node")


@pytest.fixture
def server() -> Iterator[subprocess.Popen[str]]:
    """Run `llm-mock serve`."""
    command = [sys.executable, "-m", "llm_mock", "serve", "--strict", "error"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def run_node(server: subprocess.Popen[str], *files: str) -> subprocess.CompletedProcess[str]:
    """Run tests in JavaScript."""
    assert server.stdout is not None
    url = server.stdout.readline().split()[1].removesuffix("/openai/v1")
    command = ["node", "--test", "--test-reporter=tap", *files]
    environment = {**os.environ, "LLM_MOCK_URL": url}
    return subprocess.run(
        command, cwd=FOLDER, env=environment, capture_output=True, text=True, timeout=120
    )


def test_ten_tests_pass_in_parallel_against_one_server(server: subprocess.Popen[str]) -> None:
    result = run_node(server, *SUITE)
    assert result.returncode == 0, result.stdout
    assert re.search(rf"^# pass {NUMBER_OF_TESTS}$", result.stdout, re.MULTILINE)
    assert re.search("^# fail 0$", result.stdout, re.MULTILINE)
    server.terminate()
    output, _ = server.communicate(timeout=20)
    # Each call is printed with the name of its test.
    names = {line.partition(": ")[0] for line in output.splitlines() if "gpt-4o-mini" in line}
    assert len(names) == NUMBER_OF_TESTS
    assert "the-same-question-has-another-answer-in-another-test" in names


def test_a_test_that_leaves_a_reply_unused_fails(
    server: subprocess.Popen[str], tmp_path: Path
) -> None:
    file = tmp_path / "forgetful.test.mjs"
    file.write_text(FORGETFUL_TEST.format(helper=(FOLDER / "llm-mock.mjs").as_uri()))
    result = run_node(server, str(file))
    assert result.returncode == 1
    assert "One queued reply was not used:" in result.stdout
