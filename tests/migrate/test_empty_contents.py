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


GEMINI = "google.genai.models.Models.generate_content"
EMBEDDINGS = "openai.resources.embeddings.Embeddings.create"
GEMINI_CALL = 'N(id="1", name="f", args={})'
USAGE = "N(prompt_tokens=1, completion_tokens=1, total_tokens=2)"
USED = f'N(choices=[N(message=N(content="Hi"))], usage={USAGE})'
VECTORS = 'N(data=[N(embedding=[1.0], index=0)], model="m", usage=N(total_tokens=2))'
TOOL_USE = 'N(content=[N(type="tool_use", name="f", input={}, id="1")], stop_reason="tool_use")'
TOOL_CALL = f'N(choices=[N(message=N(tool_calls=[{CALL}]), finish_reason="tool_calls")])'


@pytest.mark.parametrize(
    ("target", "response", "field", "name"),
    [
        (COMPLETIONS, TOOL_CALL, 'name="f"', "function.name"),
        (COMPLETIONS, TOOL_CALL, 'arguments="{}"', "function.arguments"),
        (COMPLETIONS, TOOL_CALL, 'id="1"', "tool_call.id"),
        (COMPLETIONS, TOOL_CALL, 'finish_reason="tool_calls"', "finish_reason"),
        (COMPLETIONS, USED, "prompt_tokens=1", "usage.prompt_tokens"),
        (COMPLETIONS, USED, "completion_tokens=1", "usage.completion_tokens"),
        (COMPLETIONS, USED, "total_tokens=2", "usage.total_tokens"),
        (MESSAGES, TOOL_USE, 'type="tool_use"', "type"),
        (MESSAGES, TOOL_USE, 'name="f"', "name"),
        (MESSAGES, TOOL_USE, "input={}", "input"),
        (MESSAGES, TOOL_USE, 'id="1"', "id"),
        (MESSAGES, TOOL_USE, 'stop_reason="tool_use"', "stop_reason"),
        (RESPONSES, 'N(output=[N(type="function_call", name="f")])', 'name="f"', "name"),
        (GEMINI, f"N(function_calls=[{GEMINI_CALL}])", 'name="f"', "name"),
        (GEMINI, f"N(function_calls=[{GEMINI_CALL}])", "args={}", "args"),
        (GEMINI, f"N(function_calls=[{GEMINI_CALL}])", 'id="1"', "id"),
        (EMBEDDINGS, VECTORS, "embedding=[1.0]", "embedding"),
        (EMBEDDINGS, VECTORS, "index=0", "index"),
        (EMBEDDINGS, VECTORS, 'model="m"', "model"),
        (EMBEDDINGS, VECTORS, "total_tokens=2", "usage.total_tokens"),
    ],
)
def test_a_mock_in_place_of_a_literal_is_left_with_its_name(
    tmp_path: Path, target: str, response: str, field: str, name: str
) -> None:
    assert response.count(field) == 1
    key = field.partition("=")[0]
    _, reason = migrate(tmp_path, target, response.replace(field, f"{key}=N(value=1)"))
    assert reason == f"{name} is a mock, but must be a literal value"
