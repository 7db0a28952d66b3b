"""Budgets of a test and of the whole run."""

from __future__ import annotations

import re
import sys

import pytest

TWO_PRICES = "[pytest]\nllm_mock_prices =\n    cheap = 1 1\n    dear = 1000 1000\n"
CALLS = """
    import llm, pytest
    from llm_mock import Reply

    @pytest.fixture(autouse=True)
    def usage(mock_llm_responses):
        mock_llm_responses.set("*", Reply("x", usage={"input_tokens": 40, "output_tokens": 60}))

    def ask(model="cheap"):
        return llm.get_model(model).prompt("Hi").text()
"""


@pytest.mark.parametrize(
    ("budget", "model", "message"),
    [
        ("cost=0.0001", "cheap", None),
        ("tokens=100", "cheap", None),
        ("cost=0.0001, tokens=100", "cheap", None),
        ("tokens=100", "unknown", None),
        (
            "cost='0.00009'",
            "cheap",
            "llm_mock_budget: the calls of this test cost $0.0001 (budget $0.00009).",
        ),
        (
            "tokens=99",
            "unknown",
            "llm_mock_budget: the calls of this test took 100 tokens (budget 99).",
        ),
        (
            "cost=0.01, tokens=0",
            "dear",
            (
                "llm_mock_budget: the calls of this test cost $0.10 (budget $0.01) and took 100 "
                "tokens (budget 0)."
            ),
        ),
        ("cost=0", "unknown", "The cost of the calls is unknown: no price is known for unknown."),
    ],
)
def test_a_test_over_the_budget_of_its_marker_fails_once(
    budget: str, model: str, message: str | None, pytester: pytest.Pytester
) -> None:
    pytest.importorskip("genai_prices")
    pytester.makeini(TWO_PRICES)
    pytester.makepyfile(
        CALLS
        + (
            f"\n    @pytest.mark.llm_mock_budget({budget})\n    def test_it():\n"
            f"        ask({model!r})"
        )
    )
    result = pytester.runpytest("--strict-markers")
    result.assert_outcomes(passed=int(message is None), failed=int(message is not None))
    if message is not None:
        row = (
            "100"
            if "cost" not in budget
            else {"cheap": "$0.0001", "dear": "$0.10", "unknown": "unknown"}[model]
        )
        result.stdout.fnmatch_lines(
            ["*_ test_it _*", message, "*tokens in*", f"*1. {model}  'Hi'  → 'x'"]
        )
        assert row in result.stdout.str()
        result.stdout.no_fnmatch_line("*Traceback*")


def test_the_largest_calls_come_first(pytester: pytest.Pytester) -> None:
    pytester.makeini(TWO_PRICES)
    pytester.makepyfile(
        CALLS
        + """
    @pytest.mark.llm_mock_budget(cost=0.01)
    class TestAll:
        def test_it(self):
            ask("cheap")
            ask("dear")
        """
    )
    pytester.runpytest().stdout.fnmatch_lines(
        [
            "llm_mock_budget: the calls of this test cost $0.1001 (budget $0.01).",
            "     cost  tokens in  tokens out  call",
            "    $0.10         40          60  2. dear  'Hi'  → 'x'",
            "  $0.0001         40          60  1. cheap  'Hi'  → 'x'",
        ]
    )


def test_calls_of_fixtures_count_and_an_earlier_failure_stays_as_it_is(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(
        CALLS
        + """
    @pytest.fixture
    def asked(usage):
        ask()

    @pytest.mark.llm_mock_budget(tokens=99)
    def test_fixture(asked):
        pass

    @pytest.mark.llm_mock_budget(tokens=99)
    def test_failed():
        ask()
        assert not "failed before"

    @pytest.mark.llm_mock_budget(tokens=99)
    def test_reply_unused(mock_llm_responses):
        ask()
        mock_llm_responses.add("m", "never asked for")

    def test_without_a_budget():
        ask()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=3, passed=1)
    output = result.stdout.str()
    assert output.count("took 100 tokens (budget 99)") == 1
    assert output.count("One queued reply was not used") == 1


def test_a_test_whose_calls_nobody_counts_does_not_keep_its_budget(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini("[pytest]\nllm_mock = false")
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.llm_mock_budget(tokens=5)
        def test_real(): ...

        @pytest.mark.llm_mock_budget(tokens=5)
        def test_mocked(mock_llm_calls): ...
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1, passed=1)
    result.stdout.fnmatch_lines(
        ["*_ test_real _*", "llm_mock_budget: the usage of this test is unknown, *"]
    )


@pytest.mark.parametrize(
    ("marker", "option"),
    [("@pytest.mark.llm_mock_budget(cost=1)", ""), ("", "llm_mock_budget=cost=1")],
)
def test_without_the_price_library_a_cost_budget_says_what_to_install(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, marker: str, option: str
) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    pytester.makepyfile(f"{CALLS}\n    {marker}\n    def test_it():\n        ask('gpt-4o')")
    result = pytester.runpytest(*(["-o", option] if option else []))
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["The cost of 'gpt-4o' is unknown *pip install 'pytest-llm-mock[[]cost[]]'*"]
    )


SIX_TESTS = """
    @pytest.mark.parametrize("number", range(6))
    def test_it(number):
        ask()

    def test_that_asks_nothing():
        pass
"""
TOKENS = (
    "llm_mock_budget=tokens=400",
    "The calls of the run so far took 500 tokens (budget 400). The largest:",
)
COST = (
    "llm_mock_budget=cost=0.0004",
    "The calls of the run so far cost $0.0005 (budget $0.0004). The largest:",
)


@pytest.mark.parametrize(
    ("limit", "message", "arguments"),
    [
        (*TOKENS, ()),
        (*COST, ()),
        (*TOKENS, ("-n2",)),
        (*COST, ("-n1", "--dist=no")),
    ],
    ids=["tokens", "cost", "tokens of two workers", "cost of one worker"],
)
def test_every_test_that_asks_on_once_the_budget_of_the_run_is_spent_fails(
    limit: str, message: str, arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makeini(TWO_PRICES)
    pytester.makepyfile(CALLS + SIX_TESTS)
    result = pytester.runpytest("-o", limit, *arguments)
    result.assert_outcomes(passed=5, failed=2)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([message])
    used = "600 of 400 tokens" if "tokens" in limit else "$0.0006 of $0.0004"
    result.stdout.fnmatch_lines(["*= LLM budget of the run =*", used, "FAILED *::test_it*"])
    assert sum("LLM budget of the run" in line for line in result.outlines) == 1


@pytest.mark.parametrize("arguments", [(), ("-n1",)])
def test_a_run_within_its_budget_passes_and_says_what_it_used(
    arguments: tuple[str, ...], pytester: pytest.Pytester
) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = cost=0.0006 tokens=600")
    pytester.makepyfile(CALLS + SIX_TESTS)
    result = pytester.runpytest(*arguments)
    result.assert_outcomes(passed=7)
    result.stdout.fnmatch_lines(
        ["*= LLM budget of the run =*", "$0.0006 of $0.0006, 600 of 600 tokens"]
    )


def test_the_failure_names_the_tests_that_used_most(pytester: pytest.Pytester) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = cost=0.15 tokens=1000")
    pytester.makepyfile(
        CALLS
        + """
    def test_cheap(): ask("cheap")
    def test_dear(): ask("dear")
    def test_two(): ask("dear"), ask("cheap")
        """
    )
    result = pytester.runpytest("-rf")
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_two _*",
            "The calls of the run so far cost $0.2002 (budget $0.15). The largest:",
            "     cost  tokens  test",
            "  $0.1001     200  *::test_two",
            "    $0.10     100  *::test_dear",
            "  $0.0001     100  *::test_cheap",
            "$0.2002 of $0.15, 400 of 1000 tokens",
            "FAILED *::test_two - The cal*",
        ]
    )


def test_calls_outside_of_tests_count_too(pytester: pytest.Pytester) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = tokens=250")
    pytester.makeconftest(
        "from llm_mock import Reply\n"
        "reply = Reply('x', usage={'input_tokens': 40, 'output_tokens': 60})\n"
        "def pytest_llm_mock_configure(mock): mock.set('*', reply)"
    )
    pytester.makepyfile(
        """
        import llm, pytest

        def ask():
            return llm.get_model("cheap").prompt("Hi").text()

        ask()

        @pytest.fixture(scope="session", autouse=True)
        def session():
            ask()

        @pytest.fixture
        def late():
            yield
            ask()

        def test_within(): pass
        def test_over_in_teardown(late): pass
        def test_over(): ask()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=2, errors=1, failed=1)
    result.stdout.fnmatch_lines(
        ["*ERROR at teardown of test_over_in_teardown*", "*took 300 tokens (budget 250)*"]
    )
    result.stdout.fnmatch_lines(["*_ test_over _*", "*took 400 tokens (budget 250)*"])


@pytest.mark.parametrize("model", ["cheap", "new"])
def test_a_test_fails_for_what_its_fixtures_used(model: str, pytester: pytest.Pytester) -> None:
    pytest.importorskip("genai_prices")
    pytester.makeini(TWO_PRICES + "llm_mock_budget = cost=0.00001")
    pytester.makepyfile(
        CALLS
        + f"""
    @pytest.fixture
    def asked(usage): ask({model!r})

    @pytest.fixture
    def skipped(asked): pytest.skip("for a reason")

    def test_it(asked): pass
    def test_that_asks_nothing(): pass
    def test_skipped(skipped): pass
        """
    )
    pytester.runpytest().assert_outcomes(failed=1, passed=1, skipped=1)


def test_in_a_run_that_is_not_mocked_the_mocked_tests_count(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock = false\nllm_mock_budget = tokens=10")
    pytester.makepyfile(
        """
        import llm

        def test_real(): ...

        def test_mocked(mock_llm_calls):
            mock_llm_calls.set("m", "x" * 40)
            llm.get_model("m").prompt("Hi")
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*took 11 tokens (budget 10)*", "11 of 10 tokens"])


def test_a_test_that_is_expected_to_fail_counts_and_does_not_hide_the_budget(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = tokens=150")
    pytester.makepyfile(
        CALLS
        + """
    @pytest.mark.xfail
    def test_expected():
        ask(), ask()
        assert False

    def test_after(): ask()
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(xfailed=1, failed=1)
    result.stdout.fnmatch_lines(["*_ test_after _*", "*took 300 tokens (budget 150)*"])


def test_a_run_that_stops_at_failures_stops_at_its_budget(pytester: pytest.Pytester) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = tokens=250")
    pytester.makepyfile(CALLS + SIX_TESTS)
    pytester.runpytest("-x").assert_outcomes(passed=2, failed=1)


def test_a_model_of_unknown_price_fails_the_test_where_the_run_has_a_cost_limit(
    pytester: pytest.Pytester,
) -> None:
    pytest.importorskip("genai_prices")
    pytester.makeini(TWO_PRICES + "llm_mock_budget = cost=1")
    pytester.makepyfile(CALLS + "\n    def test_known(): ask()\n    def test_unknown(): ask('new')")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "*_ test_unknown _*",
            "The cost of the calls is unknown: no price is known for new.",
            "Set the price in US dollars *: new = INPUT OUTPUT",
            "$0.0001 of $1.00 (without new, of unknown price)",
        ]
    )


def test_with_prices_the_summary_of_the_run_has_a_column_of_costs(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini(TWO_PRICES)
    pytester.makepyfile(CALLS + "\n    def test_it(): ask(), ask(), ask('dear'), ask('unknown')")
    for arguments in ((), ("-n1",)):
        result = pytester.runpytest("-v", *arguments)
        result.assert_outcomes(passed=1)
        result.stdout.fnmatch_lines(
            [
                "model    calls  tokens in  tokens out  errors  answered by default     cost",
                "cheap        2         80         120       0                    0  $0.0002",
                "dear         1         40          60       0                    0    $0.10",
                "unknown      1         40          60       0                    0  unknown",
            ]
        )
        result.stdout.no_fnmatch_line("*LLM budget of the run*")


def test_without_budget_and_prices_the_summary_has_no_costs_and_nothing_is_imported(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(CALLS + "\n    def test_it(): ask()")
    pytester.makeconftest(
        """
        import sys

        def pytest_unconfigure():
            print("imported:", [name for name in ("cost", "budget", "latency") if f"llm_mock.{name}" in sys.modules])
        """  # noqa: E501
    )
    result = pytester.runpytest_subprocess("-v")
    result.stdout.fnmatch_lines(
        ["model  calls  tokens in  tokens out  errors  answered by default", "imported: []"]
    )


@pytest.mark.parametrize(
    ("ini", "message"),
    [
        (
            "llm_mock_budget = cost=much",
            "Invalid amount of US dollars: 'much', set as the cost of ini llm_mock_budget.*",
        ),
        (
            "llm_mock_budget = tokens=-5",
            "Invalid number of tokens: '-5', set as the tokens of ini llm_mock_budget.*",
        ),
        (
            "llm_mock_budget = 0.05",
            "*Invalid limit in ini llm_mock_budget: '0.05'. Write cost=DOLLARS, tokens=NUMBER, or "
            "both with a space between them.",
        ),
        ("llm_mock_budget = costs=1", "*Invalid limit in ini llm_mock_budget: 'costs=1'. *"),
        ("llm_mock_budget = cost=1 cost=2", "*in ini llm_mock_budget: 'cost=2'. *"),
        (
            "llm_mock_prices = m",
            (
                "Invalid line in ini llm_mock_prices: 'm'. Write MODEL = INPUT OUTPUT, such as "
                "my-model = 0.15 0.60*"
            ),
        ),
        (
            "llm_mock_prices = m = 1 x",
            "Invalid amount of US dollars: 'x', set as the price of 'm'.*",
        ),
    ],
)
def test_an_ini_that_gives_no_budget_or_price_ends_the_run(
    ini: str, message: str, pytester: pytest.Pytester
) -> None:
    pytester.makeini(f"[pytest]\n{ini}")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(message.replace("*", ".*"), result.stderr.str())


def test_quietly_the_budget_is_not_shown(pytester: pytest.Pytester) -> None:
    pytester.makeini(TWO_PRICES + "llm_mock_budget = tokens=250")
    pytester.makepyfile(CALLS + "\n    def test_it(): ask()")
    pytester.runpytest("-q").stdout.no_fnmatch_line("*LLM budget of the run*")
    pytester.runpytest().stdout.fnmatch_lines(["100 of 250 tokens"])


def test_the_calls_of_a_process_that_a_test_starts_count(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        CALLS
        + """
    import subprocess, sys

    @pytest.mark.llm_mock_budget(tokens=99)
    def test_it(mock_llm_calls):
        code = "import llm; llm.get_model('m').prompt('Hi').text()"
        subprocess.run([sys.executable, "-c", code], env=mock_llm_calls.environment(), check=True)
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["llm_mock_budget: the calls of this test took 100 tokens (budget 99)."]
    )


def test_a_worker_sends_names_of_models_that_are_no_plain_text(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\nllm_mock_budget = tokens=1000\n")
    pytester.makepyfile(
        """
        import enum
        import llm

        class Model(str, enum.Enum):
            SMALL = "gpt-4o-mini"

        def test_it():
            assert llm.get_model(Model.SMALL).prompt("Hello").text()
            assert llm.get_model("own\\udcff").prompt("Hello").text()
        """
    )
    result = pytester.runpytest("-p", "xdist", "-n", "1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["gpt-4o-mini *", "* of 1000 tokens"])
