"""The results of `llm-mock test` as files: JSON, JUnit XML, Markdown and the page."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

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
