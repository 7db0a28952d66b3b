"""A run that evaluates no check is red or says that nothing was checked; it is never green."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from llm_mock import LLMMock
from llm_mock.agents import Agent
from llm_mock.checks import check, contains, evaluation
from llm_mock.suites import run_suite
from tests.report.test_documents import read_page
from tests.suites.cases import case, suite
from tests.suites.conftest import PASSING, ROLE, Project, statuses

GREEN = ("✓ All tests passed", "✓ The score is high enough", "✓ Nothing is worse", "PASS ")
JUDGED = "  - {name: judged, prompt: Hi, assertions: [{type: judge, criteria: Polite}]}\n"
CHECKED = "  - {name: checked, prompt: Hi, assertions: [{type: regex, pattern: run}]}\n"
BROKEN = "  - {name: broken, prompt: Hi, assertions: [{type: regex, pattern: walk}]}\n"
SPEC = """\
test: {name: Sums}
steps:
  - tool: assert_equals
    args: {actual: 1, expected: 1}
    checks: [{type: contains, value: "1"}]
verdict: {pass_if: it holds, fail_if: it does not}
"""
MATRIX = "matrix: {models: [gpt-4o, gpt-4o-mini]}\n"


MEASURED = "  - {name: m, prompt: Hi, assertions: [{type: regex, pattern: x, weight: 0}]}\n"


@pytest.fixture
def nothing_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Skip every assertion of every suite."""
    monkeypatch.setattr(evaluation, "_get_skip_reason", lambda *_: "Skipped: on purpose")


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--verbose",),
        ("--repeat", "5"),
        ("--repeat", "5", "--threshold", "0.2"),
        ("-j", "2"),
        ("--retry", "1"),
        ("--min-score", "0.5"),
        ("--model", "gpt-4o", "--model", "gpt-5"),
        ("--baseline", "before.json"),
        ("-k", "hello"),
        ("-s", "others.yaml"),
    ],
    ids=" ".join,
)
def test_a_run_without_an_evaluated_check_is_never_green(
    project: Project, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    project.write("tests.yaml", PASSING)
    project.write("others.yaml", PASSING.replace("greeting-tests", "others"))
    assert project.dry("-o", "before.json").exit_code == 0
    monkeypatch.setattr(evaluation, "_get_skip_reason", lambda *_: "Skipped: on purpose")
    ended = project.dry(*arguments)
    assert ended.exit_code == 1
    assert [text for text in GREEN if text in ended.output] == []
    assert "NOT CHECKED" in ended.output
    if "--baseline" not in arguments:
        assert "Nothing was checked" in ended.output


def test_a_live_run_without_an_evaluated_check_says_how_to_see_the_reasons(
    project: Project, nothing_is_evaluated: None, mock_llm_responses: LLMMock
) -> None:
    project.write_cases(CHECKED)
    ended = project.test()
    assert ended.exit_code == 1
    assert ended.stderr.endswith(
        "Nothing was checked. All assertions were skipped; --verbose shows the reasons.\n"
    )


def test_no_document_of_it_is_green(project: Project, nothing_is_evaluated: None) -> None:
    project.write("tests.yaml", PASSING)
    outputs = [f"--output=out.{suffix}" for suffix in ("json", "xml", "md", "html")]
    project.dry(*outputs)
    [found] = json.loads(Path("out.json").read_bytes())["suites"]
    assert (found["passed"], found["failed"], found["not_checked"]) == (0, 0, 3)
    assert {one["status"] for one in found["cases"]} == {"not checked"}
    assert {one["pass_rate"] for one in found["cases"]} == {None}
    junit = ElementTree.parse("out.xml").getroot()
    assert [each.get("skipped") for each in junit.iter("testsuite")] == ["3"]
    messages = [each.get("message") for each in junit.iter("skipped")]
    assert len(messages) == 3
    assert set(messages) <= {
        "not checked: Skipped: on purpose",
        "not checked: Skipped: on purpose\nSkipped: on purpose",
    }
    markdown = Path("out.md").read_text()
    assert "✅" not in markdown
    assert "❌" in markdown
    assert "0/0 passed, 3 not checked" in markdown
    assert read_page(Path("out.html"))["outcomes"] == {"not checked": 3}


def test_a_repeated_case_that_was_never_checked_has_no_pass_rate(project: Project) -> None:
    project.write_cases(JUDGED)
    ended = project.dry("--repeat", "5", "-o", "out.json")
    assert ended.exit_code == 1
    assert "100%" not in ended.output
    [found] = json.loads(Path("out.json").read_bytes())["suites"]
    assert (found["cases"][0]["repeats"], found["pass_at_k"]) == (None, {})


def test_some_cases_that_were_not_checked_are_counted_to_the_end(project: Project) -> None:
    project.write_cases(CHECKED + JUDGED)
    ended = project.dry("-o", "out.md")
    assert ended.exit_code == 0
    assert statuses(ended.stdout) == {"checked": "PASS", "judged": "NOT CHECKED"}
    assert "1/1 passed, 1 not checked, 1 of 2 checks skipped in a dry run" in ended.stdout
    assert "– Some tests were not checked" in ended.stdout  # noqa: RUF001
    assert ended.stdout.endswith("– 1 of 2 cases not checked\n")  # noqa: RUF001
    assert Path("out.md").read_text().startswith("### ⚪ ")


def test_a_failure_beside_what_was_not_checked_is_a_failure(project: Project) -> None:
    project.write_cases(JUDGED + BROKEN)
    ended = project.dry()
    assert ended.exit_code == 1
    assert "0/1 passed, 1 not checked" in ended.stdout
    assert "✗ Some tests failed" in ended.stdout


def test_a_suite_beside_one_that_was_checked_does_not_fail_the_run(project: Project) -> None:
    project.write_cases(JUDGED)
    project.write_cases(CHECKED, "others.yaml")
    ended = project.dry("-s", "others.yaml")
    assert ended.exit_code == 0
    assert "0/0 passed, 1 not checked" in ended.stdout
    assert "– Nothing was checked" in ended.stdout  # noqa: RUF001
    assert ended.stdout.endswith("– 1 of 2 cases not checked\n")  # noqa: RUF001


def test_a_score_that_nobody_could_measure_is_not_high_enough(project: Project) -> None:
    project.write_cases(JUDGED)
    ended = project.dry("--min-score", "0.5")
    assert ended.exit_code == 1
    assert "high enough" not in ended.output


def test_a_variant_that_was_not_checked_is_shown_in_its_column(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.write_cases(CHECKED + JUDGED)
    ended = project.dry("--model", "gpt-4o", "--model", "gpt-5")
    assert ended.exit_code == 0
    assert re.search(r"judged +│ NOT CHECKED +│ NOT CHECKED ", ended.stdout)


@pytest.mark.parametrize("before", [CHECKED, BROKEN.replace("broken", "checked")])
def test_a_case_that_is_no_longer_checked_is_worse_than_in_the_baseline(
    project: Project, before: str
) -> None:
    fine = CHECKED.replace("name: checked", "name: fine")
    project.write_cases(fine + before)
    project.dry("-o", "before.json")
    project.write_cases(fine + JUDGED.replace("name: judged", "name: checked"))
    ended = project.dry("--baseline", "before.json")
    assert ended.exit_code == 1
    assert "unchecked: checked (" in ended.stdout
    assert "✗ Some cases are worse than in before.json" in ended.stdout


def test_nothing_is_compared_if_nothing_was_checked_twice(project: Project) -> None:
    project.write_cases(JUDGED)
    project.dry("-o", "before.json")
    ended = project.dry("--baseline", "before.json", "-o", "out.md")
    assert ended.exit_code == 1
    text = "– Nothing was checked, so nothing is compared with before.json"  # noqa: RUF001
    assert text in ended.stdout
    assert "⚪ Nothing was compared" in Path("out.md").read_text()


def test_a_suite_without_cases_checks_nothing(project: Project) -> None:
    project.write_cases("  []")
    ended = project.dry()
    assert ended.exit_code == 1
    assert "Nothing was checked. There are no cases." in ended.stderr


def test_in_python_a_case_that_was_not_checked_has_not_passed() -> None:
    judge = [{"type": "judge", "criteria": "Polite"}]
    judged = case("judged", assertions=judge)
    result = run_suite(Agent("m"), suite(judged, case("checked", contains="run")), dry_run=True)
    assert [one.passed for one in result.case_results] == [False, True]
    assert (result.passed, result.failed, result.not_checked) == (1, 0, 1)
    assert (result.is_checked, result.all_passed, result.succeeded) == (True, False, True)
    nothing = run_suite(Agent("m"), suite(judged), dry_run=True)
    assert (nothing.is_checked, nothing.all_passed, nothing.score) == (False, False, None)


def test_pytest_skips_what_was_not_checked_and_says_why(
    pytester: pytest.Pytester, nothing_is_evaluated: None
) -> None:
    files = {"role.yaml": ROLE, "suite.yaml": PASSING}
    for name, text in files.items():
        (pytester.path / name).write_text(text)
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml = role.yaml\n")
    result = pytester.runpytest_inprocess("-rs", "--junitxml=out.xml", "suite.yaml")
    result.assert_outcomes(skipped=3)
    result.stdout.fnmatch_lines(["SKIPPED*not checked: Skipped: on purpose*"])
    junit = ElementTree.parse(pytester.path / "out.xml").getroot()
    assert len(list(junit.iter("skipped"))) == 3


def test_in_pytest_a_plain_language_test_without_an_evaluated_check_is_skipped(
    pytester: pytest.Pytester,
) -> None:
    folder = pytester.mkdir("tests") / "llm"
    folder.mkdir()
    (folder / "checked.yaml").write_text(SPEC)
    (folder / "unchecked.yaml").write_text(SPEC)
    pytester.makeconftest(
        """
        import pytest
        from llm_mock.checks import evaluation
        from llm_mock.specs import steps

        @pytest.hookimpl(wrapper=True)
        def pytest_runtest_call(item):
            with pytest.MonkeyPatch.context() as patch:
                if item.path.name == "unchecked.yaml":
                    reason = "Skipped: on purpose"
                    patch.setattr(evaluation, "_get_skip_reason", lambda *_: reason)
                    patch.setattr(steps, "RESULT_FIELDS", {})
                return (yield)
        """
    )
    result = pytester.runpytest_inprocess("--llm", "--llm-mock-dry-run", "tests/llm", "-rs")
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED*unchecked.yaml*UNCLEAR: Not checked in the dry run: *"])


def test_in_python_a_check_that_was_not_evaluated_is_not_true(nothing_is_evaluated: None) -> None:
    for one in (contains("Hello"), ~contains("Bye")):
        finding = one("Hello")
        assert (bool(finding), finding.outcome) == (False, "not checked")
        with pytest.raises(AssertionError, match="on purpose"):
            check("Hello", one)


def test_pytest_names_the_checks_that_a_passing_case_skipped(pytester: pytest.Pytester) -> None:
    head = PASSING.partition("cases:")[0]
    both = "assertions: [{type: regex, pattern: run}, {type: judge, criteria: Polite}]"
    (pytester.path / "role.yaml").write_text(ROLE)
    (pytester.path / "suite.yaml").write_text(
        f"{head}cases:\n  - {{name: half, prompt: Hi, {both}}}\n"
    )
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml = role.yaml\n")
    result = pytester.runpytest("suite.yaml")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["*Passed tests that were not fully checked*", "*suite.yaml::half  1 of 2 checks skipped"]
    )


@pytest.mark.parametrize(
    ("cases", "options", "counts"),
    [
        (MEASURED, ("--min-score", "0.5"), "1/1 passed"),
        (
            MEASURED.replace("prompt:", "min_score: 0.5, prompt:"),
            (),
            "0/0 passed, 1 not checked",
        ),
    ],
)
def test_a_score_that_there_is_not_is_not_high_enough(
    project: Project, cases: str, options: tuple[str, ...], counts: str
) -> None:
    project.write_cases(cases)
    ended = project.dry(*options, "-o", "out.md", "-o", "out.xml")
    assert ended.exit_code == 1
    assert re.search(rf"^{counts} . Nothing was checked\nno score$", ended.output, re.MULTILINE)
    assert ended.stderr.endswith(
        "Nothing was checked. No check has a weight, so there is no score to reach.\n"
    )
    assert Path("out.md").read_text().startswith("### ❌ ")
    reason = "not checked: no check has a weight, so there is no score"
    assert (reason in Path("out.xml").read_text()) == (not options)
    # Without a score that it must reach, a check without a weight only measures.
    project.write_cases(MEASURED)
    assert project.dry().exit_code == 0


BARE = "  - {name: bare, prompt: Hi}\n"


@pytest.mark.parametrize(
    ("cases", "line"),
    [
        (BARE, "1 case without assertions: nothing in the answers was checked"),
        (BARE + CHECKED, "1 case without assertions: nothing in the answers was checked"),
        (
            BARE + BARE.replace("bare", "other"),
            "2 cases without assertions: nothing in the answers was checked",
        ),
        (CHECKED, None),
        (MEASURED, None),
    ],
)
def test_cases_without_assertions_pass_and_are_named(
    project: Project, cases: str, line: str | None
) -> None:
    project.write_cases(cases)
    ended = project.dry()
    assert ended.exit_code == 0
    found = [text for text in ended.output.splitlines() if "without assertions" in text]
    assert found == ([line] if line else [])


def test_a_case_that_fails_without_assertions_is_not_counted(project: Project) -> None:
    project.write_cases(BARE.replace("prompt: Hi", "prompt: Hi, replies: [{error: {status: 500}}]"))
    ended = project.dry()
    assert (ended.exit_code, "without assertions" in ended.output) == (1, False)


def test_in_pytest_cases_without_assertions_are_named(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml")
    pytester.makepyfile(app="def answer(prompt):\n    return prompt")
    pytester.path.joinpath("suite.yaml").write_text(
        "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: x}\n"
        f"target: {{function: app.py:answer}}\ncases:\n{BARE}"
        "  - {name: checked, prompt: Hi, assertions: [{type: contains, value: Hi}]}\n"
    )
    ended = pytester.runpytest_inprocess()
    ended.assert_outcomes(passed=2)
    ended.stdout.fnmatch_lines(
        [
            "*Passed tests that were not fully checked*",
            "*suite.yaml::bare  it has no assertions, so nothing in the answer was checked",
        ]
    )
    ended.stdout.no_fnmatch_line("*::checked*it has no*")
