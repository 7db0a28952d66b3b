"""The changes of hand-made models that old tests notice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from textwrap import dedent

import pytest

pytest.importorskip("libcst")

from llm_mock.migrate.test_runs import find_noticed_changes

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
    "that there is a system prompt": (
        'app.ask(system="S"); assert isinstance(prompt.call_args.kwargs["system"], str)',
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


@pytest.fixture(scope="module")
def noticed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Return the changes that each test notices, by its name."""
    folder = tmp_path_factory.mktemp("old")
    (folder / "app.py").write_text(dedent(APP))
    path = folder / "test_old.py"
    texts = [dedent(START)]
    names = []
    # Tests of classes end the fixtures of one before those of the next begin.
    for number, (code, _) in enumerate(TESTS.values()):
        body = dedent(code).strip().replace("\n", "\n        ")
        names.append(f"TestIt{number}::test_it")
        test = f"    def test_it(self, get_model, prompt):\n        {body}\n"
        texts.append(f"class TestIt{number}:\n{test}")
    texts.append('def test_without_changes(prompt):\n    assert app.ask().text() == "Hello"\n')
    path.write_text("\n".join(texts))
    changes = [(kind, number) for number in (1, 2) for kind in ("model", *KINDS)]
    keys = {(str(path), name): changes for name in [*names, "test_that_is_gone"]}
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        monkeypatch.setenv("PYTEST_ADDOPTS", "-p llm_mock.pytest_plugin")
        monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
        result = find_noticed_changes([path], keys)
    return dict(zip(TESTS, [format_all(result.get(key, ())) for key in keys], strict=False))


def format_all(changes: Sequence[tuple[str, int]]) -> list[str]:
    return [kind if number == 1 else f"{kind}/{number}" for kind, number in changes]


@pytest.mark.parametrize("name", TESTS)
def test_an_old_test_notices_the_changes_that_it_asserts(
    name: str, noticed: dict[str, list[str]]
) -> None:
    assert sorted(noticed[name]) == sorted(TESTS[name][1].split())


def test_a_fixture_of_a_folder_is_changed_for_the_tests_of_that_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p llm_mock.pytest_plugin")
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
    changes = {key: [("text", 1), ("prompt", 1)]}
    result = find_noticed_changes([tmp_path / "conftest.py"], changes)
    assert result == {key: [("text", 1)]}
