"""The command `llm-mock`."""

from __future__ import annotations

import importlib.metadata
import io
import re
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete
from click.testing import CliRunner

import llm_mock
from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.cli import main
from llm_mock.commands.errors import report_errors
from tests.conftest import RunPython
from tests.expected import compare_bytes

HELP = Path(__file__).parent / "help"


@pytest.mark.parametrize(
    "arguments",
    [["test"], ["test", "-s"], ["run"], ["validate"], ["migrate"], ["import"]],
    ids=" ".join,
)
def test_the_shell_completes_the_names_of_files(arguments: list[str]) -> None:
    shell = ShellComplete(main, {}, "llm-mock", "_LLM_MOCK_COMPLETE")
    [completion] = shell.get_completions(arguments, "te")
    assert (completion.value, completion.type) == ("te", "file")


def test_the_catalogue_is_listed_in_columns() -> None:
    result = CliRunner().invoke(main, ["misbehaviours"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    assert lines[0] == "fenced-json         The JSON is in a Markdown code fence."
    assert len({line.index(CATALOGUE[line.split()[0]].description) for line in lines}) == 1


def test_the_module_is_the_command_and_writes_plain_text_to_a_pipe() -> None:
    command = [sys.executable, "-m", "llm_mock", "misbehaviours"]
    environment = {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    output = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True
    ).stdout
    assert output == CliRunner().invoke(main, ["misbehaviours"]).output
    usage = subprocess.run([*command[:3], "--help"], capture_output=True, text=True, check=True)
    assert usage.stdout.startswith("Usage: llm-mock ")


@pytest.mark.parametrize("command", ["", *sorted(main.commands)])
def test_the_help_of_a_command_is_the_checked_in_one(command: str) -> None:
    arguments = [*command.split(), "--help"]
    result = CliRunner().invoke(main, arguments, prog_name="llm-mock", terminal_width=80)
    assert result.exit_code == 0
    compare_bytes(HELP / f"{command or 'llm-mock'}.txt", result.output.encode())


def test_the_version_is_that_of_the_package() -> None:
    assert llm_mock.__version__ in CliRunner().invoke(main, ["--version"]).output


def test_the_command_is_installed() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="llm-mock")
    assert script.load() is main


def test_the_command_does_not_import_llm(run_python: RunPython) -> None:
    modules = "llm_mock.cli, llm_mock.behaviour.misbehaviour"
    code = f"import sys, {modules}; print({{'llm', 'pytest', 'openai'}} & set(sys.modules))"
    assert run_python(code, PFLOW_TESTING=None).stdout == "set()\n"


SHARE = "a number above 0 and at most 1, such as 0.8."
TIMEOUT = "a number of seconds above 0 and at most 86,400, such as 60."


@pytest.mark.parametrize(
    ("command", "option", "value", "problem"),
    [
        ("test", "--repeat", "0", "'0' must be a whole number from 1 to 10,000."),
        ("test", "--repeat", "10001", "'10001' must be a whole number from 1 to 10,000."),
        ("test", "--repeat", "1.5", "'1.5' must be a whole number from 1 to 10,000."),
        ("test", "--threshold", "0", f"'0' must be {SHARE}"),
        ("test", "--threshold", "1.01", f"'1.01' must be {SHARE}"),
        ("test", "--threshold", "80", f"'80' must be {SHARE}"),
        ("test", "--jobs", "0", "'0' must be a whole number from 1 to 1,000."),
        ("test", "--jobs", "1001", "'1001' must be a whole number from 1 to 1,000."),
        ("test", "--retry", "-1", "'-1' must be a whole number from 0 to 1,000."),
        ("test", "--retry", "1001", "'1001' must be a whole number from 0 to 1,000."),
        ("test", "--max-cost", "-0.01", "'-0.01' must be an amount in US dollars, such as 0.5."),
        ("test", "--max-cost", "nan", "'nan' must be an amount in US dollars, such as 0.5."),
        ("test", "--timeout", "0", f"'0' must be {TIMEOUT}"),
        ("test", "--timeout", "86400.1", f"'86400.1' must be {TIMEOUT}"),
        ("test", "--timeout", "1m", f"'1m' must be {TIMEOUT}"),
        ("test", "--min-score", "0", f"'0' must be {SHARE}"),
        ("test", "--min-score", "1.01", f"'1.01' must be {SHARE}"),
        ("test", "-o", "a.txt", "'a.txt' must end in .json, .xml, .md or .html."),
        ("test", "--record", "always", "'always' is not one of 'none', 'once', 'new_episodes', "),
        ("serve", "--port", "-1", "'-1' must be a whole number from 0 to 65,535."),
        ("serve", "--port", "65536", "'65536' must be a whole number from 0 to 65,535."),
        ("serve", "--port", "80a", "'80a' must be a whole number from 0 to 65,535."),
        ("serve", "--keep", "-1", "'-1' must be a whole number of at least 0."),
        ("serve", "--strict", "warn", "'warn' is not one of 'off', 'error'."),
    ],
)
def test_a_value_beyond_the_edge_of_an_option_is_wrong_usage(
    command: str, option: str, value: str, problem: str
) -> None:
    result = CliRunner().invoke(main, [command, option, value])
    assert result.exit_code == 2
    assert f": {problem}" in result.output
    assert f"'{option}'" in result.output


class Keyboard(io.BytesIO):
    """The standard input of a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (
            ["--model", "a", "--model", "b"],
            "Invalid value for '--model': a run uses one model, but 2 are given: a, b.",
        ),
        ([], "Missing prompt: pass -p PROMPT, use standard input, or pass -i to type prompts."),
    ],
)
def test_a_run_needs_one_model_and_a_prompt_that_is_not_waited_for(
    arguments: list[str], problem: str
) -> None:
    result = CliRunner().invoke(main, ["run", "role.yaml", *arguments], input=Keyboard(b"Hi"))
    assert result.exit_code == 2
    assert result.stderr.endswith(f"\nError: {problem}\n")


def test_a_reader_that_closes_the_pipe_is_no_error_of_a_command() -> None:
    with pytest.raises(BrokenPipeError), report_errors():
        raise BrokenPipeError


def test_each_option_has_a_help() -> None:
    options = {
        f"{name} {option.opts[0]}": option.help
        for name, command in main.commands.items()
        for option in command.params
        if isinstance(option, click.Option)
    }
    assert len(options) > 40
    assert [name for name, text in options.items() if not text or not text.endswith(".")] == []


@pytest.mark.parametrize("command", [None, *main.commands])
def test_help_is_whole_and_has_an_example_and_where_the_documentation_is(
    command: str | None,
) -> None:
    output = (
        CliRunner().invoke(main, [*filter(None, [command]), "--help"], terminal_width=80).output
    )
    assert "..." not in re.sub(r"\[(ARGS|WORD)\]\.\.\.|FILE\.\.\.", "", output)
    assert "Documentation: llm-mock docs" in " ".join(output.split())
    example = "pip install" if command is None else f"    llm-mock {command}"
    assert example in output
