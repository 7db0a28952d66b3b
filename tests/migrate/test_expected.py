"""Each old file becomes exactly the file of the same name in `expected`; `left` stays as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file
from tests.expected import compare_bytes

HERE = Path(__file__).parent
OLD = sorted(path.name for path in (HERE / "old").glob("test_*.py"))
TABLES = ("test_doubles.py", "test_helpers.py", "test_values.py")
"""Old files whose tests become the same few lines: a second run shows no more than of others."""
LEFT = sorted(path.name for path in (HERE / "left").glob("test_*.py"))


def migrate(name: str, source: bytes) -> FileResult:
    # Beside the application that the tests patch.
    path = HERE / "old" / name
    return rewrite_file(path, source, lambda test, target: (), lambda name: name)


@pytest.mark.parametrize("name", OLD)
def test_an_old_file_becomes_the_expected_file(name: str) -> None:
    result = migrate(name, (HERE / "old" / name).read_bytes())
    assert result.manual_changes == ()
    compare_bytes(HERE / "expected" / name, result.encoded)
    if name not in TABLES:
        again = migrate(name, result.encoded)
        assert (again.encoded, again.changed, again.manual_changes) == (result.encoded, (), ())


@pytest.mark.parametrize("name", LEFT)
def test_a_file_that_is_not_understood_stays_and_each_reason_is_told(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = (HERE / "left" / name).read_bytes()
    monkeypatch.chdir(HERE / "old")
    result = migrate(name, source)
    assert (result.encoded, result.changed) == (source, ())
    reports = "".join(f"{change}\n" for change in result.manual_changes)
    compare_bytes((HERE / "left" / name).with_suffix(".txt"), reports.encode())
