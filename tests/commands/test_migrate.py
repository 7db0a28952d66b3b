"""`llm-mock migrate`: its output, the files it writes, and unreadable files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from llm_mock.cli import main

pytest.importorskip("libcst")

APP = "from llm import get_model\n\ndef ask(name='gpt-4o-mini'):\n    return get_model(name).prompt('Hi').text()\n"  # noqa: E501
OLD = """\
from unittest.mock import patch

from app import ask


def test_greeting():
    # what the model says
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hello"
        assert ask()  ==  "Hello"
"""
NEW = """\
from app import ask


def test_greeting(mock_llm_responses):
    # what the model says
    mock_llm_responses.set("*", "Hello")
    assert ask()  ==  "Hello"
"""
BY_HAND = """\
from unittest.mock import patch
from app import ask

def test_by_hand():
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt.side_effect = lambda prompt: prompt.upper()
        ask()
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(APP)
    return tmp_path


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(main, ["migrate", *arguments])
    return result.exit_code, result.output


def test_the_changes_are_shown_and_nothing_is_written(folder: Path) -> None:
    (folder / "test_app.py").write_text(OLD)
    code, output = run(".")
    assert code == 0
    assert '+    mock_llm_responses.set("*", "Hello")\n' in output
    assert '-    with patch("app.get_model") as get_model:\n' in output
    assert "To rewrite: 1 test in 1 file. Nothing was written: --write does.\n" in output
    assert (folder / "test_app.py").read_text() == OLD


def test_files_are_written_with_their_comments_and_a_second_time_nothing_changes(
    folder: Path,
) -> None:
    path = folder / "test_app.py"
    path.write_bytes(OLD.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    code, output = run("--write", ".")
    assert (code, output.splitlines()[0]) == (0, "test_app.py: test_greeting rewritten.")
    assert path.read_bytes() == NEW.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert run("--write", "test_app.py") == (0, "No mocks of llm were found.\n")


def test_a_check_says_what_is_to_do_and_fails(folder: Path) -> None:
    path = folder / "test_app.py"
    path.write_text(OLD)
    (folder / "test_by_hand.py").write_text(BY_HAND)
    code, output = run("--check", ".")
    assert code == 1
    assert "test_app.py: test_greeting can be rewritten.\n" in output
    assert "test_by_hand.py:6: test_by_hand: the reply depends on the prompt" in output
    assert (
        "Give a function of the prompt: mock_llm_responses.set(model, lambda prompt: …)" in output
    )
    assert "To rewrite: 1 test in 1 file, 1 left to you.\n" in output
    path.unlink()
    (folder / "test_by_hand.py").unlink()
    assert run("--check", ".") == (0, "No mocks of llm were found.\n")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"import llm; def test(:\n    pass\n", "test_bad.py:1: invalid Python"),
        (b"# -*- coding: utf-8 -*-\nllm = '\xff'\n", "test_bad.py: the file cannot be decoded"),
    ],
)
def test_a_file_that_is_wrong_is_one_line_and_the_others_go_on(
    folder: Path, content: bytes, message: str
) -> None:
    (folder / "test_app.py").write_text(OLD)
    (folder / "test_bad.py").write_bytes(content)
    code, output = run("--write", ".", "nowhere.py")
    assert code == 1
    assert (folder / "test_app.py").read_text() == NEW
    errors = [line for line in output.splitlines() if line.startswith("Error: ")]
    assert len(errors) == 2
    assert f"Error: {message}" in output
    assert "Error: nowhere.py does not exist.\n" in output


def test_a_file_that_cannot_be_read_or_written_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "test_app.py").write_text(OLD)
    os.mkfifo(folder / "test_pipe.py")
    code, output = run("--check", ".")
    assert code == 1
    assert (
        "Error: test_pipe.py cannot be read: not a regular file, but a pipe or a device.\n"
        in output
    )
    (folder / "test_pipe.py").unlink()

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, output = run("--write", ".")
    assert (code, "test_app.py' cannot be written: No space left on device.\n" in output) == (
        1,
        True,
    )
    assert [path.name for path in folder.iterdir() if "test_app" in path.name] == ["test_app.py"]
    assert (folder / "test_app.py").read_text() == OLD


def test_ids_of_models_are_learned_by_a_run_of_the_old_tests(folder: Path) -> None:
    (folder / "test_app.py").write_text(
        OLD
        + """

def test_two_models(monkeypatch):
    class Answer:
        def text(self):
            return "Hello"

    class Model:
        def prompt(self, prompt):
            return Answer()

    monkeypatch.setattr("app.get_model", lambda name: Model())
    assert ask("gpt-4o") == ask() == "Hello"


@patch("app.get_model")
def test_in_order(get_model):
    from unittest.mock import Mock

    first, second = Mock(), Mock()
    first.prompt.return_value.text.return_value = "First"
    second.prompt.return_value.text.return_value = "Second"
    get_model.side_effect = [first, second]
    assert (ask("gpt-4o"), ask()) == ("First", "Second")
"""
    )
    assert "does not show which model each of them stands for" in run("--check", ".")[1]
    code, output = run("--learn", "--write", ".")
    assert (code, "Warning" in output) == (0, False)
    text = (folder / "test_app.py").read_text()
    assert 'mock_llm_responses.set("gpt-4o-mini", "Hello")\n    assert ask()  ==' in text
    assert 'mock_llm_responses.set("*", "Hello")\n    assert ask("gpt-4o") ==' in text
    assert (
        'mock_llm_responses.set("gpt-4o", "First")\n'
        '    mock_llm_responses.set("gpt-4o-mini", "Second")'
    ) in text


def test_a_run_that_fails_is_told_and_the_rest_goes_on(folder: Path) -> None:
    (folder / "test_app.py").write_text(OLD.replace('ask()  ==  "Hello"', "False"))
    code, output = run("--learn", ".")
    assert code == 0
    assert (
        "Warning: Which models are asked for was not learned everywhere. pytest ended with "
        "exit code 1: 1 failed"
    ) in output
    assert '+    mock_llm_responses.set("gpt-4o-mini", "Hello")' not in output


def test_check_and_write_exclude_each_other() -> None:
    code, output = run("--check", "--write", ".")
    assert (code, "--check writes nothing: give --check or --write." in output) == (2, True)


def test_a_missing_libcst_is_named_with_what_installs_it(tmp_path: Path) -> None:
    code = "import sys; sys.modules['libcst'] = None; from llm_mock.cli import main; main(['migrate', '.'])"  # noqa: E501
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert (process.returncode, process.stderr) == (
        1,
        (
            "Error: Rewriting tests needs libcst, which is not installed. Run: pip install "
            "'pytest-llm-mock[migrate]'\n"
        ),
    )
