"""Results on terminals and in pipes; no text of a model acts on them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from llm_mock import ResponseConfigurator
from tests.suites.conftest import PASSING, SUITE, Project, command_line

pty = pytest.importorskip("pty", reason="there are no pseudo-terminals")
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e]")


def on_terminal(
    command: Sequence[str], environment: dict[str, str], columns: int = 80, typed: str = ""
) -> tuple[int, str]:
    """Run a command on a pseudo-terminal; return its exit code and output with plain line ends."""
    import fcntl
    import struct
    import termios

    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**environment, "TERM": "xterm-256color"}
    with subprocess.Popen(
        command, stdin=child, stdout=child, stderr=child, env=environment
    ) as process:
        os.close(child)
        os.write(parent, typed.encode())
        shown = b""
        try:
            while piece := os.read(parent, 65536):
                shown += piece
        except OSError:  # how Linux says that nobody has the other end any more
            pass
    os.close(parent)
    return process.returncode, shown.decode().replace("\r\n", "\n")


def in_pipe(
    command: Sequence[str], environment: dict[str, str]
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command, env=environment, capture_output=True, check=False, timeout=60)


DRY = command_line("test", "role.yaml", "-s", "tests.yaml", "--dry-run")


# Terminals


RUNS = """
import fcntl, json, os, struct, sys, termios
from llm_mock.cli import main

for arguments, columns, no_color in json.loads(sys.argv[1]):
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    os.environ.pop("NO_COLOR", None)
    if no_color:
        os.environ["NO_COLOR"] = "1"
    try:
        main(["test", "role.yaml", "--dry-run", *arguments])
    except SystemExit as error:
        print(f"=== {error.code}", flush=True)
"""
"""Runs commands after each other on one terminal: starting a process takes most of the time."""
ON_TERMINAL: dict[str, tuple[list[str], int, bool]] = {
    "variable": (["-s", "tests.yaml"], 80, True),
    # With colors, so nothing of the run before is left.
    "plain": (["-s", "tests.yaml"], 80, False),
    "option": (["-s", "tests.yaml", "--no-color"], 80, False),
    "markup": (["-s", "markup.yaml"], 80, False),
    "narrow": (["-s", "narrow.yaml", "-v", "--no-color"], 40, False),
}
"""The arguments of each command, the columns, and whether NO_COLOR is set."""


@pytest.fixture(scope="module")
def terminal_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, str]]:
    """Return the exit code and the output of each command of `ON_TERMINAL`."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("terminal")
        patch.chdir(folder)
        for variable in ("COLUMNS", "NO_COLOR", "FORCE_COLOR", "OPENAI_API_KEY"):
            patch.delenv(variable, raising=False)
        project = Project(folder)
        project.write_cases('  - {name: "[/] [red]x", prompt: Hi}\n', "markup.yaml")
        project.write("narrow.yaml", PASSING.replace("has-number", "has-a-number-" * 5))
        environment = {**os.environ, "PFLOW_TESTING": "0", "PYTHONUTF8": "1"}
        environment["LLM_USER_PATH"] = str(folder / "user")
        command = [sys.executable, "-c", RUNS, json.dumps([*ON_TERMINAL.values()])]
        exit_code, shown = on_terminal(command, environment)
    assert exit_code == 0, shown
    parts = re.split(r"^=== (\d+)\n", shown, flags=re.MULTILINE)
    ended = [(int(code), text) for text, code in zip(parts[::2], parts[1::2], strict=False)]
    return dict(zip(ON_TERMINAL, ended, strict=True))


def test_on_a_terminal_there_are_colors_and_progress_that_goes_away(
    terminal_runs: dict[str, tuple[int, str]],
) -> None:
    exit_code, shown = terminal_runs["plain"]
    assert exit_code == 1
    assert "\x1b[32mPASS" in shown
    assert "\x1b[31mFAIL" in shown
    # Of the reason of a failure, only the title is red.
    assert re.search(r"\x1b\[1;31mtests\.yaml:\d+: [^\x1b\n]+\x1b\[0m\r?\n  prompt: ", shown)
    assert "/3 " in shown.split("┏")[0]
    assert "\x1b[2K┏━" in shown


def test_in_the_progress_names_are_no_markup(
    terminal_runs: dict[str, tuple[int, str]],
) -> None:
    exit_code, shown = terminal_runs["markup"]
    assert exit_code == 0
    assert "│ [/] [red]x │" in shown


@pytest.mark.parametrize("how", ["option", "variable"])
def test_colors_can_be_refused(how: str, terminal_runs: dict[str, tuple[int, str]]) -> None:
    shown = terminal_runs[how][1]
    assert "PASS" in shown
    assert not re.search(r"\x1b\[[\d;]*3[0-9]m", shown)


def test_a_narrow_terminal_wraps_names_and_details_and_loses_nothing(
    terminal_runs: dict[str, tuple[int, str]],
) -> None:
    shown = terminal_runs["narrow"][1]
    table = [line for line in shown.splitlines() if line.startswith("│")]
    assert {len(line) for line in table} == {40}
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in table]
    assert ["".join(part[0] for part in cells)] == ["says-hellono-errors" + "has-a-number-" * 5]
    assert [part[1] for part in cells if part[1]] == ["PASS"] * 3


# Pipes


def test_a_pipe_has_no_colors_no_progress_and_80_columns_and_needs_no_standard_input(
    project: Project, process_environment: dict[str, str]
) -> None:
    code = "import os, sys; os.close(0); os.execv(sys.argv[1], sys.argv[1:])"
    result = in_pipe([sys.executable, "-c", code, *DRY, "-v"], process_environment)
    assert (result.returncode, result.stderr) == (1, b"")
    output = result.stdout.decode()
    assert "\x1b" not in output
    assert "/3 says-hello" not in output
    assert max(map(len, output.splitlines())) <= 80
    # All of it was shown.
    assert output.endswith("2/3 passed ✗ Some tests failed\n")


LONG = "a-long-name-" * 12 + "b"


@pytest.mark.parametrize("arguments", [[], ["-v"], ["--repeat", "2"]], ids=" ".join)
def test_in_a_pipe_long_names_leave_every_column_whole(
    arguments: list[str], project: Project
) -> None:
    project.write_cases(
        f"  - {{name: {LONG}, prompt: Hi}}\n  - {{name: {LONG} with spaces, prompt: Hi}}\n"
    )
    output = project.dry(*arguments).stdout
    assert re.findall(r"│ (\S+) +│ PASS +│", output) == [LONG]
    assert f"│ {LONG} with spaces │ PASS " in output
    assert ("100% (2/2)" in output) == ("--repeat" in arguments)


def test_a_pipe_is_as_wide_as_columns_says(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    message = "x" * 30 + " " + "y" * 30
    project.write_cases(
        f"  - {{name: c, prompt: Hi, assertions: [{{type: not_contains, value: {message}}}]}}\n"
    )
    assert f"✓ Output does not contain '{message}'" not in project.dry("-v").stdout
    monkeypatch.setenv("COLUMNS", "200")
    assert f"✓ Output does not contain '{message}'" in project.dry("-v").stdout


@pytest.mark.parametrize("columns", ["", "0", "wide", "-5"])
def test_columns_that_make_no_sense_do_not_count(
    columns: str, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = project.dry("-k", "hello").stdout.splitlines()[1]
    monkeypatch.setenv("COLUMNS", columns)
    assert project.dry("-k", "hello").stdout.splitlines()[1] == plain


def test_an_encoding_without_signs_has_others(project: Project) -> None:
    project.write(
        "tests.yaml",
        SUITE.replace("Hello!", "Hello ☃!").replace("how", "Hm ☃").replace("None", "☃"),
    )
    result = project.dry("-v", charset="ascii")
    assert result.exit_code == 1
    assert result.stdout.isascii()
    assert "+ Output contains 'Hello'" in result.stdout
    assert "x Output does not match pattern" in result.stdout
    assert "  output: \\u2603\n" in result.stdout
    assert result.stdout.endswith("2/3 passed x Some tests failed\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk here")
@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "role.yaml", "-s", "tests.yaml", "--dry-run", "-o", "out.json"],
        ["run", "role.yaml", "-p", "x", "--dry-run"],
    ],
    ids=["test", "run"],
)
def test_a_full_disk_is_one_message(
    arguments: list[str], project: Project, process_environment: dict[str, str]
) -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            command_line(*arguments),
            env=process_environment,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=60,
        )
    assert result.returncode == 1
    assert (
        result.stderr.decode()
        == "Error: 'standard output' cannot be written: No space left on device.\n"
    )


def test_a_reader_that_wants_no_more_is_no_error(
    project: Project, process_environment: dict[str, str]
) -> None:
    with subprocess.Popen(
        DRY, env=process_environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""


# Texts that would act


HOSTILE = "[b]bold[/b] [/] \x1b[31mred \x1b]0;title\x07 \x9b2J \u202eback\tx"


def hostile_case() -> str:
    """Return a case that fails, in which every text is hostile."""
    case = {
        "name": HOSTILE,
        "prompt": HOSTILE,
        "expected_output": f"{HOSTILE}\n✓ passed\r\n{HOSTILE}",
        "assertions": [{"type": "contains", "value": f"not {HOSTILE}"}],
    }
    return f"  - {json.dumps(case)}\n"


@pytest.mark.parametrize("arguments", [[], ["-v"]], ids=["plain", "verbose"])
def test_nothing_in_a_text_acts_on_a_terminal(arguments: list[str], project: Project) -> None:
    project.write_cases(hostile_case())
    project.write(
        "role.yaml",
        (project.path / "role.yaml").read_text().replace("hello-world", json.dumps(HOSTILE)),
    )
    output = project.dry(*arguments).stdout
    assert not CONTROL.search(output)
    assert "[b]bold[/b] [/] \\x1b[31mred" in output
    assert "\n    ✓ passed\n" in output  # indented, so that it cannot pass for a result


def test_no_error_acts_on_a_terminal(project: Project) -> None:
    result = project.command("test", f"{HOSTILE}.yaml", "-s", "tests.yaml", "--dry-run")
    assert not CONTROL.search(result.stderr)
    assert result.stderr.startswith("Error: [b]bold[/b] [/] \\x1b[31mred")


def test_secrets_are_not_shown(
    project: Project, mock_llm_responses: ResponseConfigurator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "a-well-kept-secret")
    monkeypatch.setenv("PLAIN", "the-secret-of-the-server")
    server = "  tools: [{type: cli, name: echo, command: echo, env: {TOKEN: '${PLAIN}'}}]\n"
    project.write("role.yaml", (project.path / "role.yaml").read_text() + server)
    mock_llm_responses.set(
        "gpt-4o-mini", "It is a-well-kept-secret, the-secret-of-the-server, sk-abcdefgh12345678"
    )
    outputs = [f"out{suffix}" for suffix in (".json", ".xml", ".md", ".html")]
    result = project.test("-k", "hello", "-v", *(part for name in outputs for part in ("-o", name)))
    for text in (result.output, *(Path(name).read_text() for name in outputs)):
        assert not re.search("a-well-kept|of-the-server|sk-abc", text)
        assert "[redacted" in text


@pytest.mark.parametrize("arguments", [(), ("-v",)])
def test_a_failure_is_told_once_in_each_place(arguments: tuple[str, ...], project: Project) -> None:
    project.write_cases(
        "  - {name: a, prompt: Hi, expected_output: Oh, assertions: "
        "[{type: contains, value: Well}, {type: contains, value: Oh}]}\n"
    )
    output = project.dry(*arguments).output
    # The reason is the title of the failure; with -v the table has it.
    title = "tests.yaml:6: a" if arguments else "tests.yaml:6: a: Output does not contain 'Well'"
    assert f"{title}\n  prompt: Hi\n  output: Oh\n" in output
    assert output.count("Output does not contain 'Well'") == (1 if arguments else 2)
    assert output.count("Output contains 'Oh'") == 1


def test_an_error_is_told_once_in_a_verbose_run(project: Project) -> None:
    project.write("app.py", "def answer(prompt):\n    raise ValueError('none')\n")
    project.write(
        "app.yaml",
        "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
        "target: {function: 'app.py:answer'}\ncases:\n  - {name: a, prompt: Hi}\n",
    )
    output = project.command("test", "-s", "app.yaml", "--dry-run", "-v").output
    assert output.count("ValueError") == 1
    assert "app.yaml:6: a\n  prompt: Hi\n" in output


def test_the_line_of_progress_has_the_first_running_case_and_the_number_of_others() -> None:
    from llm_mock.commands.progress import Progress
    from llm_mock.commands.terminal import Terminal

    progress = Progress(3, Terminal())
    lines: list[str] = []
    progress.show = lines.append
    progress.begin("gpt-5")
    first, second = (SimpleNamespace(name=name) for name in ("a", "b"))
    started: Any = progress.start
    finished: Any = progress.finish
    started(first)
    started(second)
    finished(SimpleNamespace(case=first))
    finished(SimpleNamespace(case=second))
    assert lines == [
        "0/3 a[gpt-5]",
        "0/3 a[gpt-5] and 1 more",
        "1/3 b[gpt-5]",
        "2/3 ",
    ]
