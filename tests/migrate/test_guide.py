"""The migration guide shows what the command makes of each old test."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

GUIDE = (Path(__file__).parents[2] / "MIGRATION_GUIDE.md").read_text()
CHAPTER = GUIDE.partition("## Frequent mocks and their new tests")[2].partition("\n## ")[0]
APPLICATION = re.findall(
    r"^```python\n(# assistant.py\n.*?)^```$", CHAPTER, re.MULTILINE | re.DOTALL
)[0]
SHAPES = {
    title: re.findall(r"^```py(?:thon)?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    for title, text in re.findall(
        r"^### ([^\n]+)\n(.*?)(?=^### |\Z)", CHAPTER, re.MULTILINE | re.DOTALL
    )
}


def learned(test: str, target: str) -> tuple[str, ...]:
    return ("gpt-4o",) if target.endswith("get_async_model") else ("gpt-4o-mini",)


@pytest.mark.parametrize("title", SHAPES)
def test_what_the_guide_shows_is_what_the_command_makes(title: str, tmp_path: Path) -> None:
    old, new = SHAPES[title]
    (tmp_path / "assistant.py").write_text(APPLICATION)
    result = rewrite_file(tmp_path / "test_old.py", old.encode(), learned, lambda name: name)
    assert result.manual_changes == ()
    # The command does not break lines, and those of the guide are short.
    assert _normalize(result.after.replace("_old", "_new")) == _normalize(new)


def _normalize(source: str) -> str:
    """Return code without its line breaks."""
    return ast.unparse(ast.parse(source))
