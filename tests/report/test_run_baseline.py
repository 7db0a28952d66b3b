"""Changes of the tests of a run of pytest against an earlier report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tenacity")

from llm_mock.errors import InvalidFile
from llm_mock.report.document import new_test
from llm_mock.report.run_baseline import RunBaseline, format_comparison, read_run_baseline

from .browser import Open

RUNS = [{"cost_usd": 0.5}]


def create_test(name: str, outcome: str = "passed", **known: Any) -> dict[str, Any]:
    known = {"runs": RUNS, **known}
    return new_test(f"test_agent.py::{name}", outcome=outcome, duration_s=2.0, **known)


def repeat(passed: int) -> dict[str, Any]:
    return {"repeats": {"runs": 20, "passed": passed}, "runs": RUNS * 20}


def compare(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> list[str]:
    """Return the lines that say what changed."""
    compared = RunBaseline(Path("b.json"), before).compare(now)
    assert compared is not None
    return list(format_comparison(compared))


@pytest.mark.parametrize(
    ("before", "now", "line"),
    [
        (create_test("a"), create_test("a", "failed"), "  broke: a (passed before)"),
        (create_test("a"), create_test("a", "error"), "  broke: a (passed before)"),
        (create_test("a", "failed"), create_test("a", "xpassed"), "  mended: a (failed before)"),
        (
            create_test("a"),
            create_test("a", "skipped", message="Skipped: not checked: judge", runs=[]),
            "  unchecked: a (passed before)",
        ),
        (
            create_test("a", **repeat(20)),
            create_test("a", **repeat(5)),
            "  fell: a (20/20 before, 5/20 now)",
        ),
        (create_test("b"), create_test("a"), "  new: a (passed)"),
        (create_test("a"), create_test("a", "skipped", message="Skipped: later"), None),
        (create_test("a"), create_test("a", "skipped", message=None), None),
        (create_test("a"), create_test("a", "xfailed"), None),
        (create_test("a"), create_test("a"), None),
    ],
)
def test_a_changed_test_is_named(
    before: dict[str, Any], now: dict[str, Any], line: str | None
) -> None:
    lines = compare([before], [now])
    assert lines[0] == "Against b.json:"
    assert lines[1].startswith("test_agent.py: ")
    assert lines[2:] == [line] * (line is not None)


def test_cost_and_time_are_compared_with_those_of_the_same_tests() -> None:
    before = [create_test("a"), create_test("gone"), create_test("b", "skipped")]
    now = [create_test("a", runs=[*RUNS, *RUNS]), create_test("b")]
    now[0]["duration_s"] = 1.0
    _, line = compare(before, now)
    assert line == (
        "test_agent.py: 2 as before; cost $1.00, before $0.50 (+100%), "
        "time per case 1.0s, before 2.0s (-50%)"
    )


def test_an_unknown_cost_is_not_compared() -> None:
    runs = [*RUNS, {"cost_usd": None}]
    _, line = compare([create_test("a")], [create_test("a", runs=runs)])
    assert "cost" not in line


@pytest.mark.parametrize("key", ["runs", "steps", "repeats"])
def test_only_tests_of_models_are_compared(key: str) -> None:
    plain = create_test("a", "failed", runs=[])
    value = {"runs": 2, "passed": 1} if key == "repeats" else [{"cost_usd": None}]
    baseline = [create_test("a", runs=[])]
    assert RunBaseline(Path("b.json"), baseline).compare([plain]) is None
    assert compare(baseline, [{**plain, key: value}])[2] == "  broke: a (passed before)"
    # A test that fails before it runs its agent is compared all the same.
    earlier = [{**create_test("a", runs=[]), key: value}]
    assert compare(earlier, [plain])[2] == "  broke: a (passed before)"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", r"b\.json:1: invalid JSON: .*; a baseline is written by `pytest --llm-mock-report"),
        ('{"suites": []}', r"b\.json:1: the file is not a report of pytest; a baseline is"),
        ('{"version": 2, "tests": []}', r"b\.json:1: the report has version 2, but version 1 is"),
        (None, r"b\.json: cannot be read"),
    ],
)
def test_a_wrong_baseline_is_an_error(tmp_path: Path, text: str | None, problem: str) -> None:
    path = tmp_path / "b.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(InvalidFile, match=problem):
        read_run_baseline(path)


TESTS = """
    from pathlib import Path
    from llm_mock.agents import Agent, aitest_run_sync

    def test_agent(mock_llm_responses):
        mock_llm_responses.set("m", Path("answer").read_text())
        assert "Hello" in aitest_run_sync(Agent("m"), "Hi").final_response

    def test_other():
        pass
"""
SAME = """
    from llm_mock.agents import Agent, aitest_run_sync

    def test_same(mock_llm_responses):
        mock_llm_responses.set("m", "Hello")
        assert "Hello" in aitest_run_sync(Agent("m"), "Hi").final_response
"""


@pytest.mark.parametrize(
    "processes", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "xdist"]
)
def test_a_run_shows_what_changed_since_an_earlier_report(
    pytester: pytest.Pytester, processes: tuple[str, ...]
) -> None:
    pytester.makepyfile(test_it=TESTS, test_same=SAME)
    answer = pytester.path / "answer"
    answer.write_text("Hello")
    pytester.runpytest("--llm-mock-report=before.json").assert_outcomes(passed=3)
    answer.write_text("Bye")
    changed = pytester.runpytest(
        "--llm-mock-baseline=before.json", "--llm-mock-report=now.json", *processes
    )
    changed.assert_outcomes(passed=2, failed=1)
    changed.stdout.fnmatch_lines(
        [
            "* Changes in tests of models *",
            "Against *before.json:",
            "test_it.py: 1 broke*",
            "  broke: test_agent (passed before)",
            "test_same.py: 1 as before*",
        ]
    )
    tests = json.loads((pytester.path / "now.json").read_text())["tests"]
    assert [test["outcome"] for test in tests] == ["failed", "passed", "passed"]


def test_a_run_like_the_earlier_one_says_so_and_passes(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_it=TESTS)
    (pytester.path / "answer").write_text("Hello")
    pytester.runpytest("--llm-mock-report=before.json").assert_outcomes(passed=2)
    same = pytester.runpytest("--llm-mock-baseline=before.json")
    same.stdout.fnmatch_lines(
        ["* Changes in tests of models *", "Against *before.json:", "test_it.py: 1 as before*"]
    )
    assert same.ret == 0


TWO_FILES = """
    import pathlib
    import pytest
    from llm_mock.agents import Agent, aitest_run_sync

    @pytest.mark.parametrize("name", ["mended", "broken"])
    def test_agent(name, mock_llm_responses):
        mock_llm_responses.set("m", pathlib.Path(name).read_text())
        assert "Hello" in aitest_run_sync(Agent("m"), "Hi").final_response
"""


def test_the_page_shows_what_the_terminal_shows_in_the_same_order(
    pytester: pytest.Pytester, open_page: Open
) -> None:
    pytester.makepyfile(test_a=TWO_FILES, test_b=TWO_FILES)

    def run(mended: str, broken: str, *arguments: str) -> pytest.RunResult:
        pytester.path.joinpath("mended").write_text(mended)
        pytester.path.joinpath("broken").write_text(broken)
        return pytester.runpytest_inprocess("-p", "no:randomly", *arguments)

    run("Bye", "Hello", "--llm-mock-report=before.json")
    reports = "--llm-mock-report=now.html", "--llm-mock-report=now.json"
    changed = run("Hello", "Bye", "--llm-mock-baseline=before.json", *reports)
    lines = [line.strip() for line in changed.outlines]
    shown = lines[lines.index(f"Against {pytester.path / 'before.json'}:") :][:7]
    tab = open_page(pytester.path / "now.html")
    part = tab.locator("#side-by-side details")
    summaries = part.locator("p").all_inner_texts()
    rows = [row.split("\t") for row in part.locator("tr").all_inner_texts()]
    assert f"{part.locator('summary').inner_text()}:" == shown[0]
    assert summaries == [shown[1], shown[4]]
    assert [summary[:9] for summary in summaries] == ["test_a.py", "test_b.py"]
    changes = [f"{kind}: {name} ({remark})" for kind, name, remark in rows]
    assert changes == [*shown[2:4], *shown[5:7]]
    assert changes[:2] == [
        "broke: test_agent[broken] (passed before)",
        "mended: test_agent[mended] (failed before)",
    ]
    written = json.loads((pytester.path / "now.json").read_text())["changes"]
    assert [suite["summary"] for suite in written["suites"]] == summaries
    # Without tests of models there is nothing to compare.
    pytester.makepyfile(test_a="def test_it(): pass", test_b="")
    run("", "", "--llm-mock-report=before.json")
    run("", "", "--llm-mock-baseline=before.json", *reports)
    assert "changes" not in json.loads((pytester.path / "now.json").read_text())


def test_a_baseline_that_cannot_be_read_ends_the_run_before_it_starts(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(TESTS)
    result = pytester.runpytest("--llm-mock-baseline=nowhere.json")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --llm-mock-baseline: *nowhere.json: cannot be read*"])
