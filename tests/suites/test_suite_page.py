"""The page of suites: answers side by side, an application's calls, errors, messages once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

pytest.importorskip("mcp")

from llm_mock import LLMMock, Reply
from tests.report.browser import Open
from tests.report.browser import open_page as open_page
from tests.report.test_documents import read_page
from tests.report.test_page_in_browser import LOW_CONTRAST
from tests.suites.conftest import Project

HEAD = "apiVersion: llm-mock/v1\nkind: TestSuite\nmetadata: {name: app}\n"
APP = """
import llm

def lookup(order: int) -> str:
    return f"order {order}: sent"

def answer(prompt):
    if prompt == "Boom":
        raise ValueError("no such kind")
    kind = llm.get_model("gpt-4o-mini").prompt("Classify: " + prompt).text()
    if prompt == "Late":
        raise ValueError("too late")
    return kind + llm.get_model("gpt-4o").chain(prompt, system="Be kind", tools=[lookup]).text()

def loud(prompt):
    return "We open at NINE o'clock" if prompt == "When?" else "Hello"

def kind(prompt):
    return "We open at nine o'clock" if prompt == "When?" else "Hello"
"""
CALLS = """target: {function: "app.py:answer"}
cases:
  - name: tools
    prompt: Where?
    replies:
      - {text: status}
      - {tool_calls: [{name: lookup, arguments: {order: 1}}]}
      - {text: Sent.}
    assertions: [{type: contains, value: Sent}]
  - {name: boom, prompt: Boom, replies: [{text: a}]}
"""
GRID = """
matrix:
  targets:
    - {name: kind, function: "app.py:kind"}
    - {name: loud, function: "app.py:loud"}
cases:
  - {name: greeting, prompt: Hi, assertions: [{type: contains, value: Hello}]}
  - {name: hours, prompt: When?, assertions: [{type: contains, value: nine}]}
"""


def render(project: Project, text: str, *arguments: str) -> tuple[Path, dict[str, Any]]:
    """Run a suite, and return its page and the data of the page."""
    project.write("app.py", APP)
    project.write("app.yaml", HEAD + text)
    project.command("test", "-s", "app.yaml", "--dry-run", "-o", "out.html", *arguments)
    page = project.path / "out.html"
    data = re.search(
        r'<script type="application/json" id="report">(.*?)</script>', page.read_text(), re.S
    )
    assert data is not None
    return page, json.loads(data[1])


def test_the_calls_of_an_application_are_those_that_it_made(project: Project) -> None:
    _, data = render(project, CALLS)
    tools, boom = data["tests"]
    assert [call["model_id"] for call in tools["calls"]] == ["gpt-4o-mini", "gpt-4o", "gpt-4o"]
    assert [(row["model_id"], row["calls"]) for row in data["models"]] == [
        ("app.py:answer", 1),
        ("gpt-4o", 2),
        ("gpt-4o-mini", 1),
    ]
    assert [call["number"] for call in tools["calls"]] == [1, 2, 3]
    assert {call["conversation"] for call in tools["calls"]} == {"run 1"}
    first, second, third = tools["calls"]
    assert first["messages"] == [
        {"role": "user", "parts": [{"type": "text", "text": "Classify: Where?"}]}
    ]
    assert second["messages"][0]["parts"][0]["text"] == "Be kind"
    [tool_call] = second["response"]["tool_calls"]
    assert (tool_call["name"], tool_call["result"]) == ("lookup", "order 1: sent")
    assert third["response"]["text"] == "Sent."
    [turn] = tools["turns"]
    assert (turn["prompt"], turn["output"], turn["error"]) == ("Where?", "statusSent.", None)
    # Of a run that asked no model the turn is shown.
    assert [call["model_id"] for call in boom["calls"]] == ["app.py:answer"]


def test_a_failure_has_its_message_once(project: Project) -> None:
    _, data = render(project, CALLS)
    boom = data["tests"][1]
    assert json.dumps(boom).count("no such kind") == 1
    assert boom["calls"][-1]["error"] == {"type": None, "message": None}
    _, data = render(project, CALLS, "--repeat", "2")
    # The second run is not the one of the message.
    boom = data["tests"][1]
    assert boom["calls"][-1]["error"]["message"].count("no such kind") == 1


def test_the_turn_of_another_run_has_its_error(project: Project) -> None:
    text = CALLS.partition("cases:")[0] + "cases: [{name: a, prompt: Late, replies: [{text: a}]}]\n"
    _, data = render(project, text, "--repeat", "2")
    [test] = data["tests"]
    first, second = test["turns"]
    # The error of the first run is the message of the test.
    assert (first["run"], first["error"]) == (1, None)
    assert second["run"] == 2
    assert "too late" in second["error"]


JUDGED = """cases:
  - name: judged
    prompt: Hi
    assertions: [{type: judge, criteria: Polite, model: j-1}, {type: contains, value: Hello}]
  - {name: checked, prompt: Hi, assertions: [{type: contains, value: Hello}]}
"""


@pytest.mark.parametrize(
    ("price", "cost", "judged"),
    [
        (1000, "$0.026", "$0.016"),
        (None, "$0.020 and judges of unknown cost", "$0.010 and judges of unknown cost"),
    ],
)
def test_the_sums_of_the_page_have_the_judges(
    project: Project,
    open_page: Open,
    mock_llm_responses: LLMMock,
    price: float | None,
    cost: str,
    judged: str,
) -> None:
    usage = {"input_tokens": 7, "output_tokens": 3}
    mock_llm_responses.set("gpt-4o-mini", Reply("Hello", usage=usage))
    mock_llm_responses.set_price("gpt-4o-mini", 1000, 1000)
    verdict = {"met": True, "reason": "It is"}
    mock_llm_responses.add(
        "j-1", Reply(data=verdict, usage={"input_tokens": 4, "output_tokens": 2})
    )
    if price is not None:
        mock_llm_responses.set_price("j-1", price, price)
    project.write("app.yaml", HEAD + JUDGED)
    ended = project.command("test", "role.yaml", "-s", "app.yaml", "-o", "o.html", "-o", "o.json")
    assert ended.exit_code == 0, ended.output
    tab = open_page(project.path / "o.html")
    facts = tab.locator("#facts").text_content()
    assert facts.startswith(f"2 tests · 2 calls · 26 tokens · {cost} · ")
    first, second = tab.locator(".numbers").all_text_contents()
    assert first.endswith(f"16 tokens · {judged}")
    assert second.endswith("10 tokens · $0.010")
    # The row of an agent is about its own calls.
    row = tab.locator("#agent-totals td").all_text_contents()
    assert row[6:8] == ["20", "$0.020"]


@pytest.mark.parametrize(("price", "cost"), [(None, None), (0.00001234567, 2.46913e-05)])
def test_the_cost_of_an_agent_is_known_with_its_price(
    project: Project, mock_llm_responses: LLMMock, price: float | None, cost: float | None
) -> None:
    usage = {"input_tokens": 10**6, "output_tokens": 0}
    mock_llm_responses.set("m-1", Reply("Hello", usage=usage))
    if price is not None:
        mock_llm_responses.set_price("m-1", price, 0)
    case = "{prompt: Hi, assertions: [{type: contains, value: Hello}], name: "
    project.write("app.yaml", f"{HEAD}cases: [{case}a}}, {case}b}}]\n")
    ended = project.command("test", "role.yaml", "-s", "app.yaml", "--model=m-1", "-o", "o.html")
    assert ended.exit_code == 0, ended.output
    [agent] = read_page(Path("o.html"))["agents"]
    assert agent["cost_usd"] == cost


@pytest.mark.parametrize("arguments", [[], ["-s", "app.yaml"]])
def test_a_wrong_file_is_an_error_in_each_output(arguments: list[str], project: Project) -> None:
    project.write("app.py", APP)
    project.write("app.yaml", HEAD + CALLS)
    project.write("wrong.yaml", HEAD + "casess: []\n")
    outputs = ["-o", "o.html", "-o", "o.json", "-o", "o.xml", "-o", "o.md"]
    ended = project.command("test", "-s", "wrong.yaml", *arguments, "--dry-run", *outputs)
    assert ended.exit_code == 1
    problem = "wrong.yaml:4: unknown key 'casess'; did you mean 'cases'?"
    assert json.loads(Path("o.json").read_text())["errors"] == [problem]
    start = "### ❌ Error\n\n<pre>\nwrong.yaml:4: unknown key &#x27;casess&#x27;; did you mean"
    assert Path("o.md").read_text().startswith(start)
    page = Path("o.html").read_text()
    assert problem.replace("'", "'") in page
    assert '"outcome": "error"' in page
    [suite] = [
        each for each in ElementTree.parse("o.xml").getroot() if each.get("name") == "errors"
    ]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    [case] = suite
    assert (case.get("name"), case[0].get("message")) == ("wrong.yaml:4", problem)


def test_a_run_without_errors_has_none_in_its_outputs(project: Project) -> None:
    _, data = render(project, CALLS, "-o", "o.json", "-o", "o.xml")
    assert "errors" not in json.loads(Path("o.json").read_text())
    assert "errors" not in [each.get("name") for each in ElementTree.parse("o.xml").getroot()]
    assert {test["outcome"] for test in data["tests"]} == {"passed", "failed"}


def test_the_grid_has_the_answers_and_what_differs(project: Project) -> None:
    _, data = render(project, GRID)
    [grid] = data["side_by_side"]
    assert grid["different"] == [False, True]
    answers = {test["id"].rpartition("::")[2]: test["answer"] for test in data["tests"]}
    assert answers["hours[kind]"] == "We open at nine o'clock"
    assert answers["hours[loud]"] == "We open at NINE o'clock"


def test_a_status_alone_is_a_difference(project: Project) -> None:
    text = GRID.replace("prompt: Hi,", "prompt: Hi, threshold: 1,").replace(
        "app.py:loud", "app.py:kind"
    )
    _, data = render(project, text)
    assert data["side_by_side"][0]["different"] == [False, False]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_the_grid_shows_answers_checks_and_differences_and_is_filtered(
    width: int, scheme: str, project: Project, open_page: Open
) -> None:
    page, _ = render(project, GRID)
    tab = open_page(page, viewport={"width": width, "height": 900}, color_scheme=scheme)
    rows = tab.locator(".grid tbody tr")
    assert rows.count() == 2
    assert tab.locator(".grid ins").all_text_contents() == ["NINE"]
    hours = rows.nth(1)
    assert "Output does not contain 'nine'" in hours.text_content()
    box = tab.get_by_label("only where they differ (1 of 2 cases)")
    box.focus()
    tab.keyboard.press("Space")
    assert not rows.nth(0).is_visible()
    assert hours.is_visible()
    tab.keyboard.press("Space")
    assert rows.nth(0).is_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(LOW_CONTRAST) == []
    hours.get_by_role("link", name="failed").click()
    assert tab.locator("#tests > li:target, #tests > li .body:visible").count() >= 1


@pytest.mark.parametrize("width", [400, 1400])
def test_the_application_is_shown_above_its_calls(
    width: int, project: Project, open_page: Open
) -> None:
    page, _ = render(project, CALLS)
    tab = open_page(page, viewport={"width": width, "height": 900})
    tab.get_by_role("button", name="Open all").click()
    tools = tab.locator("#tests > li", has_text="tools")
    talks = tools.locator(".talk")
    assert talks.nth(0).locator("h3").text_content() == "Application"
    assert "statusSent." in talks.nth(0).text_content()
    assert "conversation of 3 calls" in talks.nth(1).text_content()
    assert "result of lookup" in talks.nth(1).text_content()
    assert tab.locator("#tests > li", has_text="boom").get_by_text("no such kind").count() == 1
    assert tab.locator("#tests > li", has_text="boom").get_by_text("failed, see above").count() == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(LOW_CONTRAST) == []
