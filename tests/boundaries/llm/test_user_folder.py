"""The user folder of `llm`: that of the run, and for a moment that of the user."""

from __future__ import annotations

import threading
from pathlib import Path

import click
import llm
import pytest

from llm_mock import LLMMock
from llm_mock.boundaries.llm.user_folder import (
    list_model_files,
    read_stored_keys,
    switch_user_folder,
)


def test_the_folder_of_the_user_is_there_for_a_moment_and_a_thread(
    tmp_path: Path, mock_llm_calls: LLMMock
) -> None:
    of_the_run = llm.user_dir()
    found: list[Path] = []
    with switch_user_folder(str(tmp_path)):
        assert llm.user_dir() == tmp_path
        thread = threading.Thread(target=lambda: found.append(llm.user_dir()))
        thread.start()
        thread.join()
    assert found == [of_the_run]
    assert llm.user_dir() == of_the_run != tmp_path
    with switch_user_folder(None):
        assert llm.user_dir() == Path(click.get_app_dir("io.datasette.llm"))
    with pytest.raises(RuntimeError, match="an error"), switch_user_folder(str(tmp_path)):
        raise RuntimeError("an error")
    assert llm.user_dir() == of_the_run


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ('{"openai": "sk-ä", "other": "two", "number": 5, "none": null}', ["sk-ä", "two"]),
        ("{}", []),
        ('["sk-1"]', []),
        ('"sk-1"', []),
        ("no json", []),
        (None, []),
    ],
)
def test_the_keys_that_the_user_stored_are_read(
    text: str | None, keys: list[str], tmp_path: Path
) -> None:
    if text is not None:
        (tmp_path / "keys.json").write_text(text, encoding="utf-8")
    assert read_stored_keys(str(tmp_path)) == keys


def test_keys_that_are_not_utf_8_are_none(tmp_path: Path) -> None:
    (tmp_path / "keys.json").write_bytes(b'{"a": "\xff"}')
    assert read_stored_keys(str(tmp_path)) == []


def test_the_files_with_names_of_models_are_in_the_folder_of_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["aliases.json", "extra-openai-models.yaml"]
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    assert list_model_files() == [tmp_path / name for name in names]
    monkeypatch.delenv("LLM_USER_PATH")
    of_the_run = list_model_files()
    assert [file.name for file in of_the_run] == names
    assert of_the_run[0].parent not in (tmp_path, Path.cwd())
