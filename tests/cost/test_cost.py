"""The cost of calls, and its assertions."""

from __future__ import annotations

import sys
from decimal import Decimal
from typing import Any

import pytest

from llm_mock import (
    InvalidBudget,
    LLMMock,
    MissingExtra,
    Reply,
    assert_cost_below,
    assert_tokens_below,
    create_mock_get_model,
)
from llm_mock.cost.prices import compute_cost, has_provider_prices, parse_prices
from llm_mock.support.text import format_dollars
from tests.conftest import RunPython

needs_prices = pytest.mark.skipif(not has_provider_prices(), reason="needs genai-prices")
MILLION = 1_000_000


def calling(
    model: str = "m", input_tokens: int | None = MILLION, output_tokens: int | None = MILLION
) -> LLMMock:
    """Return a mock whose model was called once and used so many tokens."""
    mock = create_mock_get_model(
        {"*": Reply("x", usage={"input_tokens": input_tokens, "output_tokens": output_tokens})}
    )
    mock(model).prompt("Hi")
    return mock


def cost(model: str, *tokens: int | None) -> Decimal | None:
    mock = calling(model, *tokens)
    return compute_cost(mock.calls[0], mock)


@needs_prices
@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("gpt-4o-mini", "0.75"),
        ("gpt-4o", "12.5"),
        ("claude-3-5-sonnet-latest", "18"),
        ("anthropic/claude-3-5-sonnet-latest", "18"),
        ("gemini-2.5-flash", "2.8"),
        ("gemini/gemini-2.5-flash", "2.8"),
        ("openrouter/openai/gpt-4o", "12.5"),
        ("mistral/mistral-large-latest", "8"),
        ("openrouter/meta-llama/llama-3.3-70b-instruct:free", "0"),
    ],
)
def test_the_prices_are_those_of_the_provider_that_the_model_id_names(
    model: str, dollars: str
) -> None:
    assert cost(model) == Decimal(dollars)


@needs_prices
@pytest.mark.parametrize(
    "model",
    [
        "m",
        "gpt-4o-mini-of-mine",
        "ollama/llama3",
        "anthropic/gpt-4o",
        "nobody/gpt-4o",
        "whisper-1",
        "google/gemma-3",
    ],
)
def test_a_model_without_a_price_has_an_unknown_cost_and_never_none(model: str) -> None:
    assert cost(model) is None


@needs_prices
def test_input_and_output_have_prices_of_their_own() -> None:
    assert (cost("gpt-4o-mini", 1000, 0), cost("gpt-4o-mini", 0, 1000)) == (
        Decimal("0.00015"),
        Decimal("0.0006"),
    )


@needs_prices
@pytest.mark.parametrize("hour", ["00:30:00", "09:00:00", "23:59:59.999999"])
def test_a_call_costs_the_same_at_any_hour(hour: str) -> None:
    mock = calling("deepseek-chat")
    mock.calls[0]["timestamp"] = f"2025-04-01T{hour}"
    assert compute_cost(mock.calls[0], mock) == Decimal("1.37")


def test_a_call_that_used_nothing_costs_nothing() -> None:
    assert cost("no-such-model", 0, 0) == 0


def test_a_call_that_failed_costs_nothing() -> None:
    mock = create_mock_get_model({"m": ConnectionError("down")})
    with pytest.raises(ConnectionError):
        mock("m").prompt("Hi")
    assert compute_cost(mock.calls[0], mock) == 0


@pytest.mark.parametrize(
    ("prices", "model", "dollars"),
    [
        ({"m": (1, 2)}, "m", "3"),
        ({"m": ("0.1", "0.2")}, "m", "0.3"),
        ({"*": (1, 2), "m": (3, 4)}, "m", "7"),
        ({"m": (3, 4), "*": (1, 2)}, "m", "3"),
        ({"local/*": (0, 0)}, "local/llama", "0"),
        ({"gpt-4o": (1, 1)}, "gpt-4o", "2"),
    ],
)
def test_a_project_gives_prices_and_the_last_that_fits_counts(
    prices: dict[str, tuple[Any, Any]], model: str, dollars: str
) -> None:
    mock = calling(model)
    for pattern, (of_input, of_output) in prices.items():
        mock.set_price(pattern, of_input, of_output)
    assert compute_cost(mock.calls[0], mock) == Decimal(dollars)


def test_prices_are_those_of_the_active_mock_and_an_inner_mock_adds_its_own(
    mock_llm_calls: LLMMock,
) -> None:
    mock_llm_calls.set_price("m", 1, 1)
    assert compute_cost(calling("m").calls[0]) == 2
    inner = LLMMock(parent=mock_llm_calls)
    inner.set_price("n", 2, 2)
    assert [compute_cost(calling(model).calls[0], inner) for model in "mn"] == [2, 4]
    assert mock_llm_calls.prices == inner.prices[:1]


def test_the_prices_of_the_ini() -> None:
    given = parse_prices(["my-model = 0.15 0.60", "ollama/*=0 0", "a=b = 1 2"])
    assert given == (
        ("my-model", (Decimal("0.15"), Decimal("0.60"))),
        ("ollama/*", (0, 0)),
        ("a=b", (1, 2)),
    )


@pytest.mark.parametrize("line", ["m", "m = 1", "m = 1 2 3", "= 1 2", ""])
def test_a_line_that_gives_no_price_is_shown(line: str) -> None:
    with pytest.raises(InvalidBudget) as caught:
        parse_prices([line])
    assert f"{line!r}. Write MODEL = INPUT OUTPUT, such as my-model = 0.15 0.60" in str(
        caught.value
    )


@pytest.mark.parametrize("value", [-1, "x", float("nan"), float("inf"), None, True, [1]])
def test_a_price_that_is_no_amount_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidBudget, match=r"Invalid amount of US dollars: .*, set as the price of 'm'"
    ):
        LLMMock().set_price("m", value, 1)
    with pytest.raises(InvalidBudget):
        LLMMock().set_price("m", 1, value)


def test_without_the_price_library_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    mock = calling("gpt-4o-mini")
    assert not has_provider_prices()
    with pytest.raises(MissingExtra) as caught:
        assert_cost_below(mock, 1)
    assert "pip install 'pytest-llm-mock[cost]'. Or set the price" in str(caught.value)
    assert "set_price('gpt-4o-mini', INPUT, OUTPUT)" in str(caught.value)
    mock.set_price("gpt-4o-mini", 0.15, 0.60)
    assert_cost_below(mock, 1)


@needs_prices
def test_nothing_is_fetched(run_python: RunPython) -> None:
    code = """if True:
        import sys
        def refuse(event, arguments):
            if event in ("socket.connect", "socket.getaddrinfo", "urllib.Request", "subprocess.Popen"):
                raise SystemExit(f"reached out: {event} {arguments}")
        from llm_mock import create_mock_get_model
        from llm_mock.cost.prices import compute_cost
        sys.addaudithook(refuse)
        mock = create_mock_get_model()
        mock("gpt-4o-mini").prompt("Hi")
        print(compute_cost(mock.calls[0], mock))
        print("genai_prices" in sys.modules)
    """  # noqa: E501
    assert run_python(code).stdout == "0.00000315\nTrue\n"


def three_calls() -> LLMMock:
    mock = create_mock_get_model()
    mock.set_price("*", 10, 20)
    for name, used in {"small": (10, 10), "large": (1000, 2000), "medium": (100, 300)}.items():
        mock.set(name, Reply("x", usage={"input_tokens": used[0], "output_tokens": used[1]}))
        mock(name).prompt(f"A {name} one")
    return mock


def test_a_cost_that_is_below_passes() -> None:
    assert_cost_below(three_calls(), "0.057301")
    assert_cost_below(three_calls(), 0.0071, model="medium")
    assert_cost_below(create_mock_get_model(), 0.01)


def test_a_cost_that_is_not_below_shows_the_calls_the_largest_first() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_cost_below(three_calls(), Decimal("0.0573"))
    assert str(caught.value) == (
        "The calls cost $0.0573, which is not below $0.0573.\n"
        "     cost  tokens in  tokens out  call\n"
        "    $0.05       1000        2000  2. large  'A large one'  → 'x'\n"
        "   $0.007        100         300  3. medium  'A medium one'  → 'x'\n"
        "  $0.0003         10          10  1. small  'A small one'  → 'x'"
    )


def test_only_the_calls_of_a_model_count_where_one_is_named() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_cost_below(three_calls(), 0.007, model="medium")
    assert str(caught.value) == (
        "The calls cost $0.007, which is not below $0.007.\n"
        "    cost  tokens in  tokens out  call\n"
        "  $0.007        100         300  3. medium  'A medium one'  → 'x'"
    )


def test_tokens_that_are_below_pass() -> None:
    assert_tokens_below(three_calls(), 3421)
    assert_tokens_below(three_calls(), 401, model="medium")


@pytest.mark.parametrize(("model", "total"), [(None, 3420), ("medium", 400)])
def test_tokens_that_are_not_below_are_shown_without_asking_for_prices(
    model: str | None, total: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    mock = three_calls()
    mock.configurator.replies.prices = ()
    with pytest.raises(AssertionError) as caught:
        assert_tokens_below(mock, total, model=model)
    first, head, *rows = str(caught.value).splitlines()
    assert first == f"The calls took {total} tokens, which is not below {total}."
    assert head == "  tokens in  tokens out  call"
    shown = [row.split()[:4] for row in rows]
    large, medium = ["1000", "2000", "2.", "large"], ["100", "300", "3.", "medium"]
    assert shown == ([medium] if model else [large, medium, ["10", "10", "1.", "small"]])


def test_no_calls_at_all_are_not_below_nothing() -> None:
    with pytest.raises(
        AssertionError, match=r"took 0 tokens, which is not below 0\.\n  \(no calls\)"
    ):
        assert_tokens_below(create_mock_get_model(), 0)


def test_of_very_many_calls_the_largest_are_shown() -> None:
    mock = create_mock_get_model({"m": lambda prompt: "x" * 4 * len(prompt.prompt)})
    for length in range(1, 26):
        mock("m").prompt("y" * length)
    with pytest.raises(AssertionError) as caught:
        assert_tokens_below(mock, 1)
    lines = str(caught.value).splitlines()
    assert lines[2].split()[:3] == ["7", "25", "25."]
    assert (len(lines), lines[-1]) == (23, "  … 5 smaller calls")


@needs_prices
def test_a_model_of_unknown_price_fails_an_assertion_on_cost_and_is_named() -> None:
    mock = three_calls()
    mock.configurator.replies.prices = ()
    mock.set_price("large", 10, 20)
    with pytest.raises(AssertionError) as caught:
        assert_cost_below(mock, 1000)
    assert str(caught.value) == (
        "The cost of the calls is unknown: no price is known for medium, small.\n"
        "     cost  tokens in  tokens out  call\n"
        "  unknown        100         300  3. medium  'A medium one'  → 'x'\n"
        "  unknown         10          10  1. small  'A small one'  → 'x'\n"
        "    $0.05       1000        2000  2. large  'A large one'  → 'x'\n"
        "Set the price in US dollars per million input and output tokens: "
        "mock_llm_responses.set_price('medium', INPUT, OUTPUT), or for the whole run a line in ini "
        "llm_mock_prices: "
        "medium = INPUT OUTPUT"
    )


@pytest.mark.parametrize("value", [-1, "cheap", None])
def test_what_is_no_amount_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidBudget,
        match=r"dollars: .*, set as assert_cost_below\. Write a number of at least 0",
    ):
        assert_cost_below(create_mock_get_model(), value)


@pytest.mark.parametrize("value", [-1, 1.5, "many", None, True])
def test_what_is_no_number_of_tokens_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidBudget, match=r"Invalid number of tokens: .*, set as assert_tokens_below"
    ):
        assert_tokens_below(create_mock_get_model(), value)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        ("0", "$0.00"),
        ("3", "$3.00"),
        ("12.5", "$12.50"),
        ("1234.567", "$1234.57"),
        ("0.0101", "$0.0101"),
        ("0.00000315", "$0.00000315"),
        ("0.123456789", "$0.123457"),
        ("1E+2", "$100.00"),
    ],
)
def test_amounts_are_shown_to_six_digits(amount: str, shown: str) -> None:
    assert format_dollars(Decimal(amount)) == shown
