"""Wrong arguments are refused where they are given, in words, without a traceback."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import llm
import pytest

from llm_mock import (
    InvalidBudget,
    InvalidReply,
    LLMMock,
    Misbehaviour,
    Reply,
    UnknownMisbehaviour,
    assert_llm_called_times,
    assert_tokens_below,
    create_mock_get_model,
    templates,
)

NAN = float("nan")


@pytest.mark.parametrize("tokens", [-1, True, 1.5, NAN, "1"], ids=str)
@pytest.mark.parametrize("key", ["input_tokens", "output_tokens"])
def test_tokens_of_a_usage_are_whole_numbers(key: str, tokens: Any) -> None:
    with pytest.raises(InvalidReply, match=f"{key} of the usage is .*: pass a whole number"):
        Reply("x", usage={key: tokens})
    with pytest.raises(InvalidReply, match=f"{key} of the usage is"):
        templates.classification("spam", usage={key: tokens})


def test_those_of_llm_too() -> None:
    with pytest.raises(InvalidReply, match="input of the usage is -3: pass a whole number"):
        Reply("x", usage=llm.models.Usage(input=-3, output=1))
    assert Reply("x", usage=llm.models.Usage(input=None, output=1)).usage.output == 1


@pytest.mark.parametrize(
    ("give", "error"),
    [
        (lambda number: Reply("x", error=ValueError("x"), error_after=number), InvalidReply),
        (lambda number: templates.long_answer(number), InvalidReply),
        (lambda number: Misbehaviour("rate-limit", number or 0), UnknownMisbehaviour),
        (lambda number: assert_llm_called_times(create_mock_get_model(), "m", number), ValueError),
        (lambda number: assert_tokens_below(create_mock_get_model(), number), InvalidBudget),
        (lambda number: create_mock_get_model().set_price("m", number, 1), InvalidBudget),
    ],
    ids=["error_after", "words", "times of a misbehaviour", "calls", "tokens", "price"],
)
@pytest.mark.parametrize("number", [-1, True, NAN, "x"], ids=str)
def test_what_is_counted_is_a_number(
    give: Callable[[Any], Any], error: type[Exception], number: Any
) -> None:
    with pytest.raises(error):
        give(number)


def test_a_template_is_cut_after_a_number_of_characters() -> None:
    with pytest.raises(InvalidReply, match="after=-1: pass a whole number of characters"):
        templates.truncated("Hello", after=-1)


@pytest.mark.parametrize("template", [templates.rate_limit, templates.overloaded])
@pytest.mark.parametrize("seconds", ["soon", -5, NAN, True], ids=str)
def test_a_template_with_a_wait_takes_a_number_of_seconds(
    template: Callable[..., object], seconds: object
) -> None:
    expected = f"retry_after={seconds!r}: pass a number of seconds of at least 0."
    with pytest.raises(InvalidReply, match=re.escape(expected)):
        template(retry_after=seconds)


def test_a_price_of_more_digits_than_python_writes_is_none() -> None:
    with pytest.raises(InvalidBudget):
        create_mock_get_model().set_price("m", 10**5_000, 1)


NAMED: dict[str, Callable[[LLMMock, Any], Any]] = {
    "get_model": lambda mock, name: mock.get_model(name),
    "get_async_model": lambda mock, name: mock.get_async_model(name),
    "get_embedding_model": lambda mock, name: mock.get_embedding_model(name),
    "set": lambda mock, name: mock.set(name, "x"),
    "add": lambda mock, name: mock.add(name, "x"),
    "set_error": lambda mock, name: mock.set_error(name, ValueError),
    "set_unknown": lambda mock, name: mock.set_unknown(name),
    "set_latency": lambda mock, name: mock.set_latency(name, None),
    "set_embedding": lambda mock, name: mock.set_embedding(name, "x", [1.0]),
    "set_price": lambda mock, name: mock.set_price(name, 1, 1),
    "calls_of": lambda mock, name: mock.calls_of(name),
    "assert_llm_called_times": lambda mock, name: assert_llm_called_times(mock, name, 0),
}


@pytest.mark.parametrize("function", NAMED)
@pytest.mark.parametrize("name", [None, 5, ["m"], b"m", "", " "], ids=repr)
def test_what_is_no_name_of_a_model_is_said_wherever_one_is_given(
    function: str, name: Any, mock_llm_responses: LLMMock
) -> None:
    for mock in (create_mock_get_model(), mock_llm_responses):
        with pytest.raises(InvalidReply, match="This is not the name of a model: "):
            NAMED[function](mock, name)


@pytest.mark.parametrize("names", [["gpt-4o", "gpt-5"], ("gpt-4o", "gpt-5")], ids=repr)
def test_several_models_are_set_one_by_one_or_with_a_glob(names: Any) -> None:
    expected = 'For several models, repeat the call, or pass set() a glob such as "gpt-*".'
    with pytest.raises(InvalidReply, match=re.escape(expected)):
        create_mock_get_model().set(names, "Hi")


@pytest.mark.parametrize("name", [None, "", " "], ids=repr)
def test_an_embedding_model_of_no_name_is_unknown(name: str | None) -> None:
    with pytest.raises(llm.UnknownModelError, match=f"Unknown model: {name}"):
        llm.get_embedding_model(name)  # type: ignore[no-untyped-call]


def test_a_failure_shows_no_code_of_the_mock(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys
        import llm_mock.agents
        from llm_mock import Latency, Reply, assert_cost_below, create_mock_get_model as made
        from llm_mock.agents import Agent, MCPServer

        def test_latency(): Latency(first_chunk=-1)
        def test_create(): made(3)
        def test_embedding(): made().get_embedding_model(3)
        def test_add(): made().add("m", "x", turn=0)
        def test_reply(): Reply("x", usage={"input_tokens": -1})
        def test_server(): MCPServer("x", call_timeout=-1)
        def test_agent(): Agent("m", max_turns=True)

        def test_prices_that_are_not_installed(monkeypatch):
            monkeypatch.setitem(sys.modules, "genai_prices", None)
            get_model = made({"m": "x"})
            get_model("m").prompt("x")
            assert_cost_below(get_model, 1)

        def test_an_extra_that_is_not_installed(monkeypatch):
            monkeypatch.setitem(sys.modules, "tenacity", None)
            for name in ("llm_mock.agents.retry", "llm_mock.agents.run"):
                monkeypatch.delitem(sys.modules, name, raising=False)
            vars(llm_mock.agents).pop("aitest_run", None)
            from llm_mock.agents import aitest_run
        """
    )
    result = pytester.runpytest_subprocess("-p", "no:xdist")
    result.assert_outcomes(failed=9)
    shown = result.stdout.str()
    assert "llm_mock/" not in shown
    assert "importlib" not in shown
    assert "<string>" not in shown


@pytest.mark.parametrize("reply", ["Hello", "", None, 0, {}])
def test_a_mock_that_is_called_takes_no_reply(reply: Any) -> None:
    mock = create_mock_get_model()
    with pytest.raises(InvalidReply) as caught:
        mock("gpt-4o", reply)
    assert str(caught.value) == (
        "mock('gpt-4o', …) takes only the name of a model. To set a reply, write "
        "mock.set('gpt-4o', …). To call the model, write mock('gpt-4o').prompt(…)."
    )
    assert mock.requested_models == []
