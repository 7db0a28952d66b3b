"""The settings that we recommend."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.parametrize(("file", "options"), [("pyproject.toml", ()), ("pytest.ini", ("--ini",))])
def test_pytest_accepts_what_is_recommended(
    pytester: pytest.Pytester, file: str, options: tuple[str, ...]
) -> None:
    (pytester.path / file).write_text(CliRunner().invoke(main, ["config", *options]).output)
    pytester.makepyfile(
        "import llm\n\ndef test_it(mock_llm_responses):\n"
        "    llm.get_model('gpt-4o').prompt('Hi').text()\n"
    )
    result = pytester.runpytest("--strict-config")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*UnexpectedCall: No reply was configured for this call:"])


@pytest.mark.parametrize("page", ["docs/index.md", "docs/matching.md"])
def test_the_documentation_recommends_the_same(page: str) -> None:
    recommended = CliRunner().invoke(main, ["config"]).output
    assert f"```toml\n{recommended}```" in (ROOT / page).read_text()
