"""Direct calls of a provider's model are answered by the mock, too."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import llm
import pytest

from llm_mock import LLMMock, ResponseConfigurator


class Reached(AssertionError):
    """A real model was executed."""


class Provider(llm.Model):
    """A provider's model; it must never execute."""

    model_id = "provider/model"

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        raise Reached


class KeyProvider(llm.KeyModel):
    """One that takes a key."""

    model_id = "provider/model"
    needs_key = "provider"

    def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> Iterator[str]:
        raise Reached


class AsyncProvider(llm.AsyncKeyModel):
    """The asynchronous twin."""

    model_id = "provider/model"
    needs_key = "provider"

    async def execute(
        self, prompt: Any, stream: bool, response: Any, conversation: Any, key: str | None
    ) -> Any:
        raise Reached
        yield ""


class Executing:
    """A mixin of a provider's classes, which is no model itself."""

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        raise Reached


class Mixed(Executing, llm.Model):
    """A model that inherits `execute` from it."""

    model_id = "provider/model"


class Inheriting(Provider):
    """A provider's model that another one derives from."""

    def execute(self, prompt: Any, stream: bool, response: Any, conversation: Any) -> Iterator[str]:
        yield from super().execute(prompt, stream, response, conversation)


class Prompting(Provider):
    """One whose `prompt` does more than that of `llm`."""

    def prompt(self, prompt: Any = None, **kwargs: Any) -> Any:
        return super().prompt(f"{prompt} there", **kwargs)


class Embedding(llm.EmbeddingModel):  # type: ignore[name-defined, misc]
    """A provider's embedding model."""

    model_id = "provider/embedding"
    needs_key = "provider"

    def embed_batch(self, items: Any, key: str | None = None) -> Any:
        raise Reached


def execute(model: Any, **arguments: Any) -> str:
    prompt = llm.Prompt("Hello", model)
    return "".join(
        model.execute(prompt, True, llm.Response(prompt, model, True), None, **arguments)
    )


def execute_by_names(model: Any, **arguments: Any) -> str:
    prompt = llm.Prompt("Hello", model)
    response = llm.Response(prompt, model, False)
    return "".join(
        model.execute(
            prompt=prompt, stream=False, response=response, conversation=None, **arguments
        )
    )


def execute_of_the_class() -> str:
    model = Provider()
    prompt = llm.Prompt("Hello", model)
    return "".join(Provider.execute(model, prompt, True, llm.Response(prompt, model, True), None))


def execute_async(model: Any) -> str:
    async def text() -> str:
        prompt = llm.Prompt("Hello", model)
        response = llm.AsyncResponse(prompt, model, True)
        return "".join(
            [
                chunk
                async for chunk in model.execute(
                    prompt, True, response, None, key="of-the-application"
                )
            ]
        )

    return asyncio.run(text())


def define_and_execute() -> str:
    class Late(Provider):
        def execute(self, *args: Any, **kwargs: Any) -> Iterator[str]:
            raise Reached

    return execute(Late())


DIRECT: dict[str, Callable[[], str]] = {
    "execute": lambda: execute(Provider()),
    "execute, by names": lambda: execute_by_names(Provider()),
    "execute with a key": lambda: execute(KeyProvider(), key="of-the-application"),
    "execute with a key, by names": lambda: execute_by_names(
        KeyProvider(), key="of-the-application"
    ),
    "execute of an async model": lambda: execute_async(AsyncProvider()),
    "execute of the class": execute_of_the_class,
    "execute of a class that inherits it": lambda: execute(Inheriting()),
    "execute of a class that mixes it in": lambda: execute(Mixed()),
    "execute of a class of the test": define_and_execute,
    "prompt of its own": lambda: Prompting().prompt("Hello").text(),
}


@pytest.mark.parametrize("call", DIRECT.values(), ids=DIRECT.keys())
def test_a_direct_call_is_answered_and_recorded(
    call: Callable[[], str], mock_llm_responses: ResponseConfigurator, mock_llm_calls: LLMMock
) -> None:
    mock_llm_responses.set("provider/model", "from the mock")
    assert call() == "from the mock"
    (recorded,) = mock_llm_calls.calls
    assert recorded["model_id"] == "provider/model"
    assert recorded["prompt"].startswith("Hello")


@pytest.mark.parametrize("items_as", [list, iter])
@pytest.mark.parametrize("key", [{}, {"key": "of-the-application"}], ids=["no key", "key"])
def test_a_batch_is_embedded_by_the_mock(items_as: Any, key: Any, mock_llm_calls: LLMMock) -> None:
    (vector,) = Embedding().embed_batch(items_as(["Hello"]), **key)
    assert vector == mock_llm_calls.get_embedding_model("provider/embedding").embed("Hello")
    assert mock_llm_calls.get_embedding_model("provider/embedding").call_history[0]["items"] == [
        "Hello"
    ]


def test_a_prompt_made_by_hand_may_have_its_options_in_a_dict(mock_llm_calls: LLMMock) -> None:
    model = Provider()
    prompt = llm.Prompt("Hello", model, options={"temperature": 0.5})
    "".join(model.execute(prompt, True, llm.Response(prompt, model, True), None))
    assert mock_llm_calls.calls[0]["options"] == {"temperature": 0.5}


def test_an_error_reaches_a_direct_call(mock_llm_responses: ResponseConfigurator) -> None:
    mock_llm_responses.set_error("provider/model", ConnectionError("down"))
    with pytest.raises(ConnectionError, match="down"):
        execute(Provider())


REAL = """
    import llm, pytest

    class Provider(llm.KeyModel):
        model_id, needs_key = "provider", "provider"

        def execute(self, prompt, stream, response, conversation, key):
            yield f"real {key}"

    class Inheriting(Provider):
        def execute(self, *args, **kwargs):
            yield from super().execute(*args, **kwargs)

    class Embedding(llm.EmbeddingModel):
        model_id = "provider"

        def embed_batch(self, items, key=None):
            return ([1.0] for item in items)

    def ask(model):
        prompt = llm.Prompt("Hello", model)
        return "".join(model.execute(prompt, True, llm.Response(prompt, model, True), None, key="mine"))
"""  # noqa: E501


def test_a_real_model_executes_where_it_is_wanted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        REAL
        + """
    @pytest.mark.llm_live
    def test_live():
        assert ask(Provider()) == ask(Inheriting()) == "real mine"
        assert list(Embedding().embed_batch(["Hello"])) == [[1.0]]

    def test_mocked():
        assert ask(Provider()) == ask(Inheriting()) == '{"success": true}'
    """
    )
    pytester.runpytest("--llm-mock-live").assert_outcomes(passed=2)
    result = pytester.runpytest("--llm-mock-live", "-o", "llm_mock_passthrough=provider")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*real mine*"])


def test_a_direct_call_can_be_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        REAL
        + """
    def test_executing():
        ask(Provider())

    def test_embedding():
        list(Embedding().embed_batch(["Hello"]))
    """
    )
    result = pytester.runpytest("-o", "llm_mock_strict=error")
    result.assert_outcomes(failed=2)
    for test in ("test_executing", "test_embedding"):
        result.stdout.fnmatch_lines(
            [f"E *The real model '*' was about to execute in *::{test}. The application *"]
        )


def test_a_cassette_records_a_provider_that_derives_from_another(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        REAL
        + """
    class Plugin:
        @llm.hookimpl
        def register_models(self, register):
            register(Inheriting())

    @pytest.fixture
    def registered():
        plugin = Plugin()
        llm.pm.register(plugin, name="registering")
        yield
        llm.pm.unregister(plugin)

    @pytest.mark.llm_mock_cassette
    def test_it(registered):
        assert llm.get_model("provider").prompt("Hello", key="of-the-test").text() == "real of-the-test"
    """  # noqa: E501
    )
    pytester.runpytest("--llm-mock-record", "all").assert_outcomes(passed=1)
    (cassette,) = (pytester.path / "cassettes").rglob("*.yaml")
    assert "real " in cassette.read_text()
