"""Every assertion of `unittest.mock`, and every read of calls, on a prompt and on `get_model`."""

import asyncio
from unittest import mock
from unittest.mock import ANY

import pytest
import reviews
from reviews import (
    Review,
    awaited,
    awaited_if_any,
    if_any,
    name_prompt,
    nothing_else,
    review,
    summarize,
    unstreamed,
    warm,
)

FAULTS = (
    *("", "prompt", "system", "option", "schema", "twice", "no call", "call"),
    *("model", "model twice", "no system", "no option", "no schema", "stream", "no stream"),
)
REVIEW = '{"stars": 4, "title": "Fine"}'
MODEL = "gpt-4o-mini"


@pytest.fixture
def get_model(mock_llm_responses):
    mock_llm_responses.set("*", "Short")


@pytest.fixture
def model(mock_llm_responses):
    mock_llm_responses.set("*", REVIEW)


@pytest.fixture
def async_model(mock_llm_responses):
    mock_llm_responses.set("*", "Hallo")


class TestPrompt:
    def test_assert_called(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.calls

    def test_assert_called_once(self, get_model, mock_llm_calls):
        summarize("a")
        mock_llm_calls.assert_called_once()

    def test_assert_not_called(self, get_model, mock_llm_calls):
        if_any("")
        mock_llm_calls.assert_not_called()

    def test_assert_called_with(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.last_call["prompt"] == "Summarize: a"
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_assert_called_with_is_about_the_last_call(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert mock_llm_calls.last_call["prompt"] == "Summarize: b"
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_assert_called_once_with(self, get_model, mock_llm_calls):
        summarize("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Summarize: a"
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_a_schema(self, model, mock_llm_calls):
        review("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Review: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] == Review.__name__
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_an_option(self, get_model, mock_llm_calls):
        warm("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Warmly: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {"temperature": 0.5}

    def test_without_a_stream(self, get_model, mock_llm_calls):
        unstreamed("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "At once: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call.stream is False
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_nothing_else(self, model, mock_llm_calls):
        if_any("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "If any: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_none(self, get_model, mock_llm_calls):
        nothing_else("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_a_prompt_by_its_name(self, get_model, mock_llm_calls):
        reviews.model_of().prompt(prompt="a", temperature=0.5)
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {"temperature": 0.5}

    def test_with_any_prompt(self, get_model, mock_llm_calls):
        summarize("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_any_system_prompt(self, get_model, mock_llm_calls):
        summarize("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Summarize: a"
        assert mock_llm_calls.last_call["kwargs"]["system"] == mock.ANY
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_any_schema(self, model, mock_llm_calls):
        review("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Review: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is not None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_with_any_option(self, get_model, mock_llm_calls):
        warm("a")
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "Warmly: a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {"temperature": ANY}


class TestAwaitedPrompt:
    def test_assert_awaited(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        assert mock_llm_calls.calls

    def test_assert_awaited_once(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        mock_llm_calls.assert_called_once()

    def test_assert_awaited_with(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        assert mock_llm_calls.last_call["prompt"] == "a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_assert_awaited_once_with(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        mock_llm_calls.assert_called_once()
        assert mock_llm_calls.last_call["prompt"] == "a"
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not {"attachments", "system", "tools"} & mock_llm_calls.last_call["kwargs"].keys()
        assert mock_llm_calls.last_call["options"] == {}

    def test_assert_not_awaited(self, async_model, mock_llm_calls):
        asyncio.run(awaited_if_any(""))
        mock_llm_calls.assert_not_called()

    def test_await_count(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        assert len(mock_llm_calls.calls) == 1

    def test_await_args(self, async_model, mock_llm_calls):
        asyncio.run(awaited("a"))
        assert mock_llm_calls.last_call["prompt"] == "a"
        assert mock_llm_calls.calls[0]["prompt"] == "a"


class TestGetModel:
    def test_assert_called(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models

    def test_assert_called_once(self, get_model, mock_llm_calls):
        summarize("a")
        assert len(mock_llm_calls.requested_models) == 1

    def test_assert_not_called(self, get_model, mock_llm_calls):
        if_any("")
        assert not mock_llm_calls.requested_models

    def test_assert_called_with(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models[-1:] == ["gpt-4o-mini"]

    def test_assert_called_with_is_about_the_last_call(self, get_model, mock_llm_calls):
        reviews.model_of("gpt-4o")
        summarize("a")
        assert mock_llm_calls.requested_models[-1:] == ["gpt-4o-mini"]

    def test_assert_called_once_with(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models == ["gpt-4o-mini"]

    def test_assert_called_once_with_a_constant(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models == [MODEL]

    def test_assert_called_once_with_anything(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models == [ANY]

    def test_assert_any_call(self, get_model, mock_llm_calls):
        summarize("a")
        reviews.model_of("gpt-4o")
        assert "gpt-4o-mini" in mock_llm_calls.requested_models

    def test_called(self, get_model, mock_llm_calls):
        if_any("")
        assert not mock_llm_calls.requested_models
        if_any("a")
        assert mock_llm_calls.requested_models

    def test_call_count(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert len(mock_llm_calls.requested_models) == 2

    def test_call_args(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.requested_models[-1] == "gpt-4o-mini"
        assert mock_llm_calls.requested_models[-1] == MODEL
        assert mock_llm_calls.requested_models[-1] != "gpt-4o"

    def test_call_args_list(self, get_model, mock_llm_calls):
        summarize("a")
        reviews.model_of("gpt-4o")
        assert mock_llm_calls.requested_models[0] == "gpt-4o-mini"
        assert mock_llm_calls.requested_models[-1] == "gpt-4o"
        assert len(mock_llm_calls.requested_models) == 2


class TestReads:
    def test_called(self, get_model, mock_llm_calls):
        if_any("")
        assert not mock_llm_calls.calls
        if_any("a")
        assert mock_llm_calls.calls

    def test_call_count(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert len(mock_llm_calls.calls) == 2

    def test_call_args(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert mock_llm_calls.last_call["prompt"] == "Summarize: b"
        assert mock_llm_calls.last_call["prompt"].endswith("b")
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"
        assert mock_llm_calls.last_call["kwargs"].get("system") == "Be brief"
        assert mock_llm_calls.last_call["options"].get("temperature") is None
        assert "system" in mock_llm_calls.last_call["kwargs"]
        assert "temperature" not in mock_llm_calls.last_call["options"]

    def test_call_args_list(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert len(mock_llm_calls.calls) == 2
        assert mock_llm_calls.calls[0]["prompt"] == "Summarize: a"
        assert mock_llm_calls.calls[-1]["kwargs"]["system"] == "Be brief"
        assert all(call["prompt"].startswith("Summarize: ") for call in mock_llm_calls.calls)
        prompts = [call["prompt"] for call in mock_llm_calls.calls]
        assert prompts == ["Summarize: a", "Summarize: b"]

    def test_names_of_arguments(self, get_model, mock_llm_calls):
        warm("a")
        assert mock_llm_calls.last_call["prompt"] == "Warmly: a"
        assert mock_llm_calls.last_call["options"]["temperature"] == 0.5
        assert mock_llm_calls.last_call["options"].get("temperature") == 0.5

    def test_a_prompt_by_name(self, get_model, mock_llm_calls):
        name_prompt("a")
        assert mock_llm_calls.last_call["prompt"] == "By name: a"
        assert mock_llm_calls.last_call["prompt"].startswith("By name") and mock_llm_calls.last_call["kwargs"]["system"] == "Be brief"

    def test_the_last_call_of_several(self, get_model, mock_llm_calls):
        summarize("a")
        first = mock_llm_calls.last_call
        assert str(first["prompt"]) == "Summarize: a"
        number = len("ab")
        assert first["kwargs"]["system"] == "Be brief"
        summarize("b")
        first = mock_llm_calls.last_call
        assert (first["prompt"], number) == ("Summarize: b", 2)

    def test_a_call_of_several(self, get_model, mock_llm_calls):
        summarize("a")
        summarize("b")
        assert mock_llm_calls.calls[0]["prompt"] == "Summarize: a"

    def test_a_number_of_calls(self, get_model, mock_llm_calls):
        summarize("a")
        before = len(mock_llm_calls.calls)
        summarize("b")
        assert len(mock_llm_calls.calls) == before + 1

    def test_that_there_is_a_schema(self, model, mock_llm_calls):
        review("a")
        assert mock_llm_calls.last_call["kwargs"]["schema"] is not None

    def test_that_there_is_no_schema(self, model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None

    def test_a_schema(self, model, mock_llm_calls):
        review("a")
        assert mock_llm_calls.last_call["kwargs"]["schema"] == Review.__name__
        assert mock_llm_calls.last_call["kwargs"]["schema"] == reviews.Review.__name__
        assert mock_llm_calls.last_call["kwargs"]["schema"] != reviews.Topic.__name__
        assert mock_llm_calls.last_call["kwargs"]["schema"] != reviews.Topic.__name__
        assert mock_llm_calls.last_call["kwargs"]["schema"] is not None
        assert mock_llm_calls.last_call["kwargs"]["schema"]
        assert mock_llm_calls.last_call["kwargs"]["schema"] == Review.__name__

    def test_no_schema(self, get_model, mock_llm_calls):
        summarize("a")
        assert mock_llm_calls.last_call["kwargs"]["schema"] is None
        assert not mock_llm_calls.last_call["kwargs"]["schema"]
