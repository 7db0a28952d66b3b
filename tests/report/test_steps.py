"""Plain-language tests in the report: their steps and the results of tools."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("mcp")

from .browser import Open, wait_until

HOSTILE = "<script>document.title='run'</script>"
PASSES = f"""
test: {{name: The sums agree}}
steps:
  - {{name: Compare, tool: compare_values, args: {{value1: 1, value2: 1}}}}
  - {{name: "{HOSTILE}", tool: assert_equals, args: {{actual: "{HOSTILE}", expected: "{HOSTILE}"}}}}
  - {{name: Look, expect: It looks well}}
verdict: {{pass_if: they agree, fail_if: they do not}}
"""
FAILS = """
test: {name: The sums differ}
steps:
  - {tool: assert_true, args: {condition: false, message: top-secret-value}}
  - {name: Wait, tool: sleep, args: {seconds: 1}}
verdict: {pass_if: they agree, fail_if: they do not}
"""


@pytest.fixture(scope="module")
def pages() -> dict[tuple[str, ...], Path]:
    """Return the pages that are written, by the arguments of their runs."""
    return {}


@pytest.fixture
def report(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    pages: dict[tuple[str, ...], Path],
) -> Path:
    """Return the page of a run of two tests; the JSON lies beside it.

    The tests only read it, so that those with the same arguments share one run.
    """
    arguments = getattr(request, "param", ())
    if arguments not in pages:
        pages[arguments] = write_report(pytester, monkeypatch, arguments)
    return pages[arguments]


def write_report(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> Path:
    """Run the two tests, and return the path of the page."""
    monkeypatch.setenv("SHOP_TOKEN", "top-secret-value")
    for name, text in {"passes": PASSES, "fails": FAILS}.items():
        path = pytester.path / "tests" / "llm" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    page = pytester.path / "report.html"
    reports = [f"--llm-mock-report={path}" for path in (page, page.with_suffix(".json"))]
    pytester.runpytest("--llm", "--llm-mock-dry-run", *reports, *arguments).assert_outcomes(
        passed=1, failed=1
    )
    return page


def steps_of(report: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the steps of each test, by its name."""
    tests = json.loads(report.with_suffix(".json").read_text())["tests"]
    return {test["id"].rpartition("::")[2]: test["steps"] for test in tests}


@pytest.mark.parametrize(
    "report", [(), ("-p", "xdist", "-n", "1")], ids=["one process", "xdist"], indirect=True
)
def test_each_step_stands_with_what_its_tool_returned(report: Path) -> None:
    compared, equal, look = steps_of(report)["The sums agree"]
    assert (compared["name"], compared["status"], compared["tool_output"]["equal"]) == (
        "Compare",
        "pass",
        True,
    )
    assert compared["details"] == "compare_values(value1=1, value2=1)"
    assert (equal["name"], equal["tool_output"]["actual"]) == (HOSTILE, HOSTILE)
    assert look == {
        "name": "Look",
        "status": "skip",
        "details": "only a model can judge it",
        "tool_output": None,
    }
    failed, wait = steps_of(report)["The sums differ"]
    assert failed["status"] == "fail"
    assert failed["tool_output"] == {"passed": False, "message": "[redacted secret]"}
    assert (wait["status"], wait["details"]) == ("skip", "not run: assert_true failed")
    assert "top-secret-value" not in report.read_text() + report.with_suffix(".json").read_text()


def test_the_page_shows_the_steps_of_a_test(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.get_by_role("button", name="The sums agree").click()
    assert [
        text.split("no model asked")[1] for text in tab.locator(".numbers").all_inner_texts()
    ] == [
        " · 2 steps",
        " · 3 steps",
    ]
    failed, passed = tab.locator("ol.steps").all()
    shown = [step.inner_text().split("\n") for step in passed.locator("li").all()]
    assert shown[0][:2] == ["✓ Compare", "compare_values(value1=1, value2=1)"]
    assert '"equal": true' in " ".join(shown[0])
    assert shown[1][0] == f"✓ {HOSTILE}"
    assert shown[2][1:] == ["only a model can judge it"]
    signs = [sign.get_attribute("aria-label") for sign in failed.locator(".sign").all()]
    assert signs == ["failed", "skipped"]
    assert tab.title() != "run"


def test_what_a_tool_returned_can_be_searched_for(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.locator("#query").fill("only a model can judge")
    wait_until(tab, "document.querySelectorAll('#tests > li').length === 1")
    assert tab.locator("#tests .case").all_text_contents() == ["The sums agree"]
