"""A fixture that only patches stays for the tests that stay as they are."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

FILE = """
    from unittest.mock import patch

    import pytest

    import app


    @pytest.fixture{arguments}
    def model():
        with patch("app.get_model") as get_model:
            {configuration}yield get_model.return_value


    def test_the_answer(model):
        model.prompt.return_value.text.return_value = "Hello"
        assert app.ask() == "Hello"


    def test_the_identity(model):
        model.prompt.return_value.text.return_value = "Hello"
        assert app.ask() is model
"""
BUSY_FIXTURE = """
    from unittest.mock import Mock, patch

    import pytest

    import app


    @pytest.fixture
    def model(monkeypatch):
        model = Mock()
        monkeypatch.setenv("MODE", "test")
        return model


    def test_the_answer(model):
        model.prompt.return_value.text.return_value = 'Hello'
"""
SILENT = """
    from unittest.mock import Mock, patch

    import pytest

    import app


    @pytest.fixture
    def silence():
        with patch("app.get_model") as get_model:
            get_model.return_value = Mock()
            yield


    def test_it(silence):
        app.ask()


    @patch("app.get_model")
    def test_its_own(get_model, silence):
        get_model.return_value.prompt.return_value.text.return_value = "Hi"
        assert app.greet() == "Hi"
"""
REPLYING = """
    from unittest.mock import Mock, patch

    import pytest

    import app


    @pytest.fixture
    def reply():
        with patch("app.get_model") as get_model:
            get_model.return_value.prompt.return_value.text.return_value = "Hi"
            yield


    def test_it(reply):
        with patch("llm.Model.prompt"):
            app.ask()
"""
NEW_FIXTURE = """
    @pytest.fixture(autouse=True)
    def model():
        os.environ["KEY"] = "test"


    def
"""
NEW_TEST = """
    def test_the_answer(mock_llm_responses):
        mock_llm_responses.set("*", "Hello")
        assert app.ask() == "Hello"
"""


def migrate(folder: Path, arguments: str = "", configuration: str = "") -> tuple[str, FileResult]:
    (folder / "app.py").write_text("from llm import get_model\n")
    source = dedent(FILE.format(arguments=arguments, configuration=configuration))
    result = rewrite_file(
        folder / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )
    return source, result


def test_it_stays_for_the_test_that_needs_it(tmp_path: Path) -> None:
    source, result = migrate(tmp_path, "(scope='function')")
    assert result.changed == ("test_the_answer",)
    start = source.index("def test_the_answer")
    end = source.index("\n\n\ndef test_the_identity")
    assert result.after == source[:start] + dedent(NEW_TEST).strip() + source[end:]
    [change] = result.manual_changes
    assert (change.name, change.line) == ("test_the_identity", 22)


def test_one_that_gives_nothing_stays_for_the_test_that_needs_its_patch(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    source = dedent(SILENT)
    result = rewrite_file(
        tmp_path / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )
    new_test = 'def test_its_own(mock_llm_responses):\n    mock_llm_responses.set("*", "Hi")\n'
    start = source.index("@patch")
    end = source.index("    assert app.greet()")
    assert result.after == source[:start] + new_test + source[end:]
    assert [change.name for change in result.manual_changes] == ["test_it"]


def test_one_that_only_replies_does_so_for_the_test_that_stays(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    result = rewrite_file(
        tmp_path / "test_app.py",
        dedent(REPLYING).encode(),
        lambda test, target: (),
        lambda name: name,
    )
    assert result.changed == ("reply",)
    assert [change.name for change in result.manual_changes] == ["test_it"]


def test_one_that_does_something_else_stays_without_its_patch(tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    setup = 'os.environ["KEY"] = "test"\n            '
    source = dedent(FILE.format(arguments="(autouse=True)", configuration=setup))
    source = source.partition("\n\n\ndef test_the_identity")[0]
    result = rewrite_file(
        tmp_path / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )
    assert result.changed == ("model", "test_the_answer")
    assert dedent(NEW_FIXTURE).strip() in result.after
    assert "def test_the_answer(model, mock_llm_responses):" in result.after


@pytest.mark.parametrize(
    ("arguments", "configuration"),
    [
        ("(autouse=True)", ""),
        ("", "get_model.return_value.prompt.return_value.text.return_value = 'Hi'\n        "),
    ],
)
def test_one_that_does_more_stays_with_all_of_its_tests(
    tmp_path: Path, arguments: str, configuration: str
) -> None:
    source, result = migrate(tmp_path, arguments, configuration)
    assert (result.changed, result.after) == ((), source)
    reasons = {change.name: change.reason for change in result.manual_changes}
    assert reasons["model"] == "test_the_identity uses it and cannot be rewritten"
    assert reasons["test_the_answer"] == "it uses the fixture model, which cannot be rewritten"


@pytest.mark.parametrize(
    ("scope", "is_changed"),
    [("function", True), ("module", False), ("session", False)],
)
def test_one_that_stays_for_several_tests_may_reach_the_others(
    tmp_path: Path, scope: str, is_changed: bool
) -> None:
    _, result = migrate(tmp_path, f"(scope={scope!r})")
    assert ("test_the_answer" in result.changed) == is_changed
    reasons = {change.name: change.reason for change in result.manual_changes}
    reason = "the patch of the fixture model lasts for several tests and may affect this one"
    assert (reasons.get("test_the_answer") == reason) != is_changed


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (
            "with patch('app.get_model', return_value=model):\n        assert app.ask() == 'Hello'",
            "the fixture model provides a mock and also does something else",
        ),
        (
            "with patch('app.get_model'):\n        assert app.stop() == 'Hello'",
            "no reply is configured, so the model replies with another Mock",
        ),
    ],
)
def test_one_that_gives_a_mock_and_does_more_stays_with_its_test(
    tmp_path: Path, use: str, reason: str
) -> None:
    (tmp_path / "app.py").write_text("from llm import get_model\n")
    source = dedent(BUSY_FIXTURE) + f"    {use}\n"
    result = rewrite_file(
        tmp_path / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )
    assert result.after == source
    [change] = result.manual_changes
    assert change.reason == reason
