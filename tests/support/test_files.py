"""A file is written as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from llm_mock.support import files
from llm_mock.support.files import check_writable, write_atomically
from llm_mock.support.temporary_folders import TemporaryFolder
from tests.process_state import StateWatch, assert_nothing_left


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("function", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    def fail(*arguments: object) -> None:
        raise error

    path = tmp_path / "file"
    path.write_text("old")
    watch = StateWatch(tmp_path, kinds=("file", "descriptor"))
    with monkeypatch.context() as patch:
        patch.setattr(os, function, fail)
        with pytest.raises(type(error)):
            write_atomically(path, "new")
    assert_nothing_left(watch.take_changes())


def test_the_content_is_on_the_disk_before_it_replaces_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "folder" / "file"
    written: list[object] = []
    monkeypatch.setattr(os, "fsync", lambda file: written.append(os.fstat(file).st_size))
    write_atomically(path, "new")
    assert (written, path.read_text()) == ([3], "new")
    write_atomically(path, b"newer", durable=False)
    assert (written, path.read_bytes()) == ([3], b"newer")
    assert [each.name for each in path.parent.iterdir()] == ["file"]


def test_a_file_that_another_process_removes_before_it_is_locked_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hold, refused = files.hold, []

    def hold_second(descriptor: int, path: str) -> bool:
        if not refused:
            refused.append(path)
            os.unlink(path)
        return hold(descriptor, path)

    monkeypatch.setattr(files, "hold", hold_second)
    watch = StateWatch(kinds=("descriptor",))
    write_atomically(tmp_path / "file", "new")
    assert (tmp_path / "file").read_text() == "new"
    assert_nothing_left(watch.take_changes())


def test_whether_a_file_can_be_written_is_tried_without_a_trace(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old")
    watch = StateWatch(tmp_path, kinds=("file", "descriptor"))
    check_writable(path)
    assert_nothing_left(watch.take_changes())
    check_writable(tmp_path / "new" / "file")
    assert list((tmp_path / "new").iterdir()) == []
    with pytest.raises(IsADirectoryError):
        check_writable(tmp_path)


def test_a_temporary_folder_lasts_as_long_as_its_context(tmp_path: Path) -> None:
    watch = StateWatch(tmp_path, kinds=("file", "descriptor"))
    with TemporaryFolder("tools") as folder:
        (folder / "file").write_text("x")
        assert folder.is_dir()
    assert not folder.exists()
    assert_nothing_left(watch.take_changes())
