"""`llm-mock test --baseline`: its comparison and its exit code."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from llm_mock import LLMMock, Reply
from tests.report.browser import Open
from tests.report.browser import open_page as open_page
from tests.suites.conftest import Project

BEFORE = {"good": True, "bad": False, "breaks": True, "mends": False, "goes": True}
NOW = {"good": True, "bad": False, "breaks": False, "mends": True, "comes": True}


def write_suite(project: Project, passes: dict[str, bool]) -> None:
    """Return a suite of cases that pass, or do not, in a dry run."""
    cases = [
        {
            "name": name,
            "prompt": name,
            "expected_output": str(ok),
            "assertions": [{"type": "equals", "value": "True"}],
        }
        for name, ok in passes.items()
    ]
    project.write_cases("".join(f"  - {json.dumps(case)}\n" for case in cases))


@pytest.fixture
def changed(project: Project) -> Project:
    """Return a project with `before.json`, the result of a dry run, whose suite changed since."""
    write_suite(project, BEFORE)
    project.dry("-o", "before.json")
    write_suite(project, NOW)
    return project


def suite_of(path: str) -> dict[str, Any]:
    """Return the one suite of a result."""
    (suite,) = json.loads(Path(path).read_text())["suites"]
    found: dict[str, Any] = suite
    return found


def test_what_broke_was_mended_came_and_went_is_shown(changed: Project) -> None:
    ended = changed.dry("--baseline", "before.json", "-o", "now.json")
    assert ended.exit_code == 1
    shown = ended.stdout[ended.stdout.index("Against") :].splitlines()
    assert shown[0] == "Against before.json:"
    assert shown[1:] == [
        "greeting-tests: 1 broke, 1 mended, 1 new, 1 gone, 2 as before",
        "  broke: breaks (passed before)",
        "  mended: mends (failed before)",
        "  new: comes (passed)",
        "  gone: goes",
        "✗ Some cases are worse than in before.json",
    ]
    suite = suite_of("now.json")
    changes = {case["name"]: case["baseline"]["change"] for case in suite["cases"]}
    assert changes == {
        "good": "same",
        "bad": "same",
        "breaks": "broke",
        "mends": "mended",
        "comes": "new",
    }
    assert (suite["baseline"]["gone"], suite["baseline"]["compared"]) == (["goes"], 4)
    assert suite["baseline"]["duration_s"]["before"] > 0
    assert suite["cases"][1]["baseline"]["status"] == "failed"


@pytest.mark.parametrize(
    ("now", "exit_code"),
    [
        ({"good": True, "bad": False}, 0),
        ({"good": True, "mends": True, "comes": True}, 0),
        ({"good": True, "breaks": False}, 1),
        ({"good": True, "comes": False}, 1),
    ],
    ids=["fails-as-before", "better", "broke", "new-one-fails"],
)
def test_the_exit_code_says_whether_something_is_worse(
    now: dict[str, bool], exit_code: int, changed: Project
) -> None:
    write_suite(changed, now)
    ended = changed.dry("--baseline", "before.json", "-j", "2")
    assert ended.exit_code == exit_code
    assert ("✓ Nothing is worse than in before.json" in ended.stdout) == (not exit_code)


def test_a_case_that_was_not_run_is_worse(changed: Project, mock_llm_responses: LLMMock) -> None:
    write_suite(changed, {"good": True, "bad": True})
    mock_llm_responses.set("*", "True")
    assert changed.test("--max-cost", "0", "--baseline", "before.json").exit_code == 1


def test_cases_that_were_not_chosen_are_not_gone(changed: Project) -> None:
    ended = changed.dry("--baseline", "before.json", "-k", "good")
    assert ended.exit_code == 0
    assert "greeting-tests: 1 as before\n" in ended.stdout


def test_cost_and_time_are_compared_of_live_runs_and_of_nothing_else(
    changed: Project, mock_llm_responses: LLMMock
) -> None:
    mock_llm_responses.set("*", Reply("True", usage={"input_tokens": 1, "output_tokens": 0}))
    mock_llm_responses.set_price("gpt-4o-mini", 2_000_000, 0)
    mock_llm_responses.set_price("gpt-4o", 1_000_000, 0)
    output = changed.test("-o", "live.json", "--baseline", "before.json").stdout
    assert "; cost and time are not compared, as this run is live and that one was dry\n" in output
    output = changed.test(
        "--model", "gpt-4o", "--model", "gpt-4o-mini", "--baseline", "live.json"
    ).stdout
    assert (
        "greeting-tests[gpt-4o]: 5 as before; cost $5.00, before $10.00 (-50%), time per case "
        in output
    )
    assert (
        "greeting-tests[gpt-4o-mini]: 5 as before; cost $10.00, before $10.00 (+0%), time per case "
        in output
    )


def test_a_variant_is_compared_with_that_of_the_same_name(changed: Project) -> None:
    changed.dry("--model", "a", "--model", "b", "-o", "variants.json")
    write_suite(changed, {**NOW, "good": False})
    output = changed.dry("--model", "b", "--model", "c", "--baseline", "variants.json").stdout
    assert "  broke: good[b] (passed before)\n" in output
    assert "greeting-tests[c]: no earlier result, all cases are new\n" in output


def test_a_result_of_before_there_were_variants_is_a_baseline(changed: Project) -> None:
    suite = suite_of("before.json")
    changed.write("old.json", json.dumps({"version": 1, "suites": [{**suite, "variant": None}]}))
    del suite["variant"]
    changed.write("older.json", json.dumps({"version": 1, "suites": [suite]}))
    found = [
        changed.dry("--baseline", name).stdout.partition("greeting-tests: ")[2]
        for name in ("old.json", "older.json")
    ]
    assert found[0].splitlines()[:-1] == found[1].splitlines()[:-1]
    assert found[0].startswith("1 broke, 1 mended")


def write_repeated(project: Project, threshold: float) -> None:
    expected = '{type: equals, value: "yes"}'
    project.write_cases(
        f"  - {{name: polite, prompt: Hi, threshold: {threshold}, assertions: [{expected}]}}\n"
    )


def run_repeated(
    project: Project, mock: LLMMock, passed: int, runs: int, *arguments: str
) -> Result:
    """Run the case so that a number of its runs pass."""
    answers = ["yes"] * passed + ["no"] * (runs - passed)
    for answer in answers:
        mock.configurator.add("*", answer)
    return project.test("--repeat", str(runs), *arguments)


@pytest.mark.parametrize(
    ("threshold", "before", "now", "kind"),
    [
        (0.4, (5, 5), (2, 5), "fell"),
        (0.1, (5, 5), (1, 5), "fell"),
        (0.1, (5, 5), (3, 5), "lower"),
        (0.1, (5, 5), (4, 5), "lower"),
        (0.1, (4, 5), (5, 5), None),
        (0.1, (5, 5), (9, 9), None),
        (1.0, (9, 10), (3, 10), "fell"),
        (0.1, (10, 10), (5, 10), "fell"),
        (0.1, (1, 1), (2, 5), "lower"),
    ],
)
def test_a_pass_rate_that_fell_is_worse_beyond_chance(
    project: Project,
    mock_llm_calls: LLMMock,
    threshold: float,
    before: tuple[int, int],
    now: tuple[int, int],
    kind: str | None,
) -> None:
    write_repeated(project, threshold)
    run_repeated(project, mock_llm_calls, *before, "-o", "before.json")
    ended = run_repeated(project, mock_llm_calls, *now, "--baseline", "before.json")
    text = f"polite ({before[0]}/{before[1]} before, {now[0]}/{now[1]} now"
    assert (f"  fell: {text})\n" in ended.stdout) == (kind == "fell")
    assert (f"  lower: {text}, which may be chance)\n" in ended.stdout) == (kind == "lower")
    assert ended.exit_code == (kind == "fell")


def score_suite(*values: str) -> str:
    checks = ", ".join(f"{{type: contains, value: {value}}}" for value in values)
    return (
        "  - {name: tone, prompt: Hi, expected_output: kind and brief, min_score: 0.3, "
        f"assertions: [{checks}]}}\n"
    )


@pytest.mark.parametrize("runs", ["1", "3"])
def test_a_score_that_fell_is_worse_though_the_case_passes(project: Project, runs: str) -> None:
    project.write_cases(score_suite("kind", "brief"))
    project.dry("--repeat", runs, "-o", "before.json")
    assert project.dry("--repeat", runs, "--baseline", "before.json").exit_code == 0
    project.write_cases(score_suite("kind", "long"))
    outputs = ("-o", "now.json", "-o", "out.md")
    ended = project.dry("--repeat", runs, "--baseline", "before.json", *outputs)
    assert ended.exit_code == 1
    assert "1/1 passed" in ended.stdout
    assert "  fell: tone (score 1.000 before, 0.500 now)\n" in ended.stdout
    assert "✗ Some cases are worse than in before.json" in ended.stdout
    [case] = suite_of("now.json")["cases"]
    assert case["baseline"]["change"] == "fell"
    assert "fell: <code>tone</code> score 1.000 before" in Path("out.md").read_text()


def test_a_score_that_varies_from_run_to_run_falls_beyond_chance_only(
    project: Project, mock_llm_calls: LLMMock
) -> None:
    project.write_cases(score_suite("kind", "brief"))

    def run(answers: list[str], *arguments: str) -> Result:
        for answer in answers:
            mock_llm_calls.configurator.add("*", answer)
        return project.test("--repeat", str(len(answers)), *arguments)

    run(["kind and brief", "kind and brief", "kind", "brief"], "-o", "before.json")
    chance = run(["kind and brief", "kind", "kind", "brief"], "--baseline", "before.json")
    assert "  lower: tone (score 0.750 before, 0.625 now, which may be chance)" in chance.stdout
    assert chance.exit_code == 0
    chance = run(["kind", "kind", "brief", "brief"], "--baseline", "before.json")
    assert "  lower: tone (score 0.750 before, 0.500 now, which may be chance)" in chance.stdout
    single = run(["kind"], "--baseline", "before.json")
    assert "  lower: tone (score 0.750 before, 0.500 now, which may be chance)" in single.stdout
    run([*["kind and brief"] * 7, "kind"], "-o", "before.json")
    fell = run(["kind", "kind", "brief", "kind and brief"], "--baseline", "before.json")
    assert "  fell: tone (score 0.938 before, 0.625 now)" in fell.stdout
    assert fell.exit_code == 1


def test_markdown_junit_and_the_page_tell_what_changed(changed: Project, open_page: Open) -> None:
    changed.dry("--baseline", "before.json", "-o", "out.md", "-o", "out.xml", "-o", "out.html")
    text = Path("out.md").read_text()
    assert "### ❌ Some cases are worse than in <code>before&#46;json</code>\n" in text
    assert "\n  - broke: <code>breaks</code> passed before\n" in text
    cases = {
        case.get("name"): case for case in ElementTree.parse("out.xml").getroot().iter("testcase")
    }
    properties = {each.get("name"): each.get("value") for each in cases["mends"].iter("property")}
    assert properties["baseline"] == "mended"
    tab = open_page(changed.path / "out.html")
    rows = [row.split("\t") for row in tab.locator("table.changes tr").all_inner_texts()]
    assert rows[0] == ["broke", "breaks", "passed before"]
    assert [row[0] for row in rows] == ["broke", "mended", "new", "gone"]


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, ": cannot be read: No such file or directory\n"),
        (
            '{"version": 1,\n"suites": [}',
            ":2: invalid JSON: Expecting value; a baseline is written by `llm-mock test",
        ),
        ("[]", ":1: the file is not a result of suites; a baseline is written"),
        (
            '{"version": 1, "tests": []}',
            ":1: the file is the report of a run of pytest; a baseline is written",
        ),
        ('{"version": 2, "suites": []}', ":1: version: should be 1, not the number 2"),
        (
            (
                '{"version": 1, "suites": [\n{"suite": "a", "file": null, "dry_run": true, '
                '"cases": [\n{"name": "b"}]}]}'
            ),
            ":3: 'status' is missing\n",
        ),
        ("[" * 100_000, ":1: the JSON is nested too deep; a baseline is written"),
    ],
    ids=["nothing", "no-json", "no-mapping", "pytest", "version", "keys", "deep"],
)
def test_a_baseline_that_is_none_is_told_before_the_run(
    content: str | None, problem: str, project: Project
) -> None:
    if content is not None:
        project.write("old.json", content)
    ended = project.dry("--baseline", "old.json")
    assert (ended.exit_code, ended.stdout) == (1, "")
    assert ended.stderr.startswith(f"Error: old.json{problem}")
