"""The project of a test, and its plugins."""

from __future__ import annotations

from pathlib import Path

import pytest

from llm_mock.errors import InvalidFile
from llm_mock.specs.tools_server import find_plugin_files, find_project_root


@pytest.mark.parametrize("mark", ["pyproject.toml", "setup.py", ".git"])
def test_the_root_is_the_nearest_folder_with_a_mark(mark: str, tmp_path: Path) -> None:
    (tmp_path / "setup.py").touch()
    root = tmp_path / "inner"
    (root / "tests" / "llm").mkdir(parents=True)
    (root / mark).touch()
    assert find_project_root(root / "tests" / "llm" / "login.yaml") == root
    assert find_project_root(root / "tests") == root
    assert find_project_root(root) == root
    assert find_project_root(tmp_path / "other.yaml") == tmp_path


def test_a_relative_path_is_one_of_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyproject.toml").touch()
    monkeypatch.chdir(tmp_path)
    assert find_project_root("tests/login.yaml") == tmp_path


def test_without_a_mark_it_is_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("llm_mock.specs.tools_server.ROOT_MARKERS", ("no-such-mark",))
    assert find_project_root(tmp_path / "a" / "login.yaml") == tmp_path / "a"
    assert find_project_root(tmp_path / "tests" / "llm" / "users" / "login.yaml") == tmp_path


@pytest.fixture
def plugins(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "tests" / "llm" / "plugins"
    folder.mkdir(parents=True)
    return folder


def test_plugins_are_the_python_files_of_their_folder(plugins: Path) -> None:
    for name in ("b.py", "a.py", "_shared.py", "__init__.py", "notes.txt"):
        (plugins / name).touch()
    (plugins / "folder.py").mkdir()
    root = plugins.parents[2]
    assert find_plugin_files(root) == [plugins / "a.py", plugins / "b.py"]
    assert find_plugin_files(root.parent) == []


def test_a_link_within_the_project_is_followed(plugins: Path) -> None:
    root = plugins.parents[2]
    (root / "shared.py").touch()
    (plugins / "chart.py").symlink_to(root / "shared.py")
    assert find_plugin_files(root) == [plugins / "chart.py"]


def test_a_plugin_outside_the_project_is_refused(plugins: Path, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.py"
    target.touch()
    (plugins / "chart.py").symlink_to(target)
    with pytest.raises(InvalidFile) as caught:
        find_plugin_files(plugins.parents[2])
    assert str(caught.value).startswith(
        f"{plugins / 'chart.py'}: this plugin is outside of the project: it leads to"
    )
    assert str(target) in str(caught.value)


def test_a_folder_of_plugins_outside_the_project_is_refused(plugins: Path, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "chart.py").touch()
    plugins.rmdir()
    plugins.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidFile, match="is outside of the project"):
        find_plugin_files(plugins.parents[2])
