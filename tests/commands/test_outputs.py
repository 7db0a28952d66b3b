"""What commands print, as checked-in files: `REWRITE_EXPECTED=1` rewrites them."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main
from tests.expected import compare_bytes

PROJECT = Path(__file__).parent / "project"
OUTPUTS = Path(__file__).parent / "outputs"
DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:ms|s)\b *")
"""Durations differ, and the spaces behind them in a column."""

COMMANDS = {
    "test": "test role.yaml -s suites/hours.yaml --dry-run",
    "test-verbose": "test role.yaml -s suites/hours.yaml --dry-run --verbose",
    "test-tag": "test role.yaml -s suites/hours.yaml --dry-run --tag sunday --retry 1",
    "test-nothing": "test role.yaml -s suites/hours.yaml --dry-run -k zzz",
    "test-variants": (
        "test role.yaml -s suites/hours.yaml --dry-run --model gpt-5-mini --model gpt-5"
    ),
    "test-repeat": "test role.yaml -s suites/hours.yaml --dry-run --repeat 3",
    "test-plain-language": "test sums.yaml --dry-run",
    "test-plain-language-verbose": "test sums.yaml --dry-run --verbose",
    "test-broken": "test role.yaml -s suites/broken.yaml --dry-run",
    "validate": "validate role.yaml sums.yaml suites/hours.yaml suites/broken.yaml",
    "run": "run role.yaml -p Hello --dry-run --no-audit",
    "import": "import promptfooconfig.yaml",
    "import-strict": "import promptfooconfig.yaml --strict -o imported.yaml",
    "migrate": "migrate old_mocks.py",
    "migrate-check": "migrate --check old_mocks.py",
    "migrate-partial": "migrate --partial --write --no-verify old_mocks.py",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_prints_what_is_checked_in(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(PROJECT, tmp_path / "project")
    monkeypatch.chdir(tmp_path / "project")
    monkeypatch.setenv("COLUMNS", "100")
    result = CliRunner().invoke(main, COMMANDS[name].split(), prog_name="llm-mock")
    shown = f"$ llm-mock {COMMANDS[name]}\n{result.output}--- exit code {result.exit_code}\n"
    compare_bytes(OUTPUTS / f"{name}.txt", DURATION.sub("TIME ", shown).encode())


def test_each_output_is_of_a_command() -> None:
    assert {path.stem for path in OUTPUTS.iterdir()} == set(COMMANDS)
