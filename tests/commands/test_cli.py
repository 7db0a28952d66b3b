"""The command `llm-mock`."""

from __future__ import annotations

import importlib.metadata
import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

import llm_mock
from llm_mock.behaviour.catalogue import CATALOGUE
from llm_mock.cli import main
from tests.conftest import RunPython


def test_the_catalogue_is_listed_in_columns() -> None:
    result = CliRunner().invoke(main, ["misbehaviours"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line.split()[0] for line in lines] == list(CATALOGUE)
    assert lines[0] == "fenced-json         The JSON stands in a Markdown code fence."
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


@pytest.mark.parametrize("arguments", [["--help"], ["misbehaviours", "--help"]])
def test_help_says_what_there_is(arguments: list[str]) -> None:
    result = CliRunner().invoke(main, arguments, prog_name="llm-mock")
    assert result.exit_code == 0
    assert result.output.startswith("Usage: llm-mock ")
    assert "List the misbehaviours" in result.output


def test_the_version_is_that_of_the_package() -> None:
    assert llm_mock.__version__ in CliRunner().invoke(main, ["--version"]).output


def test_the_command_is_installed() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="llm-mock")
    assert script.load() is main


def test_the_command_does_not_import_llm(run_python: RunPython) -> None:
    modules = "llm_mock.cli, llm_mock.behaviour.misbehaviour"
    code = f"import sys, {modules}; print({{'llm', 'pytest', 'openai'}} & set(sys.modules))"
    assert run_python(code, PFLOW_TESTING=None).stdout == "set()\n"


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
    assert "..." not in output.replace("[ARGS]...", "").replace("FILE...", "")
    assert "docs/" in output
    example = "pip install" if command is None else f"    llm-mock {command}"
    assert example in output
