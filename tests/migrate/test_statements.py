"""Statements that configure mocks, start patches or read calls, each in several forms."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

START = """\
from unittest.mock import Mock, patch

import app
import openai
import pytest
from own_mock import create_mock_get_model


"""
COMPLETION = 'Mock(choices=[Mock(message=Mock(content="Hi"))])'
CONFIGURED = "get_model.return_value.prompt.return_value.text.return_value = "
TEXT = f'{CONFIGURED}"Hi"'


def rewrite(folder: Path, source: str) -> FileResult:
    (folder / "app.py").write_text("from llm import get_model\nfrom openai import OpenAI\n")
    text = START + dedent(source).lstrip()
    return rewrite_file(
        folder / "test_app.py", text.encode(), lambda test, target: (), lambda name: name
    )


def find_definitions(text: str) -> str:
    """Return a file from its first definition on."""
    starts = [text.find(start) for start in ("@pytest.fixture", "def ", "class ")]
    return text[min(start for start in starts if start >= 0) :]


def migrate(folder: Path, source: str) -> str:
    """Return the new definitions of a file whose tests are all rewritten or of something else."""
    result = rewrite(folder, source)
    assert result.manual_changes == ()
    return find_definitions(result.after)


def explain(folder: Path, source: str) -> list[str]:
    """Return why the tests of a file are left."""
    result = rewrite(folder, source)
    assert (result.changed, result.after) == ((), result.before)
    return [change.reason for change in result.manual_changes]


def new_test(*lines: str, parameters: str = "mock_llm_responses") -> str:
    body = "".join(f"    {line}\n" for line in lines)
    return f"def test_it({parameters}):\n{body}"


@pytest.mark.parametrize("annotation", ["", ": Mock", ": 'Mock | None'"])
@pytest.mark.parametrize(
    ("lines", "new"),
    [
        (
            [
                "model{} = Mock()",
                'model.prompt.return_value.text.return_value = "Hi"',
                'with patch("app.get_model", return_value=model):',
                "    app.ask()",
            ],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()"],
        ),
        (
            [
                'patcher{} = patch("app.get_model")',
                "get_model = patcher.start()",
                TEXT,
                "app.ask()",
                "patcher.stop()",
            ],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()"],
        ),
        (
            ['get_model{} = patch("app.get_model").start()', TEXT, "app.ask()", "patch.stopall()"],
            ['mock_llm_responses.set("*", "Hi")', "app.ask()", "patch.stopall()"],
        ),
        (
            [
                "client{} = Mock()",
                f"client.chat.completions.create.return_value = {COMPLETION}",
                "app.run(client)",
            ],
            ["client = openai.OpenAI()", 'mock_llm_responses.set("*", "Hi")', "app.run(client)"],
        ),
        (
            [
                'with patch("app.get_model") as get_model:',
                f"    {TEXT}",
                "    app.ask()",
                "call{} = get_model.return_value.prompt.call_args",
                'assert call.args[0] == "a"',
            ],
            [
                'mock_llm_responses.set("*", "Hi")',
                "app.ask()",
                'assert mock_llm_calls.last_call["prompt"] == "a"',
            ],
        ),
        (
            [
                "text = Mock()",
                'text{} = "Hi"',
                'with patch("app.get_model") as get_model:',
                f"    {CONFIGURED}text",
                "    app.ask()",
            ],
            ['text{} = "Hi"', 'mock_llm_responses.set("*", text)', "app.ask()"],
        ),
    ],
)
def test_a_name_may_have_an_annotation(
    tmp_path: Path, annotation: str, lines: list[str], new: list[str]
) -> None:
    source = new_test(*(line.format(annotation) for line in lines), parameters="")
    reads_calls = any("mock_llm_calls" in line for line in new)
    parameters = "mock_llm_responses" + ", mock_llm_calls" * reads_calls
    expected = new_test(*(line.format(annotation) for line in new), parameters=parameters)
    assert migrate(tmp_path, source) == expected


TWICE = """
    def test_it():
        patcher = patch({patch})
        with patcher as get_model:
            {line}
            app.ask()
        with patcher as get_model:
            {line}
            app.ask()
            {after}
"""


def test_a_patch_may_start_twice(tmp_path: Path) -> None:
    target = '"app.get_model", **{"return_value.prompt.return_value.text.return_value": "Hi"}'
    source = TWICE.format(patch=target, line="pass", after="pass")
    new = new_test('mock_llm_responses.set("*", "Hi")', "app.ask()", "app.ask()")
    assert migrate(tmp_path, source.replace("            pass\n", "")) == new


def test_a_patch_may_give_another_reply_when_it_starts_again(tmp_path: Path) -> None:
    source = TWICE.format(patch='"app.get_model"', line=TEXT, after="pass")
    first, _, second = source.replace("            pass\n", "").rpartition('"Hi"')
    new = new_test(
        'mock_llm_responses.set("*", "Hi")',
        "app.ask()",
        'mock_llm_responses.set("*", "Bye")',
        "app.ask()",
    )
    assert migrate(tmp_path, f'{first}"Bye"{second}') == new


def test_each_start_of_a_patch_counts_its_own_calls(tmp_path: Path) -> None:
    after = "get_model.return_value.prompt.assert_called_once()"
    source = TWICE.format(patch='"app.get_model"', line=TEXT, after=after)
    assert explain(tmp_path, source) == [
        "several mocks replace models whose ids are not in the source"
    ]


def test_the_name_of_a_mock_may_be_one_of_a_text_later(tmp_path: Path) -> None:
    source = """
        def test_it():
            model = Mock()
            kept = []
            def fake(text, **kwargs):
                kept.append((text, kwargs))
                return Mock(text=lambda: "Hi")
            model.prompt = fake
            with patch("app.get_model", return_value=model):
                app.ask()
            model, _ = kept[0]
            assert model == "a"
    """
    new = new_test(
        'mock_llm_responses.set("*", "Hi")',
        "app.ask()",
        'model = mock_llm_calls.calls[0]["prompt"]',
        'assert model == "a"',
        parameters="mock_llm_responses, mock_llm_calls",
    )
    assert migrate(tmp_path, source) == new


@pytest.mark.parametrize("name", ["values", "events"])
@pytest.mark.parametrize(
    "lines",
    [
        ["{} = []", "def add(event): {}.append(event)", "app.subscribe(add)"],
        ["{} = app.load()"],
        ["_, {} = app.load()"],
    ],
)
def test_a_fixture_that_gives_another_value_beside_its_patch_stays(
    tmp_path: Path, name: str, lines: list[str]
) -> None:
    setup = "\n            ".join(line.format(name) for line in lines)
    source = f"""
        @pytest.fixture
        def events():
            {setup}
            with patch("app.get_model") as get_model:
                {TEXT}
                yield {name}

        def test_it(events):
            app.ask()
            assert events == ["asked"]
    """
    assert explain(tmp_path, source) == ["the fixture gives another value than the mock"]


def test_a_name_of_an_inner_function_hides_no_helper(tmp_path: Path) -> None:
    source = """
        def new_model(text):
            return Mock(**{"prompt.return_value.text.return_value": text})

        def test_it():
            def notice(event):
                new_model = event.model
                app.log(new_model)
            app.subscribe(notice)
            with patch("app.get_model", return_value=new_model("Hi")):
                app.ask()
    """
    after = migrate(tmp_path, source)
    assert after.endswith('\n    mock_llm_responses.set("*", "Hi")\n    app.ask()\n')
