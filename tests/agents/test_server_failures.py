"""MCP servers that go wrong: at their start, between calls and during one."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from llm_mock.agents import CLIServer, MCPServer
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.tools import ToolAnswer
from llm_mock.errors import MissingExtra, ServerError

from .conftest import EXAMPLES, tools_of
from .processes import processes_with, wait_until_there

Raw = Callable[..., MCPServer]


def test_a_server_that_dies_during_a_call_says_its_last_words(pool: ServerPool, raw: Raw) -> None:
    server = raw(name="raw")
    tools = tools_of(pool, server)
    last_words = "with exit code 7.\nThe last lines of its stderr:\n  I am dying: disk full"
    dying = tools["die"].call({})
    assert dying == ToolAnswer(
        f"The MCP server 'raw' ended during this call, {last_words}", is_error=True
    )
    dead = tools["echo"].call({"text": "?"})
    assert dead.text == f"The MCP server 'raw' had ended before this call, {last_words}"
    assert tools_of(pool, server)["echo"].call({"text": "back"}).text == "back"
    assert tools["echo"].call({"text": "?"}) == dead  # a tool of the dead server does not come back


def test_a_server_that_ends_between_calls_is_started_anew(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    server = raw(name="raw")
    tools = tools_of(pool, server)
    assert tools["end_after_answer"].call({}).text == "no"
    wait_until_there(marker, 0)
    assert "I have had enough." in tools["echo"].call({"text": "?"}).text
    assert tools_of(pool, server)["echo"].call({"text": "back"}).text == "back"


def test_a_call_that_takes_too_long_shows_stderr(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw(name="raw", call_timeout=0.3))
    answer = tools["hang"].call({})
    assert answer.is_error
    assert answer.text == (
        "The tool 'hang' of the MCP server 'raw' did not answer within 0.3 seconds.\n"
        "The last lines of its stderr:\n  I am stuck in a loop"
    )


def test_a_server_that_hangs_since_a_call_is_started_anew(
    pool: ServerPool, raw: Raw, marker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_mock.agents.mcp_session.PROBE_TIMEOUT", 0.2)
    server = raw()
    first = (
        set(processes_with(marker))
        if tools_of(pool, server)["hang"].call({}, timeout=0.2).is_error
        else set()
    )
    assert tools_of(pool, server)["echo"].call({"text": "back"}).text == "back"
    assert len(processes_with(marker)) == 2
    assert not first & set(processes_with(marker))


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("refuse", "no"),
        (
            "break_protocol",
            (
                "The call to the tool 'break_protocol' of the MCP server 'raw' failed: Internal "
                "error: no such"
            ),
        ),
        (
            "break_result",
            "The call to the tool 'break_result' of the MCP server 'raw' failed: ",
        ),
    ],
)
def test_what_a_server_says_of_a_call_is_an_answer(
    tool: str, text: str, pool: ServerPool, raw: Raw
) -> None:
    tools = tools_of(pool, raw(name="raw"))
    answer = tools[tool].call({})
    assert answer.is_error
    assert answer.text.startswith(text)
    assert tools["echo"].call({"text": "still here"}).text == "still here"


def test_a_flood_on_stderr_neither_blocks_nor_fills_the_memory(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw("--flood", "5000000"))
    assert tools["echo"].call({"text": "dry"}).text == "dry"
    text = tools["die"].call({}).text
    assert text.endswith("I am dying: disk full")
    assert len(text) < 5000


def test_a_server_that_closes_its_stdin_fails_what_it_is_asked(pool: ServerPool, raw: Raw) -> None:
    tools = tools_of(pool, raw(name="raw"))
    assert tools["close_stdin"].call({}).text == "no"
    answer = tools["echo"].call({"text": "x" * 1_000_000}, timeout=10)
    assert answer.is_error
    assert "did not answer within" not in answer.text


def test_lines_on_stdout_that_are_no_messages_are_overlooked(pool: ServerPool, raw: Raw) -> None:
    assert tools_of(pool, raw("--banner"))["echo"].call({"text": "Hi"}).text == "Hi"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "no-such-server",
            ("The server 'it' cannot be started: the command 'no-such-server' is not in PATH ("),
        ),
        (
            "python -c 'import sys; sys.exit(\"no config\")'",
            "ended during its start, with exit code 1.\nThe last lines ",
        ),
        (
            "python -c pass",
            (
                "The MCP server 'it' ended during its start, with exit code 0. It wrote "
                "nothing to stderr."
            ),
        ),
        (
            "yes",
            (
                "'it' is not an MCP server; it was stopped.\n"
                "It wrote lines to stdout that are not MCP messages:\n  'y'\n"
            ),
        ),
    ],
)
def test_a_server_that_does_not_start_says_why(
    command: str, message: str, pool: ServerPool
) -> None:
    with pytest.raises(ServerError) as caught:
        pool.tools([MCPServer(command, name="it")])
    assert message in str(caught.value)


def test_a_server_that_writes_to_stdout_alone_is_shown_with_that(pool: ServerPool) -> None:
    with pytest.raises(ServerError) as caught:
        pool.tools([MCPServer("python -c 'print(\"Hello\")'", name="it")])
    shown = "It wrote lines to stdout that are not MCP messages:\n  'Hello'"
    assert str(caught.value).endswith(shown)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--hang"],
            (
                "within 0.5 seconds (start_timeout); it was stopped.\n"
                "The last lines of its stderr:\n  waiting for"
            ),
        ),
        (
            ["--hang", "--banner"],
            (
                "It wrote lines to stdout that are not MCP messages:\n"
                "  'Welcome to the raw server!'\nThe last lines of its stderr:\n  waiting for"
            ),
        ),
        (["--hang-at-list"], "did not list its tools within 0.5 seconds (start_timeout)."),
        (
            ["--refuse-version"],
            (
                "The MCP server 'it' failed to start: I am too old for this. It wrote nothing to "
                "stderr."
            ),
        ),
        (
            ["--die-at-list"],
            (
                "ended during its start, with exit code 1.\nThe last lines of its stderr:\n"
                "  no tools today"
            ),
        ),
        (
            ["--refuse-list", "--flood", "100"],
            (
                "The MCP server 'it' failed to list its tools: The list is out.\n"
                f"The last lines of its stderr:\n  {0:099}"
            ),
        ),
        (["--endless"], "The MCP server 'it' lists more than 100 pages of tools"),
    ],
)
def test_a_server_that_starts_badly_is_ended(
    options: list[str], message: str, pool: ServerPool, raw: Raw, marker: str
) -> None:
    with pytest.raises(ServerError) as caught:
        pool.tools([raw(*options, name="it", start_timeout=0.5 if "hang" in options[0] else 30)])
    assert message in str(caught.value)
    assert processes_with(marker) == {}


def test_a_server_that_does_not_list_its_tools_gets_no_time_to_end(
    pool: ServerPool, raw: Raw, marker: str
) -> None:
    server = raw("--hang-at-list", "--stubborn", start_timeout=0.5, stop_timeout=30)
    start = time.monotonic()
    with pytest.raises(ServerError, match="did not list its tools"):
        pool.tools([server])
    assert time.monotonic() - start < 15
    assert processes_with(marker) == {}


def test_secrets_are_not_shown_in_what_a_server_wrote(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "correct horse")
    code = "import os, sys; sys.exit(os.environ['GIVEN'] + os.environ['API_KEY'])"
    server = MCPServer(
        ["python", "-c", code], env={"GIVEN": "${MY_TOKEN}", "API_KEY": "battery staple"}
    )
    with pytest.raises(ServerError, match=r"\[redacted secret\]\[redacted secret\]") as caught:
        pool.tools([server])
    assert "correct horse" not in str(caught.value)


def test_a_url_where_nobody_listens_is_an_error(pool: ServerPool) -> None:
    with pytest.raises(
        ServerError, match=r"The MCP server 'far' at http://127\.0\.0\.1:9/mcp cannot be used: "
    ):
        pool.tools([MCPServer(url="http://127.0.0.1:9/mcp", name="far")])


def test_a_server_at_a_url_that_goes_away_is_noticed(pool: ServerPool) -> None:
    command = [sys.executable, "-m", "bank.server", "--http", "0"]
    with subprocess.Popen(
        command, cwd=EXAMPLES, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdout is not None
        server = MCPServer(url=process.stdout.readline().decode().strip())
        tools = tools_of(pool, server)
        process.kill()
    answer = tools["accounts"].call({})
    assert answer.is_error
    assert "failed: " in answer.text
    again = tools["accounts"].call({})
    assert again.text == f"The MCP server {server.url!r} had ended before this call."
    with pytest.raises(ServerError, match="cannot be used"):
        pool.tools([server])


def test_a_url_that_does_not_answer_is_not_waited_for(pool: ServerPool) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with pytest.raises(
            ServerError, match=r"'far' at http://.* did not answer within 0\.3 seconds"
        ):
            pool.tools([MCPServer(url=url, name="far", start_timeout=0.3)])


def test_without_the_sdk_the_message_says_how_to_install_it(
    pool: ServerPool, raw: Raw, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "llm_mock.agents.mcp_session", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtra, match=r"Run: pip install 'pytest-llm-mock\[agents\]'"):
        pool.tools([raw()])
    assert len(pool.tools([CLIServer("git", "git")])) == 1
