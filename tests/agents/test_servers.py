"""The configuration of servers, and the environment that they are given."""

from __future__ import annotations

import copy
import json
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_mock.agents import CLIServer, MCPServer
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.servers import RedactedMapping
from llm_mock.errors import InvalidServer, ServerError

SECRET = "sk-proj-abcdefghijklmnop0123456789"


def test_servers_are_equal_by_value_and_hashable() -> None:
    first = MCPServer(
        ["python", "server.py"], env={"A": "1", "B": "2"}, cwd="folder", tools=["get_*"]
    )
    second = MCPServer(
        ("python", "server.py"), env={"B": "2", "A": "1"}, cwd=Path("folder"), tools=("get_*",)
    )
    assert first == second
    assert hash(first) == hash(second)
    assert {first: "found"}[second] == "found"
    assert first != MCPServer(
        ["python", "server.py"], env={"A": "1"}, cwd="folder", tools=["get_*"]
    )
    assert CLIServer("git", "git", "git") == CLIServer("git", ["git"])


def test_servers_cannot_be_changed() -> None:
    server = MCPServer("server", env={"A": "1"})
    with pytest.raises(AttributeError):
        server.command = ("other",)  # type: ignore[misc]
    with pytest.raises(TypeError):
        server.env["A"] = "2"  # type: ignore[index]


def test_changing_what_a_server_was_made_of_does_not_change_it() -> None:
    command, variables = ["python"], {"A": "1"}
    server = MCPServer(command, env=variables)
    command.append("-x")
    variables["A"] = "2"
    assert (server.command, server.env) == (("python",), {"A": "1"})


@pytest.mark.parametrize(
    "server", [MCPServer("a b", env={"A": "1"}), CLIServer("git", "git", env={"A": "1"})]
)
def test_servers_can_be_copied_and_sent(server: Any) -> None:
    assert copy.deepcopy(server) == pickle.loads(pickle.dumps(server)) == server


def test_a_command_may_be_a_string_which_no_shell_reads() -> None:
    assert MCPServer("python 'my server.py' $HOME").command == ("python", "my server.py", "$HOME")
    assert CLIServer("x", "git -C folder").command == ("git", "-C", "folder")
    assert CLIServer("x", Path("a folder/tool")).command == (str(Path("a folder/tool")),)  # type: ignore[arg-type]


def test_the_repr_shows_what_is_not_the_default() -> None:
    server = MCPServer(["python", "server.py"], args=["--fast"], cwd="folder", start_timeout=5)
    assert repr(server) == (
        f"MCPServer(command=['python', 'server.py'], args=['--fast'], cwd={Path('folder')!r}, "
        "start_timeout=5)"
    )
    assert repr(MCPServer(url="http://127.0.0.1/mcp")) == "MCPServer(url='http://127.0.0.1/mcp')"
    assert (
        repr(CLIServer("git", "git")) == "CLIServer(name='git', command=['git'], tool_prefix='git')"
    )


@pytest.mark.parametrize(
    "server",
    [
        MCPServer("server", env={"API_KEY": "hunter2", "MY_TOKEN": "hunter2 ${X}"}),
        MCPServer("server", env={"PLAIN": SECRET}),
        MCPServer(["server", "--key", SECRET]),
        MCPServer(
            url="http://u/mcp",
            headers={"Authorization": f"Bearer {SECRET}", "X-Api-Key": "hunter2hunter2"},
        ),
        MCPServer(url="http://user:hunter2@host/mcp?token=hunter2hunter2"),
        CLIServer("tool", "tool", env={"GITHUB_TOKEN": "hunter2"}),
    ],
)
def test_neither_repr_nor_label_shows_a_secret(server: Any) -> None:
    shown = repr(server) + server.label + repr(getattr(server, "headers", ""))
    assert "hunter2" not in shown
    assert SECRET not in shown
    assert "[redacted]" in shown


def test_the_arguments_of_a_server_are_texts() -> None:
    arguments: Any = ["--folder", Path("data"), 5]
    server = MCPServer("server", args=arguments)
    assert server.args == ("--folder", "data", "5")
    assert {server: 1}[MCPServer("server", args=("--folder", "data", "5"))] == 1


@pytest.mark.parametrize("name", [5, "", None])
def test_the_name_of_a_tool_is_a_text(name: Any) -> None:
    with pytest.raises(InvalidServer, match=r"^CLIServer: name is "):
        CLIServer(name, "echo")


def test_the_repr_shows_where_a_secret_comes_from() -> None:
    assert "{'API_KEY': '${OPENAI_API_KEY}', 'MODE': 'fast'}" in repr(
        MCPServer("server", env={"API_KEY": "${OPENAI_API_KEY}", "MODE": "fast"})
    )


def test_variables_are_a_mapping() -> None:
    variables = RedactedMapping({"A": "1"})
    assert (dict(variables), len(variables), variables["A"]) == ({"A": "1"}, 1, "1")
    assert RedactedMapping(variables) == variables == {"A": "1"}


@pytest.mark.parametrize(
    ("label", "server"),
    [
        (
            "python -m bank.server --fast",
            MCPServer(["python", "-m", "bank.server"], args=["--fast"]),
        ),
        ("http://127.0.0.1:1/mcp", MCPServer(url="http://127.0.0.1:1/mcp")),
        ("bank", MCPServer("python", name="bank")),
        ("git", CLIServer("git", "git")),
    ],
)
def test_messages_call_a_server_by_its_name_or_what_it_is(label: str, server: Any) -> None:
    assert server.label == label


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: MCPServer(),
            r"MCPServer\(\) has no target. Pass the command that starts the server, or its url",
        ),
        (
            lambda: MCPServer("a", transport="sse"),
            "transport of the server 'a' is 'sse'; pass None or 'stdio'",
        ),
        (lambda: MCPServer(url="u", transport="stdio"), "pass None, 'streamable-http' or 'sse'"),
        (
            lambda: MCPServer("a", url="http://b"),
            "'http://b' has both a command and a URL. Pass only one",
        ),
        (lambda: MCPServer("a 'b"), "cannot be split into words"),
        (
            lambda: MCPServer("a", env={"PORT": 80}),
            r"env\['PORT'\] of the server 'a' is int; pass a string",
        ),  # type: ignore[dict-item]
        (
            lambda: MCPServer(url="u", headers={"A": None}),
            r"headers\['A'\] of the server 'u' is NoneType",
        ),  # type: ignore[dict-item]
        (
            lambda: MCPServer("a", start_timeout=0),
            "start_timeout of the server 'a' is 0; pass a number of seconds",
        ),
        (
            lambda: MCPServer("a", call_timeout=float("inf")),
            "call_timeout of the server 'a' is Infinity",
        ),
        (lambda: MCPServer("a", stop_timeout=0), "stop_timeout of the server 'a' is 0"),
        (lambda: MCPServer("a", call_timeout="5"), "call_timeout of the server 'a' is '5'"),  # type: ignore[arg-type]
        (lambda: CLIServer("a", ""), r"CLIServer\('a'\) has no command. Pass the one to run"),
        (lambda: CLIServer("a", "a", timeout=-1), "timeout of the server 'a' is -1"),
        (
            lambda: CLIServer("a", "a", max_output=0),
            r"max_output of CLIServer\('a'\) is 0; pass a number of bytes",
        ),
        (lambda: CLIServer("a", "a", max_output=1.5), "pass a number of bytes"),  # type: ignore[arg-type]
        (lambda: CLIServer(None, "a"), "CLIServer: name is null; pass a string"),  # type: ignore[arg-type]
        (lambda: CLIServer("", "a"), "CLIServer: name is ''; pass a string"),
        (
            lambda: CLIServer("my tool é", "a"),
            "CLIServer: tool_prefix is 'my tool é'; use letters, digits",
        ),
        (lambda: CLIServer("a", "a", "x" * 56), r"tool_prefix is 'x+'; use letters"),
        (lambda: CLIServer("a", "a", description=3), "a: description is 3; pass a string"),  # type: ignore[arg-type]
        (lambda: CLIServer("a", None), "CLIServer: command is null; pass a string or a list"),  # type: ignore[arg-type]
        (lambda: MCPServer([1]), r"MCPServer: command is \[1\]; pass a string or a list"),  # type: ignore[list-item]
        (lambda: MCPServer("a", env=["x"]), "MCPServer: env is .* pass a mapping"),  # type: ignore[arg-type]
        (lambda: CLIServer("a", "a", cwd=3), "CLIServer: cwd is 3; pass a path"),  # type: ignore[arg-type]
    ],
)
def test_a_server_that_can_never_run_is_an_error_at_once(make: Any, message: str) -> None:
    with pytest.raises(InvalidServer, match=message):
        make()


def environment(pool: ServerPool, **fields: Any) -> dict[str, str]:
    """Return the environment in which a command runs."""
    code = "import json, os; print(json.dumps(dict(os.environ)))"
    (tool,) = pool.tools([CLIServer("env", [sys.executable, "-I", "-S", "-c", code], **fields)])
    answer = tool.call({})
    assert not answer.is_error, answer.text
    loaded: dict[str, str] = json.loads(answer.text)
    return loaded


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("OPENAI_API_KEY", "x"),
        ("HF_TOKEN", "x"),
        ("DB_PASSWORD", "x"),
        ("AWS_SECRET", "x"),
        ("MODEL_SETTINGS", SECRET),
        ("DATABASE_URL", "postgres://ann:hunter2@host/db"),
    ],
)
def test_secrets_of_the_test_process_are_not_passed_on(
    name: str, value: str, pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    assert name not in environment(pool)
    assert environment(pool, env={name: f"${{{name}}}"})[name] == value


def test_everything_else_is_passed_on(pool: ServerPool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LANG", "C.UTF-8")
    monkeypatch.setenv("MY_SETTING", "on")
    passed_on = environment(pool)
    for name in ("PFLOW_TESTING", "LLM_USER_PATH", "LANG", "MY_SETTING"):
        assert passed_on[name] == os.environ[name]


def test_python_is_the_one_that_runs_the_tests(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.path.dirname(sys.executable)
    assert environment(pool)["PATH"] == os.pathsep.join([folder, os.environ["PATH"]])
    assert environment(pool, env={"PATH": "/nowhere"})["PATH"] == "/nowhere"
    monkeypatch.delenv("PATH")
    assert environment(pool)["PATH"].startswith(folder + os.pathsep)


def test_variables_are_interpolated_when_the_server_starts(
    pool: ServerPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST", "db")
    given = environment(
        pool, env={"URL": "http://${HOST}:1/${HOST}", "LITERAL": "$HOST $${HOST} ${}", "EMPTY": ""}
    )
    assert (given["URL"], given["LITERAL"], given["EMPTY"]) == (
        "http://db:1/db",
        "$HOST ${HOST} ${}",
        "",
    )


def test_a_missing_variable_is_named(pool: ServerPool) -> None:
    with pytest.raises(ServerError) as caught:
        pool.tools([MCPServer("python", name="bank", env={"KEY": "x${NO_SUCH_VARIABLE}"})])
    assert str(caught.value) == (
        "The server 'bank' uses ${NO_SUCH_VARIABLE} in env['KEY'], but the environment variable "
        "NO_SUCH_VARIABLE is not set. Set it, or write $${NO_SUCH_VARIABLE} for the literal text."
    )
    with pytest.raises(ServerError, match=r"uses \${NO_SUCH_VARIABLE} in headers\['A'\],"):
        pool.tools([MCPServer(url="http://127.0.0.1:9/mcp", headers={"A": "${NO_SUCH_VARIABLE}"})])
