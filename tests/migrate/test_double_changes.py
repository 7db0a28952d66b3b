"""The changes of hand-made models that old tests notice."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from unittest import mock

import pytest

pytest.importorskip("libcst")

# Imported here, where no plan is given: an import of it for a run adds a finder of modules.
import llm_mock.plugin.double_changes  # noqa: F401
from llm_mock.migrate.test_runs import RUN_VARIABLE, NewRun, TestOutcome, find_noticed_changes
from tests.migrate.migrations import load_few_plugins

KINDS = ["text", "data", "empty", "error", "prompt", "system", "schema", "tools", "dropped-call"]
START = """
    import asyncio
    import json
    from unittest.mock import ANY, AsyncMock, MagicMock, Mock, patch

    import pytest

    import app

    @pytest.fixture
    def get_model():
        with patch("app.get_model") as replacement:
            replacement.return_value.prompt.return_value.text.return_value = "Hello"
            yield replacement

    @pytest.fixture
    def prompt(get_model):
        return get_model.return_value.prompt
"""
APP = """
    from llm import get_model

    def ask(prompt="Hi", **arguments):
        return get_model("gpt-4o-mini").prompt(prompt, **arguments)
"""
CONTENT = "text data empty"
READ = f"{CONTENT} error"
TESTS = {
    "the result": ('assert app.ask().text() == "Hello"', READ),
    "no result": ("app.ask().text()", "error"),
    "that there is a result": ("assert app.ask().text()", "empty error"),
    "nothing read": ("app.ask()", ""),
    "the text of a changed answer": (
        """
        prompt.return_value.text.return_value = "Something else entirely."
        assert app.ask().text() == "Something else entirely."
        """,
        READ,
    ),
    "data in a text": (
        """
        prompt.return_value.text.return_value = '{"n": 1}'
        assert json.loads(app.ask().text()) == {"n": 1}
        """,
        READ,
    ),
    "the form of data in a text": (
        """
        prompt.return_value.text.return_value = '{"n": 1}'
        assert isinstance(json.loads(app.ask().text())["n"], int)
        """,
        "empty error",
    ),
    "valid data in a text": (
        """
        prompt.return_value.text.return_value = '{"n": "low"}'
        schema = {"properties": {"n": {"enum": ["low", "high"]}}}
        assert json.loads(app.ask(schema=schema).text())["n"] in ("low", "high")
        """,
        "empty error",
    ),
    "data": (
        """
        prompt.return_value.json.return_value = {"n": 1}
        assert app.ask().json() == {"n": 1}
        """,
        READ,
    ),
    "data in a payload": (
        """
        prompt.return_value.json.return_value = {"type": "a", "content": [{"input": {"n": 1}}]}
        schema = {"type": "object", "required": ["n"]}
        assert app.ask(schema=schema).json()["content"][0]["input"]["n"] == 1
        """,
        READ,
    ),
    "a payload without its data": (
        """
        prompt.return_value.json.return_value = {"type": "a", "content": [{"input": {"n": 1}}]}
        schema = {"type": "object", "required": ["n"]}
        assert app.ask(schema=schema).json()["type"] == "a"
        """,
        "empty error",
    ),
    "usage": (
        """
        prompt.return_value.usage.return_value = 5
        assert app.ask().usage() == 5
        """,
        "",
    ),
    "chunks": (
        """
        get_model.return_value.prompt = Mock(return_value=["Hel", "lo"])
        assert "".join(app.ask()) == "Hello"
        """,
        READ,
    ),
    "a response as text": (
        """
        get_model.return_value.prompt = Mock(return_value="Hello")
        assert str(app.ask()) == "Hello"
        """,
        READ,
    ),
    "an awaited text": (
        """
        prompt.return_value.text = AsyncMock(return_value="Hello")
        assert asyncio.run(app.ask().text()) == "Hello"
        """,
        READ,
    ),
    "an awaited response": (
        """
        response = Mock(**{"text.return_value": "Hello", "json.return_value": {}})
        get_model.return_value.prompt = AsyncMock(return_value=response)

        async def ask():
            return (await app.ask()).text()

        assert asyncio.run(ask()) == "Hello"
        """,
        READ,
    ),
    "the number of calls": ("app.ask(); prompt.assert_called_once()", "dropped-call"),
    "the prompt": ('app.ask(); assert prompt.call_args.args == ("Hi",)', "prompt dropped-call"),
    "the prompt by its name": (
        'app.get_model("a").prompt(prompt="Hi"); prompt.assert_called_with(prompt="Hi")',
        "prompt dropped-call",
    ),
    "the prompt among others": (
        'app.get_model("a").prompt("Hi", 1); prompt.assert_called_with(ANY, 1)',
        "dropped-call",
    ),
    "the system prompt": (
        'app.ask(system="S", a=1); prompt.assert_called_with("Hi", system="S", a=1)',
        "prompt system dropped-call",
    ),
    "the schema": (
        'app.ask(schema={}); assert prompt.call_args.kwargs == {"schema": {}}',
        "schema dropped-call",
    ),
    "the tools": (
        'app.ask(tools=[1]); assert prompt.call_args.kwargs["tools"]',
        "tools dropped-call",
    ),
    "an empty prompt": (
        'app.ask(); assert prompt.call_args.args[0] in ("Hi", "")',
        "dropped-call",
    ),
    "an empty system prompt": (
        'app.ask(system="S"); assert prompt.call_args.kwargs["system"] in ("S", "")',
        "dropped-call",
    ),
    "no schema and no tools": (
        """
        app.ask(schema={}, tools=[1])
        given = prompt.call_args.kwargs
        assert given["schema"] in ({}, None)
        assert given["tools"] in ([1], None)
        """,
        "dropped-call",
    ),
    "a reply by its prompt": (
        """
        prompt.side_effect = lambda text: {"Hi": Mock()}[text]
        app.ask()
        """,
        "",
    ),
    "a fake": (
        """
        class Response:
            def text(self):
                return "Hello"

        class Model:
            prompts = []

            def prompt(self, text):
                self.prompts.append(text)
                return Response()

        get_model.return_value = Model()
        app.ask()
        assert app.ask().text() == "Hello"
        assert Model.prompts == ["Hi", "Hi"]
        """,
        "prompt prompt/2 text/2 data/2 empty/2 error/2",
    ),
    "a fake with slots": (
        """
        class Model:
            __slots__ = ()

            def prompt(self, text):
                return Mock(**{"text.return_value": "Hello"})

        get_model.return_value = Model()
        assert app.ask().text() == prompt().text()
        """,
        "",
    ),
    "a conversation": (
        """
        conversation = get_model.return_value.conversation.return_value
        conversation.prompt.return_value.text.return_value = "Hello"
        chat = app.get_model("gpt-4o-mini").conversation()
        chat.prompt("a")
        assert chat.prompt("b").text() == "Hello"
        """,
        "text/2 data/2 empty/2 error/2",
    ),
    "a chain": (
        """
        get_model.return_value.chain.return_value.text.return_value = "Hello"
        assert app.get_model("gpt-4o-mini").chain("a").text() == "Hello"
        """,
        READ,
    ),
    "the retry of a call": (
        """
        prompt.side_effect = [ValueError, Mock(**{"text.return_value": "Hello"}), Mock()]
        with pytest.raises(ValueError):
            app.ask()
        assert app.ask().text() == "Hello"
        app.ask()
        """,
        READ,
    ),
    "a call after a failed one": (
        """
        prompt.side_effect = [ValueError, Mock(**{"text.return_value": "Hello"})]
        with pytest.raises(ValueError):
            app.ask("a")
        assert app.ask("b").text() == "Hello"
        """,
        "text/2 data/2 empty/2 error/2",
    ),
    "that it runs once": (
        """
        assert app.ask().text() == "Hello"
        assert not hasattr(app, "has_run")
        app.has_run = True
        """,
        "",
    ),
    "what fails": ('assert app.ask().text() == "Bye"', ""),
    "no call": ("pass", ""),
}

CLIENT_APP = """
    import openai
    from anthropic import Anthropic
    from google import genai
    from openai import OpenAI

    SHORT = [{"role": "user", "content": "Hi"}]

    def ask(client=None, prompt="Hi"):
        return (client or OpenAI()).chat.completions.create(
            model="gpt-4o", messages=[{"role": "user", "content": prompt}]
        )

    def read(*args):
        return ask(*args).choices[0].message.content

    def read_or_fail():
        try:
            return read(openai.OpenAI())
        except openai.InternalServerError:
            return "overloaded"

    def read_twice():
        try:
            return read()
        except openai.APIError:
            return read()

    def read_claude():
        message = Anthropic().messages.create(model="c", max_tokens=9, messages=SHORT)
        return message.content[0].text

    def read_gemini():
        return genai.Client().models.generate_content(model="g", contents="Hi").text

    class Unreadable:
        def __getattribute__(self, name):
            if name == "__module__":
                raise RuntimeError(name)
            return object.__getattribute__(self, name)

    setting = Unreadable()

    async def read_async(client):
        return (await ask(client)).choices[0].message.content
"""
CLIENT_START = """
    import asyncio
    from types import SimpleNamespace as Part
    from unittest.mock import AsyncMock, MagicMock, Mock, patch

    import openai
    import pytest
    from openai.resources.chat.completions import Completions

    import app

    def new_completion(text):
        return Part(choices=[Part(message=Part(content=text))])

    COMPLETION = new_completion("Hello")

    @pytest.fixture
    def client_class():
        with patch("app.OpenAI") as client_class:
            yield client_class

    @pytest.fixture
    def create(client_class):
        create = client_class.return_value.chat.completions.create
        create.return_value = COMPLETION
        return create

    @pytest.fixture
    def get_model(client_class, create):
        return client_class

    @pytest.fixture
    def prompt(create):
        return create

    class Fake:
        def __init__(self, **options):
            self.chat = self.completions = self

        def create(self, **options):
            return COMPLETION
"""
CLIENT_READ = "text empty error"
CLIENT_TESTS = {
    "the result": ('assert app.read() == "Hello"', CLIENT_READ),
    "no result": ("app.read()", "error"),
    "that there is a result": ("assert app.read()", "empty error"),
    "the number of calls": ("app.read(); prompt.assert_called_once()", "dropped-call error"),
    "an error that the application handles": (
        """
        with patch("app.openai.OpenAI") as client:
            client.return_value.chat.completions.create.return_value = COMPLETION
            assert app.read_or_fail() in ("Hello", "overloaded")
        """,
        "text empty",
    ),
    "an error whose class is a mock": (
        """
        with patch("app.openai") as sdk:
            sdk.OpenAI.return_value.chat.completions.create.return_value = COMPLETION
            assert app.read_or_fail() == "Hello"
        """,
        "text empty",
    ),
    "a mock that reads the arguments": (
        """
        prompt.side_effect = lambda **options: new_completion(options["messages"][0]["content"])
        assert app.read(None, "Hello") == "Hello"
        """,
        CLIENT_READ,
    ),
    "a repeated call": ('assert app.read_twice() == "Hello"', CLIENT_READ),
    "a call after a failed one": (
        """
        prompt.side_effect = [ValueError, COMPLETION]
        with pytest.raises(ValueError):
            app.read(None, "a")
        assert app.read(None, "b") == "Hello"
        """,
        "text/2 empty/2 error/2",
    ),
    "the retry of a call": (
        """
        prompt.side_effect = [ValueError, COMPLETION, COMPLETION]
        with pytest.raises(ValueError):
            app.read()
        assert app.read() == "Hello"
        app.read(None, "b")
        """,
        f"{CLIENT_READ} error/2",
    ),
    "the same call after a retry": (
        """
        prompt.side_effect = [ValueError, COMPLETION, COMPLETION]
        with pytest.raises(ValueError):
            app.read()
        assert app.read() == "Hello"
        assert app.read() == "Hello"
        """,
        f"{CLIENT_READ} text/2 empty/2 error/2",
    ),
    "a client that a test hands over": (
        """
        client = Mock()
        client.chat.completions.create.return_value = COMPLETION
        assert app.read(client) == "Hello"
        """,
        CLIENT_READ,
    ),
    "an awaited client": (
        """
        client = AsyncMock()
        client.chat.completions.create.return_value = COMPLETION
        assert asyncio.run(app.read_async(client)) == "Hello"
        """,
        CLIENT_READ,
    ),
    "the failure of an awaited client": (
        """
        client = AsyncMock()
        client.chat.completions.create.side_effect = [ValueError, COMPLETION, COMPLETION]
        with pytest.raises(ValueError):
            asyncio.run(app.read_async(client))
        assert asyncio.run(app.read_async(client)) == "Hello"
        app.read()
        """,
        f"{CLIENT_READ} error/2",
    ),
    "a mock without a name": (
        """
        create = Mock(return_value=COMPLETION)
        client = Part(chat=Part(completions=Part(create=create)))
        assert app.read(client) == "Hello"
        """,
        # The SDK is not known, and so is its error.
        "text empty",
    ),
    "a mock that takes no request": (
        """
        mock = Mock(return_value=COMPLETION)
        assert mock(model="gpt-4o").choices[0].message.content == "Hello"
        """,
        "",
    ),
    "another mock with arguments": (
        """
        other = Mock(side_effect=lambda *args, **options: (args, options))
        assert other(1, n=2) == ((1,), {"n": 2})
        assert app.read() == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mock that asks another one": (
        """
        other = Mock(return_value=COMPLETION)
        prompt.side_effect = other
        assert app.read() == "Hello"
        """,
        CLIENT_READ,
    ),
    "a fake that a test hands over": ('assert app.read(Fake()) == "Hello"', ""),
    "a fake class": (
        """
        with patch("app.openai.OpenAI", Fake):
            assert app.read(app.openai.OpenAI()) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a fake class with mocks": (
        """
        class FakeOfMocks(Fake):
            create = Mock(return_value=COMPLETION)

        with patch("app.openai.OpenAI", FakeOfMocks):
            assert app.read(app.openai.OpenAI()) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mock that makes a fake": (
        """
        with patch("app.openai.OpenAI", return_value=Fake()):
            assert app.read(app.openai.OpenAI()) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a function": (
        """
        with pytest.MonkeyPatch.context() as patches:
            patches.setattr("app.openai.OpenAI", lambda: Fake())
            assert app.read(app.openai.OpenAI()) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a fake method": (
        """
        with patch.object(Completions, "create", lambda self, **options: COMPLETION):
            assert app.read(openai.OpenAI(api_key="k")) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mocked method": (
        """
        with patch.object(Completions, "create", return_value=COMPLETION):
            assert app.read(openai.OpenAI(api_key="k")) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mocked method of a client": (
        """
        client = openai.OpenAI(api_key="k")
        with patch.object(client.chat.completions, "create", autospec=True) as create:
            create.return_value = COMPLETION
            assert app.read(client) == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mock of Anthropic": (
        """
        with patch("app.Anthropic") as client:
            message = Part(content=[Part(text="Hello")])
            client.return_value.messages.create.return_value = message
            assert app.read_claude() == "Hello"
        """,
        CLIENT_READ,
    ),
    "a mock of Google": (
        """
        with patch("app.genai.Client") as client:
            client.return_value.models.generate_content.return_value.text = "Hello"
            assert app.read_gemini() == "Hello"
        """,
        CLIENT_READ,
    ),
    "a patch of an object whose attributes cannot be read": (
        """
        with patch("app.setting", 1):
            assert app.read() == "Hello"
        """,
        CLIENT_READ,
    ),
    "calls of different numbers": (
        """
        app.read()
        app.read(None, "a")
        assert app.read(None, "b") == "Hello"
        """,
        "",
    ),
}
ANSWERS = {
    "text": {"text": "Something else entirely.", "arguments": []},
    "empty": {"text": "", "arguments": []},
}


def new_run_with(calls: int) -> NewRun:
    """Return the calls of a new test, each with a text."""
    answers = []
    for number in range(1, calls + 1):
        answers += [(kind, number, answer) for kind, answer in ANSWERS.items()]
    return NewRun(calls=calls, answers=answers)


def find_changes(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    *bodies: str,
    app: str = APP,
    start: str = START,
    calls: int = 0,
) -> list[list[str]]:
    """Return the changes that each test notices, as `kind` or `kind/call`.

    Args:
        pytester: the folder for the tests.
        monkeypatch: sets the plan.
        bodies: the code of each test.
        app: the application.
        start: the code in front of the tests.
        calls: the number of calls of the rewritten tests; 0 if they are unknown.
    """
    pytester.makepyfile(app=dedent(app))
    lines = [dedent(start)]
    names = []
    # Tests of classes end the fixtures of one before those of the next begin.
    for number, code in enumerate(bodies):
        body = dedent(code).strip().replace("\n", "\n        ")
        names.append(f"TestIt{number}::test_it")
        lines.append(
            f"class TestIt{number}:\n    def test_it(self, get_model, prompt):\n        {body}\n"
        )
    path = pytester.makepyfile(test_old="\n".join(lines))
    results = pytester.path / "results"
    results.touch()
    changes = []
    new_runs = []
    if calls:
        new_runs = [(str(path), name, new_run_with(calls)) for name in names]
    for name in [*names, "test_that_is_gone"]:
        for number in (1, 2):
            changes += [(str(path), name, kind, number) for kind in ("model", *KINDS)]
    plan = {
        "results": str(results),
        "sources": {},
        "names": [],
        "seconds": 60,
        "changes": changes,
        "new_runs": new_runs,
    }
    monkeypatch.setenv(RUN_VARIABLE, str(pytester.makefile(".json", plan=json.dumps(plan))))
    plugins = ("llm_mock.plugin.migration_run", "llm_mock.plugin.double_changes")
    # The plugin of the outer run watches patches already.
    pytester.inline_run("-q", "-pno:llm_mock", *(f"-p{plugin}" for plugin in plugins))
    found: dict[str, list[str]] = {name: [] for name in names}
    for line in results.read_text().splitlines():
        entry = json.loads(line)
        if "noticed" in entry:
            assert entry["path"] == str(path)
            kind, number = entry["noticed"]
            found[entry["name"]].append(kind if number == 1 else f"{kind}/{number}")
    return list(found.values())


@pytest.mark.parametrize("name", TESTS)
def test_an_old_test_notices_the_changes_that_it_asserts(
    name: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, expected = TESTS[name]
    [noticed] = find_changes(pytester, monkeypatch, code)
    assert sorted(noticed) == sorted(expected.split())


@pytest.mark.parametrize("name", CLIENT_TESTS)
def test_an_old_test_notices_the_changes_of_a_client_that_it_asserts(
    name: str, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("openai", "anthropic", "google.genai"):
        pytest.importorskip(module)
    code, expected = CLIENT_TESTS[name]
    calls = 2 if "/2" in expected else 1
    [noticed] = find_changes(
        pytester, monkeypatch, code, app=CLIENT_APP, start=CLIENT_START, calls=calls
    )
    assert sorted(noticed) == sorted(expected.split())


def test_a_client_is_not_changed_if_the_calls_of_the_new_test_are_unknown(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _ = CLIENT_TESTS["the result"]
    [noticed] = find_changes(pytester, monkeypatch, code, app=CLIENT_APP, start=CLIENT_START)
    assert noticed == []


def test_tests_are_changed_one_after_the_other(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = 'assert app.ask().text() == "Hello"'
    count = "app.ask(); prompt.assert_called_once()"
    found = find_changes(pytester, monkeypatch, result, count, result)
    assert list(map(sorted, found)) == [
        sorted(READ.split()),
        ["dropped-call"],
        sorted(READ.split()),
    ]


def test_mocks_are_called_as_ever_after_the_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    def get_patched() -> list[object]:
        return [
            mock.CallableMixin.__call__,
            mock._patch.__enter__,  # type: ignore[attr-defined]
            pytest.MonkeyPatch.setattr,
        ]

    before = get_patched()
    find_changes(pytester, monkeypatch, "app.ask()")
    assert get_patched() == before


def test_a_fixture_of_a_folder_is_changed_for_the_tests_of_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_few_plugins(monkeypatch)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "app.py").write_text(dedent(APP))
    (tmp_path / "conftest.py").write_text(dedent(START))
    path = tmp_path / "test_old.py"
    path.write_text(
        dedent(
            """
            import app

            def test_it(get_model):
                assert app.ask().text() == "Hello"
            """
        )
    )
    key = str(path), "test_it"
    new_test = TestOutcome(missed=[("text", 1), ("prompt", 1)])
    result = find_noticed_changes([tmp_path / "conftest.py"], {key: new_test})
    assert result == {key: [("text", 1)]}
