"""A class of `unittest` gets one fixture for all of its rewritten tests."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

FIXTURE = """
    @pytest.fixture(autouse=True)
    def take_mock(self, mock_llm_responses):
        self.llm_mock = mock_llm_responses
"""
FILE = """
import pytest
import unittest
from unittest.mock import Mock, patch
import app


class TestIt({base}):{fixture}
    {decorator}
    def test_it(self{parameter}):
        {configuration}
        self.assertEqual(app.ask(), "Hi")
"""
OLD = {
    "decorator": '@patch("llm.get_model")',
    "parameter": ", get_model",
    "configuration": 'get_model.return_value.prompt.return_value.text.return_value = "Hi"',
}
NEW = {"decorator": "", "parameter": "", "configuration": 'self.llm_mock.set("*", "Hi")'}


def migrate(folder: Path, **values: str) -> tuple[str, list[str]]:
    source = FILE.format(**({"base": "unittest.TestCase", "fixture": ""} | OLD | values))
    path = folder / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    return result.after, [change.reason for change in result.manual_changes]


def normalize(source: str) -> list[str]:
    lines = source.replace("from unittest.mock import Mock, patch", "")
    lines = lines.replace("from unittest.mock import Mock", "")
    return [line for line in lines.splitlines() if line.strip()]


@pytest.mark.parametrize("base", ["unittest.TestCase", "unittest.IsolatedAsyncioTestCase"])
@pytest.mark.parametrize("fixture", ["", FIXTURE, f"\n    # For each test.{FIXTURE}"])
def test_it_gets_a_fixture_or_keeps_it(tmp_path: Path, base: str, fixture: str) -> None:
    new, reasons = migrate(tmp_path, base=base, fixture=fixture)
    expected = FILE.format(base=base, fixture=fixture or FIXTURE, **NEW)
    assert (normalize(new), reasons) == (normalize(expected), [])


def test_a_test_without_replies_needs_no_fixture(tmp_path: Path) -> None:
    new, reasons = migrate(
        tmp_path,
        parameter=", model",
        decorator='@patch("openai.OpenAI")',
        configuration="app.check()",
    )
    expected = FILE.format(
        base="unittest.TestCase",
        fixture="",
        **NEW | {"configuration": "app.check()"},
    )
    assert (normalize(new), reasons) == (normalize(expected), [])


def test_a_class_of_others_takes_arguments(tmp_path: Path) -> None:
    new, reasons = migrate(tmp_path, base="object")
    assert "def test_it(self, mock_llm_responses):" in new
    assert (FIXTURE in new, reasons) == (False, [])


@pytest.mark.parametrize("name", ["unittest.TestCase", "unittest.IsolatedAsyncioTestCase"])
def test_a_patched_class_of_unittest(tmp_path: Path, name: str) -> None:
    source = FILE.format(base=name, fixture="", **OLD | {"decorator": ""})
    source = source.replace("class TestIt", '@patch("llm.get_model")\nclass TestIt')
    path = tmp_path / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    expected = FILE.format(base=name, fixture=FIXTURE, **NEW)
    assert normalize(result.after) == normalize(expected)


def test_a_patched_class_with_another_base_is_left(tmp_path: Path) -> None:
    source = FILE.format(base="app.TestCase", fixture="", **OLD | {"decorator": ""})
    source = source.replace("class TestIt", '@patch("llm.get_model")\nclass TestIt')
    path = tmp_path / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    assert result.after == source
    [change] = result.manual_changes
    assert change.reason == "a decorator of the class patches its methods"


@pytest.mark.parametrize(
    "start",
    [
        'self.get_model = self.enterContext(patch("llm.get_model"))',
        'patcher = patch("llm.get_model")\n        self.get_model = self.enterContext(patcher)',
    ],
)
def test_a_patch_that_a_class_of_unittest_enters(tmp_path: Path, start: str) -> None:
    setup = f"def setUp(self):\n        {start}\n"
    configuration = OLD["configuration"].replace("get_model", "self.get_model")
    new, reasons = migrate(tmp_path, decorator=setup, parameter="", configuration=configuration)
    expected = FILE.format(base="unittest.TestCase", fixture=FIXTURE, **NEW)
    assert (normalize(new), reasons) == (normalize(expected), [])


def test_something_else_that_a_class_of_unittest_enters(tmp_path: Path) -> None:
    values = NEW | {"decorator": "def setUp(self):\n        self.enterContext(app.use(Mock()))\n"}
    new, reasons = migrate(tmp_path, **values)
    expected = FILE.format(base="unittest.TestCase", fixture="", **values)
    assert (new, reasons) == (expected, [])


def test_an_annotation_without_a_value_stays_in_set_up(tmp_path: Path) -> None:
    start = 'self.get_model = self.enterContext(patch("llm.get_model"))'
    setup = f"def setUp(self):\n        self.name: str\n        {start}\n"
    configuration = OLD["configuration"].replace("get_model", "self.get_model")
    new, reasons = migrate(tmp_path, decorator=setup, parameter="", configuration=configuration)
    values = NEW | {"decorator": "def setUp(self):\n        self.name: str\n"}
    expected = FILE.format(base="unittest.TestCase", fixture=FIXTURE, **values)
    assert (normalize(new), reasons) == (normalize(expected), [])


TWO_TESTS = """
import unittest
from unittest.mock import patch
import app


class TestIt(unittest.TestCase):
    def setUp(self):
        self.get_model = self.enterContext(patch("llm.get_model"))
        self.get_model.return_value.prompt.return_value.text.return_value = "Hi"

    def test_one(self):
        assert app.ask() == "Hi"

    def test_other(self):
        assert app.ask_again() == "Hi"
"""


@pytest.mark.parametrize(("other", "model"), [("a", "a"), ("b", "*")])
def test_the_reply_of_set_up_is_for_the_models_of_all_tests(
    tmp_path: Path, other: str, model: str
) -> None:
    learned = {"TestIt::test_one": ["a"], "TestIt::test_other": [other]}
    result = rewrite_file(
        tmp_path / "test_it.py",
        TWO_TESTS.encode(),
        lambda test, target: learned[test],
        lambda name: name,
    )
    assert f'    def setUp(self):\n        self.llm_mock.set("{model}", "Hi")\n' in result.after
    assert result.manual_changes == ()


def test_the_reply_of_an_asynchronous_set_up(tmp_path: Path) -> None:
    source = TWO_TESTS.replace("unittest.TestCase", "unittest.IsolatedAsyncioTestCase")
    source = source.replace("def setUp", "async def asyncSetUp")
    path = tmp_path / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    new = '    async def asyncSetUp(self):\n        self.llm_mock.set("*", "Hi")\n'
    assert new in result.after
    assert result.manual_changes == ()


def test_a_test_of_which_nothing_is_left_passes(tmp_path: Path) -> None:
    source = TWO_TESTS.replace('assert app.ask_again() == "Hi"', "get_model = self.get_model")
    path = tmp_path / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    assert result.manual_changes == ()
    assert result.after.endswith("    def test_other(self):\n        pass\n")


def test_all_tests_stay_with_a_set_up_that_does_not_suit_one_of_them(tmp_path: Path) -> None:
    source = TWO_TESTS.replace(
        'enterContext(patch("llm.get_model"))',
        'enterContext(patch("llm.get_model"))\n        self.get_model.return_value.name = "small"',
    ).replace('assert app.ask_again() == "Hi"', 'assert app.ask_again() == "small"')
    path = tmp_path / "test_it.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    assert (result.after, result.changed) == (source, ())
    [change] = result.manual_changes
    assert change.name == "TestIt::setUp"
    assert change.reason == "the mock of a model has the attribute name"


def test_a_comment_at_the_end_of_tear_down_stays(tmp_path: Path) -> None:
    end = "\n    def tearDown(self):\n        app.close()\n        # The last line.\n"
    path = tmp_path / "test_it.py"
    source = (TWO_TESTS + end).encode()
    result = rewrite_file(path, source, lambda test, target: (), lambda name: name)
    assert 'self.llm_mock.set("*", "Hi")' in result.after
    assert result.after.endswith(end)
