"""Keys of many kinds, planted everywhere, are in nothing that a run shows or writes."""

from __future__ import annotations

import base64
import json
import os
import random
import string
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from tests.conftest import NESTED_OPTIONS

WINDOW = 8
"""So many characters of a key in a row are a find: half a key is one, too."""


class Kind(NamedTuple):
    """A kind of key: the key itself, and the text in which it is planted."""

    key: str
    text: str


def kind(key: str, text: str = "{}") -> Kind:
    return Kind(key, text.replace("{}", key))


def encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


ENVIRONMENT = {
    "ACME_API_KEY": "Zq8vT3mWp5Kx9Rb2Ny7L",
    "NEWLINE_TOKEN": "nL4cXw8eHj2uVt6yGa9s\n",
    "ODD_PASSWORD": 'Pk7/wE+4 "rT\\q9&sD1ü',
}
KEY, LINE, ODD = (value.strip() for value in ENVIRONMENT.values())
SET_BY_THE_TEST = "gH5tB8nM2kJ6vC9xS3dF"
STORED = "Lw6yQf1aZm4oXc8pRj3e"
_random = random.Random(12)


def letters(number: int = 28) -> str:
    """Letters and digits as in a key, other ones each time."""
    return "".join(_random.choices(string.ascii_letters, k=number - 4)) + "4x7Q"


KINDS = {
    "environment": kind(KEY),
    "environment with a line break": kind(LINE),
    "environment, odd characters": kind(ODD),
    "environment, base64": kind(encoded(KEY)),
    "environment, base64 in a text": kind(encoded(f"user:{KEY}")[4:]),
    "environment, URL": kind(quote(ODD, safe="")),
    "environment, JSON": kind(json.dumps(ODD)[1:-1]),
    "set by the test": kind(SET_BY_THE_TEST),
    "stored by llm": kind(STORED),
    "stored by llm, base64": kind(encoded(STORED)),
    "OpenAI": kind(f"sk-proj-{letters()}"),
    "Anthropic": kind(f"sk-ant-api03-{letters()}"),
    "Google": kind(f"AIzaSy{letters()}Kd4"),
    "Groq": kind(f"gsk_{letters()}"),
    "Hugging Face": kind(f"hf_{letters()}"),
    "Amazon": kind("AKIAQ7WX3ZP5LM2NV8RT"),
    "GitHub": kind(f"ghp_{letters()}"),
    "Slack": kind(f"xoxb-{letters()}"),
    "JSON web token": kind(f"eyJ{letters()}.eyJ{letters()}.{letters()}"),
    "bearer token": kind(letters(), "Authorization: Bearer {}"),
    "basic authorization": kind(encoded(f"me:{letters()}"), "Authorization: Basic {}"),
    "header": kind(letters(), "x-api-key: {}"),
    "field in JSON": kind(letters(), '{"api_key": "{}", "page": 2}'),
    "password in a URL": kind(letters(), "postgres://me:{}@db/x"),
    "token in a URL": kind(letters(), "https://x.net/?a=1&token={}&b=2"),
    "signature of Amazon": kind(letters(), "https://s3.net/f?X-Amz-Expires=60&X-Amz-Signature={}"),
    "signature of Azure": kind(letters(), "https://b.net/f?sv=2024&sig={}"),
    "private key": kind(
        f"MIIE{letters()}", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----"
    ),
    "provider's key, base64": kind(encoded(f"sk-proj-{letters()}")),
}
IN_SUITES = [name for name in KINDS if name != "set by the test"]

TESTS = r'''
import json, logging
from pathlib import Path
import llm, pytest
from llm_mock import Reply, ToolCall
from llm_mock import assert_cost_below, assert_prompt_contains, assert_tokens_below
from pydantic import BaseModel

TEXTS = json.loads(Path(__file__).with_name("planted.json").read_text())

class Verdict(BaseModel):
    good: bool

@pytest.fixture(params=TEXTS, autouse=True)
def name(request, monkeypatch):
    monkeypatch.setenv("LATE_TOKEN", TEXTS["set by the test"])
    return request.param

@pytest.fixture(params=[0, 105])
def length(request):
    """What comes before the key: where it is long, a message cuts the key in two."""
    return request.param

def text(name, length=0):
    return "." * length + " " + TEXTS[name]

def ask(prompt, **arguments):
    return llm.get_model("m").prompt(prompt, **arguments).text()

@pytest.mark.llm_mock_strict
def test_unexpected_call(name, length):
    ask(text(name, length))

@pytest.mark.llm_mock_strict
def test_unexpected_call_behind_the_applications_error(name):
    try:
        ask(text(name))
    except AssertionError as error:
        raise RuntimeError(f"The application failed: {error}") from error

@pytest.mark.llm_mock_strict
def test_swallowed_unexpected_call(name):
    try:
        ask("Hi", system=text(name))
    except AssertionError:
        pass

@pytest.mark.llm_mock_strict
def test_nearest_miss(name, length, mock_llm_responses):
    wanted = {"prompt": "no " + text(name), "system": text(name, length), "options": {"o": text(name)}}
    mock_llm_responses.add("m", text(name), **wanted)
    ask(text(name, length), o="x" + text(name))

def test_unused_reply(name, length, mock_llm_responses):
    mock_llm_responses.add("m", text(name, length))
    mock_llm_responses.add("m", {"data": text(name)}, prompt=text(name))

@pytest.mark.llm_mock_budget(tokens=1)
def test_budget(name, length):
    ask(text(name, length))

@pytest.mark.parametrize("fails", [assert_tokens_below, assert_prompt_contains])
def test_assertions(name, fails, mock_llm_calls):
    ask(text(name))
    arguments = (1,) if fails is assert_tokens_below else ("m", "no " + text(name))
    fails(mock_llm_calls, *arguments)

def test_assert_called_with(name, mock_llm_calls):
    ask(text(name))
    mock_llm_calls.get_model("m").assert_called_with(prompt_contains="no " + text(name))

def test_broken_schema(name, mock_llm_responses):
    mock_llm_responses.set("m", {"good": text(name)}, schema=Verdict)
    ask("Hi", schema=Verdict)

def test_log(name, length, debug_llm):
    debug_llm.set("m", text(name, length))
    ask(text(name))
    ask("." * 35 + text(name))

def test_error(name, mock_llm_responses):
    mock_llm_responses.set_error("m", ConnectionError(text(name)))
    ask("Hi")

def test_options_and_conversation(name):
    chat = llm.get_model("m").conversation()
    chat.prompt(text(name), note=text(name), headers={"authorization": text(name)}).text()
    chat.prompt("And now?", system=text(name)).text()
    raise ValueError("of the project")

def test_tools(name, mock_llm_responses):
    def look(what: str) -> str:
        return f"found {what}"
    mock_llm_responses.add("m", Reply(tool_calls=[ToolCall("look", {"what": text(name)})]))
    mock_llm_responses.add("m", "Done.")
    assert llm.get_model("m").chain("Look", tools=[look]).text() == "no"

@pytest.mark.parametrize("size", [1, 5, 11])
def test_stream(name, size, mock_llm_responses):
    answer = text(name) + " and so on"
    mock_llm_responses.set("m", Reply(chunks=[answer[i : i + size] for i in range(0, len(answer), size)]))
    "".join(llm.get_model("m").prompt("Hi"))
    raise ValueError("of the project")

@pytest.mark.llm_mock_cassette
def test_not_recorded(name, length):
    ask(text(name, length))

def test_misbehaviour_skips(name):
    pytest.skip("nothing to see")
'''  # noqa: E501
IN_A_WORKER = """
import os

import pytest

def kinds_of(items):
    return {item.callspec.params["name"] for item in items}

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    if "PYTEST_XDIST_WORKER" in os.environ:
        tests = [item for item in items if hasattr(item, "callspec")]
        cases = [item for item in items if item not in tests]
        items[:] = [*tests[::3], *cases]
        assert kinds_of(tests[::3]) == kinds_of(tests)
"""
"""A conftest by which a worker runs a third of the tests: all kinds of keys, and all places."""
ROLE = """\
apiVersion: initrunner/v1
kind: Agent
metadata: {name: r}
spec: {role: Be kind, model: {provider: o, name: m}}
"""


def suite() -> str:
    cases = [
        {
            "name": f"case {number}",
            "prompt": f"{'.' * length} {kind.text}",
            "expected_output": f"{'.' * length} {kind.text} said",
            "assertions": [
                {"type": "contains", "value": f"no {kind.text}"},
                {"type": "regex", "pattern": "^none$"},
                {"type": "equals", "value": f"{'.' * length} {kind.text} was not said"},
            ],
        }
        for length in (0, 105)
        for number, kind in enumerate((KINDS[name] for name in IN_SUITES), start=length)
    ]
    return json.dumps(
        {
            "apiVersion": "initrunner/v1",
            "kind": "TestSuite",
            "metadata": {"name": "s"},
            "cases": cases,
        }
    )


class Outputs(NamedTuple):
    """The output and the files of a run, by name, without line breaks."""

    texts: dict[str, str]

    def finds(self, names: Iterable[str]) -> dict[str, list[str]]:
        """In which outputs a part of a key is, for each kind of which there is one."""
        found = {
            name: [output for output, text in self.texts.items() if _has(text, KINDS[name].key)]
            for name in names
        }
        return {name: where for name, where in found.items() if where}


def _has(text: str, key: str) -> bool:
    key = "".join(key.split())
    return any(key[start : start + WINDOW] in text for start in range(len(key) - WINDOW + 1))


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("secrets")
    (folder / "user").mkdir()
    (folder / "user" / "keys.json").write_text(
        json.dumps({"// Note": "This file stores keys", "openai": STORED})
    )
    (folder / "planted.json").write_text(
        json.dumps({name: kind.text for name, kind in KINDS.items()})
    )
    (folder / "test_places.py").write_text(TESTS)
    (folder / "conftest.py").write_text(IN_A_WORKER)
    (folder / "role.yaml").write_text(ROLE)
    (folder / "suite.yaml").write_text(suite())
    (folder / "pytest.ini").write_text("[pytest]\nllm_mock_suites = suite.yaml = role.yaml\n")
    return folder


def run(folder: Path, *arguments: str) -> str:
    """Return the output of a command for a user with keys in the environment and in `llm`."""
    mine = {
        "LLM_USER_PATH": str(folder / "user"),
        "PYTEST_ADDOPTS": NESTED_OPTIONS,
        "COLUMNS": "250",
    }
    variables = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PFLOW_TESTING", "CI", "FORCE_COLOR")
    }
    ran = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=folder,
        env={**variables, **ENVIRONMENT, **mine, "LATE_TOKEN": ""},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    return ran.stdout + ran.stderr


def chunks_of(report: Any) -> Iterator[str]:
    """Return the joined chunks of the stream of each call in a report."""
    for test in report["tests"]:
        for call in test["calls"]:
            chunks = (call["response"] or {}).get("chunks", ())
            yield "".join(chunk if isinstance(chunk, str) else chunk["chunk"] for chunk in chunks)


def outputs(folder: Path, terminal: str, *files: str) -> Outputs:
    texts = {
        "terminal": terminal,
        **{file: (folder / file).read_text(encoding="utf-8") for file in files},
    }
    if "r.json" in files:
        texts["chunks"] = "\n".join(chunks_of(json.loads(texts["r.json"])))
    return Outputs({name: "".join(text.split()) for name, text in texts.items()})


@pytest.fixture(scope="module", params=[(), ("-n", "1")], ids=["one process", "a worker"])
def of_tests(request: pytest.FixtureRequest, project: Path) -> Outputs:
    shown = ("-rA", "--tb=long", "--junitxml=j.xml", "-o", "junit_logging=all", "-Wdefault")
    reports = ("--llm-mock-report=r.json", "--llm-mock-report=r.html")
    terminal = run(project, "pytest", *shown, *reports, *request.param)
    assert "test_stream" in terminal
    return outputs(project, terminal, "j.xml", "r.json", "r.html")


@pytest.fixture(scope="module")
def of_suites(project: Path) -> Outputs:
    files = ("s.json", "s.xml", "s.md", "s.html")
    written = [argument for file in files for argument in ("-o", file)]
    terminal = run(
        project, "llm_mock", "test", "role.yaml", "-s", "suite.yaml", "--dry-run", "-v", *written
    )
    return outputs(project, terminal, *files)


def test_no_key_is_in_an_output_of_a_test_run_and_its_messages_stay_readable(
    of_tests: Outputs,
) -> None:
    assert of_tests.finds(KINDS) == {}
    for said in (
        "Noreplywasconfiguredforthiscall:",
        "queuedreplieswerenotused:",
        "x-api-key:[redacted]",
        "postgres://me:[redacted]@db/x",
        "https://x.net/?a=1&token=[redacted]&b=2",
    ):
        assert said in of_tests.texts["terminal"]


def test_no_key_is_in_an_output_of_a_suite_and_its_messages_stay_readable(
    of_suites: Outputs,
) -> None:
    assert of_suites.finds(IN_SUITES) == {}
    assert "x-api-key:[redacted]" in of_suites.texts["s.md"]
