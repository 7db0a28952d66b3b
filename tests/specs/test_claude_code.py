"""Claude Code does the steps and judges: its command, played by a script of the test."""

from __future__ import annotations

import itertools
import json
import os
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp")
pytest.importorskip("jinja2")

from llm_mock.errors import DriverError, TimeIsUp
from llm_mock.specs import load_spec
from llm_mock.specs.allowed_hosts import LOOPBACK
from llm_mock.specs.claude_code import ClaudeCodeDriver
from llm_mock.specs.drivers import Task
from llm_mock.specs.steps import Deadline, Report
from llm_mock.specs.tools_server import RunningTools, run_tools_server
from tests.agents.processes import wait_until_gone

from .projects import Project

PASS = '{"verdict": "PASS", "reason": "All is well"}'
HEAD = """\
import json, os, subprocess, sys, time

ME = [sys.executable, "-IS", sys.argv[0]]

def say(**message):
    print(json.dumps(message), flush=True)

def answer(text, **fields):
    say(**{"type": "result", "is_error": False, "result": text, **fields})

def use(name, result, **fields):
    block = {"type": "tool_use", "id": name, "name": name, "input": {"item": "plum"}}
    say(type="assistant", message={"role": "assistant", "content": [{"type": "text", "text": "Now"}, block]})
    block = {"type": "tool_result", "tool_use_id": name, "content": result, **fields}
    say(type="user", message={"role": "user", "content": [block]})

"""  # noqa: E501
CALLS_A_TOOL = """\
import asyncio
import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

async def main():
    (file,) = [word for word in sys.argv if word.endswith(".json")]
    (server,) = json.load(open(file))["mcpServers"].values()
    async with httpx2.AsyncClient(headers=server["headers"]) as http:
        async with Client(streamable_http_client(server["url"], http_client=http)) as client:
            result = await client.call_tool("shop_sell", {"item": "plum"})
            answer(json.dumps({"verdict": "PASS", "reason": result.structured_content["item"]}))

asyncio.run(main())
"""

Claude = Callable[..., None]


@pytest.fixture(autouse=True)
def no_thread_remains() -> Iterator[None]:
    """Fail a test that leaves a thread behind."""
    before = {*threading.enumerate()}
    yield
    assert {*threading.enumerate()} <= before


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project(tmp_path_factory.mktemp("project"))


@pytest.fixture(scope="module")
def tools(project: Project) -> Iterator[RunningTools]:
    """Tools that all tests of this module share."""
    with run_tools_server(
        project.tests / "test_shop.yaml", allowed_hosts=LOOPBACK, http=True
    ) as tools:
        yield tools


@pytest.fixture
def task(project: Project, tools: RunningTools) -> Callable[..., Task]:
    def task(seconds: float = 60, report: Report = lambda happened: None) -> Task:
        spec = load_spec(
            project.write(
                "steps: [{name: Buy, tool: shop_sell, args: {item: plum}, save_as: sale}]"
            )
        )
        return Task(spec, tools, Deadline(seconds), report, project.root)

    return task


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Claude]:
    """Make a command `claude` of some code; no process of it may be left after the test."""

    def write(code: str, options: str = "-IS") -> None:
        path = tmp_path / "claude"
        path.write_text(f"#!{sys.executable} {options}\n{HEAD}{textwrap.dedent(code)}")
        path.chmod(0o755)

    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    yield write
    wait_until_gone(str(tmp_path))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (PASS, "PASS"),
        (f"All steps are done.\n\n```json\n{PASS}\n```\nThat is all.", "PASS"),
        (PASS.replace("PASS", "FAIL"), "FAIL"),
        ("I am sorry.", "UNCLEAR"),
    ],
)
def test_the_verdict_is_what_the_command_says(
    said: str, expected: str, claude: Claude, task: Callable[..., Task]
) -> None:
    claude(f"answer({said!r})")
    assert ClaudeCodeDriver().run(task()).verdict == expected


def test_output_that_is_not_utf_8_is_no_obstacle(claude: Claude, task: Callable[..., Task]) -> None:
    reported: list[str] = []
    claude(
        f"""
        # In one piece, so that the call is in the same chunk.
        sys.stdout.buffer.write(b"\\xff\\n" * 9)
        use("mcp__llm_mock__shop_sell", "sold")
        answer({PASS!r})
        """
    )
    given = task(report=lambda happened: reported.append(str(happened)))
    assert ClaudeCodeDriver().run(given).verdict == "PASS"
    assert any("shop_sell" in line for line in reported)


def test_a_call_lasts_until_its_result(
    claude: Claude, task: Callable[..., Task], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(0, 2.5)
    clock = SimpleNamespace(perf_counter=lambda: next(seconds))
    monkeypatch.setattr("llm_mock.specs.claude_code.time", clock)
    reported: list[str] = []
    claude(f"use('mcp__llm_mock__shop_sell', 'sold')\nanswer({PASS!r})")
    ClaudeCodeDriver().run(task(report=lambda happened: reported.append(str(happened))))
    assert [line.endswith("  (2.5 s)") for line in reported if "shop_sell" in line] == [True]


def test_the_command_gets_the_prompt_the_tools_and_nothing_else(
    claude: Claude, task: Callable[..., Task], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-${NOT_REPLACED} $${NOR_THIS} ${")
    for variable in ("LLM_MOCK", "PFLOW_TESTING", "CLAUDECODE"):
        monkeypatch.setenv(variable, "1")
    claude(
        f"""
        config = sys.argv[sys.argv.index("--mcp-config") + 1]
        seen = {{
            "arguments": sys.argv[1:], "stdin": sys.stdin.read(), "folder": os.getcwd(),
            "variables": dict(os.environ), "mode": os.stat(config).st_mode & 0o777, "config": json.load(open(config)),
        }}
        json.dump(seen, open({str(tmp_path / "seen")!r}, "w"))
        answer({PASS!r})
        """  # noqa: E501
    )
    given = task()
    ClaudeCodeDriver(model="opus").run(given)

    seen: dict[str, Any] = json.loads((tmp_path / "seen").read_text())
    arguments = seen["arguments"]
    configuration = arguments[arguments.index("--mcp-config") + 1]
    expected = """
    -p --output-format stream-json --verbose --no-session-persistence --setting-sources=
    --mcp-config FILE --strict-mcp-config --tools NONE --allowedTools mcp__llm_mock --model opus
    """
    words = {"FILE": configuration, "NONE": ""}
    assert arguments == [words.get(word, word) for word in expected.split()]
    assert Path(configuration).name == "servers.json"
    assert not any(given.spec.test.name in argument for argument in arguments), (
        "a list of processes has no prompt"
    )
    assert (seen["stdin"], seen["mode"], seen["folder"]) == (given.prompt, 0o600, str(given.root))
    assert seen["variables"]["ANTHROPIC_API_KEY"] == "sk-${NOT_REPLACED} $${NOR_THIS} ${"
    for variable in ("LLM_MOCK", "PFLOW_TESTING", "CLAUDECODE"):
        assert seen["variables"][variable] == ""
    (server,) = seen["config"]["mcpServers"].values()
    assert server == {"type": "http", "url": given.tools.url, "headers": dict(given.tools.headers)}
    assert not Path(configuration).exists()


def test_the_model_is_that_of_the_option_or_of_the_command() -> None:
    assert ClaudeCodeDriver().model_id == "claude-code"
    assert ClaudeCodeDriver(model="opus").model_id == "opus"


@pytest.mark.usefixtures("tools")  # so that the thread of all servers exists before
def test_the_command_calls_the_tools_of_the_test(claude: Claude, project: Project) -> None:
    claude(CALLS_A_TOOL, options="")
    verdict = project.run(
        "steps: [{name: Buy, tool: shop_sell, args: {item: plum}}]", driver=ClaudeCodeDriver()
    )
    assert (verdict.verdict, verdict.reason) == ("PASS", "plum")
    assert "sell plum" in project.journal


@pytest.mark.parametrize(
    ("result", "saved"),
    [
        ('{"item": "plum", "number": 1}', {"item": "plum", "number": 1}),
        ([{"type": "text", "text": "sold"}, {"type": "text", "text": "out"}], "sold\nout"),
        # More than a pipe passes on at once.
        ("sold " * 50_000, "sold " * 50_000),
    ],
)
def test_the_calls_that_the_command_tells_of_stand_in_the_verdict(
    result: Any, saved: Any, claude: Claude, task: Callable[..., Task]
) -> None:
    said = {
        **json.loads(PASS),
        "steps": [{"name": "Buy", "status": "pass", "tool_output": "something else"}],
    }
    claude(
        f"""
        say(type="system", subtype="init")
        use("mcp__llm_mock__shop_sell", {result!r})
        answer({json.dumps(said)!r})
        """
    )
    given = task()
    verdict = ClaudeCodeDriver().run(given)
    assert (verdict.verdict, verdict.steps[0].tool_output, given.saved) == (
        "PASS",
        saved,
        {"sale": saved},
    )


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        ("", "UNCLEAR"),
        ("use('mcp__other__shop_sell', 'sold')", "UNCLEAR"),
        ("use('mcp__llm_mock__shop_sell', 'no', is_error=True)", "PASS"),
    ],
)
def test_a_pass_without_the_calls_is_unclear(
    calls: str, expected: str, claude: Claude, task: Callable[..., Task]
) -> None:
    claude(f"say(type='system', subtype='init')\n{calls}\nanswer({PASS!r})")
    given = task()
    verdict = ClaudeCodeDriver().run(given)
    assert (verdict.verdict, given.saved) == (expected, {})
    assert ("shop_sell was called 0 of 1 times" in verdict.reason) is (expected == "UNCLEAR")


@pytest.mark.parametrize(
    "code",
    [
        "time.sleep(600)",
        "while True: print('.' * 1000, flush=True)",
        "while True: print('.' * 1000, file=sys.stderr, flush=True)",
        (
            "time.sleep(600) if 'child' in sys.argv else subprocess.run([*ME, 'child'], "
            "start_new_session=True)"
        ),
    ],
    ids=["silent", "talking", "complaining", "with children"],
)
def test_a_command_that_does_not_end_is_killed_at_the_deadline(
    code: str, claude: Claude, task: Callable[..., Task]
) -> None:
    claude(code)
    with pytest.raises(TimeIsUp, match="the work of claude"):
        ClaudeCodeDriver().run(task(seconds=0.5))


def test_much_output_does_not_stop_the_command(claude: Claude, task: Callable[..., Task]) -> None:
    claude(f"sys.stderr.write('x' * 10_000_000)\nanswer({PASS!r})")
    assert ClaudeCodeDriver().run(task()).verdict == "PASS"


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (
            "print('one', file=sys.stderr); sys.exit('two\\x1b[2J')",
            "with exit code 1.\nThe last lines of its stderr:\n  one\n  two\\x1b[2J",
        ),
        ("os.kill(os.getpid(), 9)", "The command 'claude' failed, killed by SIGKILL."),
        (
            "answer('Not logged in', is_error=True); sys.exit(1)",
            "with exit code 1.\nIts output: Not logged in",
        ),
        (
            "answer('Credit is too low', is_error=True)",
            "with exit code 0.\nIts output: Credit is too low",
        ),
        ("print('Bad option'); sys.exit(2)", "with exit code 2.\nIts output: Bad option"),
        ("answer(os.environ['SOME_API_KEY'], is_error=True)", "Its output: [redacted secret]"),
    ],
)
def test_a_command_that_fails_cannot_judge(
    code: str,
    expected: str,
    claude: Claude,
    task: Callable[..., Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "open-sesame-42")
    claude(code)
    with pytest.raises(DriverError) as raised:
        ClaudeCodeDriver().run(task())
    assert expected in str(raised.value)


def test_a_command_that_cannot_be_started_cannot_judge(
    claude: Claude, task: Callable[..., Task]
) -> None:
    claude("")
    with pytest.raises(DriverError) as raised:
        ClaudeCodeDriver(model="opus\0").run(task())
    assert str(raised.value) == (
        "The command 'claude' cannot be run: The server 'claude' cannot be started: embedded null "
        "byte."
    )


def test_a_missing_command_is_told_with_what_to_do(task: Callable[..., Task]) -> None:
    with pytest.raises(DriverError) as raised:
        ClaudeCodeDriver(command="no-such-claude").run(task())
    for part in (
        "'no-such-claude' was not found",
        "npm install -g @anthropic-ai/claude-code",
        "llm_mock_spec_driver",
    ):
        assert part in str(raised.value)


def test_a_long_prompt_reaches_the_command_and_one_that_reads_none_is_judged(
    claude: Claude, task: Callable[..., Task]
) -> None:
    given = task()
    given.saved["book"] = "x" * 3_000_000
    claude(f"answer({PASS!r}) if len(sys.stdin.read()) > 3_000_000 else answer('No prompt')")
    assert ClaudeCodeDriver().run(given).verdict == "PASS"
    claude(f"answer({PASS!r})")
    assert ClaudeCodeDriver().run(given).verdict == "PASS"


def test_calls_are_shown_while_the_command_works(
    claude: Claude, task: Callable[..., Task], tmp_path: Path
) -> None:
    seen = tmp_path / "seen"

    def report(happened: object) -> None:
        if "shop_sell" in str(happened):
            seen.write_text(str(happened))

    claude(
        f"""
        use("mcp__llm_mock__shop_sell", "sold")
        while not os.path.exists({str(seen)!r}):
            time.sleep(0.01)
        answer({PASS!r})
        """
    )
    assert ClaudeCodeDriver().run(task(report=report)).verdict == "PASS"
    assert seen.read_text().startswith('  shop_sell(item="plum") → sold')
