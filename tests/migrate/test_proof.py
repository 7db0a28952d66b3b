"""A rewritten test passes and fails exactly as the old one, for right and wrong programs."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

pytest.importorskip("libcst")
pytest.importorskip("pytest_mock")

from llm_mock.migrate.file import rewrite_file

OLD = Path(__file__).parent / "old"
WARNED = ("-W", "always::llm_mock.SchemaViolationWarning")
"""A reply that breaks the schema which a broken application asks for is noticed; no old test does that."""  # noqa: E501
TESTS = sorted(path.name for path in OLD.glob("test_*.py"))


def outcomes(pytester: pytest.Pytester, folder: Path, *options: str) -> dict[str, str]:
    """Return what became of each test of a folder."""
    result = pytester.inline_run(folder, "--tb=no", "-qq", "-rN", "-p", "pytest_mock", *options)
    return {
        call.nodeid.partition("/")[2]: call.outcome
        for call in result.getreports("pytest_runtest_logreport")
        if call.when == "call"
    }


def migrated(folder: Path) -> None:
    for name in TESTS:
        path = folder / name
        result = rewrite_file(path, path.read_bytes(), lambda test, target: (), lambda name: name)
        assert result.manual_changes == ()
        assert result.after != result.before
        again = rewrite_file(
            path, result.after.encode(), lambda test, target: (), lambda name: name
        )
        assert (again.after, again.manual_changes) == (result.after, ())
        path.write_text(result.after)


def test_a_rewritten_test_passes_and_fails_where_the_old_one_did(pytester: pytest.Pytester) -> None:
    old, new = (Path(shutil.copytree(OLD, pytester.path / name)) for name in ("old", "new"))
    migrated(new)
    before = outcomes(pytester, old, "-p", "no:llm_mock")
    after = outcomes(pytester, new, "-o", "llm_mock_strict=error", *WARNED)
    different = {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    assert different == set()
    with_a_right_application = {
        name: outcome for name, outcome in before.items() if "[]" in name or "[-" in name
    }
    assert set(with_a_right_application.values()) == {"passed"}
    assert len(with_a_right_application) >= 60
    assert sum(outcome == "failed" for outcome in before.values()) >= 100
