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
NOTHING = "No mocks of llm or an SDK were found.\n"
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
    (folder / "test_by_hand.py").write_text(BY_HAND)
    assert run(".") == (
        0,
        """\
--- test_app.py
+++ test_app.py
@@ -1,10 +1,7 @@
-from unittest.mock import patch
-
 from app import ask


-def test_greeting():
+def test_greeting(mock_llm_responses):
     # what the model says
-    with patch("app.get_model") as get_model:
-        get_model.return_value.prompt.return_value.text.return_value = "Hello"
-        assert ask()  ==  "Hello"
+    mock_llm_responses.set("*", "Hello")
+    assert ask()  ==  "Hello"
test_by_hand.py:6: test_by_hand: the reply depends on the prompt (prompt.upper()). Configure a \
function of the request: mock_llm_responses.set(model, lambda request: …). request.prompt is the \
text, and request.system is the system prompt.
To rewrite: 1 test in 1 file, 1 left to you. Nothing was written. To write the files, pass --write.
""".replace("@@\n-from", "@@\n-from").replace("\n\n\n-def", "\n \n \n-def"),
    )
    assert (folder / "test_app.py").read_text() == OLD
    assert (folder / "test_by_hand.py").read_text() == BY_HAND


def test_files_are_written_with_their_comments_and_a_second_time_nothing_changes(
    folder: Path,
) -> None:
    path = folder / "test_app.py"
    path.write_bytes(OLD.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    code, output = run("--write", "--no-verify", ".")
    assert (code, output) == (
        0,
        "test_app.py: test_greeting rewritten.\n"
        "Rewritten: 1 test in 1 file. Run the tests, then look at the changes.\n",
    )
    assert path.read_bytes() == NEW.replace("\n", "\r\n").encode()
    assert path.stat().st_mode & 0o777 == 0o640
    assert run("--write", "--no-verify", "test_app.py") == (
        0,
        "No mocks of llm or an SDK were found.\n",
    )


def test_a_check_says_what_is_to_do_and_fails(folder: Path) -> None:
    path = folder / "test_app.py"
    path.write_text(OLD + OLD.partition("\n\n\n")[2].replace("greeting", "another"))
    (folder / "test_second.py").write_text(OLD)
    assert run("--check", ".") == (
        1,
        "test_app.py: test_greeting, test_another can be rewritten.\n"
        "test_second.py: test_greeting can be rewritten.\n"
        "To rewrite: 3 tests in 2 files.\n",
    )
    path.unlink()
    (folder / "test_second.py").unlink()
    assert run("--check", ".") == (0, NOTHING)


def test_fixtures_are_not_counted_as_tests(folder: Path) -> None:
    fixture = """\
from unittest.mock import patch

import pytest

@pytest.fixture
def model():
    with patch("app.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Hello"
        yield
"""
    test = """\

def test_greeting(model):
    from app import ask
    assert ask() == "Hello"
"""
    path = folder / "test_app.py"
    path.write_text(fixture + test)
    assert run("--check", "test_app.py") == (
        1,
        "test_app.py: model, test_greeting can be rewritten.\n"
        "To rewrite: 1 test and 1 fixture in 1 file.\n",
    )
    path.unlink()
    (folder / "conftest.py").write_text(fixture)
    assert run("--check", ".") == (
        1,
        "conftest.py: model can be rewritten.\nTo rewrite: 1 fixture in 1 file.\n",
    )


def test_a_check_fails_for_what_is_left_alone_too(folder: Path) -> None:
    (folder / "test_by_hand.py").write_text(BY_HAND)
    code, output = run("--check", "test_by_hand.py")
    assert (code, output.splitlines()[-1]) == (1, "To rewrite: 0 tests in 0 files, 1 left to you.")
    code, output = run("--write", "--no-verify", "test_by_hand.py")
    assert (code, output.splitlines()[-1]) == (
        0,
        "Rewritten: 0 tests in 0 files, 1 left to you. Run the tests, then look at the changes.",
    )


def test_each_python_file_of_a_folder_is_read_once(folder: Path) -> None:
    for name in (".venv", "node_modules", "__pycache__", "site-packages", "tests"):
        (folder / name).mkdir()
        (folder / name / "test_app.py").write_text(OLD)
    (folder / "tests" / "notes.txt").write_text(OLD)
    (folder / "tests" / "script").write_text(OLD)
    assert run("--check", "tests", ".", "tests/test_app.py") == (
        1,
        f"tests{os.sep}test_app.py: test_greeting can be rewritten.\n"
        "To rewrite: 1 test in 1 file.\n",
    )
    # A file is read by its name.
    assert run("--check", "tests/notes.txt")[0] == 1


def test_an_alias_in_an_old_record_becomes_the_id(folder: Path) -> None:
    (folder / "test_app.py").write_text(
        """\
from app import ask
from mocks import create_mock_get_model
from unittest.mock import patch


def test_it():
    mock = create_mock_get_model({"4o-mini": "Hello"})
    with patch("app.get_model", mock):
        assert ask("4o-mini") == "Hello"
    assert mock.call_history[0]["model"] == "4o-mini"
    assert mock.call_history[0]["model"] != "4o"
"""
    )
    assert run("--write", "--no-verify", ".")[0] == 0
    assert (folder / "test_app.py").read_text() == (
        """\
from app import ask


def test_it(mock_llm_responses):
    mock_llm_responses.set("4o-mini", "Hello")
    assert ask("4o-mini") == "Hello"
    assert mock_llm_responses.calls[0]["model_id"] == "gpt-4o-mini"
    assert mock_llm_responses.calls[0]["model_id"] != "gpt-4o"
"""
    )


def test_a_missing_path_is_suggested_with_its_folder(folder: Path) -> None:
    (folder / "unit").mkdir()
    (folder / "unit" / "test_app.py").write_text("")
    message = "There is no file or folder 'unit/test_ap.py'; did you mean 'unit/test_app.py'?"
    assert run("unit/test_ap.py") == (1, f"Error: {message}\n")
    assert run("nowhere/test_ap.py") == (
        1,
        "Error: There is no file or folder 'nowhere/test_ap.py'.\n",
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"import llm; def test(:\n    pass\n", "test_bad.py:1: invalid Python: invalid syntax."),
        (b"import llm\nllm = (\n", "test_bad.py:2: invalid Python: '(' was never closed."),
        (
            b"import llm\n\nllm = (\x00\n",
            "test_bad.py:1: invalid Python: source code string cannot contain null bytes.",
        ),
        (
            b"# -*- coding: utf-8 -*-\nllm = '\xff'\n",
            "test_bad.py: the file cannot be decoded: 'utf-8' codec can't decode byte 0xff in "
            "position 31: invalid start byte.",
        ),
        (
            b"# -*- coding: klingon -*-\nimport llm\n",
            "test_bad.py: the file cannot be decoded: unknown encoding: klingon.",
        ),
        (
            b"\xef\xbb\xbf# coding: latin-1\nimport llm\n",
            "test_bad.py: the file cannot be decoded: encoding problem: utf-8.",
        ),
    ],
    ids=["syntax", "parenthesis", "null byte", "bytes", "encoding", "two encodings"],
)
def test_a_file_that_is_wrong_is_one_line_and_the_others_go_on(
    folder: Path, content: bytes, message: str
) -> None:
    (folder / "test_app.py").write_text(OLD)
    (folder / "test_bad.py").write_bytes(content)
    assert run("nowhere.py") == (1, "Error: There is no file or folder 'nowhere.py'.\n")
    code, output = run("--write", "--no-verify", ".", "nowhere.py")
    assert code == 1
    assert (folder / "test_app.py").read_text() == NEW
    assert (folder / "test_bad.py").read_bytes() == content
    assert output == (
        "Error: There is no file or folder 'nowhere.py'.\n"
        f"Error: {message}\n"
        "test_app.py: test_greeting rewritten.\n"
        "Rewritten: 1 test in 1 file. Run the tests, then look at the changes.\n"
    )


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"", b"name = '\xff'\n"])
def test_a_file_that_has_nothing_to_do_with_llm_is_not_parsed(folder: Path, content: bytes) -> None:
    (folder / "data.py").write_bytes(content)
    (folder / "app.py").unlink()
    assert run("--write", "--learn", ".") == (0, NOTHING)
    assert (folder / "data.py").read_bytes() == content


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
    code, output = run("--write", "--no-verify", ".")
    assert (code, "test_app.py' cannot be written: No space left on device.\n" in output) == (
        1,
        True,
    )
    assert [path.name for path in folder.iterdir() if "test_app" in path.name] == ["test_app.py"]
    assert (folder / "test_app.py").read_text() == OLD


@pytest.mark.usefixtures("all_libraries")
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
    assert "does not show which model each mock replaces" in run("--check", ".")[1]
    code, output = run("--learn", "--write", "--no-verify", ".")
    assert (code, "Warning" in output) == (0, False)
    text = (folder / "test_app.py").read_text()
    assert 'mock_llm_responses.set("gpt-4o-mini", "Hello")\n    assert ask()  ==' in text
    assert 'mock_llm_responses.set("*", "Hello")\n    assert ask("gpt-4o") ==' in text
    assert (
        'mock_llm_responses.set("gpt-4o", "First")\n'
        '    mock_llm_responses.set("gpt-4o-mini", "Second")'
    ) in text


@pytest.mark.parametrize("target", ['"app.get_model"', 'app, "get_model"'])
def test_ids_of_models_are_learned_of_a_monkeypatch(folder: Path, target: str) -> None:
    (folder / "test_app.py").write_text(
        f"""
import app
from unittest.mock import Mock

def test_in_order(monkeypatch):
    first, second = Mock(), Mock()
    first.prompt.return_value.text.return_value = "First"
    second.prompt.return_value.text.return_value = "Second"
    monkeypatch.setattr({target}, Mock(side_effect=[first, second]))
    assert (app.ask("gpt-4o"), app.ask()) == ("First", "Second")
"""
    )
    assert run("--learn", "--write", "--no-verify", ".")[0] == 0
    text = (folder / "test_app.py").read_text()
    assert 'mock_llm_responses.set("gpt-4o", "First")' in text
    assert 'mock_llm_responses.set("gpt-4o-mini", "Second")' in text


def test_a_run_that_fails_is_told_and_the_rest_goes_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Importing plugins is most of what the run takes.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (folder / "test_app.py").write_text(OLD.replace('ask()  ==  "Hello"', "False"))
    code, output = run("--learn", ".")
    assert code == 0
    assert (
        "Warning: The models of some tests could not be learned. pytest ended with "
        "exit code 1: 1 failed"
    ) in output
    assert '+    mock_llm_responses.set("gpt-4o-mini", "Hello")' not in output


def test_check_and_write_exclude_each_other() -> None:
    code, output = run("--check", "--write", ".")
    assert (code, "--check writes nothing: use only one of --check and --write." in output) == (
        2,
        True,
    )


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


def test_a_partial_migration_lists_the_assertions_that_are_left(folder: Path) -> None:
    text = OLD + "        get_model.return_value.prompt.assert_called_with('Hi', stream=True)\n"
    (folder / "test_app.py").write_text(text)
    assert run("--check", ".")[1].endswith("To rewrite: 0 tests in 0 files, 1 left to you.\n")
    code, output = run("--partial", "--write", "--no-verify", ".")
    assert (code, output.splitlines()[0]) == (0, "test_app.py: test_greeting rewritten.")
    assert output.splitlines()[1].startswith("test_app.py:11: test_greeting: ")
    assert "Rewritten: 1 test in 1 file, 1 left to you." in output
    new = (folder / "test_app.py").read_text()
    assert new.startswith(NEW)
    assert "    # TODO llm-mock: get_model.return_value.prompt.assert_called_with(" in new
