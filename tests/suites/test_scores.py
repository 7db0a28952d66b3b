"""Scores: of assertions, cases, suites and metrics, what they must reach, and who judges."""

from __future__ import annotations

import json

import pytest

pytest.importorskip("mcp")

from llm_mock import ResponseConfigurator
from llm_mock.core.judge_choice import JudgeChoice, choose_judge
from llm_mock.suites import Attempt, CaseResult, SuiteResult, load_role, load_suite, run_suite
from llm_mock.suites.failure import format_weight
from tests.suites.cases import case
from tests.suites.conftest import HEAD, Project, statuses

CHECKS = """
def half(output, variables, case):
    return {"score": 0.5, "reason": f"{case.name} for {variables['who']}"}

def quarter(output, result):
    return 0.25, f"of {result.prompt}"

def verdict(output):
    return {"pass": True, "score": 0.1}

def too_much(output):
    return {"score": 7}

def misspelt(output):
    return {"scroe": 1}
"""
SUITE = (
    HEAD
    + """
  - name: polite
    prompt: Hi
    expected_output: Please come in.
    min_score: 0.6
    variables: {who: Ada}
    assertions:
      - {type: contains, value: Please, weight: 3, metric: tone}
      - {type: contains, value: Sir, metric: tone}
      - {type: python, function: "checks.py:half", threshold: 0.4, metric: facts}
      - {type: contains, value: Madam, weight: 0}
  - name: rude
    prompt: Hi
    expected_output: Get out.
    min_score: 0.6
    assertions:
      - {type: contains, value: Please, weight: 3, metric: tone}
      - {type: not_contains, value: Sir, metric: tone}
"""
)
JUDGED = (
    HEAD.replace("cases:", "defaults: {JUDGE}\ncases:")
    + """
  - name: judged
    prompt: Hi
    assertions:
      - {type: judge, criteria: Is polite}
      - {type: judge, criteria: Is short, threshold: 0.6, model: own}
"""
)


@pytest.fixture
def scored(project: Project) -> Project:
    """Return a project whose suite has scores."""
    project.write("checks.py", CHECKS)
    project.write("tests.yaml", SUITE)
    return project


def test_a_case_passes_by_its_score_and_every_output_has_the_scores(scored: Project) -> None:
    outputs = [f"results{suffix}" for suffix in (".json", ".xml", ".md", ".html")]
    result = scored.dry("-v", *(word for name in outputs for word in ("-o", name)))
    assert statuses(result.output) == {"polite": "PASS", "rude": "FAIL"}
    # The table has the assertions.
    assert "rude: score 0.250, less than 0.6\n" in result.output
    reason = "rude: score 0.250, less than 0.6: Output does not contain 'Please' (weight 3)"
    assert reason in scored.dry().output
    assert "checks.py:half: 0.500, at least 0.4:" in result.output
    assert (
        "1/2 passed ✗ Some tests failed\nscore 0.475; metrics: tone 0.500, facts 0.500"
        in result.output
    )
    found, junit, markdown, page = (
        (scored.path / name).read_text(encoding="utf-8") for name in outputs
    )
    (suite,) = json.loads(found)["suites"]
    assert (suite["score"], suite["min_score"], suite["metrics"]) == (
        0.475,
        None,
        {"tone": 0.5, "facts": 0.5},
    )
    assert [(each["score"], each["min_score"]) for each in suite["cases"]] == [
        (0.7, 0.6),
        (0.25, 0.6),
    ]
    assertions = suite["cases"][0]["attempts"][0]["assertions"]
    assert [each["score"] for each in assertions] == [1, 0, 0.5, 0]
    assert assertions[2]["message"].endswith("polite for Ada")
    assert '<property name="metric: tone" value="0.5" />' in junit
    assert '<property name="score" value="0.25" />' in junit
    assert "| 0.250 |" in markdown
    assert '"score": "score 0.250, less than 0.6"' in page
    assert '"greeting-tests: score 0.475; metrics: tone 0.500, facts 0.500"' in page


@pytest.mark.parametrize(
    ("arguments", "in_file", "exit_code", "said"),
    [
        (("--min-score", "0.4"), "", 0, "✓ The score is high enough\nscore 0.475, at least 0.4"),
        (("--min-score", "0.5"), "", 1, "✗ The score is too low\nscore 0.475, less than 0.5"),
        ((), "min_score: 0.4\n", 0, "✓ The score is high enough\nscore 0.475, at least 0.4"),
        (("--min-score", "0.5"), "min_score: 0.4\n", 1, "score 0.475, less than 0.5"),
    ],
)
def test_a_run_passes_by_its_score(
    scored: Project, arguments: tuple[str, ...], in_file: str, exit_code: int, said: str
) -> None:
    scored.write("tests.yaml", SUITE.replace("cases:", f"{in_file}cases:"))
    result = scored.dry(*arguments)
    assert result.exit_code == exit_code
    assert said in result.output


def test_a_plain_suite_shows_no_scores(project: Project) -> None:
    assert "core" not in project.dry("-v").output


@pytest.mark.parametrize(
    ("function", "passed", "score", "message"),
    [
        ("half", False, 0.5, "0.500, less than 1: c for Ada"),
        ("quarter, threshold: 0.2", True, 0.25, "0.250, at least 0.2: of Hi"),
        ("verdict", True, 0.1, "0.100, less than 1"),
        ("too_much", False, 0, "returned the score 7; a score must be from 0 to 1"),
        (
            "misspelt",
            False,
            0,
            "returned an object of type dict, not true or false, a score from 0 to 1, (either",
        ),
    ],
)
def test_a_function_may_return_a_score(
    scored: Project, function: str, passed: bool, score: float, message: str
) -> None:
    name, comma, threshold = function.partition(",")
    check = f"{{type: python, function: 'checks.py:{name}'{comma}{threshold}}}"
    scored.write_cases(
        f"  - {{name: c, prompt: Hi, variables: {{who: Ada}}, assertions: [{check}]}}\n"
    )
    scored.dry("-o", "results.json")
    (found,) = json.loads((scored.path / "results.json").read_text())["suites"][0]["cases"]
    (found,) = found["attempts"][0]["assertions"]
    assert (found["status"] == "passed", found["score"]) == (passed, score)
    assert message in found["message"]


def test_a_suite_passes_by_its_average_when_all_cases_were_run() -> None:
    attempts = Attempt((), (), "no answer"), Attempt((), ())
    results = tuple(
        CaseResult(case(name), (attempt,)) for name, attempt in zip("ab", attempts, strict=True)
    )
    assert [result.score for result in results] == [0, 1]
    assert SuiteResult("s", "agent", None, results, min_score=0.5).all_passed
    assert not SuiteResult(
        "s", "agent", None, results, not_run=(case("d"),), min_score=0.5
    ).all_passed
    assert SuiteResult("s", "agent", None, ()).score is None


@pytest.mark.parametrize(
    ("where", "said"),
    [
        (
            "assertions: [{type: contains, value: x, weight: -1}]",
            "case 'one': assertions.0.weight: should be at least",
        ),
        (
            "assertions: [{type: json, weight: true}]",
            "case 'one': assertions.0.weight: should be a number, not true",
        ),
        ("min_score: 0", "case 'one': min_score: should be more than 0"),
        ("min_score: 1.5", "case 'one': min_score: should be at most 1"),
        (
            "assertions: [{type: python, function: 'c.py:f', threshold: 2}]",
            "threshold: should be at most 1",
        ),
    ],
)
def test_scores_that_mean_nothing_are_named_with_their_line(
    project: Project, where: str, said: str
) -> None:
    project.write_cases(f"  - name: one\n    prompt: Hi\n    {where}\n")
    output = project.command("validate", "tests.yaml").output
    assert "tests.yaml:8: " in output
    assert said in output
    assert project.dry("--min-score", "0").exit_code == 2


def test_in_pytest_a_case_passes_by_its_score(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_suites = suite.yaml")
    pytester.makepyfile(app="def answer(prompt):\n    return prompt")
    assertions = "[{type: contains, value: Hi, weight: 3}, {type: contains, value: Ho}]"
    pytester.path.joinpath("suite.yaml").write_text(
        "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: x}\n"
        "target: {function: app.py:answer}\ncases:\n"
        f"- {{name: enough, prompt: Hi, min_score: 0.75, assertions: {assertions}}}\n"
        f"- {{name: too-low, prompt: Hi, min_score: 0.8, assertions: {assertions}}}\n"
    )
    result = pytester.runpytest_inprocess("-v")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        ["suite.yaml:7: too-low: score 0.750, less than 0.8: Output does not contain 'Ho'"]
    )


# The judge


def test_the_suite_has_one_judge_and_an_assertion_may_have_another(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    project.write("tests.yaml", JUDGED.replace("JUDGE", "judge: theirs"))
    mock_llm_responses.add("gpt-4o-mini", "Hello")
    mock_llm_responses.add("theirs", {"reason": "Says hello.", "met": True})
    mock_llm_responses.add("own", {"reason": "It is long.", "score": 0.5})
    result = project.test("-o", "results.json")
    assert "✓ Output meets the criteria 'Is polite': Says hello.\n" in result.output
    assert (
        "✗ Output scored 0.500, less than 0.6, on the criteria 'Is short': It is long."
        in result.output
    )
    assert "judged" not in result.output.replace("│ judged", "").replace(": judged:", "")
    (attempt,) = json.loads((project.path / "results.json").read_text())["suites"][0]["cases"][0][
        "attempts"
    ]
    assert [(each["judge"], each["score"]) for each in attempt["assertions"]] == [
        ("theirs", 1),
        ("own", 0.5),
    ]


def test_the_judge_of_the_command_line_judges_all(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    project.write("tests.yaml", JUDGED.replace("JUDGE", "judge: theirs"))
    mock_llm_responses.add("gpt-4o-mini", "Hello")
    mock_llm_responses.add("best", {"reason": "Says hello.", "met": True})
    mock_llm_responses.add("best", {"reason": "It is short.", "score": 0.75})
    assert project.test("--judge", "best").exit_code == 0


def test_a_model_that_judges_itself_is_named(
    project: Project, mock_llm_responses: ResponseConfigurator
) -> None:
    project.write("tests.yaml", JUDGED.replace("JUDGE", "tags: [x]").replace(", model: own", ""))
    mock_llm_responses.add("gpt-4o-mini", "Hello")
    mock_llm_responses.add("gpt-4o-mini", {"reason": "I did not.", "met": False})
    mock_llm_responses.add("gpt-4o-mini", {"reason": "I did it.", "score": 0.75})
    result = project.test()
    assert (
        "✗ Output does not meet the criteria 'Is polite': I did not. (the model under test "
        "judged itself)"
    ) in result.output
    assert (
        "2 checks judged by the model under test itself: set another judge with --judge MODEL or"
        in result.output
    )


def test_a_project_may_name_the_judge_of_suites_that_name_none(project: Project) -> None:
    for judge, wanted in (("tags: [x]", "project"), ("judge: theirs", "theirs")):
        project.write("tests.yaml", JUDGED.replace("JUDGE", judge))
        with choose_judge(JudgeChoice(default="project")):
            (found,) = load_suite("tests.yaml").cases
        assert [getattr(each, "model", None) for each in found.assertions] == [wanted, "own"]


def test_a_case_that_only_measures_has_no_score(project: Project) -> None:
    case = "  - {{name: {}, prompt: Hi, expected_output: Hi, assertions: [{{type: contains, value: X{}}}]}}\n"  # noqa: E501
    project.write(
        "tests.yaml", HEAD + case.format("measured", ", weight: 0") + case.format("checked", "")
    )
    result = run_suite(load_role("role.yaml"), load_suite("tests.yaml"), dry_run=True)
    assert [case.score for case in result.case_results] == [None, 0]
    assert result.score == 0


@pytest.mark.parametrize(
    ("weight", "shown"),
    [(0, " (weight 0: only measured)"), (0.5, " (weight 0.5)"), (1, ""), (2, " (weight 2)")],
)
def test_the_message_of_an_assertion_has_its_weight(weight: float, shown: str) -> None:
    assert format_weight(weight) == shown
