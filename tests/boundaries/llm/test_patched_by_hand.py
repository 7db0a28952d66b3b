"""A test's own patch of a class of `llm` or of a provider takes precedence."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any
from unittest.mock import MagicMock, Mock, patch

import llm
import llm.models
import pytest
from llm.default_plugins import openai_models

from llm_mock import LLMMock, MockLLMModel, ResponseConfigurator
from llm_mock.boundaries.llm import provider_classes


def ask() -> Any:
    return llm.get_model("gpt-4o-mini").prompt("Hi").text()


def ask_unknown() -> Any:
    return llm.get_model("nobody/knows").prompt("Hi").text()


def ask_by_hand() -> Any:
    return openai_models.Chat("gpt-4o-mini").prompt("Hi").text()


def ask_in_conversation() -> Any:
    return llm.get_model("gpt-4o-mini").conversation().prompt("Hi").text()


def ask_async() -> Any:
    async def text() -> Any:
        answer = llm.get_async_model("gpt-4o-mini").prompt("Hi").text()
        return answer if isinstance(answer, (str, Mock)) else await answer

    return asyncio.run(text())


def ask_embedding() -> Any:
    return llm.get_embedding_model("text-embedding-3-small").embed("Hi")


def ask_embedding_by_hand() -> Any:
    return openai_models.OpenAIEmbeddingModel(
        "text-embedding-3-small", "text-embedding-3-small"
    ).embed("Hi")


TEXT = Mock(**{"text.return_value": "patched"})


def text_of_async(*args: Any, **kwargs: Any) -> AsyncIterator[str]:
    async def chunks() -> AsyncIterator[str]:
        yield "patched"

    return chunks()


PATCHES: list[tuple[Callable[[], Any], Any, str, Any]] = [
    (ask, llm.Model, "prompt", TEXT),
    (ask_unknown, llm.Model, "prompt", TEXT),
    (ask, llm.models._Model, "prompt", TEXT),
    (ask_by_hand, llm.models._Model, "prompt", TEXT),
    (ask, llm.KeyModel, "prompt", TEXT),
    (ask_unknown, llm.KeyModel, "prompt", TEXT),
    (ask_by_hand, llm.KeyModel, "prompt", TEXT),
    (ask, openai_models.Chat, "prompt", TEXT),
    (ask_async, llm.AsyncModel, "prompt", TEXT),
    (ask_async, llm.AsyncKeyModel, "prompt", TEXT),
    (ask_async, openai_models.AsyncChat, "prompt", TEXT),
    (ask_in_conversation, llm.Conversation, "prompt", TEXT),
    (ask, llm, "get_model", Mock(**{"prompt.return_value": TEXT})),
    (ask_async, llm, "get_async_model", Mock(**{"prompt.return_value": TEXT})),
    (ask, llm.Response, "text", "patched"),
    (ask_by_hand, llm.Response, "text", "patched"),
    (ask_async, llm.AsyncResponse, "text", "patched"),
    (ask, openai_models.Chat, "execute", ["patched"]),
    (ask_by_hand, openai_models.Chat, "execute", ["patched"]),
    (ask_in_conversation, openai_models.Chat, "execute", ["patched"]),
    (ask_embedding, openai_models.OpenAIEmbeddingModel, "embed_batch", None),
    (ask_embedding_by_hand, openai_models.OpenAIEmbeddingModel, "embed_batch", None),
]
IDS = [f"{door.__name__} with {owner.__name__}.{name} patched" for door, owner, name, _ in PATCHES]


@pytest.mark.parametrize("how", ["return_value", "autospec", "side_effect", "monkeypatch"])
@pytest.mark.parametrize(("door", "owner", "name", "answer"), PATCHES, ids=IDS)
def test_a_patch_wins(
    door: Callable[[], Any],
    owner: Any,
    name: str,
    answer: Any,
    how: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = (vector for vector in ["patched"]) if name == "embed_batch" else answer
    if how == "monkeypatch":
        monkeypatch.setattr(owner, name, lambda *args, **kwargs: answer)
        assert door() == "patched"
    elif how == "side_effect":
        with (
            patch.object(owner, name, side_effect=ZeroDivisionError("patched")),
            pytest.raises(ZeroDivisionError),
        ):
            door()
    else:
        with patch.object(owner, name, autospec=how == "autospec") as mock:
            mock.return_value = answer
            assert door() == "patched"
            assert mock.call_count == 1


@pytest.mark.parametrize(("door", "owner", "name", "answer"), PATCHES, ids=IDS)
def test_the_mock_answers_again_after_a_patch(
    door: Callable[[], Any], owner: Any, name: str, answer: Any
) -> None:
    before = door()
    with patch.object(owner, name, autospec=True):
        pass
    assert door() == before != "patched"


def test_a_patched_execute_of_an_async_provider_wins(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_models.AsyncChat, "execute", text_of_async)
    assert ask_async() == "patched"


def test_a_patched_execute_is_given_what_llm_gives_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "of-the-test")
    with patch.object(
        openai_models.Chat, "execute", autospec=True, return_value=["patched"]
    ) as execute:
        response = llm.get_model("gpt-4o-mini").prompt("Hi", temperature=0.5)
        assert response.text() == "patched"
    (model, prompt), arguments = execute.call_args
    assert type(model) is openai_models.Chat
    assert (prompt.prompt, prompt.options.temperature) == ("Hi", 0.5)
    assert arguments == {
        "stream": True,
        "response": response,
        "conversation": None,
        "key": "of-the-test",
    }


def test_a_patch_of_another_providers_class_changes_nothing(
    mock_llm_responses: ResponseConfigurator,
) -> None:
    mock_llm_responses.set("*", "from the mock")
    with (
        patch.object(openai_models.Completion, "execute"),
        patch.object(openai_models.Completion, "prompt"),
    ):
        assert ask() == ask_unknown() == "from the mock"


def test_what_wraps_a_provider_leads_to_the_mock(
    mock_llm_responses: ResponseConfigurator,
    mock_llm_calls: LLMMock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As a library does that traces the calls of models."""
    original, traced = openai_models.Chat.execute, []

    def tracing(model: Any, *args: Any, **kwargs: Any) -> Iterator[str]:
        traced.append(model.model_id)
        yield from original(model, *args, **kwargs)

    mock_llm_responses.set("*", "from the mock")
    monkeypatch.setattr(openai_models.Chat, "execute", tracing)
    assert ask() == ask_by_hand() == "from the mock"
    assert traced == ["gpt-4o-mini", "gpt-4o-mini"]
    assert [call["response"] for call in mock_llm_calls.calls] == ["from the mock", "from the mock"]


def test_a_patch_of_one_model_wins() -> None:
    model, by_hand = llm.get_model("gpt-4o-mini"), openai_models.Chat("gpt-4o-mini")
    for each in (model, by_hand):
        with patch.object(each, "execute", return_value=["patched"]):
            assert each.prompt("Hi").text() == "patched"
        with patch.object(each, "prompt", return_value="patched"):
            assert each.prompt("Hi") == "patched"
        assert each.prompt("Hi").text() == '{"success": true}'


@pytest.mark.parametrize("name", ["json", "usage", "text", "tool_calls", "duration_ms"])
@pytest.mark.parametrize(
    "answer", ["patched", {"patched": True}, 1, MagicMock()], ids=["text", "dict", "int", "mock"]
)
def test_a_patched_method_of_responses_wins(name: str, answer: Any) -> None:
    with patch.object(llm.Response, name, return_value=answer):
        assert getattr(llm.get_model("gpt-4o-mini").prompt("Hi"), name)() == answer
        assert getattr(openai_models.Chat("gpt-4o-mini").prompt("Hi"), name)() == answer


@pytest.mark.parametrize("name", ["Response", "Prompt"])
def test_a_patched_class_of_llm_wins(name: str) -> None:
    with patch.object(llm.models, name) as patched:
        llm.get_model("gpt-4o-mini").prompt("Hi")
    patched.assert_called_once()


FIRST_USE = """
    from unittest.mock import patch
    import llm

    def test_patched(mock_llm_responses):
        with patch("llm.Model.prompt", autospec=True) as prompt:
            prompt.return_value.text.return_value = "patched"
            assert llm.get_model("nobody/knows").prompt("Hi").text() == "patched"

    def test_afterwards(mock_llm_responses):
        mock_llm_responses.set("*", "from the mock")
        assert llm.get_model("nobody/knows").prompt("Hi").text() == "from the mock"
"""


def test_a_patch_may_be_there_when_a_run_first_uses_a_model(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(FIRST_USE)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_class_of_llm_that_is_replaced_as_a_whole_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from unittest.mock import patch
        import llm, pytest

        def test_replaced(mock_llm_responses):
            with patch("llm.Model"), pytest.raises(Exception, match="llm.Model was replaced before"):
                llm.get_model("nobody/knows").prompt("Hi")

        def test_afterwards(mock_llm_responses):
            mock_llm_responses.set("*", "from the mock")
            assert llm.get_model("nobody/knows").prompt("Hi").text() == "from the mock"
        """  # noqa: E501
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=2)


def test_a_class_that_is_gone_is_forgotten() -> None:
    gc.collect()
    before = len(provider_classes._originals)

    class Temporary(llm.Model):
        model_id = "temporary"

        def execute(self, *args: Any) -> Iterator[str]:
            yield "real"

    assert len(provider_classes._originals) == before + 2
    del Temporary
    gc.collect()
    assert len(provider_classes._originals) == before
    # What remains is as it was, not patched.
    assert llm.get_model("m").prompt("Hi").text() == '{"success": true}'


def test_a_model_of_ones_own_is_beside_the_patches() -> None:
    with patch.object(openai_models.Chat, "execute"):
        assert MockLLMModel("gpt-4o-mini", "own answer").prompt("Hi").text() == "own answer"
