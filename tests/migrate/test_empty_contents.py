"""Fakes with the fields of all kinds of contents, empty beside the one that the model sends."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

COMPLETIONS = "openai.resources.chat.completions.Completions.create"
LITELLM = "litellm.completion"
MESSAGES = "anthropic.resources.messages.Messages.create"
RESPONSES = "openai.resources.responses.Responses.create"
CALL = 'N(id="1", function=N(name="f", arguments="{}"))'
ITEM = 'name="f", arguments="{}", call_id="1"'
TEXT = 'content=[N(type="output_text", text="Hi")]'
OLD = """
from types import SimpleNamespace as N
from unittest.mock import patch
import app

def test_it():
    with patch("{target}", return_value={response}):
        app.run()
"""


def migrate(folder: Path, target: str, response: str) -> tuple[str, str]:
    """Return the reply of the new test, and the reason if it is left."""
    (folder / "app.py").write_text("import openai")
    source = OLD.format(target=target, response=response).encode()
    path = folder / "test_app.py"
    result = rewrite_file(path, source, lambda test, target: (), lambda name: name)
    reply = result.after.partition('mock_llm_responses.set("*", ')[2].partition(")\n")[0]
    return reply, "".join(change.reason for change in result.manual_changes)


@pytest.mark.parametrize("text", ['""', "None", "''"])
@pytest.mark.parametrize(
    ("target", "response"),
    [
        (COMPLETIONS, f"N(choices=[N(message=N(content=TEXT, tool_calls=[{CALL}]))])"),
        (LITELLM, f"N(choices=[N(message=N(content=TEXT, tool_calls=[{CALL}]))])"),
        (COMPLETIONS, f"N(choices=[N(message=N(refusal=TEXT, tool_calls=[{CALL}]))])"),
        (COMPLETIONS, f"N(choices=[N(message=N(reasoning=TEXT, tool_calls=[{CALL}]))])"),
        (MESSAGES, 'N(content=[N(type="tool_use", text=TEXT, name="f", input="{}", id="1")])'),
        (MESSAGES, 'N(content=[N(text=TEXT, name="f", input="{}", id="1")])'),
        (MESSAGES, 'N(content=[N(thinking=TEXT, name="f", input="{}", id="1")])'),
        (RESPONSES, f"N(output_text=TEXT, output=[N({ITEM})])"),
        (RESPONSES, f"N(output=[N(content=[], summary=None, {ITEM})])"),
    ],
)
def test_a_tool_call_beside_an_empty_text(
    tmp_path: Path, target: str, response: str, text: str
) -> None:
    new = migrate(tmp_path, target, response.replace("TEXT", text))
    assert new == ('Reply(tool_calls=[ToolCall("f", "{}", "1")])', "")


@pytest.mark.parametrize(
    ("target", "response", "reply"),
    [
        (COMPLETIONS, 'N(choices=[N(message=N(content="Hi", tool_calls=[]))])', '"Hi"'),
        (COMPLETIONS, 'N(choices=[N(message=N(content="Hi", refusal=""))])', '"Hi"'),
        (COMPLETIONS, 'N(choices=[N(message=N(content="Hi", reasoning_content=""))])', '"Hi"'),
        (COMPLETIONS, 'N(choices=[N(message=N(content="", tool_calls=[]))])', '""'),
        (MESSAGES, 'N(content=[N(type="text", text="Hi", name="", input={})])', '"Hi"'),
        (MESSAGES, 'N(content=[N(type="text", text="Hi", thinking="", input={})])', '"Hi"'),
        (MESSAGES, 'N(content=[N(type="text", text="", input={})])', '""'),
        (MESSAGES, 'N(content=[N(text="", thinking="")])', '""'),
        (
            MESSAGES,
            'N(content=[N(type="thinking", thinking="Hm", text=""), N(type="text", text="Hi")])',
            'Reply("Hi", reasoning="Hm")',
        ),
        (
            MESSAGES,
            'N(content=[N(text=""), N(name="f", input="{}")])',
            'Reply(tool_calls=[ToolCall("f", "{}")])',
        ),
        (RESPONSES, f'N(output=[N(type="message", name="", arguments="", {TEXT})])', '"Hi"'),
        (COMPLETIONS, "N(choices=[N(message=N(content=app.texts[0]()))])", "app.texts[0]()"),
    ],
)
def test_a_text_beside_empty_fields(tmp_path: Path, target: str, response: str, reply: str) -> None:
    assert migrate(tmp_path, target, response) == (reply, "")


NO_CONTENT = "a content block has neither a text nor a name and input"
NO_NAME = "a content block of the type tool_use has no name or no input"
NO_THINKING = "a content block of the type thinking has no thinking"


@pytest.mark.parametrize(
    ("target", "response", "reason"),
    [
        (MESSAGES, 'N(content=[N(type="tool_use", text="", input={})])', NO_NAME),
        (MESSAGES, 'N(content=[N(type="tool_use", text="Hi", name="", input={})])', NO_NAME),
        (MESSAGES, 'N(content=[N(type="thinking", thinking="")])', NO_THINKING),
        (MESSAGES, 'N(content=[N(type="thinking", text="")])', NO_THINKING),
        (MESSAGES, "N(content=[N(input={})])", NO_CONTENT),
        (
            MESSAGES,
            'N(content=[N(type="text", text="", name="f", input={})])',
            "a content block of the type text has no text",
        ),
        (
            MESSAGES,
            'N(content=[N(text="Hi", name="f", input={})])',
            "a content block has the contents of text and tool_use",
        ),
        (
            MESSAGES,
            'N(content=[N(type="server_tool_use", name="f", input={})])',
            "a content block has the type server_tool_use",
        ),
        (
            RESPONSES,
            f"N(output=[N({TEXT}, {ITEM})])",
            "a part of the output is a function call and has a text",
        ),
    ],
)
def test_a_content_that_is_not_clear_is_left(
    tmp_path: Path, target: str, response: str, reason: str
) -> None:
    assert migrate(tmp_path, target, response) == ("", reason)


@pytest.mark.parametrize(
    ("target", "response", "reason"),
    [
        (COMPLETIONS, "N(choices=None)", "the choices of the response is None"),
        (COMPLETIONS, "N(choices=[N(message=None)])", "the message of the response is None"),
        (
            COMPLETIONS,
            "N(choices=[N(message=N(content=None))])",
            "the content of the response is None",
        ),
        (RESPONSES, "N(output=None)", "the output of the response is None"),
        (RESPONSES, "N(output_text=None)", "the output_text of the response is None"),
        (RESPONSES, "N(output_parsed=None)", "the output_parsed of the response is None"),
        (
            RESPONSES,
            '[N(type="response.created"), N(type="response.completed", response=N())]',
            "the events of the response have no text",
        ),
    ],
)
def test_a_response_without_a_content_is_left(
    tmp_path: Path, target: str, response: str, reason: str
) -> None:
    assert migrate(tmp_path, target, response) == ("", reason)
