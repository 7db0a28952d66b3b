"""The settings of pytest that commands apply, and the options that override them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import llm
import pytest
from click.testing import CliRunner, Result

from llm_mock import LLMMock, Reply
from llm_mock.cli import main
from llm_mock.suites.snapshots import get_snapshot_path

ROLE = """\
apiVersion: llm-mock/v1
kind: Agent
metadata: {name: greeter}
spec: {role: Be kind, model: m-1}
"""
HEAD = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greetings}
"""
SUITE = HEAD + "cases: [{name: polite, prompt: Hi, assertions: [{type: contains, value: Hello}]}]\n"
JUDGED = HEAD + (
    "target: {function: 'app.py:answer'}\n"
    "cases: [{name: polite, prompt: Hi, assertions: [{type: judge, criteria: Polite}]}]\n"
)
TWO = SUITE.replace("]}]", "]}, {name: second, prompt: Hi}]")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "below"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (tmp_path / "role.yaml").write_text(ROLE)
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "app.py").write_text("def answer(prompt):\n    return 'Hello'\n")
    return tmp_path


def set_ini(project: Path, *lines: str) -> None:
    (project / "pytest.ini").write_text("\n".join(["[pytest]", *lines]) + "\n")


def run(*arguments: str, command: str = "test") -> Result:
    result = CliRunner().invoke(main, [command, *arguments], prog_name="llm-mock")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def answer(mock: LLMMock) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    mock.set("m-1", Reply("Hello", usage=usage))


def test_a_suite_has_the_role_of_llm_mock_suites(project: Path) -> None:
    assert "the suite has no role and no target" in run("../suite.yaml", "--dry-run").stderr
    set_ini(project, "llm_mock_suites =", "    suite.yaml = role.yaml")
    result = run("../suite.yaml", "--dry-run")
    assert "Running greetings (1 case) against greeter" in result.stdout
    other = project / "other.yaml"
    other.write_text(ROLE.replace("greeter", "other"))
    assert "against other" in run("../other.yaml", "../suite.yaml", "--dry-run").stdout


@pytest.mark.parametrize(
    "part", ["target: {function: 'app.py:answer'}", "matrix: {roles: [role.yaml]}"]
)
def test_a_suite_that_names_what_answers_needs_no_role_of_the_settings(
    project: Path, part: str
) -> None:
    (project / "suite.yaml").write_text(SUITE.replace("cases:", f"{part}\ncases:"))
    set_ini(project, "llm_mock_suites =", "    suite.yaml = role.yaml")
    assert "Running greetings (1 case)" in run("../suite.yaml", "--dry-run").stdout


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("suite.yaml = nowhere.yaml", "the role "),
        ("nowhere/*.yaml", "no file in "),
        ("= role.yaml", "must be GLOB = ROLE"),
    ],
)
def test_a_wrong_line_of_llm_mock_suites_is_an_error(
    project: Path, line: str, problem: str
) -> None:
    set_ini(project, "llm_mock_suites =", f"    {line}")
    result = run("../suite.yaml", "--dry-run")
    assert (result.exit_code, "llm_mock_suites: " in result.stderr) == (1, True)
    assert problem in result.stderr


def test_prices_of_the_settings_are_applied_while_the_command_runs(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    answer(mock_llm_responses)
    set_ini(project, "llm_mock_prices =", "    m-* = 1000 2000")
    arguments = ("../role.yaml", "../suite.yaml")
    assert "15 tokens, cost $0.02" in run(*arguments).stdout
    set_ini(project)
    assert "$0.02" not in run(*arguments).stdout
    mock_llm_responses.set_price("m-1", 0, 0)
    set_ini(project, "llm_mock_prices =", "    m-* = 1000 2000")
    assert "cost $0" in run(*arguments).stdout


def test_the_cost_limit_is_that_of_the_settings_unless_an_option_is_given(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    answer(mock_llm_responses)
    (project / "suite.yaml").write_text(TWO)
    set_ini(project, "llm_mock_budget = cost=0.01", "llm_mock_prices =", "    m-1 = 1000 2000")
    arguments = ("../role.yaml", "../suite.yaml")
    stopped = run(*arguments)
    assert (stopped.exit_code, "1/1 passed, 1 not run" in stopped.stdout) == (1, True)
    assert "max_cost is $0.01" in stopped.stdout
    assert run(*arguments, "--max-cost", "1").exit_code == 0
    assert run(*arguments, "--dry-run", "-k", "second").exit_code == 0


def test_the_cost_limit_of_the_settings_is_no_error_for_a_target(project: Path) -> None:
    set_ini(project, "llm_mock_budget = cost=0.01")
    target = "target: {function: 'app.py:answer'}\n"
    (project / "suite.yaml").write_text(SUITE.replace("cases:", f"{target}cases:"))
    assert run("../suite.yaml").exit_code == 0


def test_a_wrong_amount_is_an_error(project: Path) -> None:
    set_ini(project, "llm_mock_budget = cost=much")
    result = run("../role.yaml", "../suite.yaml")
    assert (result.exit_code, "set as the cost of ini llm_mock_budget" in result.stderr) == (
        1,
        True,
    )


def test_the_judge_is_that_of_the_settings_unless_the_suite_or_an_option_names_one(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    (project / "suite.yaml").write_text(JUDGED)
    for name in ("j-1", "j-2"):
        mock_llm_responses.set(name, {"passed": True, "reason": "it is polite", "score": 1})
    assert "No judge model" in run("../suite.yaml").stderr
    set_ini(project, "llm_mock_judge = j-1")
    run("../suite.yaml")
    run("../suite.yaml", "--judge", "j-2")
    assert [call["model_id"] for call in mock_llm_responses.calls] == ["j-1", "j-2"]


def test_files_of_cases_lie_in_the_folder_of_the_settings(project: Path) -> None:
    (project / "shared").mkdir()
    (project / "shared" / "hi.txt").write_text("Hi")
    (project / "suites").mkdir()
    text = SUITE.replace("prompt: Hi", "prompt_file: ../shared/hi.txt")
    (project / "suites" / "suite.yaml").write_text(text)
    arguments = ("../role.yaml", "../suites/suite.yaml", "--dry-run")
    assert "../shared/hi.txt" in run(*arguments).stderr
    assert run("../suites/suite.yaml", command="validate").exit_code == 1
    set_ini(project, "llm_mock_files_in = .")
    assert "../shared/hi.txt" not in run(*arguments).stderr
    assert run("../suites/suite.yaml", command="validate").exit_code == 0
    (project / "empty").mkdir()
    assert "../shared/hi.txt" in run(*arguments, "--files-in", "../empty").stderr


@pytest.mark.parametrize(
    ("setting", "options", "mode"),
    [
        ([], [], "new_episodes"),
        (["llm_mock_record = once"], [], "once"),
        (["llm_mock_record = once"], ["--record", "all"], "all"),
    ],
)
def test_the_record_mode_is_that_of_the_settings_unless_an_option_is_given(
    project: Path,
    setting: list[str],
    options: list[str],
    mode: str,
    mock_llm_responses: LLMMock,
) -> None:
    answer(mock_llm_responses)
    set_ini(project, *setting)
    run("../role.yaml", "../suite.yaml", "--cassette", *options, "-o", "r.json")
    (suite,) = json.loads(Path("r.json").read_text())["suites"]
    assert suite["cassette"] == mode


def test_an_unknown_record_mode_is_an_error(project: Path) -> None:
    set_ini(project, "llm_mock_record = sometimes")
    result = run("../role.yaml", "../suite.yaml", "--cassette")
    assert (result.exit_code, "llm_mock_record is 'sometimes'" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("ini", "method", "value"),
    [
        ("a = x y", "get_words", ("x", "y")),
        ("a = x y", "get_lines", ("x y",)),
        ("a =\n    x y\n\n    z", "get_lines", ("x y", "z")),
        ("b = x", "get_lines", ()),
        ("a = x", "get_text", "x"),
        ("b = x", "get_text", ""),
    ],
)
def test_a_setting_is_read_as_its_type(project: Path, ini: str, method: str, value: Any) -> None:
    from llm_mock.support.pytest_settings import find_settings

    set_ini(project, ini)
    settings = find_settings(Path.cwd())
    assert settings.folder.resolve() == project.resolve()
    assert getattr(settings, method)("a") == value


def test_a_pytest_ini_without_settings_is_that_of_the_project_all_the_same(project: Path) -> None:
    from llm_mock.support.pytest_settings import find_settings

    (project / "pytest.ini").write_text("[other]\na = x\n")
    settings = find_settings(Path.cwd())
    assert (settings.folder.resolve(), settings.values) == (project.resolve(), {})


# The text of a KeyError, such as that about the model, has quotation marks.
@pytest.mark.parametrize("error", [llm.NeedsKeyException, llm.UnknownModelError])
def test_a_run_without_a_key_or_a_model_is_one_message(
    error: type[Exception], project: Path, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set_error("m-1", error("No key found for m-1"))
    result = run("../role.yaml", "-p", "Hi", command="run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == "Error: No key found for m-1\n"


def test_snapshots_that_cannot_be_written_are_an_error(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    answer(mock_llm_responses)
    path = get_snapshot_path(project / "suite.yaml")
    path.parent.write_text("")
    result = run("../role.yaml", "../suite.yaml", "--update")
    assert (result.exit_code, result.stderr) == (
        1,
        "Error: '../__snapshots__/suite.snap' cannot be written: File exists.\n",
    )


def test_a_number_of_toml_is_a_text_of_its_own(project: Path) -> None:
    from llm_mock.support.pytest_settings import find_settings

    (project / "pyproject.toml").write_text("[tool.pytest]\na = 1.5\nb = ['x y', 'z']\n")
    settings = find_settings(Path.cwd())
    assert (settings.get_text("a"), settings.get_words("a")) == ("1.5", ("1.5",))
    assert settings.get_lines("b") == ("x y", "z")
