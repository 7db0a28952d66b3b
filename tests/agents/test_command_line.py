"""Command-line tools: real commands, run without a shell."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from llm_mock.agents import CLIServer
from llm_mock.agents.pool import ServerPool
from llm_mock.agents.tools import ServerTool, ToolAnswer
from llm_mock.errors import ServerError


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a git repository with one commit."""
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (
        ["init", "--quiet", "--initial-branch=main"],
        [*identity, "commit", "--allow-empty", "-qm", "First"],
    ):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def tool_of(pool: ServerPool, server: CLIServer) -> ServerTool:
    (tool,) = pool.tools([server])
    return tool


def python(code: str, **fields: object) -> CLIServer:
    """Return a command that runs Python code."""
    return CLIServer("python", [sys.executable, "-I", "-S", "-c", code], **fields)  # type: ignore[arg-type]


def test_git_is_a_tool_whose_result_is_what_it_prints(pool: ServerPool, repository: Path) -> None:
    tool = tool_of(pool, CLIServer("git", "git", "git", cwd=repository))
    assert tool.name == "git_execute"
    assert "`git`" in tool.description
    (repository / "new file").write_text("?")
    assert tool.call({"args": "status --porcelain"}) == ToolAnswer('?? "new file"\n')
    assert tool.call({"args": "add 'new file'"}) == ToolAnswer("")
    assert tool.call({"args": "log --format='%an: %s'"}) == ToolAnswer("Ann: First\n")


def test_a_command_that_fails_says_how_and_why(pool: ServerPool, repository: Path) -> None:
    answer = tool_of(pool, CLIServer("git", ["git"], "git", cwd=repository)).call(
        {"args": "show missing"}
    )
    assert answer.is_error
    assert answer.text.startswith(
        "The command ended with exit code 128.\nstderr:\nfatal: ambiguous argument 'missing'"
    )


def test_a_command_killed_by_a_signal_says_so(pool: ServerPool) -> None:
    code = "import os, signal; print('half', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"
    answer = tool_of(pool, python(code)).call({})
    assert answer == ToolAnswer(
        "The command ended killed by SIGSEGV.\nstdout:\nhalf", is_error=True
    )


def test_a_command_that_fails_silently_says_that_too(pool: ServerPool) -> None:
    assert (
        tool_of(pool, CLIServer("no", "false")).call({}).text
        == "The command ended with exit code 1. It wrote nothing."
    )


@pytest.mark.parametrize(
    "args", ["a; echo b", "$(echo b)", "`echo b`", "a | cat", "* > file", "a && echo b", "$HOME"]
)
def test_no_shell_runs(args: str, pool: ServerPool, tmp_path: Path) -> None:
    tool = tool_of(pool, CLIServer("echo", "echo", cwd=tmp_path))
    assert tool.call({"args": args}).text == args + "\n"
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_split_as_in_a_shell(pool: ServerPool) -> None:
    tool = tool_of(pool, python("import sys; print(sys.argv[1:])"))
    assert (
        tool.call({"args": r"""one 'two three' "fo\"ur" fi\ ve"""}).text
        == "['one', 'two three', 'fo\"ur', 'fi ve']\n"
    )
    assert tool.call({"args": ""}).text == "[]\n"
    assert tool.call({}).text == "[]\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"args": "'never closed"}, "args cannot be split into words: No closing quotation"),
        ({"args": "zero\0byte"}, "cannot be started: embedded null byte"),
        ({"args": ["a", "list"]}, "the arguments.args: ['a', 'list'] is not of type 'string'"),
        ({"arguments": "x"}, "('arguments' was unexpected)"),
    ],
)
def test_arguments_that_cannot_be_are_an_answer(
    arguments: dict[str, object], message: str, pool: ServerPool
) -> None:
    answer = tool_of(pool, CLIServer("echo", "echo")).call(arguments)
    assert answer.is_error
    assert message in answer.text


def test_output_that_is_no_text_survives(pool: ServerPool) -> None:
    tool = tool_of(
        pool, python(r"import sys; sys.stdout.buffer.write(b'caf\xe9 \xff\x00 caf\xc3\xa9')")
    )
    assert tool.call({}).text == "caf\N{REPLACEMENT CHARACTER} \N{REPLACEMENT CHARACTER}\0 café"


def test_output_is_bounded_and_says_how_much_was_cut(pool: ServerPool) -> None:
    tool = tool_of(pool, python("print('a' * 3_000_000 + 'z' * 3_000_000)", max_output=1001))
    assert (
        tool.call({}).text
        == f"{'a' * 500}\n[… 5,999,000 bytes cut: more than 1,001 …]\n{'z' * 500}\n"
    )


def test_output_of_just_the_limit_is_whole(pool: ServerPool) -> None:
    assert tool_of(pool, python("print('1234', end='')", max_output=4)).call({}).text == "1234"


def test_a_flood_on_both_streams_does_not_block(pool: ServerPool) -> None:
    code = "import sys\nfor _ in range(20_000):\n print('o' * 99)\n print('e' * 99, file=sys.stderr)\nsys.exit(3)"  # noqa: E501
    answer = tool_of(pool, python(code, max_output=300)).call({})
    assert answer.text.count("bytes cut") == 2
    assert len(answer.text) < 900


def test_standard_input_is_empty(pool: ServerPool) -> None:
    assert (
        tool_of(pool, python("import sys; print(repr(sys.stdin.read()))")).call({}).text == "''\n"
    )


def test_a_call_has_a_timeout_of_its_own(pool: ServerPool) -> None:
    tool = tool_of(
        pool, python("import time; print('begun', flush=True); time.sleep(600)", timeout=0.5)
    )
    answer = tool.call({})
    assert answer.is_error
    assert answer.text == (
        "The command 'python' was still running after 0.5 seconds, and was killed.\nstdout:\nbegun"
    )
    start = time.monotonic()
    assert "after 0.1 seconds" in tool.call({}, timeout=0.1).text
    assert time.monotonic() - start < 5


def test_commands_run_at_the_same_time(pool: ServerPool, tmp_path: Path) -> None:
    # Each command waits for the other three.
    code = (
        "import os, pathlib, time\n"
        f"folder = pathlib.Path({str(tmp_path)!r})\n"
        "(folder / str(os.getpid())).touch()\n"
        "while len(list(folder.iterdir())) < 4: time.sleep(0.01)\n"
        "print('done')"
    )
    tool = tool_of(pool, python(code))

    async def all_at_once() -> list[ToolAnswer]:
        return await asyncio.gather(*(tool.call_async({}) for _ in range(4)))

    assert asyncio.run(all_at_once()) == [ToolAnswer("done\n")] * 4


def test_a_command_that_is_gone_at_the_call_is_an_answer(pool: ServerPool, tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_text("#!/bin/sh\necho here")
    script.chmod(0o755)
    tool = tool_of(pool, CLIServer("tool", str(script)))
    assert tool.call({}).text == "here\n"
    script.unlink()
    answer = tool.call({})
    assert answer.is_error
    assert "is not an executable file" in answer.text


def test_a_file_that_is_no_program_is_an_answer(pool: ServerPool, tmp_path: Path) -> None:
    script = tmp_path / "tool"
    script.write_bytes(b"\x7fELF, it says")
    script.chmod(0o755)
    answer = tool_of(pool, CLIServer("tool", "./tool", cwd=tmp_path)).call({})
    assert answer.is_error
    assert f"stderr:\n{script}: Exec format error" in answer.text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"command": "no-such-command"},
            "the command 'no-such-command' is not in PATH (",
        ),
        ({"command": "./no-such-file"}, "is not an executable file"),
        (
            {"command": "git", "cwd": "no/such/folder"},
            "cannot run in 'no/such/folder': the folder does not exist",
        ),
        (
            {"command": "git", "env": {"A": "${NO_SUCH_VARIABLE}"}},
            "the environment variable NO_SUCH_VARIABLE is not set",
        ),
    ],
)
def test_what_can_never_run_is_an_error_before_the_first_call(
    fields: dict[str, object], message: str, pool: ServerPool
) -> None:
    with pytest.raises(ServerError, match="'tool'") as caught:
        pool.tools([CLIServer("tool", **fields)])  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_arguments_longer_than_a_system_takes_are_refused_at_once(pool: ServerPool) -> None:
    answer = tool_of(pool, CLIServer("echo", "echo")).call({"args": "a '" * 1_000_000})
    assert answer.is_error
    assert answer.text == (
        "args has 3,000,000 characters, and a command takes 100,000 at most. Put long input "
        "into a file."
    )
