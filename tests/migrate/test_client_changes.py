"""Rewritten tests pass where the old ones did, and notice what those noticed of answers."""

from __future__ import annotations

from textwrap import dedent

import pytest
from click.testing import CliRunner

pytest.importorskip("libcst")
pytest.importorskip("openai")
pytest.importorskip("anthropic")
pytest.importorskip("google.genai")
pytest.importorskip("mistralai.client")

from llm_mock.cli import main
from tests.migrate.migrations import Migrated, load_few_plugins

APP = """
    import asyncio
    import json

    import anthropic
    import openai
    from google import genai
    from mistralai.client import Mistral

    MESSAGES = [{"role": "user", "content": "Hi"}]
    TOOL = {"name": "f", "description": "d", "parameters": {"type": "object"}}
    SDKS = ("openai", "anthropic", "google", "mistralai")

    def is_real(response):
        return type(response).__module__.startswith(SDKS)

    def as_real(response, text):
        return "Hello" if is_real(response) else text

    def complete(client, **options):
        return client.chat.completions.create(model="gpt-4o", messages=MESSAGES, **options)

    def complete_with_tool(client):
        return complete(client, tools=[{"type": "function", "function": TOOL}])

    def openai_chat(client=None):
        return complete(client or openai.OpenAI()).choices[0].message.content

    def openai_chat_as_real():
        response = complete(openai.OpenAI())
        return as_real(response, response.choices[0].message.content)

    def openai_chat_or_failure():
        try:
            return openai_chat()
        except openai.APIError:
            return "Hello"

    async def openai_async():
        response = await complete(openai.AsyncOpenAI())
        return response.choices[0].message.content

    async def openai_async_as_real():
        response = await complete(openai.AsyncOpenAI())
        return as_real(response, response.choices[0].message.content)

    def openai_stream():
        chunks = complete(openai.OpenAI(), stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)

    def openai_stream_as_real():
        chunks = complete(openai.OpenAI(), stream=True)
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks)
        return as_real(chunks, text)

    def openai_call():
        message = complete_with_tool(openai.OpenAI()).choices[0].message
        calls = message.tool_calls
        return json.loads(calls[0].function.arguments) if calls else message.content

    def openai_call_as_real():
        response = complete_with_tool(openai.OpenAI())
        if is_real(response):
            return {"n": 1}
        calls = response.choices[0].message.tool_calls
        return json.loads(calls[0].function.arguments) if calls else {}

    LEVEL = {"type": "object", "properties": {"level": {"enum": ["low", "high"]}}}

    def openai_level():
        schema = {"name": "level", "schema": LEVEL}
        answer = complete(
            openai.OpenAI(), response_format={"type": "json_schema", "json_schema": schema}
        )
        level = json.loads(answer.choices[0].message.content)["level"]
        if level not in LEVEL["properties"]["level"]["enum"]:
            raise ValueError(level)
        return level

    sms = None

    def openai_chat_and_sms():
        response = complete(openai.OpenAI())
        sms.messages.create(to="me")
        return as_real(response, response.choices[0].message.content)

    def openai_response():
        return openai.OpenAI().responses.create(model="gpt-4o", input="Hi").output_text

    def openai_response_as_real():
        response = openai.OpenAI().responses.create(model="gpt-4o", input="Hi")
        return as_real(response, response.output_text)

    def send(client, **options):
        return client.messages.create(
            model="claude-opus-4-6", max_tokens=9, messages=MESSAGES, **options
        )

    def claude():
        return send(anthropic.Anthropic()).content[0].text

    def claude_as_real():
        response = send(anthropic.Anthropic())
        return as_real(response, response.content[0].text)

    async def claude_async():
        return (await send(anthropic.AsyncAnthropic())).content[0].text

    async def claude_async_as_real():
        response = await send(anthropic.AsyncAnthropic())
        return as_real(response, response.content[0].text)

    CLAUDE_TOOL = {"name": "f", "description": "d", "input_schema": {"type": "object"}}

    def claude_call():
        [block] = send(anthropic.Anthropic(), tools=[CLAUDE_TOOL]).content
        return block.input if block.type == "tool_use" else {}

    def claude_call_as_real():
        response = send(anthropic.Anthropic(), tools=[CLAUDE_TOOL])
        [block] = response.content
        data = block.input if block.type == "tool_use" else {}
        return {"n": 1} if is_real(response) else data

    REQUEST = {"model": "gemini-2.5-flash", "contents": "Hi"}

    def gemini():
        client = genai.Client()
        return client.models.generate_content(**REQUEST).text

    def gemini_as_real():
        client = genai.Client()
        response = client.models.generate_content(**REQUEST)
        return as_real(response, response.text)

    async def gemini_async():
        client = genai.Client()
        return (await client.aio.models.generate_content(**REQUEST)).text

    async def gemini_async_as_real():
        client = genai.Client()
        response = await client.aio.models.generate_content(**REQUEST)
        return as_real(response, response.text)

    def gemini_stream():
        client = genai.Client()
        chunks = client.models.generate_content_stream(**REQUEST)
        return "".join(chunk.text for chunk in chunks)

    def gemini_stream_as_real():
        client = genai.Client()
        chunks = list(client.models.generate_content_stream(**REQUEST))
        return as_real(chunks[0], "".join(chunk.text for chunk in chunks))

    SMALL = {"model": "mistral-small-latest", "messages": MESSAGES}

    def mistral():
        return Mistral(api_key="k").chat.complete(**SMALL).choices[0].message.content

    def mistral_as_real():
        response = Mistral(api_key="k").chat.complete(**SMALL)
        return as_real(response, response.choices[0].message.content)

    async def mistral_async():
        response = await Mistral(api_key="k").chat.complete_async(**SMALL)
        return response.choices[0].message.content

    async def mistral_async_as_real():
        response = await Mistral(api_key="k").chat.complete_async(**SMALL)
        return as_real(response, response.choices[0].message.content)
"""
START = """
    import asyncio
    from types import SimpleNamespace
    from unittest.mock import AsyncMock, MagicMock, Mock, patch

    import openai
    import pytest
    from openai.resources.chat.completions import Completions
    from openai.types.chat import ChatCompletion

    import app

    MESSAGE = SimpleNamespace(content="Hello")
    COMPLETION = SimpleNamespace(choices=[SimpleNamespace(message=MESSAGE)])

    def new_chunk(text):
        return SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=text))])
"""
CHAT = """
    with patch("app.openai.OpenAI") as client:
        create = client.return_value.chat.completions.create
        create.return_value.choices[0].message.content = "Hello"
        assert app.openai_chat{0}() == "Hello"
"""
CHAT_ASYNC = """
    with patch("app.openai.AsyncOpenAI") as client:
        client.return_value.chat.completions.create = AsyncMock(return_value=COMPLETION)
        assert asyncio.run(app.openai_async{0}()) == "Hello"
"""
CHAT_STREAM = """
    with patch("app.openai.OpenAI") as client:
        chunks = [new_chunk("Hel"), new_chunk("lo")]
        client.return_value.chat.completions.create.return_value = {1}
        assert app.openai_stream{0}() == "Hello"
"""
CHAT_CALL = """
    with patch("app.openai.OpenAI") as client:
        create = client.return_value.chat.completions.create
        function = SimpleNamespace(name="f", arguments='{{"n": 1}}')
        call = SimpleNamespace(id="a", type="function", function=function)
        message = SimpleNamespace(content=None, tool_calls=[call])
        create.return_value = SimpleNamespace(choices=[SimpleNamespace(message=message)])
        assert app.openai_call{0}() == {{"n": 1}}
"""
RESPONSE = """
    with patch("app.openai.OpenAI") as client:
        client.return_value.responses.create.return_value = Mock(output_text="Hello")
        assert app.openai_response{0}() == "Hello"
"""
CLAUDE = """
    with patch("app.anthropic.Anthropic") as client:
        message = SimpleNamespace(content=[SimpleNamespace(type="text", text="Hello")])
        client.return_value.messages.create.return_value = message
        assert app.claude{0}() == "Hello"
"""
CLAUDE_ASYNC = """
    with patch("app.anthropic.AsyncAnthropic") as client:
        message = SimpleNamespace(content=[SimpleNamespace(type="text", text="Hello")])
        client.return_value.messages.create = AsyncMock(return_value=message)
        assert asyncio.run(app.claude_async{0}()) == "Hello"
"""
CLAUDE_CALL = """
    with patch("app.anthropic.Anthropic") as client:
        block = SimpleNamespace(type="tool_use", id="a", name="f", input={{"n": 1}})
        message = SimpleNamespace(content=[block])
        client.return_value.messages.create.return_value = message
        assert app.claude_call{0}() == {{"n": 1}}
"""
GEMINI = """
    with patch("app.genai.Client") as client:
        client.return_value.models.generate_content.return_value = Mock(text="Hello")
        assert app.gemini{0}() == "Hello"
"""
GEMINI_ASYNC = """
    with patch("app.genai.Client") as client:
        generate = AsyncMock(return_value=Mock(text="Hello"))
        client.return_value.aio.models.generate_content = generate
        assert asyncio.run(app.gemini_async{0}()) == "Hello"
"""
GEMINI_STREAM = """
    with patch("app.genai.Client") as client:
        chunks = [Mock(text="Hel"), Mock(text="lo")]
        client.return_value.models.generate_content_stream.return_value = chunks
        assert app.gemini_stream{0}() == "Hello"
"""
MISTRAL = """
    with patch("app.Mistral") as client:
        client.return_value.chat.complete.return_value = COMPLETION
        assert app.mistral{0}() == "Hello"
"""
MISTRAL_ASYNC = """
    with patch("app.Mistral") as client:
        client.return_value.chat.complete_async = AsyncMock(return_value=COMPLETION)
        assert asyncio.run(app.mistral_async{0}()) == "Hello"
"""
FUNCTION = """
    with patch("openai.resources.chat.completions.Completions.create") as create:
        create.return_value = COMPLETION
        assert app.openai_chat{0}() == "Hello"
"""
FAKE_FUNCTION = """
    def create(self, **options):
        return COMPLETION

    monkeypatch.setattr(Completions, "create", create)
    assert app.openai_chat{0}() == "Hello"
"""
FAILING = """
    with patch("app.openai.OpenAI") as client:
        client.return_value.chat.completions.create.return_value = COMPLETION
        assert app.openai_chat_or_failure() == "Hello"
"""
MODULE = """
    with patch("app.openai") as sdk:
        sdk.OpenAI.return_value.chat.completions.create.return_value = COMPLETION
        assert app.openai_chat_or_failure() == "Hello"
"""
LEVEL = """
    with patch("app.openai.OpenAI") as client:
        create = client.return_value.chat.completions.create
        create.return_value.choices[0].message.content = '{{"level": "low"}}'
        assert app.openai_level() in ("low", "high")
"""
SERVICE = """
    with patch("app.openai.OpenAI") as client:
        client.return_value.chat.completions.create.return_value = COMPLETION
        with patch("app.sms"):
            assert app.openai_chat_and_sms() == "Hello"
"""
TEXT = "when the answer is another text (call 1), when the answer is empty (call 1)"
CALLS = (
    "when the model calls no tool (call 1), when the tool calls have other arguments (call 1), "
    "when the answer is empty (call 1)"
)
MOCKS = {
    "a chat": (CHAT, TEXT),
    "an awaited chat": (CHAT_ASYNC, TEXT),
    "a streamed chat": (CHAT_STREAM.replace("{1}", "iter(chunks)"), TEXT),
    "a listed stream": (CHAT_STREAM.replace("{1}", "chunks"), TEXT),
    "a tool call": (CHAT_CALL, CALLS),
    "a response": (RESPONSE, TEXT),
    "a message": (CLAUDE, TEXT),
    "an awaited message": (CLAUDE_ASYNC, TEXT),
    "a tool call of a message": (CLAUDE_CALL, CALLS),
    "content": (GEMINI, TEXT),
    "awaited content": (GEMINI_ASYNC, TEXT),
    "streamed content": (GEMINI_STREAM, TEXT),
    "a chat of Mistral": (MISTRAL, TEXT),
    "an awaited chat of Mistral": (MISTRAL_ASYNC, TEXT),
    "a method of the SDK": (FUNCTION, TEXT),
    "a fake method of the SDK": (FAKE_FUNCTION, TEXT),
}

ONLY_KEPT = {
    "an error that the application handles": FAILING,
    "an error whose class is a mock": MODULE,
    "data of the schema": LEVEL,
    "calls of another service": SERVICE,
}


TRANSPORTS_APP = """
    MESSAGES = [{"role": "user", "content": "Good day"}]

    def ask(client):
        if hasattr(client, "messages"):
            options = {"model": "claude-haiku-4-5", "max_tokens": 9, "messages": MESSAGES}
            return client.messages.create(**options).content[0].text
        if hasattr(client.chat, "complete"):
            return client.chat.complete(model="m", messages=MESSAGES).choices[0].message.content
        response = client.chat.completions.create(model="gpt-4o", messages=MESSAGES)
        return response.choices[0].message.content
"""
TRANSPORTS = """
    import json

    import anthropic
    import httpx2
    import openai
    import pytest
    from mistralai.client import Mistral
    from openai import OpenAI
    from transports_app import ask

    def completion(text):
        message = {"role": "assistant", "content": text}
        return {"id": "c1", "model": "gpt-4o", "choices": [{"index": 0, "message": message}]}

    def test_a_text():
        seen = []

        def handler(request):
            seen.append(request)
            return httpx2.Response(200, json=completion("Hello"))

        http = httpx2.Client(transport=httpx2.MockTransport(handler))
        with OpenAI(api_key="x", http_client=http) as client:
            assert ask(client) == "Hello"
        assert len(seen) == 1
        assert json.loads(seen[0].content)["messages"][0]["content"] == "Good day"

    def test_an_error():
        http = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(429)))
        client = OpenAI(api_key="x", http_client=http, max_retries=0)
        with pytest.raises(openai.RateLimitError):
            ask(client)

    def test_a_message():
        body = {
            "id": "m", "type": "message", "role": "assistant", "model": "claude-haiku-4-5",
            "content": [{"type": "text", "text": "Hi"}], "stop_reason": "end_turn",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
        }
        transport = httpx2.MockTransport(lambda request: httpx2.Response(200, json=body))
        http = httpx2.Client(transport=transport)
        assert ask(anthropic.Anthropic(api_key="x", http_client=http)) == "Hi"

    def test_mistral():
        def handler(request):
            choice = {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hi"},
            }
            return httpx2.Response(
                200,
                json={
                    "id": "c",
                    "object": "chat.completion",
                    "created": 1,
                    "model": "m",
                    "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
                    "choices": [choice],
                },
            )

        http = httpx2.Client(transport=httpx2.MockTransport(handler))
        assert ask(Mistral(api_key="x", client=http)) == "Hi"
"""
SDK_MODULE_APP = """
    def ask():
        import openai

        client = openai.OpenAI(api_key="test", max_retries=0)
        messages = [{"role": "user", "content": "Hello"}]
        response = client.chat.completions.create(model="gpt-4o", messages=messages)
        return response.choices[0].message.content
"""
SDK_MODULE = """
    import sys
    from unittest.mock import MagicMock, Mock

    import sdk_module_app

    COMPLETION = Mock(choices=[Mock(message=Mock(content="Hi"))])

    def test_it(monkeypatch):
        fake = MagicMock()
        fake.OpenAI.return_value.chat.completions.create.return_value = COMPLETION
        monkeypatch.setitem(sys.modules, "openai", fake)
        assert sdk_module_app.ask() == "Hi"
        sdk_module_app.ask()
"""
ARGUMENTS_APP = """
    import llm

    PADDED = "\\nBe brief.\\n"

    def ask(text, **options):
        return llm.get_model().prompt(text, **options).text()
"""
ARGUMENTS = """
    from unittest.mock import patch

    import arguments_app
    from arguments_app import PADDED

    @patch("arguments_app.llm.get_model")
    def test_system(get_model):
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "{}"
        schema = {"type": "object"}
        arguments_app.ask("Hi", system=PADDED, stream=False, schema=schema)
        kwargs = model.prompt.call_args.kwargs
        get_model.assert_called_once_with()
        assert kwargs['system'] == PADDED

    @patch("arguments_app.llm.get_model")
    def test_schema(get_model):
        model = get_model.return_value
        model.prompt.return_value.text.return_value = "{}"
        schema = {"type": "object"}
        arguments_app.ask("Hi", system=PADDED, stream=False, schema=schema)
        kwargs = model.prompt.call_args.kwargs
        assert (kwargs["stream"] is False, kwargs["schema"] == schema) == (True, True)
"""
AGENTS = {
    "agents/pydantic_ai/__init__.py": """
        from contextlib import contextmanager

        import openai
        from pydantic_ai import models

        class Agent:
            def __init__(self, model):
                self.model = model

            @contextmanager
            def override(self, model):
                self.model, before = model, self.model
                yield
                self.model = before

            def run_sync(self, prompt):
                if self.model != "gpt-5":
                    return getattr(self.model, "text", "Sunny.")
                if not models.ALLOW_MODEL_REQUESTS:
                    raise RuntimeError("since ALLOW_MODEL_REQUESTS is False")
                client = openai.OpenAI(api_key="test")
                messages = [{"role": "user", "content": prompt}]
                response = client.chat.completions.create(model="gpt-5", messages=messages)
                return response.choices[0].message.content
    """,
    "agents/pydantic_ai/models/__init__.py": "ALLOW_MODEL_REQUESTS = True",
    "agents/pydantic_ai/models/test.py": """
        class TestModel:
            __test__ = False

            def __init__(self, custom_output_text):
                self.text = custom_output_text
    """,
    "agents/weather.py": """
        from pydantic_ai import Agent

        agent = Agent("gpt-5")
        tested = Agent("test")
    """,
    "agents/conftest.py": """
        from pydantic_ai import models

        models.ALLOW_MODEL_REQUESTS = False
    """,
    "agents/test_agents.py": """
        import pytest
        from weather import agent, tested
        from pydantic_ai.models.test import TestModel

        @pytest.fixture
        def rainy():
            with agent.override(model=TestModel(custom_output_text="Rain.")):
                yield

        def test_rainy(rainy):
            assert agent.run_sync("Rome?") == "Rain."

        @pytest.fixture
        def unused():
            with agent.override(model=TestModel(custom_output_text="Rain.")):
                yield

        def test_unused(unused):
            pass

        def test_sunny():
            with agent.override(model=TestModel(custom_output_text="Sunny.")):
                assert agent.run_sync("Rome?") == "Sunny."

        def test_tested():
            with tested.override(model=TestModel(custom_output_text="Sunny.")):
                assert tested.run_sync("Rome?") == "Sunny."

        def test_changed():
            with agent.override(model=TestModel(custom_output_text="Rain.")):
                assert agent.model.text == "Rain."
    """,
}
OTHER_FILES = {
    "transports_app.py": TRANSPORTS_APP,
    "test_transports.py": TRANSPORTS,
    "sdk_module_app.py": SDK_MODULE_APP,
    "test_sdk_module.py": SDK_MODULE,
    "arguments_app.py": ARGUMENTS_APP,
    "test_arguments.py": ARGUMENTS,
    **AGENTS,
}
"""Other kinds of mocks, in the same migration: each of its runs imports all SDKs."""


@pytest.fixture(scope="module")
def migrated(tmp_path_factory: pytest.TempPathFactory) -> Migrated:
    """Return one migration of all tests of `MOCKS` and `ONLY_KEPT`, and of `OTHER_FILES`."""
    folder = tmp_path_factory.mktemp("clients")
    tests = []
    for number, (template, _) in enumerate(MOCKS.values()):
        tests.append(new_test(f"test_kept_{number}", template, ""))
        tests.append(new_test(f"test_left_{number}", template, "_as_real"))
    for number, template in enumerate(ONLY_KEPT.values()):
        tests.append(new_test(f"test_only_kept_{number}", template, ""))
    files = {"app.py": APP, "test_app.py": "\n\n".join([dedent(START), *tests]), **OTHER_FILES}
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(dedent(text))
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.chdir(folder)
        load_few_plugins(monkeypatch)
        monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)
        result = CliRunner().invoke(main, ["migrate", "--write", "."])
    assert result.exit_code == 0, result.output
    return Migrated(folder, result.output.splitlines())


@pytest.fixture
def output(migrated: Migrated) -> list[str]:
    return migrated.lines


def new_test(name: str, template: str, suffix: str) -> str:
    body = dedent(template).format(suffix).strip().replace("\n", "\n    ")
    arguments = "monkeypatch" if "monkeypatch" in body else ""
    return f"def {name}({arguments}):\n    {body}\n"


@pytest.mark.parametrize("number", range(len(MOCKS)), ids=MOCKS)
def test_a_new_test_that_notices_as_much_is_kept(number: int, output: list[str]) -> None:
    assert any(f": test_kept_{number} verified: it passes" in line for line in output), output


@pytest.mark.parametrize("number", range(len(ONLY_KEPT)), ids=ONLY_KEPT)
def test_a_new_test_is_not_left_for_another_reason(number: int, output: list[str]) -> None:
    assert any(f": test_only_kept_{number} verified: it passes" in line for line in output), output


@pytest.mark.parametrize("number", range(len(MOCKS)), ids=MOCKS)
def test_a_new_test_that_notices_less_is_left(number: int, output: list[str]) -> None:
    _, reason = list(MOCKS.values())[number]
    [line] = [line for line in output if f": test_left_{number}:" in line]
    assert "the old test fails but the rewritten test passes " in line
    assert reason in line


def test_a_test_with_a_fake_transport_passes_where_the_old_one_did(migrated: Migrated) -> None:
    lines = migrated.list_lines("test_transports.py")
    names = ("test_a_text", "test_an_error", "test_a_message", "test_mistral")
    assert len(lines) == len(names)
    for line, name in zip(lines, names, strict=True):
        assert line.startswith(f"test_transports.py: {name} verified: it passes")
    assert "MockTransport" not in migrated.read("test_transports.py")


def test_a_test_with_a_fake_module_passes_where_the_old_one_did(migrated: Migrated) -> None:
    [line] = migrated.list_lines("test_sdk_module.py")
    assert "test_sdk_module.py: test_it verified: it passes" in line
    assert "sys.modules" not in migrated.read("test_sdk_module.py").partition("def test_it")[2]


@pytest.mark.parametrize("name", ["test_system", "test_schema"])
def test_a_test_of_recorded_arguments_passes_where_the_old_one_did(
    migrated: Migrated, name: str
) -> None:
    lines = "\n".join(migrated.list_lines("test_arguments.py"))
    assert f"test_arguments.py: {name} verified: it passes" in lines


def test_a_run_keeps_the_new_tests_of_agents_that_ask_the_mock(migrated: Migrated) -> None:
    path = "agents/test_agents.py"
    assert [line.partition(". ")[0] for line in migrated.list_lines(path)] == [
        f"{path}: test_sunny verified: it passes, and notices 3 of 6 changes.",
        f"{path}: rainy rewritten.",
        f"{path}:15: unused: test_unused uses it: the rewritten test does not call the mock, "
        "so the agent does not use a provider's model",
        f"{path}:26: test_tested: the rewritten test does not call the mock, so the agent does "
        "not use a provider's model",
        f"{path}:30: test_changed: the rewritten test fails: AttributeError: 'str' object has "
        "no attribute 'text'",
    ]
    # The conftest.py forbids requests, as a first run showed.
    expected = """
        @pytest.fixture
        def rainy(mock_llm_responses, monkeypatch):
            monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)
            mock_llm_responses.call_every_tool("*", then="Rain.")
            yield

        def test_rainy(rainy):
            assert agent.run_sync("Rome?") == "Rain."
    """
    new = migrated.read(path)
    assert dedent(expected) in new
    expected = """
        def test_sunny(mock_llm_responses, monkeypatch):
            monkeypatch.setattr("pydantic_ai.models.ALLOW_MODEL_REQUESTS", True)
            mock_llm_responses.call_every_tool("*", then="Sunny.")
            assert agent.run_sync("Rome?") == "Sunny."
    """
    assert dedent(expected) in new
    assert new.count("mock_llm_responses") == 4
