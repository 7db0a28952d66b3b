"""A mock of a client that a test hands to the application becomes a real client."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.file import FileResult, rewrite_file

START = '''\
"""Tests of {topic}."""

from types import SimpleNamespace
from unittest.mock import AsyncMock, MagicMock, Mock

{imports}import pytest

import app


def new_response():
    return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(content="Hi"))])


def new_message():
    return SimpleNamespace(content=[SimpleNamespace(text="Hi")])


async def answer(**options):
    return new_response()
'''


def migrate(folder: Path, test: str, topic: str = "openai and Anthropic", imports: str = "") -> str:
    return run(folder, test, topic, imports).after.partition("def test_it")[2].strip()


def run(folder: Path, test: str, topic: str, imports: str) -> FileResult:
    (folder / "app.py").write_text("")
    source = START.format(topic=topic, imports=imports) + f"\n\ndef test_it(){test}\n"
    return rewrite_file(
        folder / "test_app.py", source.encode(), lambda test, target: (), lambda name: name
    )


@pytest.mark.parametrize(
    ("mock", "new"),
    [
        ("Mock()\n    client.chat.completions.create.return_value = new_response()", "OpenAI"),
        ("Mock()\n    client.chat.completions.create.side_effect = answer", "AsyncOpenAI"),
        (
            "Mock()\n    client.chat.completions.create = AsyncMock(return_value=new_response())",
            "AsyncOpenAI",
        ),
        (
            "Mock()\n    client.chat.completions.create.side_effect = lambda **_: new_response()",
            "OpenAI",
        ),
        (
            "MagicMock()\n    client.beta.chat.completions.parse.return_value = new_response()",
            "OpenAI",
        ),
        (
            "AsyncMock()\n    client.chat.completions.create.return_value = new_response()",
            "AsyncOpenAI",
        ),
    ],
)
def test_its_class_follows_from_its_methods(tmp_path: Path, mock: str, new: str) -> None:
    test = f":\n    client = {mock}\n    app.run(client)"
    assert migrate(tmp_path, test) == (
        f"(mock_llm_responses):\n    client = openai.{new}()\n"
        '    mock_llm_responses.set("*", "Hi")\n    app.run(client)'
    )


@pytest.mark.parametrize(
    ("mock", "new"), [("Mock()", "Anthropic"), ("AsyncMock()", "AsyncAnthropic")]
)
def test_a_client_of_anthropic(tmp_path: Path, mock: str, new: str) -> None:
    test = f":\n    client = {mock}\n    client.messages.create.return_value = new_message()"
    assert migrate(tmp_path, f"{test}\n    app.run(client)") == (
        f"(mock_llm_responses):\n    client = anthropic.{new}()\n"
        '    mock_llm_responses.set("*", "Hi")\n    app.run(client)'
    )


CLIENT = """:
    client = Mock()
    client.chat.completions.create.return_value = new_response()
    app.run(client)"""


@pytest.mark.parametrize(
    ("imports", "new"),
    [
        ("import openai as sdk\n", "sdk.OpenAI()"),
        ("from google import genai\n", "genai.Client()"),
        ("import google.genai\n", "google.genai.Client()"),
    ],
)
def test_a_library_that_is_imported_keeps_its_name(tmp_path: Path, imports: str, new: str) -> None:
    method = "models.generate_content" if "genai" in imports else "chat.completions.create"
    reply = 'Mock(text="Hi")' if "genai" in imports else "new_response()"
    test = (
        f":\n    client = Mock()\n    client.{method}.return_value = {reply}\n    app.run(client)"
    )
    result = run(tmp_path, test, "", f"{imports}print({new.partition('.C')[0]}.types)\n")
    assert f"    client = {new}\n" in result.after
    assert result.after.count("import openai") + result.after.count("genai\n") == 1


@pytest.mark.parametrize("imports", ["", "import openai\n"])
def test_the_library_is_imported_once(tmp_path: Path, imports: str) -> None:
    after = run(tmp_path, CLIENT, "OpenAI", imports).after
    assert after.count("import openai\nimport pytest\n\nimport app\n") == 1
    assert after.count("import openai\n") == 1


def test_the_library_is_not_imported_for_others(tmp_path: Path) -> None:
    test = CLIENT.replace("Mock()", "SimpleNamespace(chat=Mock())") + "\n\n\ndef test_other"
    assert "import openai" not in run(tmp_path, test + CLIENT[:1] + "\n    pass", "", "").after


@pytest.mark.parametrize(
    "test",
    [
        # of a service of text messages
        ":\n    client = Mock()\n    client.messages.create.return_value = Mock(sid=5)\n"
        "    app.run(client)",
        # of another kind
        ":\n    client = Mock()\n    client.chat.return_value = 5\n    app.run(client)",
        ":\n    client = Mock()\n    client.chat.completions.create.reset_mock()\n"
        "    app.run(client)",
    ],
)
def test_another_client_is_left_alone(tmp_path: Path, test: str) -> None:
    result = run(tmp_path, test, "openai", "")
    assert (result.changed, result.manual_changes) == ((), ())


def test_a_file_that_does_not_name_the_library_is_left_alone(tmp_path: Path) -> None:
    result = run(tmp_path, CLIENT, "groq and llm", "")
    assert (result.changed, result.manual_changes) == ((), ())


@pytest.mark.parametrize(
    ("imports", "problem"),
    [
        ("import fake as openai\n", True),
        ("openai = None\n", True),
        ("import openai\n", False),
    ],
)
def test_another_meaning_of_the_name_is_a_problem(
    tmp_path: Path, imports: str, problem: bool
) -> None:
    reasons = [change.reason for change in run(tmp_path, CLIENT, "", imports).manual_changes]
    expected = "the new test needs openai, but this file uses the name openai for something else"
    assert reasons == ([expected] if problem else [])


def test_what_else_is_configured_is_a_problem(tmp_path: Path) -> None:
    test = CLIENT.replace("    app.run", "    client.base_url = 'x'\n    app.run")
    [change] = run(tmp_path, test, "OpenAI", "").manual_changes
    assert change.reason == "the mock of a client has the attribute base_url"


def test_an_attribute_that_the_test_reads_is_a_problem(tmp_path: Path) -> None:
    test = CLIENT.replace("app.run(client)", "app.run(client.chat)")
    [change] = run(tmp_path, test, "OpenAI", "").manual_changes
    assert change.reason == "this use of the mock client cannot be converted: app.run(client.chat)"


def test_one_that_is_an_attribute_of_itself(tmp_path: Path) -> None:
    mock = "Mock()\n    client.chat.completions.create.return_value = new_response()"
    test = f":\n    client = {mock}\n    client.again = client\n    app.run(client)"
    assert migrate(tmp_path, test) == (
        "(mock_llm_responses):\n    client = openai.OpenAI()\n"
        '    mock_llm_responses.set("*", "Hi")\n    app.run(client)'
    )


FAKE = """():
    class Completions:
        {attribute}

        def __init__(self, response):
            {state}

        def create(self, **options):
            {line}

    class Client:
        {client}

        def __init__(self, response):
            self.chat = SimpleNamespace(completions=Completions(response))

    client = Client(new_response())
    app.run(client)


def test_other"""
IN_FAKE = {
    "attribute": "number: int",
    "state": "self.response = response",
    "line": "return self.response",
    "client": "pass",
}


def migrate_fake(folder: Path, values: dict[str, str]) -> tuple[str, list[str]]:
    """Return the reply of a client of a fake class, and the reasons if it is left."""
    result = run(folder, FAKE.format(**IN_FAKE | values)[2:] + "(): pass", "openai", "")
    reply = result.after.partition('mock_llm_responses.set("*", ')[2].partition(")\n")[0]
    return reply, [change.reason for change in result.manual_changes]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"state": "self.response: object = response"},
        {"state": "self._response = response", "line": "return self._response"},
        {"attribute": "number = 5"},
        {
            "attribute": "response = new_response()",
            "state": "self.number = 5",
        },
        {
            "attribute": "response: object = new_response()",
            "state": "self.number = 5",
        },
        {"client": "_timeout = 5"},
    ],
    ids=str,
)
def test_the_state_of_a_fake_class(tmp_path: Path, values: dict[str, str]) -> None:
    assert migrate_fake(tmp_path, values) == ('"Hi"', [])


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (
            {"line": "return new_response()"},
            "the mock of a client has the attribute chat.completions.response.choices",
        ),
        ({"client": "timeout = 5"}, "the mock of a client has the attribute timeout"),
        (
            {"line": "print(options)\n            return self.response"},
            "create does more than make a mock: print(options)",
        ),
    ],
    ids=str,
)
def test_another_part_of_a_fake_class_is_a_problem(
    tmp_path: Path, values: dict[str, str], reason: str
) -> None:
    assert migrate_fake(tmp_path, values) == ("", [reason])


PATCHED = """:
    {line}
    with patch.object({owner}, "create", return_value={response}) as create:
        app.run(service)
    create.assert_called_once_with(seed=1)
"""
PATCH_IMPORT = "from unittest.mock import patch\n"


@pytest.mark.parametrize(
    ("line", "owner", "response"),
    [
        ("service = app.Service()", "service.client.chat.completions", "new_response()"),
        ("service = app.OpenAI()", "service.chat.completions", "new_response()"),
        ("service = app.Service()", "service._claude.messages", "new_message()"),
    ],
)
def test_a_method_of_a_client_that_exists_is_patched(
    tmp_path: Path, line: str, owner: str, response: str
) -> None:
    test = PATCHED.format(line=line, owner=owner, response=response)
    new = migrate(tmp_path, test, imports=PATCH_IMPORT)
    assert new.partition(f"{line}\n")[2].splitlines() == [
        '    mock_llm_responses.set("*", "Hi")',
        "    app.run(service)",
        "    mock_llm_calls.assert_called_once()",
        '    assert mock_llm_calls.last_call.request.body == {"seed": 1}',
    ]


@pytest.mark.parametrize(
    ("line", "owner", "topic"),
    [
        ("service = MagicMock()", "service.chat.completions", "openai"),
        ("service = app.Service()", "service.chat.rooms", "openai"),
        ("service = app.Service()", "service.client.beta.messages", "Anthropic"),
        ("service = app.Service()", "service.client.messages", "openai"),
    ],
)
def test_a_method_of_something_else_is_left_alone(
    tmp_path: Path, line: str, owner: str, topic: str
) -> None:
    test = PATCHED.format(line=line, owner=owner, response="new_response()")
    result = run(tmp_path, test, topic, PATCH_IMPORT)
    assert (result.after, result.manual_changes) == (result.before, ())


LATER = """:
    client = {mock}
    service = app.Service(client)
    client.{configuration}
    service.run()"""


@pytest.mark.parametrize(("mock", "new"), [("Mock()", "OpenAI"), ("AsyncMock()", "AsyncOpenAI")])
def test_a_client_that_is_configured_behind_its_use(tmp_path: Path, mock: str, new: str) -> None:
    configuration = "chat.completions.create.return_value = new_response()"
    test = LATER.format(mock=mock, configuration=configuration)
    assert migrate(tmp_path, test) == (
        f"(mock_llm_responses):\n    client = openai.{new}()\n    service = app.Service(client)\n"
        '    mock_llm_responses.set("*", "Hi")\n    service.run()'
    )


@pytest.mark.parametrize(
    "configuration",
    [
        "chat.completions.create.side_effect = answer",
        "orders.create.return_value = new_response()",
        "chat.completions.create = AsyncMock(return_value=new_response())",
        "chat.completions.create = AsyncMock()\n"
        "    client.chat.completions.create.return_value = new_response()",
        "chat.completions.create.return_value = new_response()\n"
        "    client.messages.create.return_value = new_message()",
    ],
)
def test_another_mock_that_is_configured_behind_its_use_stays(
    tmp_path: Path, configuration: str
) -> None:
    test = LATER.format(mock="Mock()", configuration=configuration)
    assert migrate(tmp_path, test) == f"(){test}"


@pytest.mark.parametrize("chat", ["app.CHAT", "None", "SimpleNamespace(rooms=Mock())"])
def test_a_mock_with_another_part_that_is_configured_behind_its_use_stays(
    tmp_path: Path, chat: str
) -> None:
    configuration = "chat.completions.create.return_value = new_response()"
    test = LATER.format(mock=f"Mock(chat={chat})", configuration=configuration)
    assert migrate(tmp_path, test) == f"(){test}"
