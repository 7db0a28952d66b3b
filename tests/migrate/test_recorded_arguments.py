"""Arguments of old calls that a record has in another form."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

APP = '''
import llm

PADDED = """
Be brief.
"""
PLAIN = OTHER = "Be brief."
ANNOTATED: str = " Be brief."
LATER: str
NUMBER = 5
SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}}


def ask(text, **options):
    return llm.get_model().prompt(text, **options).text()
'''
OLD = """
from unittest.mock import patch

import app
from app import PADDED, PLAIN


@patch("app.llm.get_model")
def test_it(get_model):
    model = get_model.return_value
    model.prompt.return_value.text.return_value = "{{}}"
    schema = {{"type": "object"}}
    app.ask("Hi", system=PADDED, stream=False, schema=schema)
    kwargs = model.prompt.call_args.kwargs
    {check}
"""


def migrate(folder: Path, check: str) -> tuple[str, str]:
    """Return the last statements of the new test, and the reason if it is left."""
    (folder / "app.py").write_text(APP)
    path = folder / "test_app.py"
    source = OLD.format(check=check)
    path.write_text(source)
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    last = dedent(result.after.partition("schema=schema)\n")[2])
    return last, "".join(change.reason for change in result.manual_changes)


CALL = "mock_llm_calls.last_call"


@pytest.mark.parametrize(
    ("check", "new"),
    [
        ('assert kwargs["stream"] is False', f"assert {CALL}.stream is False"),
        ('assert kwargs["stream"] == False', f"assert {CALL}.stream == False"),
        ('assert kwargs["schema"] == schema', f'assert {CALL}["schema"] == schema'),
        (
            'assert kwargs["schema"] != {"type": "array"}',
            f'assert {CALL}["schema"] != {{"type": "array"}}',
        ),
        (
            'assert kwargs["system"] == PADDED',
            f'assert {CALL}["kwargs"]["system"] == PADDED.strip()',
        ),
        (
            'assert kwargs["system"] == app.PADDED',
            f'assert {CALL}["kwargs"]["system"] == app.PADDED.strip()',
        ),
        (
            'assert kwargs["system"] == app.ANNOTATED',
            f'assert {CALL}["kwargs"]["system"] == app.ANNOTATED.strip()',
        ),
        (
            'assert kwargs["system"] == app.LATER',
            f'assert {CALL}["kwargs"]["system"] == app.LATER',
        ),
        ('assert kwargs["system"] != PLAIN', f'assert {CALL}["kwargs"]["system"] != PLAIN'),
        (
            'assert kwargs["system"] == app.NUMBER',
            f'assert {CALL}["kwargs"]["system"] == app.NUMBER',
        ),
        (
            'assert kwargs["system"] == " Be brief."',
            f'assert {CALL}["kwargs"]["system"] == " Be brief.".strip()',
        ),
        ('assert kwargs["system"] in PADDED', f'assert {CALL}["kwargs"]["system"] in PADDED'),
    ],
)
def test_an_argument_is_read_from_the_record(tmp_path: Path, check: str, new: str) -> None:
    assert migrate(tmp_path, check) == (f"{new}\n", "")


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        ('assert kwargs["stream"] is True', 'kwargs["stream"] has no equivalent'),
        ('assert kwargs["stream"]', 'kwargs["stream"] has no equivalent'),
        ('assert kwargs["tools"] is False', 'kwargs["tools"] has no equivalent'),
        (
            'assert get_model.call_args.kwargs["stream"] is False',
            'get_model.call_args.kwargs["stream"] has no equivalent',
        ),
        ('assert kwargs["schema"] is schema', 'kwargs["schema"] is schema has no equivalent'),
        ('assert kwargs["schema"] == app.SCHEMA', "app.SCHEMA might not be a class"),
        (
            'self.assertIn("schema", kwargs)',
            'self.assertIn("schema", kwargs) has no equivalent',
        ),
    ],
)
def test_an_argument_that_no_record_has_is_left(tmp_path: Path, check: str, reason: str) -> None:
    assert migrate(tmp_path, check)[1] == reason


REQUESTS = "mock_llm_calls.requested_models"
DEFAULT = "llm.get_default_model()"


@pytest.mark.parametrize(
    ("assertion", "new"),
    [
        ("assert_called_once_with()", f"assert {REQUESTS} == [{DEFAULT}]"),
        ("assert_called_with()", f"assert {REQUESTS}[-1:] == [{DEFAULT}]"),
        ("assert_any_call()", f"assert {DEFAULT} in {REQUESTS}"),
    ],
)
def test_no_name_is_that_of_the_default_model(tmp_path: Path, assertion: str, new: str) -> None:
    assert migrate(tmp_path, f"get_model.{assertion}") == (f"{new}\n", "")


def test_an_assertion_of_all_arguments_has_the_stripped_system_prompt(tmp_path: Path) -> None:
    check = 'model.prompt.assert_called_once_with("Hi", system=PADDED, stream=False, schema=None)'
    assert '["system"] == PADDED.strip()\n' in migrate(tmp_path, check)[0]
