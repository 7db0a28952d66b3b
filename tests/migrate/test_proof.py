"""A rewritten test passes and fails exactly as the old one, for right and wrong programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("libcst")
pytest.importorskip("pytest_mock")
# Imported here, and not by the runs: these forget their modules, and search all new objects.
for sdk in ("anthropic", "google.genai", "mistralai.client"):
    pytest.importorskip(sdk)

OLD = Path(__file__).parent / "old"
EXPECTED = Path(__file__).parent / "expected"
UNNEEDED = ("logging", "capture", "unraisableexception", "threadexception")
"""Without these plugins a test takes two thirds of the time."""
NAMES = sorted(path.name for path in OLD.glob("test_*.py"))
GROUPS = 4
"""The number of tests into which the files are divided, so that workers share them."""


def outcomes(
    pytester: pytest.Pytester, folder: Path, names: list[str], *options: str
) -> dict[str, str]:
    """Return what became of each test of some files in a folder."""
    unneeded = [f"-pno:{name}" for name in UNNEEDED]
    paths = [folder / name for name in names]
    result = pytester.inline_run(
        *paths, "--tb=no", "-qq", "-rN", "-p", "pytest_mock", *unneeded, *options
    )
    return {
        call.nodeid.partition("/")[2]: call.outcome
        for call in result.getreports("pytest_runtest_logreport")
        if call.when == "call"
    }


@pytest.mark.parametrize("group", range(GROUPS))
def test_a_rewritten_test_passes_and_fails_where_the_old_one_did(
    pytester: pytest.Pytester, group: int
) -> None:
    names = NAMES[group::GROUPS]
    old, new = (Path(shutil.copytree(OLD, pytester.path / name)) for name in ("old", "new"))
    for path in EXPECTED.glob("test_*.py"):
        shutil.copy(path, new)
    before = outcomes(pytester, old, names, "-p", "no:llm_mock")
    after = outcomes(pytester, new, names, "-o", "llm_mock_strict=error")
    assert before.keys() == after.keys()
    different = {name for name in before if before[name] != after[name]}
    # A reply for one model notices more than a mock that answers for all of them, and a strict test
    # notices a schema that the reply breaks.
    noticed = {name for name in different if after[name] == "failed"}
    stronger = {name for name in noticed if "[model" in name or "[schema" in name}
    assert different - stronger == set()
    right = [outcome for name, outcome in before.items() if "[]" in name or "[-" in name]
    assert set(right) == {"passed"}
    assert len(right) >= 65
    assert sum(outcome == "failed" for outcome in before.values()) >= 100
