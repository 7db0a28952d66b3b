"""The documentation in the terminal: a list of pages, one page, or a search."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click

import llm_mock
from llm_mock.commands.api_reference import describe_objects
from llm_mock.errors import LLMMockError
from llm_mock.support.text import join_names, shorten_name, suggest_nearest

MAX_RESULTS = 20
"""The number of search results that are printed."""
MAX_LINE = 90
"""The longest quotation of a search result, in characters."""
_HEADING = re.compile(r"^#+ (.+)$")
_SNIPPET = re.compile(r'^--8<-- "(.+)"$', re.MULTILINE)
_FENCE = "```"


class SearchResult(NamedTuple):
    """A section of a page that contains words of a search."""

    page: str
    heading: str
    line: str
    """The first line with one of the words."""
    score: tuple[int, int, int]
    """The numbers of words in the section and in its heading, and of lines with one of the words;
    a higher score is shown first."""


def print_documentation(words: Sequence[str]) -> None:
    """Print the list of pages, a page, or the sections that contain some words.

    Args:
        words: none for the list, the name of a page, or words to search for.

    Raises:
        LLMMockError: no page has this name, and no section contains the words.
    """
    pages = _find_pages()
    if not words:
        click.echo(_format_index(pages))
    elif len(words) == 1 and _get_name(words[0]) in pages:
        click.echo_via_pager(_read_page(pages[_get_name(words[0])]))
    else:
        click.echo(_format_results(words, pages))


def _find_pages() -> dict[str, Path]:
    """Return the files of the pages by name, in alphabetical order.

    Raises:
        LLMMockError: the installation has no pages.
    """
    package = Path(llm_mock.__file__).parent
    # The wheel has them in the package; in a clone they are beside it.
    for folder in (package / "docs", package.parent / "docs"):
        if (folder / "index.md").is_file():
            return {path.stem: path for path in sorted(folder.glob("*.md"))}
    raise LLMMockError(
        "This installation has no documentation. Install it again: "
        "pip install --force-reinstall --no-deps pytest-llm-mock"
    )


def _get_name(word: str) -> str:
    """Return the name of a page, which may be given as a file: `docs/replies.md`."""
    return word.removeprefix("docs/").removesuffix(".md")


def _read_page(path: Path) -> str:
    return describe_objects(_read_source(path))


def _read_source(path: Path) -> str:
    """Return a page with the files that it includes; the API is not described."""
    text = path.read_text(encoding="utf-8")
    # An included file stands beside the folder of the pages.
    included = path.parent.parent
    return _SNIPPET.sub(lambda match: (included / match[1]).read_text(encoding="utf-8"), text)


def _format_index(pages: dict[str, Path]) -> str:
    width = max(map(len, pages))
    lines = []
    for name, path in pages.items():
        title = _split_sections(_read_source(path))[0][0]
        lines.append(f"{name:<{width}}  {title}")
    return "\n".join(
        [
            *lines,
            "",
            "Open a page: llm-mock docs replies",
            "Search all pages: llm-mock docs rate limit",
        ]
    )


def _format_results(words: Sequence[str], pages: dict[str, Path]) -> str:
    """Return the sections with all words, or else those with some words, the best first.

    Raises:
        LLMMockError: no section contains any of the words.
    """
    wanted = " ".join(words).lower().split()
    results = list(_search_pages(pages, wanted, len(wanted)))
    note = ""
    if not results and len(wanted) > 1:
        results = list(_search_pages(pages, wanted, 1))
        note = f"No section contains all of {', '.join(wanted)}. These contain some:\n\n"
    if not results:
        named = shorten_name(" ".join(words))
        hint = suggest_nearest(_get_name(words[0]), pages)
        if not hint:
            hint = f"; the pages are {join_names(list(pages))}"
        noun = "this word" if len(words) == 1 else "these words"
        raise LLMMockError(f"No page is called {named!r}, and no section contains {noun}{hint}")
    # Sorting is stable: sections of the same score stay in the order of the pages.
    results.sort(key=lambda result: result.score, reverse=True)
    shown = results[:MAX_RESULTS]
    lines = [f"{result.page}: {result.heading}\n    {result.line}" for result in shown]
    if len(results) > len(shown):
        lines.append(f"... and {len(results) - len(shown)} more; add a word")
    return note + "\n".join([*lines, "", f"Open a page: llm-mock docs {results[0].page}"])


def _search_pages(
    pages: dict[str, Path], wanted: Sequence[str], minimum: int
) -> Iterator[SearchResult]:
    """Yield the sections that contain at least a number of the words."""
    for name, path in pages.items():
        for heading, lines in _split_sections(_read_page(path)):
            result = _search_section(name, heading, lines, wanted)
            if result.score[0] >= minimum:
                yield result


def _search_section(
    name: str, heading: str, lines: Sequence[str], wanted: Sequence[str]
) -> SearchResult:
    """Return a section with its score for some words."""
    text = "\n".join([heading, *lines]).lower()
    held = [word for word in wanted if word in text]
    in_heading = [word for word in wanted if word in f"{name} {heading}".lower()]
    matching = [line for line in lines if any(word in line.lower() for word in wanted)]
    line = shorten_name(matching[0].strip(), MAX_LINE) if matching else ""
    # A word in a heading counts more than any number of words in the text.
    score = len(held), len(in_heading), len(matching)
    return SearchResult(name, heading, line, score)


def _split_sections(text: str) -> list[tuple[str, list[str]]]:
    """Return the headings of a page with the lines below them; comments in code do not count."""
    sections: list[tuple[str, list[str]]] = []
    is_code = False
    for line in text.splitlines():
        if line.startswith(_FENCE):
            is_code = not is_code
        heading = None if is_code else _HEADING.match(line)
        if heading:
            sections.append((heading[1], []))
        elif sections:
            sections[-1][1].append(line)
    return sections
