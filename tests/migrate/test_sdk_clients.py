"""Each client class, and each method of it that calls a model, is recognized."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import rewrite_file

OLD = """
from types import SimpleNamespace
from unittest.mock import {mock}, patch
import app

def new_response():
    return {response}

def test_it():
    client = {mock}()
    client.{method}.return_value = new_response()
    with patch("{target}", {new}):
        app.run()
"""
NEW = """
import app

def test_it(mock_llm_responses):
    mock_llm_responses.set("*", "Hi")
    app.run()
"""
APPLICATION = """
import anthropic
import openai
import openai as sdk
from anthropic import Anthropic
from openai import AsyncAzureOpenAI, AsyncOpenAI, AzureOpenAI, OpenAI
from openai.types import chat
from kinds import Message, Reasoning

class Completion(chat.ChatCompletion):
    note: str = ""

Choice = chat.chat_completion.Choice
Renamed = Completion

class Own:
    def __init__(self, **values): ...

class Extended(chat.ChatCompletion):
    def model_post_init(self, context): ...
"""
KINDS = """
from openai.types.chat import ChatCompletionMessage as Base
from pydantic import BaseModel

class Reasoning(BaseModel):
    content: str

class Middle(Base): ...

class Message(Middle):
    reasoning: Reasoning | None = None
"""

COMPLETION = 'SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Hi"))])'
CLAUDE = {
    "method": "messages.create",
    "response": 'SimpleNamespace(content=[SimpleNamespace(text="Hi")])',
}


def migrate(folder: Path, **values: str) -> tuple[str, list[str]]:
    (folder / "app.py").write_text(APPLICATION)
    (folder / "kinds.py").write_text(KINDS)
    replaced = {
        "mock": "Mock",
        "method": "chat.completions.create",
        "target": "app.OpenAI",
        "response": COMPLETION,
        "new": "return_value=client",
    }
    source = OLD.format(**(replaced | values)).encode()
    result = rewrite_file(
        folder / "test_app.py", source, lambda test, target: (), lambda name: name
    )
    return result.after, [change.reason for change in result.manual_changes]


@pytest.mark.parametrize(
    "values",
    [
        {"target": "app.OpenAI"},
        {"target": "app.AzureOpenAI"},
        {"target": "app.AsyncOpenAI", "mock": "AsyncMock"},
        {"target": "app.AsyncAzureOpenAI", "mock": "AsyncMock"},
        {"target": "app.openai.OpenAI"},
        {"target": "app.sdk.OpenAI"},
        {"target": "openai.OpenAI"},
        {"method": "chat.completions.parse"},
        {"method": "beta.chat.completions.parse"},
        {"new": "side_effect=lambda **options: client"},
        {"new": "lambda **options: client"},
        CLAUDE | {"target": "app.Anthropic"},
        CLAUDE | {"target": "app.anthropic.Anthropic"},
        CLAUDE | {"target": "app.anthropic.AsyncAnthropic", "mock": "AsyncMock"},
    ],
    ids=str,
)
def test_it_is_rewritten(tmp_path: Path, values: dict[str, str]) -> None:
    assert migrate(tmp_path, **values) == (NEW, [])


@pytest.mark.parametrize("target", ["services.chat.OpenAI", "services.chat.openai.OpenAI"])
def test_a_class_in_a_module_of_a_package_is_found(tmp_path: Path, target: str) -> None:
    package = tmp_path / "services"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "chat.py").write_text("import openai\nfrom openai import OpenAI\n")
    assert migrate(tmp_path, target=target) == (NEW, [])


@pytest.mark.parametrize("target", ["OpenAI", "app.Client", "app.json.OpenAI", "other.OpenAI"])
def test_another_class_is_left_alone(tmp_path: Path, target: str) -> None:
    source, reasons = migrate(tmp_path, target=target)
    assert (f'patch("{target}"' in source, reasons) == (True, [])


def test_an_awaited_method_of_a_client_that_is_not_async_is_left(tmp_path: Path) -> None:
    assert migrate(tmp_path, mock="AsyncMock")[1] == ["create() of a synchronous client is awaited"]


@pytest.mark.parametrize("kind", ["Completion", "Renamed"])
def test_a_type_of_the_application_that_extends_one_of_the_sdk(tmp_path: Path, kind: str) -> None:
    message = 'app.Message(content="Hi", role="assistant")'
    response = f"app.{kind}(id='a', choices=[app.Choice(index=0, message={message})])"
    after, reasons = migrate(tmp_path, response=response)
    assert after.endswith(NEW.lstrip())
    assert reasons == []


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("app.Own(choices=[])", "the mock returns new_response(), which is not a response"),
        (
            "app.Extended(choices=[])",
            "the mock returns new_response(), which is not a response",
        ),
        (
            "app.Completion(choices=[app.Choice(message=app.Message("
            "content='Hi', reasoning=app.Reasoning(content='Hm')))])",
            "reasoning is app.Reasoning(content='Hm'), but must be a string",
        ),
    ],
)
def test_a_type_of_the_application_that_may_be_anything(
    tmp_path: Path, response: str, reason: str
) -> None:
    after, [given] = migrate(tmp_path, response=response)
    assert "mock_llm_responses" not in after
    assert given.startswith(reason)


@pytest.mark.parametrize("method", ["chat.completions.parse", "beta.chat.completions.parse"])
def test_a_message_that_is_not_parsed_is_left(tmp_path: Path, method: str) -> None:
    response = "Mock(choices=[Mock(message=Mock(parsed=None))])"
    after, reasons = migrate(tmp_path, method=method, response=response)
    assert "client.chat" in after or "client.beta" in after
    assert reasons == ["the parsed of the response is None"]


HELPER = """
from types import SimpleNamespace
from unittest.mock import Mock, patch
import app

def new_response(text):
    {imported}
    return Completion(choices=[SimpleNamespace(message=SimpleNamespace(content={content}))])

def test_it():
    client = Mock()
    client.chat.completions.create.return_value = new_response("Hi")
    with patch("app.OpenAI", return_value=client):
        app.run()
"""


def migrate_helper(folder: Path, **values: str) -> tuple[str, list[str]]:
    (folder / "app.py").write_text(APPLICATION)
    (folder / "kinds.py").write_text(KINDS)
    source = HELPER.format(**values).encode()
    path = folder / "test_app.py"
    result = rewrite_file(path, source, lambda test, target: (), lambda name: name)
    return result.after, [change.reason for change in result.manual_changes]


@pytest.mark.parametrize(
    "imported",
    [
        "from openai.types.chat import ChatCompletion as Completion",
        "from app import Completion",
        "import json\n    from app import Renamed as Completion",
    ],
)
def test_a_helper_may_import_the_types_of_a_response(tmp_path: Path, imported: str) -> None:
    after, reasons = migrate_helper(tmp_path, imported=imported, content="text")
    assert 'mock_llm_responses.set("*", "Hi")' in after
    assert reasons == []


@pytest.mark.parametrize(
    ("imported", "content", "reason"),
    [
        (
            "from app import Completion, GREETING",
            "GREETING",
            "GREETING needs an import that only its helper has",
        ),
        (
            # Another meaning than in the file.
            "from app import Completion, Mock",
            "Mock",
            "Mock needs an import that only its helper has",
        ),
        (
            "from app import Own as Completion",
            "text",
            'Completion(choices=[SimpleNamespace(message=SimpleNamespace(content="Hi"))]) needs an '
            "import that only its helper has",
        ),
    ],
)
def test_a_value_that_a_helper_imports_is_left(
    tmp_path: Path, imported: str, content: str, reason: str
) -> None:
    after, [given] = migrate_helper(tmp_path, imported=imported, content=content)
    assert "mock_llm_responses" not in after
    assert given.startswith(reason)


OWN_MOCKS = """
from unittest.mock import AsyncMock, MagicMock, patch
import app

def test_it():
    with patch("openai.OpenAI"):
        service = app.Service()
        {line}
        assert service.run()
"""


@pytest.mark.parametrize(
    "line",
    [
        "service.client.batches.create = AsyncMock()",
        "service.client.files = MagicMock(return_value=1)",
        "service.client.batches.list = make = MagicMock()",
    ],
)
def test_a_client_that_the_test_goes_on_mocking_is_left(tmp_path: Path, line: str) -> None:
    path = tmp_path / "test_app.py"
    source = OWN_MOCKS.format(line=line)
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    [change] = result.manual_changes
    target = line.partition(" = ")[0]
    assert result.after == source
    assert change.reason == f"the test replaces {target} with its own mock"


@pytest.mark.parametrize(
    "line",
    [
        "service.run = MagicMock()",
        "service.client.timeout = 3",
        "other = MagicMock(); other.client.files = MagicMock()",
    ],
)
def test_a_patched_class_beside_other_mocks_is_removed(tmp_path: Path, line: str) -> None:
    path = tmp_path / "test_app.py"
    source = OWN_MOCKS.format(line=line)
    result = rewrite_file(path, source.encode(), lambda test, target: (), lambda name: name)
    assert result.manual_changes == ()
    assert "with patch" not in result.after
