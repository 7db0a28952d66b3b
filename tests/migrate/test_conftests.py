"""Tests whose mocks are fixtures of a conftest.py above them."""

from __future__ import annotations

import os
from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")

from llm_mock.cli import main
from llm_mock.migrate.file import FileResult, rewrite_file
from tests.migrate.migrations import load_few_plugins

CONFTEST = """
    from unittest.mock import patch

    import pytest


    @pytest.fixture{arguments}
    def model():
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "{text}"
            yield get_model.return_value
"""
TEST = """
    import app


    def test_the_answer(model):
        assert app.ask() == "Hello"
        model.prompt.assert_called_once()
"""
NEW_TEST = """
    import app


    def test_the_answer(mock_llm_responses, mock_llm_calls):
        mock_llm_responses.set("*", "Hello")
        assert app.ask() == "Hello"
        mock_llm_calls.assert_called_once()
"""
IDENTITY = """
    import app


    def test_the_identity(model):
        assert app.get_model("gpt-4o") is model
"""
OWN = """

    def test_its_own(model):
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hi"
            assert app.ask() == "Hi"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    app = "from llm import get_model\n\ndef ask():\n    return get_model('m').prompt('Hi').text()\n"
    write(tmp_path / "app.py", app)
    write(tmp_path / "pytest.ini", "[pytest]\n")
    (tmp_path / "tests" / "inner").mkdir(parents=True)
    return tmp_path


def write(path: Path, text: str) -> str:
    text = dedent(text).lstrip()
    path.write_text(text)
    return text


def write_conftest(folder: Path, arguments: str = "", text: str = "Hello") -> str:
    return write(folder / "conftest.py", CONFTEST.format(arguments=arguments, text=text))


def rewrite(path: Path) -> FileResult:
    return rewrite_file(path, path.read_bytes(), lambda test, target: (), lambda name: name)


def test_a_run_for_one_file_rewrites_it_and_leaves_all_others(folder: Path) -> None:
    conftest = write_conftest(folder / "tests")
    other = write(folder / "tests" / "test_other.py", IDENTITY)
    write(folder / "tests" / "inner" / "test_app.py", TEST)
    result = CliRunner().invoke(main, ["migrate", "--write", "tests/inner"])
    assert "test_the_answer verified: it passes" in result.output
    assert (folder / "tests" / "inner" / "test_app.py").read_text() == dedent(NEW_TEST).lstrip()
    assert (folder / "tests" / "conftest.py").read_text() == conftest
    assert (folder / "tests" / "test_other.py").read_text() == other


def test_a_second_run_for_all_files_changes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_few_plugins(monkeypatch)
    conftest = write_conftest(folder / "tests")
    write(folder / "tests" / "test_other.py", IDENTITY)
    write(folder / "tests" / "test_app.py", NEW_TEST)
    result = CliRunner().invoke(main, ["migrate", "--write", "tests"])
    assert "Rewritten: 0 tests in 0 files, 2 left to you" in result.output
    assert (folder / "tests" / "conftest.py").read_text() == conftest


def test_the_nearest_fixture_counts(folder: Path) -> None:
    write_conftest(folder / "tests", text="Far")
    write_conftest(folder / "tests" / "inner")
    path = folder / "tests" / "inner" / "test_app.py"
    write(path, TEST)
    assert rewrite(path).after == dedent(NEW_TEST).lstrip()


def test_a_fixture_above_the_project_is_none_of_its_tests(folder: Path) -> None:
    write_conftest(folder)
    write(folder / "tests" / "pytest.ini", "[pytest]\n")
    path = folder / "tests" / "test_app.py"
    write(path, TEST)
    assert rewrite(path).changed == ()


@pytest.mark.parametrize(
    ("arguments", "test", "is_left"),
    [
        ("(scope='module')", TEST, True),
        ("(scope='module')", TEST.replace("(model)", "()"), False),
        ("(scope='session')", TEST.replace("(model)", "()"), True),
        ("()", TEST, False),
    ],
)
def test_a_patch_for_several_tests_may_reach_a_new_test(
    folder: Path, arguments: str, test: str, is_left: bool
) -> None:
    write_conftest(folder / "tests", arguments)
    path = folder / "tests" / "test_app.py"
    own = OWN.replace("(model)", "()")
    write(path, "from unittest.mock import patch\n" + dedent(test) + dedent(own))
    result = rewrite(path)
    assert ("test_its_own" not in result.changed) == is_left
    reasons = {change.name: change.reason for change in result.manual_changes}
    if is_left:
        assert reasons["test_its_own"] == (
            "the patch of the fixture model in a conftest.py lasts for several tests and may "
            "affect this one"
        )


@pytest.mark.parametrize(
    "source",
    [
        b"from unittest.mock import (",
        b"mock = '\xff'\n",
        b"# coding: mock\n",
        b"# coding: utf-8\nmock = '\xff'\n",
    ],
)
@pytest.mark.parametrize(("broken", "valid"), [("tests", "."), (".", "tests")])
def test_a_broken_conftest_gives_no_fixtures(
    folder: Path, broken: str, valid: str, source: bytes
) -> None:
    (folder / broken / "conftest.py").write_bytes(source)
    write_conftest(folder / valid)
    path = folder / "tests" / "test_app.py"
    write(path, TEST)
    assert rewrite(path).after == dedent(NEW_TEST).lstrip()


@pytest.mark.parametrize(
    ("tokens", "own", "unknown"),
    [
        ("TOKENS", "", "TOKENS"),
        ("TOKENS", "TOKENS = 7", "TOKENS"),
        ("int(time.time())", "", "time"),
        ("int(time.time())", "import time", ""),
        ("len('abc')", "", ""),
        ("len('abc')", "def len(text):\n    return 7", "len"),
        ("len('abc')", "class len: ...", "len"),
        ("len('abc')", "len = service.count", "len"),
        # The conftest.py has another value of this builtin.
        ("id", "", "id"),
    ],
)
def test_a_name_of_the_conftest_in_a_reply_is_not_known_to_its_tests(
    folder: Path, tokens: str, own: str, unknown: str
) -> None:
    write(folder / "service.py", "from openai import OpenAI\n")
    write(
        folder / "tests" / "conftest.py",
        f"""
        import time
        from unittest.mock import Mock, patch

        import pytest

        TOKENS = 5
        id = 6


        @pytest.fixture
        def create():
            with patch("service.OpenAI") as client_class:
                create = client_class.return_value.chat.completions.create
                create.return_value = Mock(
                    created=time.time(),
                    choices=[Mock(message=Mock(content="Hi"))],
                    usage=Mock(prompt_tokens=1, completion_tokens={tokens}),
                )
                yield create
        """,
    )
    path = folder / "tests" / "test_service.py"
    write(path, f"import service\n{own}\n\n\ndef test_it(create):\n    service.run()\n")
    result = rewrite(path)
    assert (result.changed == ()) == bool(unknown)
    reasons = [change.reason for change in result.manual_changes]
    expected = f"the fixture create in a conftest.py uses {unknown}, which is not defined in"
    assert [reason.startswith(expected) for reason in reasons] == [True] * bool(unknown)


def test_a_fixture_without_a_reply_is_left(folder: Path) -> None:
    write(
        folder / "tests" / "conftest.py",
        """
        from unittest.mock import patch

        import pytest


        @pytest.fixture
        def model():
            with patch("app.get_model") as get_model:
                yield get_model.return_value
        """,
    )
    path = folder / "tests" / "test_app.py"
    write(path, "import app\n\n\ndef test_it(model):\n    app.ask()\n")
    result = rewrite(path)
    assert result.changed == ()
    [change] = result.manual_changes
    assert change.reason == "no reply is configured, so the model replies with another Mock"


def test_a_fixture_that_gives_a_function_is_no_mock_of_a_model(folder: Path) -> None:
    write(
        folder / "tests" / "conftest.py",
        """
        from unittest.mock import Mock

        import pytest


        @pytest.fixture
        def adder():
            def adder(a, b):
                return str(a + b)

            return adder


        @pytest.fixture
        def openai_name():
            return "openai"
        """,
    )
    path = folder / "tests" / "test_sum.py"
    write(path, "def test_it(adder, openai_name):\n    total = sum([adder])\n    assert total\n")
    result = rewrite(path)
    assert (result.changed, result.manual_changes) == ((), ())
