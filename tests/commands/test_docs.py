"""`llm-mock docs`: the pages, one of them, and a search."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main
from tests.conftest import RunPython

ROOT = Path(__file__).parents[2]
PAGES = sorted(path.stem for path in (ROOT / "docs").glob("*.md"))


def read(*words: str) -> str:
    result = CliRunner().invoke(main, ["docs", *words])
    assert result.exit_code == 0, result.output
    return result.output


def test_the_pages_are_listed_with_their_titles() -> None:
    listed = dict(re.findall(r"^([\w-]+) {2,}(.+)$", read(), re.MULTILINE))
    assert sorted(listed) == PAGES
    assert listed["matching"] == "Matching and strictness"
    assert listed["changelog"] == "Changelog"


@pytest.mark.parametrize("page", PAGES)
def test_each_page_opens_whole(page: str) -> None:
    text = read(page)
    assert text.startswith("# ")
    assert not re.search(r"^(:::|--8<--) ", text, re.MULTILINE)


@pytest.mark.parametrize("name", ["replies", "replies.md", "docs/replies.md"])
def test_a_page_is_named_by_its_file_too(name: str) -> None:
    assert read(name).strip() == (ROOT / "docs" / "replies.md").read_text().strip()


def test_the_page_of_the_api_has_signatures_and_docstrings() -> None:
    text = read("api")
    assert "### llm_mock.ToolCall\n\n    ToolCall(name, arguments=" in text
    assert "### llm_mock.errors\n\nExceptions and warnings of the package." in text
    assert "### llm_mock.errors.UnexpectedCall\n\n    UnexpectedCall\n" in text
    assert max(map(len, re.findall(r"^ {4}\w+\(.*", text, re.MULTILINE))) <= 90


def test_a_name_that_needs_an_extra_says_so(run_python: RunPython) -> None:
    code = "import sys; sys.modules['tenacity'] = None; from llm_mock.cli import main; "
    output = run_python(f"{code} main(['docs', 'api'])").stdout
    message = "Running agents needs tenacity, which is not installed. Run: pip install"
    assert f"### llm_mock.agents.aitest_run\n\n{message}" in output


def test_a_section_with_a_word_in_its_heading_comes_first() -> None:
    results = re.findall(r"^(\S+): (.+)\n {4}(.+)$", read("rate", "LIMIT"), re.MULTILINE)
    assert ("replies", "Errors") in [result[:2] for result in results]
    assert read("quotas").startswith("latency: Quotas\n    Quotas also apply to embeddings")
    assert read("quotas").endswith("\nOpen a page: llm-mock docs latency\n")


@pytest.mark.parametrize("words", ["retry", "rate limit", "stream", "Azure"])
def test_what_people_search_for_is_found(words: str) -> None:
    assert ": " in read(*words.split())


def test_a_search_with_many_results_is_cut() -> None:
    output = read("model")
    assert len(re.findall(r"^[\w-]+: ", output, re.MULTILINE)) == 20
    assert re.search(r"^\.\.\. and \d+ more; add a word$", output, re.MULTILINE)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "replise",
            "No page is called 'replise', and none holds these words; did you mean 'replies'?",
        ),
        ("xyzzy", "No page is called 'xyzzy', and none holds these words; known are agents, anth"),
    ],
)
def test_what_is_not_found_is_an_error_with_the_pages(word: str, message: str) -> None:
    result = CliRunner().invoke(main, ["docs", word])
    assert result.exit_code == 1
    assert result.output.startswith(f"Error: {message}")


def test_every_page_that_the_package_names_opens() -> None:
    sources = [path.read_text() for path in (ROOT / "llm_mock").rglob("*.py")]
    # In the output of the commands a page may be followed by a word that is none.
    named = set(re.findall(r"llm-mock docs ([a-z-]+)", "\n".join(sources))) - {"rate"}
    assert "server" in named
    assert named <= set(PAGES)
