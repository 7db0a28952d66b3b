"""The cost of the plugin for a whole test run as a process."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from environment import environment
from table import Row

TESTS, ROUNDS = 1_000, 3
WITH_PLUGIN, WITHOUT_PLUGIN = ("-p", "llm_mock.pytest_plugin"), ("-p", "no:llm_mock")

ASKING = """
def test_{number:04}():
    assert llm.get_model("m").prompt("x").text()
"""

ASKING_KNOWN = """
import llm

def test_{number:04}():
    assert llm.get_model("gpt-4o-mini").prompt("x", temperature=0.5).text()
"""

ASKING_AN_SDK = """
import openai

def test_{number:04}():
    client = openai.OpenAI(api_key="none")
    assert client.chat.completions.create(model="m", messages=[{{"role": "user", "content": "x"}}]).choices
"""  # noqa: E501

FIXED_BYTES = """
import json

import httpcore2  # as every client with a transport of its own does, and trio with it
import httpx2
import openai
import pytest

MESSAGE = {"role": "assistant", "content": "Hello!", "refusal": None, "annotations": []}
CHOICE = {"index": 0, "message": MESSAGE, "logprobs": None, "finish_reason": "stop"}
BODY = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "choices": [CHOICE]}
ANSWER = json.dumps(BODY).encode()
HEADERS = {"content-type": "application/json"}
TRANSPORT = httpx2.MockTransport(lambda request: httpx2.Response(200, headers=HEADERS, content=ANSWER))

class Client(openai.OpenAI):
    def __init__(self, **arguments):
        super().__init__(http_client=httpx2.Client(transport=TRANSPORT), **arguments)

@pytest.fixture(autouse=True)
def no_provider(monkeypatch):
    monkeypatch.setattr(openai, "OpenAI", Client)
"""  # noqa: E501
"""An application that lets its tests give the SDK a client of their own: none of them makes an SSL context."""  # noqa: E501

EMPTY = """
def test_{number:04}():
    pass
"""

UNITTEST_MOCK = """
from unittest.mock import Mock

import llm
import pytest

get_model = Mock()
get_model.return_value.prompt.return_value.text.return_value = "Hello!"

@pytest.fixture(autouse=True)
def no_real_model(monkeypatch):
    monkeypatch.setattr(llm, "get_model", get_model)
"""


class WholeRun:
    """A test suite, to be run again and again.

    Args:
        test: the source of a test, where its number goes in.
        conftest: the source of the conftest file.
        arguments: the arguments for pytest.
        tests: how many there are of it.
    """

    def __init__(
        self, test: str, conftest: str, arguments: tuple[str, ...], tests: int = TESTS
    ) -> None:
        self._tests = "import llm\n" * (test is ASKING) + "".join(
            test.format(number=number) for number in range(tests)
        )
        self._passed = f"{tests} passed"
        self._conftest = conftest
        self._command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]

    def write(self, folder: Path) -> None:
        """Write the test suite to a new folder."""
        folder.mkdir()
        (folder / "test_many.py").write_text(self._tests)
        (folder / "conftest.py").write_text(self._conftest)

    def seconds(self, folder: Path) -> float:
        """Run the tests of the folder, which must pass, and return the processor time."""
        start = _seconds_of_children()
        done = subprocess.run(
            self._command, cwd=folder, env=environment(folder), capture_output=True, text=True
        )
        seconds = _seconds_of_children() - start
        if done.returncode or self._passed not in done.stdout:
            raise RuntimeError(f"{' '.join(self._command)} failed:\n{done.stdout}{done.stderr}")
        return seconds


RUNS = {
    "asking": WholeRun(ASKING, "", WITH_PLUGIN),
    "asking a unittest.mock": WholeRun(ASKING, UNITTEST_MOCK, WITHOUT_PLUGIN),
    "asking an SDK": WholeRun(ASKING_AN_SDK, "", WITH_PLUGIN),
    "fixed bytes": WholeRun(ASKING_AN_SDK, FIXED_BYTES, WITHOUT_PLUGIN),
    "asking a known one": WholeRun(ASKING_KNOWN, "", WITH_PLUGIN, tests=1),
    "accepting anything": WholeRun(
        ASKING_KNOWN, "", (*WITH_PLUGIN, "-o", "llm_mock_autospec=false"), tests=1
    ),
    "empty": WholeRun(EMPTY, "", WITH_PLUGIN),
    "empty without": WholeRun(EMPTY, "", WITHOUT_PLUGIN),
}


def rows() -> Iterator[Row]:
    """Yield the rows of the table."""
    seconds, many = _fastest_rounds(), f"{TESTS:,} tests"
    for what, ours, beside, other, goal in (
        (
            f"{many} that ask a model",
            "asking",
            "patched with a premade `unittest.mock`",
            "asking a unittest.mock",
            "",
        ),
        (
            f"{many} with an `openai` client each",
            "asking an SDK",
            "over fixed bytes",
            "fixed bytes",
            "≤ 1.4",
        ),
        (
            "one test that asks `gpt-4o-mini`",
            "asking a known one",
            "accepting anything",
            "accepting anything",
            "+ 0.5 s",
        ),
        (f"{TESTS:,} empty tests", "empty", "without the plugin", "empty without", ""),
    ):
        ratio = seconds[ours] / seconds[other]
        yield Row(
            f"a run of {what}",
            f"{seconds[ours]:.2f} s",
            f"{beside}: {seconds[other]:.2f} s",
            ratio,
            goal,
        )


def _seconds_of_children() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _fastest_rounds() -> dict[str, float]:
    """Return the seconds of the fastest of several runs, which take turns."""
    times: dict[str, list[float]] = {name: [] for name in RUNS}
    with tempfile.TemporaryDirectory() as parent:
        for name, run in RUNS.items():
            run.write(Path(parent, name))
        for _ in range(ROUNDS):
            for name, run in RUNS.items():
                times[name].append(run.seconds(Path(parent, name)))
    return {name: min(seconds) for name, seconds in times.items()}
