"""The command `llm-mock run`: one answer or a conversation, logged where `llm` logs."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import llm
import pytest
import sqlite_utils
from click.testing import CliRunner
from llm.migrations import migrate

from llm_mock import LLMMock, Reply
from tests.openai_server import openai_server
from tests.suites.cases import EXAMPLES
from tests.suites.conftest import ROLE, Project, command_line
from tests.suites.test_terminal import on_terminal

MODEL = "gpt-4o-mini"
DRY = "[dry-run] Simulated response.\n"


def run(project: Project, *arguments: str, **options: Any) -> Any:
    """Run `llm-mock run` with the role."""
    return project.command("run", "role.yaml", *arguments, **options)


def rows(project: Project) -> list[dict[str, Any]]:
    """Return the log of `llm`, as `llm` itself reads it."""
    from llm.cli import cli

    if not (project.path / "user" / "logs.db").exists():
        return []
    shown = (
        CliRunner()
        .invoke(cli, ["logs", "list", "--json", "-n", "0"], catch_exceptions=False)
        .stdout
    )
    return list(json.loads(shown))


def logged(project: Project) -> list[tuple[str, str]]:
    """Return the prompts and answers in the log."""
    return [(row["prompt"], row["response"]) for row in rows(project)]


def conversations(project: Project) -> int:
    """Return the number of conversations are in the log."""
    return len({row["conversation_id"] for row in rows(project)})


@pytest.fixture(scope="module")
def new_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a log of `llm` without entries: making its tables takes seconds on a slow disk."""
    path = tmp_path_factory.mktemp("log") / "logs.db"
    database = sqlite_utils.Database(path)
    migrate(database)  # type: ignore[no-untyped-call]
    database.close()
    return path


@pytest.fixture
def log(project: Project, new_log: Path) -> None:
    """Give `llm` a log, in place of the one that the first answer would make."""
    (project.path / "user").mkdir()
    shutil.copy(new_log, project.path / "user" / "logs.db")


@pytest.fixture
def echo(mock_llm_responses: LLMMock) -> LLMMock:
    """Return the model says what was said to it."""
    mock_llm_responses.set(MODEL, lambda prompt: f"You said {prompt.prompt}")
    return mock_llm_responses


# Once


@pytest.mark.usefixtures("log")
def test_a_dry_run_answers_the_same_always(project: Project) -> None:
    result = run(project, "-p", "Hello", "--dry-run")
    assert (result.exit_code, result.stdout, result.stderr) == (0, DRY, "")


def test_the_answer_is_printed(project: Project, echo: LLMMock) -> None:
    assert run(project, "-p", "Hi").stdout == "You said Hi\n"
    assert run(project, "-p", "Hi", "--model", "gpt-4o-mini").exit_code == 0


@pytest.mark.usefixtures("log")
def test_the_prompt_may_come_by_standard_input(project: Project, echo: LLMMock) -> None:
    assert run(project, input="from a pipe").stdout == "You said from a pipe\n"


def test_standard_input_that_is_no_text_is_wrong_usage(project: Project) -> None:
    result = run(project, input=b"\xff")
    assert result.exit_code == 2
    assert "Standard input cannot be read: 'utf-8' codec can't decode byte 0xff" in result.stderr


@pytest.mark.parametrize("text", ["", " \n"])
def test_no_prompt_at_all_is_wrong_usage(text: str, project: Project) -> None:
    result = run(project, "--dry-run", input=text)
    assert result.exit_code == 2
    assert "Missing prompt: pass -p PROMPT, use standard input, or pass -i" in result.stderr


def test_a_run_that_fails_says_why(project: Project, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set_error(MODEL, ValueError("no \x1b[31mluck"))
    result = run(project, "-p", "Hi")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: ValueError: no \\x1b[31mluck\n"
    assert logged(project) == []


def test_a_wrong_role_is_one_message(project: Project) -> None:
    result = project.command("run", "tests.yaml", "-p", "Hi", "--dry-run")
    assert result.exit_code == 1
    assert result.stderr == (
        "Error: tests.yaml:2: this is a suite (kind: TestSuite), not a role (kind: Agent); "
        "to run it, use llm-mock test -s tests.yaml\n"
    )


@pytest.mark.usefixtures("log")
def test_tool_calls_are_shown_on_request(project: Project, mock_llm_responses: LLMMock) -> None:
    tool = (
        f"  tools: [{{type: mcp, command: python, args: [-m, bank.server], cwd: '{EXAMPLES}'}}]\n"
    )
    project.write("role.yaml", ROLE + tool)
    mock_llm_responses.add(MODEL, Reply(tool_calls=[llm.ToolCall("history", {"account": "alice"})]))
    mock_llm_responses.add(MODEL, "Nothing moved")
    result = run(project, "-p", "What happened?", "-v")
    assert result.stdout == "Nothing moved\n"
    assert "history(account='alice')" in result.stderr.replace('"', "'")
    assert logged(project)[-1][1] == "Nothing moved"


@pytest.mark.usefixtures("log")
def test_an_answer_that_the_output_lacks_letters_for_is_printed(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "☃ \ud800")
    assert run(project, "-p", "Hi", charset="ascii").stdout == "\\u2603 \\ud800\n"
    assert run(project, "-p", "Hi", "--no-audit").stdout == "☃ \\ud800\n"


# The log


@pytest.mark.parametrize("dry", [False, True])
def test_what_is_said_is_logged_where_llm_logs(dry: bool, project: Project, echo: LLMMock) -> None:
    run(project, "-p", "Hi", *(["--dry-run"] if dry else []))
    assert logged(project) == [("Hi", DRY.strip() if dry else "You said Hi")]


@pytest.mark.parametrize("how", ["--no-audit", "llm logs off"])
def test_nothing_is_logged_where_it_is_not_wanted(
    how: str, project: Project, echo: LLMMock
) -> None:
    if how == "llm logs off":
        project.write("user/logs-off", "")
    assert run(project, "-p", "Hi", *([how] if how[0] == "-" else [])).exit_code == 0
    assert not (project.path / "user" / "logs.db").exists()


def test_a_log_that_cannot_be_written_is_a_warning(project: Project, echo: LLMMock) -> None:
    project.write(
        "user/logs.db", "no database at all, but a text that is long enough to be seen as none" * 20
    )
    result = run(project, "-p", "Hi")
    assert (result.exit_code, result.stdout) == (0, "You said Hi\n")
    assert result.stderr.startswith("Warning: The answer could not be logged in ")
    assert "--no-audit" in result.stderr


# Conversations


@pytest.mark.usefixtures("log")
def test_the_last_conversation_goes_on(project: Project, echo: LLMMock) -> None:
    run(project, "-p", "one")
    run(project, "-p", "two", "--resume")
    run(project, "-p", "three", "--resume")
    assert [call["turn"] for call in echo.calls] == [1, 2, 3]
    assert [prompt for prompt, _ in logged(project)] == ["one", "two", "three"]
    assert conversations(project) == 1


@pytest.mark.usefixtures("log")
def test_without_resume_a_conversation_begins_anew(project: Project, echo: LLMMock) -> None:
    for _ in range(2):
        run(project, "-p", "Hi")
    assert conversations(project) == 2


@pytest.mark.usefixtures("log")
def test_each_role_has_its_own_last_conversation(project: Project, echo: LLMMock) -> None:
    run(project, "-p", "Hi")
    project.write("role.yaml", ROLE.replace("hello-world", "other"))
    result = run(project, "-p", "more", "--resume")
    assert result.exit_code == 1
    assert result.stderr.startswith("Error: No conversation of other is logged in ")


def test_nothing_to_resume_is_an_error(project: Project) -> None:
    result = run(project, "-p", "Hi", "--resume", "--dry-run")
    assert result.exit_code == 1
    assert "No conversation of hello-world is logged in" in result.stderr


def test_a_log_that_is_no_database_cannot_be_resumed(project: Project) -> None:
    project.write("user/logs.db", "no database" * 100)
    result = run(project, "-p", "Hi", "--resume", "--dry-run")
    assert result.exit_code == 1
    assert result.stderr.startswith(
        "Error: The last conversation of hello-world cannot be continued: DatabaseError: "
    )


@pytest.mark.usefixtures("log")
def test_interactive_goes_on_until_quit(project: Project, echo: LLMMock) -> None:
    result = run(project, "-i", "-p", "first", input="second\n\n  third \nQUIT\nfourth\n")
    assert result.stdout == "You said first\nYou said second\nYou said third\n"
    assert [prompt for prompt, _ in logged(project)] == ["first", "second", "third"]
    assert conversations(project) == 1


@pytest.mark.usefixtures("log")
def test_after_an_error_the_conversation_goes_on_and_the_exit_code_tells(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, ValueError("once"))
    mock_llm_responses.add(MODEL, "again")
    result = run(project, "-i", input="one\ntwo\n")
    assert (result.exit_code, result.stdout) == (1, "again\n")


# Processes


def test_on_a_terminal_there_is_a_prompt_and_ctrl_d_ends_it(
    project: Project, process_environment: dict[str, str]
) -> None:
    pytest.importorskip("pty", reason="there are no pseudo-terminals")
    command = command_line("run", "role.yaml", "-i", "--dry-run", "--no-audit")
    exit_code, shown = on_terminal(command, process_environment, typed="Hi\n\x04")
    assert exit_code == 0
    assert f"> {DRY}> \n" in shown


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGINT")
def test_ctrl_c_at_the_prompt_ends_it(
    project: Project, process_environment: dict[str, str]
) -> None:
    command = command_line("run", "role.yaml", "-i", "--dry-run", "--no-audit", "-p", "Hi")
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, env=process_environment, text=True, **pipes) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == DRY
            process.send_signal(signal.SIGINT)
            errors = process.communicate(timeout=60)[1]
        finally:
            process.kill()
    assert (process.returncode, errors) == (130, "\n")


@pytest.mark.usefixtures("log")
def test_a_live_model_is_asked_logged_and_resumed(
    real_project: Project, process_environment: dict[str, str]
) -> None:
    real_project.write(
        "role.yaml", ROLE.replace("{provider: openai, name: gpt-4o-mini}", "loopback")
    )
    with openai_server() as server:
        real_project.write(
            "user/extra-openai-models.yaml",
            (
                f"- {{model_id: loopback, model_name: gpt-4o-mini, api_base: '{server.url}', "
                f"api_key_name: loopback}}\n"
            ),
        )
        real_project.write("user/keys.json", '{"loopback": "a-stored-key-of-the-user"}')
        command = command_line("run", "role.yaml", "-p", "Hi")
        first = subprocess.run(
            command,
            env=process_environment,
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=60,
        )
        assert (first.returncode, first.stdout) == (0, "Answer 1 to: Hi\n"), first.stderr
        unlogged = run(real_project, "-p", "Echo my key", "--no-audit")
        resumed = run(real_project, "-p", "More", "--resume")
        assert unlogged.exit_code == 0, unlogged.stderr
        assert (resumed.exit_code, resumed.stdout) == (0, "Answer 2 to: More\n"), resumed.stderr
        assert [message["role"] for message in server.requests[-1]["messages"]].count("user") == 2
    assert [prompt for prompt, _ in logged(real_project)] == ["Hi", "More"]
