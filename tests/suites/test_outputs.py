"""The results of `llm-mock test` as files: JSON, JUnit XML, Markdown and the page."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from llm_mock.report.suite_markdown import render_markdown
from tests.suites.conftest import PASSING, Project

HOSTILE = "</script><script>alert(1)</script> | `x` **b** <b>&amp; ]]> \x1b[31m \x00 \ufffe [l](javascript:x) {{report}}"  # noqa: E501
SKIPPED = "  - {name: cheap, prompt: Hi, assertions: [{type: max_cost, value: 1}]}\n"
MODEL = "gpt-4o-mini"


@pytest.fixture
def hostile(project: Project) -> Project:
    """Return a project whose one case fails, with hostile texts everywhere."""
    case = {
        "name": HOSTILE,
        "prompt": HOSTILE,
        "expected_output": f"{HOSTILE}\n</pre></details>\n",
        "assertions": [{"type": "contains", "value": f"not {HOSTILE}"}],
    }
    project.write_cases(f"  - {json.dumps(case)}\n")
    return project


def written(project: Project, suffix: str, *arguments: str, live: bool = False) -> str:
    """Return what a run writes into a file with this suffix."""
    run = project.test if live else project.dry
    run("-o", f"results{suffix}", *arguments)
    return (project.path / f"results{suffix}").read_text(encoding="utf-8")


# JSON


def test_the_json_keeps_texts_as_they_are(hostile: Project) -> None:
    (suite,) = json.loads(written(hostile, ".json"))["suites"]
    (case,) = suite["cases"]
    assert case["name"] == case["attempts"][0]["turns"][0]["prompt"] == HOSTILE
    assert case["attempts"][0]["assertions"][0]["definition"] == {
        **{"type": "contains", "value": f"not {HOSTILE}"}
    }


def test_a_file_has_all_suites_that_were_run(project: Project) -> None:
    project.write("more.yaml", PASSING.replace("greeting-tests", "more"))
    project.write("broken.yaml", "")
    data = json.loads(written(project, ".json", "-s", "broken.yaml", "-s", "more.yaml"))
    assert [suite["suite"] for suite in data["suites"]] == ["greeting-tests", "more"]


# JUnit


def test_junit_survives_what_xml_does_not_have(hostile: Project) -> None:
    (case,) = ElementTree.fromstring(written(hostile, ".xml")).iter("testcase")
    assert case.get("name") == re.sub("[\x00\x1b\ufffe]", "\ufffd", HOSTILE)


# Markdown


def test_in_markdown_no_text_is_markup(hostile: Project) -> None:
    text = written(hostile, ".md")
    for code in re.findall("<code>(.*?)</code>", text):
        assert not re.search(r"[<>|`*\[\]\\]|&(?!#\d+;)", code)
    assert re.findall("</?[a-z]+>", re.sub("(?s)<code>.*?</code>|<pre>.*?</pre>", "", text)) == [
        *("<details>", "<summary>", "</summary>", "</details>"),
    ]
    (block,) = re.findall("(?s)<pre>\n(.*?)\n</pre>", text)
    assert html.unescape(block).startswith(f"Output does not contain 'not {HOSTILE[:30]}")


def render_suite(project: Project, **changes: Any) -> list[str]:
    """Return the lines of Markdown of a suite of one case, of which some facts are replaced."""
    project.write_cases(
        "  - {name: one, prompt: Hi, expected_output: Hi, "
        "assertions: [{type: contains, value: Hi}]}\n"
    )
    document = json.loads(written(project, ".json"))
    (suite,) = document["suites"]
    (case,) = suite["cases"]
    case.update(changes.pop("case", {}))
    suite.update(changes)
    return render_markdown(document).decode().splitlines()


@pytest.mark.parametrize(
    ("changes", "heading"),
    [
        ({}, "✅ NAME: 1/1 passed"),
        ({"passed": 2, "total": 2}, "✅ NAME: 2/2 passed"),
        ({"failed": 1, "total": 2}, "❌ NAME: 1/2 passed"),
        ({"total": 2}, "❌ NAME: 1/1 passed"),
        ({"passed": 0, "total": 0}, "❌ NAME: 0/0 passed"),
        ({"not_checked": 1, "total": 2}, "⚪ NAME: 1/1 passed, 1 not checked"),
        ({"passed": 0, "not_checked": 1}, "❌ NAME: 0/0 passed, 1 not checked"),
        ({"failed": 1, "total": 2, "min_score": 0.5, "score": 0.5}, "✅ NAME: 1/2 passed"),
        ({"failed": 1, "total": 2, "min_score": 0.6, "score": 0.5}, "❌ NAME: 1/2 passed"),
        ({"min_score": 0.5, "score": None}, "❌ NAME: 1/1 passed"),
    ],
)
def test_the_heading_in_markdown_has_the_verdict_and_the_numbers(
    project: Project, changes: dict[str, Any], heading: str
) -> None:
    name = "<code>greeting-tests</code>"
    assert render_suite(project, **changes)[0] == f"### {heading.replace('NAME', name)}"


ROLE_AND_MODEL = "Role <code>hello-world</code>, model <code>gpt-4o-mini</code>"


@pytest.mark.parametrize(
    ("changes", "summary"),
    [
        ({}, f"{ROLE_AND_MODEL}, dry run"),
        (
            {"dry_run": False, "case": {"tokens": 1200}, "cost_usd": 0.5},
            f"{ROLE_AND_MODEL}, 1,200 tokens, cost $0.50",
        ),
        ({"target": "a/b"}, "Target <code>a&#47;b</code>, dry run"),
        ({"target": "a/b", "dry_run": False}, "Target <code>a&#47;b</code>, live"),
        (
            {"stopped": "no money"},
            f"{ROLE_AND_MODEL}, dry run. <code>Stopped&#58; no money</code>",
        ),
    ],
)
def test_the_summary_in_markdown_says_what_was_run(
    project: Project, changes: dict[str, Any], summary: str
) -> None:
    assert render_suite(project, **changes)[2] == summary


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        (
            {"case": {"duration_s": 1.5}},
            [
                "| Case | Status | Duration |",
                "| --- | --- | ---: |",
                "| <code>one</code> | ✅ PASS | 1.5s |",
            ],
        ),
        (
            {"case": {"duration_s": 1.5, "score": 0.5}, "scored": True},
            [
                "| Case | Status | Duration | Score |",
                "| --- | --- | ---: | ---: |",
                "| <code>one</code> | ✅ PASS | 1.5s | 0.500 |",
            ],
        ),
        (
            {"case": {"status": "not run", "attempts": []}},
            [
                "| Case | Status | Duration |",
                "| --- | --- | ---: |",
                "| <code>one</code> | ⏭️ not run |  |",
            ],
        ),
        (
            {"case": {"status": "not checked", "duration_s": 0}},
            [
                "| Case | Status | Duration |",
                "| --- | --- | ---: |",
                "| <code>one</code> | ⚪ not checked | 0ms |",
            ],
        ),
    ],
)
def test_the_table_in_markdown_has_a_row_for_each_case(
    project: Project, changes: dict[str, Any], rows: list[str]
) -> None:
    lines = render_suite(project, **changes)
    start = lines.index(rows[0])
    assert lines[start : start + 4] == [*rows, ""]


# Where they are written


@pytest.mark.parametrize("suffix", [".json", ".xml", ".md", ".html"])
def test_folders_are_made_and_an_old_file_is_replaced(suffix: str, project: Project) -> None:
    first = written(project, suffix, "-k", "number")
    second = written(project, suffix, "-k", "hello")
    assert "has-number" in first
    assert "has-number" not in second
    assert project.dry("-o", f"some/folder/out{suffix.upper()}").exit_code == 1
    assert (project.path / "some" / "folder" / f"out{suffix.upper()}").stat().st_size > 0


def test_what_cannot_be_written_is_told_before_the_run(project: Project) -> None:
    (project.path / "folder.json").mkdir()
    project.write("file", "")
    for name, why in (("folder.json", "it is a folder"), ("file/out.json", "File exists")):
        result = project.dry("-o", name)
        assert (result.exit_code, result.stdout) == (2, "")
        assert f"'{name}' cannot be written: {why}" in result.stderr


def test_a_file_that_cannot_be_written_any_more_does_not_stop_the_others(project: Project) -> None:
    project.write(
        "checks.py",
        "from pathlib import Path\ndef blocks(output): return Path('a.json').mkdir() is None\n",
    )
    project.write_cases(
        "  - {name: c, prompt: Hi, assertions: [{type: python, function: 'checks.py:blocks'}]}\n"
    )
    result = project.dry("-o", "a.json", "-o", "b.json")
    assert result.exit_code == 1
    assert "1/1 passed" in result.stdout
    assert result.stderr == "Error: 'a.json' cannot be written: Is a directory.\n"
    assert (project.path / "b.json").exists()


# The page


def test_the_page_shows_cases_as_tests_and_turns_as_calls(project: Project, browser: Any) -> None:
    texts = {
        "prompt": HOSTILE,
        "expected_output": f"Answer {HOSTILE}",
        "assertions": [{"type": "regex", "pattern": "^$"}],
    }
    project.write_cases(f"  - {json.dumps({'name': 'hostile', **texts})}\n" + SKIPPED)
    project.dry("-o", "page.html")
    tab, problems = browser.new_page(), []
    for event in ("console", "pageerror", "dialog"):
        tab.on(event, lambda what: problems.append(str(what)))
    tab.on(
        "request",
        lambda request: problems.append(request.url) if request.url[:5] != "file:" else None,
    )
    tab.goto((project.path / "page.html").as_uri())
    tab.locator(".talk, .answer").first.wait_for(timeout=10_000)
    assert tab.locator("#outcomes li").all_text_contents()[0] == "✕ 1 failed"
    body = tab.locator("body").inner_text()
    assert "Answer </script><script>alert(1)</script>" in body
    assert body.count("Output does not match pattern '^$'") == 1
    assert "1 of 2 checks skipped in a dry run" in body
    assert problems == []
    tab.close()


@pytest.mark.parametrize("suffix", [".json", ".xml", ".md", ".html"])
def test_no_output_holds_what_a_terminal_could_act_on(project: Project, suffix: str) -> None:
    said = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eback \x7f \r over"
    case = {
        "name": f"a {said}",
        "prompt": said,
        "expected_output": said,
        "assertions": [{"type": "contains", "value": "x"}],
    }
    project.write_cases(f"  - {json.dumps(case)}\n")
    text = written(project, suffix)
    assert "red" in text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
    if suffix != ".xml":
        assert "\u202e" not in text


def test_the_json_can_be_read_by_people(project: Project) -> None:
    project.write_cases("  - {name: one, prompt: Äpfel}\n")
    text = written(project, ".json")
    assert '"prompt": "Äpfel"' in text
    assert text.startswith('{\n  "')
