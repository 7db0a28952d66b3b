"""Every assertion of `unittest.mock`, and every read of calls, on a prompt and on `get_model`."""

import asyncio
from unittest import mock
from unittest.mock import ANY, AsyncMock, patch

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
def get_model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = "Short"
        yield get_model


@pytest.fixture
def model():
    with patch("reviews.get_model") as get_model:
        get_model.return_value.prompt.return_value.text.return_value = REVIEW
        yield get_model.return_value


@pytest.fixture
def async_model():
    with patch("reviews.get_async_model") as get_async_model:
        model = get_async_model.return_value
        model.prompt = AsyncMock()
        model.prompt.return_value.text.return_value = "Hallo"
        yield model


class TestPrompt:
    def test_assert_called(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called()

    def test_assert_called_once(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called_once()

    def test_assert_not_called(self, get_model):
        if_any("")
        get_model.return_value.prompt.assert_not_called()

    def test_assert_called_with(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called_with("Summarize: a", system="Be brief")

    def test_assert_called_with_is_about_the_last_call(self, get_model):
        summarize("a")
        summarize("b")
        get_model.return_value.prompt.assert_called_with("Summarize: b", system="Be brief")

    def test_assert_called_once_with(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called_once_with("Summarize: a", system="Be brief")

    def test_with_a_schema(self, model):
        review("a")
        model.prompt.assert_called_once_with("Review: a", schema=Review)

    def test_with_an_option(self, get_model):
        warm("a")
        get_model.return_value.prompt.assert_called_once_with("Warmly: a", temperature=0.5)

    def test_without_a_stream(self, get_model):
        unstreamed("a")
        get_model.return_value.prompt.assert_called_once_with("At once: a", stream=False)

    def test_with_nothing_else(self, model):
        if_any("a")
        model.prompt.assert_called_once_with("If any: a")

    def test_with_none(self, get_model):
        nothing_else("a")
        get_model.return_value.prompt.assert_called_once_with("a", system=None, schema=None)

    def test_with_a_prompt_by_its_name(self, get_model):
        reviews.model_of().prompt(prompt="a", temperature=0.5)
        get_model.return_value.prompt.assert_called_once_with(prompt="a", temperature=0.5)

    def test_with_any_prompt(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called_once_with(ANY, system="Be brief")

    def test_with_any_system_prompt(self, get_model):
        summarize("a")
        get_model.return_value.prompt.assert_called_once_with("Summarize: a", system=mock.ANY)

    def test_with_any_schema(self, model):
        review("a")
        model.prompt.assert_called_once_with("Review: a", schema=ANY)

    def test_with_any_option(self, get_model):
        warm("a")
        get_model.return_value.prompt.assert_called_once_with("Warmly: a", temperature=ANY)


class TestAwaitedPrompt:
    def test_assert_awaited(self, async_model):
        asyncio.run(awaited("a"))
        async_model.prompt.assert_awaited()

    def test_assert_awaited_once(self, async_model):
        asyncio.run(awaited("a"))
        async_model.prompt.assert_awaited_once()

    def test_assert_awaited_with(self, async_model):
        asyncio.run(awaited("a"))
        async_model.prompt.assert_awaited_with("a")

    def test_assert_awaited_once_with(self, async_model):
        asyncio.run(awaited("a"))
        async_model.prompt.assert_awaited_once_with("a")

    def test_assert_not_awaited(self, async_model):
        asyncio.run(awaited_if_any(""))
        async_model.prompt.assert_not_awaited()

    def test_await_count(self, async_model):
        asyncio.run(awaited("a"))
        assert async_model.prompt.await_count == 1

    def test_await_args(self, async_model):
        asyncio.run(awaited("a"))
        assert async_model.prompt.await_args.args[0] == "a"
        assert async_model.prompt.await_args_list[0].args[0] == "a"


class TestGetModel:
    def test_assert_called(self, get_model):
        summarize("a")
        get_model.assert_called()

    def test_assert_called_once(self, get_model):
        summarize("a")
        get_model.assert_called_once()

    def test_assert_not_called(self, get_model):
        if_any("")
        get_model.assert_not_called()

    def test_assert_called_with(self, get_model):
        summarize("a")
        get_model.assert_called_with("gpt-4o-mini")

    def test_assert_called_with_is_about_the_last_call(self, get_model):
        reviews.model_of("gpt-4o")
        summarize("a")
        get_model.assert_called_with("gpt-4o-mini")

    def test_assert_called_once_with(self, get_model):
        summarize("a")
        get_model.assert_called_once_with("gpt-4o-mini")

    def test_assert_called_once_with_a_constant(self, get_model):
        summarize("a")
        get_model.assert_called_once_with(MODEL)

    def test_assert_called_once_with_anything(self, get_model):
        summarize("a")
        get_model.assert_called_once_with(ANY)

    def test_assert_any_call(self, get_model):
        summarize("a")
        reviews.model_of("gpt-4o")
        get_model.assert_any_call("gpt-4o-mini")

    def test_called(self, get_model):
        if_any("")
        assert not get_model.called
        if_any("a")
        assert get_model.called

    def test_call_count(self, get_model):
        summarize("a")
        summarize("b")
        assert get_model.call_count == 2

    def test_call_args(self, get_model):
        summarize("a")
        assert get_model.call_args.args[0] == "gpt-4o-mini"
        assert get_model.call_args[0][0] == MODEL
        assert get_model.call_args.args[0] != "gpt-4o"

    def test_call_args_list(self, get_model):
        summarize("a")
        reviews.model_of("gpt-4o")
        assert get_model.call_args_list[0].args[0] == "gpt-4o-mini"
        assert get_model.call_args_list[-1][0][0] == "gpt-4o"
        assert len(get_model.call_args_list) == 2


class TestReads:
    def test_called(self, get_model):
        if_any("")
        assert not get_model.return_value.prompt.called
        if_any("a")
        assert get_model.return_value.prompt.called

    def test_call_count(self, get_model):
        summarize("a")
        summarize("b")
        assert get_model.return_value.prompt.call_count == 2

    def test_call_args(self, get_model):
        summarize("a")
        summarize("b")
        prompt = get_model.return_value.prompt
        assert prompt.call_args.args[0] == "Summarize: b"
        assert prompt.call_args[0][0].endswith("b")
        assert prompt.call_args.kwargs["system"] == "Be brief"
        assert prompt.call_args[1]["system"] == "Be brief"
        assert prompt.call_args.kwargs.get("system") == "Be brief"
        assert prompt.call_args.kwargs.get("temperature", None) is None
        assert "system" in prompt.call_args.kwargs
        assert "temperature" not in prompt.call_args.kwargs

    def test_call_args_list(self, get_model):
        summarize("a")
        summarize("b")
        calls = get_model.return_value.prompt.call_args_list
        assert len(calls) == 2
        assert calls[0].args[0] == "Summarize: a"
        assert calls[-1].kwargs["system"] == "Be brief"
        assert all(call.args[0].startswith("Summarize: ") for call in calls)
        prompts = [call[0][0] for call in calls]
        assert prompts == ["Summarize: a", "Summarize: b"]

    def test_names_of_arguments(self, get_model):
        warm("a")
        args, kwargs = get_model.return_value.prompt.call_args
        assert args[0] == "Warmly: a"
        assert kwargs["temperature"] == 0.5
        assert kwargs.get("temperature") == 0.5

    def test_a_prompt_by_name(self, get_model):
        name_prompt("a")
        kwargs = get_model.return_value.prompt.call_args.kwargs
        assert kwargs["prompt"] == "By name: a"
        assert kwargs["prompt"].startswith("By name") and kwargs["system"] == "Be brief"

    def test_the_last_call_of_several(self, get_model):
        summarize("a")
        first = get_model.return_value.prompt.call_args
        assert str(first.args[0]) == "Summarize: a"
        number = len("ab")
        assert first.kwargs["system"] == "Be brief"
        summarize("b")
        first = get_model.return_value.prompt.call_args
        assert (first.args[0], number) == ("Summarize: b", 2)

    def test_a_call_of_several(self, get_model):
        summarize("a")
        first = get_model.return_value.prompt.call_args_list[0]
        summarize("b")
        assert first.args[0] == "Summarize: a"

    def test_a_number_of_calls(self, get_model):
        summarize("a")
        before = get_model.return_value.prompt.call_count
        summarize("b")
        assert get_model.return_value.prompt.call_count == before + 1

    def test_that_there_is_a_schema(self, model):
        review("a")
        assert "schema" in model.prompt.call_args.kwargs

    def test_that_there_is_no_schema(self, model):
        summarize("a")
        assert "schema" not in model.prompt.call_args.kwargs

    def test_a_schema(self, model):
        review("a")
        kwargs = model.prompt.call_args.kwargs
        assert kwargs["schema"] is Review
        assert kwargs["schema"] == reviews.Review
        assert kwargs["schema"] is not reviews.Topic
        assert kwargs["schema"] != reviews.Topic
        assert kwargs["schema"] is not None
        assert kwargs["schema"]
        assert kwargs.get("schema") is Review

    def test_no_schema(self, get_model):
        summarize("a")
        kwargs = get_model.return_value.prompt.call_args.kwargs
        assert kwargs.get("schema") is None
        assert not kwargs.get("schema")
