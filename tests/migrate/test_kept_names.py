"""Names that a test gives to a call or to its arguments."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent, indent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

OLD = """
from unittest.mock import Mock, patch
import app

def test_it():
    with patch("{target}") as create:
        create.return_value = {response}
        app.run()
{lines}
"""
COMPLETIONS = "openai.resources.chat.completions.Completions.create"
MODEL = 'Mock(prompt=Mock(return_value=Mock(text=lambda: "Hi")))'
COMPLETION = 'Mock(choices=[Mock(message=Mock(content="Hi"))])'


def migrate(folder: Path, lines: str, target: str = COMPLETIONS) -> tuple[str, str]:
    """Return the assertions of the new test, and the reason if it is left."""
    response = COMPLETION if target == COMPLETIONS else MODEL
    old_lines = indent(dedent(lines).strip(), " " * 8)
    source = OLD.format(target=target, response=response, lines=old_lines)
    path = folder / "test_app.py"
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    reasons = [change.reason for change in result.manual_changes]
    _, _, after = result.after.partition("    app.run()\n")
    return dedent(after).strip(), "".join(reasons)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("kwargs = create.call_args.kwargs", "kwargs = mock_llm_calls.last_call.request.body"),
        ("kwargs = create.call_args[1]", "kwargs = mock_llm_calls.last_call.request.body"),
        ("_, kwargs = create.call_args", "kwargs = mock_llm_calls.last_call.request.body"),
        (
            "kwargs: dict = create.call_args_list[0].kwargs",
            "kwargs = mock_llm_calls.calls[0].request.body",
        ),
        (
            "# The last.\nkwargs = create.call_args.kwargs  # of one",
            "# The last.\nkwargs = mock_llm_calls.last_call.request.body  # of one",
        ),
    ],
)
@pytest.mark.parametrize(
    "reads",
    [
        'assert kwargs["model"] == "a"\nassert kwargs["seed"] == 1',
        'assert kwargs.get("seed") == 1\nassert "stop" not in kwargs',
        'if app.is_new:\n    assert kwargs["seed"] == 1\nassert "stop" in kwargs, kwargs["seed"]',
    ],
)
def test_arguments_keep_their_name(tmp_path: Path, old: str, new: str, reads: str) -> None:
    assert migrate(tmp_path, f"{old}\n{reads}") == (f"{new}\n{reads}", "")


def test_arguments_of_llm_that_are_read_after_another_call_are_left(tmp_path: Path) -> None:
    old = """
        kwargs = create.return_value.prompt.call_args.kwargs
        app.run()
        assert kwargs["system"] == "Be brief"
        assert kwargs["temperature"] == 1
    """
    reason = migrate(tmp_path, old, "llm.get_model")[1]
    assert reason.startswith("kwargs holds the last call, but the application runs again")


def test_arguments_of_llm_are_read_from_the_record(tmp_path: Path) -> None:
    old = """
        kwargs = create.return_value.prompt.call_args.kwargs
        assert kwargs["system"] == "Be brief"
        assert kwargs["temperature"] == 1
    """
    new, reason = migrate(tmp_path, old, "llm.get_model")
    assert (reason, "request.body" in new, "kwargs = " in new) == ("", False, False)


def test_a_call_keeps_its_name(tmp_path: Path) -> None:
    old = """
        call = create.call_args
        assert call is not None
        assert call.kwargs["model"] == "a"
        assert call[1]["seed"] == 1
    """
    new = """
        call = mock_llm_calls.last_call
        assert mock_llm_calls.calls != []
        assert call.request.body["model"] == "a"
        assert call.request.body["seed"] == 1
    """
    assert migrate(tmp_path, old) == (dedent(new).strip(), "")


def test_a_call_of_llm_keeps_its_name(tmp_path: Path) -> None:
    old = """
        call = create.return_value.prompt.call_args
        assert call.args[0] == "a"
        assert call.kwargs["system"] == "b"
    """
    new = """
        call = mock_llm_calls.last_call
        assert call["prompt"] == "a"
        assert call["kwargs"]["system"] == "b"
    """
    assert migrate(tmp_path, old, "llm.get_model") == (dedent(new).strip(), "")


def test_a_name_of_two_calls(tmp_path: Path) -> None:
    old = """
        kwargs = create.call_args.kwargs
        assert kwargs["seed"] == 1
        app.run()
        kwargs = create.call_args.kwargs
        assert kwargs["seed"] == 2
    """
    new = old.replace("create.call_args.kwargs", "mock_llm_calls.last_call.request.body")
    assert migrate(tmp_path, old) == (dedent(new).strip(), "")


def test_a_name_is_read_after_another_call(tmp_path: Path) -> None:
    old = """
        first = create.call_args
        kwargs = create.call_args.kwargs
        assert first.kwargs["seed"] == kwargs["seed"]
        app.run()
        assert first.kwargs["seed"] == 1
        assert kwargs["seed"] == 1
    """
    new = """
        first = mock_llm_calls.last_call
        kwargs = mock_llm_calls.last_call.request.body
        assert first.request.body["seed"] == kwargs["seed"]
        app.run()
        assert first.request.body["seed"] == 1
        assert kwargs["seed"] == 1
    """
    assert migrate(tmp_path, old) == (dedent(new).strip(), "")


def test_a_name_that_is_read_once_after_another_call_is_left(tmp_path: Path) -> None:
    lines = 'kwargs = create.call_args.kwargs\napp.run()\nassert kwargs["seed"] == 1'
    _, reason = migrate(tmp_path, lines)
    assert reason.startswith("kwargs holds the last call, but the application runs again")


def test_a_name_for_each_call_of_a_loop(tmp_path: Path) -> None:
    old = """
        for call in create.call_args_list:
            kwargs = call.kwargs
            assert kwargs["seed"] == 1
            assert kwargs["model"] == "a"
    """
    new = old.replace("create.call_args_list", "mock_llm_calls.calls")
    new = new.replace("call.kwargs", "call.request.body")
    assert migrate(tmp_path, old) == (dedent(new).strip(), "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            'kwargs = create.call_args.kwargs\nassert kwargs["seed"] == 1',
            'assert mock_llm_calls.last_call.request.body["seed"] == 1',
        ),
        (
            "kwargs = create.call_args.kwargs\n"
            'assert kwargs["seed"] == 1\nassert kwargs["extra_body"] == {"a": 1}',
            'assert mock_llm_calls.last_call.request.body["seed"] == 1\n'
            'assert mock_llm_calls.last_call.request.extra_body == {"a": 1}',
        ),
        (
            "calls = create.call_args_list\n"
            'assert calls[0].kwargs["seed"] == 1\nassert calls[1].kwargs["seed"] == 2',
            'assert mock_llm_calls.calls[0].request.body["seed"] == 1\n'
            'assert mock_llm_calls.calls[1].request.body["seed"] == 2',
        ),
    ],
)
def test_another_name_goes(tmp_path: Path, old: str, new: str) -> None:
    assert migrate(tmp_path, old) == (new, "")


@pytest.mark.parametrize(
    ("read", "reason"),
    [
        ("assert app.check(kwargs)", "this use of the mock kwargs cannot be converted"),
        ('assert kwargs["timeout"] == 1', "timeout is not sent in the body of the request"),
    ],
)
def test_other_uses_of_the_arguments_are_left(tmp_path: Path, read: str, reason: str) -> None:
    reads = f'kwargs = create.call_args.kwargs\nassert kwargs["seed"] == 1\n{read}'
    assert migrate(tmp_path, reads)[1].startswith(reason)
