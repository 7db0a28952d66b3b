"""Functions that depend on the call: each way to bind a name, and arguments nobody reads."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

OLD = """
from unittest.mock import Mock, patch
import app

@patch({patch!r})
def test_it(patched):
    def answer({parameters}):
        {line}
        return Mock({response})

    patched.{function} = answer
    app.run()
"""
TEXT = "text=Mock(return_value=text.strip())"
COMPLETION = 'choices=[Mock(message=Mock(content=messages[0]["content"]))]'


def migrate(folder: Path, **values: str) -> tuple[str, list[str]]:
    """Return the new function, and the reasons if the test is left."""
    values = {
        "patch": "llm.get_model",
        "parameters": "text, **options",
        "line": "print(text)",
        "response": TEXT,
        "function": "return_value.prompt",
    } | values
    (folder / "app.py").write_text("import llm, litellm")
    path = folder / "test_app.py"
    source = OLD.format(**values).encode()
    result = rewrite_file(path, source, lambda test, target: (), lambda name: name)
    function = result.after.partition("    def ")[2].partition("    app.run")[0]
    return function, [change.reason for change in result.manual_changes]


NEW = """answer(prompt):
        {line}
        return prompt.prompt.strip()

    mock_llm_responses.set("*", answer)
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        ("print(text)", "print(prompt.prompt)"),
        ("app.text = text", "app.text = prompt.prompt"),
        ("app.texts[0] = text", "app.texts[0] = prompt.prompt"),
        ("app.log(text=text)", "app.log(text=prompt.prompt)"),
        ("app.log(f'{text}', [word for word in text])",) * 2,
    ],
)
def test_a_statement_stays(tmp_path: Path, line: str, new: str) -> None:
    if line == new:
        new = "app.log(f'{prompt.prompt}', [word for word in prompt.prompt])"
    assert migrate(tmp_path, line=line) == (NEW.format(line=new), [])


@pytest.mark.parametrize(
    "line",
    [
        "text: str = 'a'",
        "text += 'a'",
        "text = 'a'",
        "word, text = 'ab'",
        "word = text = 'a'",
        "print([text for text in 'ab'])",
        "print((text := 'a'))",
        "del text",
        "import text",
        "from app import text",
        "import app as text",
        "print(lambda text: text)",
        "for text in 'ab': pass",
        "with app as text: pass",
    ],
)
def test_a_parameter_that_is_bound_again(tmp_path: Path, line: str) -> None:
    assert migrate(tmp_path, line=line)[1] == ["answer assigns a new value to its parameter text"]


def test_an_argument_of_litellm_that_nobody_reads(tmp_path: Path) -> None:
    function, reasons = migrate(
        tmp_path,
        patch="litellm.completion",
        parameters="model, messages, timeout=5, **options",
        line="pass",
        response=COMPLETION,
        function="side_effect",
    )
    assert reasons == []
    assert 'return request.body["messages"][0]["content"]' in function
