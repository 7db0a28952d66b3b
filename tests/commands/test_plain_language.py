"""`llm-mock test`: files of every kind, and plain-language tests with all that suites have."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner, Result

from llm_mock import LLMMock, Reply, ToolCall
from llm_mock.cli import main
from llm_mock.specs.file_kinds import find_kind
from llm_mock.support import yaml_files
from tests.specs.local_tools import local_tools as local_tools
from tests.specs.local_tools import tool_process as tool_process

pytestmark = pytest.mark.usefixtures("local_tools")

ROLE = """\
apiVersion: llm-mock/v1
kind: Agent
metadata: {name: greeter}
spec: {role: Be kind}
"""
SUITE = """\
apiVersion: llm-mock/v1
kind: TestSuite
metadata: {name: greetings}
cases:
  - {name: polite, prompt: Hi, expected_output: Hello, assertions: [{type: contains, value: Hello}]}
"""
SPEC = """\
test: {name: Sums, tags: [fast], description: Adds numbers}
steps:
  - {name: One, tool: assert_equals, args: {actual: 1, expected: 1}, expect: They are equal}
verdict: {pass_if: it holds, fail_if: it does not}
"""
UNCHECKED = SPEC.replace(
    "tool: assert_equals, args: {actual: 1, expected: 1}", "tool: sleep, args: {seconds: 0}"
)
FAILING = SPEC.replace("expected: 1", "expected: 2")
VERDICT = '{"verdict": "PASS", "reason": "it holds", "steps": [], "issues": []}'
EQUAL = ToolCall("assert_equals", {"actual": 1, "expected": 1})


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text("")
    write(tmp_path, "role.yaml", ROLE)
    write(tmp_path, "tests/suite.yaml", SUITE)
    write(tmp_path, "tests/llm/sums.yaml", SPEC)
    return tmp_path


def write(project: Path, name: str, text: str) -> None:
    path = project / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run(*arguments: str) -> Result:
    """Run `llm-mock test` in this process."""
    result = CliRunner().invoke(main, ["test", *arguments], prog_name="llm-mock")
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exc_info
    return result


def script(mock: LLMMock, model: str, verdict: str) -> None:
    """Have a model call the tool of `SPEC`, and give a verdict."""
    usage = {"input_tokens": 10, "output_tokens": 5}
    mock.add(model, Reply(tool_calls=[EQUAL], usage=usage))
    mock.add(model, Reply(VERDICT.replace("PASS", verdict), usage=usage))
    mock.set_price(model, 1000, 1000)


# The kinds of files


@pytest.mark.parametrize(
    ("files", "names"),
    [
        (["role.yaml", "tests"], ["Sums", "greetings"]),
        (["tests/llm"], ["Sums"]),
        (["tests/llm/sums.yaml"], ["Sums"]),
        (["role.yaml", "tests/suite.yaml"], ["greetings"]),
        (["tests/suite.yaml", "role.yaml", "tests/llm/sums.yaml"], ["Sums", "greetings"]),
        (["role.yaml", "tests/llm", "-s", "tests/suite.yaml"], ["Sums", "greetings"]),
        (["role.yaml", "-s", "tests/suite.yaml"], ["greetings"]),
    ],
)
def test_files_are_told_apart_by_their_kind(
    files: list[str], names: list[str], project: Path
) -> None:
    result = run("--dry-run", *files)
    assert result.exit_code == 0, result.output
    headers = [line for line in result.stdout.splitlines() if line.startswith("Running ")]
    assert sorted(header.split()[1] for header in headers) == names
    assert result.stdout.count("1/1 passed") == len(names)


def test_a_folder_leaves_out_hidden_files_plugins_cassettes_and_other_yaml(project: Path) -> None:
    for name in (".hidden/a.yaml", "plugins/a.yaml", "cassettes/a.yaml"):
        write(project, f"tests/llm/{name}", FAILING)
    write(project, "tests/llm/other.yml", "a: 1")
    write(project, "tests/llm/notes.txt", FAILING)
    result = run("--dry-run", "tests/llm")
    assert (result.exit_code, result.stdout.count("Running ")) == (0, 1), result.output


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        ([], 2, "Missing option '-s' / '--suite': a run needs suites or plain-language tests."),
        (["role.yaml"], 2, "Missing option '-s' / '--suite': role.yaml is a role, and a run needs"),
        (["role.yaml", "tests/../role.yaml", "tests"], 2, "are both roles: pass only one of them."),
        (["empty"], 1, "empty: the folder has no suite and no plain-language test"),
        (["other.yaml"], 1, "other.yaml:1: is neither a suite"),
        (["nowhere.yaml"], 1, "nowhere.yaml: cannot be read"),
        (["broken"], 1, "broken/a.yaml:"),
        (["role.yaml", "tests/llm"], 2, "A role is for suites, and tests/llm/sums.yaml is a plain"),
        (["tests/llm", "-j", "2"], 2, "--jobs is for suites"),
        (["tests/llm", "--files-in", "tests"], 2, "--files-in is for suites"),
        (["tests/llm", "-k", "zzz"], 1, "No case has 'zzz' in its name. Available tags: fast"),
        (["fixtures.yaml"], 1, "fixtures.yaml:1: the test uses pytest fixtures: run it"),
        (["incomplete.yaml"], 1, "verdict"),
    ],
)
def test_what_cannot_be_run_is_an_error(
    arguments: list[str], code: int, problem: str, project: Path
) -> None:
    (project / "empty").mkdir()
    write(project, "other.yaml", "a: 1")
    write(project, "broken/a.yaml", "a: [")
    write(project, "fixtures.yaml", SPEC.replace("tags:", "fixtures: [shop], tags:"))
    write(project, "incomplete.yaml", SPEC.partition("verdict")[0])
    result = run("--dry-run", *arguments)
    assert (result.exit_code, problem in result.stderr) == (code, True), result.output


@pytest.mark.parametrize("option", ["--cassette", "--update"])
def test_cassettes_and_snapshots_are_for_suites(option: str, project: Path) -> None:
    result = run("tests/llm", option)
    assert (result.exit_code, f"{option} is for suites" in result.stderr) == (2, True)


def test_a_wrong_file_does_not_stop_the_others(project: Path) -> None:
    write(project, "tests/llm/wrong.yaml", "test: {name: x}\nverdict: 1\n")
    result = run("--dry-run", "tests/llm", "nowhere.yaml")
    assert result.exit_code == 1
    assert "1/1 passed ✓" in result.stdout.replace(", 1 of 2 checks skipped in a dry run", "")
    assert "nowhere.yaml: cannot be read" in result.stderr
    assert "wrong.yaml:2:" in result.stderr


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (SPEC, "spec"),
        ("test: 1\nverdict: 2", "spec"),
        ("test: 1\nsteps: []", "spec"),
        ("test: {name: t}", None),
        ("steps: []\nverdict: 2", None),
        ("kind: TestSuite\ntest: 1\nsteps: []", "suite"),
        ("kind: Agent", "role"),
        ("name: a\nprompt: b", "role"),
        ("- test\n- verdict", None),
        ("", None),
    ],
)
def test_the_kind_of_a_file_is_what_it_means_to_be(text: str, kind: str | None) -> None:
    assert find_kind(yaml_files.parse(Path("x.yaml"), text)) == kind


# Outcomes of plain-language tests


@pytest.mark.parametrize(
    ("text", "code", "status", "said"),
    [
        (SPEC, 0, "passed", "1/1 passed, 1 of 2 checks skipped in a dry run ✓ All tests passed"),
        (FAILING, 1, "failed", "assert_equals(actual=1, expected=2): 1 is not 2"),
        (UNCHECKED, 1, "not checked", "0/0 passed, 1 not checked"),
    ],
)
def test_a_dry_run_has_the_outcomes_and_documents_of_a_suite(
    text: str, code: int, status: str, said: str, project: Path
) -> None:
    write(project, "tests/llm/sums.yaml", text)
    result = run("--dry-run", "tests/llm", "-o", "r.json", "-o", "r.xml", "-o", "r.md", "-v")
    assert (result.exit_code, said in result.stdout) == (code, True), result.output
    (suite,) = json.loads((project / "r.json").read_text())["suites"]
    assert (suite["suite"], suite["file"]) == ("Sums", "tests/llm/sums.yaml")
    (case,) = suite["cases"]
    assert (case["name"], case["status"], case["tags"], case["line"]) == (
        "Sums",
        status,
        ["fast"],
        1,
    )
    (attempt,) = case["attempts"]
    assert [check["type"] for check in attempt["assertions"]] == ["verdict", "expectation"]
    assert attempt["assertions"][0]["definition"]["value"] == (
        "pass if: it holds; fail if: it does not"
    )
    assert attempt["assertions"][1]["message"] == "Not judged in a dry run: One: They are equal"
    (turn,) = attempt["turns"]
    assert turn["prompt"] == "Adds numbers"
    assert "One  (line 3)" in turn["output"]
    tags = {child.tag for child in ElementTree.parse(project / "r.xml").iter("testcase").__next__()}
    expected = {"passed": set(), "failed": {"failure"}, "not checked": {"skipped"}}
    assert tags - {"properties"} == expected[status]


def test_the_texts_of_a_plain_language_test_are_no_templates(project: Path) -> None:
    write(
        project, "tests/llm/sums.yaml", SPEC.replace("Adds numbers", "'file://{{ numbers }}.txt'")
    )
    result = run("tests/llm", "--dry-run")
    assert result.exit_code == 0, result.output


def test_a_plain_language_test_is_repeated_and_compared_with_a_baseline(project: Path) -> None:
    first = run("--dry-run", "tests/llm", "--repeat", "2", "-o", "before.json")
    assert "100% (2/2)" in first.stdout
    write(project, "tests/llm/sums.yaml", FAILING)
    now = run("--dry-run", "tests/llm", "--baseline", "before.json")
    assert now.exit_code == 1
    assert "Sums: 1 broke, 0 as before" in now.stdout
    write(project, "tests/llm/sums.yaml", SPEC)
    assert run("--dry-run", "tests/llm", "--baseline", "before.json").exit_code == 0


@pytest.mark.usefixtures("tool_process")
def test_a_live_run_asks_the_model_and_counts_its_calls_tokens_and_cost(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    script(mock_llm_responses, "m-1", "PASS")
    result = run("tests/llm", "--model", "m-1", "-o", "r.json")
    assert result.exit_code == 0, result.output
    assert result.stdout.endswith("1/1 passed ✓ All tests passed\n30 tokens, cost $0.03\n")
    (suite,) = json.loads((project / "r.json").read_text())["suites"]
    assert (suite["model"], suite["dry_run"], suite["variant"]) == ("m-1", False, None)
    (turn,) = suite["cases"][0]["attempts"][0]["turns"]
    assert [call["name"] for call in turn["tool_calls"]] == ["assert_equals"]
    assert (turn["input_tokens"], turn["output_tokens"]) == (20, 10)


def test_the_model_of_the_option_is_not_blamed_for_a_wrong_file(project: Path) -> None:
    write(project, "tests/llm/sums.yaml", "kind: TestSuite\nstepz: []")
    result = run("tests/llm/sums.yaml", "--model", "m-1")
    assert result.exit_code == 1
    assert "stepz" in result.stderr
    assert "--model" not in result.output


def test_the_judge_of_steps_is_that_of_the_settings_or_the_option(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    check = "{type: judge, criteria: They are equal}"
    write(project, "tests/llm/sums.yaml", SPEC.replace("expect:", f"checks: [{check}], expect:"))
    for name in ("j-1", "j-2"):
        mock_llm_responses.set(name, {"met": name == "j-1", "reason": "so it is"})
    result = run("tests/llm", "--model", "m-1")
    assert result.exit_code == 1
    assert "sums.yaml:3: No judge model" in result.output
    write(project, "pytest.ini", "[pytest]\nllm_mock_judge = j-1\n")
    for options, code in (((), 0), (("--judge", "j-2"), 1)):
        script(mock_llm_responses, "m-1", "PASS")
        result = run("tests/llm", "--model", "m-1", *options)
        assert result.exit_code == code, result.output
    judges = [call["model_id"] for call in mock_llm_responses.calls]
    assert [name for name in judges if name != "m-1"] == ["j-1", "j-2"]


def judge(mock: LLMMock, *answers: bool) -> None:
    """Have a judge give answers, which take six tokens each."""
    for is_met in answers:
        usage = {"input_tokens": 4, "output_tokens": 2}
        mock.add("j-1", Reply(data={"met": is_met, "reason": "so it is"}, usage=usage))


JUDGE = "checks: [{type: judge, criteria: They are equal, model: j-1}], "


@pytest.mark.parametrize(("price", "cost"), [(1000, 0.05), (None, None)])
def test_the_judges_of_steps_count_in_the_totals_also_where_a_step_is_repeated(
    project: Path, mock_llm_responses: LLMMock, price: float | None, cost: float | None
) -> None:
    write(project, "tests/llm/sums.yaml", SPEC.replace("expect:", f"retry: 1, {JUDGE}expect:"))
    usage = {"input_tokens": 5, "output_tokens": 3}
    mock_llm_responses.add("m-1", Reply(tool_calls=[EQUAL], usage=usage))
    script(mock_llm_responses, "m-1", "PASS")
    judge(mock_llm_responses, False, True)
    if price is not None:
        mock_llm_responses.set_price("j-1", price, price)
    result = run("tests/llm", "--model", "m-1", "-o", "r.json")
    assert result.exit_code == 0, result.output
    shown = "unknown" if cost is None else "$0.05"
    assert f"50 tokens, cost {shown}" in result.stdout
    (suite,) = json.loads((project / "r.json").read_text())["suites"]
    (attempt,) = suite["cases"][0]["attempts"]
    assert (suite["cost_usd"], attempt["cost_usd"]) == (cost, cost)
    assert (attempt["tokens"], attempt["judge_tokens"]) == (50, 12)
    assert attempt["judge_cost_usd"] == (None if price is None else 0.012)
    assert [check["type"] for check in attempt["assertions"]] == ["verdict"]


def test_a_judge_counts_although_the_driver_fails_after_it(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    setup = f"setup:\n  - {{{JUDGE}tool: assert_equals, args: {{actual: 1, expected: 1}}}}\n"
    write(project, "tests/llm/sums.yaml", SPEC.replace("steps:", f"{setup}steps:"))
    judge(mock_llm_responses, True)
    mock_llm_responses.set_error("m-1", RuntimeError("overloaded"))
    result = run("tests/llm", "--model", "m-1", "-o", "r.json")
    assert "overloaded" in result.stdout
    (suite,) = json.loads((project / "r.json").read_text())["suites"]
    (attempt,) = suite["cases"][0]["attempts"]
    assert (attempt["assertions"], attempt["tokens"]) == ([], 6)


def test_the_question_for_a_verdict_alone_is_counted_too(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    usage = {"input_tokens": 10, "output_tokens": 5}
    mock_llm_responses.add("m-1", Reply(tool_calls=[EQUAL], usage=usage))
    mock_llm_responses.add("m-1", Reply("Fine.", usage=usage))
    mock_llm_responses.add("m-1", Reply(VERDICT, usage=usage))
    result = run("tests/llm", "--model", "m-1")
    assert (result.exit_code, "45 tokens" in result.stdout) == (0, True), result.output


def test_models_are_compared_side_by_side(project: Path, mock_llm_responses: LLMMock) -> None:
    script(mock_llm_responses, "m-1", "PASS")
    script(mock_llm_responses, "m-2", "FAIL")
    result = run("tests/llm", "--model", "m-1", "--model", "m-2", "-o", "r.json")
    assert result.exit_code == 1
    suites = json.loads((project / "r.json").read_text())["suites"]
    found = [(suite["variant"], suite["passed"], suite["failed"]) for suite in suites]
    assert found == [({"model": "m-1"}, 1, 0), ({"model": "m-2"}, 0, 1)]


def test_an_unclear_verdict_is_not_checked(project: Path, mock_llm_responses: LLMMock) -> None:
    script(mock_llm_responses, "m-1", "UNCLEAR")
    result = run("tests/llm", "--model", "m-1")
    assert result.exit_code == 1
    assert "0/0 passed, 1 not checked" in result.stdout
    assert "Nothing was checked" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [(), ("--repeat", "3"), ("--retry", "1"), ("--min-score", "0.5"), ("--baseline", "r.json")],
    ids=" ".join,
)
@pytest.mark.parametrize("files", [["tests/llm"], ["role.yaml", "tests"]], ids=len)
def test_without_an_evaluated_check_no_run_is_green(
    project: Path, monkeypatch: pytest.MonkeyPatch, files: list[str], arguments: tuple[str, ...]
) -> None:
    step = "  - {tool: sleep, args: {seconds: 0}, checks: [{type: contains, value: slept}]}\n"
    write(project, "tests/llm/sums.yaml", SPEC.replace("verdict:", f"{step}verdict:"))
    if "--baseline" in arguments:
        assert run("--dry-run", *files, "-o", "r.json").exit_code == 0
    monkeypatch.setattr("llm_mock.checks.evaluation._get_skip_reason", lambda *_: "Skipped: x")
    monkeypatch.setattr("llm_mock.specs.steps.RESULT_FIELDS", {})
    ended = run("--dry-run", *files, *arguments)
    assert ended.exit_code == 1
    assert "✓" not in ended.output
    assert "PASS" not in ended.output
    assert "NOT CHECKED" in ended.output


def test_no_further_test_is_started_once_the_cost_is_reached(
    project: Path, mock_llm_responses: LLMMock
) -> None:
    script(mock_llm_responses, "m-1", "PASS")
    write(project, "tests/llm/zweite.yaml", SPEC.replace("Sums", "Second"))
    result = run("tests/llm", "--model", "m-1", "--max-cost", "0.02")
    assert result.exit_code == 1
    assert "1 not run" in result.stdout


def test_an_error_of_the_driver_fails_the_case_with_its_message(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(project, "pytest.ini", "[pytest]\nllm_mock_spec_driver = claude-code\n")
    monkeypatch.setenv("PATH", "")
    result = run("tests/llm")
    assert result.exit_code == 1
    assert "The command 'claude' was not found in PATH" in result.stdout


@pytest.mark.usefixtures("tool_process")
def test_the_time_of_a_test_is_limited(project: Path) -> None:
    text = UNCHECKED.replace("seconds: 0", "seconds: 30")
    write(project, "tests/llm/sums.yaml", text)
    result = run("--dry-run", "tests/llm", "--timeout", "0.5")
    assert (result.exit_code, "Timed out after 0.5 s" in result.stdout) == (1, True), result.output


@pytest.mark.usefixtures("tool_process")
def test_a_plugin_asks_no_real_model_in_a_dry_run(project: Path) -> None:
    plugin = """
import os
from llm_mock.specs import LLMPlugin

class App(LLMPlugin):
    name = "app"

    async def ask(self) -> str:
        import llm
        return llm.get_model("gpt-4o-mini").prompt("Hi").text()
"""
    write(project, "tests/llm/plugins/app.py", plugin)
    steps = SPEC.replace("steps:", "steps:\n  - {tool: app_ask}")
    write(project, "tests/llm/sums.yaml", steps)
    result = run("--dry-run", "tests/llm", "-o", "r.json")
    assert result.exit_code == 0, result.output
    (suite,) = json.loads((project / "r.json").read_text())["suites"]
    assert "success" in suite["cases"][0]["attempts"][0]["turns"][0]["output"]
