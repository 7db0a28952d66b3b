"""The page of the report in a real browser: a chromium without a window."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from llm_mock.report import page
from llm_mock.report.document import render_json
from llm_mock.report.page import render_page
from tests.conftest import NESTED_OPTIONS

from .browser import Open, wait_until

HOSTILE = """<img src=x onerror="document.title='run'"></script><script>document.title='run'</script><!-- {{report}}"""  # noqa: E501

TESTS = f"""
import llm, pytest
from llm.models import ToolCall
from llm_mock import Reply
from pydantic import BaseModel

HOSTILE = {HOSTILE!r}

class Plan(BaseModel):
    steps: list[str]

def weather(city: str) -> str:
    "The weather of a city."
    return city + ": sunny"

def test_chain(mock_llm_responses):
    mock_llm_responses.add("gpt-4o", Reply("I look.", tool_calls=[ToolCall("weather", {{"city": "Rome"}})]))
    mock_llm_responses.add("gpt-4o", Reply(chunks=["It is ", "sunny."]))
    llm.get_model("gpt-4o").chain("What is it like?", system="Be brief", tools=[weather]).text()

def test_plan(mock_llm_responses):
    mock_llm_responses.set("gpt-4o-mini", {{"steps": ["read the page", "write the file", "tell everybody about it"]}})
    llm.get_model("gpt-4o-mini").prompt("Make a plan", schema=Plan, temperature=0.5).text()

@pytest.mark.parametrize("where", [HOSTILE])
def test_hostile(where, mock_llm_responses):
    reply = Reply(HOSTILE, resolved_model=HOSTILE, response_json={{HOSTILE: HOSTILE}})
    mock_llm_responses.set(HOSTILE, reply)
    llm.get_model(HOSTILE).prompt("https://example.com/" + HOSTILE, system=HOSTILE, any_option=HOSTILE).text()
    assert False, HOSTILE

def test_error(mock_llm_responses):
    mock_llm_responses.set_error("gpt-4o-mini", ConnectionError("no route"))
    with pytest.raises(ConnectionError):
        llm.get_model("gpt-4o-mini").prompt("Hi")

def test_long(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "word " * 2000 + "unbroken" * 500)
    llm.get_model("gpt-4o").prompt("Say a lot. (a+b)*c").text()

def test_silent(): ...

def test_empty(mock_llm_responses):
    mock_llm_responses.set("gpt-4o", "")
    llm.get_model("gpt-4o").prompt("Say nothing").text()
"""  # noqa: E501


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the page of a run with all kinds of calls."""
    folder = tmp_path_factory.mktemp("report")
    (folder / "test_it.py").write_text(TESTS)
    path = folder / "report.html"
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        f"--llm-mock-report={path}",
        f"--rootdir={folder}",
        "test_it.py",
    ]
    options = {
        **os.environ,
        "PYTEST_ADDOPTS": NESTED_OPTIONS,
    }
    subprocess.run(command, cwd=folder, env=options, capture_output=True, check=False, timeout=120)
    return path


def names(tab: Any) -> list[str]:
    """Return the tests that are listed."""
    return list(tab.locator("#tests .case").all_text_contents())


def item(tab: Any, name: str) -> Any:
    """Return a test of the list; the one that failed is open from the beginning."""
    return tab.locator("#tests > li").filter(has=tab.get_by_role("button", name=name))


def wait_for_tests(tab: Any, number: int) -> None:
    wait_until(tab, f"document.querySelectorAll('#tests > li').length === {number}")


def test_the_run_is_summed_up(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    assert tab.locator("#facts").text_content().startswith("7 tests · 7 calls · ")
    assert tab.locator("#outcomes li").all_text_contents() == ["✓ 6 passed", "✕ 1 failed"]
    rows = [row.split("\n")[0].split("\t") for row in tab.locator("#totals tr").all_inner_texts()]
    assert [(row[0], row[1], row[2]) for row in rows[1:]] == [
        ("gpt-4o", "4", "0"),
        ("gpt-4o-mini", "2", "1"),
    ]
    assert tab.locator("#count").text_content() == "6 tests, 7 calls; 1 test ran without calls"


def test_what_failed_is_first_and_open_with_the_failing_line(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    first = tab.locator("#tests > li").first
    assert first.locator(".case").text_content().startswith("test_hostile")
    assert first.locator(".answer").is_visible()
    reason = first.locator(".reason")
    place = re.search(r"^test_it\.py:(\d+): AssertionError$", reason.inner_text(), re.MULTILINE)
    assert place is not None
    assert TESTS.splitlines()[int(place[1]) - 1].strip() == "assert False, HOSTILE"
    reason.get_by_text("Traceback").click()
    assert "> " in reason.locator(".code").inner_text()
    assert "monospace" in reason.locator(".mono").first.evaluate(
        "each => getComputedStyle(each).fontFamily"
    )


def test_a_count_of_outcomes_filters_when_it_is_clicked(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    failed = tab.get_by_role("button", name="1 failed", exact=False).first
    failed.click()
    assert len(names(tab)) == 1
    assert tab.locator("#outcome").input_value() == "failed"
    assert failed.get_attribute("aria-pressed") == "true"
    failed.click()
    assert len(names(tab)) == 6


def test_reruns_repeats_and_an_interruption_are_shown(
    open_page: Open, report: Path, tmp_path: Path
) -> None:
    data = json.loads(report.read_text().split('id="report">', 1)[1].split("</script>", 1)[0])
    for test in data["tests"]:
        if test["id"].endswith("test_long"):
            test.update(outcome="interrupted", message="Interrupted by KeyboardInterrupt")
        if test["id"].endswith("test_empty"):
            test["reruns"] = [{"message": "not this time", "duration_s": 0.5}]
        if test["id"].endswith("test_chain"):
            failure = {"run": 3, "message": "assert 0", "duration_s": 0.5}
            test.update(
                repeats={"runs": 5, "passed": 4, "failures": [failure]}, pass_rate="80% (4/5)"
            )
    path = tmp_path / "report.html"
    path.write_bytes(render_page(render_json(data)))
    tab = open_page(path)
    assert (
        item(tab, "test_long").locator(".reason").inner_text() == "Interrupted by KeyboardInterrupt"
    )
    tab.get_by_role("button", name="test_empty").click()
    assert (
        item(tab, "test_empty").locator(".reason").inner_text()
        == "Run 1 failed after 500 ms\nnot this time"
    )
    assert "1 rerun" in item(tab, "test_empty").locator(".numbers").inner_text()
    tab.get_by_role("button", name="test_chain").click()
    assert (
        item(tab, "test_chain").locator(".reason").inner_text()
        == "Run 3 failed after 500 ms\nassert 0"
    )
    assert "pass rate 80% (4/5)" in item(tab, "test_chain").locator(".about").inner_text()
    assert "4 of 5 runs passed" in item(tab, "test_chain").locator(".numbers").inner_text()


def test_a_chain_reads_as_a_conversation(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.get_by_role("button", name="test_chain").click()
    talk = item(tab, "test_chain").locator(".talk")
    assert talk.locator("h3").inner_text().startswith("gpt-4o\nconversation of 2 calls · ")
    said = [message.split("\n") for message in talk.locator(".message").all_inner_texts()]
    assert [[line for line in message if line] for message in said] == [
        ["System", "Be brief"],
        ["User", "What is it like?"],
        ["Assistant", "I look.", "calls the tool weather", '{ "city": "Rome" }'],
        ["Tool", "result of weather", "Rome: sunny"],
        ["Assistant", "It is sunny."],
    ]
    talk.get_by_text("1 tool").first.click()
    talk.locator("details[open] .code").wait_for()
    assert '"city": { "type": "string" }' in talk.locator("details[open]").inner_text()
    talk.get_by_text("2 chunks").click()
    talk.locator(".chunk").first.wait_for()
    assert talk.locator(".chunk").all_text_contents() == ["It is ", "sunny."]


def test_schema_options_and_errors_are_shown(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.get_by_role("button", name="test_plan").click()
    plan = item(tab, "test_plan")
    plan.get_by_text("schema Plan").click()
    plan.get_by_text("options", exact=True).click()
    plan.locator("details[open] .code").nth(1).wait_for()
    assert '"temperature": 0.5' in plan.locator(".meta").inner_text()
    assert (
        '{\n  "steps": [ "read the page", "write the file",'
        in plan.locator(".answer .code").inner_text()
    )
    tab.get_by_role("button", name="test_error").click()
    assert "raised ConnectionError: no route" in tab.locator(".broken").inner_text()


def test_the_search_looks_into_prompts_answers_and_names(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    for query, found in (
        ("WHAT IS IT", "test_chain"),
        ("tell   everybody", "test_plan"),
        ("rome: sunny", "test_chain"),
        ("(a+b)*c", "test_long"),
        ("no route", "test_error"),
        ("test_plan", "test_plan"),
    ):
        tab.locator("#query").fill(query)
        wait_until(
            tab,
            (
                "[...document.querySelectorAll('.case')].map((name) => name.textContent).join() "
                f"=== '{found}'"
            ),
        )
    tab.locator("#query").fill("what is it")
    wait_for_tests(tab, 1)
    tab.get_by_role("button", name="test_chain").click()
    assert tab.locator("mark").all_text_contents() == ["What is it"]
    tab.locator("#query").fill("nobody says this")
    tab.get_by_role("button", name="Show all tests").click()
    wait_for_tests(tab, 6)


def test_filters_narrow_the_list_to_a_test_a_model_and_an_outcome(
    open_page: Open, report: Path
) -> None:
    tab = open_page(report)
    tab.locator("#model").select_option("gpt-4o-mini")
    assert names(tab) == ["test_plan", "test_error"]
    tab.locator("#outcome").select_option("with a call that failed")
    assert names(tab) == ["test_error"]
    tab.locator("#model").select_option("All models")
    tab.locator("#outcome").select_option("failed")
    assert len(names(tab)) == 1
    tab.locator("#outcome").select_option("All outcomes")
    tab.locator("#test").select_option("test_it.py")
    tab.locator("#test").select_option("test_it.py::test_long")
    assert names(tab) == ["test_long"]
    tab.locator("#test").select_option("All tests")
    tab.locator("#silent").check()
    assert "test_silent" in names(tab)
    tab.get_by_role("button", name="gpt-4o", exact=True).click()
    assert names(tab) == ["test_chain", "test_long", "test_empty"]
    tab.get_by_role("button", name="test_empty").click()
    assert item(tab, "test_empty").locator(".answer").inner_text().endswith("(an empty answer)")


def focused(tab: Any) -> str:
    """Return the test whose heading has the focus."""
    name: str = tab.evaluate(
        "document.activeElement.querySelector('.case')?.textContent ?? document.activeElement.id"
    )
    return name


def test_all_of_it_works_with_keys_alone(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    for test in ("test_hostile[", "test_chain", "test_plan"):
        tab.keyboard.press("j")
        assert focused(tab).startswith(test)
    tab.keyboard.press("ArrowUp")
    assert focused(tab) == "test_chain"
    head = tab.get_by_role("button", name="test_chain")
    tab.keyboard.press("Enter")
    assert head.get_attribute("aria-expanded") == "true"
    assert item(tab, "test_chain").locator(".talk").is_visible()
    tab.keyboard.press("Enter")
    assert head.get_attribute("aria-expanded") == "false"
    tab.keyboard.press("/")
    assert focused(tab) == "query"
    tab.keyboard.type("jk no route")
    assert tab.locator("#query").input_value() == "jk no route"
    tab.keyboard.press("Escape")
    wait_for_tests(tab, 6)
    tab.keyboard.type("no route")
    tab.keyboard.press("Enter")
    assert focused(tab) == "test_error"
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert tab.evaluate(outline) == "solid"


def test_every_control_has_a_name_and_a_place_in_the_order_of_tabs(
    open_page: Open, report: Path
) -> None:
    tab = open_page(report)
    tab.get_by_role("button", name="Open all").click()
    unnamed = """[...document.querySelectorAll("button, a, input, select, summary")]
        .filter((control) => !(control.textContent.trim() || control.labels?.length || control.ariaLabel))
        .map((control) => control.outerHTML)"""  # noqa: E501
    assert tab.evaluate(unnamed) == []
    assert tab.locator("[tabindex]:not([tabindex='-1'])").count() == 0
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.documentElement.lang") == "en"


def test_what_models_say_is_inert(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.locator("#outcome").select_option("failed")
    tab.get_by_role("button", name="Open all").click()
    for summary in tab.locator(".meta summary").all():
        summary.click()
    tab.locator("#query").fill("img src=x")
    tab.wait_for_timeout(300)
    shown = tab.locator("#tests").inner_text()
    assert shown.count("<img src=x onerror=") >= 5
    assert "</script><script>" in shown
    assert (
        tab.locator(
            "img, iframe, object, embed, link, base, #tests a:not(.link), #tests script"
        ).count()
        == 0
    )
    assert tab.title() == "LLM calls of the test run"
    assert tab.evaluate("document.scripts.length") == 1


@pytest.mark.parametrize(
    "attempt",
    [
        "document.body.innerHTML = '<b>bold</b>'",
        (
            "document.head.append(Object.assign(document.createElement('script'), {textContent: "
            "'done()'}))"
        ),
        "fetch('https://example.com/').catch((error) => { throw new TypeError(error) })",
    ],
)
def test_the_policy_of_the_page_forbids_what_the_script_does_not_do(
    attempt: str, browser: Any, report: Path
) -> None:
    tab = browser.new_page()
    tab.goto(report.as_uri())
    refused = tab.evaluate(
        f"(async () => {{ try {{ await ({attempt}); return '' }} catch (e) {{ return e.name "
        f"}} }})()"
    )
    tab.close()
    assert refused == "TypeError"


def test_the_page_names_no_other_resource(report: Path) -> None:
    head = report.read_text().split('<script type="application/json"')[0]
    assert "http://" not in head
    assert "https://" not in head
    assert "default-src 'none'" in head
    assert "unsafe" not in head


def test_every_file_of_the_script_is_in_the_page(report: Path) -> None:
    files = list(Path(page.__file__).parent.glob("*.js"))
    assert sorted(file.stem for file in files) == sorted(page.SCRIPTS)
    assert all(file.read_text() in report.read_text() for file in files)


@pytest.mark.parametrize("width", [360, 1200])
def test_nothing_scrolls_sideways_and_all_text_has_contrast(
    width: int, open_page: Open, report: Path
) -> None:
    tab = open_page(report, viewport={"width": width, "height": 780}, color_scheme="light")
    tab.get_by_role("button", name="Open all").click()
    for summary in tab.locator("summary").all():
        summary.click()
    tab.wait_for_timeout(200)
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert tab.evaluate("document.documentElement.scrollWidth") <= width, scheme
        assert tab.evaluate(LOW_CONTRAST) == [], scheme


LOW_CONTRAST = """
(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = (color) => {
    const [red, green, blue] = rgba(color).slice(0, 3).map((value) => value / 255)
      .map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return rgba(color)[3] === 255 || !element.parentElement ? color : ground(element.parentElement);
  };
  const found = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !element.checkVisibility() || ["SCRIPT", "NOSCRIPT", "OPTION"].includes(element.tagName)) continue;
    const pair = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => b - a);
    const contrast = (pair[0] + 0.05) / (pair[1] + 0.05);
    if (contrast < 4.5) found.add(`${element.tagName}.${element.className}: ${contrast.toFixed(2)}`);
  }
  return [...found];
})()
"""  # noqa: E501


def test_the_dark_scheme_is_dark(open_page: Open, report: Path) -> None:
    colors = [
        open_page(report, color_scheme=scheme).evaluate(
            "getComputedStyle(document.body).backgroundColor"
        )
        for scheme in ("light", "dark")
    ]
    assert colors == ["rgb(245, 245, 242)", "rgb(16, 18, 22)"]


def test_a_link_opens_its_test_whatever_the_filters(open_page: Open, report: Path) -> None:
    tab = open_page(report, "#test_it.py%3A%3Atest_error")
    assert tab.get_by_role("button", name="test_error").get_attribute("aria-expanded") == "true"
    assert focused(tab) == "test_error"
    link = (
        item(tab, "test_error").get_by_role("link", name="Link to this test").get_attribute("href")
    )
    assert link == "#test_it.py%3A%3Atest_error"
    tab.locator("#model").select_option("gpt-4o")
    tab.evaluate("location.hash = 'test_it.py%3A%3Atest_silent'")
    wait_until(tab, "document.activeElement.textContent.includes('test_silent')")
    tab.evaluate("location.hash = '%'")
    tab.evaluate("location.hash = 'unknown'")


def test_long_texts_are_cut_until_asked_for(open_page: Open, report: Path) -> None:
    tab = open_page(report)
    tab.get_by_role("button", name="test_long").click()
    answer = item(tab, "test_long").locator(".answer")
    assert len(answer.inner_text()) < 4000
    answer.get_by_role("button", name="Show all 14,000 characters").click()
    assert len(answer.inner_text()) > 13_000


def test_what_is_open_is_printed_without_the_controls(open_page: Open, report: Path) -> None:
    tab = open_page(report, color_scheme="dark")
    tab.get_by_role("button", name="test_chain").click()
    tab.emulate_media(media="print")
    assert not tab.locator("#filters").is_visible()
    assert item(tab, "test_chain").locator(".talk").is_visible()
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.evaluate(LOW_CONTRAST) == []


def large(report: Path, folder: Path, tests: int, calls: int) -> Path:
    """Return a page of many tests with many calls each."""
    source = (
        report.read_text()
        .split('<script type="application/json" id="report">')[1]
        .split("</script>")[0]
    )
    data = json.loads(source)
    talk = next(test for test in data["tests"] if test["id"].endswith("test_plan"))
    data["tests"] = []
    many = [{**talk["calls"][0], "number": position} for position in range(calls)]
    for number in range(tests):
        file = f"tests/test_{number % 50}.py"
        data["tests"].append({**talk, "id": f"{file}::test_{number}", "file": file, "calls": many})
    path = folder / "large.html"
    path.write_bytes(render_page(render_json(data)))
    return path


@pytest.mark.parametrize(("tests", "calls"), [(10_000, 1), (1, 10_000)])
def test_ten_thousand_calls_can_be_looked_through(
    tests: int, calls: int, open_page: Open, report: Path, tmp_path: Path
) -> None:
    tab = open_page(large(report, tmp_path, tests, calls))
    shown = "1 test" if tests == 1 else f"{tests:,} tests"
    assert tab.locator("#count").text_content() == f"{shown}, 10,000 calls"
    assert len(names(tab)) == min(tests, 60)
    last = f"tests/test_{(tests - 1) % 50}.py::test_{tests - 1}"
    tab.locator("#query").fill(last)
    wait_until(tab, "document.querySelector('#count').textContent.startsWith('1 test,')")
    tab.keyboard.press("Enter")
    tab.keyboard.press("Enter")
    assert tab.locator(".talk").count() == min(calls, 25)
    if calls > 25:
        tab.get_by_role("button", name="Show more calls").click()
        assert tab.locator(".talk").count() == 50
    tab.locator("#query").fill("")
    wait_until(tab, f"document.querySelector('#count').textContent.startsWith('{shown},')")
    if tests > 60:
        tab.locator("#more").scroll_into_view_if_needed()
        wait_until(tab, "document.querySelectorAll('#tests > li').length > 60")
        tab.evaluate(f"location.hash = encodeURIComponent('{last}')")
        wait_until(tab, f"document.activeElement.textContent.includes('test_{tests - 1}')")


@pytest.mark.parametrize("width", [375, 1200])
def test_agents_are_compared(width: int, open_page: Open, report: Path, tmp_path: Path) -> None:
    text = report.read_text()
    data = json.loads(text.split('id="report">', 1)[1].split("</script>", 1)[0])
    counts = {"tests": 4, "passed": 3, "runs": 5, "turns": 12, "tool_calls": 1234}
    used = {"input_tokens": 1000, "output_tokens": 50, "cost_usd": 0.0123, "duration_s": 61.2}
    hostile = {"agent": HOSTILE, **counts, **used, "tests": 0, "passed": 0, "cost_usd": None}
    data["agents"] = [{"rank": 1, "agent": "gpt-5-mini+bank", **counts, **used}, hostile]
    data["agents_by"] = {
        "skill": [{"rank": 1, "agent": "bank", **counts, **used}, {**hostile, "rank": None}]
    }
    path = tmp_path / "agents.html"
    path.write_bytes(render_page(render_json(data)))
    tab = open_page(path, viewport={"width": width, "height": 800})
    assert tab.get_by_text("Agents", exact=True).is_visible()
    rows = [row.locator("td").all_text_contents() for row in tab.locator("#agent-totals tr").all()]
    assert rows[0] == [
        "1. gpt-5-mini+bank",
        "3 of 4",
        "75 %",
        "5",
        "12",
        "1,234",
        "1,050",
        "$0.012",
        "1 min 1 s",
    ]
    assert rows[1][:3] == [HOSTILE, "0 of 0", "–"]  # noqa: RUF001
    assert rows[1][-2] == "unknown"
    assert tab.locator("#leaderboard th:first-child").all_text_contents() == ["Agent", "Skill"]
    assert tab.locator("#agents-by-skill td:first-child").all_text_contents() == [
        "1. bank",
        HOSTILE,
    ]
    assert tab.title() == "LLM calls of the test run"
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth"), scheme


def test_changes_that_tests_do_not_notice_are_listed(
    open_page: Open, report: Path, tmp_path: Path
) -> None:
    text = report.read_text()
    data = json.loads(text.split('id="report">', 1)[1].split("</script>", 1)[0])
    call = {"number": 2, "model_id": "m", "place": "app.py:7"}
    prompt = {"kind": "prompt", "change": HOSTILE, "call": call, "noticed": False}
    model = {"kind": "model", "change": "another model", "call": call, "noticed": True}
    rule = {"kind": "rule-deleted", "change": "deleted", "rule": HOSTILE, "noticed": False}
    negated = {**rule, "change": "negated", "noticed": True}
    tests = [
        {"id": "test_a", "changes": [prompt, model], "not_changed": ""},
        {"id": "test_b", "changes": [], "not_changed": "it fails"},
    ]
    data["mutations"] = {
        **{"noticed": 2, "changes": 4, "percent": 50.0, "interrupted": "by the keyboard."},
        **{"tests": tests, "rules": [rule, negated]},
    }
    path = tmp_path / "mutations.html"
    path.write_bytes(render_page(render_json(data)))
    tab = open_page(path, viewport={"width": 375, "height": 800})
    tab.get_by_text("Which changes do the tests notice?").click()
    assert tab.locator("#mutation-sum").text_content() == (
        "The tests notice 2 of 4 changes (50 %). Interrupted by the keyboard."
    )
    rows = [row.locator("td").all_text_contents() for row in tab.locator("#mutation-rows tr").all()]
    assert rows == [
        ["test_a", "1 of 2", f"{HOSTILE} (call 2 at app.py:7)"],
        ["test_b", "0 of 0", "it fails"],
        [HOSTILE, "1 of 2", "deleted"],
    ]
    assert tab.title() == "LLM calls of the test run"
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_run_without_changes_lists_none(open_page: Open, report: Path) -> None:
    assert open_page(report).locator("#mutations").count() == 0


def test_a_run_without_agents_compares_none(open_page: Open, report: Path) -> None:
    assert open_page(report).locator("#agents").count() == 0
