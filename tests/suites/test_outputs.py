"""The results of `llm-mock test` as files: JSON, JUnit XML, Markdown and the page."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any, cast

import pytest

from llm_mock.report.suite_junit import render_junit
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


def make_document(project: Project, **changes: Any) -> dict[str, Any]:
    """Return the document of a suite of one case, of which some facts are replaced."""
    project.write_cases(
        "  - {name: one, prompt: Hi, expected_output: Hi, "
        "assertions: [{type: contains, value: Hi}]}\n"
    )
    document = json.loads(written(project, ".json"))
    (suite,) = document["suites"]
    (case,) = suite["cases"]
    case.update(changes.pop("case", {}))
    suite.update(changes)
    return cast("dict[str, Any]", document)


def render_suite(project: Project, **changes: Any) -> list[str]:
    """Return the lines of Markdown of such a suite."""
    return render_markdown(make_document(project, **changes)).decode().splitlines()


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


def render_as_junit(document: dict[str, Any]) -> ElementTree.Element:
    text = render_junit(document)
    assert text.startswith(
        b"<?xml version='1.0' encoding='utf-8'?>\n<testsuites name=\"llm-mock\">"
    )
    assert text.endswith(b"</testsuites>\n")
    return ElementTree.fromstring(text)


def read_properties(element: ElementTree.Element) -> dict[str, str]:
    found = element.findall("./properties/property")
    return {each.attrib["name"]: each.attrib["value"] for each in found}


@pytest.mark.parametrize(
    ("changes", "attributes", "properties"),
    [
        (
            {"duration_s": 1.5},
            {"tests": "1", "failures": "0", "errors": "0", "skipped": "0", "time": "1.500"},
            {"role": "hello-world", "model": "gpt-4o-mini", "dry_run": "true"},
        ),
        (
            {"total": 9, "passed": 1, "failed": 3, "dry_run": False, "target": "a.py:f"},
            {"tests": "9", "failures": "3", "errors": "0", "skipped": "5"},
            {"target": "a.py:f", "dry_run": "false"},
        ),
        (
            {"scored": True, "score": 0.5, "min_score": None, "metrics": {"tone": 0.25}},
            {"tests": "1"},
            {
                "role": "hello-world",
                "model": "gpt-4o-mini",
                "dry_run": "true",
                "score": "0.5",
                "metric: tone": "0.25",
            },
        ),
    ],
)
def test_a_suite_in_junit_has_its_numbers_and_what_was_run(
    project: Project,
    changes: dict[str, Any],
    attributes: dict[str, str],
    properties: dict[str, str],
) -> None:
    (suite,) = render_as_junit(make_document(project, **changes))
    assert suite.tag == "testsuite"
    assert {name: suite.attrib[name] for name in attributes} == attributes
    assert read_properties(suite) == properties


@pytest.mark.parametrize(
    ("case", "properties", "child"),
    [
        ({"duration_s": 0.25}, {"tokens": "0", "cost_usd": "0.0"}, None),
        ({"tokens": 7}, {"tokens": "7", "cost_usd": "0.0"}, None),
        ({"status": "not run", "attempts": []}, {}, "skipped"),
        ({"status": "failed"}, {"tokens": "0", "cost_usd": "0.0"}, "failure"),
    ],
)
def test_a_case_in_junit_has_its_place_and_what_it_took(
    project: Project, case: dict[str, Any], properties: dict[str, str], child: str | None
) -> None:
    (suite,) = render_as_junit(make_document(project, case=case))
    (found,) = suite.findall("testcase")
    assert (found.attrib["classname"], found.attrib["name"]) == ("greeting-tests", "one")
    if "duration_s" in case:
        assert found.attrib["time"] == "0.250"
    assert (found.attrib["file"], found.attrib["line"]) == ("tests.yaml", "6")
    assert read_properties(found) == properties
    others = [each.tag for each in found if each.tag != "properties"]
    assert others == ([] if child is None else [child])


def test_errors_of_files_are_a_suite_of_their_own_in_junit(project: Project) -> None:
    document = make_document(project)
    document["errors"] = ["a.yaml:3: is broken: badly", "no place"]
    _, errors = render_as_junit(document)
    numbers = {"name": "errors", "tests": "2", "failures": "0", "errors": "2"}
    assert errors.attrib == numbers
    cases = [(case.attrib["name"], case.attrib["classname"]) for case in errors]
    assert cases == [("a.yaml:3", "llm-mock"), ("no place", "llm-mock")]
    assert [case[0].attrib["message"] for case in errors] == document["errors"]


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
