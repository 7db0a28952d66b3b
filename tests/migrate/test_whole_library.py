"""Tests that replace the whole of `llm`, and configure more of it than models."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")

from llm_mock.cli import main
from llm_mock.migrate.file import FileResult, rewrite_file

APP = """
import llm


def list_ids():
    return [model.model_id for model in llm.get_models()]


def ask():
    return llm.get_model("gpt-4o-mini").prompt("Hi").text()
"""
START = """
from types import SimpleNamespace
from unittest import TestCase
from unittest.mock import Mock, patch

import app
import llm
import pytest
"""
DECORATED = """

@patch("app.llm")
def test_it(library):
    model = Mock()
    model.model_id = "small"
    {lines}
"""


def migrate(folder: Path, test: str, start: str = START) -> FileResult:
    (folder / "app.py").write_text(APP)
    path = folder / "test_app.py"
    source = start + test
    path.write_text(source)
    return rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)


def decorate(*lines: str) -> str:
    return DECORATED.format(lines="\n    ".join(lines))


def get_reason(result: FileResult) -> str:
    return "".join(change.reason for change in result.manual_changes)


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (
            "library.get_models.return_value = [model]",
            'monkeypatch.setattr("llm.get_models", Mock(return_value=[model]))',
        ),
        (
            "library.get_models.side_effect = ValueError('no plugin')",
            "monkeypatch.setattr(\"llm.get_models\", Mock(side_effect=ValueError('no plugin')))",
        ),
        (
            "library.get_models_with_aliases.return_value = []  # none",
            'monkeypatch.setattr("llm.get_models_with_aliases", Mock(return_value=[]))  # none',
        ),
    ],
)
def test_a_list_of_models_is_patched_alone(tmp_path: Path, line: str, new: str) -> None:
    result = migrate(tmp_path, decorate(line, "app.list_ids()"))
    assert get_reason(result) == ""
    assert "def test_it(monkeypatch):\n" in result.after
    assert f"    {new}\n    app.list_ids()\n" in result.after
    assert '@patch("app.llm")' not in result.after


def test_a_list_of_models_and_a_reply_are_configured_beside_each_other(tmp_path: Path) -> None:
    test = decorate(
        "library.get_models.return_value = [model]",
        'library.get_model.return_value.prompt.return_value.text.return_value = "Hi"',
        'assert app.ask() == "Hi"',
    )
    result = migrate(tmp_path, test)
    assert "def test_it(mock_llm_responses, monkeypatch):\n" in result.after
    assert '    mock_llm_responses.set("*", "Hi")\n    assert app.ask() == "Hi"' in result.after


def test_the_new_test_is_not_listed_again(tmp_path: Path) -> None:
    first = migrate(tmp_path, decorate("library.get_models.return_value = [model]", "app.ask()"))
    again = migrate(tmp_path, first.after, start="")
    assert (again.changed, again.manual_changes) == ((), ())


MOCKED = "app.llm.{} is mocked, but the command can rewrite only mocks of model calls"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["library.get_key.return_value = 'k'"], MOCKED.format("get_key")),
        (["library.get_models.return_value.first = model"], MOCKED.format("get_models")),
        (
            [
                "model.prompt.return_value.text.return_value = 'Hi'",
                "library.get_models.return_value = [model]",
            ],
            MOCKED.format("get_models"),
        ),
        (
            ["library.get_models.return_value = [Mock(chain=Mock())]"],
            MOCKED.format("get_models"),
        ),
        (
            ["for number in (1, 2):", "    library.get_models.return_value = [number]"],
            "mocks are configured in a loop or under a condition",
        ),
        (
            [
                "library.get_model.return_value = model",
                "app.ask()",
                "library.get_models.return_value = [model]",
            ],
            "this use of the mock model cannot be converted: "
            "library.get_models.return_value = [model]",
        ),
        (
            [
                "library.get_models.return_value = []",
                "app.list_ids()",
                "library.get_models.assert_called_once()",
            ],
            MOCKED.format("get_models"),
        ),
    ],
)
def test_what_is_more_than_a_list_of_models_is_left(
    tmp_path: Path, lines: list[str], reason: str
) -> None:
    result = migrate(tmp_path, decorate(*lines))
    assert (result.changed, get_reason(result)) == ((), reason)


def test_a_file_without_a_mock_class_cannot_patch_a_list_of_models(tmp_path: Path) -> None:
    test = """
        import app
        from unittest.mock import patch

        def test_it():
            with patch("app.llm") as library:
                library.get_models.return_value = []
                app.list_ids()
    """
    result = migrate(tmp_path, dedent(test), start="")
    assert get_reason(result) == MOCKED.format("get_models")


def test_a_method_of_a_test_case_has_no_monkeypatch(tmp_path: Path) -> None:
    test = """
        class TestLists(TestCase):
            def test_it(self):
                with patch("app.llm") as library:
                    library.get_models.return_value = []
                    app.list_ids()
    """
    reason = get_reason(migrate(tmp_path, dedent(test)))
    assert reason.startswith("the new test needs monkeypatch, which a method of")


@pytest.mark.parametrize(
    "patcher",
    [
        'patch("llm.get_models", return_value=[Mock(model_id="small")])',
        'patch("llm.get_models", Mock(return_value=[]))',
        'patch.object(llm, "get_models_with_aliases", lambda: [])',
    ],
)
def test_a_patch_of_a_list_of_models_mocks_no_model(tmp_path: Path, patcher: str) -> None:
    result = migrate(tmp_path, f"\ndef test_it():\n    with {patcher}:\n        app.list_ids()\n")
    assert (result.changed, result.manual_changes) == ((), ())


@pytest.mark.parametrize(
    "patcher",
    [
        'patch("llm.get_models") as listed',
        'patch("llm.get_models", return_value=[Mock(prompt=Mock())])',
        'patch("llm.get_models", return_value=[Mock(**{"conversation.return_value": 1})])',
        'patch("llm.get_embedding_models", return_value=[])',
    ],
)
def test_a_patch_of_a_list_that_may_have_replies_is_left(tmp_path: Path, patcher: str) -> None:
    result = migrate(tmp_path, f"\ndef test_it():\n    with {patcher}:\n        app.list_ids()\n")
    assert "is patched; only get_model and get_async_model can be rewritten" in get_reason(result)


@pytest.mark.parametrize(
    "patcher",
    ['patch.dict("sys.modules", {"llm": None})', 'patch.dict("sys.modules", {"other": Mock()})'],
)
def test_a_missing_library_mocks_no_model(tmp_path: Path, patcher: str) -> None:
    result = migrate(tmp_path, f"\ndef test_it():\n    with {patcher}:\n        app.ask()\n")
    assert (result.changed, result.manual_changes) == ((), ())


MODULE = """

def test_it(monkeypatch):
    module = Mock()
    model = Mock()
    model.name = "small"
    model.prompt.return_value.text.return_value = "Hi"
    module.get_model.return_value = model
    {lines}
"""
USED = "with patch.dict('sys.modules', {'llm': module}):"
SET = "monkeypatch.setitem(sys.modules, 'llm', module)"


def replace_module(*lines: str) -> str:
    return MODULE.format(lines="\n    ".join(lines))


@pytest.mark.parametrize(
    "lines",
    [
        [USED, "    assert app.ask() == 'Hi'"],
        [SET, "assert app.ask() == 'Hi'"],
        ["module.get_models.return_value = [model]", SET, "assert app.ask() == 'Hi'"],
        [
            "class MyUnknownModelError(Exception): pass",
            "module.UnknownModelError = MyUnknownModelError",
            SET,
            "assert app.ask() == 'Hi'",
        ],
    ],
)
def test_a_mock_in_place_of_the_module_becomes_replies(tmp_path: Path, lines: list[str]) -> None:
    result = migrate(tmp_path, replace_module(*lines), start=f"import sys\n{START}")
    assert get_reason(result) == ""
    body = result.after.partition("def test_it(")[2].partition("\n")[2]
    assert body == '    mock_llm_responses.set("*", "Hi")\n    assert app.ask() == \'Hi\'\n'


def test_an_unknown_model_of_the_module_is_one_of_llm(tmp_path: Path) -> None:
    test = """
        def test_it():
            class MyUnknownModelError(Exception):
                pass

            module = Mock()
            module.UnknownModelError = MyUnknownModelError
            with patch.dict("sys.modules", {"llm": module}):
                module.get_model.side_effect = MyUnknownModelError("none")
                app.ask()
    """
    result = migrate(tmp_path, dedent(test))
    assert result.after.endswith(
        'def test_it(mock_llm_responses):\n    mock_llm_responses.set_unknown("*")\n    app.ask()\n'
    )


REPLACED = "the test replaces the whole module llm"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["module.get_models.return_value = [model, Mock()]", SET], REPLACED),
        (["module.get_models.side_effect = [[model], []]", SET], REPLACED),
        (["module.get_models.return_value = []", SET], REPLACED),
        (["module.get_key.return_value = 'key'", SET], REPLACED),
        (["module.UnknownModelError = ValueError", SET], REPLACED),
        (["module.Template = app.ask", SET], REPLACED),
        (["module.get_async_model = app.ask", SET], REPLACED),
        (["module = SimpleNamespace(get_model=Mock(), get_async_model=Mock())", SET], REPLACED),
        (
            ["with patch.dict('sys.modules', {'llm': module, 'other': 1}):", "    app.ask()"],
            REPLACED,
        ),
        (
            ["with patch.dict('sys.modules', {'llm': module}, clear=True):", "    app.ask()"],
            REPLACED,
        ),
        (["monkeypatch.setitem(sys.modules, 'llm', app.FAKE)"], REPLACED),
        (["monkeypatch.setitem(sys.modules, 'llm', module.other(model))"], REPLACED),
        (
            [SET, "assert app.ask() == 'small'"],
            "the mock of a model has the attribute name",
        ),
        (
            ["monkeypatch.setitem(sys.modules, 'llm', Mock())", "app.ask()"],
            "no reply is configured, so the model replies with another Mock",
        ),
    ],
)
def test_a_module_with_more_than_models_is_left(
    tmp_path: Path, lines: list[str], reason: str
) -> None:
    result = migrate(tmp_path, replace_module(*lines), start=f"import sys\n{START}")
    assert (result.changed, get_reason(result)) == ((), reason)


@pytest.mark.parametrize(
    "test",
    [
        decorate(
            "library.get_models.return_value = [model]",
            'assert app.list_ids() == ["small"]',
        ),
        replace_module(USED, "    assert app.ask() == 'Hi'"),
    ],
)
def test_the_new_test_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, test: str) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    migrate(tmp_path, test)
    lazy = APP.replace("import llm", "").replace("):\n", "):\n    import llm\n")
    if USED in test:
        (tmp_path / "app.py").write_text(lazy)
    result = CliRunner().invoke(main, ["migrate", "--write", "test_app.py"])
    assert "test_app.py: test_it verified: it passes" in result.output
