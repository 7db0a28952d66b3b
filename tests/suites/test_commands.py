"""`llm-mock test`: the cases it runs, its output and its exit code, with mocked models."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest

from llm_mock import LLMMock, Reply
from tests.suites.conftest import PASSING, ROLE, SUITE, Project, statuses

MODEL = "gpt-4o-mini"


# What is shown


def test_the_table_and_its_footer_are_as_documented(project: Project) -> None:
    result = project.dry()
    assert result.exit_code == 1
    lines = re.sub(r"\d+ms ", "2ms ", result.stdout).splitlines()
    assert lines[0] == "Running greeting-tests (3 cases) against hello-world (dry-run)"
    assert lines[1:4] == [
        "┏━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━━━┓",
        "┃ Case       ┃ Status ┃ Duration ┃",
        "┡━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━━━┩",
    ]
    assert statuses(result.stdout) == {
        "says-hello": "PASS",
        "no-errors": "PASS",
        "has-number": "FAIL",
    }
    assert lines[-1] == "2/3 passed ✗ Some tests failed"
    assert result.stderr == ""


def test_when_all_pass_nothing_follows_the_table_but_the_footer(project: Project) -> None:
    project.write("tests.yaml", PASSING)
    result = project.dry()
    assert result.exit_code == 0
    assert result.stdout.endswith("┘\n\n3/3 passed ✓ All tests passed\n")


def test_verbose_has_a_line_for_each_assertion(project: Project) -> None:
    shown = [
        line.split("│")[4].strip()
        for line in project.dry("-v").stdout.splitlines()
        if line.count("│") == 5
    ]
    assert shown == [
        "✓ Output contains 'Hello'",
        "✓ Output does not contain 'error'",
        "✓ Output does not contain 'error'",
        r"✗ Output does not match pattern '\d+'",
    ]


def test_an_unwanted_text_that_is_there_is_unexpected(project: Project) -> None:
    assertions = "[{type: not_contains, value: error}, {type: contains, value: error}]"
    project.write_cases(
        f"  - {{name: c, prompt: Hi, expected_output: an error, assertions: {assertions}}}\n"
    )
    output = project.dry("-v").stdout
    assert "✗ Output contains 'error' (unexpected)" in output
    assert "✓ Output contains 'error' " in output


def test_without_verbose_a_failure_says_where_what_and_why(project: Project) -> None:
    output = project.dry().stdout
    assert (
        "tests.yaml:18: has-number: Output does not match pattern '\\d+'\n"
        "  prompt: How many?\n"
        "  output: None\n"
        "  ✗ Output does not match pattern '\\d+'\n"
    ) in output
    assert output.count("prompt:") == 1


def test_what_only_a_real_model_can_answer_is_skipped_and_counted(project: Project) -> None:
    project.write(
        "tests.yaml",
        PASSING + "    \n  - {name: c, prompt: Hi, assertions: [{type: max_tokens, value: 1}]}\n",
    )
    result = project.dry("-v")
    assert result.exit_code == 0
    assert statuses(result.stdout)["c"] == "NOT CHECKED"
    assert "Skipped in a dry run: max_tokens" in result.stdout
    ending = "– 1 of 4 cases not checked\n"  # noqa: RUF001
    assert result.stdout.endswith(ending)
    brief = project.dry().stdout
    assert [line.split("│")[4].strip() for line in brief.splitlines() if "│ c " in line] == [
        "0 of 1"
    ]
    assert brief.endswith(ending)


def test_a_live_run_asks_the_model_and_says_what_it_took(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, Reply("Hello 5", usage={"input_tokens": 10, "output_tokens": 2}))
    mock_llm_responses.set_price(MODEL, 1000, 1000)
    result = project.test()
    assert result.exit_code == 0
    assert result.stdout.startswith("Running greeting-tests (3 cases) against hello-world\n")
    assert result.stdout.endswith("3/3 passed ✓ All tests passed\n36 tokens, cost $0.036\n")
    assert [call["prompt"] for call in mock_llm_responses.calls] == ["Hi there!", "Hi", "How many?"]


def test_tokens_of_runs_that_were_retried_are_in_all_totals(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    usage = {"input_tokens": 10, "output_tokens": 2}
    for answer in ("Goodbye", "Hello"):
        mock_llm_responses.add(MODEL, Reply(answer, usage=usage))
    mock_llm_responses.set_price(MODEL, 1000, 1000)
    outputs = [f"--output=r.{suffix}" for suffix in ("json", "xml", "md")]
    result = project.test("-k", "hello", "--retry", "2", *outputs)
    assert result.stdout.endswith("24 tokens, cost $0.024\n")
    [case] = json.loads((project.path / "r.json").read_text())["suites"][0]["cases"]
    assert (case["retried"], case["tokens"]) == (1, 24)
    assert [attempt["tokens"] for attempt in case["attempts"]] == [12]
    assert 'name="tokens" value="24"' in (project.path / "r.xml").read_text()
    assert "24 tokens" in (project.path / "r.md").read_text()


def test_expected_output_has_no_effect_on_a_live_run(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set(MODEL, "Goodbye")
    assert statuses(project.test("-k", "hello").stdout) == {"says-hello": "FAIL"}


def test_another_model_can_be_asked(project: Project, mock_llm_responses: LLMMock) -> None:
    mock_llm_responses.set("other", "Hello 1")
    assert project.test("--model", "other").exit_code == 0
    assert {call["model_id"] for call in mock_llm_responses.calls} == {"other"}


def test_a_model_that_answers_an_error_fails_its_case_and_the_others_go_on(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.add(MODEL, ValueError("no such thing"))
    mock_llm_responses.set(MODEL, "Hello 1")
    result = project.test()
    assert statuses(result.stdout) == {
        "says-hello": "FAIL",
        "no-errors": "PASS",
        "has-number": "PASS",
    }
    assert "✗ ValueError: no such thing" in result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("test", "role.yaml", "-s", "tests.yaml", "--dry-run", "-k", "hello"),
        ("run", "role.yaml", "-p", "Hi", "--dry-run"),
    ],
)
def test_what_a_role_has_that_has_no_effect_is_warned_of(
    project: Project, arguments: tuple[str, ...]
) -> None:
    project.write("role.yaml", ROLE + "  memory: {}\n")
    result = project.command(*arguments)
    assert result.exit_code == 0
    assert result.stderr == "Warning: role.yaml: not supported and ignored: spec.memory (line 8).\n"


# Which cases


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        (["--tag", "fast"], ["says-hello", "has-number"]),
        (["--tag", "numbers", "--tag", "nothing"], ["has-number"]),
        (["-k", "HELLO"], ["says-hello"]),
        (["-k", "-", "--tag", "numbers"], ["has-number"]),
        (["-k", ""], ["says-hello", "no-errors", "has-number"]),
    ],
)
def test_cases_are_chosen_by_tag_and_name(
    arguments: list[str], names: list[str], project: Project
) -> None:
    assert list(statuses(project.dry(*arguments).stdout)) == names


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--tag", "slow"], "the tag 'slow'"),
        (["-k", "bye"], "'bye' in its name"),
        (["--tag", "a", "--tag", "b", "-k", "c"], "the tag 'a' or 'b' and 'c' in its name"),
    ],
)
def test_where_no_case_is_chosen_the_message_names_those_there_are(
    arguments: list[str], wanted: str, project: Project
) -> None:
    result = project.dry(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    there = "Available tags: fast, numbers. Available cases: says-hello, no-errors, has-number."
    assert result.stderr == f"Error: No case has {wanted}. {there}\n"


def test_a_suite_without_cases_checks_nothing_which_is_no_success(project: Project) -> None:
    project.write("tests.yaml", SUITE.split("cases:")[0])
    result = project.dry()
    assert result.exit_code == 1
    assert result.stdout.endswith("0/0 passed – Nothing was checked\n")  # noqa: RUF001
    warning, error = result.stderr.splitlines()
    assert warning == "Warning: tests.yaml: the suite has no cases."
    assert error == "Error: Nothing was checked. There are no cases."


# How often


def test_repeated_runs_show_their_pass_rate(project: Project, mock_llm_responses: LLMMock) -> None:
    for answer in ("Hello", "No", "Hello", "No"):
        mock_llm_responses.add(MODEL, answer)
    result = project.test("-k", "hello", "--repeat", "4", "--threshold", "0.5")
    assert result.exit_code == 0
    assert re.search(r"│ says-hello │ PASS   │ \S+ +│ 50% \(2/4\) │", result.stdout)


def test_below_the_threshold_the_first_failed_run_is_shown(
    project: Project, mock_llm_responses: LLMMock
) -> None:
    for answer in ("Hello", "Hm", "No"):
        mock_llm_responses.add(MODEL, answer)
    result = project.test("-k", "hello", "--repeat", "3", "--threshold", "0.5")
    assert result.exit_code == 1
    assert (
        "  2 of 3 runs failed; the first failed run:\n  prompt: Hi there!\n  output: Hm\n"
        in result.stdout
    )


def test_a_failed_run_is_run_again(project: Project, mock_llm_responses: LLMMock) -> None:
    for answer in ("No", "No", "Hello"):
        mock_llm_responses.add(MODEL, answer)
    assert project.test("-k", "hello", "--retry", "2").exit_code == 0
    assert len(mock_llm_responses.calls) == 3


def test_jobs_leave_the_order_of_the_table(project: Project) -> None:
    project.write_cases(
        "".join(f"  - {{name: case-{number:02}, prompt: Hi}}\n" for number in range(30))
    )
    assert list(statuses(project.dry("-j", "8").stdout)) == [
        f"case-{number:02}" for number in range(30)
    ]


# Several suites, and wrong files


def test_an_empty_line_is_between_two_suites(project: Project) -> None:
    for name in ("tests.yaml", "more.yaml"):
        project.write(name, PASSING)
    output = project.dry("-s", "more.yaml").stdout
    summary = "3/3 passed ✓ All tests passed\n"
    assert f"{summary}\nRunning " in output
    assert output.startswith("Running ")
    assert output.endswith(summary)


def test_a_broken_suite_does_not_stop_the_others(project: Project) -> None:
    project.write("tests.yaml", PASSING)
    project.write("broken.yaml", SUITE.replace("prompt:", "promt:"))
    result = project.dry("-s", "broken.yaml", "-s", "nowhere.yaml", "-s", "role.yaml")
    assert result.exit_code == 1
    assert result.stdout.count("3/3 passed ✓ All tests passed") == 1
    assert (
        "broken.yaml:8: case 'says-hello': unknown key 'promt'; did you mean 'prompt'?"
        in result.stderr
    )
    assert "Error: nowhere.yaml: cannot be read: No such file or directory" in result.stderr
    assert (
        "Error: role.yaml:2: this is a role (kind: Agent), not a suite (kind: TestSuite)"
        in result.stderr
    )


@pytest.mark.parametrize("role", ["tests.yaml", "nowhere.yaml", "."])
def test_a_wrong_role_is_one_message(role: str, project: Project) -> None:
    result = project.command("test", role, "-s", "tests.yaml", "--dry-run")
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("Error: ")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("role", "exit_code", "message"),
    [
        (
            ROLE,
            1,
            (
                "✗ No key found - add one using 'llm keys set openai' or set the OPENAI_API_KEY "
                "environment"
            ),
        ),
        (
            ROLE.replace("4o-mini", "4o-mni"),
            1,
            "Error: role.yaml:7: llm does not know the model 'gpt-4o-mni' or 'openai/gpt-4o-m",
        ),
        (
            ROLE.replace("openai", "anthropic"),
            1,
            "To install the plugin for it, run: llm install llm-anthropic",
        ),
    ],
    ids=["no-key", "unknown", "plugin"],
)
def test_a_model_that_cannot_be_asked_is_told_with_a_remedy(
    role: str, exit_code: int, message: str, real_project: Project
) -> None:
    real_project.write(
        "role.yaml",
        role.replace("name: gpt-4o-mini}", "name: claude-x}") if "anthropic" in role else role,
    )
    result = real_project.test("-k", "hello")
    assert result.exit_code == exit_code
    assert message in result.output


@pytest.mark.parametrize(
    "arguments",
    [
        ["test", "role.yaml", "--dry-run"],
        ["test", "-s", "tests.yaml", "--model", "m"],
        ["test", "role.yaml", "-s", "tests.yaml", "--threshold", "1.1"],
        ["test", "role.yaml", "-s", "tests.yaml", "--repeat", "0"],
        ["test", "role.yaml", "-s", "tests.yaml", "--jobs", "0"],
        ["test", "role.yaml", "-s", "tests.yaml", "--max-cost", "-1"],
        ["test", "role.yaml", "-s", "tests.yaml", "--output", "results.txt"],
        ["test", "role.yaml", "-s", "tests.yaml", "--wrong"],
        ["test", "role.yaml", "-s", "tests.yaml", "--model", "a", "--model", "a"],
    ],
    ids=lambda arguments: arguments[-1],
)
def test_wrong_usage_is_exit_code_2(arguments: list[str], project: Project) -> None:
    result = project.command(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: llm-mock test ")


WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named {sys.argv[1]!r}", name=sys.argv[1])

sys.meta_path.insert(0, Without())
from llm_mock.cli import main
main(["test", "role.yaml", "-s", "tests.yaml", "--dry-run", "-o", "out.json"])
"""


@pytest.mark.parametrize(
    ("module", "message"),
    [
        (
            "rich",
            (
                "Running suites needs rich, which is not installed. Run: pip install "
                "'pytest-llm-mock[suites]'"
            ),
        ),
        (
            "tenacity",
            (
                "Running agents needs tenacity, which is not installed. Run: pip install "
                "'pytest-llm-mock[agents]'"
            ),
        ),
    ],
)
def test_a_missing_extra_is_named(
    module: str, message: str, project: Project, process_environment: dict[str, str]
) -> None:
    command = [sys.executable, "-c", WITHOUT, module]
    result = subprocess.run(
        command, env=process_environment, capture_output=True, text=True, check=False, timeout=60
    )
    assert (result.returncode, result.stdout, result.stderr) == (1, "", f"Error: {message}\n")


# What functions of the project do


CHECKS = """
import sys, pytest
class Odd(BaseException): ...
def exits(output): sys.exit("bye")
def odd(output): raise Odd("hm")
def generator(output): raise GeneratorExit
def fails(output): pytest.fail("not good")
"""


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_whatever_a_check_raises_is_a_failure_of_its_case(jobs: str, project: Project) -> None:
    project.write("checks.py", CHECKS)
    names = ("exits", "odd", "generator", "fails")
    case = (
        "  - {{name: {0}, prompt: Hi, assertions: [{{type: python, function: 'checks.py:{0}'}}]}}\n"
    )
    project.write_cases("".join(map(case.format, names)) + "  - {name: free, prompt: Hi}\n")
    output = project.dry("-j", jobs).stdout
    assert statuses(output) == {**dict.fromkeys(names, "FAIL"), "free": "PASS"}
    assert "checks.py:odd raised Odd: hm (checks.py:5)" in output
    assert "checks.py:exits raised SystemExit: bye (checks.py:4)" in output
